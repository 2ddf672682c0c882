/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What memory an instruction accesses, from its bytes and the registers before it. */
#ifndef TESTS_ORACLE_MEMACCESS_H
#define TESTS_ORACLE_MEMACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define MAX_ACCESSES 80

struct access {
	uint64_t addr;
	uint32_t size;
	const char *kind; /* load, store, modify, prefetch */
	bool stack;	  /* by the stack pointer, not by an operand */
};

struct decoded;

/* @bytes at @pc, which may be a link-time address.  NULL: not an instruction.  The caller's, for free(). */
struct decoded *access_decode(const uint8_t *bytes, size_t left);

/*
 * In the order in which the processor makes them; of a string instruction with a repeat prefix those of one
 * iteration.  @tid: stopped before the instruction at r->rip.  Ends the process where it knows no better.
 */
size_t access_list(const struct decoded *d, pid_t tid, const struct user_regs_struct *r,
		   struct access v[MAX_ACCESSES]);

/* Does it gather or scatter?  Then it may be interrupted between elements; its mask says what is left. */
bool access_is_by_element(const struct decoded *d);

#endif
