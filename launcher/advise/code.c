/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is in the code of loops, from the files that were recorded: blocks and calls, what debug information says, and tags. */
#include "launcher/advise/advise.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/args/args.h"
#include "launcher/blocks/blockfacts.h"
#include "launcher/common/message.h"
#include "launcher/inspect/anatomy.h"
#include "launcher/program/binary.h"
#include "launcher/tags/tagfile.h"

struct code_file {
	char *path, *file; /* as recorded; that can be read now, NULL: none */
	struct anatomy anatomy;
	struct args_file dwarf;
	struct tagfile tags;
	uint64_t entry; /* of the function in anatomy.flow; 0: none */
	bool has_code, has_dwarf, has_tags;
};

struct advise_codes {
	struct code_file **v;
	size_t n, room;
};

/* ---- files ---- */

static struct code_file *open_file(const struct advise *a, const char *path)
{
	struct code_file *f = calloc(1, sizeof(*f));
	char *said = NULL;

	if (!f)
		return NULL;
	f->path = strdup(path);
	if (!f->path) {
		free(f);
		return NULL;
	}
	f->file = binary_of_trace(a->t.trace, path);
	if (!f->file)
		return f;
	/* what cannot be read gives no advice */
	msg_hold(&said);
	f->has_code = anatomy_open(&f->anatomy, f->file) == 0;
	f->has_dwarf = args_file_open(&f->dwarf, f->file);
	f->has_tags = tagfile_open(f->file, &f->tags) == TAGFILE_OK;
	msg_hold(NULL);
	free(said);
	return f;
}

static struct code_file *file_of(struct advise *a, const char *path)
{
	if (!a->codes)
		a->codes = calloc(1, sizeof(*a->codes));
	if (!a->codes || !path)
		return NULL;
	for (size_t i = 0; i < a->codes->n; i++)
		if (strcmp(a->codes->v[i]->path, path) == 0)
			return a->codes->v[i];
	if (!array_room(a->codes->v, a->codes->room, a->codes->n + 1))
		return NULL;
	a->codes->v[a->codes->n] = open_file(a, path);
	return a->codes->v[a->codes->n] ? a->codes->v[a->codes->n++] : NULL;
}

void advise_codes_free(struct advise_codes *c)
{
	for (size_t i = 0; c && i < c->n; i++) {
		struct code_file *f = c->v[i];

		if (f->has_code)
			anatomy_close(&f->anatomy);
		if (f->has_dwarf)
			args_file_free(&f->dwarf);
		if (f->has_tags)
			tagfile_close(&f->tags);
		free(f->path);
		free(f->file);
		free(f);
	}
	if (c)
		free(c->v);
	free(c);
}

/* ---- blocks ---- */

static bool find_function(struct code_file *f, uint64_t entry)
{
	uint32_t fn;

	if (!f->has_code || !entry)
		return false;
	if (f->entry == entry)
		return true;
	f->entry = 0;
	fn = tramp_code_function(f->anatomy.code, entry);
	if (fn == TRAMP_NONE || !anatomy_flow(&f->anatomy, fn))
		return false;
	tramp_flow_live(&f->anatomy.flow);
	f->entry = entry;
	return true;
}

static bool leaves(const struct tramp_flow *flow, const struct tramp_block *b, uint32_t loop)
{
	switch (b->ends) {
	case TRAMP_END_NORETURN:
	case TRAMP_END_STOP:
		return false;
	case TRAMP_END_RET:
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_JCC:
	case TRAMP_END_TAIL_IND:
	case TRAMP_END_TAIL_FALL:
	case TRAMP_END_UNSURE:
		return true;
	default:
		return (b->target != TRAMP_NONE && !tramp_flow_in_loop(flow, b->target, loop)) || (b->next != TRAMP_NONE && !tramp_flow_in_loop(flow, b->next, loop));
	}
}

