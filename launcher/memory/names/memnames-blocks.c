// SPDX-License-Identifier: GPL-3.0-or-later
/* Blocks of the heap, for names: which call allocated them. */
#include "launcher/memory/names/memnames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/hash.h"
#include "base/path.h"
#include "injector/image/symbols.h"
#include "launcher/common/message.h"
#include "launcher/memory/names/memblocks.h"

struct site {
	const struct sonde_trace_function *function; /* NULL: free */
	uint64_t code;
	uint64_t callers[MEMBLOCKS_CALLERS]; /* 0: of all stacks */
	uint32_t index;
};

struct blocks {
	struct nm *nm;
	const struct mt_read *read;
	const struct sonde_trace *trace;
	struct site *site; /* hashed */
	size_t nsites, room_sites;
	bool stacks;
};

/* ---- sites ---- */

static bool is_same(const struct site *a, const struct site *b)
{
	return a->function == b->function && a->code == b->code && memcmp(a->callers, b->callers, sizeof(a->callers)) == 0;
}

static size_t slot_of(const struct blocks *r, const struct site *s)
{
	uint64_t hash = hash_word(s->code ^ hash_word(s->function->index));

	for (size_t i = 0; i < MEMBLOCKS_CALLERS && s->callers[i]; i++)
		hash = hash_word(hash ^ s->callers[i]);
	return hash_slot(i, r->room_sites, hash, !r->site[i].function || is_same(&r->site[i], s));
}

/* Without parameters. */
static char *called(const struct sonde_trace_function *function)
{
	return strndup(function->demangled, strcspn(function->demangled, "("));
}

/* Wrappers of modules are in a file of Sonde's. */
static bool is_module(const struct blocks *r, const char *path)
{
	for (size_t i = 0; i < sonde_trace_modules(r->trace); i++)
		if (strcmp(sonde_trace_module(r->trace, i)->path, path) == 0)
			return true;
	return false;
}

static void put_caller(const struct blocks *r, uint64_t address, FILE *out)
{
	const struct sonde_trace_code *code = address == MEMBLOCKS_UNKNOWN ? NULL : sonde_trace_code(r->trace, 0, address);
	char *function = code && *code->function ? inj_demangle(code->function) : NULL;

	if (code && is_module(r, code->path)) {
		free(function);
		return;
	}
	if (ftell(out))
		putc('\n', out);
	if (!code && address == MEMBLOCKS_UNKNOWN)
		fputs("[not known]", out);
	else if (!code)
		fprintf(out, "0x%" PRIx64, address);
	else if (*code->file)
		fprintf(out, "%s%s%s:%d", function ? function : code->function, *code->function ? " " : "", path_basename(code->file), code->line);
	else if (*code->function)
		fprintf(out, "%s in %s", function ? function : code->function, path_basename(code->path));
	else
		fprintf(out, "%s+0x%" PRIx64, path_basename(code->path), code->offset);
	free(function);
}

/* A line each; *text NULL: there are none.  False: no memory. */
static bool callers_text(const struct blocks *r, const uint64_t *callers, char **text)
{
	size_t bytes;
	FILE *out = NULL;
	bool good;

	*text = NULL;
	if (!callers[0])
		return true;
	out = open_memstream(text, &bytes);
	for (size_t i = 0; out && i < MEMBLOCKS_CALLERS && callers[i]; i++)
		put_caller(r, callers[i], out);
	good = out && !ferror(out);
	good = out && fclose(out) == 0 && good;
	if (good && **text)
		return true;
	free(*text);
	*text = NULL;
	return good;
}

static bool add_site(struct blocks *r, struct site *s)
{
	const struct sonde_trace_code *code = s->code ? sonde_trace_code(r->trace, 0, s->code) : NULL;
	char *what = called(s->function), *caller = code && *code->function ? inj_demangle(code->function) : NULL, *callers = NULL;
	struct nm_site site = { .what = what, .code = s->code };
	struct mt_where where;
	const char *callee;
	bool good;

	if (code) {
		site.function = caller ? caller : *code->function ? code->function : NULL;
		site.object = code->path;
		site.file = *code->file ? code->file : NULL;
		site.line = code->line;
	}
	site.in_stream = s->code && mt_read_where(r->read, s->code - 1, &where) && where.place.function;
	/* what the call went to may have jumped to it, later */
	callee = site.in_stream ? nm_callee(r->nm, s->code) : NULL;
	site.in_stream = site.in_stream && (!callee || memblocks_is_call(callee));
	good = what && callers_text(r, s->callers, &callers);
	site.callers = callers;
	good = good && nm_add_site(r->nm, &site, &s->index);
	free(what);
	free(caller);
	free(callers);
	return good;
}

static bool find_site(struct blocks *r, const struct memblocks_call *o, uint32_t *index)
{
	struct site new = { .function = o->function, .code = o->code }, *s;

	if (r->stacks && o->gives)
		memcpy(new.callers, o->callers, sizeof(new.callers));
	if (!hash_grow(r->site, r->room_sites, r->nsites + 1, old, old->function, &r->site[slot_of(r, old)]))
		return false;
	s = &r->site[slot_of(r, &new)];
	if (!s->function) {
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

	if (!find_site(r, c, &call.site))
		return false;
	if ((c->frees || !c->gives) && !nm_free_block(r->nm, &call, c->frees ? c->freed : 0, c->gives))
		return false;
	call.time = c->left;
	return !c->gives || nm_add_block(r->nm, &call, c->address, c->bytes);
}

bool memnames_add_blocks(struct nm *nm, const struct mt_read *read, bool stacks, bool *has)
{
	struct blocks r = { .nm = nm, .read = read, .trace = mt_read_trace(read), .stacks = stacks };
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
