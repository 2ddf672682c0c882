/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/system.h"
#include "base/array.h"

#include "analysis/yaml/yamldoc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAYS_FULL UINT64_MAX
static bool read_ways(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	if (node->type == YAML_SCALAR_NODE && strcmp((const char *)node->data.scalar.value, "full") == 0) {
		*(uint64_t *)to = WAYS_FULL;
		return true;
	}
	return yd_read_size(r, node, to);
}

#define SHARED_ALL UINT64_MAX
static bool read_shared(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	if (node->type == YAML_SCALAR_NODE && strcmp((const char *)node->data.scalar.value, "all") == 0) {
		*(uint64_t *)to = SHARED_ALL;
		return true;
	}
	return yd_read_size(r, node, to) && (*(uint64_t *)to || yd_bad(r, node, "at least one core has it"));
}

static bool read_cores(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	uint64_t n;

	if (!yd_read_size(r, node, &n))
		return false;
	if (!n || n > CACHE_CORES)
		return yd_bad(r, node, "1 to %d cores belong here", CACHE_CORES);
	*(unsigned int *)to = (unsigned int)n;
	return true;
}

static const char *const policies[] = { "lru", "fifo", "random", "tree-plru", "nmru", NULL };

void cache_policy_name(const struct cache_level *level, char name[static CACHE_POLICY_MAX])
{
	const struct cache_qlru *q = &level->qlru;

	if (level->policy == CACHE_OPT)
		strcpy(name, "opt");
	else if (level->policy != CACHE_QLRU)
		strcpy(name, policies[level->policy]);
	else
		snprintf(name, CACHE_POLICY_MAX, "QLRU_H%u%u_M%u_R%u_U%u%s", q->hit3, q->hit2, q->insert, q->replace, q->update,
			 q->on_miss ? "_UMO" : "");
}

/* A digit up to @max after @before; *@at moves on. */
static bool read_digit(const char **at, const char *before, unsigned int max, uint8_t *to)
{
	const size_t n = strlen(before);

	if (strncmp(*at, before, n) != 0 || (*at)[n] < '0' || (unsigned int)((*at)[n] - '0') > max)
		return false;
	*to = (uint8_t)((*at)[n] - '0');
	*at += n + 1;
	return true;
}

static bool is_qlru(const char *text, struct cache_qlru *q)
{
	if (!read_digit(&text, "QLRU_H", 2, &q->hit3) || !read_digit(&text, "", 1, &q->hit2) ||
	    !read_digit(&text, "_M", 3, &q->insert) || !read_digit(&text, "_R", 2, &q->replace) ||
	    !read_digit(&text, "_U", 3, &q->update))
		return false;
	q->on_miss = strcmp(text, "_UMO") == 0;
	/* else there may be none of age 3 to leave */
	return (q->on_miss || !*text) && (q->replace == 1 || q->update < 2);
}

static bool read_policy(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct cache_level *level = to;
	unsigned int i;

	if (yd_word(r, node, policies, &i)) {
		level->policy = (enum cache_policy)i;
		return true;
	}
	if (*r->error)
		return false;
	level->policy = strcmp(yd_text(r, node), "opt") == 0 ? CACHE_OPT : CACHE_QLRU;
	if (level->policy == CACHE_OPT || is_qlru(yd_text(r, node), &level->qlru))
		return true;
	return yd_bad(r, node, "'%.40s': lru, fifo, random, tree-plru, nmru, opt or one like QLRU_H00_M1_R0_U1 belongs here",
		      yd_text(r, node));
}

static const char *const kinds_of_holding[] = { "any", "inclusive", "exclusive", NULL };

const char *cache_holds_name(enum cache_holds holds)
{
	return kinds_of_holding[holds];
}

static bool read_holds(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	unsigned int i;

	if (!yd_choice(r, node, kinds_of_holding, "any, inclusive or exclusive", &i))
		return false;
	*(enum cache_holds *)to = (enum cache_holds)i;
	return true;
}

static const char *const prefetchers[] = { "none", "next-line", "stride", NULL };

const char *cache_prefetch_name(enum cache_prefetch prefetch)
{
	return prefetchers[prefetch];
}

