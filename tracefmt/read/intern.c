/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thing for one name, over all ranks. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/hash.h"
#include "tracefmt/read/trace-internal.h"

static const struct sonde_trace_count no_counts;
static const struct sonde_trace_calls no_calls;

typedef bool (*same_fn)(const void *thing, const void *key);

/* The thing, or where its slot is to be; NULL: no memory. */
static void **find(struct tf_names *n, uint64_t hash, same_fn same, const void *key)
{
	size_t at;

	if (!hash_grow(n->slot, n->room, n->n + 1, old, old->thing,
		       &n->slot[hash_slot(to, n->room, old->hash, !n->slot[to].thing)]))
		return NULL;
	at = hash_slot(i, n->room, hash, !n->slot[i].thing || (n->slot[i].hash == hash && same(n->slot[i].thing, key)));
	n->slot[at].hash = hash;
	return &n->slot[at].thing;
}

void tf_names_free(struct tf_names *n)
{
	free(n->slot);
	*n = (struct tf_names){ 0 };
}

static uint64_t hash_str(const char *s, uint64_t seed)
{
	return XXH64(s, strlen(s), seed);
}

static bool same_module(const void *thing, const void *key)
{
	return !strcmp(((const struct sonde_trace_module *)thing)->name, key);
}

struct sonde_trace_module *tf_trace_module(struct sonde_trace *t, const char *name)
{
	void **at = find(&t->module_names, hash_str(name, 0), same_module, name);
	struct sonde_trace_module *m;

	if (!at || *at)
		return at ? *at : NULL;
	m = tf_arena_alloc(&t->arena, sizeof *m);
	if (!m || !(m->name = tf_arena_strdup(&t->arena, name)) || !tf_list_add(&t->modules, m))
		return NULL;
	m->index = t->modules.n - 1;
	m->description = m->path = "";
	t->module_names.n++;
	return *at = m;
}

static bool same_function(const void *thing, const void *key)
{
	const struct sonde_trace_function *a = thing, *b = key;

	return !strcmp(a->name, b->name) && !strcmp(a->path, b->path);
}

struct sonde_trace_function *tf_trace_function(struct sonde_trace *t, const char *name,
					       const char *path)
{
	struct sonde_trace_function key = { .name = name, .path = path }, *f;
	void **at = find(&t->function_names, hash_str(path, hash_str(name, 0)), same_function,
			 &key);

	if (!at || *at)
		return at ? *at : NULL;
	f = tf_arena_alloc(&t->arena, sizeof *f);
	if (!t->last_path || strcmp(t->last_path, path))
		t->last_path = tf_arena_strdup(&t->arena, path);
	if (!f || !t->last_path || !(f->name = tf_arena_strdup(&t->arena, name)) ||
	    !tf_list_add(&t->functions, f))
		return NULL;
	f->path = t->last_path;
	f->demangled = f->name;
	f->index = t->functions.n - 1;
	t->function_names.n++;
	return *at = f;
}

static bool same_counter(const void *thing, const void *key)
{
	const struct sonde_trace_counter *a = thing, *b = key;

	return !strcmp(a->name, b->name) && a->function == b->function && a->module == b->module;
}

struct sonde_trace_counter *tf_trace_counter(struct sonde_trace *t, const char *name,
					     const struct sonde_trace_function *function,
					     const struct sonde_trace_module *module)
{
	struct sonde_trace_counter key = { .name = name, .function = function, .module = module };
	struct sonde_trace_counter *c;
	uint64_t seed = (function ? function->index + 1 : 0) << 32 ^
			(module ? module->index + 1 : 0);
	void **at = find(&t->counter_names, hash_str(name, seed), same_counter, &key);

	if (!at || *at)
		return at ? *at : NULL;
	c = tf_arena_alloc(&t->arena, sizeof *c);
	if (!c || !(c->name = tf_arena_strdup(&t->arena, name)) || !tf_list_add(&t->counters, c))
		return NULL;
	c->function = function;
	c->module = module;
	c->index = t->counters.n - 1;
	t->counter_names.n++;
	return *at = c;
}

static bool same_thread(const void *thing, const void *key)
{
	const struct tf_thread_in *a = thing, *b = key;

	return a->part == b->part && !strcmp(a->name, b->name);
}

struct tf_thread_in *tf_trace_thread(struct sonde_trace *t, const struct tf_part *part,
				     const char *name, bool make)
{
	struct tf_thread_in key = { .part = part, .name = name }, *thread;
	void **at = find(&t->file_names, hash_str(name, part->pub.index), same_thread, &key);

	if (!at || *at || !make)
		return at ? *at : NULL;
	thread = tf_arena_alloc(&t->arena, sizeof *thread);
	if (!thread || !(thread->name = tf_arena_strdup(&t->arena, name)) ||
	    !tf_list_add(&t->threads, thread))
		return NULL;
	thread->part = part;
	thread->pub.rank_index = part->pub.index;
	thread->pub.comm = thread->pub.file = "";
	thread->pub.counts = &no_counts;
	thread->pub.calls = &no_calls;
	t->file_names.n++;
	return *at = thread;
}
