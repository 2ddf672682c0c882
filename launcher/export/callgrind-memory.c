/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Callgrind's format from memory accesses: reads and writes by source line, and how many of them missed in simulated caches, of which
 * each thread has its own.  A modification is a read and a write.  Lines that an instruction asks for and that are not there are
 * misses of a read, unless it does nothing but write.
 */
#include "launcher/export/callgrind.h"
#include "launcher/cache/cache.h"
#include "launcher/common/message.h"
#include "launcher/memory/memtrace.h"
#include "launcher/memory/memwhere.h"
#include "launcher/trace/sampled.h"

struct visit {
	struct callgrind *g;
	const struct callgrind_options *o;
	struct cache_systems systems; /* one, or none */
	struct memwhere *where;	/* of the rank */
	struct cache_sim *sim;	/* of the thread */
	uint64_t damage;
	bool misses_only;	/* the others are known from blocks */
	bool failed;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct visit *v = arg;

	(void)rank;
	v->where = memwhere_new(read, MEMWHERE_LINES | (v->o->mangled ? MEMWHERE_MANGLED : 0u));
	return v->where ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct visit *v = arg;

	memwhere_free(v->where);
	v->where = NULL;
}

static bool take(void *arg, const struct mt_access *a, size_t n)
{
	struct visit *v = arg;

	v->failed = !cache_sim_take(v->sim, a, n, true);
	return !v->failed;
}

static void add_misses(const struct visit *v, size_t i, const struct cache_insn *insn, uint64_t *costs)
{
	const unsigned int last = v->systems.v[0].ncaches - 1;
	struct cache_count counts[CACHE_LEVELS];
	const bool reads = insn->loads != 0;

	cache_sim_counts(v->sim, i, 0, counts);
	costs[reads ? CALLGRIND_D1_READ : CALLGRIND_D1_WRITE] = counts[0].misses;
	costs[reads ? CALLGRIND_DL_READ : CALLGRIND_DL_WRITE] = counts[last].misses;
}

/* False: no memory. */
static bool add_insn(struct visit *v, size_t i, const struct cache_insn *insn)
{
	struct callgrind_line line = { 0 };
	const struct memplace *p = memwhere(v->where, insn->insn), *begin;

	if (!p)
		return false;
	begin = p->function ? memwhere(v->where, insn->insn - p->addr + p->entry) : p;
	if (!begin)
		return false;
	line.at = (struct callgrind_place){ p->path, p->function ? p->function : "???", begin->file, p->file, p->file ? p->line : 0 };
	line.costs[CALLGRIND_READS] = v->misses_only ? 0 : insn->loads;
	line.costs[CALLGRIND_WRITES] = v->misses_only ? 0 : insn->stores;
	if (v->systems.n)
		add_misses(v, i, insn, line.costs);
	return callgrind_add(v->g, &line);
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct visit *v = arg;
	struct cache_insn insn;
	bool good;

	v->sim = cache_sim_new(v->systems.v, v->systems.n, NULL);
	if (!v->sim)
		return no_memory();
	v->damage += memtrace_accesses(thread, take, v);
	good = !v->failed && cache_sim_end(v->sim);
	for (size_t i = 0; good && cache_sim_insn(v->sim, i, &insn); i++)
		good = add_insn(v, i, &insn);
	cache_sim_free(v->sim);
	v->sim = NULL;
	return good ? 0 : no_memory();
}

static int choose_system(struct visit *v)
{
	const struct opt_list *words = v->o->systems;
	int status = words->n ? systems_add(&v->systems, words->v[words->n - 1]) : 0;

	if (!status && v->systems.n > 1) {
		msg_error("--system=%s: the file has %zu systems; one is wanted here", words->v[words->n - 1], v->systems.n);
		status = EXIT_USAGE;
	}
	cache_systems_alone(&v->systems);
	return status;
}

int callgrind_memory(struct callgrind *g, struct callgrind_options *o, const char *dir, uint64_t *damage)
{
	struct visit v = { .g = g, .o = o, .misses_only = g->events >> CALLGRIND_READS & 1 };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = visit_thread, .end = end_rank, .arg = &v,
		.progress = o->output ? o->systems->n ? "simulating caches" : "reading memory accesses" : NULL,
	};
	struct memtrace t;
	int status = choose_system(&v);

	if (!status)
		status = memtrace_open(dir, &o->pick, NULL, &t);
	if (!status) {
		sampled_tell(t.trace);
		status = memtrace_visit(&t, &visitor);
		memtrace_close(&t);
	}
	g->events |= 1u << CALLGRIND_READS | 1u << CALLGRIND_WRITES;
	for (unsigned int i = CALLGRIND_D1_READ; v.systems.n && i <= CALLGRIND_DL_WRITE; i++)
		g->events |= 1u << i;
	*damage += v.damage;
	cache_systems_free(&v.systems);
	return status;
}
