/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/report/support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct report_request everything = { .rank = REPORT_ANY_RANK, .limit = UINT64_MAX };

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	abort();
}

#define NEED(call)                                                                                 \
	do {                                                                                       \
		if (!(call))                                                                       \
			die(#call);                                                                \
	} while (0)
#define OK(call) NEED((call) == SONDE_TRACE_OK)

static char own_dir[128];

static void remove_dir(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", own_dir);
	if (system(command) != 0)
		fprintf(stderr, "cannot remove %s\n", own_dir);
}

const char *test_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	if (!*own_dir) {
		snprintf(own_dir, sizeof(own_dir), "%s/report-XXXXXX", tmp ? tmp : "/tmp");
		NEED(mkdtemp(own_dir));
		atexit(remove_dir);
	}
	return own_dir;
}

const char *test_path(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", test_dir(), name);
	return path[turn];
}

/* ---- writing ---- */

void maker_begin(struct trace_maker *m, const char *name, int rank)
{
	static char program[] = "./app", option[] = "-n 3";
	static char *const args[] = { program, option, NULL };
	struct tf_start start = {
		.program = "/opt/app",
		.args = args,
		.host = "node7",
		.version = "0.1.0",
		.rank = rank,
		.clock = { TRACE_START, MONO_START, REAL_START },
	};

	memset(m, 0, sizeof(*m));
	snprintf(m->dir, sizeof(m->dir), "%s", test_path(name));
	OK(tf_writer_create(&m->writer, m->dir, &start));
	OK(tf_writer_process(m->writer, 100, 1, "app"));
}

void maker_module(struct trace_maker *m, const char *name)
{
	OK(tf_writer_module(m->writer, name, "a module", NULL));
}

void maker_event(struct trace_maker *m, uint32_t id, enum sonde_trace_kind kind, uint32_t function,
		 const char *module, const char *name, const struct tf_field *fields)
{
	struct tf_event e = { .id = id, .kind = kind, .function = function, .module = module,
			      .name = name, .fields = fields };

	while (fields && fields[e.nfields].name)
		e.nfields++;
	OK(tf_writer_event(m->writer, &e));
}

void maker_function(struct trace_maker *m, uint32_t id, const char *name, const char *path,
		    const char *module)
{
	struct tf_function f = { .id = id, .name = name, .path = path };

	OK(tf_writer_function(m->writer, &f));
	maker_event(m, 16 + 2 * id, SONDE_TRACE_ENTER, id, module, NULL, NULL);
	maker_event(m, 17 + 2 * id, SONDE_TRACE_LEAVE, id, module, NULL, NULL);
}

void maker_function_fields(struct trace_maker *m, uint32_t id, const char *name, const char *module,
			   const struct tf_field *enter, const struct tf_field *leave)
{
	struct tf_function f = { .id = id, .name = name };

	OK(tf_writer_function(m->writer, &f));
	maker_event(m, 16 + 2 * id, SONDE_TRACE_ENTER, id, module, NULL, enter);
	maker_event(m, 17 + 2 * id, SONDE_TRACE_LEAVE, id, module, NULL, leave);
}

void maker_thread(struct trace_maker *m, int pid, int tid)
{
	OK(tf_thread_create(m->writer, &m->thread, pid, tid, "worker", TRACE_START));
	m->depth = 0;
}

void maker_at(struct trace_maker *m, uint64_t ns)
{
	m->now = ns;
}

static void put(struct trace_maker *m, uint32_t event, const uint64_t *addr, unsigned n, va_list values)
{
	if (m->n + 2 + n > sizeof(m->words) / sizeof(m->words[0]))
		maker_flush(m);
	m->words[m->n++] = (TRACE_START + m->now) << RING_ID_BITS | event;
	if (addr)
		m->words[m->n++] = *addr;
	for (unsigned i = 0; i < n; i++)
		m->words[m->n++] = va_arg(values, uint64_t);
}

