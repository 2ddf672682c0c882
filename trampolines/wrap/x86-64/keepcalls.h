/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of an object, their flow made when they are first looked at, and what their calls touch. */
#ifndef SONDE_TRAMPOLINES_X86_64_KEEPCALLS_H
#define SONDE_TRAMPOLINES_X86_64_KEEPCALLS_H

#include "trampolines/wrap/keep.h"
#include "trampolines/flow/private.h"

/* What the ABI lets a function destroy, but for flags. */
#define KEEP_ALL (FLOW_ABI_CLOBBERS & ~TRAMP_STATUS)

enum { KEEP_GPR_ARGS = 6, KEEP_XMM_ARGS = 8 };

enum keep_progress { KEEP_NEW, KEEP_BUSY, KEEP_DONE };

enum keep_op_flags {
	KEEP_OP_CANARY = 1,	/* compares with the stack protector's word */
	KEEP_OP_VARIADIC = 2,	/* test %al,%al */
	KEEP_OP_PUSH = 4,	/* of a register */
	KEEP_OP_STORE = 8,	/* to the frame, of what is no memory */
	KEEP_OP_ARGUMENTS = 16,	/* a call whose arguments are known: no need to guess */
};

/* One instruction; sets within KEEP_ALL. */
struct keep_op {
	uint32_t off;
	uint32_t to;		/* offset, of a direct call; TRAMP_NONE: not known */
	uint8_t len;
	uint8_t kind;		/* enum tramp_op_kind */
	uint8_t flags;		/* enum keep_op_flags */
	tramp_regs use;		/* read on purpose */
	tramp_regs def;		/* written; of a call once its flow is known */
};

struct keep_block {
	uint32_t op, nops;	/* in keep_body.ops */
	uint32_t next, target;	/* blocks, or TRAMP_NONE */
	uint64_t target_addr;
	uint8_t ends;		/* enum tramp_end */
	bool inside;		/* an indirect jump within the function may lead here */
	bool reached;		/* `stack` is known */
	struct flow_stack stack; /* at its start */
	tramp_regs args, results; /* may hold an argument, a result: see keeplive.c */
	tramp_regs live;	/* at its start: read before it is written */
	tramp_regs through;	/* at its start: written by nothing up to a return */
};

/* One function with its parts. */
struct keep_body {
	uint32_t fn;
	bool built, failed;	/* failed: too large */
	struct keep_op *ops;	/* ascending by off */
	uint32_t nops;
	struct keep_block *blocks;
	uint32_t nblocks, entry;
	bool open;		/* calls or jumps to what is not known */
	bool unsure;		/* not all that its indirect jumps lead to is known */
	bool variadic;
	tramp_regs touched;	/* by its own instructions */

	uint8_t reach;		/* enum keep_progress, of the next ones */
	bool reaches_open;	/* it or what it calls is open */
	bool cut;		/* it or what it calls is not known as a whole */
	tramp_regs clobbers;	/* touched by it or by what it calls */
	size_t mark;

	uint8_t live;		/* enum keep_progress, of the sets in blocks */
	bool endless;		/* ... which a limit stopped */
	bool has_stacks;

	bool has_arity;
	tramp_regs arity;	/* see tramp_keep_arity() */

	uint8_t rely;		/* enum keep_progress, of the next ones */
	tramp_regs relied;
	bool misaligned;
	bool incomplete;
};

/* What an entry of a PLT takes. */
struct keep_arity {
	uint64_t addr;
	tramp_regs regs;
};

struct keep_calls {
	const struct tramp_code *code;
	struct tramp_flow flow;	/* the one that was built last */
	struct keep_body **bodies; /* by function, NULL until asked for */
	uint32_t *queue;	/* room for the functions of one call tree */
	size_t last_mark;
	unsigned int depth;	/* of calls whose flow is being found */
	bool no_memory;
	struct keep_arity *arities;
	size_t narities;
};

/* False: no memory.  To be closed in either case. */
bool tramp_keep_open(struct keep_calls *k, const struct tramp_code *code);
void tramp_keep_close(struct keep_calls *k);

/* The function (with its parts) that holds an address, not built maybe; NULL: none, a PLT, or no memory. */
struct keep_body *tramp_keep_body(struct keep_calls *k, uint64_t addr);

/* Fills ops and blocks; false: too large, or no memory. */
bool tramp_keep_build(struct keep_calls *k, struct keep_body *body);

/* The index of the instruction at an offset, or TRAMP_NONE. */
uint32_t tramp_keep_op_at(const struct keep_body *body, uint32_t off);

/* The block that holds op `i`. */
struct keep_block *tramp_keep_block_of(const struct keep_body *body, uint32_t i);

static inline struct keep_op *tramp_keep_last(const struct keep_body *body, const struct keep_block *b)
{
	return &body->ops[b->op + b->nops - 1];
}

/* What a function and all that it calls touch: fills clobbers, reaches_open, cut. */
void tramp_keep_reach(struct keep_calls *k, struct keep_body *body);

/* ---- keeparity.c: how many arguments a function may take, by how it is called ---- */

/*
 * Of the registers that may hold an argument, those that are first in the order of arguments up to one that holds
 * none; `call`: in the order of calls, else of system calls.
 */
tramp_regs tramp_keep_arguments(tramp_regs args, bool call);

/*
 * At most these registers hold arguments of the function at `addr`, or of an entry of a PLT: every call needs all
 * arguments to be written since the last call of something that is not known.
 */
tramp_regs tramp_keep_arity(struct keep_calls *k, uint64_t addr);

/* ---- keeplive.c ---- */

/* Fills the sets of all blocks; false: it could not be built, or is just being looked at. */
bool tramp_keep_live(struct keep_calls *k, struct keep_body *body);

/* The registers that may hold something on purpose before op `i`: nothing else can be kept over it. */
tramp_regs tramp_keep_defined(const struct keep_body *body, uint32_t i);

/* Fills keep_block.stack of all blocks; false: no memory. */
bool tramp_keep_stacks(struct keep_calls *k, struct keep_body *body);

/* The stack before op `i`, which is in a block that is reached. */
struct flow_stack tramp_keep_stack_at(struct keep_calls *k, const struct keep_body *body, uint32_t i);

/* The instruction; false never, but for bytes that are none. */
bool tramp_keep_insn(struct keep_calls *k, const struct keep_op *op, struct flow_insn *insn,
		     const uint8_t **bytes);

#endif