static bool read_prefetch(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	unsigned int i;

	if (!yd_choice(r, node, prefetchers, "none, next-line or stride", &i))
		return false;
	*(enum cache_prefetch *)to = (enum cache_prefetch)i;
	return true;
}

static bool read_write(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	static const char *const words[] = { "back", "through", NULL };
	unsigned int i;

	if (!yd_choice(r, node, words, "back or through", &i))
		return false;
	*(bool *)to = i == 1;
	return true;
}

/* ---- levels ---- */

struct raw_level {
	struct cache_level level;
	uint64_t size; /* bytes, or entries */
};

static const struct yd_key cache_keys[] = {
	{ "name", yd_read_text, offsetof(struct raw_level, level.name), true },
	{ "size", yd_read_size, offsetof(struct raw_level, size), true },
	{ "ways", read_ways, offsetof(struct raw_level, level.ways), true },
	{ "line", yd_read_size, offsetof(struct raw_level, level.line), true },
	{ "policy", read_policy, offsetof(struct raw_level, level), false },
	{ "seed", yd_read_size, offsetof(struct raw_level, level.seed), false },
	{ "write", read_write, offsetof(struct raw_level, level.through), false },
	{ "prefetch", read_prefetch, offsetof(struct raw_level, level.prefetch), false },
	{ "holds", read_holds, offsetof(struct raw_level, level.holds), false },
	{ "latency", yd_read_size, offsetof(struct raw_level, level.latency), false },
	{ "shared", read_shared, offsetof(struct raw_level, level.shared), false },
	{ NULL, NULL, 0, false },
};

static const struct yd_key tlb_keys[] = {
	{ "name", yd_read_text, offsetof(struct raw_level, level.name), true },
	{ "entries", yd_read_size, offsetof(struct raw_level, size), true },
	{ "ways", read_ways, offsetof(struct raw_level, level.ways), true },
	{ "page", yd_read_size, offsetof(struct raw_level, level.line), true },
	{ "latency", yd_read_size, offsetof(struct raw_level, level.latency), false },
	{ "policy", read_policy, offsetof(struct raw_level, level), false },
	{ "seed", yd_read_size, offsetof(struct raw_level, level.seed), false },
	{ NULL, NULL, 0, false },
};

static bool is_power(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* @before: the level before, NULL: there is none.  @tlb: its size is in entries. */
static bool check_level(struct yd_reader *r, const yaml_node_t *node, struct raw_level *raw, const struct cache_level *before,
			bool tlb)
{
	struct cache_level *l = &raw->level;
	const char *unit = tlb ? "page" : "line";

	if (!is_power(l->line) || l->line < 8)
		return yd_bad(r, node, "the %s is no power of two from 8 on", unit);
	if (before && l->line < before->line)
		return yd_bad(r, node, "the %s is smaller than that of %s", unit, before->name);
	l->lines = tlb ? raw->size : raw->size / l->line;
	if (l->ways == WAYS_FULL)
		l->ways = l->lines;
	if (!l->lines || l->lines > CACHE_MAX_LINES)
		return yd_bad(r, node, "it does not hold 1 to %d %ss", CACHE_MAX_LINES, unit);
	if (!l->ways || l->lines % l->ways || (!tlb && raw->size % l->line))
		return yd_bad(r, node, "it is not a whole number of sets of %" PRIu64 " %ss", l->ways, unit);
	if (l->policy == CACHE_TREE_PLRU && (!is_power(l->ways) || l->ways > CACHE_PLRU_WAYS))
		return yd_bad(r, node, "tree-plru needs ways that are a power of two up to %d", CACHE_PLRU_WAYS);
	if (l->policy == CACHE_QLRU && tlb)
		return yd_bad(r, node, "QLRU is for caches alone");
	if (l->policy == CACHE_QLRU && (l->ways < 2 || l->ways > CACHE_QLRU_WAYS))
		return yd_bad(r, node, "QLRU needs 2 to %d ways", CACHE_QLRU_WAYS);
	if (l->holds != CACHE_ANY && !before)
		return yd_bad(r, node, "the first level cannot be %s", cache_holds_name(l->holds));
	if (l->prefetch && l->holds == CACHE_EXCLUSIVE)
		return yd_bad(r, node, "an exclusive level holds what has left %s: it prefetches nothing", before->name);
	if (l->policy == CACHE_OPT && l->holds != CACHE_ANY)
		return yd_bad(r, node, "a level with policy opt is neither inclusive nor exclusive");
	if (l->holds != CACHE_ANY && before->policy == CACHE_OPT)
		return yd_bad(r, node, "it cannot be %s: %s has policy opt", cache_holds_name(l->holds), before->name);
	if (l->holds == CACHE_EXCLUSIVE && (before->through || l->through || before->line != l->line))
		return yd_bad(r, node, "an exclusive level and %s need lines of one size, and write-back", before->name);
	return true;
}

static bool read_levels(struct yd_reader *r, const yaml_node_t *node, struct cache_level *to, unsigned int *n, bool tlb)
{
	const unsigned int max = tlb ? CACHE_TLBS : CACHE_CACHES;
	const yaml_node_item_t *item;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.start == node->data.sequence.items.top)
		return yd_bad(r, node, "a list belongs here");
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
		const yaml_node_t *at = yd_node(r, *item);
		struct raw_level raw = { .level.latency = CACHE_NO_LATENCY };
		bool good;

		if (*n == max)
			return yd_bad(r, at, "more than %u levels", max);
		good = yd_mapping(r, at, tlb ? tlb_keys : cache_keys, &raw) &&
		       check_level(r, at, &raw, *n ? &to[*n - 1] : NULL, tlb);
		to[(*n)++] = raw.level; /* also if it is bad: its name is freed with the system */
		if (!good)
			return false;
	}
	return true;
}

