/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of memory streams: written and read, cut off, damaged, not ours. */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracefmt/format.h"
#include "memtrace/pack/files.h"

#define CHUNKS 6u
#define CODE "trace/code.memory"
#define STREAM "trace/100.101.memory"

static uint32_t chunk[CHUNKS][5000];
static size_t length[CHUNKS]; /* bytes */
static uint8_t nodes[3 * TF_MD_SIZE], ops[7 * TF_MD_SIZE];

/*
 * Some that pack well, some that do not; lengths that are no multiples of words, and none at all.
 */
static void make_chunks(void)
{
	for (uint32_t c = 0; c < CHUNKS; c++) {
		length[c] = c == 4 ? 0 : 4000 + 3001 * c;
		for (size_t i = 0; i < sizeof chunk[c] / 4; i++)
			chunk[c][i] = c % 2 ? (uint32_t)random_bits() : (uint32_t)(i / 3 * 8 + c);
	}
	for (size_t i = 0; i < sizeof nodes; i++)
		nodes[i] = (uint8_t)random_bits();
	for (size_t i = 0; i < sizeof ops; i++)
		ops[i] = (uint8_t)random_bits();
}

static void add_object(struct tf_writer *w, const char *path, uint32_t first)
{
	const struct mt_files_object o = {
		.path = path, .base = 0x555500001000, .load = 0x555500000000, .first = first,
		.nnodes = 3, .nops = 7, .nodes = nodes, .ops = ops,
	};

	assert_int_equal(mt_write_object(w, &o), SONDE_TRACE_OK);
}

/* @lost: chunks between the second and third one, and again after the last. */
static void make_trace(const char *dir, uint64_t lost)
{
	struct tf_writer *w = new_trace(dir, -1);
	struct tf_thread *t = new_thread(w, 100, 101);

	add_object(w, "/bin/first", 1);
	for (uint32_t c = 0; c < CHUNKS; c++) {
		if (c == 2 && lost)
			assert_int_equal(mt_write_lost(t, lost), SONDE_TRACE_OK);
		assert_int_equal(mt_write_chunk(t, chunk[c], length[c]), SONDE_TRACE_OK);
	}
	add_object(w, "/lib/second", 4);
	if (lost)
		assert_int_equal(mt_write_lost(t, lost), SONDE_TRACE_OK);
	end_thread(t);
	end_trace(w);
}

static struct mt_files *open_memory(const char *dir)
{
	struct sonde_trace_message why;
	struct mt_files *m;

	assert_int_equal(mt_files_open(dir, &m, &why), SONDE_TRACE_OK);
	return m;
}

/*
 * What a reader finds: a bit for each chunk that is as it was, and how often a reader reported
 * damage.
 */
struct found {
	uint32_t chunks, gaps;
	struct mt_files_thread about;
};

static bool is_chunk(const void *data, size_t bytes, uint32_t c)
{
	return bytes == length[c] && memcmp(data, chunk[c], bytes) == 0;
}

static struct found read_stream(const char *dir)
{
	struct mt_files *m = open_memory(dir);
	struct found f = { 0 };
	struct mt_stream *s;
	enum sonde_trace_status status;
	const void *data;
	size_t bytes;
	uint32_t c = 0;

	assert_true(mt_files_thread(m, 0, &f.about));
	assert_false(mt_files_thread(m, 1, &f.about));
	assert_int_equal(mt_stream_open(m, 0, &s), SONDE_TRACE_OK);
	while ((status = mt_stream_next(s, &data, &bytes)) != SONDE_TRACE_END) {
		if (status == SONDE_TRACE_E_CORRUPT) {
			assert_true(++f.gaps < 100);
			continue;
		}
		assert_int_equal(status, SONDE_TRACE_OK);
		while (c < CHUNKS && !is_chunk(data, bytes, c))
			c++;
		assert_true(c < CHUNKS); /* what is handed out was written, in this order */
		f.chunks |= 1u << c++;
	}
	/* it stays at the end */
	assert_int_equal(mt_stream_next(s, &data, &bytes), SONDE_TRACE_END);
	mt_stream_close(s);
	mt_files_close(m);
	return f;
}

