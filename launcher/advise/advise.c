/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde advise': options in, sentences out. */
#include "launcher/advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/cache/cache.h"
#include "launcher/common/message.h"
#include "launcher/report/omp/omp.h"
#include "launcher/memory/names/memblocks.h"
#include "launcher/select/processes.h"
#include "launcher/trace/holds.h"
#include "launcher/trace/sampled.h"
#include "launcher/verbs.h"

#define DEFAULT_LIMIT 10
#define EXIT_DAMAGED 1
#define NO_LIMIT (UINT64_MAX - 1)

static const struct opt advise_opts[] = {
	{ 'n', "limit", "N", "only the first N pieces of advice; 10 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct advise_options, limit), NULL },
	{ 'a', "all", NULL, "all of them", OPT_FLAG, offsetof(struct advise_options, all), NULL },
	{ 0, "system", "SYSTEM", "whose caches and TLBs are simulated: host (this machine; default), a name of\n'sonde cache --list' or a YAML file",
	  OPT_STRING, offsetof(struct advise_options, system), NULL },
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST, offsetof(struct advise_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only this MPI rank", OPT_COUNT, offsetof(struct advise_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct advise_options, pick.processes)),
	{ 0, "format", "NAME", "text (default), csv or json", OPT_CHOICE, offsetof(struct advise_options, format), "text\0csv\0json\0" },
	{ 0, "csv", NULL, "comma-separated values", OPT_FLAG, offsetof(struct advise_options, csv), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct advise_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG, offsetof(struct advise_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command advise_command = {
	.name = "advise",
	.usage = "[OPTION]... [DIR]",
	.summary = "Says what should be done about a program, by what was recorded of it, with the evidence.",
	.opts = advise_opts,
	.details = "DIR is a trace, sonde.data if not given. What it holds decides what can be looked at: --mem: strides,\n"
		   "fields, alignment, aliasing, vectorization, caches; --mem-times: sharing; --blocks: trip counts and\n"
		   "small functions; -m memory: allocations; -m openmp: imbalance; -F: calls. The exit status is 1 if some of\n"
		   "it is damaged and the rest was looked at, 2 if there is nothing to look at.\n",
	.examples = "sonde --mem --blocks -- ./app\trecords most of it\n"
		    "sonde advise\tthe ten pieces of advice with most accesses, misses or time to them\n"
		    "sonde advise --system=epyc-9004\twith the caches and TLBs of another machine\n"
		    "sonde advise --all --json\tall, for another program\n",
};

/* ---- what there is ---- */

static bool has_calls(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++)
		if (sonde_trace_thread(trace, i)->events || sonde_trace_thread(trace, i)->ncalls)
			return true;
	return false;
}

static int no_advice(const struct advise *a)
{
	char why[256];

	holds_no_memory(a->t.trace, why, sizeof(why));
	msg_error("%s: %s", a->dir, why);
	return EXIT_USAGE;
}

/* An OpenMP program has several threads; of one with one nothing is missing. */
static void say_missing(struct advise *a, bool memory, bool counts)
{
	const struct sonde_trace *trace = a->t.trace;

	if (!memory)
		advise_lacks(a, "strides, fields, alignment, aliasing, vectorization and caches", "--mem");
	else if (!a->systems.v[0].ntlbs)
		advise_lacks(a, "TLBs, of which this system says nothing", "--system=NAME");
	if (!counts)
		advise_lacks(a, "trip counts and small functions", memory ? "--mem --blocks" : "--blocks");
	if (!memblocks_recorded(trace))
		advise_lacks(a, "allocations", "-m memory");
	if (sonde_trace_threads(trace) > sonde_trace_ranks(trace) && !omp_recorded(trace))
		advise_lacks(a, "imbalance, of programs that use OpenMP", "-m openmp");
	if (a->no_code)
		advise_lacks(a, "vectorization and trip counts of loops whose files are gone, or are others by now", "'sonde archive' keeps files");
}

static int choose_system(struct advise *a)
{
	char *said = NULL;
	int status;

	if (a->o->system) {
		status = systems_add(&a->systems, a->o->system);
	} else {
		msg_hold(&said);
		status = systems_add(&a->systems, "host");
		msg_hold(NULL);
		free(said);
		/* a machine that does not tell */
		if (status)
			status = systems_add(&a->systems, "epyc-9004");
	}
	cache_systems_alone(&a->systems);
	return status;
}

static int look(struct advise *a)
{
	const bool memory = a->t.threads && !a->t.blocks, calls = has_calls(a->t.trace);
	bool counts = false;
	int status = 0;

	if (memory)
		status = advise_memory(a);
	if (!status && memory)
		status = advise_sharing(a);
	if (!status)
		status = advise_counts(a, &counts);
	if (!status && !memory && !counts && !calls)
		return no_advice(a);
	/* a report is of all threads, or of one */
	if (!status && calls && !a->o->pick.threads.n)
		status = advise_calls(a);
	if (!status && calls)
		status = advise_openmp(a);
	if (!status && calls)
		status = advise_allocations(a);
	if (!status)
		say_missing(a, memory, counts);
	return status;
}

/* ---- what is shown ---- */

static int print(struct advise *a)
{
	const struct advise_options *o = a->o;
	const bool csv = o->csv || (o->format && strcmp(o->format, "csv") == 0), json = o->json || (o->format && strcmp(o->format, "json") == 0);
	uint64_t limit = o->all || (o->limit == NO_LIMIT && (csv || json)) ? UINT64_MAX : o->limit == NO_LIMIT ? DEFAULT_LIMIT : o->limit;

	advise_sort(a);
	sampled_tell(a->t.trace);
	if (csv && *a->missing)
		msg_info("not looked at, since it was not recorded: %s", a->missing);
	if (csv)
		advise_print_csv(a, limit, stdout);
	else if (!json)
		advise_print_text(a, limit, stdout);
	else
		a->failed |= !advise_print_json(a, limit, stdout);
	if (!a->failed)
		return 0;
	msg_error("no memory");
	return EXIT_USAGE;
}

static int advise(struct advise_options *o, const char *dir)
{
	struct advise a = { .o = o, .dir = dir };
	struct sonde_trace *trace = NULL;
	int status = choose_system(&a);

	if (!status)
		status = pick_open(dir, &trace);
	if (!status)
		status = processes_choose(&trace, &o->pick.processes);
	if (!status) {
		memtrace_use(trace, &o->pick, &a.t);
		status = pick_check(&o->pick);
	}
	if (!status) {
		holds_warn_without_end(trace, dir);
		status = look(&a);
		if (!status)
			status = print(&a);
	}
	if (!status && a.damage)
		status = EXIT_DAMAGED;
	pick_forgive_closed_pipe();
	advise_free(&a);
	memtrace_close(&a.t);
	return status;
}

int verb_advise(int argc, char **argv)
{
	struct advise_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END }, .limit = NO_LIMIT };
	int first = opt_parse(&advise_command, argc, argv, &o), status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&advise_command, "more than one trace");
	else if (o.csv + o.json + (o.format != NULL) > 1)
		status = opt_usage_error(&advise_command, "--format, --csv and --json exclude each other");
	else
		status = advise(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	return status;
}
