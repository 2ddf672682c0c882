// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/memory/names/memblocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MODULE "memory"

enum what { NOTHING, GIVES, FREES, BOTH };

/* A call that is open; those that it makes are its own affair. */
struct open {
	int pid, tid;
	enum what what;
	uint32_t depth;
	const struct sonde_trace_function *function;
	uint64_t entered, from, code, bytes, address;
	uint64_t callers[MEMBLOCKS_CALLERS];
};

struct calls {
	struct open *open;
	size_t nopen, room_open;
	bool (*take)(void *arg, const struct memblocks_call *call);
	void *arg;
};

static enum what what_of(const char *name)
{
	static const char *const frees[] = { "free", "cfree", "munmap", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t",
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

bool memblocks_is_call(const char *symbol)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "valloc", "pvalloc",
					     "posix_memalign", "free", "cfree", "mmap", "mmap64", "munmap", "mremap" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(symbol, names[i]) == 0)
			return true;
	/* operator new and delete */
	return strncmp(symbol, "_Zn", 3) == 0 || strncmp(symbol, "_Zd", 3) == 0;
}

bool memblocks_gives(const char *name)
{
	if (strcmp(name, "operator new") == 0 || strcmp(name, "operator new[]") == 0)
		return true;
	return memblocks_is_call(name) && name[0] != '_' && (what_of(name) == GIVES || what_of(name) == BOTH);
}

static struct open *open_of(struct calls *r, const struct sonde_trace_thread *t)
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

/* "code2" and so on. */
static void take_callers(struct open *o, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		const char *name = ev->values[i].name;

		if (strncmp(name, "code", 4) == 0 && name[4] >= '2' && name[4] < '2' + MEMBLOCKS_CALLERS && !name[5])
			o->callers[name[4] - '2'] = ev->values[i].u;
	}
}

static void enter(struct open *o, const struct sonde_trace_event *ev)
{
	if (o->function && ev->depth > o->depth)
		return;
	*o = (struct open){ .pid = o->pid, .tid = o->tid, .what = what_of(ev->function->name), .depth = ev->depth,
			    .entered = ev->ticks, .from = ev->time, .code = value(ev, "code"), .bytes = value(ev, "bytes"), .address = value(ev, "address") };
	take_callers(o, ev);
	if (o->what != NOTHING)
		o->function = ev->function;
}

static bool leave(struct calls *r, struct open *o, const struct sonde_trace_event *ev)
{
	const uint64_t result = o->what == FREES ? 0 : value(ev, "result");
	struct memblocks_call call = {
		.function = o->function, .thread = ev->thread, .code = o->code, .entered = o->entered, .left = ev->ticks,
		.from = o->from, .to = ev->time, .gives = result && result != UINT64_MAX, .freed = o->address, .address = result,
		.bytes = o->bytes,
	};

	if (!o->function || ev->depth > o->depth)
		return true;
	memcpy(call.callers, o->callers, sizeof(call.callers));
	o->function = NULL;
	if (ev->function != call.function || (ev->flags & (SONDE_TRACE_UNWOUND | SONDE_TRACE_ORPHAN)))
		return true;
	call.frees = (o->what == FREES || (o->what == BOTH && call.gives)) && o->address;
	return r->take(r->arg, &call);
}

static bool take_event(struct calls *r, const struct sonde_trace_event *ev)
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

bool memblocks_recorded(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_modules(trace); i++)
		if (strcmp(sonde_trace_module(trace, i)->name, MODULE) == 0)
			return true;
	return false;
}

bool memblocks_each(const struct sonde_trace *trace, bool (*take)(void *arg, const struct memblocks_call *call), void *arg, bool *damaged)
{
	struct calls r = { .take = take, .arg = arg };
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status = sonde_trace_merge(trace, NULL, NULL, &iter);
	bool good = true;

	while (status == SONDE_TRACE_OK && good && (status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK)
		good = take_event(&r, ev);
	*damaged = iter && sonde_trace_damage(iter, NULL);
	sonde_trace_iter_free(iter);
	free(r.open);
	return good && status != SONDE_TRACE_E_NOMEM;
}
