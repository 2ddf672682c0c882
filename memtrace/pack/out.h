/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What writing memory streams keeps with the writer of the trace and with its threads. */
#ifndef SONDE_MEMTRACE_PACK_OUT_H
#define SONDE_MEMTRACE_PACK_OUT_H

#include <stdint.h>

#include "memtrace/pack/pack.h"
#include "tracefmt/buffer.h"
#include "tracefmt/write/extra.h"

/* A file of pieces. */
struct mt_pieces {
	struct tf_extra_file file;
	uint32_t n;	/* pieces written */
	uint64_t lost;	/* chunks since the last one */
};

/* For who makes a piece. */
struct mt_maker {
	struct tf_buf piece;
	struct mt_packer packer;
	struct mt_maker *next;
};

/* Of a writer. */
struct mt_out {
	struct mt_pieces code;	/* code.memory */
	struct mt_pieces places; /* code.places */
	struct mt_pieces blocks; /* code.blocks */
	struct mt_maker *idle;	/* as many as pieces were ever made at one time */
	unsigned int windows;	/* of struct mt_packer */
};

/* Of a thread. */
struct mt_thread_out {
	struct mt_out *all;
	struct mt_pieces pieces;
	struct mt_packing packing;
};

/* Made by the first call; NULL: no memory, which has been noted. */
struct mt_out *mt_out(struct tf_writer *w);
struct mt_thread_out *mt_thread_out(struct tf_thread *t);

/* Appends a piece of its own to such a file, which is made if there is none.  False: it is not written; why has been noted. */
bool mt_pieces_append(struct tf_writer *w, struct mt_pieces *p, const char *name, const char *magic, const void *raw,
		      size_t bytes);

#endif
