/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: options in, one of the three kinds of output out. */
#include "launcher/report/report.h"
#include "launcher/report/omp/omp.h"
#include "launcher/report/phases/phases.h"
#include "launcher/report/mpi/report-mpi.h"
#include "launcher/html/html.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"
#include "launcher/ranks/ranks.h"
#include "launcher/trace/holds.h"
#include "launcher/trace/pick.h"
#include "launcher/select/processes.h"
#include "launcher/select/select.h"
#include "launcher/verbs.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_DAMAGED 1
#define DEFAULT_LIMIT 100 /* lines of a table for people */
#define NO_LIMIT (UINT64_MAX - 1)

struct report_options {
	const char *by, *sort, *thread, *tail_calls, *html;
	struct select_options select;
	struct opt_list processes, phases;
	uint64_t rank, limit;
	bool csv, json, mangled, all, raw, omp, mpi;
};

/* --omp, --mpi: the threads of which ranks. */
struct wanted {
	const struct report_request *request;
	const struct sonde_trace *trace;
};

#define SORTS "total\0self\0calls\0average\0max\0name\0bytes\0wait\0blocked\0" /* as enum report_sort */
#define BYS "function\0thread\0process\0rank\0"			      /* as enum report_by */

static const struct opt report_opts[] = {
	{ 's', "sort", "KEY", "total (default), self, calls, average, max, name, bytes, wait or blocked",
	  OPT_CHOICE, offsetof(struct report_options, sort), SORTS },
	{ 'b', "by", "WHAT", "one table (function, the default), one per thread, process or rank",
	  OPT_CHOICE, offsetof(struct report_options, by), BYS },
	OPT_TRACED_FUNCTIONS(struct report_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct report_options, select, "but not these"),
	{ 't', "thread", "TID", "only this thread; also PID.TID", OPT_STRING,
	  offsetof(struct report_options, thread), NULL },
	{ 'r', "rank", "N", "only this MPI rank", OPT_COUNT, offsetof(struct report_options, rank),
	  NULL },
	OPT_PROCESSES(offsetof(struct report_options, processes)),
	{ 'n', "limit", "N", "only the first N lines of each table; 100 if not given, all for --csv and --json",
	  OPT_COUNT, offsetof(struct report_options, limit), NULL },
	{ 'a', "all", NULL, "all lines", OPT_FLAG, offsetof(struct report_options, all), NULL },
	{ 0, "omp", NULL, "OpenMP (-m openmp): regions, loops and tasks; work, waiting, imbalance, other schedules", OPT_FLAG,
	  offsetof(struct report_options, omp), NULL },
	{ 0, "mpi", NULL, "MPI (-m mpi): bytes and waiting of each call and rank, who sent to whom", OPT_FLAG,
	  offsetof(struct report_options, mpi), NULL },
	{ 0, "phase", "NAME", "only what was done in these phases (-m mark); without NAME: phases and counters", OPT_LIST_OR,
	  offsetof(struct report_options, phases), "" },
	{ 0, "csv", NULL, "comma-separated values, in nanoseconds and bytes", OPT_FLAG,
	  offsetof(struct report_options, csv), NULL },
	{ 0, "json", NULL, "JSON, in nanoseconds and bytes", OPT_FLAG,
	  offsetof(struct report_options, json), NULL },
	{ 0, "html", "FILE", "a page with time line, flame graph and tables, for a browser", OPT_STRING,
	  offsetof(struct report_options, html), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct report_options, mangled), NULL },
	{ 0, "raw", NULL, "times as they were recorded, with what recording took", OPT_FLAG,
	  offsetof(struct report_options, raw), NULL },
	PICK_TAIL_CALLS(offsetof(struct report_options, tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command report_command = {
	.name = "report",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows how often each function was called and where the time went.",
	.opts = report_opts,
	.details = "DIR is a trace, " DEFAULT_TRACE " if not given. The exit status is 1 if some of the trace is\n"
		   "damaged and the rest was reported, 2 if there is nothing to report from.\n",
	.examples = "sonde report\twhere the time went\n"
		    "sonde report -s bytes -n 10\tthe ten functions that moved most data\n"
		    "sonde report -b thread -F 'pthread_*'\twhat each thread waited for\n"
		    "sonde report --omp\twhat threads did in parallel regions\n"
		    "sonde report --mpi\twhich ranks waited for which calls, who sent to whom\n"
		    "sonde report --phase=solve\tfunctions, in that phase of the program alone\n"
		    "sonde report --html page.html\ta page with a time line, a flame graph and tables\n"
		    "sonde report --json run3 | jq .tables\tfor other programs\n",
};

/* Position of @word in @words, "one\0two\0"; 0 for NULL. */
static unsigned index_of(const char *words, const char *word)
{
	unsigned i = 0;

	for (const char *w = words; word && strcmp(w, word) != 0; w += strlen(w) + 1)
		i++;
	return i;
}

/* A positive number up to @end, or 0. */
static int parse_id(const char *text, const char *end)
{
	char *stop;
	long id;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	id = strtol(text, &stop, 10);
	return errno || stop != end || id > INT_MAX ? 0 : (int)id;
}

static bool parse_thread(const char *text, struct report_request *q)
{
	const char *dot = strchr(text, '.');
	const char *tid = dot ? dot + 1 : text;

	if (dot)
		q->pid = parse_id(text, dot);
	q->tid = parse_id(tid, tid + strlen(tid));
	return q->tid && (!dot || q->pid);
}

/* What it would not heed. */
static int check_whole(const struct report_options *o)
{
	if (o->by || o->sort || o->thread || o->mangled || o->raw || o->tail_calls ||
	    o->select.functions.n || o->select.excluded.n)
		return opt_usage_error(&report_command, "%s: it goes with --rank, --process, --limit, --all, --csv and --json",
				       o->omp ? "--omp shows whole teams of threads" :
				       o->mpi ? "--mpi shows whole ranks" :
						"--phase without a name shows whole phases");
	if (o->omp && o->mpi)
		return opt_usage_error(&report_command, "--omp and --mpi are two reports: one at a time");
	return 0;
}

/* It sorts and filters itself. */
static int check_page(const struct report_options *o)
{
	const char *other = o->by ? "by" : o->sort ? "sort" : o->limit != NO_LIMIT ? "limit" : o->all ? "all" : o->csv ? "csv" : o->json ? "json" :
			    o->omp ? "omp" : o->mpi ? "mpi" : o->phases.n ? "phase" : o->select.functions.n ? "functions" : o->select.excluded.n ? "no-functions" : NULL;

	return other ? opt_usage_error(&report_command, "--%s is not for --html, whose page has all that can be shown", other) : 0;
}

static int make_request(const struct report_options *o, struct report_request *q)
{
	*q = (struct report_request){
		.by = (enum report_by)index_of(BYS, o->by),
		.sort = (enum report_sort)index_of(SORTS, o->sort),
		.rank = o->rank,
		.limit = o->all || (o->limit == NO_LIMIT && (o->csv || o->json)) ? UINT64_MAX :
			 o->limit == NO_LIMIT					  ? DEFAULT_LIMIT :
										    o->limit,
		.mangled = o->mangled,
		.tail_calls = o->tail_calls,
		.raw = o->raw,
		.select = o->select,
	};
	if (o->html) {
		q->limit = UINT64_MAX;
		if (check_page(o))
			return EXIT_USAGE;
	}
	if (o->csv && o->json)
		return opt_usage_error(&report_command, "--csv and --json exclude each other");
	if (o->phases.n > 1)
		return opt_usage_error(&report_command, "--phase was given more than once: one pattern at a time");
	if (o->phases.n && (o->omp || o->mpi))
		return opt_usage_error(&report_command, "--phase does not go with --omp and --mpi");
	q->phase = o->phases.n && *o->phases.v[0] ? o->phases.v[0] : NULL;
	q->shared = !o->html && !o->omp && !o->mpi && !(o->phases.n && !q->phase);
	if ((o->omp || o->mpi || (o->phases.n && !q->phase)) && check_whole(o))
		return EXIT_USAGE;
	if (o->thread && !parse_thread(o->thread, q))
		return opt_usage_error(&report_command, "--thread %s: not TID or PID.TID", o->thread);
	return 0;
}

static bool wants(const struct sonde_trace_thread *thread, void *arg)
{
	const struct wanted *wanted = arg;

	return report_wants(wanted->request, wanted->trace, thread);
}

static int report_omp(const struct sonde_trace *trace, const char *dir, const struct report_options *o,
		      const struct report_request *q)
{
	struct wanted wanted = { q, trace };
	struct omp_request request = { wants, &wanted };
	struct omp_report r;
	int status = omp_read(&r, trace, dir, &request);

	if (!status && o->json)
		omp_print_json(&r, q->limit);
	else if (!status && o->csv)
		omp_print_csv(&r, q->limit);
	else if (!status)
		omp_print_text(&r, trace, q->limit);
	if (!status) {
		pick_forgive_closed_pipe();
		status = r.damaged ? EXIT_DAMAGED : 0;
	}
	omp_report_free(&r);
	return status;
}

static int report_mpi(const struct sonde_trace *trace, const char *dir, const struct report_options *o, const struct report_request *q)
{
	struct wanted wanted = { q, trace };
	const struct report_mpi_request request = { wants, &wanted };
	struct report_mpi r;
	int status = report_mpi_read(&r, trace, dir, &request);

	if (!status && o->json)
		report_mpi_json(&r, q->limit);
	else if (!status && o->csv)
		report_mpi_csv(&r, q->limit);
	else if (!status)
		report_mpi_text(&r, q->limit);
	if (!status) {
		pick_forgive_closed_pipe();
		status = r.damaged ? EXIT_DAMAGED : 0;
	}
	report_mpi_free(&r);
	return status;
}

static int report_phases(const struct sonde_trace *trace, const char *dir, const struct report_options *o,
			 const struct report_request *q)
{
	struct wanted wanted = { q, trace };
	const struct phases_request request = { wants, &wanted, NULL };
	struct phases p;
	int status = phases_read(&p, trace, dir, &request);

	if (!status && o->json)
		phases_print_json(&p, q->limit);
	else if (!status && o->csv)
		phases_print_csv(&p, q->limit);
	else if (!status)
		phases_print_text(&p, trace, q->limit);
	if (!status) {
		pick_forgive_closed_pipe();
		status = p.damaged ? EXIT_DAMAGED : 0;
	}
	phases_free(&p, trace);
	return status;
}

static void print(const struct report *r, const struct report_options *o)
{
	if (o->csv || o->json)
		holds_warn_no_calls(r->trace, r->dir);
	if (o->json) {
		report_print_json(r, stdout);
		return;
	}
	if (!o->csv) {
		setlocale(LC_CTYPE, "");
		report_print_text(r, stdout, units_terminal_width(),
				  strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
		return;
	}
	/* The table has no place for them. */
	for (size_t i = 0; i < r->nproblems; i++)
		msg_warn("%s: %s", r->dir, r->problems[i].text);
	report_print_csv(r, stdout);
}

static int report_trace(const char *dir, const struct report_options *o,
			const struct report_request *q)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;
	struct report r;

	if (!q->shared && ranks_me() != 0)
		return 0;
	if (sonde_trace_open(dir, &trace, &why) != SONDE_TRACE_OK) {
		pick_no_trace(dir, why.text);
		return EXIT_USAGE;
	}
	int status = processes_choose(&trace, &o->processes);
	if (status)
		return status;
	if (o->omp || o->mpi || (o->phases.n && !q->phase)) {
		status = o->omp ? report_omp(trace, dir, o, q) :
			 o->mpi ? report_mpi(trace, dir, o, q) :
				  report_phases(trace, dir, o, q);
		sonde_trace_close(trace);
		return status;
	}
	if (o->html) {
		const struct html_request request = { .output = o->html, .thread = o->thread, .report = q };

		status = html_report(trace, dir, &request);
		pick_forgive_closed_pipe();
		sonde_trace_close(trace);
		return status;
	}
	status = report_make(&r, trace, dir, q);
	if (!status) {
		print(&r, o);
		pick_forgive_closed_pipe();
		status = report_is_damaged(&r) ? EXIT_DAMAGED : 0;
	}
	report_free(&r);
	sonde_trace_close(trace);
	return status;
}

int verb_report(int argc, char **argv)
{
	struct report_options o = { .rank = REPORT_ANY_RANK, .limit = NO_LIMIT };
	struct report_request q;
	int first = opt_parse(&report_command, argc, argv, &o);
	int status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&report_command, "more than one trace");
	else
		status = make_request(&o, &q);
	if (first >= 0 && !status)
		status = report_trace(first < argc ? argv[first] : DEFAULT_TRACE, &o, &q);
	opt_list_free(&o.processes);
	opt_list_free(&o.phases);
	select_options_free(&o.select);
	return status;
}
