/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde sharing': lines of memory that threads take from each other (analysis/sharing/).  sharing.c has the options and reads the trace,
 * rows.c says what a line is in words, named.c what data are called, advice.c what to do, padding.c moves variables apart and layouts.c changes types to see
 * what that saves, print.c and data.c print it.
 */
#ifndef SONDE_LAUNCHER_SHARING_SHARING_H
#define SONDE_LAUNCHER_SHARING_SHARING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/names/layout.h"
#include "analysis/names/names.h"
#include "analysis/sharing/sharing.h"
#include "launcher/common/options.h"
#include "launcher/memory/names/memnames.h"
#include "launcher/memory/memwhere.h"

/* ---- the trace ---- */

typedef int sharing_print_fn(void *arg, const struct sonde_trace *trace);

/*
 * Visits a trace of accesses, and then has @print print what @visitor's arg has of it.  *@damage is looked at last.  Returns 0, or an exit status
 * after a message.
 */
int sharing_read(const char *dir, struct pick *pick, const struct memtrace_visitor *visitor, sharing_print_fn *print, const uint64_t *damage);

/* ---- rows ---- */

/* One of both that a line goes to and fro between. */
struct sharing_side {
	struct sh_use use;
	char *function, *file, *object; /* NULL: not known */
	int line;
	uint64_t address; /* of the instruction, in the object */
	uint64_t data;	  /* address of the first byte that it accesses */
	char *variable;	  /* as names are written, with what of it; NULL: not known */
	enum nm_kind kind; /* of it, if it has a name, and: */
	uint32_t of;	  /* which one, in the rank; 0: none */
	uint64_t begin;	  /* address of it, or of the block; 0: not known */
	bool whole;	  /* its type is known */
};

struct sharing_row {
	struct sh_line line; /* uses: not those any more */
	uint64_t lines;	     /* that the same instructions of threads share; transfers, accesses and stores are of all, the rest of one */
	int rank;	     /* -1: none */
	struct sharing_side side[2];
	char *threads;	     /* which bytes each thread reads and writes */
	char *advice; /* by sharing_rows_finish() */
};

struct sharing_moves;

struct sharing_rows {
	const struct sharing_moves *moves; /* addresses are those that these make; NULL: none */
	struct sharing_row *v;
	size_t n, room;
	unsigned int bytes;  /* of a line */
	uint64_t least;	     /* transfers of lines that are rows */
	struct sh_sum sum;   /* of all lines, and of those that are none: */
	uint64_t few;	     /* for they have fewer transfers */
	bool all;	     /* rows are those, too, that are handed over */
	uint64_t latency;    /* cycles of a transfer; 0: not known */
	const char *system;  /* by this system */
};

/* Bytes that a bit of a line's stands for. */
unsigned int sharing_grain(unsigned int line);

const char *sharing_class_word(enum sh_class class);

/* Adds the lines of a rank.  @names: NULL: data have none.  False: no memory. */
bool sharing_rows_add(struct sharing_rows *rows, const struct sh *s, struct memwhere *where, struct memnames *names, int rank)
	__attribute__((warn_unused_result));
/* Those of most transfers first, with advice.  False: no memory. */
bool sharing_rows_finish(struct sharing_rows *rows) __attribute__((warn_unused_result));
void sharing_rows_free(struct sharing_rows *rows);

char *sharing_advice(const struct sharing_row *r, unsigned int bytes);

/* ---- names ---- */

/* "counters.hits[]", as users name it, "malloc[].x in make"; NULL: it has no name, or no memory. */
char *sharing_variable(const struct nm_place *place);
/* Likewise, without what of it: "counters", "malloc in make". */
char *sharing_whole(const struct nm_place *place);
/* What the side accesses of the line, as far as that is global or in the heap.  False: no memory. */
bool sharing_name(struct sharing_rows *rows, const struct sh_line *line, struct sharing_side *side, struct memnames *names)
	__attribute__((warn_unused_result));
/*
 * Of rows from @first on, what has no name yet: is it on a thread's stack, or thread-local?  All accesses of the rank are gone
 * through, unless all have names; @any is one of its threads.  False: no memory.
 */
