/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * code.places, a file of a trace beside code.memory: what the recorded code is called.  Of each object (as the metadata
 * number them) the instrumented functions, their loops, and the source lines of what accesses memory there.  It is why
 * nobody has to look into the program's files, which may be others by then.
 *
 * Functions and loops are written when the code is instrumented, lines when the program has ended: reading debug
 * information takes long.  So a trace whose recorder was killed has no lines.
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

/* What is told of an object, on its way into the file.  All zero: nothing yet.  Strings are copied. */
struct tf_places {
	struct tf_buf functions, loops, ranges, files, lines; /* encoded */
	struct tf_buf text;	/* names of functions, one after another */
	struct tf_buf paths;	/* likewise */
	uint64_t nfunctions, nloops, nranges, nfiles, nlines;
	uint64_t function_end, loop, range, line_at; /* the last ones */
	const char *file;	/* of the last line: the caller's */
	uint64_t file_index;
	int line;
	struct tf_place_path *known; /* files, by hash */
	size_t room;
	bool failed;		/* no memory, or not in order */
};

/* Ascending, not overlapping. */
void tf_places_function(struct tf_places *p, uint64_t addr, uint64_t size, const char *name);
/* They are numbered from 0 on, in this order. */
void tf_places_loop(struct tf_places *p, uint64_t head, uint32_t depth);
/* Ascending: from @addr on code is of this loop, or (TF_NO_LOOP) of none. */
#define TF_NO_LOOP UINT32_MAX
void tf_places_range(struct tf_places *p, uint64_t addr, uint32_t loop);
/* Ascending: from @addr on, among the addresses that are asked for, it is this line; @file NULL: not known. */
void tf_places_line(struct tf_places *p, uint64_t addr, const char *file, int line);

/*
 * Appends it to the trace.  @lines: that is all lines that there are, even if there are none.  Errors as in
 * tracefmt/write/writer.h; E_INVALID: it is larger than TF_MAX_RAW, or was not in order, and is not written.
 */
TF_CHECK enum sonde_trace_status tf_writer_places(struct tf_writer *w, const struct tf_places *p, uint32_t object,
						  bool lines);
void tf_places_free(struct tf_places *p);

/* ---- reading ---- */

struct tf_placed; /* a trace's */

/*
 * @dir: of a rank; @trace: its id, in all files.  What cannot be read of it counts as damage; NULL: no memory.
 */
struct tf_placed *tf_placed_open(const char *dir, uint64_t trace);
void tf_placed_close(struct tf_placed *p);

/* The same from memory, piece by piece, for tf_placed_open() and for tests.  False: it is damaged, or no memory. */
bool tf_placed_add(struct tf_placed *p, const uint8_t *body, size_t size);

/* Parts of the file that are missing or damaged: some names are not known. */
uint64_t tf_placed_damage(const struct tf_placed *p);

/* Fills in function, entry, size, loop and loop_depth, if they are known, and lines of both. */
void tf_placed_find(const struct tf_placed *p, uint32_t object, uint64_t addr, struct sonde_trace_place *place);

/* Have the object's lines been written?  Then there are no others. */
bool tf_placed_has_lines(const struct tf_placed *p, uint32_t object);

#endif
