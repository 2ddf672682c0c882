/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the planner's passes share (memory/plan.h).  plan.c runs them one after the other, in this order.  `blocks`, `edges`,
 * `insns`, `nodes` are the arrays of struct mp; `plan.` is what the plan itself holds; all passes read the flow.
 *
 *	pass		file		reads				writes
 *	facts		facts.c		code				facts; insns: all but store, can, keep
 *	entries		graph.c		insns.cuts			blocks.external, owner; blocks: initial values
 *	polls		polls.c		blocks.external, facts		polls, plan.poll, plan.polled; blocks.polled, external
 *	graph		graph.c		blocks.external, insns.flags_*	edges, preds, order, members; blocks.succ, decider, cond
 *	weights		weights.c	edges, order, polls, facts	blocks.freq, edges.freq, plan.weight
 *	branches	demand.c	blocks.decider, edges.freq	insns.need
 *	early		stores.c	insns.need, edges		blocks.anticipated, insns.need
 *	cut		nodes.c		insns				plan.nodes, plan.body, nbody; insns.store, can: at worst
 *	loops		stores.c	insns.need, members		edges.values, blocks.want; as `known`
 *	merges		stores.c	blocks.anticipated, real	edges.values; as `known`
 *	headers		headers.c	blocks.real, edges.values	blocks.end, header, lookahead; edges.implied, own_node
 *	computations	demand.c	blocks.end, insns.can		blocks.want, insns.keep
 *	registers	regs.c		insns.named, store; edges	plan.nodes: header, reg, parked, leaves, owner; nodes
 *	link		nodes.c		blocks.header, edges		plan.nodes: EDGE nodes, target, next, kept; plan.entry
 *	room		room.c		nodes.bytes, live, freq		nodes.check, check_flags
 *	describe	describe.c	all of that			plan.actions, plan.ops, plan.md
 *
 * known.c is no pass but a dataflow problem that `loops` and `merges` solve, again each time that they have stored more:
 * it writes blocks.real (and trial), insns.store, insns.can, and narrows edges.values.
 *
 * tests/unit/memplan/passes prints what each pass has changed in the plan of a function.
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_PLAN_PASSES_H
#define SONDE_TRAMPOLINES_MEMORY_PLAN_PASSES_H

#include <stdlib.h>

#include "base/array.h"
#include "trampolines/memory/plan.h"

/* Registers as sets: bits 0..15 general ones, 16..19 the machine's temporaries. */
typedef uint32_t mp_set;
#define MP_ITERATIONS 8.0f	/* that a loop is taken to make */
#define MP_TEMPS (UINT32_C(0xf) << MD_TEMP)
#define MP_BIT(reg) (UINT32_C(1) << (reg))
#define MP_COND MP_BIT(MD_FS)	/* the machine's flags */

enum {
	MP_NODE_BYTES = 512,	/* a node writes hardly more */
	MP_HEADER = 4,
	MP_NO_COND = 16,
	MP_SEEN = 1024,	/* instructions whose facts are remembered */
	MP_CARRIER = TRAMP_R11,	/* the best register for the pointer when control leaves the copies: emit-guess.c */
};

/* A computation of a general register or a temporary. */
struct mp_compute {
	mp_set reads;		/* have to be known before the instruction */
	mp_set uses;		/* that it is computed from */
	mp_set writes;
	uint16_t conds;		/* bit cc: condition cc has to be known before the instruction */
	bool u32, s32;		/* the result's upper half is zero; it is sign-extended from 32 bits */
};

/* One instruction, as the dataflow sees it. */
struct mp_insn {
	uint16_t need;		/* have to be known before it: stored, unless they are */
	uint16_t kills;		/* not known after it */
	uint16_t u32, s32;	/* of kills */
	uint16_t named;		/* registers that cannot hold the pointer there */
	mp_set flags_reads, flags_uses;
	uint16_t flags_conds;	/* conditions that have to be known before the instruction */
	uint16_t flags_valid;	/* 0: flags are not known */
	uint8_t flags_effect;	/* enum tramp_flags_effect */
	bool flags_after;
	bool leaves;		/* the pointer is at home before it, if it is the node's last */
	bool cuts;		/* nothing is known after it, and a new node begins */
	uint8_t ncomputes;
	uint8_t extra_bytes;
	struct mp_compute computes[TRAMP_MEM_COMPUTES];

	/* What is decided. */
	uint16_t store;		/* values stored before it */
	uint16_t store_u32, store_s32; /* of these: in 4 bytes */
	uint8_t can;		/* bit i: computes[i] is possible; MP_FLAGS: so are the flags */
	uint8_t keep;		/* ... and its result is used */
};
#define MP_FLAGS 0x80

