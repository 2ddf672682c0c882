/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/system.h"
#include "base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define NAME_MAX_BYTES 200 /* of texts */

struct reader {
	yaml_document_t doc;
	char *error; /* CACHE_ERROR_MAX; "" as long as all is well */
};

__attribute__((format(printf, 3, 4)))
static bool bad(struct reader *r, const yaml_node_t *node, const char *fmt, ...)
{
	va_list args;
	int n = snprintf(r->error, CACHE_ERROR_MAX, "line %zu, column %zu: ", node->start_mark.line + 1,
			 node->start_mark.column + 1);

	va_start(args, fmt);
	vsnprintf(r->error + n, CACHE_ERROR_MAX - (size_t)n, fmt, args);
	va_end(args);
	return false;
}

static bool no_memory(struct reader *r)
{
	strcpy(r->error, "no memory");
	return false;
}

/* A scalar's text; "" and an error for anything else.  YAML may hold zeros: they end it. */
static const char *text_of(struct reader *r, const yaml_node_t *node)
{
	if (node->type == YAML_SCALAR_NODE)
		return (const char *)node->data.scalar.value;
	bad(r, node, "a value, not a list or a mapping, belongs here");
	return "";
}

static bool read_text(struct reader *r, const yaml_node_t *node, void *to)
{
	const char *text = text_of(r, node);
	char **copy = to;

	if (*r->error)
		return false;
	if (!*text || strlen(text) > NAME_MAX_BYTES)
		return bad(r, node, "a text of 1 to %d bytes belongs here", NAME_MAX_BYTES);
	free(*copy);
	*copy = strdup(text);
	return *copy || no_memory(r);
}

/* Digits, and K, M or G (powers of 1024). */
static bool read_size(struct reader *r, const yaml_node_t *node, void *to)
{
	static const char units[] = "KMG";
	const char *text = text_of(r, node), *at = text, *unit;
	uint64_t v = 0;

	for (; *at >= '0' && *at <= '9' && v < UINT64_C(1) << 40; at++)
		v = 10 * v + (uint64_t)(*at - '0');
	unit = at > text && *at ? strchr(units, *at) : NULL;
	for (ptrdiff_t k = unit ? unit - units + 1 : 0; k > 0 && v < UINT64_C(1) << 40; k--)
		v *= 1024;
	if (!*r->error && (at == text || at[unit != NULL] || v > UINT64_C(1) << 40))
		bad(r, node, "'%.40s': a number as 64, 32K, 1M or 1G belongs here", text);
	*(uint64_t *)to = v;
	return !*r->error;
}

#define WAYS_FULL UINT64_MAX
static bool read_ways(struct reader *r, const yaml_node_t *node, void *to)
{
	if (node->type == YAML_SCALAR_NODE && strcmp((const char *)node->data.scalar.value, "full") == 0) {
		*(uint64_t *)to = WAYS_FULL;
		return true;
	}
	return read_size(r, node, to);
}

#define SHARED_ALL UINT64_MAX
static bool read_shared(struct reader *r, const yaml_node_t *node, void *to)
{
	if (node->type == YAML_SCALAR_NODE && strcmp((const char *)node->data.scalar.value, "all") == 0) {
		*(uint64_t *)to = SHARED_ALL;
		return true;
	}
	return read_size(r, node, to) && (*(uint64_t *)to || bad(r, node, "at least one core has it"));
}

static bool read_cores(struct reader *r, const yaml_node_t *node, void *to)
{
	uint64_t n;

	if (!read_size(r, node, &n))
		return false;
	if (!n || n > CACHE_CORES)
		return bad(r, node, "1 to %d cores belong here", CACHE_CORES);
	*(unsigned int *)to = (unsigned int)n;
	return true;
}

