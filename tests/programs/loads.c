/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: loads ROUNDS THREADS: loads libplug.so ROUNDS times and unloads it each time; then THREADS
 * threads do so at the same time; then by way of libouter.so. All are found by $ORIGIN.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static int rounds;

static void fail(void)
{
	printf("failed: %s\n", dlerror());
	exit(1);
}

static int (*function(void *library, const char *name))(int)
{
	int (*f)(int) = library ? (int (*)(int))dlsym(library, name) : NULL;

	if (!f)
		fail();
	return f;
}

/* Calls plug_work() twice here, once when loading and unloading. */
static void *load(void *arg)
{
	int flags = arg ? RTLD_LAZY : RTLD_NOW;
	long sum = 0;

	for (int i = 0; i < rounds; i++) {
		void *plug = dlopen("libplug.so", flags | RTLD_LOCAL);

		sum += function(plug, "plug_work")(i);
		sum += work(i);
		sum += function(plug, "plug_work")(i);
		if (dlclose(plug) != 0)
			fail();
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]);
	pthread_t threads[16];
	void *outer, *sum;

	rounds = atoi(argv[1]);
	printf("alone: %ld\n", (long)load(NULL));
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, load, argv);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], &sum);
		printf("thread: %ld\n", (long)sum);
	}
	outer = dlopen("libouter.so", RTLD_NOW | RTLD_GLOBAL);
	printf("by another: %d\n", function(outer, "outer_work")(7));
	printf("global: %s\n", dlsym(RTLD_DEFAULT, "outer_work") ? "yes" : "no");
	printf("not there: %s\n", dlopen("libnone.so", RTLD_NOW) ? "opened" : dlerror());
	return 0;
}
