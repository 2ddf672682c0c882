/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace says about itself: written, read, cut off, damaged, of several ranks. */
#include "tests/unit/tracefmt/support.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modules/include/sonde/abi.h"
#include "tracefmt/json.h"
#include "tracefmt/read/time/timeline.h"

static void same_types_as_modules(void **state)
{
	(void)state;
	assert_int_equal(SONDE_TRACE_I32, SONDE_T_I32);
	assert_int_equal(SONDE_TRACE_I64, SONDE_T_I64);
	assert_int_equal(SONDE_TRACE_U32, SONDE_T_U32);
	assert_int_equal(SONDE_TRACE_U64, SONDE_T_U64);
	assert_int_equal(SONDE_TRACE_F64, SONDE_T_F64);
	assert_int_equal(SONDE_TRACE_PTR, SONDE_T_PTR);
	assert_int_equal(SONDE_TRACE_BYTES, SONDE_T_BYTES);
	assert_int_equal(SONDE_TRACE_STR, SONDE_T_STR);
	assert_int_equal(SONDE_TRACE_WAIT, SONDE_T_WAIT);
	assert_int_equal(SONDE_TRACE_APART, SONDE_T_APART);
	assert_int_equal(SONDE_TRACE_ENTER, SONDE_ENTER);
	assert_int_equal(SONDE_TRACE_LEAVE, SONDE_LEAVE);
	assert_int_equal(SONDE_TRACE_POINT, SONDE_POINT);
	assert_int_equal(TF_MAX_FIELDS, SONDE_MAX_FIELDS);
	assert_int_equal(TF_FIRST_EVENT, SONDE_FIRST_EVENT);
	assert_int_equal(RING_ID_BITS, SONDE_ID_BITS);
	assert_int_equal(RING_COUNTERS, SONDE_MAX_COUNTERS);
	assert_int_equal(RING_GAP, SONDE_MAX_RECORD);
}

/* --- writing and reading ------------------------------------------------------------------- */

static void add_counters(struct tf_writer *w)
{
	struct tf_counter own = { .id = 0, .name = "calls", .function = 4 };
	struct tf_counter other = { .id = 9, .name = "bytes", .function = -1, .module = "rich" };

	assert_int_equal(tf_writer_counter(w, &own), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_counter(w, &other), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_counter(w, &other), SONDE_TRACE_OK);
}

static void add_objects(struct tf_writer *w)
{
	struct tf_object program = { .id = 0, .path = "/bin/prog", .build_id = "00ff", .code = UINT64_MAX - 1 };
	struct tf_object library = { .id = 300, .path = "/lib/\xff", .build_id = "", .code = 1 };

	assert_int_equal(tf_writer_object(w, &program), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_object(w, &library), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_object(w, &library), SONDE_TRACE_OK);
	library.code = 2;
	assert_int_equal(tf_writer_object(w, &library), SONDE_TRACE_E_INVALID);
	library.id = 1 << 20;
	assert_int_equal(tf_writer_object(w, &library), SONDE_TRACE_E_INVALID);
}

static void finish_thread(struct tf_thread *t)
{
	uint64_t counters[RING_COUNTERS] = { [0] = 5, [9] = UINT64_MAX - 3 };
	struct tf_thread_end end = { .comm = "renamed", .lost = 11, .nested = 12,
				     .counters = counters };

	assert_int_equal(tf_thread_close(t, &end), SONDE_TRACE_OK);
}

static void write_full(const char *name, int rank)
{
	struct tf_writer *w = new_trace(name, rank);
	struct tf_end end = { .ending = SONDE_TRACE_KILLED, .signal = 11, .lost = 2,
			      .lost_threads = 1, .complete = true };

	add_counters(w);
	add_objects(w);
	assert_int_equal(tf_writer_process(w, 100, 0, "prog"), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_process(w, 200, 100, NULL), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_process(w, 200, 0, "child"), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_process_end(w, 200, 7 << 8), SONDE_TRACE_OK);
	finish_thread(new_thread(w, 100, 101));
	finish_thread(new_thread(w, 100, 101)); /* the same ids once more */
	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
}