static void add_block(struct advise_code *c, const struct tramp_flow *flow, uint32_t i, uint32_t loop)
{
	const struct tramp_block *b = &flow->blocks[i];
	const struct block_facts facts = block_facts(flow, i);
	const uint32_t head = flow->loops[loop].head;
	const bool out = leaves(flow, b, loop);

	c->calls |= facts.classes[TRAMP_CLASS_CALL] != 0;
	for (unsigned int k = 0; k < TRAMP_WIDTHS; k++)
		c->packed |= facts.flops_packed[k] != 0;
	c->exits += out;
	c->inner |= b->loop != loop;
	c->branches |= b->ends == TRAMP_END_SWITCH || (b->ends == TRAMP_END_JCC && !out && b->target != head && b->next != head);
}

static bool is_alone(const struct tramp_flow *flow, uint32_t loop)
{
	const uint32_t parent = flow->loops[loop].parent;

	if (parent == TRAMP_NONE)
		return false;
	for (uint32_t i = 0; i < flow->nloops; i++)
		if (i != loop && flow->loops[i].parent == parent)
			return false;
	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (flow->blocks[i].loop == parent && flow->blocks[i].ends == TRAMP_END_CALL)
			return false;
	return true;
}

/* ---- debug information ---- */

/* Of a parameter's type: 0: no pointer; 1: one; 2: restrict. */
static unsigned int pointer_of(Dwarf_Die *parameter)
{
	Dwarf_Attribute attr;
	Dwarf_Die type, *at = parameter;
	unsigned int is = 1;

	for (unsigned int depth = 0; depth < 32 && dwarf_attr_integrate(at, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type); depth++) {
		switch (dwarf_tag(&type)) {
		case DW_TAG_restrict_type:
			is = 2;
			break;
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
			break;
		case DW_TAG_pointer_type:
		case DW_TAG_reference_type:
			return is;
		default:
			return 0;
		}
		at = &type;
	}
	return 0;
}

static void read_dwarf(const struct code_file *f, uint64_t entry, struct advise_code *c)
{
	Dwarf_Die function, unit, child;
	Dwarf_Attribute attr;

	if (!f->has_dwarf || !args_file_function(&f->dwarf, entry, &function))
		return;
	if (dwarf_diecu(&function, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_producer, &attr))
		c->producer = dwarf_formstring(&attr);
	if (dwarf_child(&function, &child) != 0)
		return;
	do {
		const unsigned int is = dwarf_tag(&child) == DW_TAG_formal_parameter ? pointer_of(&child) : 0;

		c->pointers += is != 0;
		c->restricted += is == 2;
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* ---- all ---- */

struct advise_code advise_code_of(struct advise *a, const char *path, uint64_t entry, uint64_t head)
{
	struct code_file *f = file_of(a, path);
	const struct tramp_flow *flow = f ? &f->anatomy.flow : NULL;
	struct advise_code c = { 0 };
	uint32_t loop = TRAMP_NONE;

	if (!f || !find_function(f, entry))
		return c;
	for (uint32_t i = 0; i < flow->nloops; i++)
		if (tramp_code_base(f->anatomy.code) + flow->blocks[flow->loops[i].head].start == head)
			loop = i;
	if (loop == TRAMP_NONE)
		return c;
	c.known = !(flow->flags & (TRAMP_FLOW_BAD_CODE | TRAMP_FLOW_OVERLAP));
	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (tramp_flow_in_loop(flow, i, loop))
			add_block(&c, flow, i, loop);
	c.alone = is_alone(flow, loop);
	advise_carried(flow, loop, &c.carried);
	read_dwarf(f, entry, &c);
	return c;
}

unsigned int advise_function_insns(struct advise *a, const char *path, uint64_t entry)
{
	struct code_file *f = file_of(a, path);

	return f && find_function(f, entry) ? f->anatomy.flow.nops : 0;
}

uint32_t advise_tag_branch(struct advise *a, const char *path, uint64_t addr, bool *vectorized)
{
	const struct code_file *f = file_of(a, path);
	const struct tag *tags;
	size_t n = 0;

	*vectorized = false;
	tags = f && f->has_tags ? tags_find(&f->tags.tags, addr, 1, &n) : NULL;
	for (size_t i = 0; tags && i < n; i++) {
		const uint32_t flags = tags[i].fact.flags;

		*vectorized |= (flags & TAGS_VECTORIZED) != 0;
		if (tags[i].fact.branch && !(flags & TAGS_IFCONVERTED))
			return tags[i].fact.branch;
	}
	return 0;
}
