/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Until a line comes from standard input: exceptions that pass functions, and threads that are cancelled while they read.  Each has
 * an object to destroy.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "opaque.h"

static long thrown, caught, cancelled, destroyed;
static int nothing[2];

struct object {
	~object() { destroyed++; }
};

extern "C" OPAQUE int thrower(int n)
{
	object o;

	if (n >= 0)
		throw n;
	return n;
}

extern "C" OPAQUE int passed(int n)
{
	object o;

	return thrower(n) + 1;
}

static void *reads(void *arg)
{
	object o;
	char c;

	while (read(nothing[0], &c, 1) != 0)
		;
	return arg;
}

int main()
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };

	if (pipe(nothing) < 0)
		return 1;
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	while (poll(&in, 1, 0) == 0) {
		pthread_t t;

		for (int i = 0; i < 10; i++) {
			thrown++;
			try {
				passed(i);
			} catch (int n) {
				caught += n == i;
			}
		}
		if (pthread_create(&t, NULL, reads, NULL) != 0)
			return 1;
		usleep(1000);
		pthread_cancel(t);
		pthread_join(t, NULL);
		cancelled++;
	}
	printf("not caught %ld, not destroyed %ld\n", thrown - caught, 2 * thrown + cancelled - destroyed);
	return 0;
}
