/* SPDX-License-Identifier: MIT */
/* Batches of memory accesses for modules (sonde/abi.h): the same in the program and in Sonde's own process. */
#ifndef SONDE_RUNTIME_MEMORY_BATCHES_H
#define SONDE_RUNTIME_MEMORY_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/abi.h"
#include "memtrace/machine.h"

/* What modules want of accesses. */
struct batch_wants {
	bool accesses, counts;
};

/* @module's hooks want it, too. */
void batch_want(struct batch_wants *wants, const struct sonde_module *module);

/* The way from a thread's chunks to modules; machine to give are the caller's, the rest is zero at first. */
struct batcher {
	struct mt_machine *machine;
	struct batch_wants wants;
	struct mt_access *v;		/* room for a batch */
	size_t size;			/* accesses */
	/* Takes the next batch: counts, and accesses if they are wanted.  False: no more of this chunk. */
	bool (*give)(struct batcher *b, const struct sonde_batch *batch);
	uint64_t tsc;			/* of the latest chunk */
	uint64_t time;			/* of that, or, if exact, of the latest MD_TIME: the batch was made after it */
	bool exact;
};

/* The thread's next chunk, with its head.  Not MT_OK: the machine knows nothing until a chunk says all. */
enum mt_status batch_chunk(struct batcher *b, const void *chunk, size_t bytes);

/* Calls the hooks of @m; each goes through the whole batch. */
void batch_hooks(const struct sonde_module *m, struct sonde_thread *thread, const struct sonde_batch *all);

#endif