struct raw_system {
	struct cache_system system;
	struct cache_level tlb[CACHE_TLBS];
};

static bool read_caches(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct raw_system *raw = to;

	return read_levels(r, node, raw->system.level, &raw->system.ncaches, false);
}

static bool read_tlbs(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct raw_system *raw = to;

	return read_levels(r, node, raw->tlb, &raw->system.ntlbs, true);
}

static bool read_threads(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct cache_system *s = &((struct raw_system *)to)->system;
	const yaml_node_item_t *item;
	uint64_t core;

	if (node->type != YAML_SEQUENCE_NODE)
		return yd_bad(r, node, "a list of cores belongs here");
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
		if (!yd_read_size(r, yd_node(r, *item), &core))
			return false;
		if (core >= CACHE_CORES || s->nthreads == CACHE_THREADS)
			return yd_bad(r, yd_node(r, *item), "up to %d threads, and cores from 0 to %d", CACHE_THREADS, CACHE_CORES - 1);
		s->thread[s->nthreads++] = (uint8_t)core;
	}
	return true;
}

/* Do levels fit together?  What cores have together does; their TLBs are each one's own. */
static bool check_cores(struct yd_reader *r, const yaml_node_t *root, struct cache_system *s)
{
	uint64_t before = 1;

	if (s->cores && (cache_has_policy(s, CACHE_OPT) || cache_prefetches(s)))
		return yd_bad(r, root, "with cores, there is neither policy opt nor a prefetcher");
	if (cache_has_policy(s, CACHE_OPT) && cache_prefetches(s))
		return yd_bad(r, root, "there is no prefetcher beside policy opt");
	for (unsigned int k = 1, opt = 0; k < s->ncaches; k++) {
		opt |= s->level[k - 1].policy == CACHE_OPT;
		if (opt && s->level[k].holds == CACHE_INCLUSIVE)
			return yd_bad(r, root, "%s is inclusive: no level before it can have policy opt", s->level[k].name);
	}
	for (unsigned int k = 0; k < s->ncaches; k++) {
		struct cache_level *l = &s->level[k];

		if (!s->cores && l->shared)
			return yd_bad(r, root, "%s is shared, but 'cores:' is missing", l->name);
		if (!s->cores)
			continue;
		l->shared = l->shared == SHARED_ALL ? s->cores : l->shared ? l->shared : 1;
		if (l->shared % before || s->cores % l->shared)
			return yd_bad(r, root, "%u cores cannot have %s by %" PRIu64, s->cores, l->name, l->shared);
		if (l->line != s->level[0].line)
			return yd_bad(r, root, "with cores, all caches need lines of one size");
		before = l->shared;
	}
	if (s->nthreads && !s->cores)
		return yd_bad(r, root, "threads are placed, but 'cores:' is missing");
	for (unsigned int i = 0; i < s->nthreads; i++)
		if (s->thread[i] >= s->cores)
			return yd_bad(r, root, "there is no core %u", s->thread[i]);
	return true;
}