bool sharing_name_stacks(struct sharing_rows *rows, size_t first, struct memnames *names, const struct memtrace_thread *any)
	__attribute__((warn_unused_result));

/* ---- what if ---- */

/* A variable, or its elements, each at a multiple of so many bytes. */
struct sharing_pad {
	char *name;
	uint64_t element; /* bytes; 0: as its type says */
	uint64_t align;
	bool blocks; /* of the heap, "malloc in make": each by itself, or its elements */
	bool found;  /* of these: they were accessed */
};

struct sharing_pads {
	struct sharing_pad *v;
	size_t n, room;
	struct sharing_place *places; /* where these are in memory, in the rank */
	size_t nplaces, room_places;
	struct mt_access *batch;
	size_t room_batch;
	bool blocks; /* any is of blocks of the heap, which have places in layouts.c */
};

/* "NAME[/BYTES][:ALIGN]"; align is @line if it is not said.  False: it is none, or no memory. */
bool sharing_pads_parse(struct sharing_pads *pads, const char *text, unsigned int line);
void sharing_pads_free(struct sharing_pads *pads);
/* Finds them among what is shared; a bit of a line's stands for @each bytes.  Returns the name that is not, "" for no memory, or NULL. */
const char *sharing_pads_find(struct sharing_pads *pads, const struct sh *s, struct memnames *names, unsigned int each);
/* Where it was before it was moved: *addr.  False: it was not. */
bool sharing_pads_original(const struct sharing_pads *pads, uint64_t *addr);
/* Where it is then; @addr itself, if it is not moved. */
uint64_t sharing_pads_moved(const struct sharing_pads *pads, uint64_t addr);
/* The batch with other addresses, until the next call; NULL: no memory. */
const struct mt_access *sharing_pads_take(struct sharing_pads *pads, const struct mt_access *v, size_t n);

/* Types with other layouts. */
struct sharing_layouts {
	struct nm_change *v;
	size_t n, room;
	/* of the rank: */
	struct sharing_layout *variable; /* by index */
	size_t nvariables, room_variables;
	struct sharing_block *block;
	size_t nblocks, room_blocks;
	uint32_t *table; /* index of blocks + 1 */
	size_t slots;
	uint64_t arrays;
	struct mt_access *batch;
	size_t nbatch, room_batch;
	bool padded; /* what changes is among what is padded */
};

/* "TYPE.member", or with @soa "TYPE".  False: it is none, or no memory. */
bool sharing_layouts_parse(struct sharing_layouts *l, const char *text, bool soa);
/* What is of a rank goes before its names do. */
void sharing_layouts_end_rank(struct sharing_layouts *l);
void sharing_layouts_free(struct sharing_layouts *l);
/* As above, what is padded, too, blocks of the heap as well; the thread is @names'.  *n: of what is returned. */
const struct mt_access *sharing_layouts_take(struct sharing_layouts *l, struct sharing_pads *pads, struct memnames *names,
					     const struct mt_access *v, size_t *n);
bool sharing_layouts_original(const struct sharing_layouts *l, uint64_t *addr);

/* Both, of different variables. */
struct sharing_moves {
	struct sharing_pads pads;
	struct sharing_layouts layouts;
};

static inline bool sharing_moves_any(const struct sharing_moves *moves)
{
	return moves && (moves->pads.n || moves->layouts.n);
}

/* Does what moves depend on the name that each access has? */
static inline bool sharing_moves_by_name(const struct sharing_moves *moves)
{
	return moves->layouts.n || moves->pads.blocks;
}

static inline uint64_t sharing_moves_original(const struct sharing_moves *moves, uint64_t addr)
{
	if (moves && !sharing_pads_original(&moves->pads, &addr))
		(void)sharing_layouts_original(&moves->layouts, &addr);
	return addr;
}

/* ---- output ---- */

struct sharing_what_if {
	const struct sharing_moves *moves; /* NULL: none */
	struct sh_sum before;
};

void sharing_table(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out);
void sharing_csv(const struct sharing_rows *rows, uint64_t limit, FILE *out);
bool sharing_json(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out)
	__attribute__((warn_unused_result));

#endif
