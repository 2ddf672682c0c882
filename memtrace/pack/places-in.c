/* SPDX-License-Identifier: GPL-3.0-or-later */
/* code.places while it is read.  Nothing in the file is trusted. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "memtrace/pack/pieces.h"
#include "memtrace/pack/places.h"
#include "tracefmt/format.h"
#include "tracefmt/read/trace-internal.h"

#define NO_FILE UINT32_MAX

struct function {
	uint64_t addr, size;
	const char *name;
};

struct loop {
	uint64_t head;
	uint32_t depth;
};

/* From its address on, until the next one's. */
struct range {
	uint64_t addr;
	uint32_t loop;	/* MT_NO_LOOP: none */
};

struct line {
	uint64_t addr;
	uint32_t file;	/* NO_FILE: not known */
	int line;
};

/* A piece. */
struct part {
	uint32_t object;
	bool lines_complete;
	struct function *functions;
	struct loop *loops;
	struct range *ranges;
	const char **files;
	struct line *lines;
	size_t nfunctions, nloops, nranges, nfiles, nlines;
	char *text;	/* all strings */
};

struct mt_placed {
	struct part *parts;
	size_t n;
	uint64_t damage;
};

static void free_part(struct part *part)
{
	free(part->functions);
	free(part->loops);
	free(part->ranges);
	free(part->files);
	free(part->lines);
	free(part->text);
}

/* ---- a piece ---- */

/* While it is parsed. */
struct parse {
	struct tf_cursor c;
	struct part *part;
	uint64_t *lengths;	/* of strings: functions', then files' */
	size_t nlengths;
	uint64_t text;		/* their sum */
};

/* The number of elements of a column; each takes @least bytes.  Their array; NULL: damage, or no memory. */
static void *begin_column(struct parse *p, size_t *n, size_t least, size_t size)
{
	uint64_t count = tf_cursor_varint(&p->c);

	if (p->c.failed || count > p->c.left / least)
		return NULL;
	*n = (size_t)count;
	return calloc(*n + 1, size);
}

/* *at moves on by the next number.  False: too far. */
static bool step(struct parse *p, uint64_t *at)
{
	return !__builtin_add_overflow(*at, tf_cursor_varint(&p->c), at);
}

static bool add_length(struct parse *p)
{
	uint64_t n = tf_cursor_varint(&p->c);

	if (n > TF_MAX_RAW)
		return false;
	p->lengths[p->nlengths++] = n;
	p->text += n + 1;
	return true;
}

static bool parse_functions(struct parse *p)
{
	uint64_t at = 0;
	struct function *v = begin_column(p, &p->part->nfunctions, 3, sizeof(*v));

	p->part->functions = v;
	p->lengths = v ? calloc(p->part->nfunctions + 1, sizeof(*p->lengths)) : NULL;
	if (!p->lengths)
		return false;
	for (size_t i = 0; i < p->part->nfunctions; i++) {
		if (!step(p, &at))
			return false;
		v[i].addr = at;
		if (!step(p, &at) || !add_length(p))
			return false;
		v[i].size = at - v[i].addr;
	}
	return true;
}

static bool parse_loops(struct parse *p)
{
	uint64_t head = 0, depth;
	struct loop *v = begin_column(p, &p->part->nloops, 2, sizeof(*v));

	p->part->loops = v;
	for (size_t i = 0; v && i < p->part->nloops; i++) {
		head += tf_unzigzag(tf_cursor_varint(&p->c));
		depth = tf_cursor_varint(&p->c);
		if (depth > UINT16_MAX)
			return false;
		v[i] = (struct loop){ head, (uint32_t)depth };
	}
	return v != NULL;
}

static bool parse_ranges(struct parse *p)
{
	uint64_t at = 0, loop;
	struct range *v = begin_column(p, &p->part->nranges, 2, sizeof(*v));

	p->part->ranges = v;
	for (size_t i = 0; v && i < p->part->nranges; i++) {
		if (!step(p, &at))
			return false;
		loop = tf_cursor_varint(&p->c);
		if (loop > p->part->nloops || loop > UINT32_MAX)
			return false;
		v[i] = (struct range){ at, loop ? (uint32_t)loop - 1 : MT_NO_LOOP };
	}
	return v != NULL;
}

