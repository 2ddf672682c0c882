/* SPDX-License-Identifier: MIT */
/*
 * The machine's state, see trampolines/memexpand.h.
 *
 * A node is run when it is proven to have come to its end: something follows behind its words in the
 * stream.  Otherwise its words, as many as there are, are kept in `carry` until the next chunk says more; they are
 * run there, completed from that chunk if need be.
 */
#ifndef SONDE_TRAMPOLINES_MEMEXPANDMACHINE_H
#define SONDE_TRAMPOLINES_MEMEXPANDMACHINE_H

#include "trampolines/memexpandcode.h"

/*
 * Of a comparison a - b, both shifted up to 64 bits, which leaves all conditions but parity as they are; a & b is
 * compared with 0.
 */
struct mx_flags {
	uint64_t a, b;
	uint8_t shift;
	bool raw;		/* a is rflags */
};

/*
 * When m->limit nodes came without a word, counting goes on so often, and expanding as long as there are accesses: a
 * program may do so, a damaged description would do so for ever.
 */
enum { MX_REFILLS = 256 };

/* Between two operations. */
struct mx_place {
	const struct mx_node *node;	/* NULL: the next word says which */
	uint32_t op;			/* of node, that is to come next */
	uint32_t done;			/* of that op: lanes, or accesses of a string's element */
	uint32_t skip;			/* bytes of the words that the next ops take are not in the stream */
	bool begun;			/* its header has been taken */
};

enum mx_phase {
	MX_TAKEN,	/* feed more */
	MX_CARRY,	/* the node whose words are in carry; then `after` */
	MX_WORDS,	/* what is proven by the chunk's words */
	MX_OUT,		/* up to the place where a word is needed; then what the chunk says */
	MX_INTERRUPT,	/* up to `at`; then what the chunk says */
	MX_CLOSED,	/* START or STATE is needed */
};

#define MX_MAX_ZEROS (1u << 27)

/* A place where a handler came in between. */
struct mx_frame {
	struct mx_frame *below;
	uint32_t depth;
	uint32_t bytes;			/* of carry */
	struct mx_place place;
	struct mx_flags flags;
	uint64_t reg[MX_SLOTS];
	uint8_t carry[];
};

struct mx_machine {
	struct mx_code *code;
	struct mx_engine *engine;	/* NULL: none */
	uint64_t reg[MX_SYM_VALUE];	/* with what a loop cuts, while it is computed */
	uint64_t growth[MX_SYM_VALUE];	/* 0 for registers, but while a loop is computed */
	struct mx_flags flags;
	struct mx_place place;
	bool proven;			/* the node under way */
	enum mx_phase phase, after;

	const uint8_t *words, *end;	/* where the phase takes its words from */
	const uint8_t *chunk, *chunk_end;	/* words of the chunk that were not reached yet */
	uint32_t kind, depth;		/* of the chunk */
	uint64_t fs;
	struct md_interrupt at;
	const struct mx_node *at_node;
	uint32_t stop, stop_string;	/* its ops that may be the interrupted one; UINT32_MAX: none */
	uint32_t stop_live, string_live;	/* registers that have to be as in `at` there */

	uint8_t *carry;
	uint32_t carried, carry_room;
	uint32_t zeros;			/* bytes that may still be taken for zero behind END */
	struct mx_frame *frames;
	uint32_t nframes;

	uint64_t limit, fuel;		/* nodes without words: so many, and how many are left */
	uint32_t refills;
	uint32_t ids;			/* the engine's */
};

/* Where accesses go: into v, or, if counts is not NULL, there. */
struct mx_sink {
	struct mx_access *v, *end;
	struct mx_access *fueled;	/* v when there was new fuel last */
	struct mx_counts *counts;
	bool stack;
	bool enough;			/* there is some room, but not enough to go on fast */
	bool lost;			/* what comes next is nothing that is described */
};

enum mx_step {
	MX_STEP,		/* go on */
	MX_FULL,		/* no room in the sink */
	MX_STALL,		/* the words do not suffice */
	MX_THERE,		/* the interrupted place */
	MX_ERROR,		/* BAD_STREAM */
};

/* Operations from m->place on, up to the end of the node, where place is the next (memexpandops.c). */
enum mx_step mx_run_ops(struct mx_machine *m, struct mx_sink *sink);
/* Whole nodes, as long as that can be done (memexpandfast.c). */
void mx_run_fast(struct mx_machine *m, struct mx_sink *sink);
void mx_compute(uint64_t *reg, const struct mx_flags *flags, const struct mx_op *op, unsigned int code);
bool mx_condition(const struct mx_flags *flags, unsigned int cc);

/* ---- places (memexpandplace.c) ---- */

/*
 * Finds out which node comes next, if that is in the stream, whose next words are [@words, @end).  MX_STALL:
 * no word is left.
 */
enum mx_step mx_place_find(const struct mx_code *code, struct mx_place *place, const uint8_t *words,
			   const uint8_t *end);
/* Bytes that the node at @place, which is known, still takes from the stream. */
uint32_t mx_place_words(const struct mx_place *place);
/* Prepares for the search of the place m->at. */
bool mx_place_interrupt(struct mx_machine *m);
enum mx_reached {
	MX_NOT_YET,
	MX_REACHED,
	MX_REACHED_STRING,	/* ... when the string has been run as far as m->at says */
} mx_place_reached(const struct mx_machine *m);
/* Where a word is needed, and there is none: can m->at be in front of @node's header? */
bool mx_place_before(const struct mx_machine *m, const struct mx_node *node);
/* ... can it be behind @peek where that looks, in front of the header that is looked for? */
bool mx_place_ahead(const struct mx_machine *m, const struct mx_op *peek);
/* Goes to where MD_CHUNK_STATE says. */
bool mx_place_state(struct mx_machine *m);

/* ---- chunks (memexpandchunk.c) ---- */

/* No memory: MX_FULL. */
enum mx_step mx_chunk_stall(struct mx_machine *m);	/* MX_WORDS: what is left is not proven */
enum mx_step mx_chunk_finish(struct mx_machine *m);	/* MX_OUT, MX_INTERRUPT: at their end */
void mx_chunk_carried(struct mx_machine *m);		/* MX_CARRY: the node is done */

static inline uint64_t mx_load8(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, 8);
	return v;
}

static inline uint32_t mx_load4(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, 4);
	return v;
}

#endif
