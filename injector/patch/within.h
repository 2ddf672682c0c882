/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which memory of a process is ours, and which of its stopped threads are within it. */
#ifndef SONDE_INJECTOR_PATCH_WITHIN_H
#define SONDE_INJECTOR_PATCH_WITHIN_H

#include "injector/patch/session.h"
#include "injector/process/maps.h"
#include "injector/process/threads.h"

struct inj_ranges {
	struct inj_range {
		uint64_t lo, hi;
	} *v;
	size_t n;
};

/* Is it memory that the process shares with us? */
bool inj_is_shared(const struct inj_session *s, const struct inj_map *m);

/* Code that a thread may be in: of copies, of the runtime, of modules.  The caller frees r->v. */
enum inj_status inj_our_code(const struct inj_session *s, pid_t pid, struct inj_ranges *r) INJ_CHECK;

bool inj_holds(const struct inj_ranges *r, uint64_t addr);

/*
 * Does a signal handler of the thread's return to our code?  Nothing but wrappers does besides: the runtime calls nothing in the
 * program, and return addresses are those of the original.  If it cannot be looked at, one may.
 */
bool inj_handler_returns(struct inj_target *t, const struct inj_maps *maps, const struct inj_ranges *ours,
			 const struct inj_thread *th);

/*
 * Has a wrapper called what the thread is in?  What looks like a return address to one, on the stack and on those that handlers have
 * interrupted, is taken for it; a stack that cannot be looked at, for one that holds one.
 */
bool inj_wrapper_called(struct inj_target *t, const struct inj_maps *maps, const struct inj_ranges *ours,
			const struct inj_thread *th);

#endif