/* The index of the node's text in @words; false: it is none of them. */
static bool read_word(struct reader *r, const yaml_node_t *node, const char *const *words, unsigned int *index)
{
	const char *text = text_of(r, node);

	for (*index = 0; words[*index]; ++*index)
		if (strcmp(text, words[*index]) == 0)
			return true;
	return false;
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

static bool read_policy(struct reader *r, const yaml_node_t *node, void *to)
{
	struct cache_level *level = to;
	unsigned int i;

	if (read_word(r, node, policies, &i)) {
		level->policy = (enum cache_policy)i;
		return true;
	}
	if (*r->error)
		return false;
	level->policy = strcmp(text_of(r, node), "opt") == 0 ? CACHE_OPT : CACHE_QLRU;
	if (level->policy == CACHE_OPT || is_qlru(text_of(r, node), &level->qlru))
		return true;
	return bad(r, node, "'%.40s': lru, fifo, random, tree-plru, nmru, opt or one like QLRU_H00_M1_R0_U1 belongs here",
		   text_of(r, node));
}

/* One of @words; else @what belongs there. */
static bool read_choice(struct reader *r, const yaml_node_t *node, const char *const *words, const char *what, unsigned int *index)
{
	if (read_word(r, node, words, index))
		return true;
	return *r->error ? false : bad(r, node, "'%.40s': %s belongs here", text_of(r, node), what);
}

static const char *const kinds_of_holding[] = { "any", "inclusive", "exclusive", NULL };

const char *cache_holds_name(enum cache_holds holds)
{
	return kinds_of_holding[holds];
}

static bool read_holds(struct reader *r, const yaml_node_t *node, void *to)
{
	unsigned int i;

	if (!read_choice(r, node, kinds_of_holding, "any, inclusive or exclusive", &i))
		return false;
	*(enum cache_holds *)to = (enum cache_holds)i;
	return true;
}

static const char *const prefetchers[] = { "none", "next-line", "stride", NULL };

const char *cache_prefetch_name(enum cache_prefetch prefetch)
{
	return prefetchers[prefetch];
}

static bool read_prefetch(struct reader *r, const yaml_node_t *node, void *to)
{
	unsigned int i;

	if (!read_choice(r, node, prefetchers, "none, next-line or stride", &i))
		return false;
	*(enum cache_prefetch *)to = (enum cache_prefetch)i;
	return true;
}

static bool read_write(struct reader *r, const yaml_node_t *node, void *to)
{
	static const char *const words[] = { "back", "through", NULL };
	unsigned int i;

	if (!read_choice(r, node, words, "back or through", &i))
		return false;
	*(bool *)to = i == 1;
	return true;
}

/* ---- mappings ---- */

struct key {
	const char *name;
	bool (*read)(struct reader *r, const yaml_node_t *node, void *to);
	size_t offset;
	bool needed;
};

static const yaml_node_t *node_of(struct reader *r, int index)
{
	return yaml_document_get_node(&r->doc, index);
}

static bool read_pair(struct reader *r, const yaml_node_pair_t *pair, const struct key *keys, void *to, unsigned int *seen)
{
	const yaml_node_t *name = node_of(r, pair->key);
	const char *text = text_of(r, name);

	if (*r->error)
		return false;
	for (unsigned int i = 0; keys[i].name; i++) {
		if (strcmp(text, keys[i].name) != 0)
			continue;
		if (*seen & 1u << i)
			return bad(r, name, "%s is given twice", text);
		*seen |= 1u << i;
		return keys[i].read(r, node_of(r, pair->value), (char *)to + keys[i].offset);
	}
	return bad(r, name, "nothing is called '%.40s' here", text);
}

static bool read_mapping(struct reader *r, const yaml_node_t *node, const struct key *keys, void *to)
{
	unsigned int seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return bad(r, node, "a mapping with '%s:' belongs here", keys[0].name);
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		if (!read_pair(r, p, keys, to, &seen))
			return false;
	}
	for (unsigned int i = 0; keys[i].name; i++) {
		if (keys[i].needed && !(seen & 1u << i))
			return bad(r, node, "'%s:' is missing", keys[i].name);
	}
	return true;
}

/* ---- levels ---- */

struct raw_level {
	struct cache_level level;
	uint64_t size; /* bytes, or entries */
};

static const struct key cache_keys[] = {
	{ "name", read_text, offsetof(struct raw_level, level.name), true },
	{ "size", read_size, offsetof(struct raw_level, size), true },
	{ "ways", read_ways, offsetof(struct raw_level, level.ways), true },
	{ "line", read_size, offsetof(struct raw_level, level.line), true },
	{ "policy", read_policy, offsetof(struct raw_level, level), false },
	{ "seed", read_size, offsetof(struct raw_level, level.seed), false },
	{ "write", read_write, offsetof(struct raw_level, level.through), false },
	{ "prefetch", read_prefetch, offsetof(struct raw_level, level.prefetch), false },
	{ "holds", read_holds, offsetof(struct raw_level, level.holds), false },
	{ "latency", read_size, offsetof(struct raw_level, level.latency), false },
	{ "shared", read_shared, offsetof(struct raw_level, level.shared), false },
	{ NULL, NULL, 0, false },
};

static const struct key tlb_keys[] = {
	{ "name", read_text, offsetof(struct raw_level, level.name), true },
	{ "entries", read_size, offsetof(struct raw_level, size), true },
	{ "ways", read_ways, offsetof(struct raw_level, level.ways), true },
	{ "page", read_size, offsetof(struct raw_level, level.line), true },
	{ "latency", read_size, offsetof(struct raw_level, level.latency), false },
	{ "policy", read_policy, offsetof(struct raw_level, level), false },
	{ "seed", read_size, offsetof(struct raw_level, level.seed), false },
	{ NULL, NULL, 0, false },
};

