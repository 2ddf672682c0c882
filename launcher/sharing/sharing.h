/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde sharing': lines of memory that threads take from each other (analysis/sharing/).  sharing.c has the options and reads the trace,
 * rows.c says what a line is in words, padding.c moves variables apart to see what that saves, print.c and data.c print it.
 */
#ifndef SONDE_LAUNCHER_SHARING_SHARING_H
#define SONDE_LAUNCHER_SHARING_SHARING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/names/names.h"
#include "analysis/sharing/sharing.h"
#include "launcher/common/options.h"
#include "launcher/memory/memnames.h"
#include "launcher/memory/memwhere.h"

/* ---- rows ---- */

/* One of both that a line goes to and fro between. */
struct sharing_side {
	struct sh_use use;
	char *function, *file, *object; /* NULL: not known */
	int line;
	uint64_t address; /* of the instruction, in the object */
	uint64_t data;	  /* address of the first byte that it accesses */
	char *variable;	  /* as names are written, with what of it; NULL: not known */
	bool whole;	  /* its type is known */
};

struct sharing_row {
	struct sh_line line; /* uses: not those any more */
	uint64_t lines;	     /* that the same instructions of threads share; transfers, accesses and stores are of all, the rest of one */
	int rank;	     /* -1: none */
	struct sharing_side side[2];
	char *threads;	     /* which bytes each thread reads and writes */
	char *advice;
};

struct sharing_pads;

struct sharing_rows {
	const struct sharing_pads *pads; /* addresses are those that these make */
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
/* Those of most transfers first. */
void sharing_rows_sort(struct sharing_rows *rows);
void sharing_rows_free(struct sharing_rows *rows);

/* "counters.hits[]", as users name it; NULL: it has no name, or no memory. */
char *sharing_variable(const struct nm_place *place);

/* ---- what if ---- */

/* A variable, or its elements, each at a multiple of so many bytes. */
struct sharing_pad {
	char *name;
	uint64_t element; /* bytes; 0: as its type says */
	uint64_t align;
};

struct sharing_pads {
	struct sharing_pad *v;
	size_t n, room;
	struct sharing_place *places; /* where these are in memory, in the rank */
	size_t nplaces, room_places;
	struct mt_access *batch;
	size_t room_batch;
};

/* "NAME[/BYTES][:ALIGN]"; align is @line if it is not said.  False: it is none, or no memory. */
bool sharing_pads_parse(struct sharing_pads *pads, const char *text, unsigned int line);
void sharing_pads_free(struct sharing_pads *pads);
/* Finds them among what is shared; a bit of a line's stands for @each bytes.  Returns the name that is not, "" for no memory, or NULL. */
const char *sharing_pads_find(struct sharing_pads *pads, const struct sh *s, struct memnames *names, unsigned int each);
/* Where it was before it was moved. */
uint64_t sharing_pads_original(const struct sharing_pads *pads, uint64_t addr);
/* The batch with other addresses, until the next call; NULL: no memory. */
const struct mt_access *sharing_pads_take(struct sharing_pads *pads, const struct mt_access *v, size_t n);

/* ---- output ---- */

struct sharing_what_if {
	const struct sharing_pads *pads; /* n: 0: none */
	struct sh_sum before;
};

void sharing_table(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out);
void sharing_csv(const struct sharing_rows *rows, uint64_t limit, FILE *out);
bool sharing_json(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out)
	__attribute__((warn_unused_result));

#endif
