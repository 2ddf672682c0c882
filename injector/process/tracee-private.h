/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_INJECTOR_PROCESS_TRACEE_PRIVATE_H
#define SONDE_INJECTOR_PROCESS_TRACEE_PRIVATE_H

#include "injector/process/tracee.h"

/* t->pid stands at its first instruction: its memory, and how it executes system calls. */
enum inj_status inj_tracee_set_up(struct inj_tracee *t) INJ_CHECK;

/* Lets it run to a breakpoint instruction.  INJ_REMOTE: it crashed. */
enum inj_status inj_tracee_to_trap(struct inj_tracee *t) INJ_CHECK;

#endif
