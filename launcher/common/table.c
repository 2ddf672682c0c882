/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/table.h"
#include "launcher/common/units.h"

#include <stdarg.h>

#define GAP 2 /* spaces after a column */

static void put(struct table *t, bool left, const char *title, unsigned int drop, size_t most, const char *text)
{
	struct table_column *c = &t->columns[t->column];
	size_t width = units_width(text), of_title = units_width(title);

	if (t->column == TABLE_COLUMNS)
		return;
	t->column++;
	if (t->pass == TABLE_MEASURES) {
		width = most && width > most ? most : width;
		width = width > of_title ? width : of_title;
		c->width = c->width > width ? c->width : width;
		c->drop = drop;
		return;
	}
	if (!c->width)
		return; /* left out */
	if (t->pass == TABLE_WRITES_TITLES) {
		text = title;
		width = of_title;
	}
	width = width < c->width ? width : c->width;
	fprintf(t->out, "%*s", left ? 0 : (int)(c->width - width), "");
	units_text(t->out, text, c->width, t->utf8);
	fprintf(t->out, "%*s", (left ? (int)(c->width - width) : 0) + GAP, "");
}

void table_cell(struct table *t, const char *title, unsigned int drop, const char *fmt, ...)
{
	char text[TABLE_CELL_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	put(t, false, title, drop, 0, text);
}

void table_text(struct table *t, const char *title, size_t most, const char *text)
{
	put(t, true, title, 0, most, text);
}

bool table_row(struct table *t)
{
	bool written = t->pass == TABLE_WRITES_ROWS;

	t->ncolumns = t->column;
	t->column = 0;
	if (t->pass == TABLE_WRITES_TITLES)
		t->pass = TABLE_WRITES_ROWS;
	return written;
}

size_t table_width(const struct table *t)
{
	size_t width = 0;

	for (size_t i = 0; i < t->ncolumns; i++)
		width += t->columns[i].width ? t->columns[i].width + GAP : 0;
	return width;
}

/* False: none may go. */
static bool drop_column(struct table *t)
{
	struct table_column *least = NULL;

	for (struct table_column *c = t->columns; c < t->columns + t->ncolumns; c++)
		if (c->width && c->drop && (!least || c->drop < least->drop))
			least = c;
	if (least)
		least->width = 0;
	return least != NULL;
}

size_t table_fit(struct table *t, size_t width, size_t rest)
{
	t->pass = TABLE_WRITES_TITLES;
	while (width && table_width(t) + rest > width && drop_column(t))
		;
	return !width ? 0 : table_width(t) + rest > width ? rest : width - table_width(t);
}
