/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory streams that repeat what they held long ago: written with a window, read, damaged, cut off; or without memory. */
#include "tests/unit/tracefmt/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "memtrace/pack/files.h"
#include "tracefmt/write/writer-internal.h"

enum {
	WORDS = 60000,				/* of a chunk */
	PERIOD = 2500000,			/* words */
	REPEATS = 340,				/* chunks that repeat each other; then there is noise */
	CHUNKS = 470,
	FRESH = 250,				/* this one begins a group */
	SAFE = PERIOD / WORDS - 1,		/* chunks behind one that are not copied from it, whatever it is */
};

#define STREAM "trace/100.101.memory"

static uint32_t past[PERIOD], chunk[WORDS];

/* Its number; then what was there a period ago, with some words that are new; or nothing that was there before. */
static void make_chunk(uint32_t c)
{
	uint64_t noise = c * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < WORDS; i++) {
		noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407;
		chunk[i] = c < REPEATS && noise >> 55 ? past[(c * (size_t)WORDS + i) % PERIOD] :
							      (uint32_t)(noise >> 32);
	}
	chunk[0] = c;
}

static struct tf_far *far_of(struct tf_thread *t)
{
	return &t->memory.packing.far;
}

static void put_chunks(struct tf_thread *t, uint32_t from, uint32_t to)
{
	for (uint32_t c = from; c < to; c++) {
		make_chunk(c);
		assert_int_equal(tf_thread_memory(t, chunk, sizeof chunk), SONDE_TRACE_OK);
	}
}

static struct tf_writer *begin(const char *name)
{
	const struct tf_memory_object o = { .path = "/bin/first", .first = 1 };
	struct tf_writer *w = new_trace(name, -1);

	assert_int_equal(tf_writer_memory_object(w, &o), SONDE_TRACE_OK);
	return w;
}

static void make_trace(void)
{
	struct tf_writer *w = begin("trace");
	struct tf_thread *t = new_thread(w, 100, 101);

	for (size_t i = 0; i < PERIOD; i++)
		past[i] = (uint32_t)random_bits();
	put_chunks(t, 0, FRESH);
	assert_true(tf_far_is_used(far_of(t)));
	assert_int_equal(w->far_room, TF_FAR_ROOM - (UINT64_C(1) << far_of(t)->match.window.log));
	far_of(t)->group = far_of(t)->position - (tf_window_size(&far_of(t)->match.window) << TF_FAR_GROUP);
	put_chunks(t, FRESH, CHUNKS);
	assert_false(tf_far_is_used(far_of(t)));	/* of no use any more */
	assert_int_equal(w->far_room, TF_FAR_ROOM);
	end_thread(t);
	end_trace(w);
}

struct pieces {
	size_t at[CHUNKS + 1];
	uint32_t kind[CHUNKS];
	uint32_t first, last;	/* of those that may be copies */
};

static struct pieces find_pieces(const uint8_t *file, size_t size)
{
	struct pieces p = { .first = CHUNKS };
	size_t at = TF_HEADER_SIZE;

	for (uint32_t c = 0; c < CHUNKS; c++) {
		assert_true(at + TF_PIECE_SIZE < size);
		p.at[c] = at;
		p.kind[c] = tf_get32(file + at + 20);
		at += TF_PIECE_SIZE + tf_get32(file + at + 12);
		if (p.kind[c] == TF_PIECE_FAR) {
			p.first = p.first < c ? p.first : c;
			p.last = c;
		}
	}
	p.at[CHUNKS] = at;
	assert_int_equal(at, size);
	return p;
}

struct found {
	uint32_t chunks, gaps;
	bool there[CHUNKS];
};

/* All that is read is right. */
static struct found read_stream(const char *name)
{
	struct found f = { 0 };
	struct sonde_trace_message why;
	struct tf_memory_stream *s;
	enum sonde_trace_status status;
	struct tf_memory *m;
	const void *data;
	uint32_t next = 0;
	size_t bytes;

