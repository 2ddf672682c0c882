// SPDX-License-Identifier: GPL-3.0-or-later
/* Blocks of the heap, from what module memory has recorded of malloc(), free() and the like. */
#include "launcher/memory/memnames.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "base/hash.h"
#include "injector/image/symbols.h"
#include "launcher/common/message.h"

#define MODULE "memory"

enum what { NOTHING, GIVES, FREES, BOTH };

/* A call that is open; those that it makes are its own affair. */
struct open {
	int pid, tid;
	enum what what;
	uint32_t depth;
	const struct sonde_trace_function *function;
	uint64_t entered, code, bytes, address;
};

struct site {
	const struct sonde_trace_function *function; /* NULL: free */
	uint64_t code;
	uint32_t index;
};

struct blocks {
	struct nm *nm;
	const struct mt_read *read;
	const struct sonde_trace *trace;
	struct open *open;
	size_t nopen, room_open;
	struct site *site; /* hashed */
	size_t nsites, room_sites;
};

static enum what what_of(const char *name)
{
	static const char *const frees[] = { "free", "munmap", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t",
					     "_ZdaPvSt11align_val_t" };
	static const char *const both[] = { "realloc", "reallocarray", "mremap" };
	static const char *const others[] = { "mprotect", "madvise", "sbrk", "brk" };

	for (size_t i = 0; i < sizeof(frees) / sizeof(frees[0]); i++)
		if (strcmp(name, frees[i]) == 0)
			return FREES;
	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		if (strcmp(name, both[i]) == 0)
			return BOTH;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return NOTHING;
	return GIVES;
}

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

static bool find_site(struct blocks *r, const struct open *o, uint32_t *index)
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

static struct open *open_of(struct blocks *r, const struct sonde_trace_thread *t)
{
	for (size_t i = r->nopen; i-- > 0;)
		if (r->open[i].pid == t->pid && r->open[i].tid == t->tid)
			return &r->open[i];
	if (!array_room(r->open, r->room_open, r->nopen + 1))
		return NULL;
	r->open[r->nopen] = (struct open){ .pid = t->pid, .tid = t->tid };
	return &r->open[r->nopen++];
}

static uint64_t value(const struct sonde_trace_event *ev, const char *name)
{
	for (size_t i = 0; i < ev->nvalues; i++)
		if (strcmp(ev->values[i].name, name) == 0)
			return ev->values[i].u;
	return 0;
}

static void enter(struct open *o, const struct sonde_trace_event *ev)
{
	if (o->function && ev->depth > o->depth)
		return;
	*o = (struct open){ .pid = o->pid, .tid = o->tid, .what = what_of(ev->function->name), .depth = ev->depth,
			    .entered = ev->ticks, .code = value(ev, "code"), .bytes = value(ev, "bytes"), .address = value(ev, "address") };
	if (o->what != NOTHING)
		o->function = ev->function;
}

static bool leave(struct blocks *r, struct open *o, const struct sonde_trace_event *ev)
{
	const uint64_t result = o->what == FREES ? 0 : value(ev, "result");
	const bool gave = result && result != UINT64_MAX;
	struct nm_call call = { o->pid, o->tid, ev->ticks, 0 };

	if (!o->function || ev->depth > o->depth)
		return true;
	if (ev->function != o->function || (ev->flags & (SONDE_TRACE_UNWOUND | SONDE_TRACE_ORPHAN))) {
		o->function = NULL;
		return true;
	}
	if (!find_site(r, o, &call.site))
		return false;
	o->function = NULL;
	if ((o->what == FREES || (o->what == BOTH && gave)) && o->address) {
		call.time = o->entered;
		if (!nm_free_block(r->nm, &call, o->address, o->what == BOTH))
			return false;
		call.time = ev->ticks;
	}
	return !gave || nm_add_block(r->nm, &call, result, o->bytes);
}

static bool take(struct blocks *r, const struct sonde_trace_event *ev)
{
	struct open *o;

	if (!ev->thread || !ev->function)
		return true;
	/* an unwound one has no site */
	if (ev->site && (!ev->site->module || strcmp(ev->site->module->name, MODULE) != 0))
		return true;
	o = open_of(r, ev->thread);
	if (o && ev->kind == SONDE_TRACE_ENTER)
		enter(o, ev);
	return o && (ev->kind != SONDE_TRACE_LEAVE || leave(r, o, ev));
}

static bool has_module(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_modules(trace); i++)
		if (strcmp(sonde_trace_module(trace, i)->name, MODULE) == 0)
			return true;
	return false;
}

bool memnames_add_blocks(struct nm *nm, const struct mt_read *read, bool *has)
{
	struct blocks r = { .nm = nm, .read = read, .trace = mt_read_trace(read) };
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status;
	bool good = true;

	*has = r.trace && has_module(r.trace);
	if (!*has)
		return true;
	status = sonde_trace_merge(r.trace, NULL, NULL, &iter);
	while (status == SONDE_TRACE_OK && good && (status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK)
		good = take(&r, ev);
	if (iter && sonde_trace_damage(iter, NULL))
		msg_warn("some of the events that allocations are known by is damaged: accesses may have names of other blocks");
	sonde_trace_iter_free(iter);
	free(r.open);
	free(r.site);
	return good && status != SONDE_TRACE_E_NOMEM;
}
