/* SPDX-License-Identifier: MIT */
/*
 * The machine's state, see memtrace/machine.h.
 *
 * A node is run when it is proven to have come to its end: something follows its words in the
 * stream.  Otherwise its words, as many as there are, are kept in `carry` until the next chunk says more; they are
 * run there, completed from that chunk if need be.
 */
#ifndef SONDE_MEMTRACE_MACHINE_STATE_H
#define SONDE_MEMTRACE_MACHINE_STATE_H

#include "memtrace/machine/code.h"

/*
 * Of a comparison a - b, both shifted up to 64 bits, which leaves all conditions but parity as they are; a & b is
 * compared with 0.
 */
struct mt_flags {
	uint64_t a, b;
	uint8_t shift;
	bool raw;		/* a is rflags */
};

/*
 * When m->limit nodes came without a word, counting goes on so often, and expanding as long as there are accesses: a
 * program may do so, a damaged description would do so for ever.
 */
enum { MT_REFILLS = 256 };

/* Between two operations. */
struct mt_place {
	const struct mt_node *node;	/* NULL: the next word says which */
	uint32_t op;			/* of node, that is to come next */
	uint32_t done;			/* of that op: lanes, or accesses of a string's element */
	uint32_t skip;			/* bytes of the words that the next ops take are not in the stream */
	bool begun;			/* its header has been taken */
};

enum mt_phase {
	MT_TAKEN,	/* feed more */
	MT_CARRY,	/* the node whose words are in carry; then `after` */
	MT_WORDS,	/* what is proven by the chunk's words */
	MT_OUT,		/* up to the place where a word is needed; then what the chunk says */
	MT_INTERRUPT,	/* up to `at`; then what the chunk says */
	MT_CLOSED,	/* START or STATE is needed */
};

#define MT_MAX_ZEROS (1u << 27)

/* A place where a handler came in between. */
struct mt_frame {
	struct mt_frame *below;
	uint32_t depth;
	uint32_t bytes;			/* of carry */
	struct mt_place place;
	struct mt_flags flags;
	uint64_t last;			/* mt_before() there */
	uint64_t reg[MT_SLOTS];
	uint8_t carry[];
};

/* Where a handler came in, for the STATE chunk that says that the program goes on there. */
struct mt_left {
	uint32_t node, insn;
	uint64_t sp;
	uint64_t last;			/* mt_before() there */
};

enum { MT_LEFT = 64 };	/* the newest are known; a power of two */

struct mt_machine {
	struct mt_code *code;
	struct mt_engine *engine;	/* NULL: none */
	uint64_t reg[MT_SYM_VALUE];	/* with what a loop cuts, while it is computed */
	uint64_t stride[MT_SYM_VALUE];	/* 0 for registers, but while a loop is computed */
	struct mt_flags flags;
	struct mt_place place;
	bool proven;			/* the node that is being run */
	bool repeats;			/* mt_machine_repeats() */
	enum mt_phase phase, after;

	const uint8_t *words, *end;	/* where the phase takes its words from */
	const uint8_t *chunk, *chunk_end;	/* words of the chunk that were not reached yet */
	uint32_t kind, depth;		/* of the chunk */
	uint64_t fs;
	struct md_interrupt at;
	const struct mt_node *at_node;
	uint32_t stop, stop_string;	/* its ops that may be the interrupted one; UINT32_MAX: none */
	uint32_t stop_live, string_live;	/* registers that have to be as in `at` there */

	uint8_t *carry;
	uint32_t carried, carry_room;
	uint32_t zeros;			/* bytes that may still be taken for zero after END */
	struct mt_frame *frames;
	uint32_t nframes;
	struct mt_left left[MT_LEFT];
	uint32_t nleft;			/* so many until now */
	uint64_t before, last;		/* instructions of the accesses before those that were handed out last, and before the next */

	uint64_t limit, fuel;		/* nodes without words: so many, and how many are left */
	uint32_t refills;
	uint32_t ids;			/* the engine's */
	enum mt_status late;		/* came after accesses: the next mt_next() says so */
};

/* Where accesses go: into v, or, if counts is not NULL, there. */
struct mt_sink {
	struct mt_access *first, *v, *end;
	struct mt_access *fueled;	/* v when there was new fuel last */
	struct mt_counts *counts;
	bool stack;
	bool switched;			/* what comes next is a handler's, or what it interrupted */
	bool enough;			/* there is some room, but not enough to go on fast */
	bool lost;			/* what comes next is nothing that is described */
};

enum mt_step {
	MT_STEP,		/* go on */
	MT_FULL,		/* no room in the sink */
	MT_STALL,		/* the words do not suffice */
	MT_THERE,		/* the interrupted place */
	MT_ERROR,		/* BAD_STREAM */
};

/* Operations from m->place on, up to the end of the node, where place is the next (machine/ops.c). */
enum mt_step mt_run_ops(struct mt_machine *m, struct mt_sink *sink);
/* Whole nodes, as long as that can be done (machine/fast.c). */
void mt_run_fast(struct mt_machine *m, struct mt_sink *sink);
void mt_compute(uint64_t *reg, const struct mt_flags *flags, const struct mt_op *op, unsigned int code);
bool mt_condition(const struct mt_flags *flags, unsigned int cc);

/* ---- places (machine/place.c) ---- */

/*
 * Finds out which node comes next, if that is in the stream, whose next words are [@words, @end).  MT_STALL:
 * no word is left.
 */
enum mt_step mt_place_find(const struct mt_code *code, struct mt_place *place, const uint8_t *words,
			   const uint8_t *end);
/* Bytes that the node at @place, which is known, still takes from the stream. */
uint32_t mt_place_words(const struct mt_place *place);
/* Prepares for the search of the place m->at. */
bool mt_place_interrupt(struct mt_machine *m);
enum mt_reached {
	MT_NOT_YET,
	MT_REACHED,
	MT_REACHED_STRING,	/* ... when the string has been run as far as m->at says */
} mt_place_reached(const struct mt_machine *m);
/* Where a word is needed, and there is none: can m->at be before @node's header? */
bool mt_place_before(const struct mt_machine *m, const struct mt_node *node);
/* Goes to where MD_CHUNK_STATE says. */
bool mt_place_state(struct mt_machine *m);

/* ---- chunks (machine/chunk.c) ---- */

/* No memory: MT_FULL. */
enum mt_step mt_chunk_stall(struct mt_machine *m);	/* MT_WORDS: what is left is not proven */
enum mt_step mt_chunk_finish(struct mt_machine *m);	/* MT_OUT, MT_INTERRUPT: at their end */
void mt_chunk_carried(struct mt_machine *m);		/* MT_CARRY: the node is done */

static inline uint64_t mt_load8(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
	return v;
}

static inline uint32_t mt_load4(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return v;
}

#endif