static void check_rank(const struct sonde_trace_rank *r)
{
	assert_string_equal(r->program, "/bin/prog");
	assert_int_equal(r->nargs, 2);
	assert_string_equal(r->args[1], "two words");
	assert_null(r->args[2]);
	assert_string_equal(r->host, "node7");
	assert_string_equal(r->version, "1.2.3");
	assert_int_equal(r->start_real_ns, 1700000000000000000);
	assert_int_equal(r->ending, SONDE_TRACE_KILLED);
	assert_int_equal(r->signal, 11);
	assert_true(r->complete);
	assert_int_equal(r->lost, 2 + 2 * 11);
	assert_int_equal(r->lost_threads, 1);
	assert_int_equal(r->bad_lines, 0);
	assert_int_equal(r->end, 1000000000);
	assert_true(r->tsc_hz > 999999999 && r->tsc_hz < 1000000001);
}

static void check_threads(const struct sonde_trace *trace)
{
	const struct sonde_trace_thread *a = sonde_trace_thread(trace, 0);
	const struct sonde_trace_thread *b = sonde_trace_thread(trace, 1);

	assert_int_equal(sonde_trace_threads(trace), 2);
	assert_null(sonde_trace_thread(trace, 2));
	assert_int_equal(a->pid, 100);
	assert_int_equal(a->tid, 101);
	assert_string_equal(a->comm, "renamed");
	assert_string_not_equal(a->file, b->file);
	assert_int_equal(b->index, 1);
	assert_int_equal(a->lost, 11);
	assert_int_equal(a->nested, 12);
	assert_true(a->ended);
	assert_int_equal(a->ncounts, 2);
	assert_int_equal(a->counts[1].value, UINT64_MAX - 3);
	assert_string_equal(a->counts[1].counter->name, "bytes");
}

static void check_things(const struct sonde_trace *trace)
{
	const struct sonde_trace_function *f = sonde_trace_function(trace, 4);
	const struct sonde_trace_counter *c = sonde_trace_counter(trace, 0);
	const struct sonde_trace_process *p = sonde_trace_process(trace, 1);

	assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS);
	assert_string_equal(f->name, "_Z2f4v");
	assert_string_equal(f->demangled, "f4()");
	assert_string_equal(f->path, "/bin/prog");
	assert_int_equal(f->address, 0x1040);
	assert_int_equal(f->index, 4);
	assert_int_equal(sonde_trace_counters(trace), 2);
	assert_ptr_equal(c->function, f);
	assert_int_equal(c->total, 10);
	assert_int_equal(sonde_trace_modules(trace), 1);
	assert_string_equal(sonde_trace_module(trace, 0)->description, "records much");
	assert_int_equal(sonde_trace_processes(trace), 2);
	assert_int_equal(p->parent, 100);
	assert_string_equal(p->comm, "child");
	assert_true(p->ended);
	assert_int_equal(p->exit_status, 7);
	assert_int_equal(sonde_trace_sites(trace), 3 * NFUNCTIONS);
}

static void check_objects(const struct sonde_trace *trace)
{
	const struct sonde_trace_object *program = sonde_trace_object(trace, 0), *library = sonde_trace_object(trace, 1);

	assert_int_equal(sonde_trace_objects(trace), 2);
	assert_null(sonde_trace_object(trace, 2));
	assert_string_equal(program->path, "/bin/prog");
	assert_string_equal(program->build_id, "00ff");
	assert_int_equal(program->code, UINT64_MAX - 1);
	assert_int_equal(library->id, 300);
	assert_int_equal(library->index, 1);
	assert_string_equal(library->path, "/lib/\xff");
	assert_string_equal(library->build_id, "");
}

static void check_sites(const struct sonde_trace *trace)
{
	const struct sonde_trace_site *rich = sonde_trace_site(trace, 3 * RICH + 2);
	const struct sonde_trace_site *waits = sonde_trace_site(trace, 3 * WAITS);
	const struct sonde_trace_site *apart = sonde_trace_site(trace, 3 * APART);

	assert_int_equal(rich->kind, SONDE_TRACE_POINT);
	assert_int_equal(rich->id, POINT(RICH));
	assert_string_equal(rich->name, "phase");
	assert_string_equal(rich->module->name, "rich");
	assert_int_equal(rich->nfields, 4);
	assert_string_equal(rich->fields[1].name, "size");
	assert_int_equal(rich->fields[1].type, SONDE_TRACE_BYTES);
	assert_true(waits->waits && !waits->apart);
	assert_string_equal(waits->time_class, "messages");
	assert_int_equal(waits->nfields, 0);
	assert_true(apart->apart && !apart->waits);
	assert_string_equal(apart->time_class, "start");
	assert_null(rich->time_class);
	assert_null(sonde_trace_site(trace, 0)->module);
}

