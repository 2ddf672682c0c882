/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory streams that repeat what they held long before: written as groups, read, damaged, cut off; or without memory. */
#include "tests/unit/tracefmt/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <xxhash.h>

#include "memtrace/pack/files.h"
#include "memtrace/pack/out.h"
#include "tracefmt/format.h"

enum {
	WORDS = 60000,				/* of a chunk */
	PERIOD = 2500000,			/* words */
	REPEATS = 220,				/* chunks that repeat each other; then there is noise */
	CHUNKS = 360,
	FRESH = 180,				/* a group ends before this one */
};

#define STREAM "trace/100.101.memory"

static uint32_t past[PERIOD], chunk[WORDS];

/* Its number; then what was there a period before, with some words that are new; or nothing that was there before. */
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

static struct mt_group *group_of(struct tf_thread *t)
{
	return &mt_thread_out(t)->packing.group;
}

static void put_chunks(struct tf_thread *t, uint32_t from, uint32_t to)
{
	for (uint32_t c = from; c < to; c++) {
		make_chunk(c);
		assert_int_equal(mt_write_chunk(t, chunk, sizeof chunk), SONDE_TRACE_OK);
	}
}

static struct tf_writer *begin(const char *name)
{
	const struct mt_files_object o = { .path = "/bin/first", .first = 1 };
	struct tf_writer *w = new_trace(name, -1);

	assert_int_equal(mt_write_object(w, &o), SONDE_TRACE_OK);
	return w;
}

static void make_trace(void)
{
	struct tf_writer *w = begin("trace");
	struct tf_thread *t = new_thread(w, 100, 101);

	for (size_t i = 0; i < PERIOD; i++)
		past[i] = (uint32_t)random_bits();
	put_chunks(t, 0, FRESH);
	assert_true(mt_group_is_open(group_of(t)));
	assert_int_equal(mt_out(w)->windows, 1);
	group_of(t)->bytes = MT_GROUP_BYTES;
	put_chunks(t, FRESH, CHUNKS - 60);
	assert_true(mt_group_is_open(group_of(t)));
	group_of(t)->bytes = MT_GROUP_BYTES;
	group_of(t)->looked = group_of(t)->seen = 0;
	put_chunks(t, CHUNKS - 60, CHUNKS);
	assert_false(mt_group_is_open(group_of(t)));	/* it repeats itself no more */
	assert_int_equal(mt_out(w)->windows, 0);
	end_thread(t);
	end_trace(w);
}

struct pieces {
	size_t at[CHUNKS + 1];
	uint32_t kind[CHUNKS];
	uint32_t first;		/* that begins a group */
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
		if (p.kind[c] == TF_PIECE_GROUP && p.first == CHUNKS)
			p.first = c;
	}
	p.at[CHUNKS] = at;
	assert_int_equal(at, size);
	return p;
}

struct found {
	uint32_t chunks, gaps, first_missing, next; /* next: the first one after those that are missing */
};

/* All that is read is right. */
static struct found read_stream(const char *name)
{
	struct found f = { .first_missing = CHUNKS, .next = CHUNKS };
	struct sonde_trace_message why;
	struct mt_stream *s;
	enum sonde_trace_status status;
	struct mt_files *m;
	const void *data;
	uint32_t next = 0;
	size_t bytes;

