/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/linecode.h"
#include "base/array.h"
#include "launcher/program/binary.h"
#include "launcher/common/lines.h"
#include "memtrace/pack/places.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct linecode_kept {
	size_t n;
	struct mt_placed *placed[]; /* by rank; NULL: not read yet */
};

struct linecode {
	char *path;
	char *file; /* that has its code now: @path, or that of the trace's archive; NULL: it is not there any more */
	const struct mt_placed *placed; /* NULL: the file is asked */
	uint32_t object;
	struct lines *lines;	/* of the file; NULL: there are none ... */
	enum select_why why;	/* ... because of this */
	struct inj_symtab *tab; /* of the file, for sizes; NULL: not needed yet */
};

/* ---- what a trace has kept ---- */

void linecode_kept_free(struct linecode_kept *kept)
{
	for (size_t i = 0; kept && i < kept->n; i++)
		mt_placed_close(kept->placed[i]);
	free(kept);
}

static const struct mt_placed *placed_of(const struct sonde_trace *trace, size_t rank, struct linecode_kept **kept)
{
	size_t n = sonde_trace_ranks(trace);

	if (!*kept) {
		*kept = calloc(1, sizeof(**kept) + n * sizeof((*kept)->placed[0]));
		if (*kept)
			(*kept)->n = n;
	}
	if (*kept && !(*kept)->placed[rank])
		(*kept)->placed[rank] = mt_placed_of(trace, sonde_trace_rank(trace, rank));
	return *kept ? (*kept)->placed[rank] : NULL;
}

/* The first rank that knows lines of it. */
static void look_into_trace(struct linecode *c, const struct sonde_trace *trace, struct linecode_kept **kept)
{
	for (size_t i = 0; i < sonde_trace_objects(trace) && !c->placed; i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);
		const struct mt_placed *placed;

		if (strcmp(o->path, c->path) != 0)
			continue;
		placed = placed_of(trace, o->rank_index, kept);
		if (!placed || !mt_placed_has_lines(placed, o->id))
			continue;
		c->placed = placed;
		c->object = o->id;
	}
}

/* ---- lines to code, as the trace has them ---- */

struct search {
	const struct linecode *c;
	const char *file;
	int line;
	int nearest; /* the smallest line that has code and is not before `line`; INT_MAX: none */
	enum lines_found found;
	uint64_t **addrs;
	size_t *n;
};

static void find_nearest(void *arg, uint64_t addr, const char *file, int line)
{
	struct search *s = arg;

	(void)addr;
	if (!lines_is_file(file, s->file))
		return;
	if (s->found == LINES_NO_FILE)
		s->found = LINES_NO_CODE;
	if (line >= s->line && line < s->nearest)
		s->nearest = line;
}

struct begin {
	const struct search *s;
	bool before;
};

static void find_begin(void *arg, uint64_t addr, const char *file, int line)
{
	struct begin *b = arg;

	(void)addr;
	b->before |= line <= b->s->line && lines_is_file(file, b->s->file);
}

/* A line without code belongs to a function that begins before it. */
static bool is_inside(const struct search *s, uint64_t addr)
{
	struct sonde_trace_place at = { 0 };
	struct begin begin = { .s = s };

	mt_placed_find(s->c->placed, s->c->object, addr, &at);
	if (at.function)
		mt_placed_each_line(s->c->placed, s->c->object, at.entry, at.entry, find_begin, &begin);
	return begin.before;
}

static void take_nearest(void *arg, uint64_t addr, const char *file, int line)
{
	struct search *s = arg;

	if (line != s->nearest || !lines_is_file(file, s->file) || (line != s->line && !is_inside(s, addr)))
		return;
	if (!array_one_more(*s->addrs, *s->n))
		return;
	(*s->addrs)[(*s->n)++] = addr;
	s->found = LINES_FOUND;
}

static enum lines_found find_placed(const struct linecode *c, const char *file, unsigned int line, uint64_t **addrs,
				    size_t *n)
{
	struct search s = { .c = c, .file = file, .line = (int)line, .nearest = INT_MAX, .addrs = addrs, .n = n };

	mt_placed_each_line(c->placed, c->object, 0, UINT64_MAX, find_nearest, &s);
	if (s.nearest != INT_MAX)
		mt_placed_each_line(c->placed, c->object, 0, UINT64_MAX, take_nearest, &s);
	return s.found;
}

/* ---- one file ---- */

static void note_line(void *arg, uint64_t addr, const char *file, int line)
{
	(void)addr;
	(void)file;
	(void)line;
	*(bool *)arg = true;
}

/* Also if the trace says that there was no debug information: it may have been installed since. */
static void look_into_file(struct linecode *c, const struct sonde_trace *trace)
{
	c->file = trace ? binary_of_trace(trace, c->path) : strdup(c->path);
	if (c->file)
		c->lines = lines_open(c->file);
	else if (!c->placed)
		c->why = SELECT_OTHER_FILE;
}

static bool has_any_line(const struct linecode *c)
{
	bool any = false;

	if (c->placed)
		mt_placed_each_line(c->placed, c->object, 0, UINT64_MAX, note_line, &any);
	return any;
}

struct linecode *linecode_open(const char *path, const struct sonde_trace *trace, struct linecode_kept **kept)
{
	struct linecode *c = calloc(1, sizeof(*c));

	if (c)
		c->path = strdup(path);
	if (!c || !c->path) {
		free(c);
		return NULL;
	}
	c->why = SELECT_NO_DEBUG_INFO;
	if (trace)
		look_into_trace(c, trace, kept);
	if (!has_any_line(c)) {
		look_into_file(c, trace);
		c->placed = NULL;
	}
	return c;
}

void linecode_close(struct linecode *c)
{
	if (!c)
		return;
	lines_close(c->lines);
	inj_symtab_close(c->tab);
	free(c->file);
	free(c->path);
	free(c);
}

enum select_why linecode_find(const struct linecode *c, const char *file, unsigned int line, uint64_t **addrs, size_t *n)
{
	enum lines_found found;

	if (c->lines)
		found = lines_find(c->lines, file, line, addrs, n);
	else if (c->placed)
		found = find_placed(c, file, line, addrs, n);
	else
		return c->why;
	return found == LINES_NO_FILE ? SELECT_NO_SOURCE : SELECT_NO_CODE;
}

uint64_t linecode_size(struct linecode *c, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };
	const struct inj_symbol *sym;

	if (c->placed) {
		mt_placed_find(c->placed, c->object, addr, &place);
		return place.entry == addr ? place.size : 0;
	}
	if (!c->tab && (!c->file || inj_symtab_open(c->file, INJ_SYMTAB_DEBUG_FILE, &c->tab) != INJ_OK))
		return 0;
	sym = inj_symtab_at(c->tab, addr);
	return sym ? sym->size : 0;
}
