/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of memory streams, piece by piece: the reader's part of what pack/out.c writes. */
#ifndef SONDE_MEMTRACE_PACK_PIECES_H
#define SONDE_MEMTRACE_PACK_PIECES_H

#include <zstd.h>

#include "tracefmt/buffer.h"
#include "memtrace/pack/files.h"

/* Its head. */
struct mt_piece {
	uint32_t seq, packed, raw;
	uint32_t kind;
	uint64_t lost;
	uint64_t hash;
};

struct mt_stream {
	int fd;
	uint64_t at, size;
	uint32_t next; /* sequence number */
	bool reported; /* something is missing here */
	bool in_group; /* the last piece belonged to it, and could be read */
	ZSTD_DCtx *zstd;
	ZSTD_DCtx *group; /* NULL: none yet */
	struct tf_buf packed, words, scratch, raw;
};

/* @path has the magic number @magic; fields of its header go to @trace, and to @pub, if that is not NULL. */
enum sonde_trace_status mt_pieces_open(struct mt_stream *s, const char *path, const char *magic,
				       uint64_t *trace, struct mt_files_thread *pub);
void mt_pieces_close(struct mt_stream *s);

bool mt_piece_at(const struct mt_stream *s, uint64_t at, struct mt_piece *p);

/* Goes to the next place from s->at on where a piece begins; s->size: none. */
void mt_piece_search(struct mt_stream *s);

/* Into s->raw.  E_CORRUPT: something is missing before the next one; said once. */
enum sonde_trace_status mt_piece_next(struct mt_stream *s);

#endif
