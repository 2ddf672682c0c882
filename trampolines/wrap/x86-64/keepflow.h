/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which registers are read before they are written, from every instruction of a function on.
 *
 * A region is a function and all that it jumps to: its cold part, functions it ends in.
 */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_KEEPFLOW_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_KEEPFLOW_H

#include "trampolines/wrap/x86-64/keepbody.h"

enum { KEEP_PARTS_MAX = 8 };

/* The stack pointer in front of an instruction. */
struct keep_height {
	int32_t depth;		/* bytes below what it was at the function's entry */
	int32_t rbp;		/* the same for rbp */
	int8_t mod;		/* modulo 16, if it was 8 at the entry */
	int8_t rbp_mod;
	bool certain;		/* `mod` holds whatever it was */
	bool rbp_certain;
	bool has_rbp;		/* rbp is a frame pointer */
	bool seen;
};

struct keep_region {
	size_t parts[KEEP_PARTS_MAX];	/* bodies; the first is the function itself */
	size_t base[KEEP_PARTS_MAX + 1];
	size_t nparts;
	size_t nops;
	int32_t *jumps;		/* index of the op that a direct jump leads to, or -1 */
	keep_regs *use;		/* read by the op, or by the function it calls */
	keep_regs *def;		/* written, or clobbered by the function it calls */
	keep_regs *live;	/* in front of the op */
	keep_regs *through;	/* in front of the op: written by nothing up to a return */
	keep_regs *defined;	/* in front of the op: see keepflow.c */
	struct keep_height *heights;	/* once asked for */
	bool incomplete;
};

/*
 * The region of a body, made when first asked for. NULL: it is just being made, could not be
 * decoded, or there is no memory.
 */
const struct keep_region *tramp_keep_flow(struct keep_code *code, struct keep_body *body);
void tramp_keep_region_free(struct keep_region *region);

/* The op with index i of the region. */
const struct keep_op *tramp_keep_op(const struct keep_code *code, const struct keep_region *region,
				    size_t i);

/* The registers that may hold something on purpose in front of op i: nothing else can be kept. */
keep_regs tramp_keep_defined(const struct keep_region *region, size_t i);

/* Fill region->heights; false: no memory. */
bool tramp_keep_heights(struct keep_code *code, struct keep_region *region);

#endif
