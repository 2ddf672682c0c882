/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a function is instrumented for memory: its nodes, what each puts into the stream and where, and in which
 * register the stream's pointer is meanwhile.  The passes in memory/plan decide, memory/x86-64/emit*.c
 * emit.
 *
 * Where the pointer is.  At home it is in the pool (`ptr`); that is so wherever control can enter the function's copies
 * from outside or leave them: entry, calls, returns, exits, system calls.  In
 * a node it is in a register that none of the node's instructions names: node->reg.  If the
 * register is of value to the program there, its value is in the pool's `park` meanwhile (`parked`).  A node has
 * two entries:
 *
 *	home:	[owner check]  [park reg]  load reg from ptr, unless it is there already (memory/x86-64/emit-guess.c)
 *	kept:	the pointer is in reg already, parked or not as in this node
 *		header; copies of the instructions, with the node's actions in between
 *		lea bytes(reg), reg
 *	out:	kept: nothing		home: store reg to ptr, reg from park
 *		the last instruction, if it is a jump
 *
 * The pointer does not move within a node: values go to (reg + offset), in order.  A MEM_CHECK that is the first
 * action, before instruction 0 and at 0, stands before the header.  It has to stand there in nodes that control
 * enters after a call or system call: in a forked child the pool is all zero, and so is the pointer.
 *
 * Nodes without instructions (MEM_EDGE) stand on edges: they store values, or bring the
 * pointer home, or change its register.
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_PLAN_H
#define SONDE_TRAMPOLINES_MEMORY_PLAN_H

#include "trampolines/memory/memory.h"
#include "trampolines/mirror/mirror.h"

enum mem_action_code {
	MEM_STORE8,		/* general register `reg`, 8 bytes */
	MEM_STORE4,
	MEM_STORE_EXTRA,	/* struct tramp_mem_extra: `what`, reg */
	MEM_CHECK,		/* room: flags are dead here, or else `flags_live` */
};

struct mem_action {
	uint8_t code;		/* enum mem_action_code */
	uint8_t reg;
	uint8_t what;		/* enum tramp_mem_store */
	bool flags_live;
	uint16_t before;	/* the node's instruction that it stands before; nops: after the last, never a jump */
	uint16_t at;		/* offset from the pointer; CHECK: bytes written so far */
};

/* A loop of one block is unrolled in the plain copy as often as fits into so many bytes of the original. */
#define MEM_UNROLL_BYTES 384

struct mem_node {
	uint32_t block;		/* of the flow; EDGE: that it leads to */
	uint32_t first, nops;	/* its instructions: those of the block from `first` on; EDGE: 0 */
	uint32_t action, nactions;	/* ascending by `before`, then in order of execution */
	uint32_t op, nmdops;	/* its operations */
	uint32_t target, next;	/* its successors, as in struct tramp_block (EDGE, and where a block is cut:
				 * `next`); TRAMP_NONE: none, or control leaves the copies */
	uint16_t bytes;		/* in the stream, header included */
	uint8_t reg;		/* RT_MEM_NO_REG: it needs no pointer, and leaves it where it is: at home */
	bool parked;
	bool owner;		/* home entry: is the pool this thread's? (the function's entry; after system calls) */
	bool owner_flags;	/* ... and flags are live there */
	bool header;
	bool kept;		/* the pointer stays in reg: then target and next have the same reg and parked, and are
				 * entered as `kept`; otherwise it goes home */
	bool last;		/* its last instruction is the block's last */
	bool leaves;		/* the pointer goes home, or is kept, before its last instruction: a jump, call, return,
				 * system call or trap */
};

struct mem_plan {
	struct mem_node *nodes;	/* body nodes of a block follow each other, in the order of the code */
	size_t nnodes, room_nodes;
	struct mem_action *actions;
	size_t nactions, room_actions;
	struct md_op *ops;	/* GOTO, IF, PEEK: nodes' indices */
	size_t nops, room_ops;
	struct md_node *md;	/* [nnodes] */
	size_t room_md;
	uint32_t *entry;	/* by block: the node that control enters from outside, at home; TRAMP_NONE: it does
				 * not */
	size_t room_entry;
	bool *poll;		/* by block, if env->sampled: its plain copy checks whether recording is on, and goes to entry
				 * by the runtime; flags are dead there */
	size_t room_poll;
	bool *polled;		/* ... and control enters from nowhere else; entry is the first body node */
	size_t room_polled;
	uint32_t *weight;	/* by block, if env->count: what is subtracted at its start, flags being dead there; 0: nothing.
				 * The entry's, if its block is not polled: where it is entered from outside */
	size_t room_weight;
	uint32_t *body;		/* by block: the first of its body nodes */
	size_t room_body;
};

/* A planner's memory, much more than a plan's: one is enough for all plans that a thread makes.  NULL: no memory. */
struct mp;
struct mp *mem_planner_new(void);
void mem_planner_free(struct mp *p);

/*
 * Plans for @flow, whose liveness and loops are known.  @plan is all zero at first, and used again and
 * again; it needs @p no more when it is made.  Says why not: UNMODELLED, BAD_CODE, MEMORY.
 */
enum tramp_mirror_status mem_plan(struct mp *p, struct mem_plan *plan, const struct tramp_mem_env *env,
				  const struct tramp_flow *flow, uint64_t load_addr) TRAMP_MUST_CHECK;
void mem_plan_free(struct mem_plan *plan);

#endif
