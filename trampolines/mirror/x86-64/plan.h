/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the parts of the mirror generator share: which instructions are copied, which bytes of the
 * original are free, and where jumps to the copies stand.
 *
 * Of each block a *head* (its first instructions) and a *tail* (its last ones) may be copied; a tail
 * that begins at the block's start is the whole block.  Each is a *run*.  An endbr64 at a block's start
 * is never part of a run: it stays where it is, and control comes to what is after it.
 *
 * A block whose start is copied is *live* if control still comes to its start in the original, else
 * it is *dead*, and its bytes are free.  A run that begins after uncopied instructions is always reached.
 */
#ifndef SONDE_TRAMPOLINES_MIRROR_X86_64_PLAN_H
#define SONDE_TRAMPOLINES_MIRROR_X86_64_PLAN_H

#include "base/array.h"
#include "trampolines/count/count.h"
#include "trampolines/mirror/mirror.h"
#include "trampolines/insn/x86-64/emit.h"

enum {
	MIR_JUMP = 5,		/* jmp rel32 */
	MIR_SHORT = 2,		/* jmp rel8 */
	MIR_SHORT_BACK = 126,	/* how far a short jump reaches, from its start */
	MIR_SHORT_AHEAD = 129,
};

enum mir_run { MIR_HEAD, MIR_TAIL };

enum mir_flags {
	MIR_RIGID = 1,		/* shares bytes with other instructions: no byte may be changed */
	MIR_RETARGETED = 2,	/* the branch at its end leads to a copy, or to the exit's stub */
	MIR_MOVED = 4,		/* the call at its end is made by the copy */
	MIR_GAP = 8,		/* gap_end is known */
	MIR_LENT = 16,		/* was made longer for a slot in this round */
	MIR_HEAD_WINDOW = 32,	/* a jump to the copy stands at the run's start */
	MIR_TAIL_WINDOW = 64,
	MIR_BARE = 128,		/* may run in the original: there is nothing to record in it */
};

struct mir_block {
	uint32_t head;		/* instructions [lo, head) are copied */
	uint32_t tail;		/* instructions [tail, nops) are copied; TRAMP_NONE: there is no tail */
	uint32_t used[2];	/* by run: first byte (offset) that nothing of ours stands on */
	uint32_t gap, gap_end;	/* padding after the block, from `gap` on not used yet */
	uint32_t copy_at;	/* in the mirror: copy of the start, after the entry's probe */
	uint32_t tail_at;	/* copy of the tail */
	uint32_t stub_at;	/* exit of a conditional tail call; where a conditional jump is counted */
	uint32_t land_at;	/* BLOCKS: where windows lead, unless it is the entry */
	uint8_t lo;		/* 1: an endbr64 is first */
	uint8_t flags;		/* enum mir_flags */
	uint8_t tries;		/* how often help for it was looked for */
	uint8_t ahead;		/* not 0: what is not copied of it is, too, for control that comes from copies */
};

/* A jump in the original that leads to a run's copy. */
struct mir_window {
	uint32_t off;
	uint32_t block;
	uint32_t slot;		/* len == MIR_SHORT: where the long jump stands */
	uint8_t len;
	uint8_t run;
};

/* A displacement in the mirror that leads to a block's copy or stub. */
struct mir_fixup {
	uint32_t at;		/* of the 4 bytes */
	uint32_t block;
	bool stub;
};

/* A probe, until its slow path is written. */
struct mir_probe {
	struct tramp_probe_code code;
	uint32_t at;
	uint32_t orig;
};

struct mir_probe_table {
	struct rt_probe_map *maps;
	size_t n, room;
	uint32_t *hash;		/* index + 1 */
	size_t nhash;
};

/* Decoders are slow, the second one above all; most instructions come again and again. */
struct mir_known {
	uint8_t length : 4;
	uint8_t both : 1;	/* decoders agree on it */
	uint8_t bytes[15];
};

struct mir_known_table {
	struct mir_known *v;	/* instructions that may be moved */
};