void maker_enter(struct trace_maker *m, uint32_t function, unsigned nvalues, ...)
{
	uint64_t addr = STACK_TOP - 64 * m->depth++;
	va_list values;

	va_start(values, nvalues);
	put(m, 16 + 2 * function, &addr, nvalues, values);
	va_end(values);
}

void maker_leave(struct trace_maker *m, uint32_t function, unsigned nvalues, ...)
{
	va_list values;

	m->depth--;
	va_start(values, nvalues);
	put(m, 17 + 2 * function, NULL, nvalues, values);
	va_end(values);
}

void maker_enter_at(struct trace_maker *m, uint32_t function, uint64_t ns)
{
	maker_at(m, ns);
	maker_enter(m, function, 0);
}

void maker_leave_at(struct trace_maker *m, uint32_t function, uint64_t ns)
{
	maker_at(m, ns);
	maker_leave(m, function, 0);
}

void maker_record(struct trace_maker *m, uint32_t event, unsigned nvalues, ...)
{
	va_list values;

	va_start(values, nvalues);
	put(m, event, NULL, nvalues, values);
	va_end(values);
}

void maker_unwind_to(struct trace_maker *m, uint64_t depth)
{
	m->depth = depth;
}

void maker_flush(struct trace_maker *m)
{
	struct tf_sub sub = {
		.base = m->words,
		.bytes = (uint32_t)(8 * m->n),
		.used = (uint32_t)(8 * m->n),
		.final = true,
		.now_tsc = TRACE_START + m->now,
	};
	uint32_t pos = 0;

	if (m->n)
		OK(tf_thread_drain(m->thread, &sub, &pos));
	m->n = 0;
	OK(tf_thread_flush(m->thread));
}

void maker_end_thread(struct trace_maker *m, uint64_t lost)
{
	struct tf_thread_end end = { .lost = lost, .counters = m->counters };

	maker_flush(m);
	OK(tf_thread_close(m->thread, &end));
	memset(m->counters, 0, sizeof(m->counters));
}

void maker_end(struct trace_maker *m, uint64_t ns)
{
	struct tf_clock clock = { TRACE_START + ns, MONO_START + ns, REAL_START + ns };
	struct tf_end end = { .ending = SONDE_TRACE_EXITED, .exit_status = 3, .complete = true };

	OK(tf_writer_clock(m->writer, &clock));
	OK(tf_writer_close(m->writer, &end));
}

/* ---- reading ---- */

void report_open(struct opened *o, const char *name, const struct report_request *request)
{
	struct sonde_trace_message why;

	o->request = *request;
	snprintf(o->dir, sizeof(o->dir), "%s", test_path(name));
	if (sonde_trace_open(o->dir, &o->trace, &why) != SONDE_TRACE_OK)
		die(why.text);
	NEED(report_make(&o->report, o->trace, o->dir, &o->request) == 0);
}

void report_close(struct opened *o)
{
	report_free(&o->report);
	sonde_trace_close(o->trace);
}

const struct report_line *find_line(const struct opened *o, size_t g, const char *function,
				    const char *module)
{
	const struct report_group *group = &o->report.groups[g];

	assert_true(g < o->report.ngroups);
	for (size_t i = 0; i < group->nlines; i++) {
		const struct report_row *row = &o->report.rows.row[group->lines[i].row];

		if (strcmp(report_name(&o->report, &group->lines[i]), function) == 0 &&
		    (!module || (row->module && strcmp(row->module->name, module) == 0)))
			return &group->lines[i];
	}
	fail_msg("no line for %s", function);
	return NULL;
}

uint64_t amount(const struct opened *o, size_t g, const char *function, const char *column)
{
	const struct report_line *line = find_line(o, g, function, NULL);

	for (size_t i = 0; i < o->report.rows.ncolumns; i++) {
		if (strcmp(o->report.rows.columns[i], column) == 0)
			return report_line_amount(&o->report, &o->report.groups[g], line, i);
	}
	fail_msg("no column %s", column);
	return 0;
}

char *printed(void (*print)(const struct report *r, FILE *out), const struct report *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	NEED(out);
	print(r, out);
	NEED(fclose(out) == 0);
	return text;
}