static const struct yd_key system_keys[] = {
	{ "name", yd_read_text, offsetof(struct raw_system, system.name), true },
	{ "about", yd_read_text, offsetof(struct raw_system, system.about), false },
	{ "source", yd_read_text, offsetof(struct raw_system, system.source), false },
	{ "caches", read_caches, 0, true },
	{ "tlbs", read_tlbs, 0, false },
	{ "cores", read_cores, offsetof(struct raw_system, system.cores), false },
	{ "threads", read_threads, 0, false },
	{ "memory", yd_read_size, offsetof(struct raw_system, system.memory), false },
	{ "walk", yd_read_size, offsetof(struct raw_system, system.walk), false },
	{ NULL, NULL, 0, false },
};

bool cache_has_policy(const struct cache_system *s, enum cache_policy policy)
{
	for (unsigned int k = 0; k < cache_levels(s); k++)
		if (s->level[k].policy == policy)
			return true;
	return false;
}

bool cache_prefetches(const struct cache_system *s)
{
	for (unsigned int k = 0; k < s->ncaches; k++)
		if (s->level[k].prefetch)
			return true;
	return false;
}

static bool have_latencies(const struct cache_level *v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (v[i].latency == CACHE_NO_LATENCY)
			return false;
	return true;
}

bool cache_has_latencies(const struct cache_system *s)
{
	return s->memory != CACHE_NO_LATENCY && have_latencies(s->level, s->ncaches);
}

bool cache_has_tlb_latencies(const struct cache_system *s)
{
	return s->ntlbs && s->walk != CACHE_NO_LATENCY && have_latencies(s->level + s->ncaches, s->ntlbs);
}

static void free_system(struct cache_system *s)
{
	for (unsigned int i = 0; i < cache_levels(s); i++)
		free(s->level[i].name);
	free(s->name);
	free(s->about);
	free(s->source);
}

static bool read_system(struct yd_reader *r, const yaml_node_t *root, void *to)
{
	struct cache_systems *list = to;
	struct raw_system raw = { .system = { .memory = CACHE_NO_LATENCY, .walk = CACHE_NO_LATENCY } };
	bool good = yd_mapping(r, root, system_keys, &raw);

	for (unsigned int i = 0; i < raw.system.ntlbs; i++)
		raw.system.level[raw.system.ncaches + i] = raw.tlb[i];
	good = good && check_cores(r, root, &raw.system);
	if (good && !array_room(list->v, list->room, list->n + 1))
		good = yd_no_memory(r);
	if (good)
		list->v[list->n++] = raw.system;
	else
		free_system(&raw.system);
	return good;
}

/* ---- documents ---- */

bool cache_systems_parse(struct cache_systems *list, const char *text, size_t bytes, char error[static CACHE_ERROR_MAX])
{
	const size_t before = list->n;
	size_t n;
	bool good = yd_documents(text, bytes, error, CACHE_ERROR_MAX, read_system, list, &n);

	if (good && !n) {
		strcpy(error, "line 1, column 1: no system is described");
		good = false;
	}
	while (!good && list->n > before)
		free_system(&list->v[--list->n]);
	return good;
}

void cache_systems_alone(struct cache_systems *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct cache_system *s = &list->v[i];

		s->cores = s->nthreads = 0;
		for (unsigned int k = 0; k < s->ncaches; k++)
			s->level[k].shared = 0;
	}
}

void cache_systems_free(struct cache_systems *list)
{
	for (size_t i = 0; i < list->n; i++)
		free_system(&list->v[i]);
	free(list->v);
	*list = (struct cache_systems){ 0 };
}