	assert_int_equal(tf_memory_open(name, &m, &why), SONDE_TRACE_OK);
	assert_int_equal(tf_memory_stream_open(m, 0, &s), SONDE_TRACE_OK);
	while ((status = tf_memory_next(s, &data, &bytes)) != SONDE_TRACE_END) {
		uint32_t c;

		if (status == SONDE_TRACE_E_CORRUPT) {
			f.gaps++;
			continue;
		}
		assert_int_equal(status, SONDE_TRACE_OK);
		assert_int_equal(bytes, sizeof chunk);
		memcpy(&c, data, 4);
		assert_in_range(c, next, CHUNKS - 1);
		make_chunk(c);
		assert_memory_equal(data, chunk, sizeof chunk);
		f.there[c] = true;
		f.chunks++;
		next = c + 1;
	}
	tf_memory_stream_close(s);
	tf_memory_close(m);
	return f;
}

static uint8_t *file;
static size_t file_size;
static struct pieces pieces;

static int set_up(void **state)
{
	if (enter_directory(state))
		return -1;
	make_trace();
	file = read_file(STREAM, &file_size);
	pieces = find_pieces(file, file_size);
	return 0;
}

static int tear_down(void **state)
{
	free(file);
	remove_trace("trace");
	return leave_directory(state);
}

/* What repeats takes little, and nothing is lost. */
static void test_whole(void **state)
{
	struct found f = read_stream("trace");

	(void)state;
	assert_int_equal(f.chunks, CHUNKS);
	assert_int_equal(f.gaps, 0);
	assert_true(pieces.first < FRESH && pieces.last >= REPEATS && pieces.last < CHUNKS - 10);
	for (uint32_t c = pieces.first; c <= pieces.last; c++)
		assert_int_equal(pieces.kind[c], TF_PIECE_FAR);
	assert_true(pieces.at[FRESH] - pieces.at[FRESH - 10] < 10 * sizeof chunk / 40);
	assert_true(pieces.at[FRESH + 10] - pieces.at[FRESH] > 10 * sizeof chunk / 2);
	assert_true(pieces.at[REPEATS] - pieces.at[REPEATS - 5] < 5 * sizeof chunk / 40);
}

/* Chunks that are missing: @c, and from @from to @end some, one of which is that which is copied from @c. */
static void expect_missing(const struct found *f, uint32_t c, uint32_t from, uint32_t end)
{
	uint32_t missing = 0, gaps = 0;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		missing += !f->there[i];
		gaps += !f->there[i] && (!i || f->there[i - 1]);
		if (i != c && (i < from || i >= end))
			assert_true(f->there[i]);
	}
	assert_false(f->there[c]);
	assert_int_equal(f->gaps, gaps);
	assert_int_equal(f->chunks, CHUNKS - missing);
	if (from < end)
		assert_true(!f->there[c + PERIOD / WORDS] || !f->there[c + PERIOD / WORDS + 1]);
	else
		assert_int_equal(missing, 1);
}

/* One costs what is copied from it, in its group, and nothing more; each row of chunks that are missing is told once. */
static void damage(uint32_t c, uint32_t from, uint32_t end)
{
	size_t at = pieces.at[c] + TF_PIECE_SIZE + random_below(tf_get32(file + pieces.at[c] + 12));
	struct found f;

	file[at] ^= 0x10;
	write_file(STREAM, file, file_size);
	f = read_stream("trace");
	file[at] ^= 0x10;
	expect_missing(&f, c, from, end);
}

static void test_damaged(void **state)
{
	(void)state;
	damage(pieces.first, pieces.first + SAFE, FRESH);
	damage(pieces.first + 5, pieces.first + 5 + SAFE, FRESH);
	damage(FRESH - 1, 0, 0);
	damage(FRESH + 7, FRESH + 7 + SAFE, pieces.last + 1);
	damage(3, 0, 0);
	damage(pieces.last + 1, 0, 0);
}

/* A piece is not there at all. */
static void test_missing(void **state)
{
	uint32_t c = pieces.first + 9;
	size_t gone = pieces.at[c + 1] - pieces.at[c];
	uint8_t *less = malloc(file_size);
	struct found f;

	(void)state;
	memcpy(less, file, pieces.at[c]);
	memcpy(less + pieces.at[c], file + pieces.at[c + 1], file_size - pieces.at[c + 1]);
	write_file(STREAM, less, file_size - gone);
	f = read_stream("trace");
	expect_missing(&f, c, c + SAFE, FRESH);
	free(less);
}

static void test_cut_off(void **state)
{
	struct found f;

	(void)state;
	write_file(STREAM, file, pieces.at[FRESH - 4] + 100);
	f = read_stream("trace");
	assert_int_equal(f.chunks, FRESH - 4);
	assert_true(f.gaps <= 1);
}

