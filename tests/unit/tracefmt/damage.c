/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread files that end too early, that are damaged, that cannot be written. */
#include "tests/unit/tracefmt/support.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tracefmt/format.h"

#define TOP UINT64_C(0x7ffff0000000)

static uint8_t *original;
static size_t size;
static char path[256];

/* What a reader finds in the trace. */
struct found {
	uint64_t events, lost_marks, lost, damage;
	enum sonde_trace_status status;
	bool indexed;
};

static struct found read_all(const char *dir)
{
	struct sonde_trace *trace = open_trace(dir);
	const struct sonde_trace_thread *thread = sonde_trace_thread(trace, 0);
	struct found found = { .status = thread->status, .indexed = thread->indexed };
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status;
	uint64_t before = 0;

	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	while ((status = sonde_trace_next(it, &ev)) == SONDE_TRACE_OK) {
		assert_true(ev->time >= before);
		before = ev->time;
		if (ev->kind == SONDE_TRACE_LOST) {
			found.lost_marks++;
			found.lost += ev->lost;
		} else {
			found.events++;
		}
	}
	assert_int_equal(status, SONDE_TRACE_END);
	found.damage = sonde_trace_damage(it, NULL);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	return found;
}

#define CHUNKS 4u
#define PAIRS 50u /* of events in each chunk */

/* A trace of some small chunks. */
static void make_trace(void)
{
	struct tf_writer *w = new_trace("trace", -1);
	struct tf_thread *t = new_thread(w, 100, 101);
	struct image im;

	image_init(&im, 4096);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		image_clear(&im);
		for (uint32_t i = 0; i < PAIRS; i++) {
			uint64_t now = BASE_TSC + 10000 * c + 100 * i;

			image_enter(&im, now, 3 + i % 7, TOP);
			image_leave(&im, now + random_below(90), 3 + i % 7);
		}
		drain_image(t, &im, true, BASE_TSC + 10000 * (c + 1));
		assert_int_equal(tf_thread_flush(t), SONDE_TRACE_OK);
	}
	image_free(&im);
	end_thread(t);
	end_trace(w);
	thread_file("trace", path, sizeof path);
	original = read_file(path, &size);
}

static int setup(void **state)
{
	if (enter_directory(state))
		return -1;
	make_trace();
	return 0;
}

static int teardown(void **state)
{
	free(original);
	return leave_directory(state);
}

/* Where chunk @i begins. */
static size_t chunk_at(unsigned i)
{
	size_t at = TF_HEADER_SIZE;

	while (i--)
		at += TF_CHUNK_SIZE + tf_get32(original + at + 12);
	return at;
}

static void intact(void **state)
{
	struct found f = read_all("trace");

	(void)state;
	assert_int_equal(f.events, 2 * PAIRS * CHUNKS);
	assert_int_equal(f.damage, 0);
	assert_int_equal(f.status, SONDE_TRACE_OK);
	assert_true(f.indexed);
}

/* At every length: what was whole before the end is there, and it is called truncated. */
static void truncated(void **state)
{
	(void)state;
	for (size_t n = 0; n < size; n++) {
		struct found f;
		unsigned whole = 0;

		while (whole < CHUNKS && chunk_at(whole + 1) <= n)
			whole++;
		write_file(path, original, n);
		f = read_all("trace");
		assert_int_equal(f.events, 2 * PAIRS * whole);
		assert_int_equal(f.status, SONDE_TRACE_E_TRUNCATED);
		assert_int_equal(f.damage, 0);
		assert_false(f.indexed);
		if (whole < CHUNKS && n >= chunk_at(whole) + TF_CHUNK_SIZE)
			assert_int_equal(f.lost, 2 * PAIRS); /* its header tells how many */
	}
	write_file(path, original, size);
}

/* Every byte, changed in several ways: at most one chunk is lost, and never silently. */
static void flipped(void **state)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	uint8_t *copy = malloc(size);

	(void)state;
	assert_non_null(copy);
	for (size_t at = 0; at < size; at++)
		for (size_t m = 0; m < sizeof masks; m++) {
			struct found f;

			memcpy(copy, original, size);
			copy[at] ^= masks[m];
			write_file(path, copy, size);
			f = read_all("trace");
			if (at >= 8 && at < 12 && !f.events) /* another format version, or damage */
				continue;
			assert_true(f.events >= 2 * PAIRS * (CHUNKS - 1));
			assert_true(f.damage || f.status != SONDE_TRACE_OK);
			if (at < TF_HEADER_SIZE || at >= chunk_at(CHUNKS))
				assert_int_equal(f.events, 2 * PAIRS * CHUNKS);
			else
				assert_int_equal(f.damage, 1);
		}
	free(copy);
	write_file(path, original, size);
}

