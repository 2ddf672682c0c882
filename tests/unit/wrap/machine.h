/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs code with every register given, and notes what it leaves behind. */
#ifndef SONDE_TESTS_UNIT_WRAP_MACHINE_H
#define SONDE_TESTS_UNIT_WRAP_MACHINE_H

#include <stdint.h>

enum machine_register {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NREGISTERS
};

struct machine {
	uint64_t registers[NREGISTERS];
	uint64_t flags;
	uint64_t xmm0[2];
};

#define MACHINE_FLAGS 0x8d5ull	/* carry, parity, adjust, zero, sign, overflow */

/*
 * Load *m into the processor and jump to `entry`. m->registers[RSP] has to point to a word that
 * holds machine_landing's address: the return ends up there, and in *m what it found.
 */
void machine_run(struct machine *m, const void *entry);

void machine_landing(void);

#endif