static bool parse_files(struct parse *p)
{
	const char **v = begin_column(p, &p->part->nfiles, 1, sizeof(*v));
	uint64_t *lengths;

	p->part->files = v;
	lengths = v ? reallocarray(p->lengths, p->nlengths + p->part->nfiles + 1, sizeof(*lengths)) : NULL;
	if (!lengths)
		return false;
	p->lengths = lengths;
	for (size_t i = 0; i < p->part->nfiles; i++)
		if (!add_length(p))
			return false;
	return true;
}

static bool parse_line(struct parse *p, struct line *l, int64_t *number)
{
	uint64_t file = tf_cursor_varint(&p->c);

	l->file = NO_FILE;
	if (file > p->part->nfiles || file >= NO_FILE)
		return false;
	if (!file)
		return true;
	if (__builtin_add_overflow(*number, (int64_t)tf_unzigzag(tf_cursor_varint(&p->c)), number) || *number < 1 ||
	    *number > INT_MAX)
		return false;
	l->file = (uint32_t)file - 1;
	l->line = (int)*number;
	return true;
}

static bool parse_lines(struct parse *p)
{
	struct line *v = begin_column(p, &p->part->nlines, 2, sizeof(*v));
	int64_t number = 0;
	uint64_t at = 0;

	p->part->lines = v;
	for (size_t i = 0; v && i < p->part->nlines; i++) {
		if (!step(p, &at) || !parse_line(p, &v[i], &number))
			return false;
		v[i].addr = at;
	}
	return v != NULL;
}

/* They have no ends in the file. */
static bool parse_text(struct parse *p)
{
	struct part *part = p->part;
	char *to = malloc(p->text + 1);

	part->text = to;
	for (size_t i = 0; to && i < p->nlengths; i++) {
		const uint8_t *from = tf_cursor_take(&p->c, p->lengths[i]);

		if (!from)
			return false;
		if (i < part->nfunctions)
			part->functions[i].name = to;
		else
			part->files[i - part->nfunctions] = to;
		memcpy(to, from, p->lengths[i]);
		to += p->lengths[i];
		*to++ = '\0';
	}
	return to != NULL;
}

static bool parse_part(struct parse *p)
{
	uint64_t object = tf_cursor_varint(&p->c);
	uint8_t lines = tf_cursor_byte(&p->c);

	p->part->object = (uint32_t)object;
	p->part->lines_complete = lines;
	return object < TF_MAX_IDS && lines <= 1 && parse_functions(p) && parse_loops(p) && parse_ranges(p) &&
	       parse_files(p) && parse_lines(p) && p->text <= p->c.left + p->nlengths && parse_text(p) && !p->c.failed &&
	       !p->c.left;
}

bool mt_placed_add(struct mt_placed *p, const uint8_t *body, size_t size)
{
	struct parse parse = { .c = { .at = body, .left = size } };
	bool good;

	if (!array_one_more(p->parts, p->n))
		return false;
	parse.part = &p->parts[p->n];
	*parse.part = (struct part){ 0 };
	good = parse_part(&parse);
	free(parse.lengths);
	if (good)
		p->n++;
	else
		free_part(parse.part);
	return good;
}

/* ---- the file ---- */

/* A trace without it is damaged, too: it is made before what it is about. */
struct mt_placed *mt_placed_open(const char *dir, uint64_t trace)
{
	struct mt_placed *p = calloc(1, sizeof(*p));
	enum sonde_trace_status status = SONDE_TRACE_E_NOMEM;
	struct mt_stream s;
	uint64_t id = 0;
	char *path;