/* The same without an index to fall back on. */
static void flipped_unfinished(void **state)
{
	size_t n = chunk_at(CHUNKS);
	uint8_t *copy = malloc(n);

	(void)state;
	assert_non_null(copy);
	for (size_t at = TF_HEADER_SIZE; at < n; at++) {
		struct found f;

		memcpy(copy, original, n);
		copy[at] ^= 0x10;
		write_file(path, copy, n);
		f = read_all("trace");
		assert_int_equal(f.events, 2 * PAIRS * (CHUNKS - 1));
		assert_true(f.lost_marks == 1);
		assert_int_not_equal(f.status, SONDE_TRACE_OK);
	}
	free(copy);
	write_file(path, original, size);
}

static void chunk_removed(void **state)
{
	size_t from = chunk_at(1), to = chunk_at(2);
	uint8_t *copy = malloc(size);
	struct found f;

	(void)state;
	assert_non_null(copy);
	memcpy(copy, original, from);
	memcpy(copy + from, original + to, size - to);
	write_file(path, copy, size - (to - from));
	f = read_all("trace");
	assert_int_equal(f.events, 2 * PAIRS * (CHUNKS - 1));
	assert_int_equal(f.lost_marks, 1);
	assert_int_equal(f.status, SONDE_TRACE_E_CORRUPT);
	free(copy);
	write_file(path, original, size);
}

/*
 * Frames are entered in the first chunk and left in the last; the one between, in which half of them
 * were left, is damaged.
 */
