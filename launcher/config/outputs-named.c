/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accesses to variables of functions and threads and to blocks of the heap, chosen by their names (launcher/memory/names/): all accesses of a thread are
 * gone through for that, in their order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "launcher/config/outputs-memory.h"
#include "launcher/memory/names/memblocks.h"

static bool has_stacks(const struct config_found *found)
{
	for (size_t i = 0; i < found->nnamed; i++)
		if (found->named[i].kind == CONFIG_OF_FUNCTION)
			return true;
	return false;
}

bool named_rank(struct memory_making *k, struct mt_read *read)
{
	const struct config_found *found = k->m->found;

	if (!found->nnamed)
		return true;
	k->named.v = memnames_new(read, k->m->trace, k->rank, MEMNAMES_FIELDS);
	k->named.blocks = k->named.blocks || (mt_read_trace(read) && memblocks_recorded(mt_read_trace(read)));
	return k->named.v && (!has_stacks(found) || memnames_stacks(k->named.v, read, k->m->trace, k->rank));
}

void named_end_rank(struct memory_making *k)
{
	memnames_free(k->named.v);
	k->named.v = NULL;
	free(k->named.wanted);
	k->named.wanted = NULL;
	k->named.room = 0;
}

bool named_thread(struct memory_making *k, const struct memtrace_thread *t, struct memtrace_thread *copy)
{
	*copy = *t;
	return !k->named.v || memnames_thread(k->named.v, t, copy);
}

void named_batch(struct memory_making *k)
{
	k->named.thread = k->named.v ? memnames_batch(k->named.v) : NULL;
}

/* ---- is it what is wanted? ---- */

enum wanted { NOT_WANTED = 1, WANTED, UNTYPED };

/* Without a type, what of it was accessed is not known. */
static enum wanted is_field(const struct nm_name *name, const char *field)
{
	if (*field && !name->type)
		return UNTYPED;
	return !*field || config_field_rest(name->path, field) ? WANTED : NOT_WANTED;
}

/* A static variable of C++ may have its function in its name. */
static bool is_of_function(const struct nm_variable *v, const struct config_named *w)
{
	size_t len = strlen(w->function);

	if (v->kind != NM_STACK && v->kind != NM_STATIC)
		return false;
	if (v->scope)
		return strcmp(v->scope, w->function) == 0 && strcmp(v->name, w->name) == 0;
	return strncmp(v->name, w->function, len) == 0 && strncmp(v->name + len, "::", 2) == 0 && strcmp(v->name + len + 2, w->name) == 0;
}

static bool is_of_heap(const struct nm_variable *v, const struct config_named *w)
{
	if (v->kind != NM_HEAP || !config_same_giver(v->name, w->name))
		return false;
	if (w->function)
		return v->scope && config_same_function(v->scope, w->function);
	return v->line == (int)w->line && v->file && lines_is_file(v->file, w->file);
}

/* "sim::steps" is "steps", too. */
static bool is_of_thread(const struct nm_variable *v, const struct config_named *w)
{
	size_t len = strlen(v->name), wanted = strlen(w->name);

	if (v->kind != NM_TLS || wanted > len || strcmp(v->name + len - wanted, w->name) != 0)
		return false;
	return wanted == len || v->name[len - wanted - 1] == ':';
}

static enum wanted look_at(struct memory_making *k, const struct nm_name *name)
{
	const struct config_found *found = k->m->found;
	const struct nm_variable *v = name->variable;
	enum wanted wanted = NOT_WANTED;
	const bool own = v->object && config_object_of(k->m->f, v->object) == 0;

	for (size_t i = 0; i < found->nnamed && wanted != WANTED; i++) {
		const struct config_named *w = &found->named[i];
		const bool same = w->kind == CONFIG_OF_HEAP ? is_of_heap(v, w) : own && (w->kind == CONFIG_OF_THREAD ? is_of_thread(v, w) : is_of_function(v, w));

		if (same && wanted == NOT_WANTED)
			wanted = is_field(name, w->field);
		else if (same && is_field(name, w->field) == WANTED)
			wanted = WANTED;
	}
	return wanted;
}

/* Each name is looked at once. */
static bool is_wanted(struct memory_making *k, const struct nm_name *name, bool *wanted)
{
	struct named_making *n = &k->named;
	const size_t old = n->room;

	if (!array_room(n->wanted, n->room, (size_t)name->index + 1))
		return false;
	if (n->room > old)
		memset(n->wanted + old, 0, n->room - old);
	if (!n->wanted[name->index])
		n->wanted[name->index] = (uint8_t)look_at(k, name);
	*wanted = n->wanted[name->index] == WANTED;
	n->untyped += n->wanted[name->index] == UNTYPED;
	return true;
}

bool named_pass(struct memory_making *k, const struct mt_access *a, bool hidden, bool *wanted)
{
	struct nm_place place;

	*wanted = false;
	if (!k->named.thread)
		return true;
	if (hidden)
		return nm_note(k->named.thread, a);
	if (!nm_find(k->named.thread, a, &place))
		return false;
	k->named.ambiguous += place.name->variable->kind == NM_AMBIGUOUS;
	return is_wanted(k, place.name, wanted);
}

void named_say(const struct memory_making *k)
{
	if (k->named.untyped)
		fprintf(k->m->out, "# left out: %" PRIu64 " accesses of which it is not known to which field they were\n", k->named.untyped);
	if (!k->m->found->needs_heap)
		return;
	if (!k->named.blocks)
		fputs("# blocks of the heap are not known: they are recorded by module memory (-m memory)\n", k->m->out);
	else if (k->named.ambiguous)
		fprintf(k->m->out, "# left out: %" PRIu64 " accesses to memory that was freed and allocated anew at about that time\n", k->named.ambiguous);
}
