/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines and loops of the source, by debug information and the analysis of control flow.
 *
 * A loop is at a line if a branch of its own, which decides whether it goes round again, is from there: that is the line of "for" or
 * "while", whatever the compiler has made of the rest.  Else the line that its first instruction is from counts, which is what
 * `sonde blocks' shows.  A compiler may make several loops of one, as when it vectorizes it, or copies it to where it is inlined: all are meant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/config/resolve.h"
#include "launcher/select/near.h"

#define NEAREST 3
#define MOST_FUNCTIONS 4096 /* that are searched for loops which may have been meant */

/* ---- code of lines ---- */

struct code {
	const char *file;
	int first, last;
	struct config_range *v;	/* of these lines; the last one may be open */
	size_t n, room;
	bool open, any;		/* any: there is code of the file */
	bool failed;
	const char *seen;	/* the compiler's name of a file that was looked at last, and whether it is meant */
	bool meant;
	int nearest[2];		/* lines before and after, with code; 0: none */
	struct near_names near;
};

static bool is_meant(struct code *c, const char *file)
{
	struct function_name name = { .symbol = file ? path_basename(file) : NULL };

	if (!file || file == c->seen)
		return file && c->meant;
	c->seen = file;
	c->meant = lines_is_file(file, c->file);
	if (!c->meant)
		near_note(&c->near, path_basename(c->file), NEAR_WORD, &name);
	function_name_free(&name);
	return c->meant;
}

static void note_nearest(struct code *c, int line)
{
	if (line < c->first && line > c->nearest[0])
		c->nearest[0] = line;
	if (line > c->last && (!c->nearest[1] || line < c->nearest[1]))
		c->nearest[1] = line;
}

static void look_at_line(void *arg, uint64_t addr, const char *file, int line)
{
	struct code *c = arg;
	bool meant = is_meant(c, file), in = meant && line >= c->first && line <= c->last;

	if (c->open)
		c->v[c->n - 1].hi = addr;
	c->open = false;
	c->any |= meant;
	if (meant && !in && line > 0)
		note_nearest(c, line);
	if (!in)
		return;
	if (!config_add_range(&c->v, &c->n, &c->room, 0, addr, addr))
		c->failed = true;
	else
		c->open = true;
}

/* Code of the place's lines in the program into *c; c->v is to be freed.  0, or an exit status after a message. */
static int find_code(struct config_search *s, struct code *c)
{
	struct config_object *o = &s->f->v[0];
	struct lines *lines = config_lines(o);
	char hint[NEAR_MAX_TEXT];

	*c = (struct code){ .file = s->place->file, .first = (int)s->place->line, .last = (int)s->place->last };
	if (!lines)
		return config_error(s->f->config, &s->place->at, "%s: %s has no line numbers (compile it with -g)",
				    s->place->text, o->path);
	lines_each(lines, 0, UINT64_MAX, look_at_line, c);
	near_text(&c->near, hint, sizeof(hint));
	if (c->failed)
		return config_no_memory();
	if (!c->any)
		return config_error(s->f->config, &s->place->at, "%s: no code of %s is made from such a source file%s",
				    s->place->text, o->path, hint);
	return 0;
}

/* ---- lines ---- */

static int no_code(const struct config_search *s, const struct code *c)
{
	char text[64] = "";

	if (c->nearest[0] && c->nearest[1])
		snprintf(text, sizeof(text), "; lines %d and %d have some", c->nearest[0], c->nearest[1]);
	else if (c->nearest[0] || c->nearest[1])
		snprintf(text, sizeof(text), "; line %d has some", c->nearest[0] + c->nearest[1]);
	return config_error(s->f->config, &s->place->at, "%s: there is no code there%s", s->place->text, text);
}

/* Each function once. */
static bool is_new(uint32_t **seen, size_t *n, size_t *room, uint32_t fn, bool *failed)
{
	for (size_t i = 0; i < *n; i++)
		if ((*seen)[i] == fn)
			return false;
	if (!array_room(*seen, *room, *n + 1)) {
		*failed = true;
		return false;
	}
	(*seen)[(*n)++] = fn;
	return true;
}

static void add_name(char *text, size_t size, char *name, size_t n)
{
	size_t len = strlen(text);

	if (n < NEAREST)
		snprintf(text + len, size - len, "%s%s", n ? ", " : "", name ? name : "?");
	else if (n == NEAREST)
		snprintf(text + len, size - len, " ...");
	free(name);
}

static int add_lines(struct config_search *s, const struct code *c, const struct anatomy *a)
{
	struct config_found *found = s->found;
	size_t n = 0, room = 0;
	bool failed = false;
	uint32_t *seen = NULL;
	char names[CONFIG_ERROR_MAX / 2] = "";

	for (size_t i = 0; i < c->n && !failed; i++) {
		uint32_t fn = tramp_code_function(a->code, c->v[i].lo);

		if (c->v[i].hi <= c->v[i].lo || fn == TRAMP_NONE)
			continue;
		failed |= !config_add_range(&found->ranges, &found->nranges, &found->ranges_room, 0, c->v[i].lo,
					    c->v[i].hi);
		if (is_new(&seen, &n, &room, fn, &failed)) {
			add_name(names, sizeof(names), config_function_name(&s->f->v[0], fn), n - 1);
			failed |= !config_texts_add(&found->patterns, a->facts.fn[fn].name, s->place->at);
		}
	}
	free(seen);
	if (failed || (n && !config_note(s, "%s: code in %s", s->place->text, names)))
		return config_no_memory();
	return n ? 0 : no_code(s, c);
}

int config_find_lines(struct config_search *s)
{
	struct anatomy *a = config_anatomy(&s->f->v[0]);
	struct code code = { 0 };
	int status = a ? find_code(s, &code) : EXIT_USAGE;

	if (!status && (config_about[s->entry->type].needs & CONFIG_CALLS))
		status = config_error(s->f->config, &s->place->at, "%s is about calls: its location is a function",
				      config_about[s->entry->type].name);
	if (!status)
		status = add_lines(s, &code, a);
	free(code.v);
	return status;
}

/* Whole functions need no look at their blocks. */
static bool is_whole(const struct anatomy *a, const struct config_range *r)
{
	uint32_t fn = tramp_code_function(a->code, r->lo);
	const struct tramp_fn *t = fn == TRAMP_NONE ? NULL : &a->facts.facts.fns[fn];

	return r->object != 0 || !t || r->hi == UINT64_MAX || (r->lo == t->addr && r->hi == t->addr + t->size);
}

int config_add_blocks(struct config_search *s)
{
	struct config_found *found = s->found;
	struct anatomy *a = config_anatomy(&s->f->v[0]);
	size_t n = found->nranges;
	bool failed = false;

	for (size_t i = 0; a && i < n && !failed; i++) {
		const struct config_range r = found->ranges[i];
		uint32_t fn = tramp_code_function(a->code, r.lo);
		uint64_t base = tramp_code_base(a->code);

		if (is_whole(a, &r))
			continue;
		if (!a->flow.nblocks || a->flow.fn != fn)
			failed = !anatomy_flow(a, fn);
		for (uint32_t k = 0; k < a->flow.nblocks && !failed; k++) {
			const struct tramp_block *b = &a->flow.blocks[k];

			if (base + b->start < r.hi && base + b->end > r.lo)
				failed = !config_add_range(&found->ranges, &found->nranges, &found->ranges_room, 0,
							   base + b->start, base + b->end);
		}
	}
	return !a ? EXIT_USAGE : failed ? config_no_memory() : 0;
}

/* ---- loops ---- */

struct loops {
	struct config_search *s;
	struct anatomy *a;
	struct lines *lines;
	size_t n;		/* that were found */
	bool by_head;		/* first instructions count, too */
	bool failed;
	int nearest[NEAREST];	/* lines of loops of the file, the nearest first */
	size_t nnearest;
	char names[CONFIG_ERROR_MAX / 2];
};

/* Line of an instruction, if it is from the file; else 0. */
static int line_of(const struct loops *l, uint64_t addr)
{
	int line = 0;
	const char *file = lines_at(l->lines, addr, &line);

	return file && lines_is_file(file, l->s->place->file) ? line : 0;
}

static void note_loop(struct loops *l, int line)
{
	int wanted = (int)l->s->place->line;
	size_t i = 0;

	for (size_t k = 0; k < l->nnearest; k++)
		if (l->nearest[k] == line)
			return;
	while (i < l->nnearest && abs(l->nearest[i] - wanted) <= abs(line - wanted))
		i++;
	if (i == NEAREST)
		return;
	if (l->nnearest < NEAREST)
		l->nnearest++;
	memmove(&l->nearest[i + 1], &l->nearest[i], (l->nnearest - 1 - i) * sizeof(l->nearest[0]));
	l->nearest[i] = line;
}

/* Does the block decide whether the loop goes round again? */
static bool decides(const struct tramp_flow *flow, uint32_t block, uint32_t loop)
{
	const struct tramp_block *b = &flow->blocks[block];
	uint32_t head = flow->loops[loop].head;
	bool leaves = b->ends == TRAMP_END_JCC && tramp_flow_in_loop(flow, b->target, loop) != tramp_flow_in_loop(flow, b->next, loop);

	return b->loop == loop && (b->target == head || b->next == head || leaves);
}

static bool is_at_line(struct loops *l, uint32_t loop)
{
	const struct tramp_flow *flow = &l->a->flow;
	uint64_t base = tramp_code_base(flow->code);
	int wanted = (int)l->s->place->line;

	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];
		int line = decides(flow, i, loop) ? line_of(l, base + flow->ops[b->op + b->nops - 1].off) : 0;

		if (line)
			note_loop(l, line);
		if (line == wanted)
			return true;
	}
	return l->by_head && line_of(l, base + flow->blocks[flow->loops[loop].head].start) == wanted;
}

static void add_loop(struct loops *l, uint32_t loop, uint32_t fn)
{
	const struct tramp_flow *flow = &l->a->flow;
	struct config_found *found = l->s->found;
	uint64_t base = tramp_code_base(flow->code);
	const struct tramp_block *head = &flow->blocks[flow->loops[loop].head];

	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (tramp_flow_in_loop(flow, i, loop))
			l->failed |= !config_add_range(&found->ranges, &found->nranges, &found->ranges_room, 0,
						       base + flow->blocks[i].start, base + flow->blocks[i].end);
	l->failed |= !config_add_range(&found->heads, &found->nheads, &found->heads_room, 0, base + head->start,
				       base + head->end);
	l->failed |= !config_texts_add(&found->patterns, l->a->facts.fn[fn].name, l->s->place->at);
	add_name(l->names, sizeof(l->names), config_function_name(&l->s->f->v[0], fn), l->n++);
}

static void look_at_loops(struct loops *l, uint32_t fn, bool add)
{
	l->failed |= !anatomy_flow(l->a, fn);
	for (uint32_t i = 0; i < l->a->flow.nloops && !l->failed; i++)
		if (is_at_line(l, i) && add)
			add_loop(l, i, fn);
}

/* In functions with code of the line. */
static void search_loops(struct loops *l, const struct code *c)
{
	uint32_t *seen = NULL;
	size_t n = 0, room = 0;

	for (size_t i = 0; i < c->n && !l->failed; i++) {
		uint32_t fn = tramp_code_function(l->a->code, c->v[i].lo);

		if (fn != TRAMP_NONE && is_new(&seen, &n, &room, fn, &l->failed))
			look_at_loops(l, fn, true);
	}
	free(seen);
}

/* Those that may have been meant: of all functions that begin in the file. */
static void search_near(struct loops *l)
{
	const struct tramp_facts *facts = &l->a->facts.facts;
	size_t n = 0;

	for (size_t i = 0; i < facts->nfns && n < MOST_FUNCTIONS && !l->failed; i++)
		if (anatomy_is_function(l->a, i) && line_of(l, facts->fns[i].addr)) {
			look_at_loops(l, (uint32_t)i, false);
			n++;
		}
}

static int no_loop(struct loops *l, const struct code *c)
{
	const struct config_place *p = l->s->place;
	char text[128] = "", *name = NULL;
	uint32_t fn = c->n ? tramp_code_function(l->a->code, c->v[0].lo) : TRAMP_NONE;
	int status;

	search_near(l);
	for (size_t i = 0; i < l->nnearest; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d",
			 i		   ? ", "
			 : l->nnearest > 1 ? "; loops are at lines "
					   : "; a loop is at line ",
			 l->nearest[i]);
	if (fn != TRAMP_NONE)
		name = config_function_name(&l->s->f->v[0], fn);
	if (name)
		status = config_error(
			l->s->f->config, &p->at,
			"%s: the line has code in %s, but no loop: if the source has one there, it was unrolled "
			"fully or removed; 'lines %s:%u' is that code%s",
			p->text, name, p->file, p->line, text);
	else
		status = config_error(l->s->f->config, &p->at,
				      "%s: there is no code at this line: the source has none there, or the compiler "
				      "has removed it%s",
				      p->text, text);
	free(name);
	return status;
}

int config_find_loop(struct config_search *s)
{
	struct loops l = { .s = s, .a = config_anatomy(&s->f->v[0]) };
	struct code code = { 0 };
	int status = l.a ? find_code(s, &code) : EXIT_USAGE;

	l.lines = s->f->v[0].lines;
	if (!status && (config_about[s->entry->type].needs & CONFIG_CALLS))
		status = config_error(s->f->config, &s->place->at, "%s is about calls: its location is a function",
				      config_about[s->entry->type].name);
	if (!status) {
		search_loops(&l, &code);
		l.by_head = true;
		if (!l.n)
			search_loops(&l, &code);
		if (!l.failed && !l.n)
			status = no_loop(&l, &code);
		else if (l.n &&
			 !config_note(s, "%s: %zu loop%s in %s", s->place->text, l.n, l.n == 1 ? "" : "s", l.names))
			l.failed = true;
	}
	free(code.v);
	return l.failed && !status ? config_no_memory() : status;
}
