/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde cache`: options in, one of three kinds of output out. */
#include "launcher/cache/cache.h"
#include "launcher/collect/pool.h"
#include "launcher/common/caches.h"
#include "launcher/common/message.h"
#include "launcher/memory/names/memnames.h"
#include "launcher/memory/profile/memprofile.h"
#include "launcher/memory/memtrace.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/holds.h"
#include "launcher/trace/sampled.h"
#include "launcher/verbs.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 100 /* rows of a table for people */
#define EXIT_DAMAGED 1
#define THREAD_NAME_MAX 80
#define NO_LIMIT (UINT64_MAX - 1)
#define NO_WORKERS UINT64_MAX

struct cache_options {
	const char *by, *sort, *sets;
	struct opt_list systems;
	struct select_options select;
	struct pick pick;
	uint64_t limit, workers;
	struct cache_sim_options sim; /* of classify and sets */
	bool list, cores, curve, lines, no_stack, all, csv, json, mangled;
};

#define BYS MEMORY_BYS "thread\0" /* as enum memory_by, and threads */
#define BY_THREAD (MEMORY_BY_TYPE + 1u)

static const struct opt cache_opts[] = {
	{ 0, "system", "SYSTEM", "a name of --list, host (this machine; default) or a YAML file; may be\nrepeated",
	  OPT_LIST, offsetof(struct cache_options, systems), NULL },
	{ 0, "list", NULL, "show the systems that can be named", OPT_FLAG, offsetof(struct cache_options, list), NULL },
	{ 'b', "by", "WHAT", "function (default), loop, line, block (of a trace with --mem\n--blocks), instruction or thread; or what was accessed: variable,\nfield, allocation or type", OPT_CHOICE,
	  offsetof(struct cache_options, by), BYS },
	{ 's', "sort", "KEY", "L1 (default), L2, L3, L4: misses there; accesses or name", OPT_CHOICE,
	  offsetof(struct cache_options, sort), CACHE_SORTS },
	OPT_TRACED_FUNCTIONS(struct cache_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct cache_options, select, "but not these"),
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct cache_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only this MPI rank", OPT_COUNT, offsetof(struct cache_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct cache_options, pick.processes)),
	{ 'n', "limit", "N", "only the first N rows; 100 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct cache_options, limit), NULL },
	{ 'a', "all", NULL, "all rows", OPT_FLAG, offsetof(struct cache_options, all), NULL },
	{ 0, "cores", NULL, "threads run on SYSTEM's cores, which have caches together", OPT_FLAG,
	  offsetof(struct cache_options, cores), NULL },
	{ 0, "curve", NULL, "in place of that, share of misses in caches of all sizes", OPT_FLAG,
	  offsetof(struct cache_options, curve), NULL },
	{ 0, "lines", NULL, "in place of that, lines that cores take from each other", OPT_FLAG,
	  offsetof(struct cache_options, lines), NULL },
	{ 0, "classify", NULL, "say how many misses are compulsory, for capacity, and for conflicts", OPT_FLAG,
	  offsetof(struct cache_options, sim.classify), NULL },
	{ 0, "sets", "1/N", "simulate one in N sets, in place of all: 2, 4, 8, ... 64", OPT_STRING,
	  offsetof(struct cache_options, sets), NULL },
	{ 0, "workers", "N", "threads that simulate: 1 to 256", OPT_COUNT, offsetof(struct cache_options, workers), NULL },
	{ 0, "no-stack", NULL, "without push, pop, call and ret", OPT_FLAG, offsetof(struct cache_options, no_stack), NULL },
	{ 0, "csv", NULL, "comma-separated values", OPT_FLAG, offsetof(struct cache_options, csv), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct cache_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct cache_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command cache_command = {
	.name = "cache",
	.usage = "[OPTION]... [DIR]",
	.summary = "Simulates caches and TLBs of any machine with the memory accesses of a trace.",
	.opts = cache_opts,
	.details = "DIR is a trace that was recorded with --mem, sonde.data if not given. The exit status is 1\n"
		   "if some of it is damaged and the rest was shown, 2 if there is nothing to show.\n"
		   "Each thread has a whole system for itself, without --cores. misses: lines\n"
		   "that were not there, and their share of those asked for; writes: what went on to the next\n"
		   "level, modified lines that left it, or stores of a write-through cache. mpki: misses for each\n"
		   "1,000 instructions, of a trace with --mem --blocks. cycles: with the\n"
		   "latencies that a system has, if each access waited for the one before.\n",
	.examples = "sonde cache\tmisses by function, in this machine's caches\n"
		    "sonde cache --list\twhich others there are\n"
		    "sonde cache --system=epyc-9004 --system=a64fx -b loop\tloops on two machines\n"
		    "sonde cache --cores --system=epyc-7003\tthreads that have L3 together\n"
		    "sonde cache --curve -b loop\twhat size of cache each loop wants\n"
		    "sonde cache --system=./mine.yaml --csv\tas a file describes it\n",
};

struct cache {
	const struct cache_options *o;
	unsigned int by; /* enum memory_by, or BY_THREAD */
	struct cache_systems systems;
	const struct sonde_trace *trace;
	struct memwhere *where; /* of the rank */
	struct memnames *names; /* likewise; NULL: rows are not by what was accessed */
	struct cache_sim *sim;	/* of the thread */
	struct cache_lanes *lanes; /* in place of that, for systems with cores: of the rank */
	struct memprofile_thread *reuse; /* in place of that, for curves */
	struct select *select;	/* NULL: all functions */
	struct cache_rows rows;
	struct cache_lines lines;
	uint64_t damage;
	bool failed;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* Of threads: where it is that functions are chosen by. */
static enum memory_by place_by(const struct cache *c)
{
	return c->by == BY_THREAD ? MEMORY_BY_FUNCTION : (enum memory_by)c->by;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct cache *c = arg;

	c->where = memwhere_new(read, memory_where(place_by(c), c->o->mangled));
	c->damage += c->where ? memwhere_damage(c->where) : 0;
	if (!c->where)
		return no_memory();
	if (!memory_by_name(place_by(c)))
		return 0;
	c->names = memnames_new(read, c->trace, rank, place_by(c) == MEMORY_BY_FIELD ? MEMNAMES_FIELDS : MEMNAMES_VARIABLES);
	memwhere_use_names(c->where, c->names);
	return c->names && memnames_stacks(c->names, read, c->trace, rank) ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct cache *c = arg;

	memwhere_free(c->where);
	c->where = NULL;
	memnames_free(c->names);
	c->names = NULL;
	cache_lanes_free(c->lanes);
	c->lanes = NULL;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct cache *c = arg;

	if (c->names)
		v = memnames_take(c->names, v, n);
	c->failed = !v || !cache_sim_take(c->sim, v, n, !c->o->no_stack);
	return !c->failed;
}

/* Its name as a row. */
static void name_thread(const struct memtrace_thread *thread, char name[static THREAD_NAME_MAX])
{
	char rank[32] = "";

	if (thread->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %d, ", thread->rank);
	snprintf(name, THREAD_NAME_MAX, "%s%d.%d", rank, thread->about.pid, thread->about.tid);
}

static bool add_thread(struct cache *c, const struct memtrace_thread *thread, struct memprofile *profile)
{
	const enum memory_by by = place_by(c);
	char text[THREAD_NAME_MAX], *name = c->by == BY_THREAD ? text : NULL;

	name_thread(thread, text);
	if (profile)
		return cache_rows_add_curves(&c->rows, profile, c->where, by, name, c->select);
	return cache_rows_add(&c->rows, c->sim, c->where, by, name, c->select);
}

/* False: no memory. */
static bool read_thread(struct cache *c, const struct memtrace_thread *thread,
			bool (*with)(void *arg, const struct mt_access *v, size_t n))
{
	struct memtrace_thread named;

	if (c->names && !memnames_thread(c->names, thread, &named))
		return false;
	c->damage += memtrace_accesses(c->names ? &named : thread, with, c);
	return true;
}

/* Who simulates the caches of one thread. */
static void choose_crew(struct cache_options *o, struct cache_crew *crew)
{
	pool_limit(o->workers == NO_WORKERS ? 0 : (unsigned int)o->workers);
	*crew = (struct cache_crew){ .workers = pool_size(), .begin = pool_share_begin, .finish = pool_share_finish };
	o->sim.crew = crew;
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct cache *c = arg;
	int status = 0;

	c->sim = cache_sim_new(c->systems.v, c->systems.n, &c->o->sim);
	if (!c->sim)
		return no_memory();
	if (!read_thread(c, thread, take) || c->failed || !cache_sim_end(c->sim) || !add_thread(c, thread, NULL))
		status = no_memory();
	cache_sim_free(c->sim);
	c->sim = NULL;
	return status;
}

static int visit_lane(void *arg, const struct memtrace_thread *thread)
{
	struct cache *c = arg;

	return cache_lanes_add(&c->lanes, thread) ? 0 : no_memory();
}

static bool begin_process(void *arg)
{
	struct cache *c = arg;

	if (c->o->lines)
		return cache_lines_begin(&c->lines);
	c->sim = cache_sim_new(c->systems.v, c->systems.n, NULL);
	return c->sim;
}

static bool take_on_core(void *arg, size_t thread, const struct cache_times *times, const struct mt_access *v, size_t n)
{
	struct cache *c = arg;

	if (c->o->lines)
		return cache_lines_take(&c->lines, thread, times, v, n, !c->o->no_stack);
	cache_sim_thread(c->sim, thread);
	return cache_sim_take(c->sim, v, n, !c->o->no_stack);
}

static bool end_process(void *arg, int pid)
{
	struct cache *c = arg;
	bool good;

	if (c->o->lines)
		return cache_lines_end(&c->lines, pid);
	good = !c->sim || cache_rows_add(&c->rows, c->sim, c->where, (enum memory_by)c->by, NULL, c->select);
	cache_sim_free(c->sim);
	c->sim = NULL;
	return good;
}

static int run_lanes(void *arg)
{
	struct cache *c = arg;
	const struct cache_lanes_visitor visitor = {
		.begin = begin_process, .take = take_on_core, .end = end_process, .arg = c };

	return !c->lanes || cache_lanes_run(c->lanes, &visitor, &c->damage) ? 0 : no_memory();
}

static bool take_reuse(void *arg, const struct mt_access *v, size_t n)
{
	struct cache *c = arg;

	if (c->names)
		v = memnames_take(c->names, v, n);
	c->failed = !v || !memprofile_take(c->reuse, v, n);
	return !c->failed;
}

static int visit_thread_curve(void *arg, const struct memtrace_thread *thread)
{
	struct cache *c = arg;
	struct memprofile *p = memprofile_new(&(struct memprofile_options){ .no_stack = c->o->no_stack });
	bool good;

	c->reuse = p ? memprofile_begin(p) : NULL;
	good = c->reuse;
	if (good) {
		good = read_thread(c, thread, take_reuse);
		good = memprofile_end(c->reuse) && good && !c->failed && add_thread(c, thread, p);
	}
	memprofile_free(p);
	return good ? 0 : no_memory();
}

static const char *word_of(unsigned int by)
{
	const char *w = BYS;

	while (by--)
		w += strlen(w) + 1;
	return w;
}

static unsigned int by_of(const char *word)
{
	unsigned int i = 0;

	while (word && strcmp(word_of(i), word) != 0)
		i++;
	return i;
}

/* Of a sampled trace. */
static void tell_sampled(const struct sonde_trace *trace)
{
	struct sonde_trace_sampled how;

	if (!sampled_sum(trace, &how))
		return;
	sampled_tell(trace);
	msg_warn("figures are of what was recorded alone; between bursts, caches keep what they held");
}

static int print_curves(struct cache *c, const char *key, uint64_t limit)
{
	if (c->o->csv)
		cache_curve_csv(&c->rows, key, limit, stdout);
	else if (!c->o->json)
		cache_curve_table(&c->rows, key, limit, stdout);
	else if (!cache_curve_json(&c->rows, key, limit, word_of(c->by), stdout))
		return no_memory();
	return 0;
}

static int print_lines(struct cache *c, uint64_t limit)
{
	if (c->o->csv)
		cache_lines_csv(&c->lines, limit, stdout);
	else if (!c->o->json)
		cache_lines_table(&c->lines, limit, stdout);
	else if (!cache_lines_json(&c->lines, limit, stdout))
		return no_memory();
	return 0;
}

static int print(struct cache *c, const struct sonde_trace *trace)
{
	const struct cache_options *o = c->o;
	const char *key = o->sort ? o->sort : o->curve ? "accesses" : "L1";
	uint64_t limit = o->limit;

	if (limit == NO_LIMIT)
		limit = o->csv || o->json ? UINT64_MAX : DEFAULT_LIMIT;
	if (o->all)
		limit = UINT64_MAX;
	tell_sampled(trace);
	if (o->lines)
		return print_lines(c, limit);
	if (o->curve)
		return print_curves(c, key, limit);
	if (o->csv)
		cache_print_csv(&c->rows, key, limit, stdout);
	else if (!o->json)
		cache_print_table(&c->rows, key, limit, word_of(c->by), stdout);
	else if (!cache_print_json(&c->rows, key, limit, word_of(c->by), stdout))
		return no_memory();
	return 0;
}

static int simulate_trace(struct cache *c, struct cache_options *o, const char *dir)
{
	const bool cores = c->systems.v[0].cores;
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = cores ? visit_lane : o->curve ? visit_thread_curve : visit_thread,
		.done = cores ? run_lanes : NULL, .end = end_rank, .arg = c,
		.progress = cores ? NULL : o->curve ? "measuring reuse" : "simulating caches",
	};
	struct memtrace t;
	int status = memtrace_open(dir, &o->pick, NULL, &t);

	if (status)
		return status;
	c->trace = t.trace;
	status = memory_check_by(place_by(c), t.trace, dir);
	if (!status)
		status = traced_select(t.trace, &o->select, &c->select);
	if (!status && o->lines && c->select)
		status = opt_usage_error(&cache_command, "--lines is for all functions");
	if (!status && !cache_rows_init(&c->rows, &c->systems, &o->sim))
		status = no_memory();
	c->rows.accessed = memory_by_name(place_by(c));
	if (!status)
		status = memtrace_visit(&t, &visitor);
	if (!status && !o->lines && !o->curve && holds_order(t.trace))
		status = cache_rows_add_insns(&c->rows, c->by == BY_THREAD ? MEMORY_BY_INSTRUCTION : (enum memory_by)c->by, &o->pick,
					      &o->select, dir);
	else if (!status && !o->lines)
		status = traced_check(c->select, dir, c->rows.n);
	if (!status)
		status = print(c, t.trace);
	if (!status && c->damage)
		status = EXIT_DAMAGED;
	pick_forgive_closed_pipe();
	cache_rows_free(&c->rows);
	cache_lines_free(&c->lines);
	select_free(c->select);
	memtrace_close(&t);
	return status;
}

static int list(const struct cache_options *o)
{
	struct cache_systems all = { 0 };
	int status = systems_add_all(&all);

	if (!status && !o->json)
		cache_list(&all, stdout);
	else if (!status && !cache_list_json(&all, stdout))
		status = no_memory();
	cache_systems_free(&all);
	return status;
}

/* Why caches miss is said by what one with policy LRU and without a prefetcher does. */
static int check_classes(const struct cache *c)
{
	for (size_t i = 0; c->o->sim.classify && i < c->systems.n; i++) {
		const struct cache_system *s = &c->systems.v[i];
		const bool opt = cache_has_policy(s, CACHE_OPT);

		if (opt || cache_prefetches(s))
			return opt_usage_error(&cache_command, "%s has %s, which excludes --classify", s->name,
					       opt ? "policy opt" : "a prefetcher");
	}
	return 0;
}

/* Threads on cores are simulated together, others one by one. */
static int choose_cores(struct cache *c)
{
	const struct cache_system *v = c->systems.v;

	if (!c->o->cores && !c->o->lines) {
		cache_systems_alone(&c->systems);
		return 0;
	}
	if (c->o->lines && c->systems.n > 1)
		return opt_usage_error(&cache_command, "--lines wants one system");
	for (size_t i = 0; i < c->systems.n; i++)
		if (!v[i].cores)
			return opt_usage_error(&cache_command, "%s: which cores have its caches together is not known; a file with 'cores:' "
							       "can say it", v[i].name);
	return 0;
}

static int simulate(struct cache_options *o, const char *dir)
{
	struct cache c = { .o = o, .by = by_of(o->by) };
	struct cache_crew crew;
	int status = o->systems.n ? 0 : systems_add(&c.systems, "host");

	for (size_t i = 0; !status && i < o->systems.n; i++)
		status = systems_add(&c.systems, o->systems.v[i]);
	if (!status)
		status = choose_cores(&c);
	if (!status)
		status = check_classes(&c);
	c.lines.system = c.systems.v;
	choose_crew(o, &crew);
	if (!status)
		status = simulate_trace(&c, o, dir);
	cache_systems_free(&c.systems);
	return status;
}

int verb_cache(int argc, char **argv)
{
	struct cache_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END }, .limit = NO_LIMIT, .workers = NO_WORKERS };
	int first = opt_parse(&cache_command, argc, argv, &o), status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&cache_command, "more than one trace");
	else if (o.csv && o.json)
		status = opt_usage_error(&cache_command, "--csv and --json exclude each other");
	else if (o.workers != NO_WORKERS && (o.workers < 1 || o.workers > POOL_MOST_WORKERS))
		status = opt_usage_error(&cache_command, "--workers: not from 1 to %u", POOL_MOST_WORKERS);
	else if (o.workers != NO_WORKERS && (o.cores || o.lines || o.curve || o.list))
		status = opt_usage_error(&cache_command, "--workers excludes --cores, --lines, --curve and --list: one thread does that");
	else if (o.list && (o.csv || o.cores || first < argc))
		status = opt_usage_error(&cache_command, "--list takes no trace, and has neither --csv nor --cores");
	else if (o.sets && !cache_sets_parse(o.sets, &o.sim.one_in))
		status = opt_usage_error(&cache_command, "--sets=%s: " CACHE_SETS " belongs there", o.sets);
	else if (o.sets && (o.curve || o.sim.classify))
		status = opt_usage_error(&cache_command, "--sets excludes --curve and --classify");
	else if (o.lines && (o.curve || o.sort || o.by))
		status = opt_usage_error(&cache_command, "--lines excludes --curve, --sort and --by");
	else if ((o.cores || o.lines) && (o.sim.classify || o.sets || o.curve || (o.by && strcmp(o.by, "thread") == 0)))
		status = opt_usage_error(&cache_command, "--cores and --lines exclude --classify, --curve, --sets and rows by thread");
	else if (o.cores && memory_by_name((enum memory_by)by_of(o.by)))
		status = opt_usage_error(&cache_command, "--cores excludes rows by %s", o.by);
	else if (o.curve && (o.sim.classify || (o.sort && *o.sort == 'L')))
		status = opt_usage_error(&cache_command, "--curve has no levels: neither --classify nor --sort=L1");
	else
		status = o.list ? list(&o) : simulate(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.systems);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return status;
}
