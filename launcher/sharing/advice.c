/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What to do about a line: a sentence. */
#include "launcher/sharing/sharing.h"

#include <stdlib.h>
#include <string.h>

static const char *what(const struct sharing_side *s)
{
	return s->variable ? s->variable : s->function ? s->function : "one thread";
}

/* How much of the name --pad takes: a field, or the elements of one; else all of the variable. */
static int to_pad(const char *name, int stem)
{
	const int n = (int)strcspn(name, " "), array = (int)strcspn(name, "[");

	return name[stem] == '.' && array + 2 >= n ? n : stem;
}

static int of_blocks(const struct sharing_row *r, unsigned int bytes, char **text)
{
	const struct sharing_side *a = &r->side[0], *b = &r->side[1];

	if (a->of == b->of && a->begin && a->begin == b->begin)
		return asprintf(text, "different parts of a block are for different threads: pad what each uses to %u bytes (alignas(%u) in its type, "
				      "and aligned_alloc), or let each thread allocate its own", bytes, bytes);
	return asprintf(text, "blocks that were allocated beside each other are for different threads: let each begin at a multiple of %u bytes "
			      "(aligned_alloc) and have whole lines, or let each thread allocate its own", bytes);
}

static int of_variables(const struct sharing_row *r, unsigned int bytes, char **text)
{
	const struct sharing_side *a = &r->side[0], *b = &r->side[1];
	const bool stores[2] = { a->use.writes != 0, b->use.writes != 0 };
	const int stem = (int)strcspn(a->variable, ".[ "), part = to_pad(a->variable, stem);
	const bool global = a->kind == NM_GLOBAL || a->kind == NM_STATIC;

	if (a->of == b->of)
		return asprintf(text, "different parts of %.*s are for different threads: pad each to %u bytes (alignas(%u)), or count in a local "
				      "variable and store once%s%.*s%s", stem, a->variable, bytes, bytes, global ? "; --pad='" : "",
				global ? part : 0, a->variable, global ? "' shows what padding saves" : "");
	if (stores[0] != stores[1])
		return asprintf(text, "%s is only read here, %s is stored to: move one to another line (alignas(%u), or another place in its "
				      "structure)", what(stores[0] ? b : a), what(stores[0] ? a : b), bytes);
	return asprintf(text, "%s and %s are neighbours by chance: align one of them to %u bytes, or declare them apart", what(a), what(b), bytes);
}

char *sharing_advice(const struct sharing_row *r, unsigned int bytes)
{
	const struct sharing_side *a = &r->side[0], *b = &r->side[1];
	char *text = NULL;
	int n;

	if (r->line.class == SH_TRUE)
		n = asprintf(&text, "threads access the same bytes, so padding does not help: keep a value for each thread, and sum up at the "
				    "end, or access it less often");
	else if (!a->variable || !b->variable)
		n = asprintf(&text, "they are in memory without a name, most likely allocated: let what each thread %s begin at a multiple of %u "
				    "bytes (aligned_alloc), or allocate it in the thread that uses it in blocks of whole lines",
			     a->use.writes && b->use.writes ? "stores to" : "uses", bytes);
	else if (a->kind == NM_HEAP && b->kind == NM_HEAP)
		n = of_blocks(r, bytes, &text);
	else
		n = of_variables(r, bytes, &text);
	return n < 0 ? NULL : text;
}