static bool is_power(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* @before: the level before, NULL: there is none.  @tlb: its size is in entries. */
static bool check_level(struct reader *r, const yaml_node_t *node, struct raw_level *raw, const struct cache_level *before,
			bool tlb)
{
	struct cache_level *l = &raw->level;
	const char *unit = tlb ? "page" : "line";

	if (!is_power(l->line) || l->line < 8)
		return bad(r, node, "the %s is no power of two from 8 on", unit);
	if (before && l->line < before->line)
		return bad(r, node, "the %s is smaller than that of %s", unit, before->name);
	l->lines = tlb ? raw->size : raw->size / l->line;
	if (l->ways == WAYS_FULL)
		l->ways = l->lines;
	if (!l->lines || l->lines > CACHE_MAX_LINES)
		return bad(r, node, "it does not hold 1 to %d %ss", CACHE_MAX_LINES, unit);
	if (!l->ways || l->lines % l->ways || (!tlb && raw->size % l->line))
		return bad(r, node, "it is not a whole number of sets of %" PRIu64 " %ss", l->ways, unit);
	if (l->policy == CACHE_TREE_PLRU && (!is_power(l->ways) || l->ways > CACHE_PLRU_WAYS))
		return bad(r, node, "tree-plru needs ways that are a power of two up to %d", CACHE_PLRU_WAYS);
	if (l->policy == CACHE_QLRU && tlb)
		return bad(r, node, "QLRU is for caches alone");
	if (l->policy == CACHE_QLRU && (l->ways < 2 || l->ways > CACHE_QLRU_WAYS))
		return bad(r, node, "QLRU needs 2 to %d ways", CACHE_QLRU_WAYS);
	if (l->holds != CACHE_ANY && !before)
		return bad(r, node, "the first level cannot be %s", cache_holds_name(l->holds));
	if (l->prefetch && l->holds == CACHE_EXCLUSIVE)
		return bad(r, node, "an exclusive level holds what has left %s: it prefetches nothing", before->name);
	if (l->policy == CACHE_OPT && l->holds != CACHE_ANY)
		return bad(r, node, "a level with policy opt is neither inclusive nor exclusive");
	if (l->holds != CACHE_ANY && before->policy == CACHE_OPT)
		return bad(r, node, "it cannot be %s: %s has policy opt", cache_holds_name(l->holds), before->name);
	if (l->holds == CACHE_EXCLUSIVE && (before->through || l->through || before->line != l->line))
		return bad(r, node, "an exclusive level and %s need lines of one size, and write-back", before->name);
	return true;
}

static bool read_levels(struct reader *r, const yaml_node_t *node, struct cache_level *to, unsigned int *n, bool tlb)
{
	const unsigned int max = tlb ? CACHE_TLBS : CACHE_CACHES;
	const yaml_node_item_t *item;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.start == node->data.sequence.items.top)
		return bad(r, node, "a list belongs here");
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
		const yaml_node_t *at = node_of(r, *item);
		struct raw_level raw = { .level.latency = CACHE_NO_LATENCY };
		bool good;

		if (*n == max)
			return bad(r, at, "more than %u levels", max);
		good = read_mapping(r, at, tlb ? tlb_keys : cache_keys, &raw) &&
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

static bool read_caches(struct reader *r, const yaml_node_t *node, void *to)
{
	struct raw_system *raw = to;

	return read_levels(r, node, raw->system.level, &raw->system.ncaches, false);
}

static bool read_tlbs(struct reader *r, const yaml_node_t *node, void *to)
{
	struct raw_system *raw = to;

	return read_levels(r, node, raw->tlb, &raw->system.ntlbs, true);
}

static bool read_threads(struct reader *r, const yaml_node_t *node, void *to)
{
	struct cache_system *s = &((struct raw_system *)to)->system;
	const yaml_node_item_t *item;
	uint64_t core;

	if (node->type != YAML_SEQUENCE_NODE)
		return bad(r, node, "a list of cores belongs here");
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
		if (!read_size(r, node_of(r, *item), &core))
			return false;
		if (core >= CACHE_CORES || s->nthreads == CACHE_THREADS)
			return bad(r, node_of(r, *item), "up to %d threads, and cores from 0 to %d", CACHE_THREADS, CACHE_CORES - 1);
		s->thread[s->nthreads++] = (uint8_t)core;
	}
	return true;
}

