/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library to be loaded late: it works when loaded, when asked and when unloaded. */
#define WORK_IS_ELSEWHERE
#include "work.h"

OPAQUE int plug_work(int i)
{
	int one = 1;

	HIDE(one); /* long enough for a jump */
	return i + one;
}

__attribute__((constructor)) static void load(void)
{
	plug_work(100);
}

__attribute__((destructor)) static void unload(void)
{
	plug_work(200);
}
