// SPDX-License-Identifier: GPL-3.0-or-later
/* Blocks of the heap, for names: which call allocated them. */
#include "launcher/memory/names/memnames.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/hash.h"
#include "injector/image/symbols.h"
#include "launcher/common/message.h"
#include "launcher/memory/names/memblocks.h"

struct site {
	const struct sonde_trace_function *function; /* NULL: free */
	uint64_t code;
	uint32_t index;
};

struct blocks {
	struct nm *nm;
	const struct mt_read *read;
	const struct sonde_trace *trace;
	struct site *site; /* hashed */
	size_t nsites, room_sites;
};

/* ---- sites ---- */

static size_t slot_of(const struct blocks *r, const struct sonde_trace_function *function, uint64_t code)
{
	return hash_slot(i, r->room_sites, hash_word(code ^ hash_word(function->index)),
			 !r->site[i].function || (r->site[i].function == function && r->site[i].code == code));
}

/* Without parameters. */
static char *called(const struct sonde_trace_function *function)
{
	return strndup(function->demangled, strcspn(function->demangled, "("));
}

static bool add_site(struct blocks *r, struct site *s)
{
	const struct sonde_trace_code *code = s->code ? sonde_trace_code(r->trace, 0, s->code) : NULL;
	char *what = called(s->function), *caller = code && *code->function ? inj_demangle(code->function) : NULL;
	struct nm_site site = { .what = what, .code = s->code };
	struct mt_where where;
	bool good;

	if (code) {
		site.function = caller ? caller : *code->function ? code->function : NULL;
		site.object = code->path;
		site.file = *code->file ? code->file : NULL;
		site.line = code->line;
	}
	site.in_stream = s->code && mt_read_where(r->read, s->code - 1, &where) && where.place.function;
	good = what && nm_add_site(r->nm, &site, &s->index);
	free(what);
	free(caller);
	return good;
}

static bool find_site(struct blocks *r, const struct memblocks_call *o, uint32_t *index)
{
	struct site *s;

	if (!hash_grow(r->site, r->room_sites, r->nsites + 1, old, old->function, &r->site[slot_of(r, old->function, old->code)]))
		return false;
	s = &r->site[slot_of(r, o->function, o->code)];
	if (!s->function) {
		struct site new = { o->function, o->code, 0 };

		if (!add_site(r, &new))
			return false;
		*s = new;
		r->nsites++;
	}
	*index = s->index;
	return true;
}

/* ---- calls ---- */

static bool take(void *arg, const struct memblocks_call *c)
{
	struct blocks *r = arg;
	struct nm_call call = { c->thread->pid, c->thread->tid, c->entered, 0 };

	if (!find_site(r, c, &call.site) || (c->frees && !nm_free_block(r->nm, &call, c->freed, c->gives)))
		return false;
	call.time = c->left;
	return !c->gives || nm_add_block(r->nm, &call, c->address, c->bytes);
}

bool memnames_add_blocks(struct nm *nm, const struct mt_read *read, bool *has)
{
	struct blocks r = { .nm = nm, .read = read, .trace = mt_read_trace(read) };
	bool good, damaged;

	*has = r.trace && memblocks_recorded(r.trace);
	if (!*has)
		return true;
	good = memblocks_each(r.trace, take, &r, &damaged);
	if (damaged)
		msg_warn("some of the events that allocations are known by is damaged: accesses may have names of other blocks");
	free(r.site);
	return good;
}