/* What is known of registers at one place. */
struct mp_state {
	uint16_t known;		/* by the reader */
	uint16_t u32, s32;	/* the program's value is zero-, sign-extended from 32 bits */
	uint16_t conds;		/* bit cc: the reader knows whether condition cc holds */
};

/* At a block's start and end. */
struct mp_states {
	struct mp_state in, out;
};

/* From block to block within the copies; or into a block from outside the copies. */
struct mp_edge {
	uint32_t from, to;	/* blocks; from TRAMP_NONE: outside */
	uint16_t values;	/* registers stored on it */
	uint16_t u32, s32;	/* of these: in 4 bytes */
	float freq;
	bool implied;		/* the reader knows when it is taken: it needs no header */
	bool tried;		/* lookahead has been tried on it */
	bool relied;		/* lookahead relies on its header */
	bool own_node;		/* its EDGE node is shared with no other edge */
};

/* Successors of a block. */
enum { MP_TARGET, MP_NEXT };

struct mp_block {
	bool external;		/* control may come from outside the copies */
	bool owner;		/* ... and its pool may be another thread's */
	bool polled;		/* control comes from outside only since recording may go on here: seldom, with all
				 * registers in the stream */
	bool header;		/* its first body node has one */
	bool relied;		/* ... which lookahead relies on */
	bool no_header;		/* it must have none: its incoming edges have */
	bool quiet;		/* nothing in it writes */
	uint8_t end;		/* of its last node: MD_GOTO, MD_IF, MD_PEEK, MD_NEXT */
	uint8_t lookahead;	/* MD_PEEK: the successor whose header the reader looks for */
	uint8_t cond;		/* its condition, or MP_NO_COND: it does not end with a conditional jump to blocks */
	uint32_t succ[2];	/* edges, or TRAMP_NONE */
	uint32_t external_edge;	/* that control takes from outside, or TRAMP_NONE */
	uint32_t pred, npreds;	/* incoming edges: preds[pred .. pred + npreds) */
	uint32_t decider;	/* instruction in it whose flags its last one reads, or TRAMP_NONE */
	uint32_t number;	/* its place in order[] */
	uint32_t edge_nodes;	/* EDGE nodes that lead to it, linked by mp_node.next_edge_node */
	float freq;
	mp_set want;		/* live-in of the reader: registers that it has to know at the block's start */
	mp_set anticipated;	/* at its start: needed on all paths from there */
	struct mp_states real, trial;
};

/* What the planner knows of a node besides struct mem_node. */
struct mp_node {
	uint32_t check;		/* room is checked before this instruction; TRAMP_NONE: it is not */
	bool check_flags;	/* ... where flags are live */
	bool stays;		/* control stays in the copies after it */
	uint8_t end, cond;
	uint16_t values, u32, s32; /* of an EDGE */
	mp_set named;		/* registers that cannot hold the pointer */
	tramp_regs live;	/* at its start */
	uint32_t bytes;
	float freq;
	uint32_t next_edge_node; /* of the same block */
	bool external;		/* an EDGE for control that comes from outside */
	bool own_node;		/* an EDGE of one edge alone */
	uint32_t since;		/* bytes written since the last check, at its start */
	uint32_t index, low;	/* for finding cycles */
	uint32_t cycle;
};

/* Where one register is to hold the pointer in all nodes: a loop with what is in it, or the function. */
struct mp_region {
	mp_set named, live, avoid;
	bool writes;
	uint8_t reg;
	float busy[16];		/* how often each register would have to be parked */
};

#define MP_ARRAY(type) struct { type *v; size_t room; }

struct mp {
	struct mem_plan *plan;
	const struct tramp_mem_env *env;
	const struct tramp_flow *flow;
	uint64_t load_addr;
	enum tramp_mirror_status status; /* why a pass failed */
	uint32_t nedges;
	uint32_t nbody;		/* body nodes; the EDGE nodes follow */
	MP_ARRAY(struct tramp_mem_facts) facts; /* by instruction */
	MP_ARRAY(struct mp_insn) insns;
	MP_ARRAY(struct mp_block) blocks;
	MP_ARRAY(struct mp_edge) edges;
	MP_ARRAY(uint32_t) preds;	/* edges */
	MP_ARRAY(uint32_t) order;	/* blocks, in reverse postorder */
	MP_ARRAY(uint32_t) polls;	/* by loop: the block with the poll that each iteration passes, or TRAMP_NONE */
	MP_ARRAY(float) weights;	/* by block */
	MP_ARRAY(uint32_t) loop_at;	/* blocks of loop l: members[loop_at[l] .. loop_at[l + 1]), in order */
	MP_ARRAY(uint32_t) members;
	MP_ARRAY(struct mp_region) regions;
	MP_ARRAY(struct mp_node) nodes;	/* index by index with plan->nodes */
	MP_ARRAY(uint32_t) stack;	/* scratch of whichever pass runs */
	struct mp_seen *seen;		/* facts.c */
	void (*after)(const struct mp *p, const char *pass, void *arg); /* NULL, or called after each pass */
	void *arg;
};

