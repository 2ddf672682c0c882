/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a chunk as it stands in the file to events: the reader's counterpart of pack.h.
 *
 * Everything is checked when a chunk is unpacked; what is in struct tf_unpacked afterwards can
 * be used without another look.
 */
#ifndef SONDE_TRACEFMT_READ_UNPACK_H
#define SONDE_TRACEFMT_READ_UNPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/pack.h"

struct tf_column {
	uint8_t type; /* enum sonde_trace_type */
	uint8_t coding;
	uint8_t width;
	uint64_t first;
	uint64_t bytes;	     /* STR: sum of the lengths */
	size_t values;	     /* in tf_unpacked.value[]: one for each event; of STR the lengths */
	const uint8_t *text; /* STR: all of them */
};

struct tf_entry {
	uint8_t what; /* enum tf_what */
	uint8_t width;
	uint8_t ncolumns;
	uint32_t id;
	uint32_t closer; /* 1 + index, 0: none */
	uint32_t count;
	uint64_t base;
	const uint8_t *plane[8];
	struct tf_column column[TF_MAX_VALUES];
};

/*
 * One event: which entry it is of; for an unwind within the chunk, the entry of the enter that
 * is closed.
 */
struct tf_event_ref {
	uint16_t entry;
	uint8_t what;
};

struct tf_unpacked {
	uint32_t n;
	uint64_t *ticks;	   /* [n] */
	struct tf_event_ref *event; /* [n] */
	struct tf_entry *entry;
	uint32_t nentries;
	uint64_t *value;
	/* The rest is working memory. */
	size_t room, roomentries, roomvalues;
	uint32_t *seen; /* [roomentries] */
	uint16_t *open; /* [room]: entries of the frames opened in this chunk */
	uint16_t *op;	/* [room] */
	struct tf_buf raw;
	ZSTD_DCtx *zstd;
	const char *why; /* after E_CORRUPT: what is wrong */
};

/*
 * Unpacks the body of a chunk, info->packed bytes at @body.
 * Errors: E_CORRUPT, E_NOMEM.  *u is to be all zero at first, and can be used again.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_unpack(struct tf_unpacked *u, const struct tf_chunk_info *info, const uint8_t *body);

void tf_unpack_free(struct tf_unpacked *u);

#endif /* SONDE_TRACEFMT_READ_UNPACK_H */
