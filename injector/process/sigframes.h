/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signal handlers that a stopped thread is in: what the kernel has put on its stack for each. */
#ifndef SONDE_INJECTOR_PROCESS_SIGFRAMES_H
#define SONDE_INJECTOR_PROCESS_SIGFRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "injector/process/maps.h"
#include "injector/process/target.h"

#define INJ_SIGFRAMES 16

struct inj_sigframe {
	uint64_t uc;	   /* address of its ucontext */
	uint64_t rip_at;   /* address of the word that holds: */
	uint64_t rip;	   /* where the thread goes on after the handler */
	uint64_t restorer; /* what the handler returns to */
};

/*
 * Those of a thread at stack pointer @rsp, up to @max; on another stack than that of a handler, too, where that has
 * interrupted it.  Returns their number; SIZE_MAX: the stack cannot be read, or there are more.
 */
size_t inj_sigframes(struct inj_target *t, const struct inj_maps *maps, uint64_t rsp, struct inj_sigframe *v, size_t max);

#endif