static void everything(void **state)
{
	struct sonde_trace *trace;

	(void)state;
	write_full("full", -1);
	trace = open_trace("full");
	assert_int_equal(sonde_trace_ranks(trace), 1);
	assert_int_equal(sonde_trace_rank(trace, 0)->rank, -1);
	check_rank(sonde_trace_rank(trace, 0));
	check_threads(trace);
	check_things(trace);
	check_objects(trace);
	check_sites(trace);
	sonde_trace_close(trace);
}

/* Every line is JSON by itself, and the first and the last are what the format says. */
static void lines_are_json(void **state)
{
	size_t n;
	char *text = (char *)read_file("full/metadata", &n), *line = text, *end, *save;
	const char *type = "";

	(void)state;
	text[n] = '\0';
	for (int i = 0; (end = strchr(line, '\n')); line = end + 1, i++) {
		json_error_t error;
		json_t *v = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &error);

		assert_non_null(v);
		type = json_string_value(json_object_get(v, "type"));
		if (!i)
			assert_string_equal(type, "trace");
		save = end[1] ? NULL : strdup(type);
		json_decref(v);
		if (save)
			assert_string_equal(save, "end");
		free(save);
	}
	assert_int_equal(*line, 0);
	free(text);
}

/* A killed recorder: the metadata ends anywhere. */
static void any_prefix(void **state)
{
	size_t n, first;
	uint8_t *text = read_file("full/metadata", &n);

	(void)state;
	first = (size_t)((uint8_t *)memchr(text, '\n', n) - text) + 1;
	for (size_t i = 0; i < n; i += i < first + 500 ? 1 : 37) {
		struct sonde_trace_message why;
		struct sonde_trace *trace;
		enum sonde_trace_status status;

		write_file("full/metadata", text, i);
		status = sonde_trace_open("full", &trace, &why);
		if (i < first) {
			assert_int_equal(status, SONDE_TRACE_E_TRUNCATED);
			assert_null(trace);
			assert_non_null(strstr(why.text, "full/metadata"));
			assert_null(strchr(why.text, '\n'));
			continue;
		}
		assert_int_equal(status, SONDE_TRACE_OK);
		assert_int_equal(sonde_trace_rank(trace, 0)->ending, SONDE_TRACE_UNFINISHED);
		assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, 0);
		assert_int_equal(sonde_trace_threads(trace), 2); /* found by their files */
		assert_int_equal(sonde_trace_thread(trace, 0)->tid, 101);
		sonde_trace_close(trace);
	}
	write_file("full/metadata", text, n);
	free(text);
}

static void damaged_lines(void **state)
{
	static const char *const bad[] = {
		"{}", "[]", "x", "{\"type\":5}", "{\"type\":\"function\",\"id\":-1,\"name\":\"f\"}",
		"{\"type\":\"function\",\"id\":99999999999,\"name\":\"f\"}",
		"{\"type\":\"event\",\"id\":16,\"kind\":\"enter\",\"function\":0}",
		"{\"type\":\"event\",\"id\":900,\"kind\":\"enter\",\"function\":99}",
		"{\"type\":\"event\",\"id\":900,\"kind\":\"jump\",\"function\":1}",
		"{\"type\":\"event\",\"id\":900,\"kind\":\"enter\",\"function\":1,\"fields\":[[1,2]]}",
		"{\"type\":\"thread\",\"file\":\"../x.sonde\",\"pid\":1,\"tid\":1}",
		"{\"type\":\"thread\",\"file\":\"a/b.sonde\",\"pid\":1,\"tid\":1}",
		"{\"type\":\"thread\",\"file\":\"100.101.sonde\",\"pid\":1,\"tid\":1}",
		"{\"type\":\"trace\",\"format\":1}", "{\"type\":\"counter\",\"id\":256,\"name\":\"\"}",
		"{\"type\":\"object\",\"id\":5,\"code\":1}", "{\"type\":\"object\",\"id\":0,\"path\":\"p\",\"code\":1}",
		"{\"type\":\"object\",\"id\":5,\"path\":\"p\"}",
		"{\"type\":\"object\",\"id\":1048576,\"path\":\"p\",\"code\":1}",
		"{\"type\":\"clock\",\"tsc\":\"-1\",\"mono\":1}", "\xff\xfe",
		"{\"type\":\"exec\",\"pid\":0,\"tsc\":1}", "{\"type\":\"exec\",\"pid\":1}",
		"{\"type\":\"exec\",\"pid\":1,\"tsc\":1,\"number\":-1}",
	};
	size_t n, count = sizeof bad / sizeof bad[0];
	uint8_t *text = read_file("full/metadata", &n);
	FILE *f = fopen("full/metadata", "ab");
	struct sonde_trace *trace;

	(void)state;
	for (size_t i = 0; i < count; i++)
		fprintf(f, "%s\n", bad[i]);
	fprintf(f, "{\"type\":\"later\",\"what\":[]}\n"); /* unknown, not bad */
	fclose(f);
	trace = open_trace("full");
	assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, count);
	check_things(trace);
	sonde_trace_close(trace);
	write_file("full/metadata", text, n);
	free(text);
}

