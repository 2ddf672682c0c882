/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde memory`: options in, one of three kinds of output out. */
#include "launcher/memory/memory.h"
#include "launcher/memory/memtrace.h"
#include "launcher/common/message.h"
#include "launcher/trace/sampled.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/verbs.h"

#include <string.h>

#define DEFAULT_LIMIT 100 /* rows of a table for people */
#define EXIT_DAMAGED 1
#define NO_LIMIT (UINT64_MAX - 1)

struct memory_options {
	const char *by, *sort, *cache;
	struct select_options select;
	struct pick pick;
	uint64_t limit;
	bool no_stack, all, csv, json, mangled;
};

static const struct opt memory_opts[] = {
	{ 'b', "by", "WHAT", "function (default), loop, line, block (of a trace with --mem\n--blocks) or instruction; or what was accessed: variable, field,\nallocation or type", OPT_CHOICE,
	  offsetof(struct memory_options, by), MEMORY_BYS },
	{ 's', "sort", "KEY", "bytes (default), accesses, loads, stores, seq, strided, random, footprint,\n"
	  "misses (L1), L2, L3, L4 or name", OPT_CHOICE, offsetof(struct memory_options, sort), MEMORY_SORTS },
	{ 0, "cache", "SIZES", "misses in these caches: 32K,1M,32M; else in the machine's", OPT_STRING,
	  offsetof(struct memory_options, cache), NULL },
	OPT_TRACED_FUNCTIONS(struct memory_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct memory_options, select, "but not these"),
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct memory_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only this MPI rank", OPT_COUNT, offsetof(struct memory_options, pick.rank),
	  NULL },
	OPT_PROCESSES(offsetof(struct memory_options, pick.processes)),
	{ 'n', "limit", "N", "only the first N rows; 100 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct memory_options, limit), NULL },
	{ 'a', "all", NULL, "all rows", OPT_FLAG, offsetof(struct memory_options, all), NULL },
	{ 0, "no-stack", NULL, "without push, pop, call and ret", OPT_FLAG,
	  offsetof(struct memory_options, no_stack), NULL },
	{ 0, "csv", NULL, "comma-separated values", OPT_FLAG, offsetof(struct memory_options, csv), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct memory_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct memory_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command memory_command = {
	.name = "memory",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows which code accessed memory, and how: strides, footprints, reuse.",
	.opts = memory_opts,
	.details = "DIR is a trace that was recorded with --mem, sonde.data if not given. The exit status is 1\n"
		   "if some of it is damaged and the rest was shown, 2 if there is nothing to show.\n"
		   "seq%: of accesses up to 64 bytes from the one before by the same instruction; strided%:\n"
		   "farther, as far as the time before; random%: all others; stride: the most frequent\n"
		   "distance and its share; footprint: different cache lines of 64 bytes; L1 misses and so on:\n"
		   "accesses, and their share, that would miss in a fully associative LRU cache of the size\n"
		   "that the machine's has.\n",
	.examples = "sonde memory\tthe functions that moved most bytes\n"
		    "sonde memory -b loop -F 'solve*'\tloops of some functions\n"
		    "sonde memory -b line -s L2 -n 20\tlines that miss most in the second cache\n"
		    "sonde memory -b field\twhich fields of which variables\n"
		    "sonde memory --cache=32K,512K\twhat other caches would do\n",
};

struct memory {
	const struct memory_options *o;
	enum memory_by by;
	const struct memtrace *trace;
	struct memory_rows rows;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static int print(struct memory *m)
{
	uint64_t limit = m->o->limit;

	if (limit == NO_LIMIT)
		limit = m->o->csv || m->o->json ? UINT64_MAX : DEFAULT_LIMIT;
	if (m->o->all)
		limit = UINT64_MAX;
	if (m->by == MEMORY_BY_INSTRUCTION && !memory_rows_tag(&m->rows, m->trace->trace))
		return no_memory();
	memory_rows_sort(&m->rows, m->o->sort ? m->o->sort : "bytes");
	if (m->o->csv || m->o->json)
		sampled_tell(m->trace->trace);
	if (m->o->csv)
		memory_print_csv(&m->rows, limit, m->by, stdout);
	else if (!m->o->json)
		memory_print_table(&m->rows, limit, m->by, stdout);
	else if (!memory_print_json(&m->rows, limit, m->by, stdout))
		return no_memory();
	return 0;
}

static enum memory_by by_of(const char *word)
{
	unsigned int i = 0;

	for (const char *w = MEMORY_BYS; word && strcmp(w, word) != 0; w += strlen(w) + 1)
		i++;
	return (enum memory_by)i;
}

/* Its caches, and those to sort by. */
static int check_caches(const struct memory_options *o, struct caches *given, struct memory *m)
{
	if (o->cache && !caches_parse(o->cache, given))
		return opt_usage_error(&memory_command, "--cache %s: not one to %u sizes that ascend, as 32K,1M,32M",
				       o->cache, CACHES_MAX);
	m->rows.about = memory_about(m->trace->trace, o->cache ? given : NULL);
	if (o->sort && memory_sort_cache(o->sort) >= (int)memory_ncaches(&m->rows))
		return opt_usage_error(&memory_command, "--sort %s: there are %u caches; --cache gives others", o->sort,
				       memory_ncaches(&m->rows));
	return 0;
}

static int profile_trace(struct memory_options *o, const char *dir)
{
	struct memory m = { .o = o, .by = by_of(o->by) };
	struct caches given = { 0 };
	struct memory_reading how = { .by = m.by, .no_stack = o->no_stack, .mangled = o->mangled, .shared = true };
	struct select *select = NULL;
	uint64_t damage = 0;
	struct memtrace t;
	int status = memtrace_open(dir, &o->pick, o->csv || o->json ? NULL : stdout, &t);

	if (status || !t.trace)
		return status;
	m.trace = &t;
	status = memory_check_by(m.by, t.trace, dir);
	if (!status)
		status = check_caches(o, &given, &m);
	if (!status)
		status = traced_select(t.trace, &o->select, &select);
	how.select = select;
	if (!status)
		status = memory_rows_read(&m.rows, &t, &how, &damage);
	if (!status)
		status = traced_check(select, dir, m.rows.n);
	if (!status)
		status = print(&m);
	if (!status && damage)
		status = EXIT_DAMAGED;
	pick_forgive_closed_pipe();
	memory_rows_free(&m.rows);
	select_free(select);
	memtrace_close(&t);
	return status;
}

int verb_memory(int argc, char **argv)
{
	struct memory_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END }, .limit = NO_LIMIT };
	int first = opt_parse(&memory_command, argc, argv, &o), status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&memory_command, "more than one trace");
	else if (o.csv && o.json)
		status = opt_usage_error(&memory_command, "--csv and --json exclude each other");
	else
		status = profile_trace(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return status;
}
