/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's file while it is written: header, chunks, index, trailer. */
#ifndef SONDE_TRACEFMT_WRITE_THREADOUT_H
#define SONDE_TRACEFMT_WRITE_THREADOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/outfile.h"

struct tf_threadout {
	struct tf_outfile file;
	struct tf_buf index; /* entries */
	uint32_t chunks;
};

struct tf_thread_id {
	int pid;
	int tid;
	int rank;
	uint64_t trace; /* id of the trace */
	uint64_t tsc;
};

/*
 * Creates PID.TID.sonde, or PID.TID.N.sonde with the first free N from 2 on, with its header.
 * False: errno says why.
 */
__attribute__((warn_unused_result)) bool tf_threadout_create(struct tf_threadout *o, int dirfd,
							     const struct tf_thread_id *id);

/* Appends a chunk as tf_pack() made it.  False: errno says why; the file is as before. */
__attribute__((warn_unused_result)) bool tf_threadout_chunk(struct tf_threadout *o,
							    const uint8_t *chunk, size_t size);

/* The same of one that was made for another place: it gets the number that is the file's next. */
__attribute__((warn_unused_result)) bool tf_threadout_next(struct tf_threadout *o, uint8_t *chunk, size_t size);

/* Appends index and trailer.  False: errno says why; the file is readable without them. */
__attribute__((warn_unused_result)) bool tf_threadout_finish(struct tf_threadout *o);

void tf_threadout_free(struct tf_threadout *o);

#endif /* SONDE_TRACEFMT_WRITE_THREADOUT_H */