	if (!p || asprintf(&path, "%s/code.places", dir) < 0) {
		free(p);
		return NULL;
	}
	status = mt_pieces_open(&s, path, TF_MAGIC_PLACES, &id, NULL);
	if (status != SONDE_TRACE_OK || id != trace)
		p->damage++;
	while (status == SONDE_TRACE_OK && id == trace && (status = mt_piece_next(&s)) != SONDE_TRACE_END) {
		p->damage += status != SONDE_TRACE_OK || !mt_placed_add(p, s.raw.data, s.raw.size);
		status = SONDE_TRACE_OK;
	}
	mt_pieces_close(&s);
	free(path);
	return p;
}

struct mt_placed *mt_placed_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank)
{
	const struct tf_part *part = trace->parts.v[rank->index];

	return mt_placed_open(rank->dir, part->id);
}

void mt_placed_close(struct mt_placed *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_part(&p->parts[i]);
	free(p->parts);
	free(p);
}

uint64_t mt_placed_damage(const struct mt_placed *p)
{
	return p->damage;
}

/* ---- finding ---- */

static void find_loop(const struct part *part, uint64_t addr, struct sonde_trace_place *place)
{
	size_t after = search_first(i, part->nranges, part->ranges[i].addr > addr);
	const struct loop *loop;

	if (!after || part->ranges[after - 1].loop == MT_NO_LOOP)
		return;
	loop = &part->loops[part->ranges[after - 1].loop];
	place->loop = loop->head;
	place->loop_depth = loop->depth;
}

static void find_code(const struct part *part, uint64_t addr, struct sonde_trace_place *place)
{
	size_t after = search_first(i, part->nfunctions, part->functions[i].addr > addr);
	const struct function *f = after ? &part->functions[after - 1] : NULL;

	if (!f || addr - f->addr >= f->size)
		return;
	place->function = f->name;
	place->entry = f->addr;
	place->size = f->size;
	find_loop(part, addr, place);
}

static const char *find_line(const struct part *part, uint64_t addr, int *line)
{
	size_t after = search_first(i, part->nlines, part->lines[i].addr > addr);
	const struct line *l = after ? &part->lines[after - 1] : NULL;

	if (!l || l->file == NO_FILE)
		return NULL;
	*line = l->line;
	return part->files[l->file];
}

void mt_placed_find(const struct mt_placed *p, uint32_t object, uint64_t addr, struct sonde_trace_place *place)
{
	for (size_t i = 0; i < p->n && !place->function; i++)
		if (p->parts[i].object == object)
			find_code(&p->parts[i], addr, place);
	for (size_t i = 0; i < p->n && !place->file; i++)
		if (p->parts[i].object == object)
			place->file = find_line(&p->parts[i], addr, &place->line);
	for (size_t i = 0; i < p->n && place->loop && !place->loop_file; i++)
		if (p->parts[i].object == object)
			place->loop_file = find_line(&p->parts[i], place->loop, &place->loop_line);
}

void mt_placed_each_line(const struct mt_placed *p, uint32_t object, uint64_t lo, uint64_t hi,
			 void (*line)(void *arg, uint64_t addr, const char *file, int line), void *arg)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct part *part = &p->parts[i];

		size_t k = search_first(l, part->nlines, part->lines[l].addr >= lo);

		for (; k < part->nlines && part->lines[k].addr <= hi && part->object == object; k++)
			if (part->lines[k].file != NO_FILE)
				line(arg, part->lines[k].addr, part->files[part->lines[k].file], part->lines[k].line);
	}
}

void mt_placed_each_function(const struct mt_placed *p,
			     void (*function)(void *arg, uint32_t object, uint64_t addr, uint64_t size, const char *name),
			     void *arg)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->parts[i].nfunctions; k++) {
			const struct function *f = &p->parts[i].functions[k];

			function(arg, p->parts[i].object, f->addr, f->size, f->name);
		}
}

bool mt_placed_has_lines(const struct mt_placed *p, uint32_t object)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->parts[i].object == object && p->parts[i].lines_complete)
			return true;
	return false;
}
