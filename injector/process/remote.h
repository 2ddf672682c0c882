/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors of ours in the process that a target stands for. */
#ifndef SONDE_INJECTOR_PROCESS_REMOTE_H
#define SONDE_INJECTOR_PROCESS_REMOTE_H

#include "injector/process/target.h"

/*
 * Gives the process our descriptor @fd; what it is called there is in *remote.  A process that has inherited ours
 * (target->inherits) has it already; else it opens the file anew, through our /proc/PID/fd; where it cannot, being of another
 * user or in a container, it gets the descriptor through a socket.  Errors: as of inj_syscall(); SYSTEM.
 */
enum inj_status inj_remote_open(struct inj_target *t, int fd, int *remote) INJ_CHECK;
enum inj_status inj_remote_close(struct inj_target *t, int remote) INJ_CHECK;

#endif
