/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that probes record: described when they are first needed, and never later. */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP UINT64_C(0x7ffff0000000)

static uint64_t now;

static void call(struct image *im, uint32_t i)
{
	image_probe(im, BASE_TSC + ++now, PROBE_ENTER(i), TOP);
	image_probe(im, BASE_TSC + ++now, PROBE_LEAVE(i), TOP);
}

/* Drains what is in the image, so that a chunk is written. */
static void write_chunk(struct tf_thread *t, struct image *im)
{
	drain_image(t, im, true, BASE_TSC + now);
	assert_int_equal(tf_thread_flush(t), SONDE_TRACE_OK);
	image_clear(im);
}

static const struct sonde_trace_function *find(const struct sonde_trace *trace, const char *name)
{
	for (size_t i = 0; i < sonde_trace_functions(trace); i++)
		if (!strcmp(sonde_trace_function(trace, i)->name, name))
			return sonde_trace_function(trace, i);
	return NULL;
}

/* All events of thread 0 are of known functions; returns how many. */
static size_t count_events(const char *name)
{
	struct sonde_trace *trace = open_trace(name);
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *it;
	size_t n = 0;

	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	for (; sonde_trace_next(it, &ev) == SONDE_TRACE_OK; n++) {
		assert_non_null(ev->function);
		assert_non_null(ev->site);
		assert_ptr_equal(ev->site->function, ev->function);
		assert_null(ev->site->module);
		assert_int_equal(ev->flags, 0);
	}
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	return n;
}

/* After each chunk the trace can be read as it stands, as after a SIGKILL. */
static void described_in_time(void **state)
{
	struct tf_writer *w = new_trace("lazy", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct sonde_trace *trace;
	struct image im;

	(void)state;
	image_init(&im, 1 << 16);
	now = 0;
	for (uint32_t n = 1; n <= 64; n *= 2) {
		for (uint32_t i = 0; i < n; i++)
			call(&im, 3 * i);
		write_chunk(t, &im);
		assert_int_equal(count_events("lazy"), 2 * (2 * n - 1));
		trace = open_trace("lazy");
		assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS + n);
		assert_int_equal(sonde_trace_sites(trace), 3 * NFUNCTIONS + 2 * n);
		sonde_trace_close(trace);
	}
	end_thread(t);
	end_trace(w);
	image_free(&im);
	remove_trace("lazy");
}

static void described_whole(void **state)
{
	struct tf_writer *w = new_trace("whole", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	const struct sonde_trace_function *f;
	struct sonde_trace *trace;
	struct image im;

	(void)state;
	image_init(&im, 4096);
	call(&im, 7);
	call(&im, 4);
	call(&im, 9);
	write_chunk(t, &im);
	end_thread(t);
	end_trace(w);
	trace = open_trace("whole");
	assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, 0);
	assert_null(find(trace, "p5"));
	f = find(trace, "p7");
	assert_non_null(f);
	assert_string_equal(f->demangled, "<p7>");
	assert_string_equal(f->path, "/lib/libp.so");
	assert_int_equal(f->address, 0x2070);
	assert_string_equal(find(trace, "p4")->path, "/bin/prog");
	assert_ptr_equal(find(trace, "p9")->path, f->path);
	assert_null(sonde_trace_rank(trace, 0)->recording);
	sonde_trace_close(trace);
	image_free(&im);
	remove_trace("whole");
}

/* A function whose frame is open when the chunk begins is left or unwound there. */
static void old_frames(void **state)
{
	struct tf_writer *w = new_trace("old", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct image im;

	(void)state;
	image_init(&im, 4096);
	image_probe(&im, BASE_TSC + 1, PROBE_ENTER(1), TOP);
	image_probe(&im, BASE_TSC + 2, PROBE_ENTER(2), TOP - 16);
	now = 2;
	write_chunk(t, &im);
	image_probe(&im, BASE_TSC + 3, PROBE_LEAVE(2), TOP - 16);
	image_probe(&im, BASE_TSC + 4, PROBE_LEAVE(1), TOP);
	now = 4;
	write_chunk(t, &im);
	assert_int_equal(count_events("old"), 4);
	end_thread(t);
	end_trace(w);
	image_free(&im);
	remove_trace("old");
}

static uint64_t calls_of(const struct sonde_trace_thread *t, const char *name)
{
	for (size_t i = 0; i < t->ncalls; i++)
		if (!strcmp(t->calls[i].function->name, name))
			return t->calls[i].calls;
	return 0;
}

static void counted_calls(void **state)
{
	struct tf_writer *w = new_trace("counts", -1);
	struct tf_thread *a = new_thread(w, 1, 1), *b = new_thread(w, 1, 2);
	uint64_t calls[PROBE_COUNT(NPROBES) + 7] = { 99, [PROBE_COUNT(3)] = 12,
						     [PROBE_COUNT(150)] = UINT64_MAX,
						     [PROBE_COUNT(NPROBES) + 2] = 5 };
	struct tf_thread_end end = { .calls = calls, .ncalls = sizeof calls / sizeof calls[0] };
	const struct sonde_trace_thread *t;
	struct sonde_trace *trace;

	(void)state;
	assert_int_equal(tf_thread_close(a, &end), SONDE_TRACE_OK);
	end.ncalls = PROBE_COUNT(3) + 1;
	assert_int_equal(tf_thread_close(b, &end), SONDE_TRACE_OK);
	end_trace(w);
	trace = open_trace("counts");
	assert_int_equal(sonde_trace_functions(trace), NFUNCTIONS + 2);
	t = sonde_trace_thread(trace, 0);
	assert_int_equal(t->ncalls, 2);
	assert_int_equal(calls_of(t, "p3"), 12);
	assert_int_equal(calls_of(t, "p150"), UINT64_MAX);
	t = sonde_trace_thread(trace, 1);
	assert_int_equal(t->ncalls, 1);
	assert_int_equal(calls_of(t, "p3"), 12);
	assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, 0);
	sonde_trace_close(trace);
	remove_trace("counts");
}

