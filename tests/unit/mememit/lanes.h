/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction accesses that works on some lanes of a vector. */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_LANES_H
#define SONDE_TESTS_UNIT_MEMEMIT_LANES_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "memtrace/machine.h"

/*
 * Is operand @op accessed lane by lane?  Then *n grows by the lanes whose mask bit is set; @base:
 * the address without vector index.
 */
bool lanes_expect(const ucontext_t *context, const ZydisDecodedInstruction *insn,
		  const ZydisDecodedOperand *operands, const ZydisDecodedOperand *op, uint64_t base,
		  const struct mt_access *like, struct mt_access *v, size_t *n);

#endif
