// SPDX-License-Identifier: MIT
/*
 * The runtime's face to the injector and to modules: the symbols that the injector looks up.
 */
#include "runtime/stack.h"
#include "runtime/stacks/stacks.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define CALLBACK_EVENTS 2 /* that one would have recorded */

#define RT_EXPORT __attribute__((visibility("default"), used))

RT_EXPORT struct rt_config sonde_rt_config = { .magic = RT_CONFIG_MAGIC };

static void rt_pause(uint64_t stop)
{
	rt_switch(!stop);
}

static uint64_t rt_open(uint64_t sp)
{
	struct rt_thread *t;
	uint64_t mask;
	int records;

	if (rt_off())
		return 0;
	mask = rt_block_signals();
	t = rt_gate_open(sp, 1, CALLBACK_EVENTS);
	records = t && rt_under(t, sp, 1);
	sys_restore_signals(mask);
	return (uint64_t)records;
}

RT_EXPORT struct sonde_api sonde_rt_api = {
	.version = SONDE_ABI_VERSION,
	.room = rt_room,
	.pause = rt_pause,
	.open = rt_open,
	.callers = rt_callers,
};

/* Before exit() in static programs: what a dynamic linker would run as destructors. */
RT_EXPORT void sonde_rt_exit(int status)
{
	const uint64_t *hooks = (const uint64_t *)sonde_rt_config.exit_hooks;
	void (*real)(int) = (void (*)(int))sonde_rt_config.real_exit;

	for (uint64_t i = 0; i < sonde_rt_config.nexit_hooks; i++)
		((void (*)(void))hooks[i])();
	real(status);
}
