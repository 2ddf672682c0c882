/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One function's patch on its way: planned (plan.c), emitted and written (patch.c).
 */
#ifndef SONDE_INJECTOR_PATCH_PATCH_H
#define SONDE_INJECTOR_PATCH_PATCH_H

#include "injector/patch/session.h"
#include "trampolines/wrap/keep.h"

struct inj_job {
	struct tramp_plan plan;
	const size_t *wraps; /* indices, all of one function, in module order */
	size_t n;
	uint64_t addr, size, avail; /* of the function; see struct tramp_function */
	uint64_t lo, hi;
	struct tramp_keep keep;
};


/*
 * Plans each of the jobs (one object's functions beside each other, ascending by address).  What is refused
 * has its wraps' state set to INJ_WRAP_REFUSED, with the reason.
 */
enum inj_status inj_plan_jobs(struct inj_session *s, struct inj_job *jobs, size_t n) INJ_CHECK;

/* The same for one function that is no wrap's: addr, size and avail are given. */
enum inj_status inj_plan_own(struct inj_session *s, struct inj_job *job) INJ_CHECK;

/*
 * Puts a function of the runtime before one of the program's, without a gate: *replay, which
 * may be a member of the session's configuration, is where the original goes on.  INJ_NOT_SUPPORTED: its entry cannot be patched.
 */
enum inj_status inj_patch_own(struct inj_session *s, uint64_t addr, uint64_t size, uint64_t avail,
			      uint64_t target, uint64_t *replay, enum inj_edit_needed needed) INJ_CHECK;

#endif
