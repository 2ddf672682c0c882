/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory for code of ours in the program.  One memfd: mapped readable and writable here,
 * readable and executable there, so that no page of the program is ever both.  Near each ELF module
 * a part of the memfd is mapped within ±2 GiB of it.  No file descriptor stays open in the program:
 * further places are second mappings of its first one.
 *
 * perf looks for the names of code in /tmp/perf-PID.map only where a mapping is called as if no file were
 * after it: //anon, [heap], [stack, /SYSV, /dev/zero, /anon_hugepage (tools/perf/util/map.h).  So where
 * it is to find them, a System V segment takes the memfd's place.
 */
#ifndef SONDE_INJECTOR_PATCH_ARENA_H
#define SONDE_INJECTOR_PATCH_ARENA_H

#include <stdbool.h>

#include "injector/process/maps.h"
#include "injector/process/target.h"

#define INJ_ARENA_ALIGN 16

struct inj_arena {
	uint64_t addr;	 /* in the program */
	uint64_t offset; /* in the memfd */
	uint64_t len;	 /* bytes mapped */
	uint64_t used;
	bool near;	 /* mapped there for code that has to be near something */
};

struct inj_code {
	int fd;	 /* the memfd, -1: there is none (any more) */
	int shm; /* the segment, -1 */
	uint8_t *mem; /* the whole memfd, RW */
	uint64_t size;
	uint64_t used;	/* given to arenas */
	uint64_t first; /* where the program has all of it mapped */
	struct inj_arena *v;
	size_t n;
	struct inj_maps maps; /* what was mapped where a while ago; n = 0: not known */
};

/*
 * A memfd of @bytes, inheritable, whose size nobody can change any more: whoever shares memory with a program that cuts
 * it off dies of SIGBUS.  -1: errno says why.
 */
int inj_memfd(const char *name, uint64_t bytes) INJ_CHECK;

/*
 * Creates the memfd, @size bytes, inheritable (for the program, until inj_code_map()); with @for_perf the
 * segment, which goes with the last of the processes that have it mapped.  Errors: SYSTEM.
 */
enum inj_status inj_code_create(struct inj_code *code, uint64_t size, bool for_perf) INJ_CHECK;
/* Maps it in the program; the memfd through the inherited descriptor, which is then closed there. */
enum inj_status inj_code_map(struct inj_code *code, struct inj_target *t) INJ_CHECK;
void inj_code_free(struct inj_code *code);

/*
 * @len bytes of code memory, aligned, that reach [lo, hi) and are reached from there; lo = hi = 0:
 * anywhere.  *addr is the place in the program, *mem the same bytes here.  Errors: NO_ROOM, and
 * those of the target.
 */
enum inj_status inj_code_alloc(struct inj_code *code, struct inj_target *t, uint64_t lo,
			       uint64_t hi, uint64_t len, uint64_t *addr, uint8_t **mem) INJ_CHECK;

/*
 * Has @len bytes mapped there now, so that children that are forked later have them: unless all of the memory is within reach.
 * Less if there is not so much left.
 */
enum inj_status inj_code_reserve(struct inj_code *code, struct inj_target *t, uint64_t lo, uint64_t hi, uint64_t len) INJ_CHECK;

/* The same, whole pages of their own, anywhere: for images that map data over a part of them. */
enum inj_status inj_code_alloc_pages(struct inj_code *code, struct inj_target *t, uint64_t len,
				     uint64_t *addr, uint8_t **mem) INJ_CHECK;

/* The same memory here as at @addr in the program; NULL: it is none of this. */
void *inj_code_at(const struct inj_code *code, uint64_t addr);

/* A copy of @bytes there, anywhere; they may be none. */
enum inj_status inj_code_put(struct inj_code *code, struct inj_target *t, const void *table,
			     size_t bytes, uint64_t *addr) INJ_CHECK;

#endif
