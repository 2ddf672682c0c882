/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memwhere.h"
#include "injector/image/symbols.h"
#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/memory/names/memnames.h"
#include "launcher/program/binary.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "memtrace/pack/blocks.h"

/* A file of the program, as it is now. */
struct object {
	struct object *next;
	const struct sonde_trace_object *recorded;
	struct lines *lines; /* if the trace has none, and it is the file that was recorded */
};

/* A function's name in the source; the trace's own string is what it is known by. */
struct name {
	const char *mangled;
	char *text;
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
	const struct memnames *accessed; /* NULL: instructions are asked for, not keys */
	unsigned int flags;
	struct mt_blocks *has;	/* blocks; NULL: they are not asked, or there are none */
	struct mt_blocks_index *index; /* likewise */
	uint64_t damage;
	struct object *objects;
	struct block *blocks;
	struct memplace **hash; /* by insn; a power of two, at most half full */
	size_t room, n;
	struct name *names; /* likewise, by the address of the trace's string */
	size_t names_room, names_n;
};

/* ---- files ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Once a file, whatever the number of ranks. */
static void tell(const char *path, const char *what)
{
	static void *told;
	char *copy = strdup(path), **found = copy ? tsearch(copy, &told, by_name) : NULL;

	if (found && *found == copy)
		msg_warn("%s is not the file that was recorded: %s", path, what);
	else
		free(copy);
}

/* Of a file that is gone nothing is said, if nothing is missing. */
static void read_object(const struct memwhere *w, struct object *o, bool has_lines)
{
	char *path;
	enum binary_state state = binary_find(mt_read_trace(w->read), o->recorded, &path);
	bool missing = !has_lines && (w->flags & MEMWHERE_LINES);

	if (state == BINARY_SAME && missing)
		o->lines = lines_open(path);
	else if (missing)
		tell(o->recorded->path, "its source lines are not known");
	else if (state == BINARY_OTHER)
		tell(o->recorded->path, "names and lines are those of the recorded one");
	free(path);
}

static struct object *find_object(struct memwhere *w, const struct mt_where *where)
{
	struct object *o;

	for (o = w->objects; o; o = o->next)
		if (o->recorded == where->object)
			return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->recorded = where->object;
	read_object(w, o, where->has_lines);
	o->next = w->objects;
	w->objects = o;
	return o;
}

/* ---- names ---- */

static struct name *name_slot(const struct memwhere *w, const char *mangled)
{
	return &w->names[hash_slot(i, w->names_room, hash_word((uintptr_t)mangled),
				   !w->names[i].mangled || w->names[i].mangled == mangled)];
}

static const char *name_of(struct memwhere *w, const char *mangled)
{
	struct name *name;

	if (!mangled || (w->flags & MEMWHERE_MANGLED) || mangled[0] != '_')
		return mangled;
	if (!hash_grow(w->names, w->names_room, w->names_n + 1, old, old->mangled, name_slot(w, old->mangled)))
		return mangled;
	name = name_slot(w, mangled);
	if (!name->mangled) {
		*name = (struct name){ mangled, inj_demangle(mangled) };
		w->names_n++;
	}
	return name->text ? name->text : mangled;
}

/* ---- blocks ---- */

/* False: no memory. */
static bool read_blocks(struct memwhere *w)
{
	const struct sonde_trace *trace = mt_read_trace(w->read);
	const struct sonde_trace_rank *rank = trace ? sonde_trace_rank(trace, 0) : NULL;
	bool none = true;

	w->has = rank ? mt_blocks_of(trace, rank, &none) : NULL;
	if (!w->has && !none)
		return false;
	w->damage = w->has ? w->has->damage : 1;
	if (w->damage)
		msg_warn("%s/code.blocks is damaged or missing: some blocks are not known", rank ? rank->dir : "the trace");
	w->index = w->has ? mt_blocks_index(w->has) : NULL;
	return w->index || !w->has;
}

