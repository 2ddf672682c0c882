// SPDX-License-Identifier: MIT
#include "runtime/windows.h"

/* enum rt_windows.  Who stops the process's threads writes it. */
__attribute__((visibility("default"), used)) uint32_t sonde_rt_windows;

static enum rt_windows windows(void)
{
	return __atomic_load_n(&sonde_rt_windows, __ATOMIC_RELAXED);
}

int rt_windows_are_switched(void)
{
	return windows() != RT_WINDOWS_STAY;
}

int rt_windows_are_moving(void)
{
	return windows() == RT_WINDOWS_MOVING;
}

int rt_windows_are_in(void)
{
	return windows() == RT_WINDOWS_IN;
}
