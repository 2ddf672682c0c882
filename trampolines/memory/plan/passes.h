/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the steps of planning share (memory/plan.h).  In their order:
 *
 *	memory/plan/facts.c		what each instruction accesses, needs, computes and destroys
 *	memory/plan/ways.c		from where to where control goes, and about how often
 *	memory/plan/polls.c		where recording goes on after it was off
 *	memory/plan/weights.c	how much is done from one such place to the next
 *	memory/plan/ask.c		values that branches depend on
 *	memory/plan/early.c		values that are stored in front of branches, or where ways meet
 *	memory/plan/nodes.c		blocks cut into body nodes
 *	memory/plan/known.c		what the reader knows where; so, which values are stored in front of what
 *	memory/plan/loops.c		values that are stored on the way into loops
 *	memory/plan/headers.c	which nodes need no header
 *	memory/plan/paths.c		which more do not, since the next header tells
 *	memory/plan/want.c		which computations are of any use
 *	memory/plan/regs.c		which register holds the pointer in each node
 *	memory/plan/edges.c		nodes between the body nodes, and how all of them are linked
 *	memory/plan/room.c		where there is looked for room
 *	memory/plan/describe.c	actions and operations of the nodes
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_PLAN_PASSES_H
#define SONDE_TRAMPOLINES_MEMORY_PLAN_PASSES_H

#include <stdlib.h>

#include "trampolines/memory/plan.h"

/* Registers as sets: bits 0..15 general ones, 16..19 the machine's temporaries. */
typedef uint32_t mp_set;
#define MP_LOOP_RUNS 8.0f	/* turns that a loop is taken to make */
#define MP_TEMPS (UINT32_C(0xf) << MD_TEMP)
#define MP_BIT(reg) (UINT32_C(1) << (reg))
#define MP_COND MP_BIT(MD_FS)	/* the machine's flags */

enum {
	MP_NODE_BYTES = 512,	/* a node writes hardly more */
	MP_HEADER = 4,
	MP_NO_COND = 16,
	MP_OWN_HEADERS = 48,	/* ways that have a header each instead of the block that they lead to, at most */
	MP_CARRIER = TRAMP_R11,	/* the pointer is best here when control goes elsewhere: memory/x86-64/emit-guess.c */
};

/* A computation of a general register or a temporary. */
struct mp_compute {
	mp_set reads;		/* have to be known in front of the instruction */
	mp_set uses;		/* that it is computed from */
	mp_set writes;
	uint16_t conds;		/* bit cc: condition cc has to be known in front of the instruction */
	bool u32, s32;		/* the result's upper half is zero; it is sign-extended from 32 bits */
};

/* One instruction, as the dataflow sees it. */
struct mp_insn {
	uint16_t need, kills;
	uint16_t u32, s32;	/* of kills */
	uint16_t named;		/* that cannot hold the pointer there */
	mp_set flags_reads, flags_uses;
	uint16_t flags_conds;	/* these have to be known in front of the instruction */
	uint16_t flags_valid;	/* 0: flags are not known */
	uint8_t flags_effect;	/* enum tramp_flags_effect */
	bool flags_after;
	bool leaves;		/* the pointer is at home in front of it, if it is the node's last */
	bool cuts;		/* nothing is known behind it, and a new node begins */
	uint8_t ncomputes;
	uint8_t extra_bytes;
	struct mp_compute computes[TRAMP_MEM_COMPUTES];

	/* What is decided. */
	uint16_t store;		/* values stored in front of it */
	uint16_t store_u32, store_s32; /* of these: in 4 bytes */
	uint8_t can;		/* bit i: computes[i] is possible; MP_FLAGS: so are the flags */
	uint8_t keep;		/* ... and of use */
};
#define MP_FLAGS 0x80

/* What is known of registers at one place. */
struct mp_state {
	uint16_t known;		/* by the reader */
	uint16_t u32, s32;	/* the program's value is zero-, sign-extended from 32 bits */
	uint16_t conds;		/* bit cc: the reader knows whether condition cc holds */
};

/* Of a block's start and end. */
struct mp_states {
	struct mp_state in, out;
};

/* From block to block within the copies; or into a block from elsewhere. */
struct mp_way {
	uint32_t from, to;	/* blocks; from TRAMP_NONE: elsewhere */
	uint32_t edge;		/* node on it, or TRAMP_NONE */
	uint16_t values;	/* registers stored on it */
	uint16_t u32, s32;	/* of these: in 4 bytes */
	float freq;
	bool implied;		/* the reader knows that it is taken */
	bool tried;		/* without a header, though it does not */
	bool relied;		/* that it has a header */
	bool own;		/* it has a node by itself */
};

