/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary bytes as the files of memory streams, up to accesses.  Checksums and compression
 * would keep a fuzzer out, so that there are ways in behind them.
 *
 * Input: a byte that chooses, 4 bytes: length of the first part, which is code.memory; the rest is
 * a thread's stream.
 *	0	both as they are
 *	1	all checksums of both are made right
 *	2, 3, 4	unpacked bodies of one piece each; 3, 4: the stream's words are rearranged
 *	5	the stream's words are the chunks of the two pieces of a group
 *	6	the stream's bytes are the bodies of the two pieces of a group
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "tests/fuzz/require.h"
#include "tracefmt/format.h"
#include "memtrace/pack/files.h"
#include "memtrace/pack/group.h"
#include "memtrace/pack/index.h"
#include "memtrace/pack/words.h"
#include "memtrace/heap.h"

#define INPUT_MAX 100000
#define ROOM (4 * INPUT_MAX)
#define ACCESSES 100000 /* of a thread; more of the same would come */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];
static volatile uint64_t sink;

/* --- files ----------------------------------------------------------------------------------- */

static void leave(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/code.memory", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/1.2.memory", dir);
	unlink(path);
	rmdir(dir);
}

static void enter(void)
{
	if (dir[0])
		return;
	strcpy(dir, "/tmp/fuzz_trace_memory.XXXXXX");
	REQUIRE(mkdtemp(dir));
	atexit(leave);
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "wb");
	REQUIRE(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void put_header(uint8_t *file, const char *magic)
{
	memcpy(file, magic, TF_MAGIC_SIZE);
	tf_put32(file + 8, TF_MEMORY_VERSION);
	tf_put64(file + 24, 0);
	tf_put64(file + 56, XXH64(file, 56, 0));
}

static void fix(uint8_t *file, size_t size, const char *magic)
{
	if (size < TF_HEADER_SIZE)
		return;
	put_header(file, magic);
	for (size_t at = TF_HEADER_SIZE; at + TF_PIECE_SIZE <= size; at++) {
		uint8_t *head = file + at;
		uint32_t packed;

		if (memcmp(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE))
			continue;
		packed = tf_get32(head + 12);
		if (packed <= size - at - TF_PIECE_SIZE)
			tf_put64(head + 32, XXH64(head + TF_PIECE_SIZE, packed, 0));
		tf_put64(head + 40, XXH64(head, 40, 0));
	}
}

/* Of how many bytes the body could be, by its head and size. */
static size_t indexed_bytes(const uint8_t *body, size_t size)
{
	size_t others = mt_words_size(4 * (size_t)(tf_get32(body + 4) % INPUT_MAX));
	size_t front = MT_INDEX_BEGIN + 4 * (size_t)(tf_get32(body) % 256);

	return size > front + others ? 4 * (size - front - others) : size;
}

/* One frame; two, of unequal parts, if it is rearranged. */
static size_t put_frames(uint8_t *at, size_t room, const uint8_t *body, size_t size, enum tf_piece_kind kind)
{
	size_t first = kind == TF_PIECE_PLAIN ? size : size / 3, packed, more = 0;

	packed = ZSTD_compress(at, room, body, first, 1);
	REQUIRE(!ZSTD_isError(packed));
	if (first < size)
		more = ZSTD_compress(at + packed, room - packed, body + first, size - first, 1);
	REQUIRE(!ZSTD_isError(more));
	return packed + more;
}

/* A file of one piece. */
static size_t make_file(uint8_t *file, const char *magic, const uint8_t *body, size_t size, enum tf_piece_kind kind)
{
	uint8_t *head = file + TF_HEADER_SIZE;
	size_t raw = size, packed;

	/* so many bytes and lags are `size`; what they are of is said by what is in them */
	while (kind == TF_PIECE_SPREAD && raw && mt_words_size(raw) > size)
		raw--;
	if (kind == TF_PIECE_SPREAD)
		size = mt_words_size(raw);
	else if (kind == TF_PIECE_INDEXED && size > MT_INDEX_BEGIN)
		raw = indexed_bytes(body, size);
	memset(file, 0, TF_HEADER_SIZE + TF_PIECE_SIZE);
	put_header(file, magic);
	packed = put_frames(head + TF_PIECE_SIZE, ROOM - TF_HEADER_SIZE - TF_PIECE_SIZE, body, size, kind);
	memcpy(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(head + 12, (uint32_t)packed);
	tf_put32(head + 16, (uint32_t)raw);
	tf_put32(head + 20, kind);
	tf_put64(head + 32, XXH64(head + TF_PIECE_SIZE, packed, 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	return TF_HEADER_SIZE + TF_PIECE_SIZE + packed;
}

/* One of a group, of @raw bytes; its body is there already.  Says how long it is. */
static size_t put_next(uint8_t *head, uint32_t seq, size_t packed, size_t raw)
{
	memset(head, 0, TF_PIECE_SIZE);
	memcpy(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(head + 8, seq);
	tf_put32(head + 12, (uint32_t)packed);
	tf_put32(head + 16, (uint32_t)raw);
	tf_put32(head + 20, seq ? TF_PIECE_GROUP_NEXT : TF_PIECE_GROUP);
	tf_put64(head + 32, XXH64(head + TF_PIECE_SIZE, packed, 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	return TF_PIECE_SIZE + packed;
}

/* A file of two pieces of a group, with half of @body each, packed or as it is. */
static size_t make_group(uint8_t *file, const uint8_t *body, size_t size, bool pack)
{
	const size_t half[] = { size / 2, size - size / 2 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t at = TF_HEADER_SIZE;

	REQUIRE(zstd);
	memset(file, 0, TF_HEADER_SIZE);
	put_header(file, TF_MAGIC_MEMORY);
	for (uint32_t i = 0; i < 2; i++) {
		ZSTD_inBuffer in = { .src = body, .size = half[i] };
		ZSTD_outBuffer out = { .dst = file + at + TF_PIECE_SIZE, .size = ROOM - at - TF_PIECE_SIZE };

		if (pack)
			REQUIRE(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush) == 0);
		else
			memcpy(out.dst, body, half[i]);
		at += put_next(file + at, i, pack ? out.pos : half[i], half[i]);
		body += half[i];
	}
	ZSTD_freeCCtx(zstd);
	return at;
}

/* --- reading them ---------------------------------------------------------------------------- */

static struct mt_code *read_code(const struct mt_files *m)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct mt_files_object o;

	REQUIRE(code);
	for (size_t i = 0; mt_files_object(m, i, &o); i++) {
		const struct md_object object = {
			.base = o.base, .load = o.load, .first = o.first,
			.nnodes = o.nnodes, .nops = o.nops, .number = (uint32_t)i,
		};

		sink += strlen(o.path);
		sink += mt_code_add(code, &object, o.nodes, o.ops);
	}
	return code;
}

static void expand(struct mt_machine *machine, const void *chunk, size_t bytes, size_t *left)
{
	struct mt_access v[64];
	enum mt_status status = mt_feed(machine, chunk, bytes);
	size_t n;

	while (status == MT_OK && *left && (n = mt_next(machine, v, 64, &status))) {
		sink += v[n - 1].addr;
		*left -= n < *left ? n : *left;
	}
}

static void read_thread(const struct mt_files *m, struct mt_code *code, size_t i)
{
	struct mt_machine *machine = mt_machine_new(code);
	struct mt_stream *s;
	enum sonde_trace_status status;
	size_t left = ACCESSES, calls = 0, bytes;
	const void *chunk;

	REQUIRE(machine);
	mt_machine_limit(machine, 2000);
	status = mt_stream_open(m, i, &s);
	REQUIRE(!s == (status != SONDE_TRACE_OK));
	while (s && (status == SONDE_TRACE_OK || status == SONDE_TRACE_E_CORRUPT)) {
		REQUIRE(++calls < 2 * INPUT_MAX);
		status = mt_stream_next(s, &chunk, &bytes);
		if (status == SONDE_TRACE_OK && left)
			expand(machine, chunk, bytes, &left);
	}
	mt_stream_close(s);
	mt_machine_free(machine);
}

static void read_all(void)
{
	struct sonde_trace_message why = { "" };
	struct mt_files_thread about;
	struct mt_files *m;
	struct mt_code *code;

	if (mt_files_open(dir, &m, &why) != SONDE_TRACE_OK) {
		REQUIRE(!m && why.text[0]);
		return;
	}
	code = read_code(m);
	for (size_t i = 0; mt_files_thread(m, i, &about); i++)
		read_thread(m, code, i);
	mt_code_free(code);
	mt_files_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t code[ROOM], stream[ROOM];
	size_t ncode, nstream;
	uint8_t how;

	if (size < 5 || size > INPUT_MAX)
		return 0;
	enter();
	how = data[0] % 7;
	ncode = tf_get32(data + 1) % (size - 4);
	data += 5;
	nstream = size - 5 - ncode;
	if (how < 2) {
		memcpy(code, data, ncode);
		memcpy(stream, data + ncode, nstream);
		if (how == 1) {
			fix(code, ncode, TF_MAGIC_CODE);
			fix(stream, nstream, TF_MAGIC_MEMORY);
		}
	} else {
		const uint8_t *words = data + ncode;

		ncode = make_file(code, TF_MAGIC_CODE, data, ncode, TF_PIECE_PLAIN);
		if (how >= 5)
			nstream = make_group(stream, words, nstream, how == 5);
		else
			nstream = make_file(stream, TF_MAGIC_MEMORY, words, nstream, TF_PIECE_PLAIN + how - 2);
	}
	write_file("code.memory", code, ncode);
	write_file("1.2.memory", stream, nstream);
	read_all();
	return 0;
}
