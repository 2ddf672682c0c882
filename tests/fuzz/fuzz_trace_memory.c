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
 *	5	the same, but the stream is two pieces, the second of which is copies of the first, with a list that says anything
 *	6	the stream's words are split in parts, which are looked for in those before, and made of copies again
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "tracefmt/format.h"
#include "memtrace/pack/files.h"
#include "memtrace/pack/far.h"
#include "memtrace/pack/index.h"
#include "memtrace/pack/words.h"
#include "memtrace/heap.h"

#define INPUT_MAX 100000
#define ROOM (4 * INPUT_MAX)
#define ACCESSES 100000 /* of a thread; more of the same would come */

#define REQUIRE(condition)                                                      \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			abort();                                                \
		}                                                               \
	} while (0)

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
	size_t others = tf_words_size(4 * (size_t)(tf_get32(body + 4) % INPUT_MAX));
	size_t front = TF_INDEX_BEGIN + 4 * (size_t)(tf_get32(body) % 256);

	return size > front + others ? 4 * (size - front - others) : size;
}

/* One frame; two, of unequal parts, if it is rearranged. */
static size_t put_frames(uint8_t *at, size_t room, const uint8_t *body, size_t size, enum tf_piece_way way)
{
	size_t first = way == TF_PIECE_PLAIN ? size : size / 3, packed, more = 0;

	packed = ZSTD_compress(at, room, body, first, 1);
	REQUIRE(!ZSTD_isError(packed));
	if (first < size)
		more = ZSTD_compress(at + packed, room - packed, body + first, size - first, 1);
	REQUIRE(!ZSTD_isError(more));
	return packed + more;
}

