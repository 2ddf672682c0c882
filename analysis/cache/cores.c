/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each core has a chain (chain.h) for its caches and one for its TLBs.  A level that cores have in common is the state of the first of them,
 * which the chains of the others use, too.
 */
#include "analysis/cache/cores.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

/* A line that was accessed. */
struct line {
	uint64_t line;
	uint64_t cores; /* those with other bits do not have it */
	bool shared;
};

struct cache_cores {
	const struct cache_system *s;
	struct cache_chain caches[CACHE_CORES], tlbs[CACHE_CORES];
	struct line *lines;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
};

/* ---- made ---- */

static bool init_core(struct cache_cores *m, unsigned int core)
{
	const struct cache_system *s = m->s;
	struct cache_chain *c = &m->caches[core];

	if (!cache_chain_init(c, s->level, s->ncaches, CACHE_SHARED, NULL) ||
	    (s->ntlbs && !cache_chain_init(&m->tlbs[core], s->level + s->ncaches, s->ntlbs, CACHE_SHARED, NULL)))
		return false;
	c->unheard = m->tlbs[core].unheard = true;
	c->cores = m->caches;
	c->ncores = s->cores;
	for (unsigned int k = 0; k < s->ncaches; k++) {
		const unsigned int first = core - core % (unsigned int)s->level[k].shared;

		if (first == core)
			continue;
		cache_state_free(&c->own[k]);
		c->level[k] = &m->caches[first].own[k];
	}
	return true;
}

struct cache_cores *cache_cores_new(const struct cache_system *s)
{
	struct cache_cores *m = calloc(1, sizeof(*m));
	bool good = m;

	if (m)
		m->s = s;
	for (unsigned int core = 0; good && core < s->cores; core++)
		good = init_core(m, core);
	if (good)
		return m;
	cache_cores_free(m);
	return NULL;
}

void cache_cores_free(struct cache_cores *m)
{
	if (!m)
		return;
	for (unsigned int core = 0; core < m->s->cores; core++) {
		cache_chain_free(&m->caches[core]);
		cache_chain_free(&m->tlbs[core]);
	}
	free(m->lines);
	free(m->table);
	free(m);
}

/* ---- lines ---- */

static size_t slot_of(const struct cache_cores *m, uint64_t line)
{
	return hash_slot(i, m->slots, hash_word(line), !m->table[i] || m->lines[m->table[i] - 1].line == line);
}

/* NULL: no memory.  Valid until the next one. */
static struct line *line_of(struct cache_cores *m, uint64_t line)
{
	size_t slot = m->n ? slot_of(m, line) : 0;

	if (m->n && m->table[slot])
		return &m->lines[m->table[slot] - 1];
	if (m->n >= UINT32_MAX - 1 || !array_room(m->lines, m->room, m->n + 1) ||
	    !hash_grow(m->table, m->slots, m->n + 1, old, *old, &m->table[slot_of(m, m->lines[*old - 1].line)]))
		return NULL;
	m->lines[m->n] = (struct line){ .line = line };
	m->table[slot_of(m, line)] = (uint32_t)++m->n;
	return &m->lines[m->n - 1];
}

/* What was found of a line in caches elsewhere. */
struct elsewhere {
	bool there, modified;
};

/* For a store. */
static void take_away(struct cache_chain *other, unsigned int k, uint64_t line, struct cache_count *counts, struct elsewhere *e)
{
	const uint64_t found = cache_remove(other->level[k], line);

	counts[k].invalidated += found != 0;
	e->there |= found != 0;
	e->modified |= found & 1;
}

/* For a load: to the next level that keeps what it is given. */
static void write_out(struct cache_chain *other, unsigned int k, uint64_t line, struct cache_count *counts, struct elsewhere *e)
{
	uint64_t *slot = cache_look(other->level[k], line);

	e->there |= slot != NULL;
	if (!slot || !(*slot & 1))
		return;
	*slot &= ~UINT64_C(1);
	e->modified = true;
	while (k + 1 < other->n && other->exclusive[k + 1])
		k++;
	cache_chain_write(other, k, line, counts);
}

/* Do levels that the core has for itself have the line? */
static bool has(const struct cache_cores *m, const struct cache_chain *c, uint64_t line)
{
	for (unsigned int k = 0; k < c->n; k++)
		if ((!k || m->s->level[k].shared == 1) && cache_look(c->level[k], line))
			return true;
	return false;
}

static bool look_elsewhere(struct cache_cores *m, unsigned int core, uint64_t line, bool store, struct cache_count *counts)
{
	struct cache_chain *c = &m->caches[core];
	const uint64_t *slot = cache_look(c->level[0], line);
	struct elsewhere e = { 0 };
	struct line *l;
	bool own;

	if (slot && (!store || *slot & 1))
		return true;
	l = line_of(m, line);
	if (!l)
		return false;
	own = has(m, c, line);
	/* all first levels before all second ones: what is written out of one is in the other then */
	for (unsigned int k = 0; k < c->n; k++) {
		for (uint64_t others = l->cores & ~(UINT64_C(1) << core); others; others &= others - 1) {
			struct cache_chain *other = &m->caches[__builtin_ctzll(others)];

			if (other->level[k] != c->level[k])
				(store ? take_away : write_out)(other, k, line, counts, &e);
		}
	}
	counts[0].upgrades += store && own && l->shared;
	counts[0].transfers += e.modified;
	l->shared = !store && (own ? l->shared : e.there);
	l->cores = (store ? 0 : l->cores) | UINT64_C(1) << core;
	return true;
}

/* ---- accesses ---- */

static bool take_line(struct cache_cores *m, unsigned int core, uint64_t line, uint32_t how, struct cache_count *counts)
{
	const struct cache_request r = { .line = line, .how = how };

	if (m->s->cores > 1 && !look_elsewhere(m, core, line, how & CACHE_WRITE, counts))
		return false;
	cache_chain_run(&m->caches[core], &r, 1, 0, counts);
	return true;
}

bool cache_cores_take(struct cache_cores *m, unsigned int core, const struct cache_access *a, struct cache_count *counts)
{
	const struct cache_chain *tlbs = &m->tlbs[core];
	unsigned int shift = m->caches[core].level[0]->shift;

	for (uint64_t line = a->first >> shift; line <= a->last >> shift; line++)
		if (!take_line(m, core, line, a->how, counts))
			return false;
	if (!tlbs->n)
		return true;
	shift = tlbs->level[0]->shift;
	for (uint64_t page = a->first >> shift; page <= a->last >> shift; page++) {
		const struct cache_request r = { .line = page, .how = CACHE_READ };

		cache_chain_run(&m->tlbs[core], &r, 1, 0, counts + m->s->ncaches);
	}
	return true;
}
