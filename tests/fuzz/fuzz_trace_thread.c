/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary bytes as a thread's file, to the last event.  Checksums would keep a fuzzer
 * out, so that there are two more ways in, behind them.
 *
 * Input: a byte that chooses
 *	0  the file as it is
 *	1  the file, of which all checksums of headers, index and trailer are made right
 *	2  depth (1 byte), number of events (2 bytes), and the unpacked body of the only chunk
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

#include "tests/fuzz/require.h"
#include "tracefmt/read/trace-internal.h"
#include "tracefmt/read/unpack.h"

#define INPUT_MAX 100000

static const char metadata[] =
	"{\"type\":\"trace\",\"format\":1,\"program\":\"p\",\"args\":[],\"rank\":-1,\"tsc\":1000,"
	"\"mono\":1,\"real\":1,\"id\":\"0\"}\n"
	"{\"type\":\"clock\",\"tsc\":2000,\"mono\":1001,\"real\":1}\n"
	"{\"type\":\"function\",\"id\":0,\"name\":\"f\"}\n"
	"{\"type\":\"function\",\"id\":1,\"name\":\"g\"}\n"
	"{\"type\":\"event\",\"id\":16,\"kind\":\"enter\",\"function\":0}\n"
	"{\"type\":\"event\",\"id\":17,\"kind\":\"leave\",\"function\":0}\n"
	"{\"type\":\"event\",\"id\":18,\"kind\":\"point\",\"function\":0,\"fields\":[[\"a\",\"str\"],[\"b\",\"f64\"]]}\n"
	"{\"type\":\"event\",\"id\":19,\"kind\":\"enter\",\"function\":1,\"fields\":[[\"s\",\"str\"],[\"i\",\"i32\"]]}\n"
	"{\"type\":\"event\",\"id\":20,\"kind\":\"leave\",\"function\":1,\"fields\":[[\"u\",\"u64\"]]}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* --- making files ---------------------------------------------------------------------------- */

static void fix_header(uint8_t *file, size_t size)
{
	if (size < TF_HEADER_SIZE)
		return;
	memcpy(file, TF_MAGIC_THREAD, TF_MAGIC_SIZE);
	tf_put32(file + 8, TF_FILE_VERSION);
	tf_put64(file + 24, 0);
	tf_put64(file + 56, XXH64(file, 56, 0));
}

static void fix_chunks(uint8_t *file, size_t size)
{
	for (size_t at = 0; at + TF_CHUNK_SIZE <= size; at++) {
		uint8_t *header = file + at;
		uint32_t packed;

		if (memcmp(header, TF_MAGIC_CHUNK, TF_MAGIC_SIZE))
			continue;
		packed = tf_get32(header + 12);
		if (packed <= size - at - TF_CHUNK_SIZE)
			tf_put64(header + 64, XXH64(header + TF_CHUNK_SIZE, packed, 0));
		tf_put64(header + 72, XXH64(header, 72, 0));
	}
}

static void fix_end(uint8_t *file, size_t size)
{
	uint8_t *trailer = file + size - TF_TRAILER_SIZE;
	uint64_t offset, length;

	if (size < TF_HEADER_SIZE + TF_TRAILER_SIZE)
		return;
	offset = tf_get64(trailer + 8);
	length = tf_get64(trailer + 16);
	tf_put64(trailer + 24, XXH64(trailer, 24, 0));
	if (offset < size && length >= 8 && length <= size - offset)
		tf_put64(file + offset + length - 8, XXH64(file + offset, length - 8, 0));
}

/* A chunk with this body; its first and last time are what the body says, if it says any. */
static size_t make_chunk(uint8_t *to, size_t room, uint32_t events, uint64_t depth,
			 const uint8_t *body, size_t size)
{
	static struct tf_unpacked probe;
	struct tf_chunk_info info = { .raw = (uint32_t)size, .events = events, .depth = depth,
				      .start = 1000, .first = 1000, .last = 1000 };
	size_t packed = ZSTD_compress(to + TF_CHUNK_SIZE, room - TF_CHUNK_SIZE, body, size, 1);

	REQUIRE(!ZSTD_isError(packed));
	info.packed = (uint32_t)packed;
	info.hash = XXH64(to + TF_CHUNK_SIZE, packed, 0);
	if (events && events <= size &&
	    tf_unpack(&probe, &info, to + TF_CHUNK_SIZE) == SONDE_TRACE_E_CORRUPT &&
	    strstr(probe.why, "header says")) {
		info.first = probe.ticks[0];
		info.last = probe.ticks[events - 1];
	}
	tf_chunk_put(to, &info);
	return TF_CHUNK_SIZE + packed;
}

/* --- reading them -------------------------------------------------------------------------- */

static void read_events(const struct sonde_trace *t, uint64_t seek, bool tails_as_calls)
{
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status;
	uint64_t before = 0;

	REQUIRE(!sonde_trace_iterate(t, 0, &it));
	sonde_trace_tail_calls(it, tails_as_calls);
	if (seek)
		REQUIRE(!sonde_trace_seek(it, seek));
	while (!(status = sonde_trace_next(it, &ev))) {
		REQUIRE(ev->time >= before);
		before = ev->time;
		sink += ev->depth + ev->entered + ev->waited + (ev->function ? *ev->function->name : 0);
		for (size_t i = 0; i < ev->nvalues; i++)
			if (ev->values[i].type == SONDE_TRACE_STR)
				sink += strlen(ev->values[i].str) + *ev->values[i].name;
			else
				sink += ev->values[i].u;
	}
	REQUIRE(status == SONDE_TRACE_END);
	sonde_trace_iter_free(it);
}

static void read_file(const uint8_t *data, size_t size)
{
	struct sonde_trace *t = calloc(1, sizeof *t);
	struct tf_part *part = tf_arena_alloc(&t->arena, sizeof *part);
	struct tf_thread_in *thread;
	struct sonde_trace_message why;
	char path[64];
	int fd = memfd_create("thread", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	part->pub.dir = "d";
	part->boot = "";
	REQUIRE(tf_list_add(&t->parts, part));
	REQUIRE(!tf_metadata_parse(t, part, metadata, sizeof metadata - 1, &why));
	tf_timeline_finish(&part->timeline);
	thread = tf_trace_thread(t, part, "1.1.sonde", true);
	REQUIRE(!tf_infile_open(&thread->file, path, false));
	read_events(t, 0, false);
	read_events(t, 500, false);
	read_events(t, 0, true);
	read_events(t, 500, true);
	sonde_trace_close(t);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t file[2 * INPUT_MAX + 4096];
	uint8_t how = size ? data[0] % 3 : 0;

	if (size < 4 || size > INPUT_MAX)
		return 0;
	if (how < 2) {
		memcpy(file, data + 1, size - 1);
		if (how == 1) {
			fix_header(file, size - 1);
			fix_chunks(file, size - 1);
			fix_end(file, size - 1);
		}
		read_file(file, size - 1);
	} else {
		memset(file, 0, TF_HEADER_SIZE);
		fix_header(file, TF_HEADER_SIZE);
		read_file(file, TF_HEADER_SIZE +
					make_chunk(file + TF_HEADER_SIZE,
						   sizeof file - TF_HEADER_SIZE,
						   data[2] | (uint32_t)data[3] << 8, data[1],
						   data + 4, size - 4));
	}
	return 0;
}
