/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function that is made up: what the files that do so share. */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_MIXPRIV_H
#define SONDE_TESTS_UNIT_MEMEMIT_MIXPRIV_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

#include "tests/unit/mememit/mix.h"

struct mix {
	uint8_t *code;
	size_t len, room;
	uint64_t data;
	struct random_source *source;
	unsigned int depth;	/* of loops */
	int left;		/* instructions */
	bool avx, avx2, avx512;
};

uint32_t mix_pick(struct mix *x, uint32_t n);
ZydisEncoderOperand mix_reg(ZydisRegister reg);

/* An operand of so many bytes in the middle of the data, or in the frame. */
ZydisEncoderOperand mix_memory(struct mix *x, unsigned int bytes);
void mix_put(struct mix *x, ZydisMnemonic mnemonic, ZydisInstructionAttributes prefixes, int n,
	     const ZydisEncoderOperand *operands);

/* Some lanes of a vector: gathers, scatters, masks. */
void mix_lanes(struct mix *x);

/* Conditional moves, carries, rotations: of index registers, which stay such. */
void mix_flags(struct mix *x);

#endif