#define ALL ((1u << CHUNKS) - 1)

/* ---- tests ---- */

static void test_whole(void **state)
{
	struct mt_files *m;
	struct mt_files_object o;
	struct found f;
	uint64_t raw = 0;

	(void)state;
	make_trace("trace", 0);
	f = read_stream("trace");
	for (uint32_t c = 0; c < CHUNKS; c++)
		raw += length[c];
	assert_int_equal(f.chunks, ALL);
	assert_int_equal(f.gaps, 0);
	assert_int_equal(f.about.chunks, CHUNKS);
	assert_int_equal(f.about.raw_bytes, raw);
	assert_int_equal(f.about.pid, 100);
	assert_int_equal(f.about.tid, 101);
	assert_int_equal(f.about.lost + f.about.bad, 0);
	m = open_memory("trace");
	assert_int_equal(mt_files_bad_objects(m), 0);
	assert_true(mt_files_object(m, 1, &o));
	assert_string_equal(o.path, "/lib/second");
	assert_int_equal(o.first, 4);
	assert_true(mt_files_object(m, 0, &o));
	assert_string_equal(o.path, "/bin/first");
	assert_int_equal(o.base, 0x555500001000);
	assert_int_equal(o.load, 0x555500000000);
	assert_int_equal(o.nnodes, 3);
	assert_int_equal(o.nops, 7);
	assert_memory_equal(o.nodes, nodes, sizeof nodes);
	assert_memory_equal(o.ops, ops, sizeof ops);
	assert_false(mt_files_object(m, 2, &o));
	mt_files_close(m);
	remove_trace("trace");
}

/* Losses are reported where they are; those at the end by the metadata. */
static void test_lost(void **state)
{
	struct sonde_trace *trace;
	struct found f;

	(void)state;
	make_trace("trace", 3);
	f = read_stream("trace");
	assert_int_equal(f.chunks, ALL);
	assert_int_equal(f.gaps, 1);
	assert_int_equal(f.about.lost, 3);
	trace = open_trace("trace");
	assert_int_equal(sonde_trace_thread(trace, 0)->memory_lost, 6);
	sonde_trace_close(trace);
	remove_trace("trace");
}

/* Wherever the file ends, all whole chunks before that can be read. */
static void test_cut_off(void **state)
{
	size_t size;
	uint8_t *file;
	uint32_t before = 0;

	(void)state;
	make_trace("trace", 0);
	file = read_file(STREAM, &size);
	for (size_t n = TF_HEADER_SIZE; n <= size; n += n + 40 > size ? 1 : 1 + random_below(40)) {
		struct found f;

		write_file(STREAM, file, n);
		f = read_stream("trace");
		assert_int_equal(f.chunks & before, before);
		assert_true((f.chunks & (f.chunks + 1)) == 0);
		assert_true(n < size || f.chunks == ALL);
		before = f.chunks;
	}
	free(file);
	remove_trace("trace");
}

/* A damaged byte costs one chunk, and is noticed. */
static void test_damaged(void **state)
{
	size_t size;
	uint8_t *file;

	(void)state;
	make_trace("trace", 0);
	file = read_file(STREAM, &size);
	for (size_t at = TF_HEADER_SIZE; at < size; at += 1 + random_below(60)) {
		uint8_t bit = (uint8_t)(1u << random_below(8));
		struct found f;

		file[at] ^= bit;
		write_file(STREAM, file, size);
		f = read_stream("trace");
		assert_int_equal(__builtin_popcount(ALL & ~f.chunks), 1);
		assert_true(f.gaps >= 1 && f.gaps <= 2);
		file[at] ^= bit;
	}
	free(file);
	remove_trace("trace");
}

/* A chunk that is not there: the numbers of those around it tell. */
static void test_missing(void **state)
{
	uint8_t *file, *second;
	struct found f;
	size_t size;

	(void)state;
	make_trace("trace", 0);
	file = read_file(STREAM, &size);
	second = file + TF_HEADER_SIZE + TF_PIECE_SIZE + tf_get32(file + TF_HEADER_SIZE + 12);
	size -= (size_t)(second - file) - TF_HEADER_SIZE;
	memmove(file + TF_HEADER_SIZE, second, size - TF_HEADER_SIZE);
	write_file(STREAM, file, size);
	f = read_stream("trace");
	assert_int_equal(f.chunks, ALL & ~1u);
	assert_int_equal(f.gaps, 1);
	free(file);
	remove_trace("trace");
}