static void not_a_trace(void **state)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;

	(void)state;
	assert_int_equal(sonde_trace_open("nowhere", &trace, &why), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(mkdir("empty", 0777), 0);
	assert_int_equal(sonde_trace_open("empty", &trace, &why), SONDE_TRACE_E_NOTRACE);
	write_file("empty/metadata", "hello\n", 6);
	assert_int_equal(sonde_trace_open("empty", &trace, &why), SONDE_TRACE_E_NOTRACE);
	write_file("empty/metadata", "{\"type\":\"trace\",\"format\":4}\n", 28);
	assert_int_equal(sonde_trace_open("empty", &trace, &why), SONDE_TRACE_E_VERSION);
	assert_null(trace);
	write_file("file", "x", 1);
	assert_int_equal(sonde_trace_open("file", &trace, NULL), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(errno, ENOTDIR);
}

/* Any bytes in names come back as they were. */
static void strange_names(void **state)
{
	static const char *const names[] = {
		"\"quoted\\\"", "tab\tline\nbell\a", "\xff\xfe", "caf\xc3\xa9", "\xc3", "\xc0\x80",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xef\x9c\x80x", "\xef\x9f\xbf", "\xf0\x9f\x98\x80",
		"\x7f\x01", "", "\xe2\x82", "a\xe2\x82\xac",
	};
	size_t n = sizeof names / sizeof names[0];
	struct tf_writer *w = new_trace("strange", -1);
	struct sonde_trace *trace;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		struct tf_function f = { .id = 100 + i, .name = names[i], .path = "p" };

		assert_int_equal(tf_writer_function(w, &f), SONDE_TRACE_OK);
	}
	end_trace(w);
	trace = open_trace("strange");
	assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, 0);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(sonde_trace_function(trace, NFUNCTIONS + i)->name, names[i]);
	sonde_trace_close(trace);
}

static void caller_mistakes(void **state)
{
	struct tf_writer *w = new_trace("mistakes", -1);
	struct tf_function f = { .id = 4, .name = "another" };
	struct tf_event e = { .id = 15, .kind = SONDE_TRACE_ENTER, .function = 3 };
	struct tf_field field = { "x", SONDE_TRACE_APART + 1 };
	struct tf_counter c = { .id = RING_COUNTERS, .name = "x", .function = -1 };

	(void)state;
	assert_int_equal(tf_writer_function(w, &f), SONDE_TRACE_E_INVALID);
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	e.id = 1 << 20;
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	e.id = 9999;
	e.function = 5000;
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	e.function = 3;
	e.module = "nobody";
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	e.module = NULL;
	e.fields = &field;
	e.nfields = 1;
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	field.type = SONDE_TRACE_U64;
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_OK);
	field.type = SONDE_TRACE_I64;
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_E_INVALID);
	assert_int_equal(tf_writer_counter(w, &c), SONDE_TRACE_E_INVALID);
	end_trace(w);
}

/* --- ranks --------------------------------------------------------------------------------- */