static void recording(void **state)
{
	static const char *const names[] = { "_init", "say \"no\"\n" };
	static const struct tf_reason reasons[] = { { .text = "too short", .count = 12 },
						    { .text = "say \"no\"", .count = UINT64_MAX,
						      .names = names, .nnames = 2 } };
	static const char *const filters[] = { "-F '*'", "--depth 5" };
	struct tf_recording r = { .clock = "tsc", .instrumented = 5123, .left_alone = reasons,
				  .nleft_alone = 1, .filters = filters, .nfilters = 2 };
	struct tf_writer *w = new_trace("recording", -1);
	const struct sonde_trace_recording *got;
	struct sonde_trace *trace;

	(void)state;
	assert_int_equal(tf_writer_recording(w, &r), SONDE_TRACE_OK);
	r.nleft_alone = 2;
	r.instrumented = 6000;
	assert_int_equal(tf_writer_recording(w, &r), SONDE_TRACE_OK);
	end_trace(w);
	trace = open_trace("recording");
	got = sonde_trace_rank(trace, 0)->recording;
	assert_non_null(got);
	assert_string_equal(got->clock, "tsc");
	assert_int_equal(got->instrumented, 6000);
	assert_int_equal(got->nleft_alone, 2);
	assert_string_equal(got->left_alone[1].text, "say \"no\"");
	assert_int_equal(got->left_alone[1].count, UINT64_MAX);
	assert_int_equal(got->left_alone[0].nnames, 0);
	assert_int_equal(got->left_alone[1].nnames, 2);
	assert_string_equal(got->left_alone[1].names[0], names[0]);
	assert_string_equal(got->left_alone[1].names[1], names[1]);
	assert_int_equal(got->nfilters, 2);
	assert_string_equal(got->filters[1], "--depth 5");
	sonde_trace_close(trace);
	remove_trace("recording");
}

static enum sonde_trace_status add_one(struct tf_writer *w, uint32_t function, uint32_t event,
				       uint32_t count)
{
	struct tf_probe p = { .function = { .id = function, .name = "one" }, .event = event,
			      .count = count };

	return tf_writer_probes(w, &p, 1, NULL);
}

static void caller_mistakes(void **state)
{
	struct tf_writer *w = new_trace("mistakes", -1);
	struct tf_event framed = { .id = 900, .kind = SONDE_TRACE_ENTER, .framed = true };
	struct tf_event again = { .id = PROBE_ENTER(3), .kind = SONDE_TRACE_ENTER };

	(void)state;
	assert_int_equal(add_one(w, 1000, 15, 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, RING_ID_MASK, 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, PROBE_ENTER(3), 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, PROBE_ENTER(0) - 1, 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, ENTER(2), 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, 2000, PROBE_COUNT(3)), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1u << 24, 2000, 1000), SONDE_TRACE_E_INVALID);
	assert_int_equal(tf_writer_event(w, &framed), SONDE_TRACE_E_INVALID);
	assert_int_equal(tf_writer_event(w, &again), SONDE_TRACE_E_INVALID);
	assert_int_equal(add_one(w, 1000, RING_ID_MASK - 1, 1000), SONDE_TRACE_OK);
	/* A function that a module wraps can have probes as well. */
	assert_int_equal(add_one(w, RICH, 2000, 1001), SONDE_TRACE_OK);
	end_trace(w);
	remove_trace("mistakes");
}

