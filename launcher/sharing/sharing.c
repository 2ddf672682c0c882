/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde sharing': options in, lines that threads take from each other out. */
#include "launcher/sharing/sharing.h"
#include "base/array.h"
#include "launcher/cache/cache.h"
#include "launcher/common/message.h"
#include "launcher/memory/memtrace.h"
#include "launcher/sharing/pages.h"
#include "launcher/select/processes.h"
#include "launcher/trace/sampled.h"
#include "launcher/verbs.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 20 /* lines for people */
#define DEFAULT_LEAST 100
#define EXIT_DAMAGED 1
#define NO_LIMIT (UINT64_MAX - 1)

struct sharing_options {
	const char *system, *nodes;
	struct opt_list pads, splits, soas;
	struct pick pick;
	uint64_t line, page, limit, least;
	bool no_stack, all, csv, json, mangled, pages;
};

static const struct opt sharing_opts[] = {
	{ 0, "line", "BYTES", "of a line: 64 (default), 128, ... 1024, or 32 or 16", OPT_SIZE, offsetof(struct sharing_options, line), NULL },
	{ 0, "min", "N", "lines that can go from thread to thread at least N times (100)", OPT_COUNT,
	  offsetof(struct sharing_options, least), NULL },
	{ 0, "pad", "VARIABLE[/BYTES][:ALIGN]", "as if the variable, or each element of it (of BYTES), were at a\nmultiple of ALIGN bytes: what that saves; may be repeated",
	  OPT_LIST, offsetof(struct sharing_options, pads), NULL },
	{ 0, "split", "TYPE.MEMBER", "as if the member of the structure were in an array of its own; may be repeated",
	  OPT_LIST, offsetof(struct sharing_options, splits), NULL },
	{ 0, "soa", "TYPE", "as if arrays of the structure were structures of arrays; may be repeated",
	  OPT_LIST, offsetof(struct sharing_options, soas), NULL },
	{ 0, "pages", NULL, "pages in place of lines: which thread touches them first, and how many accesses are from other NUMA nodes", OPT_FLAG,
	  offsetof(struct sharing_options, pages), NULL },
	{ 0, "page", "BYTES", "of a page: 4K (default), 2M, ...; a power of two", OPT_SIZE, offsetof(struct sharing_options, page), NULL },
	{ 0, "nodes", "FILE", "which processors or threads are on which NUMA node (YAML); this machine's if not given", OPT_STRING,
	  offsetof(struct sharing_options, nodes), NULL },
	{ 0, "system", "SYSTEM", "whose last cache's latency a transfer takes: a name of 'sonde cache\n--list' or a YAML file", OPT_STRING,
	  offsetof(struct sharing_options, system), NULL },
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct sharing_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only this MPI rank", OPT_COUNT, offsetof(struct sharing_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct sharing_options, pick.processes)),
	{ 'n', "limit", "N", "only the first N lines; 20 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct sharing_options, limit), NULL },
	{ 'a', "all", NULL, "all lines, those with few transfers and those that are handed over, too", OPT_FLAG,
	  offsetof(struct sharing_options, all), NULL },
	{ 0, "no-stack", NULL, "without push, pop, call and ret", OPT_FLAG, offsetof(struct sharing_options, no_stack), NULL },
	{ 0, "csv", NULL, "comma-separated values", OPT_FLAG, offsetof(struct sharing_options, csv), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct sharing_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG, offsetof(struct sharing_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command sharing_command = {
	.name = "sharing",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows which lines of memory threads take from each other: false sharing, and true.",
	.opts = sharing_opts,
	.details = "DIR is a trace that was recorded with --mem --mem-times, sonde.data if not given. The exit status is\n"
		   "1 if some of it is damaged and the rest was shown, 2 if there is nothing to show.\n"
		   "Transfers are bounds: what the times in the trace do not order may have been in any order. Each\n"
		   "thread is taken to have a core of its own.\n",
	.examples = "sonde --mem --mem-times ./app\trecords\n"
		    "sonde sharing\tlines, who accesses which bytes of them, and what to do\n"
		    "sonde sharing --pad=counters:64\twhat it saves to have each counter in a line of its own\n"
		    "sonde sharing --split=item.hits\twhat it saves to have all hits in one array, apart from the rest of the items\n"
		    "sonde sharing --pages --nodes=two.yaml\twhich pages are on another node than the threads that use them\n"
		    "sonde sharing --system=epyc-9004\twith cycles\n",
};

struct sharing {
	const struct sharing_options *o;
	struct cache_systems systems;
	struct memwhere *where; /* of the rank, and: */
	struct memnames *names;
	struct sh *sh;
	struct memtrace_thread *threads;
	size_t nthreads, room_threads;
	int rank;
	struct sh_thread *thread;
	struct memtrace_time time;
	struct sharing_moves to;
	struct sharing_what_if what;
	struct sharing_rows rows;
	uint64_t damage, missed, all_threads;
	bool failed, timed, moves;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static bool new_rank(struct sharing *s)
{
	const struct sh_options o = { .line = (unsigned int)s->o->line, .no_stack = s->o->no_stack, .least = s->o->all ? 0 : s->o->least };

	sh_free(s->sh);
	s->sh = sh_new(&o);
	return s->sh;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct sharing *s = arg;

	s->where = memwhere_new(read, MEMWHERE_LINES | (s->o->mangled ? MEMWHERE_MANGLED : 0));
	s->names = memnames_new(read, mt_read_trace(read), rank, MEMNAMES_FIELDS);
	s->damage += s->where ? memwhere_damage(s->where) : 0;
	s->nthreads = 0;
	s->rank = rank->rank;
	return s->where && s->names && new_rank(s) ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct sharing *s = arg;

	memwhere_free(s->where);
	sharing_layouts_end_rank(&s->to.layouts);
	memnames_free(s->names);
	sh_free(s->sh);
	s->where = NULL;
	s->names = NULL;
	s->sh = NULL;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct sharing *s = arg;

	s->timed |= s->time.exact;
	if (s->moves && sharing_moves_by_name(&s->to))
		v = sharing_layouts_take(&s->to.layouts, &s->to.pads, s->names, v, &n);
	else if (s->moves)
		v = sharing_pads_take(&s->to.pads, v, n);
	s->failed = !v || !sh_thread_time(s->thread, s->time.tsc, s->time.exact) || !sh_thread_take(s->thread, v, n);
	return !s->failed;
}

static int read_thread(struct sharing *s, const struct memtrace_thread *thread, uint64_t *damage)
{
	struct memtrace_thread copy = *thread;

	if (s->moves && sharing_moves_by_name(&s->to) && !memnames_thread(s->names, thread, &copy))
		return no_memory();
	copy.time = &s->time;
	copy.quiet = s->moves;
	s->time = (struct memtrace_time){ 0 };
	s->thread = sh_thread_new(s->sh, thread->about.pid, thread->about.tid);
	if (!s->thread)
		return no_memory();
	*damage += memtrace_accesses(&copy, take, s);
	if (s->failed || !sh_thread_time(s->thread, s->time.tsc, s->time.exact))
		return no_memory();
	return 0;
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct sharing *s = arg;

	if (!array_room(s->threads, s->room_threads, s->nthreads + 1))
		return no_memory();
	s->threads[s->nthreads] = *thread;
	s->threads[s->nthreads++].progress = NULL;
	s->all_threads++;
	return read_thread(s, thread, &s->damage);
}

static int find_pads(struct sharing *s)
{
	const char *missing = sharing_pads_find(&s->to.pads, s->sh, s->names, sharing_grain((unsigned int)s->o->line));

	if (missing && !*missing)
		return no_memory();
	if (!missing)
		return 0;
	msg_error("--pad=%s: there is no variable of that name in the lines that several threads access; 'sonde sharing --all' shows "
		  "their names", missing);
	return EXIT_USAGE;
}

/* All again, with what is to be elsewhere there. */
static int move(struct sharing *s)
{
	int status = find_pads(s);
	struct sh_sum sum;
	uint64_t known = 0; /* of damage: from the first time */

	if (status)
		return status;
	sh_sum(s->sh, &sum);
	s->what.before.lines += sum.lines;
	s->what.before.transfers.least += sum.transfers.least;
	s->what.before.transfers.most += sum.transfers.most;
	if (!new_rank(s))
		return no_memory();
	s->moves = true;
	for (size_t i = 0; i < s->nthreads && !status; i++)
		status = read_thread(s, &s->threads[i], &known);
	s->moves = false;
	return status || sh_finish(s->sh) ? status : no_memory();
}

/* Was there what is to be changed, in any rank? */
static int check_pads(const struct sharing_pads *pads)
{
	for (size_t i = 0; i < pads->n; i++) {
		if (!pads->v[i].blocks || pads->v[i].found)
			continue;
		msg_error("--pad=%s: no blocks of that name are accessed; 'sonde memory -b allocation' shows their names, if module memory was there "
			  "(--mem --mem-times -m memory)", pads->v[i].name);
		return EXIT_USAGE;
	}
	return 0;
}

static int check_layouts(const struct sharing_layouts *l)
{
	if (l->padded) {
		msg_error("--pad is of a variable that --split or --soa changes: say one of them for it");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct nm_change *c = &l->v[i];

		if (c->done)
			continue;
		if (!c->has_type)
			msg_error("--%s: no variable or block of type '%s' is accessed; 'sonde memory -b type' shows types, as far as there is debug "
				  "information (-g), of blocks of the heap if module memory was there (--mem --mem-times -m memory)",
				  c->what == NM_SOA ? "soa" : "split", c->type);
		else if (c->what == NM_SOA)
			msg_error("--soa=%s: there are single ones, but no arrays of it", c->type);
		else
			msg_error("--split=%s.%s: it has no member of that name that has its bytes to itself", c->type, c->member);
		return EXIT_USAGE;
	}
	return 0;
}

static int end_threads(void *arg)
{
	struct sharing *s = arg;
	const size_t before = s->rows.n;
	int status = sh_finish(s->sh) ? 0 : no_memory();

	s->missed += sh_missed(s->sh);
	if (!status && sharing_moves_any(&s->to))
		status = move(s);
	if (!status && (!sharing_rows_add(&s->rows, s->sh, s->where, s->names, s->rank) ||
			(s->nthreads && !sharing_name_stacks(&s->rows, before, s->names, &s->threads[0]))))
		status = no_memory();
	return status;
}

/* ---- what is known, and what not ---- */

static void tell(const struct sharing *s, const struct sonde_trace *trace)
{
	struct sonde_trace_sampled how;

	if (sampled_sum(trace, &how)) {
		sampled_tell(trace);
		msg_warn("only what happened in bursts was seen: lines may be missing, and transfers are of bursts alone");
	}
	if (!s->timed && s->all_threads > 1)
		msg_warn("the trace does not say when threads waited for each other: what barriers and locks keep apart may be shown as "
			 "shared; record with --mem --mem-times");
	if (s->all_threads == 1)
		msg_warn("one thread has made all accesses: nothing can be shared");
	if (s->missed)
		msg_warn("%llu accesses were to more lines than there is room for, and not looked at", (unsigned long long)s->missed);
}

static int print(void *arg, const struct sonde_trace *trace)
{
	struct sharing *s = arg;
	const struct sharing_options *o = s->o;
	uint64_t limit = o->limit;

	if (limit == NO_LIMIT)
		limit = o->csv || o->json || o->all ? UINT64_MAX : DEFAULT_LIMIT;
	if (check_layouts(&s->to.layouts) || check_pads(&s->to.pads))
		return EXIT_USAGE;
	tell(s, trace);
	if (!sharing_rows_finish(&s->rows))
		return no_memory();
	s->what.moves = &s->to;
	if (o->csv)
		sharing_csv(&s->rows, limit, stdout);
	else if (!o->json)
		sharing_table(&s->rows, &s->what, limit, stdout);
	else if (!sharing_json(&s->rows, &s->what, limit, stdout))
		return no_memory();
	return 0;
}

/* A transfer takes as long as what is found in the cache that all cores have together. */
static int choose_system(struct sharing *s)
{
	const struct cache_system *v;
	int status = s->o->system ? systems_add(&s->systems, s->o->system) : 0;

	if (status || !s->o->system)
		return status;
	v = &s->systems.v[0];
	if (!v->ncaches || v->level[v->ncaches - 1].latency == CACHE_NO_LATENCY) {
		msg_error("%s: it does not say how long its last cache takes; a YAML file with 'latency:' can", s->o->system);
		return EXIT_USAGE;
	}
	s->rows.latency = v->level[v->ncaches - 1].latency;
	s->rows.system = v->name;
	return 0;
}

int sharing_read(const char *dir, struct pick *pick, const struct memtrace_visitor *visitor, sharing_print_fn *print, const uint64_t *damage)
{
	struct memtrace t;
	int status = memtrace_open(dir, pick, NULL, &t);

	if (status)
		return status;
	if (t.blocks) {
		msg_error("%s: blocks were recorded in place of accesses; record with --mem --mem-times", dir);
		status = EXIT_USAGE;
	}
	if (!status)
		status = memtrace_visit(&t, visitor);
	if (!status)
		status = print(visitor->arg, t.trace);
	if (!status && *damage)
		status = EXIT_DAMAGED;
	pick_forgive_closed_pipe();
	memtrace_close(&t);
	return status;
}

static int show(struct sharing *s, struct sharing_options *o, const char *dir)
{
	const struct memtrace_visitor visitor = { .begin = begin_rank, .thread = visit_thread, .done = end_threads, .end = end_rank,
						  .arg = s, .progress = "looking for shared lines" };

	return sharing_read(dir, &o->pick, &visitor, print, &s->damage);
}

static int parse_layouts(struct sharing_layouts *l, const struct opt_list *list, bool soa)
{
	for (size_t i = 0; i < list->n; i++)
		if (!sharing_layouts_parse(l, list->v[i], soa))
			return opt_usage_error(&sharing_command, soa ? "--soa=%s: the name of a structure belongs there" :
								       "--split=%s: TYPE.MEMBER belongs there", list->v[i]);
	return 0;
}

static int parse_moves(struct sharing_moves *to, const struct sharing_options *o)
{
	int status;

	for (size_t i = 0; i < o->pads.n; i++)
		if (!sharing_pads_parse(&to->pads, o->pads.v[i], (unsigned int)o->line))
			return opt_usage_error(&sharing_command, "--pad=%s: VARIABLE, VARIABLE:ALIGN or VARIABLE/BYTES:ALIGN belongs there, "
								 "ALIGN a power of two", o->pads.v[i]);
	status = parse_layouts(&to->layouts, &o->splits, false);
	return status ? status : parse_layouts(&to->layouts, &o->soas, true);
}

static int pages(struct sharing_options *o, const char *dir)
{
	const struct pages_options p = {
		.pick = &o->pick, .nodes = o->nodes, .page = o->page, .no_stack = o->no_stack, .all = o->all, .csv = o->csv, .json = o->json,
		.mangled = o->mangled,
		.limit = o->limit != NO_LIMIT ? o->limit : o->csv || o->json || o->all ? UINT64_MAX : DEFAULT_LIMIT,
	};

	if (o->page < 4096 || o->page > UINT64_C(1) << 40 || o->page & (o->page - 1))
		return opt_usage_error(&sharing_command, "--page: a power of two from 4K on belongs there");
	if (o->pads.n || o->splits.n || o->soas.n || o->system || o->line != 64)
		return opt_usage_error(&sharing_command, "--pages excludes --line, --system, --pad, --split and --soa");
	return sharing_pages(&p, dir);
}

static int sharing(struct sharing_options *o, const char *dir)
{
	struct sharing s = { .o = o, .rows = { .bytes = (unsigned int)o->line, .least = o->least, .all = o->all } };
	int status = choose_system(&s);

	s.rows.moves = &s.to;
	if (!status)
		status = parse_moves(&s.to, o);
	if (!status)
		status = show(&s, o, dir);
	sharing_rows_free(&s.rows);
	sharing_pads_free(&s.to.pads);
	sharing_layouts_free(&s.to.layouts);
	cache_systems_free(&s.systems);
	free(s.threads);
	return status;
}

int verb_sharing(int argc, char **argv)
{
	struct sharing_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END }, .limit = NO_LIMIT, .line = 64, .page = 4096,
				     .least = DEFAULT_LEAST };
	int first = opt_parse(&sharing_command, argc, argv, &o), status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&sharing_command, "more than one trace");
	else if (o.csv && o.json)
		status = opt_usage_error(&sharing_command, "--csv and --json exclude each other");
	else if (!o.pages && (o.nodes || o.page != 4096))
		status = opt_usage_error(&sharing_command, "--nodes and --page belong to --pages");
	else if (o.pages)
		status = pages(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	else if (o.line < 16 || o.line > SH_LINE_MAX || o.line & (o.line - 1))
		status = opt_usage_error(&sharing_command, "--line: 16, 32, 64, 128, ... 1024 bytes belong there");
	else if (o.csv && (o.pads.n || o.splits.n || o.soas.n))
		status = opt_usage_error(&sharing_command, "--csv has lines alone: --pad, --split and --soa are for text and --json");
	else
		status = sharing(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.pads);
	opt_list_free(&o.splits);
	opt_list_free(&o.soas);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	return status;
}
