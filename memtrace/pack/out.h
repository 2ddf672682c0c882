/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What writing memory streams keeps with the writer of the trace and with its threads. */
#ifndef SONDE_MEMTRACE_PACK_OUT_H
#define SONDE_MEMTRACE_PACK_OUT_H

#include <stdint.h>

#include "memtrace/pack/pack.h"
#include "tracefmt/buffer.h"
#include "tracefmt/write/extra.h"

/* A file of pieces. */
struct tf_pieces {
	struct tf_extra_file file;
	uint32_t n;	/* pieces written */
	uint64_t lost;	/* chunks since the last one */
};

/* Of a writer. */
struct tf_memory_out {
	struct tf_pieces code;	/* code.memory */
	struct tf_pieces places; /* code.places */
	struct tf_buf piece;	/* one being made */
	struct tf_packer packer;
};

/* Of a thread. */
struct tf_memory_thread_out {
	struct tf_memory_out *all;
	struct tf_pieces pieces;
	struct tf_packing packing;
};

/* Made by the first call; NULL: no memory, which has been noted. */
struct tf_memory_out *tf_memory_out(struct tf_writer *w);
struct tf_memory_thread_out *tf_memory_thread_out(struct tf_thread *t);

/* Appends a piece of its own to such a file, which is made if there is none.  False: it is not written; why has been noted. */
bool tf_pieces_append(struct tf_writer *w, struct tf_pieces *p, const char *name, const char *magic, const void *raw,
		      size_t bytes);

#endif
