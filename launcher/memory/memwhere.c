/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memwhere.h"
#include "injector/image/facts.h"
#include "launcher/common/lines.h"
#include "launcher/common/options.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"

/* A file of the program; what is known of it is read when it is first needed. */
struct object {
	struct object *next;
	const char *path;
	struct inj_symtab *tab;
	struct inj_codefacts facts;
	bool has_facts;
	struct tramp_code *code;	/* NULL: no loops */
	struct tramp_flow flow;		/* of function `fn` */
	uint32_t fn;
	struct lines *lines;
	char **names;			/* of facts.fn[]: demangled, as far as they were asked for */
};

/* Addresses never move: blocks of places. */
#define BLOCK 256
struct block {
	struct block *next;
	size_t n;
	struct memplace v[BLOCK];
};

struct memwhere {
	const struct mt_read *read;
	unsigned int flags;
	struct object *objects;
	struct block *blocks;
	struct memplace **hash; /* by insn; a power of two, at most half full */
	size_t room, n;
};

/* ---- files ---- */

static void read_code(struct object *o)
{
	o->fn = TRAMP_NONE;
	if (tramp_code_new(&o->facts.facts, &o->code) != TRAMP_CODE_OK)
		o->code = NULL;
}

static void read_object(struct object *o, unsigned int flags)
{
	if (inj_symtab_open(o->path, INJ_SYMTAB_DEBUG_FILE, &o->tab) != INJ_OK)
		return;
	o->has_facts = inj_codefacts_read(o->path, o->tab, &o->facts) == INJ_OK;
	if (o->has_facts)
		o->names = calloc(o->facts.facts.nfns + 1, sizeof(*o->names));
	if (o->has_facts && (flags & MEMWHERE_LOOPS))
		read_code(o);
	if (flags & MEMWHERE_LINES)
		o->lines = lines_open(o->path);
}

static struct object *find_object(struct memwhere *w, const char *path)
{
	struct object *o;

	for (o = w->objects; o; o = o->next)
		if (strcmp(o->path, path) == 0)
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->path = path;
	read_object(o, w->flags);
	o->next = w->objects;
	w->objects = o;
	return o;
}

static void free_object(struct object *o)
{
	tramp_flow_free(&o->flow);
	if (o->code)
		tramp_code_free(o->code);
	for (size_t i = 0; o->names && i < o->facts.facts.nfns; i++)
		free(o->names[i]);
	free(o->names);
	inj_codefacts_free(&o->facts);
	if (o->tab)
		inj_symtab_close(o->tab);
	lines_close(o->lines);
	free(o);
}

/* ---- functions ---- */

/* The function, or part of one, that holds @addr; TRAMP_NONE. */
static uint32_t function_at(const struct object *o, uint64_t addr)
{
	const struct tramp_fn *fns = o->facts.facts.fns;
	size_t after = search_first(i, o->facts.facts.nfns, fns[i].addr > addr);

	return after && addr - fns[after - 1].addr < fns[after - 1].size ? (uint32_t)(after - 1) : TRAMP_NONE;
}

static const char *name_of(const struct memwhere *w, struct object *o, uint32_t fn)
{
	const char *name = o->facts.fn[fn].name;

	if ((w->flags & MEMWHERE_MANGLED) || !o->names)
		return name;
	if (!o->names[fn])
		o->names[fn] = inj_demangle(name);
	return o->names[fn] ? o->names[fn] : name;
}

/* ---- loops ---- */

/* Block of o->flow that holds the offset; TRAMP_NONE. */
static uint32_t block_at(const struct tramp_flow *flow, uint32_t off)
{
	size_t after = search_first(i, flow->nblocks, flow->blocks[i].start > off);

	return after && off < flow->blocks[after - 1].end ? (uint32_t)(after - 1) : TRAMP_NONE;
}

static bool make_flow(struct object *o, uint32_t fn)
{
	if (o->fn == fn)
		return true;
	o->fn = TRAMP_NONE;
	if (tramp_flow_build(&o->flow, o->code, fn) != TRAMP_CODE_OK ||
	    tramp_flow_loops(&o->flow) != TRAMP_CODE_OK)
		return false;
	o->fn = fn;
	return true;
}