/* As many as a large program has: most of them never called. */
static void many(void **state)
{
	enum { N = 50000 };
	struct tf_probe *probe = calloc(N, sizeof *probe);
	char(*name)[24] = calloc(N, sizeof *name);
	struct tf_writer *w = new_trace("many", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct image im;
	uint8_t *text;
	size_t before, after;

	(void)state;
	assert_true(probe && name);
	image_init(&im, 1 << 20);
	now = 0;
	for (uint32_t i = 0; i < N; i++) {
		snprintf(name[i], sizeof name[i], "a_function_%u", i);
		probe[i] = (struct tf_probe){ .function = { .id = 1000 + i, .name = name[i],
							    .path = "/lib/many.so",
							    .address = 0x10000 + 64 * i },
					      .event = 5000 + 2 * i, .count = 1000 + i };
	}
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	text = read_file("many/metadata", &before);
	free(text);
	assert_int_equal(tf_writer_probes(w, probe, N, NULL), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	text = read_file("many/metadata", &after);
	free(text);
	assert_int_equal(after, before);
	for (uint32_t i = 0; i < 25000; i++) {
		uint32_t k = i * 2 % N;

		image_probe(&im, BASE_TSC + ++now, 5000 + 2 * k, TOP);
		image_probe(&im, BASE_TSC + ++now, 5001 + 2 * k, TOP);
	}
	write_chunk(t, &im);
	assert_int_equal(count_events("many"), 50000);
	text = read_file("many/metadata", &before);
	free(text);
	assert_in_range((before - after) / 25000, 20, 59);
	end_thread(t);
	end_trace(w);
	image_free(&im);
	free(probe);
	free(name);
	remove_trace("many");
}

/* Lines that no writer writes. */
static void damaged_lines(void **state)
{
	static const char *const bad[] = {
		"{\"type\":\"functions\",\"path\":\"x\",\"list\":[[1]]}",
		"{\"type\":\"functions\",\"path\":\"x\",\"list\":[[70000,70000,5,0]]}",
		"{\"type\":\"functions\",\"path\":\"x\",\"list\":[[70000,1048575,\"f\",0]]}",
		"{\"type\":\"functions\",\"path\":\"x\",\"list\":[[99999999,70000,\"f\",0]]}",
		"{\"type\":\"functions\",\"list\":[[70000,16,\"f\",0]]}",
		"{\"type\":\"functions\",\"list\":[[70000,70000,\"f\",0],[70001,70001,\"g\",0]]}",
		"{\"type\":\"calls\",\"file\":\"none.sonde\",\"list\":[[1,1]]}",
		"{\"type\":\"calls\",\"file\":\"1.1.sonde\",\"list\":[[1]]}",
		"{\"type\":\"recording\",\"left-alone\":[[\"x\"]]}",
		"{\"type\":\"recording\",\"left-alone\":[[\"x\",2,3]]}",
	};
	size_t n = sizeof bad / sizeof bad[0], size;
	struct tf_writer *w = new_trace("lines", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct sonde_trace *trace;
	uint8_t *text;
	FILE *f;

	(void)state;
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	text = read_file("lines/metadata", &size);
	for (size_t i = 0; i < n; i++) {
		write_file("lines/metadata", text, size);
		f = fopen("lines/metadata", "a");
		assert_non_null(f);
		fprintf(f, "%s\n", bad[i]);
		fclose(f);
		trace = open_trace("lines");
		if (sonde_trace_rank(trace, 0)->bad_lines != 1)
			fail_msg("accepted: %s", bad[i]);
		sonde_trace_close(trace);
	}
	free(text);
	end_thread(t);
	end_trace(w);
	remove_trace("lines");
}

/* A function can be counted from before its first recorded call on; what no probe counts is not chosen. */
static void chosen_before_recorded(void **state)
{
	struct tf_chosen v[] = { { PROBE_COUNT(5), true }, { PROBE_COUNT(6), false }, { PROBE_COUNT(NPROBES) + 2, true } };
	struct tf_writer *w = new_trace("chosen", -1);
	const struct sonde_trace_budget *b;
	struct sonde_trace *trace;

	(void)state;
	assert_int_equal(tf_writer_chosen(w, BASE_TSC, v, sizeof v / sizeof v[0]), SONDE_TRACE_OK);
	end_trace(w);
	trace = open_trace("chosen");
	assert_int_equal(sonde_trace_rank(trace, 0)->bad_lines, 0);
	b = sonde_trace_rank(trace, 0)->budget;
	assert_non_null(b);
	assert_int_equal(b->nchosen, 2);
	assert_string_equal(b->chosen[0].function->name, "p5");
	assert_true(b->chosen[0].counted);
	assert_string_equal(b->chosen[1].function->name, "p6");
	assert_false(b->chosen[1].counted);
	sonde_trace_close(trace);
	remove_trace("chosen");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(described_in_time), cmocka_unit_test(described_whole),
		cmocka_unit_test(old_frames),	     cmocka_unit_test(counted_calls),
		cmocka_unit_test(recording),	     cmocka_unit_test(caller_mistakes),
		cmocka_unit_test(many),		     cmocka_unit_test(damaged_lines),
		cmocka_unit_test(chosen_before_recorded),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
