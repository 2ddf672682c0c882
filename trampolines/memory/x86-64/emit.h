/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The copies of a function that records memory, while they are emitted: what the memory/x86-64/emit*.c share.
 *
 * Each node has two labels, MEM_HOME and MEM_KEPT: see memory/plan.h.
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_X86_64_EMIT_H
#define SONDE_TRAMPOLINES_MEMORY_X86_64_EMIT_H

#include "trampolines/memory/plan.h"
#include "trampolines/mirror/x86-64/plan.h"

/* How a node is entered. */
enum mem_entry { MEM_HOME, MEM_KEPT, MEM_ENTRIES };

/* Where a node's code is in the mirror. */
struct mem_place {
	uint32_t at[MEM_ENTRIES];	/* TRAMP_NONE: not emitted */
	bool wanted[MEM_ENTRIES];	/* something leads there */
};

/* A displacement of 4 bytes to a node. */
struct mem_fixup {
	uint32_t at;
	uint32_t node;
	uint8_t entry;		/* enum mem_entry */
};

/* What has to be undone before the call of the gate. */
enum mem_undo {
	MEM_UNDO_NOTHING,
	MEM_UNDO_SLOTS,		/* rax and flags are in the pool's slots */
	MEM_UNDO_STACK,		/* ... at rsp, which is lowered by RT_MEM_BELOW */
};

/* A check's slow path, until it is written. */
struct mem_slow {
	uint32_t ref;		/* the 4 bytes of the jump to it */
	uint32_t start;		/* of the check; of what is to be done again */
	uint32_t resume;	/* where it goes back to */
	uint32_t node;
	uint32_t orig;		/* the instruction that comes next */
	uint16_t insn;		/* the same, from the node's start */
	uint16_t written;
	uint8_t reg, flags;	/* of struct rt_mem_desc */
	uint8_t undo;		/* enum mem_undo */
	bool counts;		/* not for room: `left` is negative */
	bool lands;		/* nor that: from the plain copy */
};

/* Where the pointer was not in its register already. */
struct mem_miss {
	uint32_t ref;		/* the 4 bytes of the jump to where it is loaded */
	uint32_t resume;
	uint32_t node;
};

/* Where a block is in the copy that records nothing. */
struct mem_plain {
	uint32_t at;
	uint32_t gate;		/* where the original's windows lead, which leads here or to the other copy */
};

/* An exit edge of an unrolled loop, on which its iterations have not been counted yet. */
struct mem_exit {
	uint32_t ref;		/* the 4 bytes of the jump */
	uint32_t block;		/* that it leads to; of the copy that records, node */
	uint32_t done;		/* what has not been counted yet */
};

struct mir_mem {
	struct tramp_mem_env env;
	uint64_t load_addr;
	struct mem_plan plan;
	MIR_ARRAY(struct mem_place) places;	/* by node */
	MIR_ARRAY(struct mem_fixup) fixups;
	MIR_ARRAY(struct mem_slow) slows;
	MIR_ARRAY(struct mem_miss) misses;
	MIR_ARRAY(struct rt_mem_piece) pieces;
	MIR_ARRAY(struct mem_plain) plain;	/* by block, if env.sampled */
	MIR_ARRAY(uint32_t) plain_op;	/* by instruction */
	MIR_ARRAY(struct mem_exit) exits;
	MIR_ARRAY(struct mem_exit) polls; /* recording goes on at block's start: not `done` */
	MIR_ARRAY(struct mem_exit) outs; /* of the copy that records */
	uint32_t fall;		/* control falls through to this node, whose code has to follow; or TRAMP_NONE */
	enum mem_entry fall_entry;
	bool in_slow;		/* slow paths are being emitted */
};

/* Where the pointer is, at a place in the mirror. */
struct mem_state {
	uint32_t node;
	uint32_t orig;		/* offset in the object of the instruction that comes next */
	uint16_t written;
	uint8_t reg;		/* RT_MEM_NO_REG: at home */
	uint8_t flags;		/* enum rt_mem_flags */
};

static inline const struct mem_node *mem_node(const struct tramp_mirror *m, uint32_t n)
{
	return &m->mem->plan.nodes[n];
}

static inline struct mem_place *mem_place(struct tramp_mirror *m, uint32_t n)
{
	return &m->mem->places.v[n];
}

/* ---- memory/x86-64/emit-label.c ---- */

/* Both entries of a node that needs no pointer are the same. */
enum mem_entry mem_entry_of(const struct tramp_mirror *m, uint32_t n, bool kept);
void mem_label(struct tramp_mirror *m, uint32_t n, enum mem_entry entry);	/* here */
void mem_put_label(struct tramp_mirror *m, uint32_t n, enum mem_entry entry);	/* 4 bytes that lead there */
void mem_put_jump(struct tramp_mirror *m, uint32_t n, enum mem_entry entry);
void mem_put_jcc(struct tramp_mirror *m, uint8_t cc, uint32_t n, enum mem_entry entry);
void mem_fix_labels(struct tramp_mirror *m);	/* when all is emitted */

/* ---- memory/x86-64/emit-node.c ---- */

/* The home entry, up to where the pointer is in the node's register. */
void mem_put_home_in(struct tramp_mirror *m, uint32_t n);
/* All that follows.  m->mem->fall says where control falls through to. */
void mem_put_rest(struct tramp_mirror *m, uint32_t n);