static void find_loop(struct object *o, struct memplace *p)
{
	uint32_t fn = tramp_code_function(o->code, p->addr), block;
	uint64_t base = tramp_code_base(o->code);
	const struct tramp_block *head;

	if (fn == TRAMP_NONE || !make_flow(o, fn))
		return;
	block = block_at(&o->flow, (uint32_t)(p->addr - base));
	if (block == TRAMP_NONE || o->flow.blocks[block].loop == TRAMP_NONE)
		return;
	head = &o->flow.blocks[o->flow.loops[o->flow.blocks[block].loop].head];
	p->loop = base + head->start;
	p->loop_depth = head->loop_depth;
	if (o->lines)
		p->loop_file = lines_at(o->lines, p->loop, &p->loop_line);
}

/* ---- places ---- */

static void find(struct memwhere *w, struct memplace *p)
{
	struct object *o;
	uint32_t fn;

	p->path = mt_read_place(w->read, p->insn, &p->addr);
	if (!p->path) {
		p->addr = p->insn;
		return;
	}
	o = find_object(w, p->path);
	if (!o)
		return;
	if (o->lines)
		p->file = lines_at(o->lines, p->addr, &p->line);
	fn = o->has_facts ? function_at(o, p->addr) : TRAMP_NONE;
	if (fn == TRAMP_NONE)
		return;
	p->function = name_of(w, o, fn);
	p->entry = o->facts.facts.fns[fn].addr;
	if (o->code)
		find_loop(o, p);
}

static size_t slot_of(const struct memwhere *w, uint64_t insn)
{
	return hash_slot(i, w->room, hash_word(insn), !w->hash[i] || w->hash[i]->insn == insn);
}

static bool grow(struct memwhere *w)
{
	struct memplace **old = w->hash;
	size_t room = w->room;

	w->hash = calloc(room * 2, sizeof(*w->hash));
	if (!w->hash) {
		w->hash = old;
		return false;
	}
	w->room = room * 2;
	for (size_t i = 0; i < room; i++)
		if (old[i])
			w->hash[slot_of(w, old[i]->insn)] = old[i];
	free(old);
	return true;
}

static struct memplace *new_place(struct memwhere *w)
{
	struct block *b = w->blocks;

	if (!b || b->n == BLOCK) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		b->next = w->blocks;
		w->blocks = b;
	}
	return &b->v[b->n++];
}

struct memplace *memwhere(struct memwhere *w, uint64_t insn)
{
	struct memplace *p = w->hash[slot_of(w, insn)];

	if (p)
		return p;
	if (2 * w->n >= w->room && !grow(w))
		return NULL;
	p = new_place(w);
	if (!p)
		return NULL;
	p->insn = insn;
	find(w, p);
	w->hash[slot_of(w, insn)] = p;
	w->n++;
	return p;
}

struct memwhere *memwhere_new(const struct mt_read *r, unsigned int flags)
{
	struct memwhere *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->read = r;
	w->flags = flags;
	w->room = 1024;
	w->hash = calloc(w->room, sizeof(*w->hash));
	if (!w->hash) {
		free(w);
		return NULL;
	}
	return w;
}

void memwhere_free(struct memwhere *w)
{
	if (!w)
		return;
	while (w->objects) {
		struct object *o = w->objects;

		w->objects = o->next;
		free_object(o);
	}
	while (w->blocks) {
		struct block *b = w->blocks;

		w->blocks = b->next;
		for (size_t i = 0; i < b->n; i++)
			free(b->v[i].text);
		free(b);
	}
	free(w->hash);
	free(w);
}

/* ---- patterns ---- */

static bool matches(const char *pattern, const char *name)
{
	const char *paren = strchr(name, '(');
	char *stem;
	bool found;

	if (!fnmatch(pattern, name, 0))
		return true;
	if (!paren || paren == name || strchr(pattern, '('))
		return false;
	stem = strndup(name, (size_t)(paren - name));
	found = stem && !fnmatch(pattern, stem, 0);
	free(stem);
	return found;
}

bool memwhere_matches(const struct memplace *place, const struct opt_list *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (place->function && matches(patterns->v[i], place->function))
			return true;
	return !patterns->n;
}
