/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registers of a stopped thread. */
#ifndef TESTS_ORACLE_MEMREGS_H
#define TESTS_ORACLE_MEMREGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct vectors {
	uint8_t v[32][64];
	uint8_t mmx[8][8];
	uint64_t k[8];
};

/* @n: the processor's number. */
uint64_t reg_gpr(const struct user_regs_struct *r, unsigned int n);
void reg_vectors(pid_t tid, struct vectors *x);

/* Bytes of an XSAVE area with all that the system has switched on; @compacted: of XSAVEC. */
size_t reg_area(bool compacted);

#endif