static void write_rank(const char *dir, int rank, uint64_t real, uint64_t at)
{
	struct tf_start start = { .program = "/bin/prog", .rank = rank, .ranks = 3,
				  .clock = { BASE_TSC + real / 2, BASE_MONO + real, real } };
	struct tf_end end = { .ending = SONDE_TRACE_EXITED, .complete = true };
	const uint64_t tsc = start.clock.tsc; /* two ns a tick, as all ranks of a node have it */
	struct tf_writer *w;
	struct tf_thread *t;
	struct image im;

	assert_int_equal(tf_writer_create(&w, dir, &start), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_clock(w, &(struct tf_clock){ tsc + 1000,
								BASE_MONO + real + 2000,
								real + 2000 }), 0);
	describe_functions(w);
	t = new_thread(w, 50 + rank, 50 + rank);
	image_init(&im, 4096);
	image_enter(&im, tsc + at, 3 + (uint32_t)rank, 4096);
	drain_image(t, &im, true, tsc + 1000);
	end_thread(t);
	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
	image_free(&im);
}

/* Ranks share functions; their clocks are set against each other; one of them is broken. */
static void ranks(void **state)
{
	static const struct {
		uint64_t time;
		int rank, run;
		size_t function;
	} expected[] = { { 200, 2, 1, 5 }, { 5000 + 20, 0, 1, 3 }, { 7000 + 20, 0, 2, 3 } };
	struct sonde_trace *trace;
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	const char *text;
	size_t n = 0;

	(void)state;
	assert_int_equal(mkdir("job", 0777), 0);
	write_rank("job/rank-0", 0, 15000, 10);
	write_rank("job/rank-0.2", 0, 17000, 10);
	write_rank("job/rank-2", 2, 10000, 100);
	assert_int_equal(mkdir("job/rank-10", 0777), 0);
	assert_int_equal(mkdir("job/rank-x", 0777), 0);
	trace = open_trace("job");
	assert_int_equal(sonde_trace_ranks(trace), 3);
	assert_int_equal(sonde_trace_bad_ranks(trace, &text), 1);
	assert_non_null(strstr(text, "rank-10"));
	assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS);
	assert_int_equal(sonde_trace_sites(trace), 3 * 3 * NFUNCTIONS);
	assert_int_equal(sonde_trace_rank(trace, 2)->start, 0);
	assert_int_equal(sonde_trace_rank(trace, 0)->start, 5000);
	assert_int_equal(sonde_trace_merge(trace, NULL, NULL, &it), SONDE_TRACE_OK);
	for (; sonde_trace_next(it, &ev) == SONDE_TRACE_OK; n++) {
		const struct sonde_trace_rank *rank =
			sonde_trace_rank(trace, ev->thread->rank_index);

		assert_true(n < 3);
		assert_int_equal(rank->rank, expected[n].rank);
		assert_int_equal(rank->run, expected[n].run);
		assert_int_equal(ev->time, expected[n].time);
		assert_int_equal(ev->function->index, expected[n].function);
	}
	assert_int_equal(n, 3);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
}

static bool second_run(const struct sonde_trace_rank *program, int pid, void *arg)
{
	++*(int *)arg;
	return program->run == 2 && pid == 50;
}

/* One of these ranks: what is left is as it was, times included. */
static void some(void **state)
{
	struct sonde_trace *all = open_trace("job"), *trace;
	const struct sonde_trace_event *ev;
	struct sonde_trace_message why;
	struct sonde_trace_iter *it;
	int asked = 0;

	(void)state;
	assert_int_equal(sonde_trace_open_some(all, second_run, &asked, &trace, &why), SONDE_TRACE_OK);
	assert_true(asked >= 3);
	assert_int_equal(sonde_trace_ranks(trace), 1);
	assert_int_equal(sonde_trace_bad_ranks(trace, NULL), 0);
	assert_int_equal(sonde_trace_rank(trace, 0)->start, 7000);
	assert_int_equal(sonde_trace_rank(trace, 0)->run, 2);
	assert_int_equal(sonde_trace_threads(trace), 1);
	assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS);
	assert_int_equal(sonde_trace_merge(trace, NULL, NULL, &it), SONDE_TRACE_OK);
	assert_int_equal(sonde_trace_next(it, &ev), SONDE_TRACE_OK);
	assert_int_equal(ev->time, 7000 + 20);
	assert_int_equal(ev->thread->rank_index, 0);
	assert_int_equal(sonde_trace_next(it, &ev), SONDE_TRACE_END);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	sonde_trace_close(all);
}

static bool is_child(const struct sonde_trace_rank *program, int pid, void *arg)
{
	(void)program;
	(void)arg;
	return pid == 200;
}

static bool is_nobody(const struct sonde_trace_rank *program, int pid, void *arg)
{
	(void)arg;
	return program->number > 5 || pid < 0;
}