/* ---- memory/x86-64/emit-state.c ---- */

/*
 * From here on @s is true.  With RT_MEM_BACK @start is where to go back to.  With RT_MEM_RUN copies
 * of instructions follow; else code of ours.
 */
void mem_state(struct tramp_mirror *m, const struct mem_state *s, uint32_t start);

/*
 * In the middle of what stands for one instruction: from offset @at of the mirror on; the last one
 * until now.
 */
void mem_state_at(struct tramp_mirror *m, const struct mem_state *s, uint32_t at);

/* From here on nothing is recorded; @flags: what else it is, from @start on. */
void mem_plain_state(struct tramp_mirror *m, unsigned int flags, uint32_t start);

/* Likewise; rsp is lowered, and register @reg is at (rsp). */
void mem_plain_saved(struct tramp_mirror *m, uint8_t reg, uint32_t start);

/* Offset of a node's instruction k; of what is after the last one, for k == nops. */
uint32_t mem_orig(const struct tramp_mirror *m, uint32_t n, uint32_t k);

/* Of s->node, instruction k as it is. */
void mem_put_copy(struct tramp_mirror *m, const struct mem_state *s, uint32_t k);

/* ---- memory/x86-64/emit-unroll.c: loops of one node that writes nothing, where it is counted what is done ---- */

/* All bodies of the loop of node n but the last, with their exits.  Returns how many there are with that; 1: none was emitted. */
uint32_t mem_put_unrolled(struct tramp_mirror *m, uint32_t n, struct mem_state s);
/* The exits of all. */
void mem_put_exits(struct tramp_mirror *m);

/* ---- memory/x86-64/emit-check.c ---- */

/* Before everything else in a node that is entered at home. */
void mem_put_owner_check(struct tramp_mirror *m, uint32_t n, uint32_t start);
/* Is there room?  The pointer is in s->reg. */
void mem_put_check(struct tramp_mirror *m, const struct mem_state *s, bool flags_live);

/* Sets the sign flag if `left`, less @weight, is negative.  Changes flags. */
void mem_put_less(struct tramp_mirror *m, uint32_t weight);

/* Before all else in a node of a block that is polled, or counts. */
void mem_put_count(struct tramp_mirror *m, const struct mem_state *s, uint32_t weight);

/*
 * Where the plain copy of a block leads when recording goes on: to the runtime, which notes this place in the stream
 * with all registers, then to @enter, where the jump to the block's node for control from outside has been put
 * before; or back to the plain copy.
 */
void mem_put_landing(struct tramp_mirror *m, uint32_t i, uint32_t enter);

/* A register that the program does not need at a node's start, preferably not MEM_CARRIER; RT_MEM_NO_REG. */
uint8_t mem_dead_register(const struct tramp_mirror *m, const struct mem_node *node);

/* The time, at @at; the pointer is in s->reg, which is neither rax nor rdx.  From there on all but that is as @s says. */
void mem_put_time(struct tramp_mirror *m, struct mem_state *s, uint16_t at);

/* ---- memory/x86-64/emit-guess.c: the pointer, from home ---- */

#define MEM_CARRIER TRAMP_R11

/* Is the pointer likely to be in node n's register when control enters it from outside? */
bool mem_guesses(const struct tramp_mirror *m, uint32_t n);
void mem_put_guess(struct tramp_mirror *m, uint32_t n);
void mem_put_misses(struct tramp_mirror *m);

/* ---- memory/x86-64/emit-gate.c: what leads to the copy that records nothing, or to the other ---- */

#define MEM_GATE_MAX (2 * 64 + 6 + 19 + 6 + 13 + 6 + 5) /* bytes for a block, at most */
/* All that mir_mem_gate() has not put. */
void mem_put_gates(struct tramp_mirror *m);

/* ---- memory/x86-64/emit-plain.c: the copy that records nothing ---- */


bool mem_plain_begin(struct tramp_mirror *m);
void mem_put_jcc_to(struct tramp_mirror *m, uint8_t cc, uint32_t at); /* a place in the mirror */
void mem_put_plain(struct tramp_mirror *m);
size_t mem_plain_room(const struct tramp_mirror *m);
/* What is subtracted from `left` at block i's start, in either copy; 0: nothing. */
uint32_t mem_weight(const struct tramp_mirror *m, uint32_t i);
/*
 * How many times a loop of one block is unrolled, in either copy of the function, with one poll; 1 for other blocks.  And
 * bytes for all but one body, at most.
 */
uint32_t mem_unroll_factor(const struct tramp_mirror *m, uint32_t i);
size_t mem_unroll_room(const struct tramp_mirror *m, uint32_t i);
/* Where the instruction at offset @orig, of node n, is in it. */
uint32_t mem_plain_at(const struct tramp_mirror *m, uint32_t n, uint32_t orig);

/* ---- memory/x86-64/emit-store.c ---- */

void mem_put_id(struct tramp_out *out, unsigned int base, int32_t at, uint32_t id);
void mem_put_store(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t at, bool wide);
/* @vex: for what can be stored in either encoding. */
void mem_put_extra(struct tramp_out *out, enum tramp_mem_store what, unsigned int reg, unsigned int base,
		   int32_t at, bool vex);

#endif