/* A file of one piece. */
static size_t make_file(uint8_t *file, const char *magic, const uint8_t *body, size_t size, enum tf_piece_way way)
{
	uint8_t *head = file + TF_HEADER_SIZE;
	size_t raw = size, packed;

	/* so many bytes and lags are `size`; what they are of is said by what is in them */
	while (way == TF_PIECE_SPREAD && raw && tf_words_size(raw) > size)
		raw--;
	if (way == TF_PIECE_SPREAD)
		size = tf_words_size(raw);
	else if (way == TF_PIECE_INDEXED && size > TF_INDEX_BEGIN)
		raw = indexed_bytes(body, size);
	memset(file, 0, TF_HEADER_SIZE + TF_PIECE_SIZE);
	put_header(file, magic);
	packed = put_frames(head + TF_PIECE_SIZE, ROOM - TF_HEADER_SIZE - TF_PIECE_SIZE, body, size, way);
	memcpy(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(head + 12, (uint32_t)packed);
	tf_put32(head + 16, (uint32_t)raw);
	tf_put32(head + 20, way);
	tf_put64(head + 32, XXH64(head + TF_PIECE_SIZE, packed, 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	return TF_HEADER_SIZE + TF_PIECE_SIZE + packed;
}

/* A piece that may be copies, and what it is of. */
struct far_piece {
	uint32_t seq, raw, copies;
	uint64_t position;
	const uint8_t *list, *rest;
	size_t nlist, nrest;
};

/* Says how long it is. */
static size_t put_far(uint8_t *head, const struct far_piece *p, enum tf_piece_way way, unsigned int log)
{
	uint8_t *body = head + TF_PIECE_SIZE;
	size_t room = ZSTD_compressBound(INPUT_MAX), list, packed;

	memset(head, 0, TF_PIECE_SIZE + TF_FAR_HEAD);
	list = ZSTD_compress(body + TF_FAR_HEAD, room, p->list, p->nlist, 1);
	packed = ZSTD_compress(body + TF_FAR_HEAD + list, room, p->rest, p->nrest, 1);
	REQUIRE(!ZSTD_isError(list) && !ZSTD_isError(packed));
	packed += TF_FAR_HEAD + list;
	tf_put64(body, p->position);
	tf_put32(body + 8, p->copies);
	tf_put32(body + 12, (uint32_t)p->nlist);
	tf_put32(body + 16, (uint32_t)list);
	tf_put32(body + 20, (uint32_t)p->nrest);
	body[24] = (uint8_t)log;
	body[25] = way;
	memcpy(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(head + 8, p->seq);
	tf_put32(head + 12, (uint32_t)packed);
	tf_put32(head + 16, p->raw);
	tf_put32(head + 20, TF_PIECE_FAR);
	tf_put64(head + 32, XXH64(body, packed, 0));
	tf_put64(head + 40, XXH64(head, 40, 0));
	return TF_PIECE_SIZE + packed;
}

/*
 * Words, with 8 bytes in front that say of the second piece: how many copies, how many bytes the list is, the chunk less its
 * rest, and where it is.
 */
static size_t make_far(uint8_t *file, const uint8_t *body, size_t size)
{
	struct far_piece first = { .list = body }, second = { .seq = 1 };
	size_t at = TF_HEADER_SIZE, half, list;

	memset(file, 0, TF_HEADER_SIZE);
	put_header(file, TF_MAGIC_MEMORY);
	if (size < 8)
		return at;
	half = (size - 8) / 2;
	first.rest = body + 8;
	first.nrest = first.raw = (uint32_t)half;
	at += put_far(file + at, &first, TF_PIECE_PLAIN, TF_WINDOW_MIN);
	list = (body[2] | (size_t)body[3] << 8) % (size - 8 - half + 1);
	second.list = first.rest + half;
	second.nlist = list;
	second.rest = second.list + list;
	second.nrest = size - 8 - half - list;
	second.copies = body[0] | (uint32_t)body[1] << 8;
	second.raw = (uint32_t)second.nrest + (body[4] | (uint32_t)body[5] << 8);
	second.position = half / 4 + (uint64_t)(int8_t)body[6];
	at += put_far(file + at, &second, TF_PIECE_PLAIN, body[7] < 128 ? TF_WINDOW_MIN : body[7] % 128);
	return at;
}

/* Parts of @size / 8 or less, looked for and made again. */
static void copy_all(const uint8_t *body, size_t size)
{
	static struct tf_copy copy[INPUT_MAX];
	static uint32_t masks[INPUT_MAX], changes[INPUT_MAX / 4 + 1];
	static uint8_t list[ROOM + TF_COPY_MOST * INPUT_MAX], rest[INPUT_MAX], made[INPUT_MAX];
	struct tf_copies c = { .copy = copy, .masks = masks, .changes = changes };
	struct tf_window window;
	struct tf_match match;

	REQUIRE(tf_match_open(&match, TF_WINDOW_MIN, 7) && tf_window_open(&window, TF_WINDOW_MIN, 7));
	for (size_t at = 0, n; at < size; at += n) {
		size_t nlist, nrest, front;

		n = size / (8 + body[at] % 8) + 1;
		n = n < size - at ? n : size - at;
		tf_match_find(&match, body + at, n / 4, &c);
		nlist = tf_copies_write(list, &c, &front);
		REQUIRE(c.n <= tf_match_most(n / 4) && nlist <= tf_far_list_room(n));
		nrest = tf_copies_rest(rest, body + at, n, &c);
		REQUIRE(tf_copies_undo(made, n, &window, list, nlist, c.n, rest, nrest));
		REQUIRE(memcmp(made, body + at, n) == 0);
		tf_window_add(&window, made, n / 4);
	}
	tf_match_close(&match);
	tf_window_close(&window);
}

/* --- reading them ---------------------------------------------------------------------------- */

static struct mt_code *read_code(const struct tf_memory *m)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct tf_memory_object o;

	REQUIRE(code);
	for (size_t i = 0; tf_memory_object(m, i, &o); i++) {
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

static void read_thread(const struct tf_memory *m, struct mt_code *code, size_t i)
{
	struct mt_machine *machine = mt_machine_new(code);
	struct tf_memory_stream *s;
	enum sonde_trace_status status;
	size_t left = ACCESSES, calls = 0, bytes;
	const void *chunk;

	REQUIRE(machine);
	mt_machine_limit(machine, 2000);
	status = tf_memory_stream_open(m, i, &s);
	REQUIRE(!s == (status != SONDE_TRACE_OK));
	while (s && (status == SONDE_TRACE_OK || status == SONDE_TRACE_E_CORRUPT)) {
		REQUIRE(++calls < 2 * INPUT_MAX);
		status = tf_memory_next(s, &chunk, &bytes);
		if (status == SONDE_TRACE_OK && left)
			expand(machine, chunk, bytes, &left);
	}
	tf_memory_stream_close(s);
	mt_machine_free(machine);
}

static void read_all(void)
{
	struct sonde_trace_message why = { "" };
	struct tf_memory_thread about;
	struct tf_memory *m;
	struct mt_code *code;

	if (tf_memory_open(dir, &m, &why) != SONDE_TRACE_OK) {
		REQUIRE(!m && why.text[0]);
		return;
	}
	code = read_code(m);
	for (size_t i = 0; tf_memory_thread(m, i, &about); i++)
		read_thread(m, code, i);
	mt_code_free(code);
	tf_memory_close(m);
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
	if (how == 6) {
		copy_all(data + ncode, nstream);
		return 0;
	}
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
		if (how == 5)
			nstream = make_far(stream, words, nstream);
		else
			nstream = make_file(stream, TF_MAGIC_MEMORY, words, nstream, TF_PIECE_PLAIN + how - 2);
	}
	write_file("code.memory", code, ncode);
	write_file("1.2.memory", stream, nstream);
	read_all();
	return 0;
}