	assert_int_equal(mt_files_open(name, &m, &why), SONDE_TRACE_OK);
	assert_int_equal(mt_stream_open(m, 0, &s), SONDE_TRACE_OK);
	while ((status = mt_stream_next(s, &data, &bytes)) != SONDE_TRACE_END) {
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
		if (c != next) {
			assert_true(f.first_missing == CHUNKS && f.gaps);
			f.first_missing = next;
			f.next = c;
		}
		f.chunks++;
		next = c + 1;
	}
	mt_stream_close(s);
	mt_files_close(m);
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

/* What repeats takes little, and nothing is lost; between two groups a chunk stands alone. */
static void test_whole(void **state)
{
	struct found f = read_stream("trace");

	(void)state;
	assert_int_equal(f.chunks, CHUNKS);
	assert_int_equal(f.gaps, 0);
	assert_true(pieces.first < PERIOD / WORDS);	/* before it has repeated anything */
	for (uint32_t c = pieces.first + 1; c < FRESH; c++)
		assert_int_equal(pieces.kind[c], TF_PIECE_GROUP_NEXT);
	assert_true(pieces.kind[FRESH] < TF_PIECE_ALONE);
	assert_int_equal(pieces.kind[FRESH + 1], TF_PIECE_GROUP);
	assert_true(pieces.kind[CHUNKS - 1] < TF_PIECE_ALONE);
	assert_true(pieces.at[FRESH] - pieces.at[FRESH - 10] < 10 * sizeof chunk / 8);
}

/* Damage in one costs the rest of its group, is reported once, and nothing more. */
static void damage(uint32_t c, uint32_t next)
{
	size_t at = pieces.at[c] + TF_PIECE_SIZE + random_below(tf_get32(file + pieces.at[c] + 12));
	struct found f;

	file[at] ^= 0x10;
	write_file(STREAM, file, file_size);
	f = read_stream("trace");
	file[at] ^= 0x10;
	assert_int_equal(f.first_missing, c);
	assert_int_equal(f.next, next);
	assert_int_equal(f.chunks, CHUNKS - (next - c));
	assert_int_equal(f.gaps, 1);
}

static void test_damaged(void **state)
{
	(void)state;
	damage(pieces.first, FRESH);
	damage(pieces.first + 5, FRESH);
	damage(FRESH - 1, FRESH);
	damage(FRESH, FRESH + 1);
	damage(FRESH + 7, CHUNKS - 60);
	damage(3, 4);
	damage(CHUNKS - 5, CHUNKS - 4);
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
	assert_int_equal(f.first_missing, c);
	assert_int_equal(f.next, FRESH);
	assert_int_equal(f.gaps, 1);
	free(less);
}

/* The writer was killed: all that it wrote can be read. */
static void test_cut_off(void **state)
{
	struct found f;

	(void)state;
	write_file(STREAM, file, pieces.at[FRESH - 4] + 100);
	f = read_stream("trace");
	assert_int_equal(f.chunks, FRESH - 4);
	assert_true(f.gaps <= 1);
}

/* Its checksums right, a field of a piece says something else. */
static void lie(uint32_t c, size_t field, uint32_t value)
{
	uint8_t *head = file + pieces.at[c], was[TF_PIECE_SIZE];
	struct found f;

	if (tf_get32(head + field) == value)
		return;
	memcpy(was, head, sizeof was);
	tf_put32(head + field, value);
	tf_put64(head + 40, XXH64(head, 40, 0));
	write_file(STREAM, file, file_size);
	f = read_stream("trace");
	assert_int_equal(f.first_missing, c);
	assert_true(f.gaps >= 1);
	memcpy(head, was, sizeof was);
}

static void test_lies(void **state)
{
	static const uint32_t sizes[] = { sizeof chunk - 4, sizeof chunk + 4, TF_MAX_RAW, 0 };
	uint32_t c = pieces.first + 3;

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		lie(c, 16, sizes[i]);
	for (uint32_t kind = 0; kind < 7; kind++)
		lie(c, 20, kind);
}

/* A window that is larger than a reader has to take. */
static void test_large_window(void **state)
{
	uint32_t c = pieces.first;
	uint8_t *body = file + pieces.at[c] + TF_PIECE_SIZE, *head = body - TF_PIECE_SIZE, was = body[5];
	struct found f;

	(void)state;
	assert_int_equal(was, (MT_GROUP_WINDOW - 10) << 3);	/* RFC 8878, 3.1.1.1.2 */
	body[5] = was + 8;
	tf_put64(head + 32, XXH64(body, tf_get32(head + 12), 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	write_file(STREAM, file, file_size);
	f = read_stream("trace");
	assert_int_equal(f.first_missing, c);
	assert_int_equal(f.next, FRESH);
	body[5] = was;
	tf_put64(head + 32, XXH64(body, tf_get32(head + 12), 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
}

/* ---- memory ---- */

/* Two that repeat themselves, and one window left. */
static void test_windows(void **state)
{
	struct tf_writer *w = begin("room");
	struct tf_thread *first = new_thread(w, 100, 101), *second = new_thread(w, 100, 102);

	(void)state;
	mt_out(w)->windows = MT_GROUP_WINDOWS - 1;
	put_chunks(first, 0, 150);
	put_chunks(second, 0, 150);
	assert_true(mt_group_is_open(group_of(first)));
	assert_false(mt_group_is_open(group_of(second)));
	assert_int_equal(mt_out(w)->windows, MT_GROUP_WINDOWS);
	end_thread(first);
	assert_int_equal(mt_out(w)->windows, MT_GROUP_WINDOWS - 1);
	put_chunks(second, 150, 210);
	assert_true(mt_group_is_open(group_of(second)));
	end_thread(second);
	end_trace(w);
	assert_int_equal(read_stream("room").chunks, 150);
	remove_trace("room");
}

/* Phrases that come again and again, but never as far back as the last one: a group is opened in vain, and no other. */
static void test_phrases(void **state)
{
	enum { PHRASE = 40, PHRASES = PERIOD / PHRASE / 4, EARLY = (1 << 20) / WORDS + 1, VAIN = 100 };
	struct tf_writer *w = begin("phrases");
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	for (uint32_t c = 0; c < CHUNKS / 2; c++) {
		for (size_t i = 0; i < WORDS; i += PHRASE)
			memcpy(&chunk[i], &past[random_bits() % PHRASES * PHRASE], PHRASE * sizeof(*chunk));
		assert_int_equal(mt_write_chunk(t, chunk, sizeof chunk), SONDE_TRACE_OK);
		assert_int_equal(mt_group_is_open(group_of(t)), c >= EARLY && c < VAIN);
		if (c == VAIN - 1)
			group_of(t)->bytes = UINT64_C(1) << MT_GROUP_WINDOW;
	}
	end_thread(t);
	end_trace(w);
	remove_trace("phrases");
}

/* What takes little anyway is in no group before it repeats itself. */
static void test_cheap(void **state)
{
	struct tf_writer *w = begin("cheap");
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	for (uint32_t c = 0; c < CHUNKS / 2; c++) {
		for (size_t i = 0; i < WORDS; i++)
			chunk[i] = random_bits() % 16;
		assert_int_equal(mt_write_chunk(t, chunk, sizeof chunk), SONDE_TRACE_OK);
		assert_false(mt_group_is_open(group_of(t)));
	}
	end_thread(t);
	end_trace(w);
	remove_trace("cheap");
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
	put_chunks(t, 0, 15);
	assert_false(mt_group_is_open(group_of(t)));
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	none = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	put_chunks(t, 15, 160);
	assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
	end_thread(t);
	assert_int_equal(mt_out(w)->windows, 0);
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
		cmocka_unit_test(test_large_window),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_phrases),
		cmocka_unit_test(test_cheap),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
