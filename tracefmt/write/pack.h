/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a batch of events to a chunk as it stands in the file: dictionary, columns, zstd, header.
 */
#ifndef SONDE_TRACEFMT_WRITE_PACK_H
#define SONDE_TRACEFMT_WRITE_PACK_H

#include <stdint.h>
#include <zstd.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/encode.h"

#define TF_PACK_LEVEL 1 /* of zstd */

struct tf_pack_entry;
struct tf_pack_column;

/* Working memory, shared by all threads of a writer; grows as needed. */
struct tf_pack {
	ZSTD_CCtx *zstd;
	uint64_t *slot; /* [2 * nslots]: by event id; epoch << 32 | entry */
	uint32_t nslots;
	uint32_t epoch;
	struct tf_pack_entry *entry;
	uint32_t nentries;
	uint32_t roomentries;
	struct tf_pack_column *column; /* of values, of all entries */
	uint32_t ncolumns;
	uint32_t roomcolumns;
	uint32_t *count;    /* [roomentries]: events of each entry; apart, to be near each other */
	uint32_t *cursor;   /* [roomentries]: where the next difference of each entry goes */
	uint16_t *of_event; /* entry of each event */
	uint16_t *op;	    /* operations */
	uint64_t *sorted;   /* time differences by entry; of 32 bits, if all fit */
	uint64_t *values;   /* column after column */
	uint32_t *where;    /* of strings: word in the batch's payloads, beside values[] */
	size_t roomvalues;
	size_t *cut; /* offsets in raw where a zstd frame ends */
	size_t ncuts;
	size_t roomcuts;
	struct tf_buf raw;
	struct tf_buf out; /* the result: header and body */
};

/* Errors: E_NOMEM. */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_pack_init(struct tf_pack *p);
void tf_pack_free(struct tf_pack *p);

/*
 * Packs the batch, which has at least one event, into p->out as chunk number @seq.  @last:
 * ticks of its last event.  Errors: E_NOMEM.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_pack(struct tf_pack *p, const struct tf_sites *sites, const struct tf_batch *b, uint32_t seq,
	uint64_t last);

/* Adds the events of the chunk that was packed last to *stats. */
void tf_pack_count(const struct tf_pack *p, struct tf_enc_stats *stats);

/* The event id of entry @i of the chunk that was packed last; 0: it has none. */
uint32_t tf_pack_id(const struct tf_pack *p, uint32_t i);

/* What stands in the header of the chunk in p->out, for the index. */
struct tf_chunk_info {
	uint32_t seq;
	uint32_t packed;
	uint32_t raw;
	uint32_t events;
	uint64_t start;
	uint64_t first;
	uint64_t last;
	uint64_t depth;
	uint64_t hash; /* of the body */
};

void tf_chunk_put(uint8_t header[TF_CHUNK_SIZE], const struct tf_chunk_info *info);

/*
 * Reads a chunk's header.  Errors: E_CORRUPT (magic, hash or limits).
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_chunk_get(const uint8_t header[TF_CHUNK_SIZE], struct tf_chunk_info *info);

#endif /* SONDE_TRACEFMT_WRITE_PACK_H */
