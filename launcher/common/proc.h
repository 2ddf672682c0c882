/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What /proc says of a process; of one that another PID namespace numbers it says nothing. */
#ifndef SONDE_LAUNCHER_COMMON_PROC_H
#define SONDE_LAUNCHER_COMMON_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state;	/* as in proc(5): 'Z' is a zombie */
	pid_t parent;
	uint64_t start; /* clock ticks since the system has started */
	int status;	/* as wait() returns it; 0 unless it is a zombie, and we may trace it */
};

/* False: it is gone; @s is zeroes. */
bool proc_stat(pid_t pid, struct proc_stat *s);

/* The name of a thread, "" if it is gone; @size: 16 hold every name. */
void proc_comm(pid_t pid, pid_t tid, char *comm, size_t size);

/* CPU time of a thread, ns; false: it is gone, or the kernel does not tell. */
bool proc_cpu_time(pid_t pid, pid_t tid, uint64_t *ns);
/* ... and how long it has waited for a processor besides. */
bool proc_wanted_time(pid_t pid, pid_t tid, uint64_t *ns);

/*
 * The process' arguments as they are now, of which it may have made something else, and NULL; the first 4 MiB.  No
 * arguments: it is gone, or has none.  One allocation, the caller's.  NULL: no memory.
 */
char **proc_arguments(pid_t pid) __attribute__((warn_unused_result));

#endif