static inline bool mp_rung(const struct mp *p, enum tramp_mem_rungs rung)
{
	return p->env->rungs & rung;
}

/* Makes room for n elements; what was there is kept.  False: no memory (p->status). */
#define mp_grow(p, v, room, n) (array_room(v, room, n) || ((p)->status = TRAMP_MIRROR_MEMORY, false))
#define mp_reserve(p, array, n) mp_grow(p, (array)->v, (array)->room, n)

static inline const struct tramp_op *mp_op(const struct mp *p, const struct mem_node *n, uint32_t k)
{
	return &p->flow->ops[p->flow->blocks[n->block].op + n->first + k];
}

static inline struct mp_insn *mp_insn_of(const struct mp *p, const struct mem_node *n, uint32_t k)
{
	return &p->insns.v[p->flow->blocks[n->block].op + n->first + k];
}

/* The block that control goes to; TRAMP_NONE: none of the function. */
static inline uint32_t mp_successor(const struct mp *p, uint32_t block, uint32_t k)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	return k == MP_TARGET ? b->target : b->next;
}

/* Bytes that values take in the stream; @narrow: in 4 bytes each. */
static inline uint32_t mp_bytes(mp_set values, mp_set narrow)
{
	return 8 * (uint32_t)__builtin_popcount(values) - 4 * (uint32_t)__builtin_popcount(values & narrow);
}

/* Bytes that an instruction writes. */
static inline uint32_t mp_insn_bytes(const struct mp_insn *i)
{
	return mp_bytes(i->store, i->store_u32 | i->store_s32) + i->extra_bytes;
}

/* ---- the passes; false: p->status ---- */

bool mp_read_facts(struct mp *p) TRAMP_MUST_CHECK;
bool mp_find_entries(struct mp *p) TRAMP_MUST_CHECK;
bool mp_place_polls(struct mp *p) TRAMP_MUST_CHECK;
bool mp_build_graph(struct mp *p) TRAMP_MUST_CHECK;
bool mp_weigh(struct mp *p) TRAMP_MUST_CHECK;
bool mp_decide_branches(struct mp *p) TRAMP_MUST_CHECK;
bool mp_store_early(struct mp *p) TRAMP_MUST_CHECK;
bool mp_cut_nodes(struct mp *p) TRAMP_MUST_CHECK;
bool mp_store_before_loops(struct mp *p) TRAMP_MUST_CHECK;
bool mp_store_at_merges(struct mp *p) TRAMP_MUST_CHECK;
bool mp_choose_headers(struct mp *p) TRAMP_MUST_CHECK;
bool mp_want_all(struct mp *p) TRAMP_MUST_CHECK;
bool mp_choose_regs(struct mp *p) TRAMP_MUST_CHECK;
bool mp_link_nodes(struct mp *p) TRAMP_MUST_CHECK;
bool mp_place_checks(struct mp *p) TRAMP_MUST_CHECK;
bool mp_describe(struct mp *p) TRAMP_MUST_CHECK;

/* ---- graph.c ---- */

bool mp_in_loop(const struct mp *p, uint32_t block, uint32_t loop);

/* ---- weights.c ---- */

/* How much those blocks of a loop do that are in no inner one. */
float mp_level_size(const struct mp *p, uint32_t loop);

/* ---- demand.c ---- */

/* Sets `want` of the blocks of a loop: what is wanted within it. */
void mp_want_loop(struct mp *p, uint32_t loop);

/* ---- nodes.c ---- */

/* The last of block's body nodes. */
static inline uint32_t mp_last_node(const struct mp *p, uint32_t block)
{
	return (block + 1 < p->flow->nblocks ? p->plan->body[block + 1] : p->nbody) - 1;
}

/* ---- known.c ---- */

/* Goes through an instruction; notes in it what is stored and what can be computed. */
void mp_step(const struct mp *p, struct mp_insn *i, struct mp_state *s);

/* What is known in @n blocks, given what is known after the others. */
void mp_know_some(struct mp *p, const uint32_t *blocks, uint32_t n);

/* What is known in a loop if all is known on the edges into it; @returns: after its calls, too. */
void mp_know_loop(struct mp *p, uint32_t loop, bool returns);

/* More is known after @block than was: what that means for the blocks that it reaches. */
bool mp_know_more(struct mp *p, uint32_t block, uint32_t not_in_loop) TRAMP_MUST_CHECK;

/* What is known everywhere; from now on instructions and edges hold what is stored. */
void mp_know_all(struct mp *p);

#endif