#define MIR_ARRAY(type) struct { type *v; size_t n, room; }

/* BLOCKS: where a counter stands in or beside a block. */
enum mir_count_place { MIR_COUNT_WITHIN, MIR_COUNT_IN, MIR_COUNT_NEXT, MIR_COUNT_TARGET };

/* BLOCKS: what is done there, in this order. */
enum mir_count_act { MIR_COUNT_END, MIR_COUNT_LEFT_KEPT /* trips: enum rt_count */, MIR_COUNT_ONE, MIR_COUNT_BEGIN, MIR_COUNT_ADD,
		     MIR_COUNT_LENGTH, /* a register, which goes on holding what it does, is added */
		     MIR_COUNT_LEFT, MIR_COUNT_ENTER, /* trips */
};

/* BLOCKS: a counter, or what is done to one that is kept in a register. */
struct mir_counter {
	uint32_t block;
	uint8_t place;		/* enum mir_count_place */
	uint32_t at;		/* WITHIN: before that instruction */
	uint8_t act;		/* enum mir_count_act */
	uint8_t reg;		/* all but ONE, LEFT, ENTER */
	int8_t by;		/* BEGIN, ADD */
	bool saved;		/* BEGIN, END, LEFT_KEPT: see struct tramp_kept */
	bool whole;		/* here the edge is counted, in the block */
	uint8_t trust;		/* enum tramp_probe_trust */
	uint32_t counter;
	uint32_t number;	/* in which order they were found */
	tramp_regs kept;	/* registers that counters are in, or were, or will be */
};

/* BLOCKS with ACCESSES: an instruction that is repeated rcx times is counted so often, by a counter after those of edges. */
struct mir_length {
	uint32_t block, at;	/* before that instruction */
	struct tramp_weight weight; /* of a repetition */
};

/* BLOCKS: those of a block. */
struct mir_count {
	uint32_t first, n;	/* of m->counters */
};

struct mir_mem;
struct mp;

struct tramp_mirror {
	const struct tramp_code *code;
	struct tramp_probe_env env;
	struct tramp_checker *checker;
	uint64_t code_base;
	struct tramp_mirror_request req;
	struct tramp_flow flow;
	bool planned;
	bool strict;		/* any instruction may be jumped to */
	bool have_preds;
	uint32_t nexits;

	MIR_ARRAY(struct mir_block) blocks;	/* index by index with flow.blocks */
	MIR_ARRAY(uint32_t) pred_at;		/* predecessors: preds.v[pred_at.v[i] .. pred_at.v[i + 1]) */
	MIR_ARRAY(uint32_t) preds;
	MIR_ARRAY(struct mir_window) windows;
	MIR_ARRAY(struct mir_window) shorts;	/* where a window did not fit; off, block, run */
	MIR_ARRAY(struct mir_fixup) fixups;
	MIR_ARRAY(struct mir_probe) probes;
	MIR_ARRAY(struct tramp_patch) patches;
	MIR_ARRAY(struct tramp_mirror_call) calls;
	MIR_ARRAY(struct rt_piece) pieces;
	struct mir_probe_table own_table, *table; /* its own, or another generator's */
	struct mir_known_table own_known, *known; /* likewise */
	struct mp *own_planner, **planner;	/* likewise; NULL before the first plan with TRAMP_MIRROR_ACCESSES */

	struct tramp_counts counts; /* TRAMP_MIRROR_BLOCKS */
	MIR_ARRAY(struct mir_count) count; /* likewise, by block */
	MIR_ARRAY(struct mir_counter) counters; /* likewise, by block and place */
	bool distrusts;		/* likewise: each counter looks whose counters they are */
	bool weighs;		/* with ACCESSES: either it counts, or it records them */
	MIR_ARRAY(struct tramp_weight) weights, weighed; /* likewise: of blocks; of counters */
	MIR_ARRAY(uint64_t) work; /* for that */
	MIR_ARRAY(struct mir_length) lengths; /* likewise */

