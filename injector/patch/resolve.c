// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which code a wrapped name means: the function that the dynamic linker would bind it to, which is the
 * first global one in its search order; where there is none, a local one.
 */
#include "config.h"

#include <string.h>

#include "injector/patch/attach.h"

/* What cannot be wrapped by a C function, whatever its code looks like. */
static const char *unwrappable(const char *name)
{
	static const struct {
		const char *name, *reason;
	} list[] = {
		{ "setjmp", "returns twice" },
		{ "_setjmp", "returns twice" },
		{ "__setjmp", "returns twice" },
		{ "sigsetjmp", "returns twice" },
		{ "__sigsetjmp", "returns twice" },
		{ "getcontext", "returns twice" },
		{ "swapcontext", "returns on another stack" },
		{ "makecontext", "takes arguments that C cannot pass on" },
		{ "vfork", "returns twice on one stack" },
		{ "__vfork", "returns twice on one stack" },
		{ "clone", "returns on another stack" },
		{ "__clone", "returns on another stack" },
		{ "dlopen", "looks at its caller" },
		{ "dlmopen", "looks at its caller" },
		{ "dlsym", "looks at its caller" },
		{ "dlvsym", "looks at its caller" },
		{ "_dl_debug_state", "is Sonde's own way to learn of libraries" },
		{ "__tls_get_addr", "is called with registers of its own convention" },
		{ "_dl_runtime_resolve", "is called with registers of its own convention" },
		{ "__restore_rt", "is not called" },
		{ "_start", "is not called" },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(name, list[i].name) == 0)
			return list[i].reason;
	return NULL;
}

static void found(struct inj_wrap *w, const struct inj_session *s, size_t object,
		  const struct inj_symbol *sym, size_t others)
{
	w->object = object;
	w->file_addr = sym->addr;
	w->addr = s->objects[object].base + sym->addr;
	w->others = others;
	w->ifunc = sym->flags & INJ_SYM_IFUNC;
}

/* 2: a global function, 1: a local one, 0: none. */
static int look_in(struct inj_session *s, size_t object, struct inj_wrap *w)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[object]);
	const struct inj_symbol *sym;
	size_t others = 0;

	if (!tab)
		return 0;
	sym = inj_symtab_find(tab, w->symbol, &others);
	if (!sym)
		return 0;
	found(w, s, object, sym, others);
	return sym->flags & INJ_SYM_GLOBAL ? 2 : 1;
}

static bool searchable(const struct inj_object *o, bool linker)
{
	return o->path[0] && !o->is_module && o->is_linker == linker;
}

static bool find_function(struct inj_session *s, struct inj_wrap *w)
{
	struct inj_wrap local = *w;
	int best = 0;

	for (int linker = 0; linker < 2; linker++) {
		for (size_t i = 0; i < s->nobjects; i++) {
			struct inj_wrap try = *w;
			int how;

			if (!searchable(&s->objects[i], linker))
				continue;
			how = look_in(s, i, &try);
			if (how == 2) {
				*w = try;
				return true;
			}
			if (how > best) {
				best = how;
				local = try;
			}
		}
	}
	*w = local;
	return best > 0;
}

/* The IFUNC's own resolver says which code it is, when it can be called. */
static enum inj_status choose(struct inj_session *s, struct inj_wrap *w)
{
	static const uint64_t no_args[2];
	uint64_t chosen = 0;
	enum inj_status status = INJ_OK;

	if (s->attach.active && s->attach.hold)
		status = inj_call_resolver(s, w->addr, &chosen);
	else if (s->tracee)
		status = inj_tracee_call(s->tracee, w->addr, no_args, s->trap, &chosen);
	else {
		w->state = INJ_WRAP_REFUSED;
		w->reason = "an IFUNC of a library that was loaded late";
		return INJ_OK;
	}
	if (status == INJ_REMOTE || (status == INJ_OK && !chosen)) {
		w->state = INJ_WRAP_REFUSED;
		w->reason = "an IFUNC whose resolver fails";
		return INJ_OK;
	}
	w->addr = chosen;
	return status;
}

enum inj_status inj_resolve(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nwraps && status == INJ_OK; i++) {
		struct inj_wrap *w = &s->wraps[i];

		if (w->state != INJ_WRAP_PENDING || w->addr || !s->modules[w->module].active)
			continue;
		if (!find_function(s, w))
			continue;
		w->reason = unwrappable(w->symbol);
		if (w->reason)
			w->state = INJ_WRAP_REFUSED;
	}
	return status;
}

enum inj_status inj_resolve_ifuncs(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nwraps && status == INJ_OK; i++) {
		struct inj_wrap *w = &s->wraps[i];

		if (w->state != INJ_WRAP_PENDING || !w->addr || !w->ifunc)
			continue;
		w->ifunc = false;
		status = choose(s, w);
	}
	return status;
}