static void find_block(const struct memwhere *w, struct memplace *p)
{
	uint32_t function, block;
	struct mt_where begin;

	if (!w->index || !p->object || !mt_blocks_find(w->index, p->object->id, p->addr, &function, &block))
		return;
	p->block = w->has->functions[function].blocks[block].addr;
	if (!mt_read_where(w->read, p->insn - (p->addr - p->block), &begin))
		return;
	p->block_file = begin.place.file;
	p->block_line = begin.place.line;
}

uint64_t memwhere_damage(const struct memwhere *w)
{
	return w->damage;
}

/* ---- places ---- */

/* Lines of a recording that was not finished. */
static void read_lines(struct lines *lines, struct memplace *p)
{
	p->file = lines_at(lines, p->addr, &p->line);
	if (p->loop)
		p->loop_file = lines_at(lines, p->loop, &p->loop_line);
}

static void find(struct memwhere *w, struct memplace *p)
{
	const uint64_t insn = w->accessed ? memnames_insn(w->accessed, p->insn) : p->insn;
	struct mt_where where;
	struct object *o;

	if (w->accessed)
		p->name = memnames_name(w->accessed, p->insn);
	p->addr = insn;
	if (!mt_read_where(w->read, insn, &where))
		return;
	p->path = where.place.path;
	p->object = where.object;
	p->addr = where.place.address;
	p->function = name_of(w, where.place.function);
	p->symbol = where.place.function;
	p->entry = where.place.entry;
	p->size = where.place.size;
	p->file = where.place.file;
	p->line = where.place.line;
	p->loop = where.place.loop;
	p->loop_depth = where.place.loop_depth;
	p->loop_file = where.place.loop_file;
	p->loop_line = where.place.loop_line;
	find_block(w, p);
	o = where.object ? find_object(w, &where) : NULL;
	if (o && o->lines)
		read_lines(o->lines, p);
}

static struct memplace **slot_of(const struct memwhere *w, uint64_t insn)
{
	return &w->hash[hash_slot(i, w->room, hash_word(insn), !w->hash[i] || w->hash[i]->insn == insn)];
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
	struct memplace **slot;

	if (!hash_grow(w->hash, w->room, w->n + 1, old, *old, slot_of(w, (*old)->insn)))
		return NULL;
	slot = slot_of(w, insn);
	if (*slot)
		return *slot;
	*slot = new_place(w);
	if (!*slot)
		return NULL;
	(*slot)->insn = insn;
	find(w, *slot);
	w->n++;
	return *slot;
}

struct memwhere *memwhere_new(const struct mt_read *r, unsigned int flags)
{
	struct memwhere *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->read = r;
	w->flags = flags;
	if (!(flags & MEMWHERE_BLOCKS) || read_blocks(w))
		return w;
	memwhere_free(w);
	return NULL;
}

void memwhere_use_names(struct memwhere *w, const struct memnames *names)
{
	w->accessed = names;
}

void memwhere_free(struct memwhere *w)
{
	if (!w)
		return;
	while (w->objects) {
		struct object *o = w->objects;

		w->objects = o->next;
		lines_close(o->lines);
		free(o);
	}
	while (w->blocks) {
		struct block *b = w->blocks;

		w->blocks = b->next;
		for (size_t i = 0; i < b->n; i++)
			free(b->v[i].text);
		free(b);
	}
	for (size_t i = 0; i < w->names_room; i++)
		free(w->names[i].text);
	free(w->names);
	free(w->hash);
	mt_blocks_index_free(w->index);
	mt_blocks_free(w->has);
	free(w);
}

/* ---- patterns ---- */

bool memwhere_matches(const struct memplace *place, struct select *sel)
{
	const struct select_function fn = {
		.addr = place->entry, .size = place->size, .names = &place->symbol, .nnames = 1,
	};

	return !sel || (place->function && select_wants_in(sel, place->path, &fn));
}