static void write_depths(void)
{
	struct tf_writer *w = new_trace("depth", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct image im;

	image_init(&im, 4096);
	for (uint32_t c = 0; c < 3; c++) {
		image_clear(&im);
		for (uint32_t k = 0; !c && k < 20; k++)
			image_enter(&im, BASE_TSC + k, 10 + k, TOP - 16 * k);
		for (uint32_t k = 0; c && k < 10; k++)
			image_leave(&im, BASE_TSC + 100 * c + k, 10 + (30 - 10 * c - 1 - k));
		drain_image(t, &im, true, BASE_TSC + 100 * c + 50);
		assert_int_equal(tf_thread_flush(t), SONDE_TRACE_OK);
	}
	end_thread(t);
	end_trace(w);
	image_free(&im);
}

static void depth_after_damage(void **state)
{
	struct sonde_trace *trace;
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	char file[256];
	size_t n, second;
	uint8_t *data;

	(void)state;
	write_depths();
	thread_file("depth", file, sizeof file);
	data = read_file(file, &n);
	second = TF_HEADER_SIZE + TF_CHUNK_SIZE + tf_get32(data + TF_HEADER_SIZE + 12);
	data[second + TF_CHUNK_SIZE + 5] ^= 1;
	write_file(file, data, n);
	free(data);
	trace = open_trace("depth");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	for (uint32_t i = 0; i < 31; i++) {
		assert_int_equal(sonde_trace_next(it, &ev), SONDE_TRACE_OK);
		assert_int_equal(ev->depth, i < 20 ? i : i > 20 ? 30 - i : 0);
		if (i == 20)
			assert_int_equal(ev->flags, SONDE_TRACE_UNREADABLE);
		else
			assert_int_equal(ev->flags, i == 21 ? SONDE_TRACE_AFTER_GAP : 0);
		if (i == 20)
			assert_int_equal(ev->lost, 10);
		else /* the last frames left are the first ones entered */
			assert_int_equal(ev->function->index, 10 + (i < 20 ? i : 30 - i));
		assert_int_equal(ev->entered, ev->time);
	}
	assert_int_equal(sonde_trace_next(it, &ev), SONDE_TRACE_END);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
}

/* Bytes inserted between two chunks, among them what looks like a chunk. */
static void garbage_inserted(void **state)
{
	size_t at = chunk_at(2), extra = 1000;
	uint8_t *copy = malloc(size + extra);
	struct found f;

	(void)state;
	assert_non_null(copy);
	memcpy(copy, original, at);
	for (size_t i = 0; i < extra; i++)
		copy[at + i] = (uint8_t)TF_MAGIC_CHUNK[i % 8];
	memcpy(copy + at + extra, original + at, size - at);
	write_file(path, copy, size + extra);
	f = read_all("trace");
	assert_int_equal(f.events, 2 * PAIRS * CHUNKS);
	assert_int_equal(f.lost_marks, 1);
	assert_int_equal(f.status, SONDE_TRACE_E_CORRUPT);
	free(copy);
	write_file(path, original, size);
}

/* A file of another trace under the right name. */
static void foreign_file(void **state)
{
	struct image im;
	char other[256];
	uint8_t *data;
	size_t n;
	struct found f;

	(void)state;
	image_init(&im, 4096);
	image_enter(&im, BASE_TSC, 3, TOP);
	write_trace("other", &im, BASE_TSC + 1);
	thread_file("other", other, sizeof other);
	data = read_file(other, &n);
	write_file(path, data, n);
	f = read_all("trace");
	assert_int_equal(f.events, 0);
	assert_int_equal(f.status, SONDE_TRACE_E_CORRUPT);
	free(data);
	image_free(&im);
	write_file(path, original, size);
}

static void missing_file(void **state)
{
	struct found f;

	(void)state;
	assert_int_equal(unlink(path), 0);
	f = read_all("trace");
	assert_int_equal(f.events, 0);
	assert_int_equal(f.status, SONDE_TRACE_E_SYSTEM);
	write_file(path, original, size);
}

/* --- writing fails ------------------------------------------------------------------------- */

static void limit_file_size(rlim_t n)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/*
 * Files may grow no further than @limit while records keep coming.  The caller learns it once; what
 * is in the file stays readable; what is missing is counted.  Returns whether the index found room
 * where the last chunk did not.
 */
static bool write_until(rlim_t limit)
{
	struct tf_writer *w = new_trace("full", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct tf_thread_end end = { 0 };
	struct tf_end last = { .ending = SONDE_TRACE_EXITED, .complete = true };
	struct sonde_trace *trace;
	struct image im;
	uint64_t sent = 0, told = 0, discarded;
	struct found f;

	image_init(&im, 65536);
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	limit_file_size(limit);
	for (uint32_t c = 0; c < 40; c++) {
		struct tf_sub sub = { .base = im.word, .bytes = im.room, .final = true,
				      .now_tsc = BASE_TSC + 100000 * (c + 1) };
		uint32_t pos = 0;

		image_clear(&im);
		for (uint32_t i = 0; i < 2000; i++, sent += 2) {
			uint64_t now = BASE_TSC + 100000 * c + 40 * i;
			uint32_t f = 3 + random_below(9);

			image_enter(&im, now, f, TOP);
			image_leave(&im, now + random_below(40), f);
		}
		sub.used = im.used;
		told += tf_thread_drain(t, &sub, &pos) == SONDE_TRACE_E_SYSTEM;
		told += tf_thread_flush(t) == SONDE_TRACE_E_SYSTEM;
	}
	assert_int_equal(told, 1);
	assert_non_null(strstr(tf_writer_message(w), "File too large"));
	assert_int_equal(tf_thread_close(t, &end), SONDE_TRACE_OK);
	limit_file_size(RLIM_INFINITY);
	discarded = tf_writer_discarded(w);
	assert_int_equal(tf_writer_close(w, &last), SONDE_TRACE_OK);
	f = read_all("full");
	assert_int_equal(f.damage, 0);
	assert_int_equal(f.lost_marks, 0); /* no half chunk either */
	assert_int_equal(f.events, sent - discarded);
	assert_true(discarded > 0 && discarded < sent);
	trace = open_trace("full");
	assert_false(sonde_trace_rank(trace, 0)->complete);
	assert_int_equal(sonde_trace_rank(trace, 0)->discarded, discarded);
	assert_int_equal(sonde_trace_rank(trace, 0)->lost, discarded);
	sonde_trace_close(trace);
	remove_trace("full");
	image_free(&im);
	return f.indexed;
}

static void disk_full(void **state)
{
	int indexed = 0;

	(void)state;
	for (rlim_t limit = 20000; limit < 60000; limit += 1777)
		indexed += write_until(limit);
	assert_true(indexed > 0);
}

static void directory_gone(void **state)
{
	struct tf_writer *w = new_trace("gone", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct tf_thread_end end = { 0 };
	struct tf_end last = { .ending = SONDE_TRACE_EXITED, .complete = true };
	struct image im;

	(void)state;
	image_init(&im, 4096);
	image_enter(&im, BASE_TSC, 3, TOP);
	drain_image(t, &im, true, BASE_TSC + 1);
	remove_trace("gone");
	assert_int_equal(tf_thread_flush(t), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(tf_thread_close(t, &end), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_discarded(w), 1);
	assert_int_equal(tf_writer_close(w, &last), SONDE_TRACE_OK);
	image_free(&im);
}

static void existing_trace_is_kept(void **state)
{
	struct tf_start start = { .program = "x", .rank = -1 };
	struct tf_writer *w;
	uint8_t *before, *after;
	size_t n, m;

	(void)state;
	before = read_file("trace/metadata", &n);
	assert_int_equal(tf_writer_create(&w, "trace", &start), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(errno, EEXIST);
	assert_null(w);
	after = read_file("trace/metadata", &m);
	assert_int_equal(n, m);
	assert_memory_equal(before, after, n);
	free(before);
	free(after);
	assert_int_equal(tf_writer_create(&w, "no/such/place", &start), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(tf_writer_create(&w, path, &start), SONDE_TRACE_E_SYSTEM);
	assert_int_equal(errno, ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intact),	   cmocka_unit_test(truncated),
		cmocka_unit_test(flipped),	   cmocka_unit_test(flipped_unfinished),
		cmocka_unit_test(chunk_removed),   cmocka_unit_test(garbage_inserted),
		cmocka_unit_test(foreign_file),	   cmocka_unit_test(missing_file),
		cmocka_unit_test(disk_full),	   cmocka_unit_test(directory_gone),
		cmocka_unit_test(existing_trace_is_kept),
		cmocka_unit_test(depth_after_damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