	struct mir_mem *mem;	/* TRAMP_MIRROR_ACCESSES; memory/x86-64/emit.h */

	bool lost;		/* no memory */

	/* While emitting. */
	struct tramp_out out;
	uint64_t base;
	uint32_t entry_at;	/* in the mirror: the entry's probe */
	uint32_t kept;		/* of pieces: see struct rt_piece */
};

/* ---- arrays ---- */

/* Room for n elements; false: no memory. */
#define mir_reserve(array, count) array_room((array)->v, (array)->room, (count))

/* ---- a block's instructions ---- */

static inline const struct tramp_block *mir_flow_block(const struct tramp_mirror *m, uint32_t i)
{
	return &m->flow.blocks[i];
}

/* Its instruction k. */
static inline const struct tramp_op *mir_op(const struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	return &m->flow.ops[m->flow.blocks[i].op + k];
}

static inline const struct tramp_op *mir_last(const struct tramp_mirror *m, uint32_t i)
{
	return mir_op(m, i, m->flow.blocks[i].nops - 1);
}

/* Offset of its instruction k, of its end for k == nops. */
static inline uint32_t mir_off(const struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	return k < fb->nops ? mir_op(m, i, k)->off : fb->end;
}

static inline const uint8_t *mir_bytes(const struct tramp_mirror *m, uint32_t off)
{
	size_t left;

	return tramp_code_at(m->code, m->code_base + off, &left);
}

static inline bool mir_whole(const struct mir_block *b)
{
	return b->tail <= b->lo;
}

static inline bool mir_start_copied(const struct mir_block *b)
{
	return b->head > b->lo || mir_whole(b);
}

static inline bool mir_end_copied(const struct mir_block *b)
{
	return b->tail != TRAMP_NONE;
}

/* Does control that comes to its start from a copy stay in copies? */
static inline bool mir_goes_on_copied(const struct mir_block *b)
{
	return mir_start_copied(b) || b->ahead;
}

static inline bool mir_is_call(const struct tramp_op *op)
{
	return op->kind == TRAMP_OP_CALL || op->kind == TRAMP_OP_CALL_IND;
}

/* Where control leaves the function, as far as it is known. */
static inline bool mir_is_exit(enum tramp_end end)
{
	return end == TRAMP_END_RET || end == TRAMP_END_TAIL || end == TRAMP_END_TAIL_JCC ||
	       end == TRAMP_END_TAIL_IND || end == TRAMP_END_TAIL_FALL;
}

static inline bool mir_wants(const struct tramp_mirror *m, enum tramp_mirror_want want)
{
	return m->req.want & want;
}

/* ---- mirror/x86-64/set.c: the sets of what is copied ---- */

/* Copies at least `bytes` of the start, or of the end, or all. */
void mir_copy_head(struct tramp_mirror *m, uint32_t i, uint32_t bytes);
void mir_copy_tail(struct tramp_mirror *m, uint32_t i, uint32_t bytes);
void mir_copy_whole(struct tramp_mirror *m, uint32_t i);

/* What the request needs, before it is known whether all of it can be reached. */
enum tramp_mirror_status mir_choose(struct tramp_mirror *m) TRAMP_MUST_CHECK;

/* ---- mirror/x86-64/edges.c: who comes to a block in the original ---- */

/* Does control come to the start of block i in the original? */
bool mir_is_live(struct tramp_mirror *m, uint32_t i);

/* Only branches with 4 bytes of displacement come to it: lead them to the copy. */
bool mir_retarget(struct tramp_mirror *m, uint32_t i);

/* The same, and copy the ends of the other blocks that lead there. */
bool mir_close(struct tramp_mirror *m, uint32_t i);

/* ---- mirror/x86-64/gap.c: padding ---- */

/* Address of the first function at `addr` or after it. */
uint64_t mir_next_function(const struct tramp_mirror *m, uint64_t addr);

void mir_find_gap(struct tramp_mirror *m, uint32_t i);

/* ---- mirror/x86-64/place.c: windows and slots ---- */

