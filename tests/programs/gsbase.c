/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: gsbase N: uses the GS base for itself between calls of work(), as some emulators do. */
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

static long area[16];

static long mine(void)
{
	long v;

	__asm__ volatile("movq %%gs:8, %0" : "=r"(v));
	return v;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), good = 0;
	unsigned long base = 0;

	area[1] = 4711;
	work(-1);
	syscall(SYS_arch_prctl, ARCH_SET_GS, area);
	for (int i = 0; i < n; i++) {
		work(i);
		good += mine() == 4711;
	}
	syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
	printf("%d of %d, base %s\n", good, n, base == (unsigned long)area ? "kept" : "changed");
	return 0;
}
