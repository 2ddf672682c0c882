/* SPDX-License-Identifier: MIT */
/*
 * Probes, as the injector that places them and the runtime know them: the words of the pool that they
 * use, besides SONDE_POOL_OWNER and SONDE_POOL_PTR.  What they tell the runtime is in
 * trampolines/mirror/codemap.h.
 *
 * The shadow stack (modes FILTER and TIMED) holds the recorded calls that are open, each a record of
 * an enter event: { word 0, frame address }.  Word 0 is 0 when it is written to the ring, or else waits
 * for the call to be long enough.  The first entry is nobody's, with a frame address above all.
 */
#ifndef SONDE_RUNTIME_PROBE_H
#define SONDE_RUNTIME_PROBE_H

#include <stdint.h>

#include "trampolines/mirror/codemap.h"

#define RT_POOL_ROOM 0x60
#define RT_POOL_COUNTS 0x68
#define RT_POOL_SHADOW 0x70
#define RT_POOL_SHADOW_END 0x78
#define RT_POOL_TIME 0x80

/*
 * Open calls that a thread has room for: more than fit into a stack of 8 MiB.  Deeper ones are not
 * recorded, and counted as lost.
 */
/* Memory streams: what struct tramp_mem_env wants to know. */
#define RT_POOL_TCB 0x30
#define RT_POOL_MEM_PTR 0xa0
#define RT_POOL_MEM_LIMIT 0xa8
#define RT_POOL_MEM_PARK 0xb0
#define RT_POOL_MEM_SLOT 0xb8 /* three words */
#define RT_POOL_MEM_OFF 0xe8
#define RT_POOL_MEM_LEFT 0xf8

#define RT_POOL_UNDER 0x160
#define RT_POOL_WATCH 0x178
#define RT_POOL_WATCH_FAR 0x180
#define RT_POOL_KEPT 0x200 /* 16 words */

#define RT_SHADOW_MAX (1u << 19)

struct rt_shadow {
	uint64_t word;
	uint64_t frame;
};

#endif