/* Do levels fit together?  What cores have together does; their TLBs are each one's own. */
static bool check_cores(struct reader *r, const yaml_node_t *root, struct cache_system *s)
{
	uint64_t before = 1;

	if (s->cores && (cache_has_policy(s, CACHE_OPT) || cache_prefetches(s)))
		return bad(r, root, "with cores, there is neither policy opt nor a prefetcher");
	if (cache_has_policy(s, CACHE_OPT) && cache_prefetches(s))
		return bad(r, root, "there is no prefetcher beside policy opt");
	for (unsigned int k = 1, opt = 0; k < s->ncaches; k++) {
		opt |= s->level[k - 1].policy == CACHE_OPT;
		if (opt && s->level[k].holds == CACHE_INCLUSIVE)
			return bad(r, root, "%s is inclusive: no level before it can have policy opt", s->level[k].name);
	}
	for (unsigned int k = 0; k < s->ncaches; k++) {
		struct cache_level *l = &s->level[k];

		if (!s->cores && l->shared)
			return bad(r, root, "%s is shared, but 'cores:' is missing", l->name);
		if (!s->cores)
			continue;
		l->shared = l->shared == SHARED_ALL ? s->cores : l->shared ? l->shared : 1;
		if (l->shared % before || s->cores % l->shared)
			return bad(r, root, "%u cores cannot have %s by %" PRIu64, s->cores, l->name, l->shared);
		if (l->line != s->level[0].line)
			return bad(r, root, "with cores, all caches need lines of one size");
		before = l->shared;
	}
	if (s->nthreads && !s->cores)
		return bad(r, root, "threads are placed, but 'cores:' is missing");
	for (unsigned int i = 0; i < s->nthreads; i++)
		if (s->thread[i] >= s->cores)
			return bad(r, root, "there is no core %u", s->thread[i]);
	return true;
}

static const struct key system_keys[] = {
	{ "name", read_text, offsetof(struct raw_system, system.name), true },
	{ "about", read_text, offsetof(struct raw_system, system.about), false },
	{ "source", read_text, offsetof(struct raw_system, system.source), false },
	{ "caches", read_caches, 0, true },
	{ "tlbs", read_tlbs, 0, false },
	{ "cores", read_cores, offsetof(struct raw_system, system.cores), false },
	{ "threads", read_threads, 0, false },
	{ "memory", read_size, offsetof(struct raw_system, system.memory), false },
	{ "walk", read_size, offsetof(struct raw_system, system.walk), false },
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

static bool read_system(struct reader *r, const yaml_node_t *root, struct cache_systems *list)
{
	struct raw_system raw = { .system = { .memory = CACHE_NO_LATENCY, .walk = CACHE_NO_LATENCY } };
	bool good = read_mapping(r, root, system_keys, &raw);

	for (unsigned int i = 0; i < raw.system.ntlbs; i++)
		raw.system.level[raw.system.ncaches + i] = raw.tlb[i];
	good = good && check_cores(r, root, &raw.system);
	if (good && !array_room(list->v, list->room, list->n + 1))
		good = no_memory(r);
	if (good)
		list->v[list->n++] = raw.system;
	else
		free_system(&raw.system);
	return good;
}

/* ---- documents ---- */

static bool syntax_error(const yaml_parser_t *p, char *error)
{
	if (p->error == YAML_MEMORY_ERROR)
		strcpy(error, "no memory");
	else if (p->error == YAML_READER_ERROR)
		snprintf(error, CACHE_ERROR_MAX, "byte %zu: %s", p->problem_offset, p->problem);
	else
		snprintf(error, CACHE_ERROR_MAX, "line %zu, column %zu: %s", p->problem_mark.line + 1,
			 p->problem_mark.column + 1, p->problem);
	return false;
}

/* The next document; *@end: there was none. */
static bool read_document(yaml_parser_t *p, struct cache_systems *list, char *error, bool *end)
{
	struct reader r = { .error = error };
	const yaml_node_t *root;
	bool good = true;

	if (!yaml_parser_load(p, &r.doc))
		return syntax_error(p, error);
	root = yaml_document_get_root_node(&r.doc);
	*end = root == NULL;
	if (root)
		good = read_system(&r, root, list);
	yaml_document_delete(&r.doc);
	return good;
}

bool cache_systems_parse(struct cache_systems *list, const char *text, size_t bytes, char error[static CACHE_ERROR_MAX])
{
	const size_t before = list->n;
	bool good = true, end = false;
	yaml_parser_t p;

	*error = '\0';
	if (!yaml_parser_initialize(&p)) {
		strcpy(error, "no memory");
		return false;
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)text, bytes);
	while (good && !end)
		good = read_document(&p, list, error, &end);
	yaml_parser_delete(&p);
	if (good && list->n == before) {
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
