/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is called from confine(), and what is not: inside() is called where a call of confine() or confine_tail() is open on
 * the same thread, outside() elsewhere.  Prints how often inside() was called.  With an argument, nothing is left by longjmp().
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static volatile int count;
static jmp_buf out;
static char other_stack[1 << 16];

OPAQUE void inside(void)
{
	work(1);
	count++;
}

OPAQUE void outside(void)
{
	work(2);
	HIDE(count);
}

/* A tail call of @then, if there is one. */
OPAQUE void confine_tail(void (*then)(void))
{
	inside();
	then();
}

OPAQUE void deeper(int depth)
{
	inside();
	if (depth)
		deeper(depth - 1);
	else
		longjmp(out, 1);
	HIDE(depth);
}

OPAQUE void confine(int depth, void (*then)(void))
{
	inside();
	if (depth > 0)
		confine(depth - 1, then);
	else if (then)
		then();
	inside();
}

static void leave(void)
{
	deeper(5);
}

/* From the same depth of the stack, and a lower one. */
OPAQUE void after(void)
{
	outside();
	HIDE(count);
}

static void jump(void)
{
	if (setjmp(out) == 0)
		confine(3, leave);
	after();
	outside();
	if (setjmp(out) == 0)
		confine_tail(leave);
	outside();
	after();
}

static void *run(void *arg)
{
	void (**f)(void) = arg;

	(*f)();
	return NULL;
}

OPAQUE void other_thread(void)
{
	void (*f)(void) = outside;
	pthread_t thread;

	pthread_create(&thread, NULL, run, &f);
	pthread_join(thread, NULL);
}

static void own_region(void)
{
	outside();
	confine(2, inside);
	outside();
}

static void threads(void)
{
	void (*f)(void) = own_region;
	pthread_t thread;

	confine(1, other_thread);
	pthread_create(&thread, NULL, run, &f);
	pthread_join(thread, NULL);
}

static void handle(int sig)
{
	if (sig == SIGUSR1)
		inside();
	else
		outside();
}

static void raise_inside(void)
{
	raise(SIGUSR1);
}

static void signals(void)
{
	struct sigaction act = { .sa_handler = handle };
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	for (int on_stack = 0; on_stack < 2; on_stack++) {
		sigaction(SIGUSR1, &act, NULL);
		sigaction(SIGUSR2, &act, NULL);
		raise(SIGUSR2);
		confine(0, raise_inside);
		raise(SIGUSR2);
		sigaltstack(&stack, NULL);
		act.sa_flags = SA_ONSTACK;
	}
}

static void forks(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		outside();
		confine(0, NULL);
		outside();
		_exit(0);
	}
	count += 2; /* the child's */
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	outside();
	confine(0, NULL);
	outside();
	confine(10, inside);
	after();
	confine_tail(inside);
	outside();
	for (int i = 0; i < 3; i++)
		confine_tail(inside);
	after();
	if (argc == 1)
		jump();
	(void)argv;
	threads();
	signals();
	forks();
	outside();
	printf("%d\n", count);
	return 7;
}