/* Offset of the run's first byte, and after its last one that may be changed. */
uint32_t mir_run_start(const struct tramp_mirror *m, uint32_t i, enum mir_run run);
uint32_t mir_run_end(const struct tramp_mirror *m, uint32_t i, enum mir_run run);

/*
 * Free bytes from the run's start on, `want` at most.  *stop: the block at whose start they end,
 * or TRAMP_NONE.
 */
uint32_t mir_free_bytes(struct tramp_mirror *m, uint32_t i, enum mir_run run, uint32_t want,
			uint32_t *stop);

/*
 * Windows for all runs that are reached, slots for those with room for a short jump alone; m->shorts:
 * the runs that it found nothing for.  From scratch each time.
 */
void mir_place(struct tramp_mirror *m);

/* The slot's first byte if it can be in [from, end), for a short jump at `jump`; else TRAMP_NONE. */
uint32_t mir_slot_at(uint32_t jump, uint32_t from, uint32_t end);

/* Blocks (first to last) with bytes in reach of a short jump at `jump`, in block i. */
struct mir_reach {
	uint32_t first, last;
};
struct mir_reach mir_reach(const struct tramp_mirror *m, uint32_t i, uint32_t jump);

/* ---- mirror/x86-64/help.c: what to do about a run that cannot be reached ---- */

/* True: something was changed, place again. */
bool mir_help(struct tramp_mirror *m, const struct mir_window *lack) TRAMP_MUST_CHECK;

/* ---- mirror/x86-64/check.c: may the instructions be moved, and are their boundaries sure ---- */

enum tramp_mirror_status mir_check(struct tramp_mirror *m) TRAMP_MUST_CHECK;

/* ---- mirror/x86-64/ahead.c: more, when all that has to be is placed and checked ---- */

void mir_look_ahead(struct tramp_mirror *m);

/* ---- mirror/x86-64/copy.c ---- */

void mir_emit_blocks(struct tramp_mirror *m);

/* Parts of it, for copies with something in between. */
void mir_put_as_is(struct tramp_mirror *m, const struct tramp_op *op);
void mir_put_original(struct tramp_mirror *m, uint32_t off);	/* jmp */
void mir_put_moved_call(struct tramp_mirror *m, const struct tramp_op *op);
void mir_put_entry_probe(struct tramp_mirror *m, uint32_t i);
void mir_put_exit_probe(struct tramp_mirror *m, uint32_t i, uint32_t orig, tramp_regs live);
void mir_put_jump_out(struct tramp_mirror *m, uint32_t i, uint32_t orig);
void mir_put_label(struct tramp_mirror *m, uint32_t i);		/* 4 bytes: of block i's copy */
void mir_put_stub_label(struct tramp_mirror *m, uint32_t i);	/* 4 bytes */
void mir_put_stub(struct tramp_mirror *m, uint32_t i);
void mir_fix_labels(struct tramp_mirror *m);
tramp_regs mir_live_at_end(const struct tramp_mirror *m, uint32_t i);
uint64_t mir_moved(const struct tramp_mirror *m, uint64_t addr);

/* ---- mirror/x86-64/count.c: counters, if they are wanted ---- */

enum tramp_mirror_status mir_count_plan(struct tramp_mirror *m) TRAMP_MUST_CHECK;
size_t mir_count_room(const struct tramp_mirror *m);	/* bytes in addition to the copies */
void mir_put_counts(struct tramp_mirror *m, uint32_t i, uint32_t k); /* in block i, before instruction k */
void mir_put_entry_count(struct tramp_mirror *m, uint32_t i); /* control comes to block i from outside */
void mir_put_next_count(struct tramp_mirror *m, uint32_t i); /* it goes on from block i into the next one */
void mir_count_enter(struct tramp_mirror *m, uint32_t i); /* what is emitted next belongs to block i */
bool mir_counts_target(const struct tramp_mirror *m, uint32_t i); /* are jumps from block i led to a stub? */
void mir_put_count_stubs(struct tramp_mirror *m);

