/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Systems of caches that are simulated for a module while the program runs: of each thread, then summed up. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launcher/cache/cache.h"
#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/collect/pool.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/memory/memtrace.h"

#define ROWS 30

static const struct modfile *find_simulator(const struct modfile_list *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		if (modules->v[i].simulates_caches)
			return &modules->v[i];
	return NULL;
}

int analysis_caches_new(struct analysis *a, const struct modfile_list *modules, const struct analysis_caches *caches)
{
	int status = 0;

	a->simulator = find_simulator(modules);
	if (!a->simulator)
		return 0;
	a->wants.accesses = true;
	a->simulate.one_in = caches->one_in;
	a->simulates_alone = caches->alone;
	for (size_t i = 0; i < caches->systems->n && !status; i++)
		status = systems_add(&a->systems, caches->systems->v[i]);
	if (!caches->systems->n)
		status = systems_add(&a->systems, "host");
	for (size_t i = 0; i < a->systems.n && !status; i++) {
		if (!cache_has_policy(&a->systems.v[i], CACHE_OPT))
			continue;
		msg_error("%s has policy opt; what will be accessed is known when the program has ended: record with --mem, then "
			  "'sonde cache'", a->systems.v[i].name);
		status = EXIT_USAGE;
	}
	if (status)
		return status;
	cache_systems_alone(&a->systems);
	a->caches = cache_sim_new(a->systems.v, a->systems.n, &a->simulate);
	if (a->caches)
		return 0;
	msg_error("out of memory");
	return EXIT_USAGE;
}

void analysis_caches_free(struct analysis *a)
{
	cache_sim_free(a->caches);
	cache_systems_free(&a->systems);
}

bool analysis_caches_begin(struct analysis_thread *t)
{
	struct cache_sim_options o = t->a->simulate;

	t->crew = (struct cache_crew){ .workers = pool_size(), .begin = pool_share_begin, .finish = pool_share_finish };
	if (!t->a->simulates_alone)
		o.crew = &t->crew;
	if (t->a->caches)
		t->caches = cache_sim_new(t->a->systems.v, t->a->systems.n, &o);
	return t->caches || !t->a->caches;
}

bool analysis_caches_end(struct analysis_thread *t)
{
	bool good = !t->caches || (cache_sim_end(t->caches) && cache_sim_add(t->a->caches, t->caches));

	cache_sim_free(t->caches);
	t->caches = NULL;
	return good;
}

/* ---- as text ---- */

static bool print_by(struct analysis *a, const struct mt_read *read, enum memory_by by, const char *word, FILE *to)
{
	struct memwhere *where = memwhere_new(read, by == MEMORY_BY_FUNCTION ? 0 : MEMWHERE_LINES);
	struct cache_rows rows;
	bool done = cache_rows_init(&rows, &a->systems, &a->simulate);

	done = done && where && cache_rows_add(&rows, a->caches, where, by, NULL, NULL);
	if (done)
		cache_print_table(&rows, "L1", ROWS, word, to);
	cache_rows_free(&rows);
	if (where)
		memwhere_free(where);
	return done;
}

bool analysis_caches_print(struct analysis *a, const char *dir, FILE *to)
{
	bool none, done;
	struct mt_read *read = memtrace_read(dir, &none);

	if (!read)
		return none; /* nothing was instrumented, or else it has said why */
	if (a->how.bursts || a->how.every)
		fputs("sampled: figures are of what was recorded alone; between bursts, caches keep what they held\n\n", to);
	done = print_by(a, read, MEMORY_BY_FUNCTION, "function", to);
	fputc('\n', to);
	done = done && print_by(a, read, MEMORY_BY_LOOP, "loop", to);
	mt_read_close(read);
	return done;
}