/* One process of a program: counters count its threads alone. */
static void some_process(void **state)
{
	struct sonde_trace *all, *trace;
	struct sonde_trace_message why;

	(void)state;
	all = open_trace("full");
	assert_int_equal(sonde_trace_counter(all, 0)->total, 10);
	assert_int_equal(sonde_trace_open_some(all, is_child, NULL, &trace, &why), SONDE_TRACE_OK);
	assert_int_equal(sonde_trace_processes(trace), 1);
	assert_string_equal(sonde_trace_process(trace, 0)->comm, "child");
	assert_int_equal(sonde_trace_threads(trace), 0);
	assert_int_equal(sonde_trace_counter(trace, 0)->total, 0);
	assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS);
	assert_int_equal(sonde_trace_rank(trace, 0)->pid, 100);
	assert_true(sonde_trace_rank(trace, 0)->left_out);
	sonde_trace_close(trace);
	assert_int_equal(sonde_trace_open_some(all, is_nobody, NULL, &trace, &why), SONDE_TRACE_E_NOTRACE);
	assert_null(trace);
	sonde_trace_close(all);
}

/* The end of the program is before that of the recording, whose last clock is the better for times. */
static void end_of_program(void **state)
{
	struct tf_start start = { .program = "/bin/app", .rank = -1, .clock = { BASE_TSC, BASE_MONO, BASE_MONO } };
	struct tf_end end = { .ending = SONDE_TRACE_EXITED, .complete = true,
			      .clock = { BASE_TSC + 600, BASE_MONO + 599, BASE_MONO + 599 } };
	struct sonde_trace *trace;
	struct tf_writer *w;

	(void)state;
	assert_int_equal(tf_writer_create(&w, "ended", &start), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_clock(w, &(struct tf_clock){ BASE_TSC + 1000, BASE_MONO + 1000, BASE_MONO + 1000 }),
			 SONDE_TRACE_OK);
	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
	trace = open_trace("ended");
	assert_int_equal(sonde_trace_rank(trace, 0)->end, 600);
	sonde_trace_close(trace);
}

/* --- programs ------------------------------------------------------------------------------ */

