/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory streams that repeat what they held long ago: written with a window, read, damaged, cut off. */
#include "tests/unit/tracefmt_support.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "tracefmt/memory.h"
#include "tracefmt/writer-internal.h"

enum {
	WORDS = 60000,				/* of a chunk */
	PERIOD = 2500000,			/* words */
	REPEATS = 220,				/* chunks that repeat each other; then there is noise */
	CHUNKS = 360,
	FRESH = 180,				/* this one begins a group */
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

static void make_trace(void)
{
	struct tf_writer *w = new_trace("trace", -1);
	struct tf_thread *t = new_thread(w, 100, 101);
	const struct tf_memory_object o = { .path = "/bin/first", .first = 1 };

	for (size_t i = 0; i < PERIOD; i++)
		past[i] = (uint32_t)random_bits();
	assert_int_equal(tf_writer_memory_object(w, &o), SONDE_TRACE_OK);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		make_chunk(c);
		if (c == FRESH)
			t->memory.packing.far.group = tf_far_group(&t->memory.packing.far);
		assert_int_equal(tf_thread_memory(t, chunk, sizeof chunk), SONDE_TRACE_OK);
	}
	assert_null(t->memory.packing.far.zstd);	/* of no use any more */
	assert_int_equal(w->far_room, TF_FAR_ROOM);
	end_thread(t);
	end_trace(w);
}

struct pieces {
	size_t at[CHUNKS + 1];
	uint32_t kind[CHUNKS];
	uint32_t first;		/* that needs what is in front of it */
	uint32_t last;
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
	uint32_t chunks, gaps, first_missing, behind; /* behind: the first one behind those that are missing */
};

static struct found read_stream(void)
{
	struct found f = { .first_missing = CHUNKS, .behind = CHUNKS };
	struct sonde_trace_message why;
	struct tf_memory_stream *s;
	enum sonde_trace_status status;
	struct tf_memory *m;
	const void *data;
	uint32_t next = 0;
	size_t bytes;

	assert_int_equal(tf_memory_open("trace", &m, &why), SONDE_TRACE_OK);
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
		if (c != next) {
			assert_true(f.first_missing == CHUNKS && f.gaps);
			f.first_missing = next;
			f.behind = c;
		}
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
	struct found f = read_stream();

	(void)state;
	assert_int_equal(f.chunks, CHUNKS);
	assert_int_equal(f.gaps, 0);
	assert_true(pieces.first < FRESH && pieces.last >= REPEATS && pieces.last < CHUNKS - 10);
	assert_int_equal(pieces.kind[FRESH], TF_PIECE_FAR_START);
	assert_int_equal(pieces.kind[pieces.first - 1], TF_PIECE_FAR_START);
	assert_true(pieces.at[FRESH] - pieces.at[FRESH - 10] < 10 * sizeof chunk / 8);
}

/* Damage in one costs the rest of its group, is told once, and nothing more. */
static void damage(uint32_t c, uint32_t behind)
{
	size_t at = pieces.at[c] + TF_PIECE_SIZE + random_below(tf_get32(file + pieces.at[c] + 12));
	struct found f;

	file[at] ^= 0x10;
	write_file(STREAM, file, file_size);
	f = read_stream();
	file[at] ^= 0x10;
	assert_int_equal(f.first_missing, c);
	assert_int_equal(f.behind, behind);
	assert_int_equal(f.chunks, CHUNKS - (behind - c));
	assert_int_equal(f.gaps, 1);
}

static void test_damaged(void **state)
{
	(void)state;
	damage(pieces.first - 1, FRESH);
	damage(pieces.first + 5, FRESH);
	damage(FRESH - 1, FRESH);
	damage(FRESH + 7, pieces.last + 1);
	damage(3, 4);
	damage(pieces.last + 1, pieces.last + 2);
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
	f = read_stream();
	assert_int_equal(f.first_missing, c);
	assert_int_equal(f.behind, FRESH);
	assert_int_equal(f.gaps, 1);
	free(less);
}

static void test_cut_off(void **state)
{
	struct found f;

	(void)state;
	write_file(STREAM, file, pieces.at[FRESH - 4] + 100);
	f = read_stream();
	assert_int_equal(f.chunks, FRESH - 4);
	assert_true(f.gaps <= 1);
}

/* Their checksums right, pieces say more or less than there is, or are not what they say. */
static void test_lies(void **state)
{
	static const int fields[] = { 16, 20 };

	(void)state;
	for (int k = 0; k < 8; k++) {
		uint8_t *head = file + pieces.at[pieces.first + 3], was[TF_PIECE_SIZE];
		int field = fields[k % 2];
		uint32_t value = k == 0 ? (uint32_t)sizeof chunk - 4 : k == 2 ? (uint32_t)sizeof chunk + 4 :
				 k == 4 ? TF_MAX_RAW : k == 6 ? 0 : (uint32_t)k;
		struct found f;

		if (field == 20 && value == TF_PIECE_FAR)
			continue;
		memcpy(was, head, sizeof was);
		tf_put32(head + field, value);
		tf_put64(head + 40, XXH64(head, 40, 0));
		write_file(STREAM, file, file_size);
		f = read_stream();
		assert_int_equal(f.first_missing, pieces.first + 3);
		assert_true(f.gaps >= 1);
		memcpy(head, was, sizeof was);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
