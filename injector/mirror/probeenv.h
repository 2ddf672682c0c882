/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What probes share in a program that is recorded: where the runtime has, in each thread's pool, what they use. */
#ifndef SONDE_INJECTOR_MIRROR_PROBEENV_H
#define SONDE_INJECTOR_MIRROR_PROBEENV_H

#include "runtime/probe.h"
#include "sonde/abi.h"
#include "trampolines/probe/probe.h"

/* Without the gate's address, and without bounds; all calls are recorded.  @off: address of ring_control.off in the program. */
static inline struct tramp_probe_env inj_probe_env(enum tramp_probe_mode mode, uint64_t off)
{
	return (struct tramp_probe_env){
		.mode = mode,
		.id = TRAMP_ID_FS_ZERO,
		.owner = SONDE_POOL_OWNER,
		.ptr = SONDE_POOL_PTR,
		.room = RT_POOL_ROOM,
		.counts = RT_POOL_COUNTS,
		.kept = RT_POOL_KEPT,
		.shadow = RT_POOL_SHADOW,
		.shadow_end = RT_POOL_SHADOW_END,
		.time = RT_POOL_TIME,
		.watch = RT_POOL_WATCH,
		.watch_far = RT_POOL_WATCH_FAR,
		.off = off,
	};
}

#endif
