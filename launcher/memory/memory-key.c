/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rows are called, by function, loop, line, block, instruction, or what is accessed, and where that is. */
#include "launcher/memory/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

/* "function", "library+0x1234", "0x7f..."; @at: of what, in the file. */
static char *function_name(const struct memplace *p)
{
	char *text;
	int n;

	if (p->function)
		return strdup(p->function);
	if (p->path)
		n = asprintf(&text, "[%s]", path_basename(p->path));
	else
		n = asprintf(&text, "[unknown]");
	return n < 0 ? NULL : text;
}

static char *loop_name(const struct memplace *p)
{
	char *function = function_name(p), *text = NULL;
	int n = -1;

	if (!function)
		return NULL;
	if (!p->loop)
		n = asprintf(&text, "%s, in no loop", function);
	else if (p->loop_file)
		n = asprintf(&text, "%s, loop at %s:%d (%" PRIx64 ")", function,
			     path_basename(p->loop_file), p->loop_line, p->loop);
	else
		n = asprintf(&text, "%s, loop at %" PRIx64, function, p->loop);
	free(function);
	return n < 0 ? NULL : text;
}

static char *line_name(const struct memplace *p)
{
	char *text;

	if (!p->file)
		return function_name(p);
	return asprintf(&text, "%s:%d", p->file, p->line) < 0 ? NULL : text;
}

static char *block_name(const struct memplace *p)
{
	char *function = function_name(p), *text = NULL;
	int n = -1;

	if (!function)
		return NULL;
	if (p->block && p->block_file)
		n = asprintf(&text, "%s, block at %s:%d (%" PRIx64 ")", function, path_basename(p->block_file), p->block_line, p->block);
	else if (p->block)
		n = asprintf(&text, "%s, block at %" PRIx64, function, p->block);
	else
		n = asprintf(&text, "%s, block not known", function);
	free(function);
	return n < 0 ? NULL : text;
}

static char *insn_name(const struct memplace *p)
{
	char *function = function_name(p), *text = NULL;
	int n = -1;

	if (!function)
		return NULL;
	if (p->file)
		n = asprintf(&text, "%s+0x%" PRIx64 " %s:%d", function, p->addr - p->entry,
			     path_basename(p->file), p->line);
	else
		n = asprintf(&text, "%s+0x%" PRIx64, function, p->addr - p->entry);
	free(function);
	return n < 0 ? NULL : text;
}

static char *copy(const char *text, bool *good)
{
	char *made = text ? strdup(text) : NULL;

	*good = *good && (!text || made);
	return made;
}

char *memory_name(const struct memplace *p, enum memory_by by)
{
	switch (by) {
	case MEMORY_BY_FUNCTION:
		return function_name(p);
	case MEMORY_BY_LOOP:
		return loop_name(p);
	case MEMORY_BY_LINE:
		return line_name(p);
	case MEMORY_BY_BLOCK:
		return block_name(p);
	case MEMORY_BY_INSTRUCTION:
		return insn_name(p);
	default:
		return p->name ? memory_accessed_name(p->name, by) : NULL;
	}
}

static void make_accessed(struct memory_key *key, const struct nm_name *name, enum memory_by by, bool *good)
{
	const struct memory_accessed a = memory_accessed(name, by);

	key->kind = a.kind;
	key->how = a.how;
	key->type = copy(a.type, good);
	key->path = copy(a.object, good);
	key->function = copy(a.scope, good);
	key->file = copy(a.file, good);
	key->line = a.line;
	key->callers = copy(a.callers, good);
}

static void make_place(struct memory_key *key, const struct memplace *p, enum memory_by by, bool *good)
{
	const char *file = p->file;
	int line = p->line;

	key->path = copy(p->path, good);
	if (by != MEMORY_BY_LINE || !p->file)
		key->function = copy(p->function, good);
	if (by == MEMORY_BY_FUNCTION) {
		key->address = p->entry;
		return;
	}
	if (by == MEMORY_BY_LOOP) {
		key->address = p->loop;
		key->depth = p->loop_depth;
		file = p->loop_file;
		line = p->loop_line;
	} else if (by == MEMORY_BY_BLOCK) {
		key->address = p->block;
		file = p->block_file;
		line = p->block_line;
	} else if (by == MEMORY_BY_INSTRUCTION) {
		key->address = p->addr;
	}
	key->file = copy(file, good);
	key->line = file ? line : 0;
}

bool memory_key_make(struct memory_key *key, const struct memplace *p, enum memory_by by)
{
	bool good = true;

	*key = (struct memory_key){ .name = memory_name(p, by) };
	if (!key->name)
		return false;
	if (memory_by_name(by))
		make_accessed(key, p->name, by, &good);
	else
		make_place(key, p, by, &good);
	return good;
}

void memory_key_free(struct memory_key *key)
{
	free(key->name);
	free(key->path);
	free(key->function);
	free(key->file);
	free(key->type);
	free(key->callers);
}

static int compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

int memory_key_compare(const struct memory_key *a, const struct memory_key *b)
{
	int order = compare(a->name, b->name);

	if (!order)
		order = compare(a->path, b->path);
	/* functions of one name in one file */
	if (!order)
		order = (a->address > b->address) - (a->address < b->address);
	/* variables likewise */
	if (!order)
		order = compare(a->file, b->file);
	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	return order ? order : compare(a->callers, b->callers);
}