/* For trips.c: a counter more, the last of its place; @like says what it does. */
void mir_count_add(struct tramp_mirror *m, struct mir_counter c);
void mir_count_on(struct tramp_mirror *m, const struct tramp_edge *e, struct mir_counter like); /* on an edge */
/* One that adds 1, in a block. */
void mir_count_within(struct tramp_mirror *m, uint32_t i, uint32_t counter, enum tramp_probe_trust trust, uint32_t after);

/* ---- mirror/x86-64/trips.c ---- */

/* Where trips of loops are counted, after tramp_count_trips(). */
void mir_trips_plan(struct tramp_mirror *m);
/* The counters of enum rt_trips begin there, after those of edges. */
static inline uint32_t mir_trips_counter(const struct tramp_mirror *m, size_t trips)
{
	return m->counts.ncounters + RT_TRIPS_WORDS * (uint32_t)trips;
}

/* ---- mirror/x86-64/weigh.c: what memory accesses counters stand for ---- */

/* Of blocks; then, when counters are planned, of these.  VARIES: they do not say how many accesses there are. */
enum tramp_mirror_status mir_weigh_blocks(struct tramp_mirror *m) TRAMP_MUST_CHECK;
enum tramp_mirror_status mir_weigh_counters(struct tramp_mirror *m) TRAMP_MUST_CHECK;

/* ---- memory/x86-64/emit.c: the same with what records memory ---- */

enum tramp_mirror_status mir_mem_plan(struct tramp_mirror *m) TRAMP_MUST_CHECK;
bool mir_mem_bare(const struct tramp_mirror *m, uint32_t i);	/* has block i nothing to record? */
size_t mir_mem_room(const struct tramp_mirror *m);	/* bytes in addition to the copies */
void mir_mem_emit_blocks(struct tramp_mirror *m);
void mir_mem_emit_slow_paths(struct tramp_mirror *m);

/*
 * What is emitted next is a probe, or the rest of one, at offset @at: the stream's state is as there, and who is interrupted
 * later does not go on before it.
 */
void mir_mem_apart(struct tramp_mirror *m, uint32_t at);
const struct rt_mem_piece *mir_mem_pieces(const struct tramp_mirror *m, size_t *n);
void mir_mem_plain(struct tramp_mirror *m, uint32_t i, uint32_t k); /* a plain copy of block i's instruction k follows */
void mir_mem_gate(struct tramp_mirror *m, uint32_t i);	/* before block i's plain copy: which copy is to run? */
void mir_mem_unroll(struct tramp_mirror *m, uint32_t i);	/* plain copies of block i, before that */
void mir_mem_free(struct tramp_mirror *m);

/* ---- mirror/x86-64/probes.c: probes, and which instruction each byte stands for ---- */

/* From out.len on: offset `orig`. */
void mir_piece(struct tramp_mirror *m, enum rt_piece_kind kind, uint32_t orig, bool resumable);
void mir_keep(struct tramp_mirror *m, const struct rt_kept *kept);
struct tramp_jump;
void mir_put_probe(struct tramp_mirror *m, const struct tramp_probe *probe, uint32_t orig);
/* Of one probe with its slow path. */
size_t mir_probe_room(const struct tramp_mirror *m);
void mir_probe(struct tramp_mirror *m, enum tramp_probe_kind kind, const struct tramp_jump *jump,
	       tramp_regs live, uint32_t orig);
struct tramp_jump mir_jump_of(const struct tramp_mirror *m, uint32_t i); /* of the end of block i */
void mir_emit_slow_paths(struct tramp_mirror *m);

/* ---- mirror/x86-64/patch.c ---- */

/* Where a run's copy begins in the mirror, the entry's probe included. */
uint32_t mir_run_at(const struct tramp_mirror *m, uint32_t i, enum mir_run run);
void mir_emit_patches(struct tramp_mirror *m);
void mir_note_calls(struct tramp_mirror *m);

#endif
