/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/cache/cache.h"
#include "base/array.h"
#include "launcher/memory/memsample.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static void free_contents(struct cache_row *row)
{
	memory_key_free(&row->key);
	free(row->counts);
	free(row->curve);
}

bool cache_rows_init(struct cache_rows *rows, const struct cache_systems *systems, const struct cache_sim_options *o)
{
	*rows = (struct cache_rows){ .systems = systems, .classified = o->classify, .one_in = o->one_in };
	rows->total.counts = calloc(systems->n, sizeof(*rows->total.counts));
	if (o->one_in > 1)
		rows->groups = calloc(systems->n, sizeof(*rows->groups));
	return rows->total.counts && (rows->groups || o->one_in < 2);
}

static void leave(void *row)
{
	(void)row; /* rows->v has it */
}

void cache_rows_free(struct cache_rows *rows)
{
	tdestroy(rows->tree, leave);
	for (size_t i = 0; i < rows->n; i++) {
		free_contents(rows->v[i]);
		free(rows->v[i]);
	}
	free(rows->v);
	free(rows->groups);
	free_contents(&rows->total);
	*rows = (struct cache_rows){ 0 };
}

static int by_key(const void *a, const void *b)
{
	const struct cache_row *x = a, *y = b;

	return memory_key_compare(&x->key, &y->key);
}

/* Who allocated it makes no difference. */
static bool make_key(struct memory_key *key, const struct memplace *p, enum memory_by by)
{
	bool good = memory_key_make(key, p, by);

	free(key->callers);
	key->callers = NULL;
	return good;
}

/* The row that is as @new, which is given away.  NULL: no memory. */
static struct cache_row *row_of(struct cache_rows *rows, struct cache_row *new)
{
	struct cache_row **found = NULL;

	if (array_room(rows->v, rows->room, rows->n + 1))
		found = tsearch(new, &rows->tree, by_key);
	if (found && *found == new) {
		new->counts = calloc(rows->systems->n, sizeof(*new->counts));
		rows->v[rows->n++] = new;
		return new->counts ? new : NULL;
	}
	free_contents(new);
	free(new);
	return found ? *found : NULL;
}

struct cache_row *cache_row_for(struct cache_rows *rows, const struct memplace *p, enum memory_by by, const char *thread)
{
	struct cache_row *new = calloc(1, sizeof(*new));
	bool good = new != NULL;

	if (new && thread)
		good = (new->key.name = strdup(thread));
	else if (new)
		good = make_key(&new->key, p, by);
	if (good)
		return row_of(rows, new);
	if (new)
		free_contents(new);
	free(new);
	return NULL;
}

static void add(struct cache_row *to, const struct cache_sim *sim, size_t i, const struct cache_insn *from, size_t systems)
{
	to->sum.accesses += from->accesses;
	to->sum.loads += from->loads;
	to->sum.stores += from->stores;
	for (size_t s = 0; s < systems; s++) {
		struct cache_count counts[CACHE_LEVELS];

		cache_sim_counts(sim, i, s, counts);
		for (unsigned int k = 0; k < CACHE_LEVELS; k++) {
			to->counts[s][k].hits += counts[k].hits;
			to->counts[s][k].misses += counts[k].misses;
			to->counts[s][k].written += counts[k].written;
			to->counts[s][k].prefetched += counts[k].prefetched;
			to->counts[s][k].compulsory += counts[k].compulsory;
			to->counts[s][k].capacity += counts[k].capacity;
			to->counts[s][k].invalidated += counts[k].invalidated;
			to->counts[s][k].upgrades += counts[k].upgrades;
			to->counts[s][k].transfers += counts[k].transfers;
		}
	}
}

bool cache_rows_add(struct cache_rows *rows, const struct cache_sim *sim, struct memwhere *where, enum memory_by by,
		    const char *thread, struct select *sel)
{
	struct cache_insn insn;

	for (size_t s = 0; s < rows->systems->n && rows->groups; s++)
		for (unsigned int k = 0; k < cache_levels(&rows->systems->v[s]); k++)
			cache_sim_groups(sim, s, k, &rows->groups[s][k]);
	for (size_t i = 0; cache_sim_insn(sim, i, &insn); i++) {
		struct memplace *place = memwhere(where, insn.insn);
		struct cache_row *row;

		if (!place)
			return false;
		if (!memwhere_matches(place, sel))
			continue;
		row = cache_row_for(rows, place, by, thread);
		if (!row)
			return false;
		if (place->name)
			memory_named_add(&rows->named, place->name, insn.accesses);
		add(row, sim, i, &insn, rows->systems->n);
		add(&rows->total, sim, i, &insn, rows->systems->n);
	}
	return true;
}

uint64_t cache_cycles(const struct cache_row *row, const struct cache_systems *systems, size_t system)
{
	const struct cache_system *s = &systems->v[system];
	const struct cache_count *counts = row->counts[system];
	const bool tlbs = cache_has_tlb_latencies(s);
	uint64_t cycles = counts[s->ncaches - 1].misses * s->memory;

	if (tlbs)
		cycles += counts[cache_levels(s) - 1].misses * s->walk;
	for (unsigned int k = 0; k < (tlbs ? cache_levels(s) : s->ncaches); k++)
		cycles += counts[k].hits * s->level[k].latency;
	return cycles;
}

/* Groups of sets are a simple random sample of all: Cochran, "Sampling Techniques", 1977, chapter 2. */
double cache_rows_error(const struct cache_rows *rows, size_t system, unsigned int level)
{
	const struct cache_groups *g = rows->groups ? &rows->groups[system][level] : NULL;
	double sum = 0, squares = 0, n;

	if (!g || !g->n)
		return 0;
	n = (double)g->n;
	for (uint64_t i = 0; i < g->n; i++)
		sum += (double)g->misses[i];
	for (uint64_t i = 0; i < g->n; i++)
		squares += ((double)g->misses[i] - sum / n) * ((double)g->misses[i] - sum / n);
	if (g->n < 2 || !sum)
		return INFINITY;
	return 100 * memsample_student(g->n - 1) * sqrt(squares / (n - 1) * n * (1 - 1 / (double)g->one_in)) / sum;
}

/* ---- order ---- */

struct order {
	size_t system;
	unsigned int level;
	char key;
};

static uint64_t value_of(const struct cache_row *row, const struct order *o)
{
	return o->key == 'a' ? row->sum.accesses : o->key == 'n' ? 0 : row->counts[o->system][o->level].misses;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct cache_row *x = *(struct cache_row *const *)a, *y = *(struct cache_row *const *)b;
	const struct order *o = arg;
	uint64_t p = value_of(x, o), q = value_of(y, o);

	if (p == q && o->key == 'L') {
		p = x->sum.accesses;
		q = y->sum.accesses;
	}
	return p != q ? (p < q ? 1 : -1) : by_key(x, y);
}

void cache_rows_sort(struct cache_rows *rows, size_t system, const char *key)
{
	const unsigned int last = rows->systems->v[system].ncaches - 1;
	struct order o = { .system = system, .key = *key };

	if (o.key == 'L')
		o.level = (unsigned int)(key[1] - '1') < last ? (unsigned int)(key[1] - '1') : last;
	if (rows->n)
		qsort_r(rows->v, rows->n, sizeof(rows->v[0]), compare, &o);
}