static void write_program(const char *dir, struct tf_start start, const struct tf_exec *exec, enum sonde_trace_ending ending)
{
	struct tf_end end = { .ending = ending, .complete = true };
	struct tf_writer *w;

	start.clock = (struct tf_clock){ BASE_TSC, BASE_MONO, BASE_MONO };
	assert_int_equal(tf_writer_create(&w, dir, &start), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_clock(w, &(struct tf_clock){ BASE_TSC + 1000, BASE_MONO + 1000, BASE_MONO + 1000 }),
			 0);
	if (exec)
		assert_int_equal(tf_writer_exec(w, exec), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
}

/* What the metadata says of processes and their programs. */
static void programs(void **state)
{
	char name[] = "app", option[] = "-x";
	char *const args[] = { name, option, NULL };
	const struct tf_exec app = { .pid = 77, .tsc = BASE_TSC + 300, .path = "/bin/app", .args = args, .number = 1 };
	const struct tf_exec sudo = { .pid = 77, .tsc = BASE_TSC + 500, .path = "/bin/sudo", .left_alone = "set-user-ID" };
	const struct sonde_trace_exec *e;
	struct sonde_trace *trace;

	(void)state;
	write_program("chain", (struct tf_start){ .program = "/bin/sh", .rank = -1, .pid = 77, .parent = 70 }, &app,
		      SONDE_TRACE_EXECUTED);
	write_program("chain/process-77",
		      (struct tf_start){ .program = "/bin/app", .rank = -1, .pid = 77, .parent = 70, .number = 1 }, &sudo,
		      SONDE_TRACE_EXECUTED);
	trace = open_trace("chain");
	assert_int_equal(sonde_trace_ranks(trace), 2);
	assert_int_equal(sonde_trace_execs(trace), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct sonde_trace_rank *r = sonde_trace_rank(trace, i);

		assert_int_equal(r->index, i);
		assert_int_equal(r->number, i);
		assert_int_equal(r->pid, 77);
		assert_int_equal(r->parent, 70);
		assert_int_equal(r->ending, SONDE_TRACE_EXECUTED);
		assert_int_equal(r->bad_lines, 0);
	}
	e = sonde_trace_exec(trace, 0);
	assert_int_equal(e->rank_index, 0);
	assert_int_equal(e->pid, 77);
	assert_int_equal(e->time, 300);
	assert_string_equal(e->path, "/bin/app");
	assert_int_equal(e->nargs, 2);
	assert_string_equal(e->args[1], "-x");
	assert_null(e->args[2]);
	assert_string_equal(e->left_alone, "");
	assert_ptr_equal(e->program, sonde_trace_rank(trace, 1));
	assert_ptr_equal(sonde_trace_rank(trace, 0)->executed, e);
	e = sonde_trace_exec(trace, 1);
	assert_int_equal(e->rank_index, 1);
	assert_int_equal(e->nargs, 0);
	assert_string_equal(e->left_alone, "set-user-ID");
	assert_null(e->program);
	assert_null(sonde_trace_exec(trace, 2));
	sonde_trace_close(trace);
}

static void bad_programs(void **state)
{
	struct tf_start start = { .program = "p", .rank = -1, .number = 1 };
	struct tf_exec exec = { .pid = 1, .path = "p" };
	struct tf_writer *w;

	(void)state;
	assert_int_equal(tf_writer_create(&w, "nobody", &start), SONDE_TRACE_E_INVALID);
	start.number = 0;
	assert_int_equal(tf_writer_create(&w, "nobody", &start), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_exec(w, &exec), SONDE_TRACE_E_INVALID);
	exec.number = 1;
	exec.left_alone = "32 bits";
	assert_int_equal(tf_writer_exec(w, &exec), SONDE_TRACE_E_INVALID);
	exec.left_alone = NULL;
	exec.pid = 0;
	assert_int_equal(tf_writer_exec(w, &exec), SONDE_TRACE_E_INVALID);
	tf_writer_abandon(w);
}

/* Every folder that is one of a trace's has exactly one name; others, files and links do not count. */
static void folders(void **state)
{
	static const char *const names[] = {
		"rank-10/process-9", "rank-10/process-10.2", "rank-10/process-10", "rank-2.2", "rank-2", "rank-0", "process-5",
		/* none of them: */
		"rank-x", "rank-01", "rank-3.1", "rank--1", "rank-2.", "rank-2.02", "rank-99999999999", "process-0", "process-05",
		"process-", "process--1", "process-5.1", "process-5.0", "process-5x", "process-5.2.3", "process- 6",
		"process-2147483648", "rank-0/rank-1", "process-5/process-6",
	};
	static const struct {
		const char *dir;
		int rank, run, pid, number;
	} expected[] = {
		{ "t", -1, 1, 0, 0 },		     { "t/process-5", -1, 1, 5, 1 },	  { "t/rank-0", 0, 1, 0, 0 },
		{ "t/rank-2", 2, 1, 0, 0 },	     { "t/rank-2.2", 2, 2, 0, 0 },	  { "t/rank-10/process-9", 10, 1, 9, 1 },
		{ "t/rank-10/process-10", 10, 1, 10, 1 }, { "t/rank-10/process-10.2", 10, 1, 10, 2 },
	};
	const size_t n = sizeof expected / sizeof expected[0];
	struct tf_start start = { .program = "p", .rank = -1 };
	struct sonde_trace *trace;
	char path[64];

	(void)state;
	write_program("t", start, NULL, SONDE_TRACE_EXITED);
	assert_int_equal(mkdir("t/rank-10", 0755), 0);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "t/%s", names[i]);
		write_program(path, start, NULL, SONDE_TRACE_EXITED);
	}
	write_file("t/rank-5", "x", 1);
	write_file("t/process-7", "x", 1);
	assert_int_equal(mkdir("t/process-11", 0755), 0);
	assert_int_equal(symlink("process-5", "t/process-8"), 0);
	assert_int_equal(symlink(".", "t/process-9"), 0);
	trace = open_trace("t");
	assert_int_equal(sonde_trace_bad_ranks(trace, NULL), 0);
	assert_int_equal(sonde_trace_ranks(trace), n);
	for (size_t i = 0; i < n; i++) {
		const struct sonde_trace_rank *r = sonde_trace_rank(trace, i);

		assert_string_equal(r->dir, expected[i].dir);
		assert_int_equal(r->rank, expected[i].rank);
		assert_int_equal(r->run, expected[i].run);
		assert_int_equal(r->pid, expected[i].pid);
		assert_int_equal(r->number, expected[i].number);
	}
	sonde_trace_close(trace);
}

