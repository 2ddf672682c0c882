/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many arguments a function may take, by how it is called. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_KEEPARITY_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_KEEPARITY_H

#include "trampolines/wrap/x86-64/keepbody.h"

enum { KEEP_GPR_ARGS = 6, KEEP_XMM_ARGS = 8 };

/* The registers of arguments, in their order. */
extern const uint8_t tramp_keep_call_order[KEEP_GPR_ARGS];

/*
 * Of the registers in `defined` (by their lower parts), those that are first in the order of
 * arguments up to one that is not there, with all their parts.
 */
keep_regs tramp_keep_arguments(keep_regs defined, const uint8_t *order, int xmms);

/*
 * At most these registers hold arguments of the function at `addr`, a body or an entry of a PLT:
 * every call needs all arguments to be written since the last call of something that is not known.
 */
keep_regs tramp_keep_arity(struct keep_code *code, uint64_t addr);

#endif
