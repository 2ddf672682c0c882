/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables for people: columns as wide as what is in them, figures to the right.  What comes last in a row, mostly a name, the caller
 * writes.  A function of the caller's gives the cells of a row with their titles, the same columns for each row; it is called for all
 * rows, then for any of them, which writes the titles, then for all again, which writes them.
 *
 *	static void put(struct table *t, const struct row *row)
 *	{
 *		table_cell(t, "calls", 0, "%" PRIu64, row->calls);
 *		table_cell(t, "share", 1, "%.1f%%", row->share);
 *		if (table_row(t))
 *			fprintf(t->out, "%s\n", row->name);
 *	}
 *
 *	struct table t = { .out = stdout };
 *
 *	for (size_t i = 0; i < n; i++)
 *		put(&t, &v[i]);
 *	table_fit(&t, units_terminal_width(), 24);
 *	put(&t, &v[0]);
 *	puts("function");
 *	for (size_t i = 0; i < n; i++)
 *		put(&t, &v[i]);
 */
#ifndef SONDE_LAUNCHER_COMMON_TABLE_H
#define SONDE_LAUNCHER_COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 128 /* at most; more are not shown */
#define TABLE_CELL_MAX 128 /* bytes of a figure, with its NUL */

/* Zeroed but for the first two. */
struct table {
	FILE *out;
	bool utf8; /* where texts are cut there may be an ellipsis */
	enum { TABLE_MEASURES, TABLE_WRITES_TITLES, TABLE_WRITES_ROWS } pass;
	size_t column, ncolumns; /* the next one; how many there are */
	struct table_column {
		size_t width;
		unsigned int drop;
	} columns[TABLE_COLUMNS];
};

/* A figure.  @drop: of the columns for which it is not 0, those with the lowest go first where there is no room. */
void table_cell(struct table *t, const char *title, unsigned int drop, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Text, to the left; cut in the middle to @most columns of the terminal unless that is 0. */
void table_text(struct table *t, const char *title, size_t most, const char *text);
/* Ends the cells of a row.  True: they have been written; what else is in the line follows. */
bool table_row(struct table *t);

/*
 * All rows are measured: leaves out columns until @rest columns of the terminal are left after them.  Returns how many are left, at
 * least @rest; 0 if @width is 0, which is without limit.
 */
size_t table_fit(struct table *t, size_t width, size_t rest);
/* Of all cells of a row, with the spaces after each. */
size_t table_width(const struct table *t);

#endif
