/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: which events of which trace, in which format, into which file. */
#include "launcher/export/export.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/graph/graph.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/holds.h"
#include "launcher/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DIR "sonde.data"
#define FULL (64u << 10) /* bytes of output that are held back at most */
#define MAX_PATHS UINT64_C(1000000)

struct export_options {
	struct pick pick;
	struct select_options select;
	const char *format, *output;
	bool mangled;
};

static const struct opt export_opts[] = {
	{ 'f', "format", "NAME", "callgrind, chrome, csv, folded, otf2, perfetto or speedscope", OPT_CHOICE,
	  offsetof(struct export_options, format), "callgrind\0chrome\0csv\0folded\0otf2\0perfetto\0speedscope\0" },
	{ 'o', "output", "FILE", "into FILE instead of standard output; otf2: into a new folder", OPT_STRING, offsetof(struct export_options, output), NULL },
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct export_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only the threads of MPI rank N", OPT_COUNT, offsetof(struct export_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct export_options, pick.processes)),
	OPT_TRACED_FUNCTIONS(struct export_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct export_options, select, "but not these"),
	{ 0, "from", "TIME", "only calls that begin from then on, since the start: 2s, 300ms", OPT_TIME,
	  offsetof(struct export_options, pick.from), NULL },
	{ 0, "to", "TIME", "only up to then", OPT_TIME, offsetof(struct export_options, pick.to), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG, offsetof(struct export_options, mangled), NULL },
	PICK_TAIL_CALLS(offsetof(struct export_options, pick.tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command export_command = {
	.name = "export",
	.usage = "-f FORMAT [OPTION]... [DIR]",
	.summary = "Writes a trace in a format that another tool reads.",
	.opts = export_opts,
	.details = "DIR is a trace, " DEFAULT_DIR " if not given. Formats:\n"
		   "  callgrind   call graph with times: kcachegrind, callgrind_annotate; of blocks (--blocks):\n"
		   "              instructions, reads and writes by line\n"
		   "  chrome      time line, JSON: chrome://tracing, ui.perfetto.dev\n"
		   "  csv         a row for each call: spreadsheets, R, pandas\n"
		   "  folded      call paths with times: flamegraph.pl, speedscope\n"
		   "  otf2        time line, a folder: Vampir, Scalasca, otf2-print\n"
		   "  perfetto    time line, protobuf: ui.perfetto.dev, trace_processor\n"
		   "  speedscope  time line of each thread: www.speedscope.app\n",
	.examples = "sonde export -f perfetto -o trace.pftrace\tto be opened in ui.perfetto.dev\n"
		    "sonde export -f csv -F 'MPI_*' >calls.csv\ta table of some calls\n"
		    "sonde export -f callgrind -o callgrind.out && kcachegrind callgrind.out\ta call graph\n",
};

static const struct export_format *const formats[] = { &export_chrome, &export_csv, &export_otf2, &export_perfetto, &export_speedscope, NULL };

static const struct export_format *format_named(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL; /* one of call paths */
}

struct run {
	struct export x;
	struct export_options *o;
	struct reading reading;
	uint64_t damage;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* ---- single calls ---- */

static bool flush(struct run *r)
{
	struct tf_buf *b = &r->x.buf;
	bool good = fwrite(b->data, 1, b->size, r->x.out) == b->size;

	tf_buf_clear(b);
	return good;
}

static int export_events(struct run *r, struct sonde_trace_iter *iter)
{
	const struct pick *pick = &r->o->pick;
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status = SONDE_TRACE_OK;

	pick_tail_calls(iter, pick->tail_calls);
	if (pick->from)
		status = sonde_trace_seek(iter, pick->from);
	while (!status && !(status = sonde_trace_next(iter, &ev))) {
		reading_event(&r->reading);
		if (ev->time > pick->to)
			return 0;
		if (ev->time < pick->from)
			continue;
		if (!export_event(&r->x, ev) || r->x.buf.failed)
			return no_memory();
		if (r->x.failed)
			return EXIT_USAGE;
		if (r->x.buf.size > FULL && !flush(r))
			return EXIT_USAGE; /* who closes the file says why */
	}
	return status == SONDE_TRACE_END ? 0 : pick_read_error(status);
}

static void thread_begin(struct run *r, size_t i)
{
	if (r->x.format->thread)
		r->x.format->thread(&r->x, sonde_trace_thread(r->x.trace, i));
}

static void thread_end(struct run *r, size_t i)
{
	export_thread_end(&r->x, sonde_trace_thread(r->x.trace, i));
	if (r->x.format->thread_end)
		r->x.format->thread_end(&r->x, sonde_trace_thread(r->x.trace, i));
}

/* Reads what @iter gives and frees it. */
static int finish(struct run *r, enum sonde_trace_status status, struct sonde_trace_iter *iter)
{
	int result = status ? pick_read_error(status) : export_events(r, iter);

	/* what could be read is written */
	(void)pick_damage(iter, &r->damage);
	sonde_trace_iter_free(iter);
	return result;
}

static int export_by_thread(struct run *r)
{
	int result = 0;

	for (size_t i = 0; i < sonde_trace_threads(r->x.trace) && !result; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(r->x.trace, i);
		struct sonde_trace_iter *iter = NULL;
		enum sonde_trace_status status;

		if (!pick_thread(t, &r->o->pick) || !t->events)
			continue;
		thread_begin(r, i);
		status = sonde_trace_iterate(r->x.trace, i, &iter);
		result = finish(r, status, iter);
		thread_end(r, i);
	}
	return result;
}

static int export_by_time(struct run *r)
{
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status = sonde_trace_merge(r->x.trace, pick_thread, &r->o->pick, &iter);
	int result = finish(r, status, iter);

	for (size_t i = 0; i < sonde_trace_threads(r->x.trace); i++)
		thread_end(r, i);
	return result;
}

static int export_calls(struct run *r)
{
	struct export *x = &r->x;
	int result;

	if (x->format->begin)
		x->format->begin(x);
	result = x->format->by_thread ? export_by_thread(r) : export_by_time(r);
	if (x->format->end)
		x->format->end(x);
	if (x->buf.failed && !result)
		result = no_memory();
	if (x->out && !flush(r) && !result)
		result = EXIT_USAGE;
	return x->failed ? EXIT_USAGE : result;
}

/* ---- call paths ---- */

static int export_paths(struct run *r)
{
	struct graph_reader g = { .trace = r->x.trace, .pick = &r->o->pick, .paths = MAX_PATHS, .reading = r->reading };
	struct graph_style style = { .trace = r->x.trace, .out = r->x.out, .mangled = r->x.mangled };
	int result = graph_read(&g);

	if (!result && strcmp(r->o->format, "folded") == 0)
		graph_print_folded(&style, &g.tree);
	else if (!result)
		export_callgrind(&r->x, &g.tree);
	if (g.walk.unplaced)
		msg_warn("%" PRIu64 " calls count as their callers' own time: there are more than %" PRIu64 " call paths", g.walk.unplaced,
			 MAX_PATHS);
	r->damage = g.damage;
	graph_reader_end(&g);
	return result;
}

/* ---- all of it ---- */

static bool has_events(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++)
		if (sonde_trace_thread(trace, i)->events)
			return true;
	return false;
}

/* Were blocks counted, or their order recorded? */
static bool has_blocks(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		char *path;
		bool there = asprintf(&path, "%s/code.blocks", sonde_trace_rank(trace, i)->dir) >= 0;

		if (there) {
			there = access(path, F_OK) == 0;
			free(path);
		}
		if (there)
			return true;
	}
	return false;
}

static int export_into_folder(struct run *r)
{
	int result = EXIT_USAGE;

	if (r->x.format->open_folder(&r->x, r->o->output)) {
		pick_reading(&r->o->pick, false, &r->reading);
		result = export_calls(r);
		reading_end(&r->reading);
	}
	if (r->x.format->close_folder && !r->x.format->close_folder(&r->x, !result))
		result = EXIT_USAGE;
	return result ? result : r->damage ? EXIT_USAGE : 0;
}

static int export_into(struct run *r)
{
	struct export_output out;
	bool to_stdout = !r->o->output || strcmp(r->o->output, "-") == 0;
	int result;

	if (r->x.format && r->x.format->binary && to_stdout && isatty(STDOUT_FILENO)) {
		msg_error("%s is binary: name a file with -o", r->x.format->name);
		return EXIT_USAGE;
	}
	if (!export_output_open(&out, r->o->output))
		return EXIT_USAGE;
	r->x.out = out.f;
	pick_reading(&r->o->pick, to_stdout, &r->reading);
	result = r->x.format ? export_calls(r) : export_paths(r);
	reading_end(&r->reading);
	if (!export_output_close(&out, !result))
		result = EXIT_USAGE;
	if (r->x.cut)
		msg_debug("%" PRIu64 " calls had not ended when events went missing, or at the end", r->x.cut);
	return result ? result : r->damage ? EXIT_USAGE : 0;
}

static int make(struct run *r)
{
	struct export *x = &r->x;
	size_t threads = sonde_trace_threads(x->trace), functions = sonde_trace_functions(x->trace);
	int result;

	x->quoted = calloc(functions + 1, sizeof(*x->quoted));
	x->marked = calloc(functions + 1, sizeof(*x->marked));
	x->thread = calloc(threads + 1, sizeof(*x->thread));
	if (export_processes(x) && x->quoted && x->marked && x->thread)
		result = x->format && x->format->open_folder ? export_into_folder(r) : export_into(r);
	else
		result = no_memory();
	for (size_t i = 0; x->quoted && i < functions; i++)
		free(x->quoted[i]);
	for (size_t i = 0; x->thread && i < threads; i++)
		free(x->thread[i].open);
	free(x->quoted);
	free(x->marked);
	free(x->thread);
	export_processes_free(x);
	tf_buf_free(&x->buf);
	return result;
}

static int export_trace(struct export_options *o, const char *dir)
{
	struct run r = { .o = o, .x = { .format = format_named(o->format), .mangled = o->mangled } };
	struct sonde_trace *trace;
	bool *wanted = NULL;
	int result = pick_open(dir, &trace);

	if (!result)
		result = processes_choose(&trace, &o->pick.processes);
	if (result)
		return result;
	if (!has_events(trace) && strcmp(o->format, "callgrind") == 0 && has_blocks(trace)) {
		sonde_trace_close(trace);
		result = export_callgrind_blocks(dir, &o->pick, o->mangled, o->output);
		pick_forgive_closed_pipe();
		return result;
	}
	r.x.trace = o->pick.trace = trace;
	result = pick_check(&o->pick);
	if (!result && !has_events(trace)) {
		char text[256];

		holds_no_calls(trace, text, sizeof(text));
		msg_error("%s: %s", dir, text);
		result = EXIT_USAGE;
	}
	if (!result)
		result = traced_functions(trace, dir, &o->select, &wanted);
	if (!result) {
		r.x.wanted = wanted;
		holds_warn_without_end(trace, dir);
		budgeted_tell(trace);
		result = make(&r);
		pick_forgive_closed_pipe();
	}
	free(wanted);
	sonde_trace_close(trace);
	return result;
}

/* Call paths are of all functions, from the beginning to the end. */
static int check_options(const struct export_options *o)
{
	const char *of_calls = o->select.functions.n ? "functions" : o->select.excluded.n ? "no-functions" :
			       o->pick.from ? "from" : o->pick.to != PICK_NO_END ? "to" : NULL;

	if (!o->format)
		return opt_usage_error(&export_command, "which format? -f callgrind, chrome, csv, folded, otf2, perfetto, speedscope");
	if (strcmp(o->format, "otf2") == 0 && (!o->output || strcmp(o->output, "-") == 0))
		return opt_usage_error(&export_command, "otf2 is a folder: name one with -o");
	if (of_calls && !format_named(o->format))
		return opt_usage_error(&export_command, "--%s is not for %s", of_calls, o->format);
	return 0;
}

int verb_export(int argc, char **argv)
{
	struct export_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END } };
	int first = opt_parse(&export_command, argc, argv, &o), result;

	if (first < 0)
		result = OPT_STATUS(first);
	else if (argc - first > 1)
		result = opt_usage_error(&export_command, "more than one directory");
	else
		result = check_options(&o);
	if (first >= 0 && !result)
		result = export_trace(&o, first < argc ? argv[first] : DEFAULT_DIR);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return result;
}
