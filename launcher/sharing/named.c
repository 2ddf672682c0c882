/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What data are called: globals and statics by their address, blocks of the heap by address and time.  Frames of threads and their thread-local
 * storage are known while a thread's accesses are gone through; that is done once more where lines have no other name.
 */
#include "launcher/sharing/sharing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MOST_WANTED 256 /* addresses that are looked for on stacks */

static bool has_name(const struct nm_place *place)
{
	return place->name->variable->how >= NM_BY_SYMBOL && place->name->variable->kind != NM_AMBIGUOUS;
}

static bool is_local(const struct nm_variable *v)
{
	return v->scope && (v->kind == NM_HEAP || v->kind == NM_STACK);
}

char *sharing_variable(const struct nm_place *place)
{
	const struct nm_variable *v = place->name->variable;
	char *text;

	if (!has_name(place) ||
	    asprintf(&text, "%s%s%s%s", v->name, place->name->path, is_local(v) ? " in " : "", is_local(v) ? v->scope : "") < 0)
		return NULL;
	return text;
}

char *sharing_whole(const struct nm_place *place)
{
	const struct nm_place whole = { nm_whole(place->name), place->begin, place->size };

	return sharing_variable(&whole);
}

/* False: no memory. */
static bool set_name(struct sharing_side *side, const struct nm_place *place)
{
	const struct nm_variable *v = place->name->variable;
	char *name;

	if (!has_name(place))
		return true;
	name = sharing_variable(place);
	side->kind = v->kind;
	side->of = v->index + 1;
	side->begin = place->size ? place->begin : 0;
	side->whole = v->type || v->how == NM_BY_DEBUG;
	side->variable = name;
	/* which one of an array */
	if (name && (*place->name->path ? strstr(place->name->path, "[]") != NULL : side->data != place->begin)) {
		if (asprintf(&side->variable, "%s (+%" PRIu64 ")", name, side->data - place->begin) < 0)
			side->variable = NULL;
		free(name);
	}
	return side->variable;
}

bool sharing_name(struct sharing_rows *rows, const struct sh_line *line, struct sharing_side *side, struct memnames *names)
{
	const uint64_t mask = side->use.reads | side->use.writes;
	const uint64_t at = line->address + (mask ? (uint64_t)__builtin_ctzll(mask) * sharing_grain(rows->bytes) : 0);
	const struct nm_when when = { line->pid, side->use.from, side->use.to, side->use.insn };
	struct nm_place place;

	side->data = sharing_moves_original(rows->moves, at);
	if (!names)
		return true;
	if (!nm_find_static(memnames_nm(names), side->data, 1, &place) || !set_name(side, &place))
		return false;
	return side->variable || (nm_find_block(memnames_nm(names), &when, side->data, 1, &place) && set_name(side, &place));
}

/* ---- stacks ---- */

struct wanted {
	struct sharing_side *side;
	int pid;
};

struct stacks {
	struct memnames *names;
	struct wanted wanted[MOST_WANTED];
	size_t n;
	int pid;		    /* of the thread */
	struct memtrace_time time;  /* of the batch that comes */
	uint64_t before;	    /* of the last one */
	bool failed;
};

/* Since the last batch the thread may have been where it is now: what is on its stack that others have accessed meanwhile? */
static bool look(struct stacks *s, struct nm_thread *t, uint64_t now)
{
	for (size_t i = 0; i < s->n;) {
		struct wanted *w = &s->wanted[i];
		struct nm_place place;

		if (w->pid == s->pid && w->side->use.from <= now && w->side->use.to >= s->before) {
			if (!nm_find_own(t, w->side->data, 1, &place) || !set_name(w->side, &place))
				return false;
			if (w->side->variable) {
				*w = s->wanted[--s->n];
				continue;
			}
		}
		i++;
	}
	s->before = now;
	return true;
}

static bool note(void *arg, const struct mt_access *v, size_t n)
{
	struct stacks *s = arg;
	struct nm_thread *t = memnames_batch(s->names);

	s->failed |= !look(s, t, s->time.tsc);
	for (size_t i = 0; i < n && !s->failed; i++)
		s->failed = !nm_note(t, &v[i]);
	return !s->failed && s->n;
}

static void want(struct stacks *s, struct sharing_row *r, struct sharing_side *side)
{
	if (!side->variable && s->n < MOST_WANTED)
		s->wanted[s->n++] = (struct wanted){ side, r->line.pid };
}

bool sharing_name_stacks(struct sharing_rows *rows, size_t first, struct memnames *names, const struct memtrace_thread *threads, size_t n)
{
	struct stacks s = { .names = names };
	struct memtrace_thread copy;

	for (size_t i = first; i < rows->n; i++) {
		want(&s, &rows->v[i], &rows->v[i].side[0]);
		want(&s, &rows->v[i], &rows->v[i].side[1]);
	}
	for (size_t i = 0; i < n && s.n && !s.failed; i++) {
		s.pid = threads[i].about.pid;
		s.before = 0;
		s.time = (struct memtrace_time){ 0 };
		if (!memnames_thread(names, &threads[i], &copy))
			return false;
		copy.time = &s.time;
		copy.progress = NULL;
		copy.quiet = true;
		(void)memtrace_accesses(&copy, note, &s);
		s.failed |= !look(&s, memnames_batch(names), UINT64_MAX);
	}
	return !s.failed;
}
