/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in /proc about a process's memory, program or root. */
#ifndef SONDE_INJECTOR_PROCESS_PROCPATH_H
#define SONDE_INJECTOR_PROCESS_PROCPATH_H

#include <sys/types.h>

#define INJ_PROC_PATH 64

/*
 * "/proc/ID/@name", of at most 40 characters.  ID is @pid, but if the first thread of the process has ended, as by pthread_exit() in
 * main(), and others go on, it is one of those: of the first one there is only a zombie, without memory.
 */
void inj_proc_path(char path[INJ_PROC_PATH], pid_t pid, const char *name);

#endif
