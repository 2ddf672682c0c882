/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of DynamoRIO's drmemtrace: a thread's final trace, as its analysis tools read it (drrun -t drmemtrace -infile,
 * or -indir for the threads of a process).  Source: DynamoRIO's clients/drcachesim/common/trace_entry.h, and what
 * reader/file_reader.h and reader.cpp there demand of a file.
 *
 * There are no instruction fetches, as in a trace whose instructions were filtered online: a fetch of 0 bytes says which
 * instruction it is that accesses memory.  A time stands before each chunk, for the reader merges threads by these.
 */
#include "launcher/dump/dump-memory.h"

#include <string.h>

enum {
	DR_READ = 0, DR_WRITE = 1, DR_PREFETCH = 2, DR_INSTR = 10, DR_THREAD = 22, DR_THREAD_EXIT = 23,
	DR_PID = 24, DR_HEADER = 25, DR_FOOTER = 26, DR_MARKER = 28,

	DR_TIMESTAMP = 2, DR_CPU_ID = 3, DR_FILETYPE = 9, DR_LINE_SIZE = 10, DR_VERSION = 12,
	DR_WINDOW_ID = 14, DR_PAGE_SIZE = 18,

	DR_OF_VERSION = 4,			/* the first one with page sizes */
	DR_OF_FILETYPE = 0x40 | 0x80,		/* x86-64; instructions are not all there */
	DR_RECORD = 12,
};

#define UNKNOWN_CPU UINT64_MAX
#define US_FROM_1601_TO_1970 UINT64_C(11644473600000000)

static void put(struct dump_memory *d, unsigned int type, uint64_t size, uint64_t addr)
{
	char *at = dump_memory_room(d, DR_RECORD);
	uint16_t head[2] = { (uint16_t)type, (uint16_t)(size < UINT16_MAX ? size : UINT16_MAX) };

	memcpy(at, head, sizeof head);
	memcpy(at + sizeof head, &addr, sizeof addr);
	d->n += DR_RECORD;
}

static void put_time(struct dump_memory *d, const struct memtrace_thread *t)
{
	const struct sonde_trace_rank *rank = sonde_trace_rank(t->trace, t->rank_index);
	uint64_t ns = sonde_trace_time(t->trace, t->rank_index, d->tsc) - rank->start + rank->start_real_ns;

	put(d, DR_MARKER, DR_TIMESTAMP, ns / 1000 + US_FROM_1601_TO_1970);
	put(d, DR_MARKER, DR_CPU_ID, UNKNOWN_CPU);
	d->reported = d->tsc;
}

/* The reader wants all of these before the first time; the PID comes last. */
void drmemtrace_begin(struct dump_memory *d, const struct memtrace_thread *t)
{
	put(d, DR_HEADER, 0, DR_OF_VERSION);
	put(d, DR_MARKER, DR_VERSION, DR_OF_VERSION);
	put(d, DR_MARKER, DR_FILETYPE, DR_OF_FILETYPE);
	put(d, DR_THREAD, 0, (uint64_t)t->about.tid);
	put(d, DR_MARKER, DR_LINE_SIZE, 64);
	put(d, DR_MARKER, DR_PAGE_SIZE, 4096);
	put(d, DR_PID, 0, (uint64_t)t->about.pid);
	d->windows = 0;
	d->insn = 0;
	d->reported = 0;
	d->thread_of = t;
}

void drmemtrace_put(struct dump_memory *d, const struct mt_access *a, struct memplace *place)
{
	unsigned int kind = a->kind & MD_KIND;

	(void)place;
	if (!d->reported || d->reported != d->tsc)
		put_time(d, d->thread_of);
	if (a->insn != d->insn)
		put(d, DR_INSTR, 0, a->insn);
	d->insn = a->insn;
	if (kind == MD_PREFETCH)
		put(d, DR_PREFETCH, a->size, a->addr);
	if (kind == MD_LOAD || kind == MD_MODIFY)
		put(d, DR_READ, a->size, a->addr);
	if (kind == MD_STORE || kind == MD_MODIFY)
		put(d, DR_WRITE, a->size, a->addr);
}

/* There is a gap in time. */
void drmemtrace_off(struct dump_memory *d)
{
	put_time(d, d->thread_of);
	put(d, DR_MARKER, DR_WINDOW_ID, ++d->windows);
}

void drmemtrace_end(struct dump_memory *d)
{
	if (!d->reported)
		put_time(d, d->thread_of);
	put(d, DR_THREAD_EXIT, 0, (uint64_t)d->thread_of->about.tid);
	put(d, DR_FOOTER, 0, 0);
}