/* A description that is damaged is left out, the others stay. */
static void test_damaged_code(void **state)
{
	struct mt_files_object o;
	struct mt_files *m;
	uint8_t *file;
	size_t size;

	(void)state;
	make_trace("trace", 0);
	file = read_file(CODE, &size);
	file[TF_HEADER_SIZE + TF_PIECE_SIZE + 20] ^= 4;
	write_file(CODE, file, size);
	m = open_memory("trace");
	assert_int_equal(mt_files_bad_objects(m), 1);
	assert_true(mt_files_object(m, 0, &o));
	assert_string_equal(o.path, "/lib/second");
	assert_false(mt_files_object(m, 1, &o));
	mt_files_close(m);
	free(file);
	remove_trace("trace");
}

static enum sonde_trace_status try_open(const char *dir)
{
	struct sonde_trace_message why = { "" };
	struct mt_files *m;
	enum sonde_trace_status status = mt_files_open(dir, &m, &why);

	if (status == SONDE_TRACE_OK) {
		mt_files_close(m);
		return status;
	}
	assert_null(m);
	assert_non_null(strstr(why.text, "code.memory"));
	return status;
}

/* Files that are not what they are called. */
static void test_not_ours(void **state)
{
	struct mt_files_thread about;
	struct mt_files *m;
	uint8_t *file;
	size_t size;

	(void)state;
	assert_int_equal(try_open("nowhere"), SONDE_TRACE_E_NOTRACE);
	make_trace("trace", 0);
	make_trace("other", 0);
	/* another trace's stream */
	assert_int_equal(rename("other/100.101.memory", "trace/9.9.memory"), 0);
	write_file("trace/notes.memory", "not a stream, but long enough to be asked for its magic number.....", 67);
	m = open_memory("trace");
	assert_true(mt_files_thread(m, 0, &about));
	assert_int_equal(about.pid, 100);
	assert_false(mt_files_thread(m, 1, &about));
	mt_files_close(m);
	/* headers */
	file = read_file(CODE, &size);
	write_file(CODE, file, 10);
	assert_int_equal(try_open("trace"), SONDE_TRACE_E_TRUNCATED);
	file[20] ^= 1;
	write_file(CODE, file, size);
	assert_int_equal(try_open("trace"), SONDE_TRACE_E_CORRUPT);
	file[0] ^= 1;
	write_file(CODE, file, size);
	assert_int_equal(try_open("trace"), SONDE_TRACE_E_CORRUPT);
	free(file);
	unlink("trace/9.9.memory");
	unlink("trace/notes.memory");
	remove_trace("trace");
	remove_trace("other");
}

/* A stream's file that is empty, since its writer was killed, is none; one that ends in its header is damaged, and no other. */
static void test_header_missing(void **state)
{
	struct found f;

	(void)state;
	make_trace("trace", 0);
	write_file("trace/200.200.memory", "", 0);
	f = read_stream("trace");
	assert_int_equal(f.chunks, ALL);
	assert_int_equal(f.gaps, 0);
	unlink("trace/200.200.memory");
	for (off_t size = TF_HEADER_SIZE - 1; size > 0; size--) {
		assert_int_equal(truncate(STREAM, size), 0);
		f = read_stream("trace");
		assert_int_equal(f.chunks, 0);
		assert_int_equal(f.gaps, 1);
		assert_int_equal(f.about.bad, 1);
	}
	remove_trace("trace");
}

/* ---- kinds of packing ---- */

/* Words of a chunk, with a rest that is no word; chunks: fewer than may be put into a group. */
enum { LARGE = 65536 + 3, LARGES = 15 };
static uint32_t large[LARGE];

/* The same numbers each time. */
static uint32_t noise_below(uint64_t *noise, uint32_t n)
{
	*noise = *noise * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((*noise >> 32) * n >> 32);
}