enum { MP_TARGET, MP_NEXT };

struct mp_block {
	bool outside;		/* control may come from elsewhere */
	bool owner;		/* ... and its pool may be another thread's */
	bool polled;		/* ... but only because recording may go on here, seldom, with all registers in the stream */
	bool header;		/* its first body node has one */
	bool relied;		/* ... which others rely on */
	bool bare;		/* it has none in any case */
	bool quiet;		/* nothing in it writes */
	uint8_t looks;		/* MD_PEEK: for which way */
	uint8_t end;		/* of its last node: MD_GOTO, MD_IF, MD_PEEK, MD_NEXT */
	uint8_t cond;		/* its condition, or MP_NO_COND: it does not end with a conditional jump to blocks */
	uint32_t way[2];	/* MP_TARGET, MP_NEXT, or TRAMP_NONE */
	uint32_t elsewhere;	/* the way in from elsewhere, or TRAMP_NONE */
	uint32_t pred, npreds;	/* ways in: preds[pred .. pred + npreds) */
	uint32_t decider;	/* instruction in it whose flags its last one reads, or TRAMP_NONE */
	uint32_t number;	/* its place in order[] */
	uint32_t edges;		/* EDGE nodes that lead to it, linked by mp_node.more */
	float freq;
	mp_set want;		/* at its start: registers that the reader has to know */
	mp_set ahead;		/* at its start: that are needed on all ways from there */
	struct mp_states real, trial;
};

/* What else is to be known of a node. */
struct mp_node {
	uint32_t check;		/* the room is looked at in front of this instruction; TRAMP_NONE: it is not */
	bool check_flags;	/* ... where flags are live */
	bool goes_on;		/* not to somewhere else than the copies */
	uint8_t end, cond;
	uint16_t values, u32, s32; /* of an EDGE */
	mp_set named;		/* that cannot hold the pointer */
	tramp_regs live;	/* at its start */
	uint32_t bytes;
	float freq;
	uint32_t more;		/* next EDGE of the same block */
	bool elsewhere;		/* an EDGE for control that comes from there */
	bool own;		/* ... of one way alone */
	uint32_t since;		/* bytes written since there was looked for room, at its start */
	uint32_t index, low;	/* for finding cycles */
	uint32_t cycle;
};

#define MP_ARRAY(type) struct { type *v; size_t room; }

struct mp {
	struct mem_plan *plan;
	const struct tramp_mem_env *env;
	const struct tramp_flow *flow;
	uint64_t load_addr;
	bool lost;		/* no memory */
	uint32_t nways;
	uint32_t nbody;		/* body nodes; the EDGE nodes follow */
	MP_ARRAY(struct tramp_mem_facts) facts; /* by instruction */
	MP_ARRAY(struct mp_insn) insns;
	MP_ARRAY(struct mp_block) blocks;
	MP_ARRAY(struct mp_way) ways;
	MP_ARRAY(uint32_t) preds;	/* ways */
	MP_ARRAY(uint32_t) order;	/* blocks, in reverse postorder */
	MP_ARRAY(uint32_t) polls;	/* by loop: block where each of its turns comes by a poll, or TRAMP_NONE */
	MP_ARRAY(float) weights;	/* by block */
	MP_ARRAY(uint32_t) loop_at;	/* blocks of loop l: members[loop_at[l] .. loop_at[l + 1]), in order */
	MP_ARRAY(uint32_t) members;
	MP_ARRAY(struct mp_region) regions;
	MP_ARRAY(struct mp_node) nodes;	/* index by index with plan->nodes */
	MP_ARRAY(uint32_t) stack;	/* of whoever works at the time */
};

/* Where one register for all of its nodes is looked for: a loop with what is in it, or the function. */
struct mp_region {
	mp_set named, live, avoid;
	bool writes;
	uint8_t reg;
	float busy[16];		/* how often each register would have to be parked */
};

static inline bool mp_rung(const struct mp *p, enum tramp_mem_rungs rung)
{
	return p->env->rungs & rung;
}

/* Room for n elements; what was in is kept.  False: no memory (p->lost). */
bool mp_grow(struct mp *p, void **v, size_t *room, size_t n, size_t size) TRAMP_MUST_CHECK;

