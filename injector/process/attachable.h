/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a running process can be instrumented, as far as can be known before it is touched. */
#ifndef SONDE_INJECTOR_PROCESS_ATTACHABLE_H
#define SONDE_INJECTOR_PROCESS_ATTACHABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False: *why, a sentence that can follow "cannot attach to process N: ". */
bool inj_attachable(pid_t pid, char *why, size_t size);

/* The same after PTRACE_SEIZE has failed with errno @err. */
void inj_not_attachable(pid_t pid, int err, char *why, size_t size);

/* A number of /proc/PID/status, in base 10 or (@base) another; -1: it is not there. */
long long inj_process_status(pid_t pid, const char *field, int base);

#endif