/* Phrases, which are best as they are; the strides of a loop; frequent words, with numbers between them. */
static void make_large(enum tf_piece_kind kind, uint32_t c)
{
	uint64_t noise = c;
	uint32_t phrase = 0;

	for (uint32_t i = 0; i < LARGE; i++) {
		if (i % 16 == 0)
			phrase = noise_below(&noise, 100);
		large[i] = kind == TF_PIECE_PLAIN ? (phrase * 16 + i % 16) * 0x9e3779b1 :
			   kind == TF_PIECE_SPREAD && i < 37 ? noise_below(&noise, UINT32_MAX) :
			   kind == TF_PIECE_SPREAD ? large[i - 37] + noise_below(&noise, 3) :
			   noise_below(&noise, 3) ? noise_below(&noise, 200) * 0x10001u + 0x7f000000 :
						    noise_below(&noise, 1u << 20) << 4;
	}
}

static size_t large_bytes(uint32_t c)
{
	return sizeof large - c % 5;
}

/* The bytes of the file that all chunks take. */
static uint64_t write_large(enum tf_piece_kind kind)
{
	struct tf_writer *w = new_trace("trace", -1);
	struct tf_thread *t = new_thread(w, 100, 101);
	struct mt_files_thread about;
	struct mt_files *m;

	add_object(w, "/bin/first", 1);
	for (uint32_t c = 0; c < LARGES; c++) {
		make_large(kind, c);
		assert_int_equal(mt_write_chunk(t, large, large_bytes(c)), SONDE_TRACE_OK);
	}
	end_thread(t);
	end_trace(w);
	m = open_memory("trace");
	assert_true(mt_files_thread(m, 0, &about));
	mt_files_close(m);
	return about.file_bytes;
}

static void check_large(enum tf_piece_kind kind)
{
	struct mt_files *m = open_memory("trace");
	struct mt_stream *s;
	const void *data;
	size_t bytes;

	assert_int_equal(mt_stream_open(m, 0, &s), SONDE_TRACE_OK);
	for (uint32_t c = 0; c < LARGES; c++) {
		make_large(kind, c);
		assert_int_equal(mt_stream_next(s, &data, &bytes), SONDE_TRACE_OK);
		assert_int_equal(bytes, large_bytes(c));
		assert_memory_equal(data, large, bytes);
	}
	assert_int_equal(mt_stream_next(s, &data, &bytes), SONDE_TRACE_END);
	mt_stream_close(s);
	mt_files_close(m);
}

/* Each of the streams is packed in its kind, to about what it holds. */
static void test_ways(void **state)
{
	static const double bits[TF_PIECE_ALONE] = { 2.2, 3, 14 };	/* a word; entropy: 0.4, 1.6, 12.7 */

	(void)state;
	for (enum tf_piece_kind kind = 0; kind < TF_PIECE_ALONE; kind++) {
		uint64_t bytes = write_large(kind);
		uint8_t *file;
		size_t size;

		assert_true((double)bytes < bits[kind] / 8 * LARGE * LARGES);
		check_large(kind);
		file = read_file(STREAM, &size);
		assert_int_equal(tf_get32(file + TF_HEADER_SIZE + 20), kind);
		free(file);
		remove_trace("trace");
	}
}

static void test_limits(void **state)
{
	struct tf_writer *w = new_trace("trace", -1);
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	assert_int_equal(mt_write_chunk(t, chunk[0], (size_t)TF_MAX_RAW + 1), SONDE_TRACE_E_INVALID);
	end_thread(t);
	end_trace(w);
	assert_int_equal(try_open("trace"), SONDE_TRACE_E_NOTRACE);
	remove_trace("trace");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	      cmocka_unit_test(test_lost),
		cmocka_unit_test(test_cut_off),	      cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_missing),	      cmocka_unit_test(test_damaged_code),
		cmocka_unit_test(test_not_ours),      cmocka_unit_test(test_header_missing),
		cmocka_unit_test(test_ways),	      cmocka_unit_test(test_limits),
	};

	make_chunks();
	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
