/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a system call can be made a jump to the runtime. */
#ifndef SONDE_INJECTOR_SYSCALL_SIGSITES_H
#define SONDE_INJECTOR_SYSCALL_SIGSITES_H

#include <stdbool.h>
#include <stdint.h>

#include "trampolines/flow/flow.h"

#define INJ_SYSCALL_LEN 2
#define INJ_SIGSITE_STUB 128 /* bytes of code that a site leads to, at most */
#define INJ_SITE_OPS 4 /* enough for TRAMP_JUMP_SIZE bytes, the last of two bytes */

/* The instructions that the jump takes the place of; the last is the system call. */
struct inj_sigsite {
	uint32_t off, end; /* from tramp_code_base() */
	struct tramp_op ops[INJ_SITE_OPS];
	uint32_t nops;
};

/*
 * exec.c: code that branches @over bytes if eax is the number of a system call that executes a program; rcx is lost.
 * Returns its length.
 */
#define INJ_IS_EXEC 13
size_t inj_is_exec(uint8_t *mem, uint8_t over);

/*
 * For code of which no function is known: the instructions between the one that sets eax and the system call at
 * @off, if no byte of the object looks like a branch that could lead between them.
 */
bool inj_sigsite_in_run(const struct tramp_code *code, uint32_t off, struct inj_sigsite *site);

#endif
