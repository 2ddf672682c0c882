/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: options in, trees out. */
#include "launcher/graph/graph.h"
#include "launcher/trace/holds.h"
#include "launcher/common/message.h"
#include "launcher/trace/pick.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/sampled.h"
#include "launcher/common/units.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/ambiguous.h"
#include "launcher/verbs.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERCENT 0.5
#define DEFAULT_PATHS UINT64_C(1000000)
#define MAX_PATHS UINT64_C(1000000000)
#define MAX_FUNCTIONS 20u /* that match and are shown, each with its own trees */

struct graph_options {
	struct pick pick;
	struct select_options select;
	uint64_t depth, paths;
	const char *percent;
	double min_percent;
	bool by_thread, folded, mangled, all, raw;
};

static const struct opt graph_opts[] = {
	OPT_TRACED_FUNCTIONS(struct graph_options, select, "only what these functions call, and who calls them"),
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct graph_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only the threads of MPI rank N", OPT_COUNT,
	  offsetof(struct graph_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct graph_options, pick.processes)),
	{ 0, "by-thread", NULL, "a tree for each thread, instead of one for all", OPT_FLAG,
	  offsetof(struct graph_options, by_thread), NULL },
	{ 'd', "depth", "N", "only the first N levels", OPT_COUNT,
	  offsetof(struct graph_options, depth), NULL },
	{ 0, "min-percent", "P", "leave out what takes less of the time (default 0.5)", OPT_STRING,
	  offsetof(struct graph_options, percent), NULL },
	{ 'a', "all", NULL, "leave out nothing, as --min-percent 0", OPT_FLAG,
	  offsetof(struct graph_options, all), NULL },
	{ 0, "folded", NULL, "lines 'a;b;c SELF', in ns, for flame graphs", OPT_FLAG,
	  offsetof(struct graph_options, folded), NULL },
	{ 0, "max-paths", "N", "call paths to keep (default 1000000)", OPT_COUNT,
	  offsetof(struct graph_options, paths), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct graph_options, mangled), NULL },
	{ 0, "raw", NULL, "times as they were recorded, with what recording took", OPT_FLAG,
	  offsetof(struct graph_options, raw), NULL },
	PICK_TAIL_CALLS(offsetof(struct graph_options, pick.tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command graph_command = {
	.name = "graph",
	.usage = "[OPTION]... [DIR [PATTERN]...]",
	.summary = "Shows who called whom, and where the time went on each path.",
	.opts = graph_opts,
	.details = "DIR is a trace, " DEFAULT_TRACE " if not given. With a PATTERN: who called that function, and what it\n"
		   "called. Where a function calls itself again, by whatever path, the path goes on from\n"
		   "its first call.\n",
	.examples = "sonde graph\tthe whole program\n"
		    "sonde graph sonde.data malloc\twho calls malloc()\n"
		    "sonde graph --folded | flamegraph.pl >flame.svg\ta picture\n",
};

struct graph {
	const struct graph_options *o;
	const struct sonde_trace *trace;
	struct graph_reader r;
	bool *wanted; /* functions, or NULL */
	bool *ambiguous;
	bool *counted; /* by function: not all of its calls were recorded */
	bool utf8;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* ---- output ---- */

static void put_notes(const struct graph *g, const struct graph_style *s)
{
	const struct graph_walk *w = &g->r.walk;

	if (s->left_out)
		printf("%" PRIu64 " path%s left out (--all shows them)\n", s->left_out,
		       s->left_out == 1 ? " is" : "s are");
	if (w->unplaced)
		printf("%" PRIu64 " calls found no room and count as their callers' own time: there are "
		       "more than %" PRIu64 " paths (--max-paths)\n", w->unplaced, g->o->paths);
	if (w->open)
		printf("%" PRIu64 " call%s did not return; counted up to the thread's last event, or its process's end while "
		       "it waits\n", w->open, w->open == 1 ? "" : "s");
	if (w->orphans)
		printf("%" PRIu64 " return%s whose call was not recorded %s not counted\n", w->orphans,
		       w->orphans == 1 ? "" : "s", w->orphans == 1 ? "is" : "are");
	if (w->lost)
		printf("events are missing in %" PRIu64 " place%s\n", w->lost,
		       w->lost == 1 ? "" : "s");
}

static struct graph_style style_of(const struct graph *g, uint64_t whole)
{
	return (struct graph_style){ .trace = g->trace, .out = stdout, .depth = g->o->depth,
				     .waits = g->r.tree.node[GRAPH_ROOT].wait != 0,
				     .min_percent = g->o->min_percent, .whole = whole,
				     .mangled = g->o->mangled, .utf8 = g->utf8,
				     .ambiguous = g->ambiguous, .counted = g->counted };
}

static void put_head(const struct graph *g, const struct sonde_trace_thread *t)
{
	struct sonde_trace_sampled sampled;
	struct budgeted budgeted;
	char time[UNITS_MAX], text[SAMPLED_MAX], counted[BUDGETED_MAX];

	units_time(g->r.tree.node[GRAPH_ROOT].total, time);
	if (t) {
		printf("thread %d.%d ", t->pid, t->tid);
		units_text(stdout, t->comm, 0, g->utf8);
		fputs(": ", stdout);
	} else {
		printf("%zu thread%s: ", g->r.nthreads, g->r.nthreads == 1 ? "" : "s");
	}
	printf("%" PRIu64 " event%s, %s in recorded functions", g->r.walk.events,
	       g->r.walk.events == 1 ? "" : "s", time);
	if (g->r.walk.taken) {
		units_time(g->r.walk.taken, time);
		printf("; without %s that recording took", time);
	}
	putchar('\n');
	if (sampled_sum(g->trace, &sampled)) {
		sampled_text(&sampled, text);
		printf("memory accesses were sampled (%s)%s\n", text, g->counted ? "" : ", calls are all recorded");
	}
	if (g->counted && budgeted_sum(g->trace, &budgeted)) {
		budgeted_text(&budgeted, counted);
		printf("a budget of %.4g %%: %s: ~ marks these functions, whose other calls are in the self times around them\n",
		       100 * budgeted.overhead, counted);
	}
}

static void put_whole(struct graph *g)
{
	struct graph_style s = style_of(g, g->r.tree.node[GRAPH_ROOT].total);

	s.births = g->o->by_thread ? NULL : &g->r.births;
	s.walk = &g->r.walk;
	putchar('\n');
	graph_print_title(&s);
	graph_print_below(&s, &g->r.tree, GRAPH_ROOT, 0);
	put_notes(g, &s);
}

static void put_function(struct graph *g, uint32_t function, const struct graph_node *figures)
{
	struct graph_style s = style_of(g, figures->total);
	struct graph_tree tree;

	printf("\nwho calls ");
	graph_put_name(&s, function);
	puts(" (share and time of its calls from there):");
	graph_print_title(&s);
	graph_print_line(&s, figures, function, 0);
	putchar('\n');
	graph_callers(&g->r.tree, function, &tree);
	graph_print_below(&s, &tree, GRAPH_ROOT, 1);
	graph_tree_free(&tree);
	printf("\nwhat ");
	graph_put_name(&s, function);
	puts(" calls:");
	graph_print_title(&s);
	graph_print_line(&s, figures, function, 0);
	putchar('\n');
	graph_callees(&g->r.tree, function, &tree);
	graph_print_below(&s, &tree, GRAPH_ROOT, 1);
	graph_tree_free(&tree);
	if (s.left_out)
		printf("%" PRIu64 " path%s left out (--all shows them)\n", s.left_out,
		       s.left_out == 1 ? " is" : "s are");
}

/* ---- functions that were asked for ---- */

struct wanted {
	uint32_t function;
	struct graph_node figures;
};

static int longest_first(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->figures.total != y->figures.total)
		return x->figures.total < y->figures.total ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static struct wanted *sum_wanted(const struct graph *g, size_t *n)
{
	size_t nfunctions = sonde_trace_functions(g->trace);
	struct wanted *w = report_zeroed(nfunctions, sizeof(*w));

	*n = 0;
	for (size_t i = 1; i < g->r.tree.n; i++) {
		const struct graph_node *node = &g->r.tree.node[i];

		if (!g->wanted[node->function])
			continue;
		graph_add(&w[node->function].figures, node);
	}
	for (size_t i = 0; i < nfunctions; i++) {
		if (!w[i].figures.calls)
			continue;
		w[*n] = w[i];
		w[(*n)++].function = (uint32_t)i;
	}
	qsort(w, *n, sizeof(*w), longest_first);
	return w;
}

static void put_functions(struct graph *g)
{
	struct graph_style s = style_of(g, 0);
	size_t n, shown;
	struct wanted *w = sum_wanted(g, &n);

	shown = n < MAX_FUNCTIONS ? n : MAX_FUNCTIONS;
	if (!n)
		puts("\nno call of it was recorded");
	for (size_t i = 0; i < shown; i++)
		put_function(g, w[i].function, &w[i].figures);
	if (n > shown)
		printf("\n%zu more functions match; shown are those with the longest total time\n",
		       n - shown);
	putchar('\n');
	put_notes(g, &s);
	free(w);
}

static void put_nothing(const struct graph *g)
{
	struct holds_texts texts;
	char text[256];

	holds_no_calls(g->trace, text, sizeof(text));
	printf("\n%s\n", text);
	holds_texts(g->trace, &texts);
	holds_print_texts(&texts, false, stdout);
	holds_texts_free(&texts);
}

static void put_tree(struct graph *g, const struct sonde_trace_thread *t)
{
	if (g->o->folded) {
		struct graph_style s = style_of(g, 0);

		graph_print_folded(&s, &g->r.tree);
		return;
	}
	put_head(g, t);
	if (!g->r.walk.events && !t)
		put_nothing(g);
	else if (g->wanted)
		put_functions(g);
	else
		put_whole(g);
}

/* ---- all of it ---- */

static int graph_merged(struct graph *g)
{
	int status;

	status = graph_read(&g->r);
	if (!status)
		put_tree(g, NULL);
	graph_reader_end(&g->r);
	return status;
}

static int graph_by_thread(struct graph *g)
{
	int status = 0;
	bool first = true;

	for (size_t i = 0; i < sonde_trace_threads(g->trace) && !status && !ferror(stdout); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(g->trace, i);

		if (!pick_thread(t, (void *)&g->o->pick))
			continue;
		graph_reader_begin(&g->r);
		status = graph_read_thread(&g->r, i);
		if (!status && !first && !g->o->folded)
			putchar('\n');
		if (!status)
			put_tree(g, t);
		first = false;
		graph_reader_end(&g->r);
	}
	return status;
}

static int graph_trace(struct graph_options *o, const char *dir)
{
	struct graph g = { .o = o };
	struct sonde_trace *trace;
	int status = pick_open(dir, &trace);

	if (!status)
		status = processes_choose(&trace, &o->pick.processes);
	if (status)
		return status;
	g.trace = o->pick.trace = trace;
	status = pick_check(&o->pick);
	if (!status)
		status = traced_functions(trace, dir, &o->select, &g.wanted);
	if (!status) {
		g.ambiguous = report_need(ambiguous_functions(trace));
		g.counted = budgeted_functions(trace);
		setlocale(LC_CTYPE, "");
		g.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
		if (o->folded)
			holds_warn_no_calls(trace, dir);
		else
			holds_warn_without_end(trace, dir);
		g.r = (struct graph_reader){ .trace = trace, .pick = &o->pick, .raw = o->raw, .paths = o->paths };
		pick_reading(&o->pick, o->by_thread, &g.r.reading);
		status = o->by_thread ? graph_by_thread(&g) : graph_merged(&g);
		pick_forgive_closed_pipe();
	}
	free(g.wanted);
	free(g.ambiguous);
	free(g.counted);
	sonde_trace_close(trace);
	return status ? status : g.r.damage ? EXIT_USAGE : 0;
}

static int check_options(struct graph_options *o)
{
	char *end_of = NULL;

	o->min_percent = o->all ? 0 : DEFAULT_PERCENT;
	if (o->percent) {
		o->min_percent = strtod(o->percent, &end_of);
		if (end_of == o->percent || *end_of || !(o->min_percent >= 0 && o->min_percent <= 100))
			return opt_usage_error(&graph_command, "--min-percent %s: not a number from 0 to 100",
					       o->percent);
	}
	if (!o->paths || o->paths > MAX_PATHS)
		return opt_usage_error(&graph_command, "--max-paths: from 1 to %" PRIu64, MAX_PATHS);
	return 0;
}

int verb_graph(int argc, char **argv)
{
	struct graph_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END }, .select.option = "",
				   .paths = DEFAULT_PATHS };
	int first = opt_parse(&graph_command, argc, argv, &o), status;

	if (first < 0) {
		status = OPT_STATUS(first);
	} else {
		status = check_options(&o);
		for (int i = first + 1; i < argc && !status; i++)
			status = opt_list_append(&o.select.functions, argv[i]) ? 0 : no_memory();
		if (!status)
			status = graph_trace(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	}
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return status;
}
