/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: env [CHILD]: prints what the program was given: arguments, environment, auxiliary vector,
 * open files, signals ignored and blocked, limits, its groups. Then its child does the same.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

extern char **environ;

/* Addresses differ from run to run: only that they are there, and what is behind them. */
static void print_auxv(void)
{
	for (char **p = environ; ; p++) {
		if (*p)
			continue;
		for (const Elf64_auxv_t *a = (const void *)(p + 1); a->a_type != AT_NULL; a++) {
			switch (a->a_type) {
			case AT_IGNORE: /* says so */
				break;
			case AT_PHDR:
			case AT_BASE:
			case AT_ENTRY:
			case AT_SYSINFO_EHDR:
			case AT_RANDOM:
				printf("auxv %lu: %s\n", a->a_type, a->a_un.a_val ? "there" : "none");
				break;
			case AT_EXECFN:
			case AT_PLATFORM:
				printf("auxv %lu: %s\n", a->a_type, (char *)a->a_un.a_val);
				break;
			default:
				printf("auxv %lu: %lx\n", a->a_type, a->a_un.a_val);
			}
		}
		return;
	}
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static void print_files(void)
{
	struct dirent **list;
	int n = scandir("/proc/self/fd", &list, NULL, by_number);

	printf("fds:");
	for (int i = 0; i < n; i++)
		if (list[i]->d_name[0] != '.')
			printf(" %s", list[i]->d_name);
	puts("");
}

static void print_signals(void)
{
	struct sigaction act;
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &act) != 0)
			continue;
		if (act.sa_handler != SIG_DFL || sigismember(&blocked, sig))
			printf("signal %d: handler %s%s\n", sig,
			       act.sa_handler == SIG_DFL ? "default"
			       : act.sa_handler == SIG_IGN ? "ignored" : "set",
			       sigismember(&blocked, sig) ? ", blocked" : "");
	}
}

/* Who traces us, seccomp, threads, ...; not what depends on memory or time. */
static void print_status(void)
{
	static const char *const wanted[] = { "Name:", "Umask:", "TracerPid:", "Uid:", "Gid:",
					      "Threads:", "CapEff:", "Seccomp:" };
	FILE *f = fopen("/proc/self/status", "r");
	char line[1024];

	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				fputs(line, stdout);
	fclose(f);
}

static void print_limits(void)
{
	struct rlimit limit;

	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &limit) == 0)
			printf("limit %d: %lx %lx\n", i, limit.rlim_cur, limit.rlim_max);
}

int main(int argc, char **argv)
{
	work(1);
	for (int i = 0; i < argc; i++)
		printf("arg %s\n", argv[i]);
	for (char **p = environ; *p; p++)
		printf("env %s\n", *p);
	printf("LD_PRELOAD %s, as a secret %s\n", getenv("LD_PRELOAD") ?: "unset",
	       secure_getenv("LD_PRELOAD") ?: "unset");
	print_auxv();
	print_files();
	print_signals();
	print_limits();
	print_status();
	printf("group %s, session %s, terminal %d, dumpable %d, no_new_privs %d\n",
	       getpgrp() == getpgid(getppid()) ? "of the parent" : "of its own",
	       getsid(0) == getsid(getppid()) ? "of the parent" : "of its own",
	       isatty(0), prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		if (fork() == 0) {
			execl(argv[0], argv[0], "grandchild", (char *)NULL);
			_exit(127);
		}
		wait(NULL);
	}
	return 0;
}
