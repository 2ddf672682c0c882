/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the steps of planning share (memplan.h).  In their order:
 *
 *	memplanfacts.c		what each instruction accesses, needs, computes and destroys
 *	memplannodes.c		blocks cut into body nodes
 *	memplanknown.c		what the reader knows where; so, which values are stored in front of what
 *	memplanregs.c		which register holds the pointer in each node
 *	memplanroom.c		where there is looked for room
 *	memplandescribe.c	actions and operations of the nodes
 */
#ifndef SONDE_TRAMPOLINES_X86_64_MEMPLANPRIV_H
#define SONDE_TRAMPOLINES_X86_64_MEMPLANPRIV_H

#include <stdlib.h>

#include "trampolines/x86-64/memplan.h"

/* Registers as sets: bits 0..15 general ones, 16..19 the machine's temporaries. */
typedef uint32_t mp_set;
#define MP_TEMPS (UINT32_C(0xf) << MD_TEMP)
#define MP_BIT(reg) (UINT32_C(1) << (reg))

enum {
	MP_NODE_BYTES = 512,	/* a node writes hardly more */
	MP_HEADER = 4,
};

/* A computation of a general register or a temporary. */
struct mp_compute {
	mp_set reads, writes;
	bool u32, s32;		/* the result's upper half is zero; it is sign-extended from 32 bits */
};

/* One instruction, as the dataflow sees it. */
struct mp_insn {
	uint16_t need, kills;
	uint16_t u32, s32;	/* of kills */
	uint16_t named;		/* that cannot hold the pointer there */
	mp_set flags_reads;
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
};

struct mp_block {
	bool outside;		/* control may come from elsewhere */
	bool owner;		/* ... and its pool may be another thread's */
};

/* What else is to be known of a node. */
struct mp_node {
	uint32_t check;		/* the room is looked at in front of this instruction; TRAMP_NONE: it is not */
	bool check_flags;	/* ... where flags are live */
};

#define MP_ARRAY(type) struct { type *v; size_t room; }

struct mp {
	struct mem_plan *plan;
	const struct tramp_mem_env *env;
	const struct tramp_flow *flow;
	uint64_t load_addr;
	bool lost;		/* no memory */
	MP_ARRAY(struct tramp_mem_facts) facts; /* by instruction */
	MP_ARRAY(struct mp_insn) insns;
	MP_ARRAY(struct mp_block) blocks;
	MP_ARRAY(struct mp_node) nodes;	/* index by index with plan->nodes */
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

/* ---- memplanfacts.c ---- */

enum tramp_mirror_status mp_read_facts(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memplannodes.c ---- */

bool mp_cut(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memplanknown.c ---- */

/* Goes through an instruction; notes in it what is stored and what can be computed. */
void mp_step(const struct mp *p, struct mp_insn *i, struct mp_state *s);

/* Decides what is stored where. */
bool mp_know(struct mp *p) TRAMP_MUST_CHECK;

/* ---- memplanregs.c ---- */

void mp_choose_regs(struct mp *p);

/* ---- memplanroom.c ---- */

void mp_place_checks(struct mp *p);

/* ---- memplandescribe.c ---- */

bool mp_describe(struct mp *p) TRAMP_MUST_CHECK;

#endif
