/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header of a chunk, to and from bytes. */
#include <xxhash.h>

#include "tracefmt/write/pack.h"

void tf_chunk_put(uint8_t header[TF_CHUNK_SIZE], const struct tf_chunk_info *info)
{
	memcpy(header, TF_MAGIC_CHUNK, TF_MAGIC_SIZE);
	tf_put32(header + 8, info->seq);
	tf_put32(header + 12, info->packed);
	tf_put32(header + 16, info->raw);
	tf_put32(header + 20, info->events);
	tf_put64(header + 24, info->start);
	tf_put64(header + 32, info->first);
	tf_put64(header + 40, info->last);
	tf_put64(header + 48, info->depth);
	tf_put64(header + 56, 0);
	tf_put64(header + 64, info->hash);
	tf_put64(header + 72, XXH64(header, 72, 0));
}

enum sonde_trace_status tf_chunk_get(const uint8_t header[TF_CHUNK_SIZE],
				     struct tf_chunk_info *info)
{
	if (memcmp(header, TF_MAGIC_CHUNK, TF_MAGIC_SIZE) ||
	    tf_get64(header + 72) != XXH64(header, 72, 0))
		return SONDE_TRACE_E_CORRUPT;
	*info = (struct tf_chunk_info){
		.seq = tf_get32(header + 8),
		.packed = tf_get32(header + 12),
		.raw = tf_get32(header + 16),
		.events = tf_get32(header + 20),
		.start = tf_get64(header + 24),
		.first = tf_get64(header + 32),
		.last = tf_get64(header + 40),
		.depth = tf_get64(header + 48),
		.hash = tf_get64(header + 64),
	};
	if (!info->events || info->events > TF_MAX_EVENTS || info->raw > TF_MAX_RAW ||
	    info->packed > 2 * TF_MAX_RAW || info->start > info->first ||
	    info->first > info->last)
		return SONDE_TRACE_E_CORRUPT;
	return SONDE_TRACE_OK;
}
