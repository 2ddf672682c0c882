/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: accesses [THREADS]: each thread calls functions whose accesses are known, and prints where its arrays are.
 *
 * touch(): 1000 loads of 8 bytes, one after the other; 100 stores of 4, 4096 bytes apart; 10 modifications of 1
 * byte at one place; 3 prefetches; a rep movsb of 5 bytes (5 loads, 5 stores of 1); cmpsb (2 loads); a load and a store of the
 * stack (push, pop); ret (a load).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define OPAQUE __attribute__((noinline, noclone))

OPAQUE void touch(long *loaded, char *stored, char *modified)
{
	__asm__ volatile("xor %%ecx, %%ecx\n"
			 "1: mov (%0,%%rcx,8), %%rax\n"
			 "inc %%rcx\n"
			 "cmp $1000, %%rcx\n"
			 "jne 1b\n"
			 "xor %%ecx, %%ecx\n"
			 "mov %1, %%rdx\n"
			 "2: movl $7, (%%rdx)\n"
			 "add $4096, %%rdx\n"
			 "inc %%ecx\n"
			 "cmp $100, %%ecx\n"
			 "jne 2b\n"
			 "mov $10, %%ecx\n"
			 "3: incb (%2)\n"
			 "dec %%ecx\n"
			 "jne 3b\n"
			 "prefetcht0 (%1)\n"
			 "prefetcht0 64(%1)\n"
			 "prefetcht0 128(%1)\n"
			 "mov %2, %%rsi\n"
			 "lea 64(%2), %%rdi\n"
			 "mov $5, %%ecx\n"
			 "rep movsb\n"
			 "cmpsb\n"
			 "push %%rax\n"
			 "pop %%rax\n"
			 :
			 : "r"(loaded), "r"(stored), "r"(modified)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "cc", "memory");
}

static void *thread(void *arg)
{
	long *loaded = aligned_alloc(4096, 8000 / 4096 * 4096 + 4096);
	char *stored = aligned_alloc(4096, 100 * 4096), *modified = calloc(1, 256);

	(void)arg;
	touch(loaded, stored, modified);
	printf("%lx %lx %lx\n", (long)loaded, (long)stored, (long)modified);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t[16];

	thread(NULL);
	for (int i = 0; i < n; i++) {
		pthread_create(&t[i], NULL, thread, NULL);
		pthread_join(t[i], NULL);
	}
	return 0;
}
