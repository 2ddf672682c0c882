/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a report counts.  A row is a function as recorded by one module, a point in one, or a counter.
 * Sites (places that record, several to a row) lead to their row.
 *
 * Fields of type "bytes" are summed up by name.  Each name is a column; a row has a slot for each of
 * its columns.  Where entry and return of a row both tell a field of that name, the return's value
 * counts, since it is what came of what had been asked for; the entry's is held until then, and counts
 * if the call never returns.
 *
 * Calls that wait, and those whose time is apart, belong to classes: what their module says they wait for, or are apart
 * as.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_ROWS_H
#define SONDE_LAUNCHER_REPORT_REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "sonde/trace.h"

#define REPORT_MAX_COLUMNS 64u /* fields of further names are not summed up */
#define REPORT_NO_SLOT UINT32_MAX
#define REPORT_MAX_CLASSES 64u /* those of further names are "other" */

enum report_kind { REPORT_FUNCTION, REPORT_POINT, REPORT_COUNTER };

struct report_row {
	enum report_kind kind;
	const struct sonde_trace_function *function; /* NULL: a counter of none */
	const struct sonde_trace_module *module;     /* NULL: Sonde itself */
	const char *name;			     /* of a point or counter */
	uint32_t slots;				     /* first of a list, or REPORT_NO_SLOT */
	bool ambiguous; /* a function of another file has the same name */
};

struct report_slot {
	uint32_t column;
	uint32_t next;	/* of the same row, or REPORT_NO_SLOT */
	bool at_return; /* known when a call returns */
};

struct report_amount {
	uint32_t slot;
	uint8_t value; /* index of the event's value */
	bool held;     /* until the call returns */
};

struct report_site {
	const struct sonde_trace_site *site;
	uint32_t row;
	uint32_t module; /* index; the number of modules for Sonde itself */
	uint32_t amounts, namounts;
	uint32_t time_class; /* of sites that wait or are apart */
};

struct report_class {
	const char *name;
	bool apart; /* else waiting */
};

struct report_rows {
	struct report_row *row;
	size_t n;
	struct report_site *sites;
	struct report_amount *amounts;
	struct report_slot *slots;
	size_t nslots, slots_room;
	const char *columns[REPORT_MAX_COLUMNS];
	size_t ncolumns;
	struct report_class classes[REPORT_MAX_CLASSES];
	size_t nclasses;
	uint32_t *counters; /* rows, by index of the trace's counter */
	uint32_t *counted;  /* rows, by index of functions whose calls were counted; else REPORT_NO_SLOT */
	size_t nmodules;    /* of the trace */
	uint32_t *site_table, *row_table; /* hashed; index + 1, 0: free */
	size_t site_room, row_room;
};

/* Never fails but for lack of memory, which ends the program with a message. */
void report_rows_init(struct report_rows *rows, const struct sonde_trace *trace);
void report_rows_free(struct report_rows *rows);

/* @site is one of the trace's. */
static inline const struct report_site *report_site_find(const struct report_rows *rows,
							  const struct sonde_trace_site *site)
{
	size_t at = hash_slot(i, rows->site_room, hash_word((uintptr_t)site),
			      rows->sites[rows->site_table[i] - 1].site == site);

	return &rows->sites[rows->site_table[at] - 1];
}

/* How many columns of bytes a row has. */
size_t report_row_slots(const struct report_rows *rows, size_t row);

/* Returns @p, which came from malloc() or its kin, or ends the program. */
void *report_need(void *p) __attribute__((warn_unused_result));

/* array_room(), or ends the program. */
#define report_room(v, room, need) ((void)(array_room(v, room, need) || report_need(NULL)))
void *report_zeroed(size_t n, size_t size) __attribute__((warn_unused_result));

#endif
