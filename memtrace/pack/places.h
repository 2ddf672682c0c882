/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * code.places, a file of a trace: what the recorded code is called.  Of each object (as the metadata number them) the
 * instrumented functions, their source lines, and, where memory accesses were recorded, their loops.  It is why nobody has to
 * look into the program's files, which may be others by then.
 *
 * Functions whose memory accesses are recorded are written with their loops when the code is instrumented; all others, and
 * lines, when the program has ended: that must not make it start later, and reading debug information takes long.  So a
 * trace whose recorder was killed lacks them.
 *
 * All addresses are those in the file.
 */
#ifndef SONDE_MEMTRACE_PACK_PLACES_H
#define SONDE_MEMTRACE_PACK_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/buffer.h"
#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/write/writer.h"

/* ---- writing ---- */

/* What is known of an object's places, until it is written.  All zero: nothing yet.  Strings are copied. */
struct mt_places {
	struct tf_buf functions, loops, ranges, files, lines; /* encoded */
	struct tf_buf text;	/* names of functions, one after another */
	struct tf_buf paths;	/* likewise */
	uint64_t nfunctions, nloops, nranges, nfiles, nlines;
	uint64_t function_end, loop, range, line_at; /* the last ones */
	const char *file;	/* of the last line: the caller's */
	uint64_t file_index;
	int line;
	struct mt_place_path *known; /* files, by hash */
	size_t room;
	bool failed;		/* no memory, or not in order */
};

/* Ascending, not overlapping. */
void mt_places_function(struct mt_places *p, uint64_t addr, uint64_t size, const char *name);
/* They are numbered from 0 on, in this order. */
void mt_places_loop(struct mt_places *p, uint64_t head, uint32_t depth);
/* Ascending: from @addr on code is of this loop, or (MT_NO_LOOP) of none. */
#define MT_NO_LOOP UINT32_MAX
void mt_places_range(struct mt_places *p, uint64_t addr, uint32_t loop);
/* Ascending: from @addr on it is this line; @file NULL: not known, or of no function. */
void mt_places_line(struct mt_places *p, uint64_t addr, const char *file, int line);

/*
 * Appends it to the trace.  @lines: that is all lines that there are, even if there are none.  Errors as in
 * tracefmt/write/writer.h; E_INVALID: it is larger than TF_MAX_RAW, or was not in order, and is not written.
 */
TF_CHECK enum sonde_trace_status mt_write_places(struct tf_writer *w, const struct mt_places *p, uint32_t object,
						 bool lines);
void mt_places_free(struct mt_places *p);

/* ---- reading ---- */

struct mt_placed; /* a trace's */

/*
 * @dir: of a rank; @trace: its id, in all files.  What cannot be read of it counts as damage; NULL: no memory.
 */
struct mt_placed *mt_placed_open(const char *dir, uint64_t trace);
/* The same of a rank of @trace. */
struct mt_placed *mt_placed_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank);
void mt_placed_close(struct mt_placed *p);

/* The same from memory, piece by piece, for mt_placed_open() and for tests.  False: it is damaged, or no memory. */
bool mt_placed_add(struct mt_placed *p, const uint8_t *body, size_t size);

/* Parts of the file that are missing or damaged: some names are not known. */
uint64_t mt_placed_damage(const struct mt_placed *p);

/* Fills in function, entry, size, loop and loop_depth, if they are known, and lines of both. */
void mt_placed_find(const struct mt_placed *p, uint32_t object, uint64_t addr, struct sonde_trace_place *place);

/* Calls @line for all places of an object in [lo, hi] from which on the code is of another line; ascending among those of a piece. */
void mt_placed_each_line(const struct mt_placed *p, uint32_t object, uint64_t lo, uint64_t hi,
			 void (*line)(void *arg, uint64_t addr, const char *file, int line), void *arg);

/* Calls @function for all functions of all objects. */
void mt_placed_each_function(const struct mt_placed *p,
			     void (*function)(void *arg, uint32_t object, uint64_t addr, uint64_t size, const char *name),
			     void *arg);

/* Have the object's lines been written?  Then there are no others. */
bool mt_placed_has_lines(const struct mt_placed *p, uint32_t object);

#endif