/* Its checksums right, a field of a piece, or of its body, says something else. */
static void lie(uint32_t c, size_t field, uint32_t value)
{
	uint8_t *head = file + pieces.at[c], was[TF_PIECE_SIZE + TF_FAR_HEAD];
	struct found f;

	if (tf_get32(head + field) == value)
		return;
	memcpy(was, head, sizeof was);
	tf_put32(head + field, value);
	tf_put64(head + 32, XXH64(head + TF_PIECE_SIZE, tf_get32(head + 12), 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	write_file(STREAM, file, file_size);
	f = read_stream("trace");
	assert_false(f.there[c]);
	assert_true(f.gaps >= 1);
	memcpy(head, was, sizeof was);
}

static void test_lies(void **state)
{
	enum { BODY = TF_PIECE_SIZE, COPIES = BODY + 8, LIST = BODY + 12, FRAMES = BODY + 16, REST = BODY + 20,
	       KINDS = BODY + 24 };
	uint32_t c = pieces.first + 60, log;
	const uint8_t *head = file + pieces.at[c];

	(void)state;
	lie(c, 16, sizeof chunk - 4);
	lie(c, 16, sizeof chunk + 4);
	lie(c, 16, TF_MAX_RAW);
	lie(c, 16, 0);
	for (uint32_t kind = 0; kind < 6; kind++)
		lie(c, 20, kind);
	for (size_t field = COPIES; field <= REST; field += 4) {
		lie(c, field, tf_get32(head + field) + 1);
		lie(c, field, tf_get32(head + field) - 1);
		lie(c, field, 0);
		lie(c, field, UINT32_MAX);
	}
	lie(c, BODY + 4, UINT32_MAX);
	lie(c, BODY + 4, UINT32_MAX / 4);
	log = head[KINDS];
	for (uint32_t other = 0; other < 256; other++)
		lie(c, KINDS, (tf_get32(head + KINDS) & ~UINT32_C(255)) | other);
	lie(c, KINDS, log | TF_PIECE_WAYS << 8);
}

/* ---- memory ---- */

/* Two that repeat themselves, and room for one window. */
static void test_room(void **state)
{
	struct tf_writer *w = begin("room");
	struct tf_thread *first = new_thread(w, 100, 101), *second = new_thread(w, 100, 102);

	(void)state;
	w->far_room = UINT64_C(1) << 24;
	put_chunks(first, 0, 150);
	put_chunks(second, 0, 150);
	assert_true(tf_far_is_used(far_of(first)));
	assert_false(tf_far_is_used(far_of(second)));
	assert_int_equal(w->far_room, 0);
	end_thread(first);
	assert_int_equal(w->far_room, UINT64_C(1) << 24);
	put_chunks(second, 150, 210);
	assert_true(tf_far_is_used(far_of(second)));
	end_thread(second);
	end_trace(w);
	assert_int_equal(read_stream("room").chunks, 150);
	remove_trace("room");
}

/* Phrases that come again and again, but never all of them as far back: copies would be short. */
static void test_phrases(void **state)
{
	enum { PHRASE = 40, PHRASES = PERIOD / PHRASE / 4 };
	struct tf_writer *w = begin("phrases");
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	for (uint32_t c = 0; c < CHUNKS / 2; c++) {
		for (size_t i = 0; i < WORDS; i += PHRASE)
			memcpy(&chunk[i], &past[random_bits() % PHRASES * PHRASE], PHRASE * sizeof(*chunk));
		assert_int_equal(tf_thread_memory(t, chunk, sizeof chunk), SONDE_TRACE_OK);
		assert_false(tf_far_is_used(far_of(t)));
	}
	end_thread(t);
	end_trace(w);
}

/* There is none for a window: it is written without. */
static void test_no_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	(void)state;
	skip();		/* its own memory counts */
#else
	struct rlimit was, none;
	struct tf_writer *w = begin("little");
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	put_chunks(t, 0, 40);
	assert_false(tf_far_is_used(far_of(t)));
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	none = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	put_chunks(t, 40, 160);
	assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
	assert_false(tf_far_is_used(far_of(t)));
	assert_int_equal(w->far_room, TF_FAR_ROOM);
	end_thread(t);
	end_trace(w);
	assert_int_equal(read_stream("little").chunks, 160);
	remove_trace("little");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_phrases),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
