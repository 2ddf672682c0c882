// SPDX-License-Identifier: MIT
/*
 * The runtime's face to the injector and to modules: the symbols that the injector looks up.
 */
#include "runtime/sys.h"
#include "runtime/thread.h"

#define RT_EXPORT __attribute__((visibility("default"), used))

RT_EXPORT struct rt_config sonde_rt_config = { .magic = RT_CONFIG_MAGIC };

static void rt_pause(uint64_t stop)
{
	__atomic_store_n((uint32_t *)&rt_control()->paused, stop != 0, __ATOMIC_RELAXED);
}

RT_EXPORT const struct sonde_api sonde_rt_api = {
	.version = SONDE_ABI_VERSION,
	.room = rt_room,
	.pause = rt_pause,
};