/* Interpolation between points, extrapolation outside, points that make no sense. */
static void timeline(void **state)
{
	struct tf_timeline t = { 0 };

	(void)state;
	assert_true(tf_timeline_add(&t, 1000, 50));
	tf_timeline_finish(&t);
	assert_int_equal(tf_timeline_ns(&t, 1500), 550); /* nothing better is known */
	assert_true(tf_timeline_add(&t, 3000, 1050));
	assert_true(tf_timeline_add(&t, 2000, 2000));	   /* back on one clock */
	assert_true(tf_timeline_add(&t, 4000, 1000));	   /* back on the other */
	assert_true(tf_timeline_add(&t, UINT64_MAX, 3000)); /* nonsense */
	assert_true(tf_timeline_add(&t, 5000, 4050));
	tf_timeline_finish(&t);
	assert_int_equal(t.n, 3);
	assert_int_equal(tf_timeline_ns(&t, 1000), 50);
	assert_int_equal(tf_timeline_ns(&t, 2000), 550);
	assert_int_equal(tf_timeline_ns(&t, 3000), 1050);
	assert_int_equal(tf_timeline_ns(&t, 4000), 2550);
	assert_int_equal(tf_timeline_ns(&t, 9000), 8050); /* along the whole line */
	assert_int_equal(tf_timeline_ns(&t, 990), 40);
	assert_int_equal(tf_timeline_ns(&t, 0), 0);
	assert_true(t.hz > 0.99e9 && t.hz < 1.01e9);
	tf_timeline_free(&t);
}

/* Off from 1000 to 1500, from 1600 to 1800, and from 3000 on; the lines in another order, and some that say nothing new. */
static void switches(void **state)
{
	static const struct {
		uint64_t tsc;
		bool on;
	} lines[] = { { 1500, true }, { 1000, false }, { 1550, true }, { 1800, true }, { 1600, false }, { 1700, false },
		      { 3000, false } };
	static const struct tf_start start = { .program = "p", .rank = -1, .clock = { 500, 500, 1 } };
	static const uint64_t off[][3] = { { 0, 500, 0 }, { 0, 600, 100 }, { 0, 1000, 500 }, { 700, 1200, 400 },
					   { 0, 2500, 700 }, { 0, 2600, 800 }, { 2600, 2500, 0 } };
	struct tf_clock later = { 10500, 10500, 1 };
	struct sonde_trace *trace;
	struct tf_writer *w;

	(void)state;
	assert_int_equal(tf_writer_create(&w, "switched", &start), SONDE_TRACE_OK);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(tf_writer_switch(w, lines[i].tsc, lines[i].on), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_clock(w, &later), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	tf_writer_abandon(w);
	trace = open_trace("switched");
	assert_int_equal(sonde_trace_rank(trace, 0)->offs, 3);
	assert_int_equal(sonde_trace_rank(trace, 0)->off, 500 + 200 + 7500);
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		assert_int_equal(sonde_trace_off(trace, 0, off[i][0], off[i][1]), off[i][2]);
	assert_int_equal(sonde_trace_off(trace, 1, 0, UINT64_MAX), 0);
	sonde_trace_close(trace);
}

/* The clocks are read together, and go forward. */
static void clocks(void **state)
{
	struct tf_clock a, b;

	(void)state;
	tf_clock_now(&a);
	usleep(1000);
	tf_clock_now(&b);
	assert_true(b.tsc > a.tsc && b.mono_ns >= a.mono_ns + 1000000);
	assert_true(b.real_ns > a.real_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_types_as_modules),
		cmocka_unit_test(everything),
		cmocka_unit_test(lines_are_json),
		cmocka_unit_test(any_prefix),
		cmocka_unit_test(damaged_lines),
		cmocka_unit_test(not_a_trace),
		cmocka_unit_test(strange_names),
		cmocka_unit_test(caller_mistakes),
		cmocka_unit_test(ranks),
		cmocka_unit_test(some),
		cmocka_unit_test(some_process),
		cmocka_unit_test(end_of_program), cmocka_unit_test(programs),
		cmocka_unit_test(bad_programs),
		cmocka_unit_test(folders),
		cmocka_unit_test(timeline),
		cmocka_unit_test(switches),
		cmocka_unit_test(clocks),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
