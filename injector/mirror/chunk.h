/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code memory for mirrors: a chunk is filled with one function after another; when it is full, its code map is made
 * known to the runtime, and a larger one is taken.  Of a chunk that is shown, all of it is known as soon as it is added.
 */
#ifndef SONDE_INJECTOR_MIRROR_CHUNK_H
#define SONDE_INJECTOR_MIRROR_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "injector/status.h"
#include "trampolines/mirror/codemap.h"
#include "trampolines/mirror/mirror.h"

struct inj_session;

struct inj_chunk {
	/* given, for all chunks of an object */
	uint64_t lo, hi;	/* its code in the program */
	uint64_t object;	/* what its offsets count from */
	const struct tramp_mirror *mirror;
	bool shown;
	/* all zero at first */
	uint64_t addr;		/* in the program */
	uint8_t *mem;		/* the same memory here */
	uint64_t len, used, made;	/* made: has pages */
	struct rt_piece *pieces; /* for the code map */
	size_t npieces, room;
	struct rt_mem_piece *mems;
	size_t nmems, room_mems;
	struct rt_probe_map *probes; /* shown: the tables are in the program */
	size_t nprobes, room_probes;
	struct rt_codemap *map;
};

/* Makes @want bytes free from mem + used on.  Errors: NO_ROOM, MEMORY, and those of the target. */
enum inj_status inj_chunk_room(struct inj_session *s, struct inj_chunk *c, size_t want) INJ_CHECK;

/* The code that has been written there is now used.  Errors: MEMORY; NO_ROOM (of one that is shown: for its tables). */
enum inj_status inj_chunk_add(struct inj_chunk *c, const struct tramp_mirror_code *out) INJ_CHECK;

/* Tells the runtime of a chunk that is complete. */
enum inj_status inj_chunk_close(struct inj_session *s, struct inj_chunk *c) INJ_CHECK;

/* Only what is given for the object stays. */
void inj_chunk_free(struct inj_chunk *c);

#endif