#define mp_reserve(p, array, n)									\
	((n) <= (array)->room ||								\
	 mp_grow(p, (void **)&(array)->v, &(array)->room, (n), sizeof(*(array)->v)))

static inline const struct tramp_op *mp_op(const struct mp *p, const struct mem_node *n, uint32_t k)
{
	return &p->flow->ops[p->flow->blocks[n->block].op + n->first + k];
}

static inline struct mp_insn *mp_insn_of(const struct mp *p, const struct mem_node *n, uint32_t k)
{
	return &p->insns.v[p->flow->blocks[n->block].op + n->first + k];
}

/* Bytes that values take in the stream; @narrow: in 4 bytes each. */
static inline uint32_t mp_bytes(mp_set values, mp_set narrow)
{
	return 8 * (uint32_t)__builtin_popcount(values) - 4 * (uint32_t)__builtin_popcount(values & narrow);
}

/* What an instruction writes. */
static inline uint32_t mp_insn_bytes(const struct mp_insn *i)
{
	return mp_bytes(i->store, i->store_u32 | i->store_s32) + i->extra_bytes;
}

/* ---- memory/plan/facts.c ---- */

enum tramp_mirror_status mp_read_facts(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/ways.c ---- */

bool mp_find_ways(struct mp *p) TRAMP_MUST_CHECK;
bool mp_in_loop(const struct mp *p, uint32_t block, uint32_t loop);

/* ---- memory/plan/polls.c ---- */

bool mp_choose_polls(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/weights.c ---- */

bool mp_weigh(struct mp *p) TRAMP_MUST_CHECK;

/* What the blocks of a loop that are in no inner one do. */
float mp_level_size(const struct mp *p, uint32_t loop);

/* ---- memory/plan/ask.c ---- */

void mp_ask(struct mp *p);

/* ---- memory/plan/early.c ---- */

/* Sets `ahead` of all blocks, and has values stored as early as no way stores more for it. */
void mp_early(struct mp *p);

/* Has ways store what others that lead to the same place know. */
void mp_meet(struct mp *p);

/* ---- memory/plan/nodes.c ---- */

bool mp_cut(struct mp *p) TRAMP_MUST_CHECK;

/* The last of block's body nodes. */
static inline uint32_t mp_last_node(const struct mp *p, uint32_t block)
{
	return (block + 1 < p->flow->nblocks ? p->plan->body[block + 1] : p->nbody) - 1;
}

/* ---- memory/plan/known.c ---- */

/* Goes through an instruction; notes in it what is stored and what can be computed. */
void mp_step(const struct mp *p, struct mp_insn *i, struct mp_state *s);

/* What is known in @n blocks, given what is known behind the others. */
void mp_know_some(struct mp *p, const uint32_t *blocks, uint32_t n);

/* ... in a loop, if all is known on the ways into it; @returns: behind its calls, too. */
void mp_know_loop(struct mp *p, uint32_t loop, bool returns);

/* Something more is known behind @block: whom it reaches. */
bool mp_know_more(struct mp *p, uint32_t block, uint32_t not_in_loop) TRAMP_MUST_CHECK;

/* Everywhere; from now on instructions and ways hold what is stored. */
void mp_know_all(struct mp *p);

/* ---- memory/plan/want.c ---- */

/* Sets `want` of the blocks of a loop: what is wanted in it. */
void mp_want_loop(struct mp *p, uint32_t loop);

/* The same for all of the function; and which computations are kept. */
void mp_want_all(struct mp *p);

/* ---- memory/plan/loops.c ---- */

bool mp_hoist(struct mp *p) TRAMP_MUST_CHECK;

/* Those of @values that are not known are stored on the way.  True: something is stored that was not. */
bool mp_store_on(struct mp *p, struct mp_way *w, mp_set values);

/* ---- memory/plan/headers.c ---- */

bool mp_choose_headers(struct mp *p) TRAMP_MUST_CHECK;

/* Has the block a header, or those that lead to it? */
void mp_choose_header(const struct mp *p, uint32_t block);

/* ---- memory/plan/paths.c ---- */

bool mp_choose_paths(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/regs.c ---- */

bool mp_choose_regs(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/edges.c ---- */

bool mp_link(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/room.c ---- */

bool mp_place_checks(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memory/plan/describe.c ---- */

bool mp_describe(struct mp *p) TRAMP_MUST_CHECK;

#endif
