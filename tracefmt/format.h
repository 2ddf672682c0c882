/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The numbers of doc/trace-format.md: magic numbers, sizes, offsets, limits; and access to
 * little-endian integers in bytes.
 */
#ifndef TRACEFMT_FORMAT_H
#define TRACEFMT_FORMAT_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define TF_VERSION 3	    /* of the metadata: what is written; those before can be read */
#define TF_FILE_VERSION 2 /* of thread files; likewise */

#define TF_MAGIC_SIZE 8
#define TF_MAGIC_THREAD "SondeThr"
#define TF_MAGIC_CHUNK "SondeChk"
#define TF_MAGIC_INDEX "SondeIdx"
#define TF_MAGIC_END "SondeEnd"

#define TF_HEADER_SIZE 64
#define TF_CHUNK_SIZE 80
#define TF_INDEX_HEAD 16
#define TF_INDEX_ENTRY 48
#define TF_INDEX_TAIL 8
#define TF_TRAILER_SIZE 32

/* Memory streams. */
#define TF_MAGIC_MEMORY "SondeMem" /* a thread's */
#define TF_MAGIC_CODE "SondeCod"   /* descriptions */
#define TF_MAGIC_PLACES "SondePlc" /* what they are called */
#define TF_MAGIC_BLOCKS "SondeBlk" /* counts of blocks */
#define TF_MAGIC_PIECE "SondePce"  /* one chunk, or one object */
#define TF_MEMORY_VERSION 8
#define TF_PIECE_SIZE 48
/* What the body of a piece is. */
enum tf_piece_kind {
	TF_PIECE_PLAIN,
	TF_PIECE_SPREAD,	/* rearranged, see memtrace/pack/words.h */
	TF_PIECE_INDEXED,	/* see memtrace/pack/index.h */
	TF_PIECE_ALONE,		/* those before can be read alone */
	TF_PIECE_GROUP = TF_PIECE_ALONE,	/* begins a group, see memtrace/pack/group.h */
	TF_PIECE_GROUP_NEXT,	/* goes on with it */
};
/* What a piece of code.blocks holds: its first byte. */
enum tf_blocks_kind { TF_BLOCKS_THREAD = 1, TF_BLOCKS_FUNCTIONS = 2, TF_BLOCKS_TRIPS = 3 /* functions, and counters of loops' trips */ };

#define TF_OBJECT_SIZE 48
#define TF_MD_SIZE 16 /* of a struct md_node, and of a struct md_op */

#define TF_MAX_RAW (1u << 26)	 /* bytes of an unpacked body */
#define TF_MAX_EVENTS (1u << 20) /* operations of a chunk */
#define TF_MAX_ENTRIES 65534u	 /* of a dictionary: an operation has 16 bits */
#define TF_MAX_VALUES 12u	 /* fields of an event */
#define TF_MAX_IDS (1u << 20)

/* What a dictionary entry stands for. */
enum tf_what {
	TF_ENTER = 1,
	TF_LEAVE = 2,
	TF_POINT = 3,
	TF_ORPHAN = 4,
	TF_OLD_UNWIND = 5,
	TF_LOST = 6,
	TF_UNWIND = 7,
	TF_TAIL = 8,
	TF_WAITED = 9,
};

/* Operations below TF_OP_ENTRY; the others are TF_OP_ENTRY + index of an entry. */
#define TF_OP_RETURN 0u
#define TF_OP_UNWIND 1u
#define TF_OP_ENTRY 2u

enum tf_coding { TF_CODING_PLAIN = 0, TF_CODING_DELTA = 1, TF_CODING_XOR = 2 };

/*
 * For functions that are a loop over a column: gcc 12 does not vectorize those at -O2, clang
 * does.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define TF_VECTORIZE __attribute__((optimize("O3")))
#else
#define TF_VECTORIZE
#endif

static inline uint32_t tf_get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static inline uint64_t tf_get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

static inline void tf_put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

static inline void tf_put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

/* Bytes that @v needs: 0 for 0, up to 8. */
static inline unsigned tf_width(uint64_t v)
{
	return v ? (unsigned)(71 - __builtin_clzll(v)) / 8 : 0;
}

static inline uint64_t tf_zigzag(uint64_t d)
{
	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

static inline uint64_t tf_unzigzag(uint64_t s)
{
	return s >> 1 ^ -(s & 1);
}

static inline uint32_t tf_zigzag32(uint32_t d)
{
	return d << 1 ^ (0 - (d >> 31));
}

static inline uint32_t tf_unzigzag32(uint32_t z)
{
	return z >> 1 ^ (0 - (z & 1));
}

#endif /* TRACEFMT_FORMAT_H */
