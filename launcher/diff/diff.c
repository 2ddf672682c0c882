// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/diff/diff.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/pick.h"
#include "launcher/verbs.h"

#define DEFAULT_LIMIT 30 /* rows of a table for people */
#define NO_LIMIT (UINT64_MAX - 1)
#define EXIT_GROWN 1
#define MOST_TRACES 1000

struct diff_options {
	const char *metric, *fail_above, *min_share;
	uint64_t limit;
	bool all, csv, json, mangled;
};

#define METRICS "self\0total\0calls\0wait\0misses\0accesses\0" /* as enum diff_metric */

static const struct opt diff_opts[] = {
	{ 'm', "metric", "METRIC", "only by this: self, total or calls of functions; total, wait or calls of OpenMP's regions, loops and tasks; misses or accesses of loops", OPT_CHOICE,
	  offsetof(struct diff_options, metric), METRICS },
	{ 0, "fail-above", "PERCENT", "exit status 1 if something has grown by more than this, and by more than noise", OPT_STRING,
	  offsetof(struct diff_options, fail_above), NULL },
	{ 0, "min-share", "PERCENT", "for --fail-above: but not what is less than this of the whole (default: 1%)", OPT_STRING,
	  offsetof(struct diff_options, min_share), NULL },
	{ 'n', "limit", "N", "only the first N rows; 30 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct diff_options, limit), NULL },
	{ 'a', "all", NULL, "all rows", OPT_FLAG, offsetof(struct diff_options, all), NULL },
	{ 0, "csv", NULL, "comma-separated values, in nanoseconds", OPT_FLAG, offsetof(struct diff_options, csv), NULL },
	{ 0, "json", NULL, "a JSON object for each row and metric, with the values of each trace", OPT_FLAG,
	  offsetof(struct diff_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG, offsetof(struct diff_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command diff_command = {
	.name = "diff",
	.usage = "[OPTION]... A B | [OPTION]... A... -- B...",
	.summary = "Shows what has changed from a trace A to a trace B: functions, OpenMP's regions, loops.",
	.opts = diff_opts,
	.details = "Several traces on a side are repetitions of the same run: their means are compared, and what\n"
		   "they differ among each other is noise. The exit status is 1 if --fail-above was exceeded, 2 if\n"
		   "a trace cannot be read, or some of it is damaged.\n",
	.examples = "sonde diff before after\twhich functions take longer\n"
		    "sonde diff -m calls before after\twhich are called more often\n"
		    "sonde diff a1 a2 a3 -- b1 b2 b3\twith repeated runs, whose noise is known then\n"
		    "sonde diff --fail-above=5% a1 a2 a3 -- b1 b2 b3\tfor continuous integration\n",
};

/* "5%", "5", "0.5%": 0.05 ... False after a message. */
static bool parse_percent(const char *name, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	end += *end == '%';
	if (isdigit((unsigned char)*text) && !*end && isfinite(*value)) {
		*value /= 100;
		return true;
	}
	opt_usage_error(&diff_command, "%s %s: not a percentage, as 5%% or 0.5%%", name, text);
	return false;
}

/* ---- for continuous integration ---- */

static void say_grown(const struct diff_row *row, enum diff_metric metric, const struct diff_change *c, size_t more)
{
	static const char *const words[DIFF_METRICS] = { "self time", "time", "calls", "waiting", "misses", "accesses" };
	char others[64] = "";

	if (more)
		snprintf(others, sizeof(others), "; %zu other%s grown, too", more, more == 1 ? " has" : "s have");
	msg_error("%s: %.1f %% more %s than in A%s", row->name, 100 * c->relative, words[metric], others);
}

/* By the metric asked for, or the first of each kind.  The one that has grown most is named. */
static int judge(const struct diff *d, enum diff_metric asked, double above, double share)
{
	const struct diff_row *worst = NULL;
	struct diff_change most = { 0 };
	enum diff_metric worst_by = asked;
	size_t n = 0, unused;

	for (size_t i = 0; i < d->n; i++) {
		const struct diff_row *row = d->rows[i];
		enum diff_metric metric = asked == DIFF_METRICS ? diff_metrics(row->kind, &unused)[0] : asked;
		struct diff_change c = diff_change(d, row, metric);

		if (!diff_has_metric(row->kind, metric) || !diff_has_grown(d, row, metric, above, share))
			continue;
		n++;
		if (worst && c.relative <= most.relative)
			continue;
		worst = row;
		worst_by = metric;
		most = c;
	}
	if (!worst)
		return 0;
	say_grown(worst, worst_by, &most, n - 1);
	return EXIT_GROWN;
}

/* ---- the verb ---- */

static enum diff_metric metric_of(const char *word)
{
	unsigned int i = 0;

	if (!word)
		return DIFF_METRICS;
	for (const char *w = METRICS; strcmp(w, word) != 0; w += strlen(w) + 1)
		i++;
	return (enum diff_metric)i;
}

/* What was recorded of one side alone is neither new nor gone. */
static void leave_out(struct diff *d)
{
	static const char *const what[DIFF_KINDS] = { [DIFF_FUNCTION] = "calls", [DIFF_LOOP] = "memory accesses" };
	bool any = false;

	for (unsigned int kind = 0; kind < DIFF_KINDS; kind++)
		any |= d->has[kind] && !d->lacks[kind];
	for (unsigned int kind = 0; kind < DIFF_KINDS; kind++) {
		if (!d->has[kind] || !d->lacks[kind])
			continue;
		if (any)
			msg_warn("%s has no %s: they are not compared", d->lacks[kind], what[kind]);
		diff_leave_out(d, kind);
	}
}

/* Nothing to show is no result. */
static int check_metric(const struct diff *d, const struct diff_options *o, enum diff_metric metric)
{
	bool any = false;

	for (unsigned int kind = 0; kind < DIFF_KINDS; kind++)
		any |= d->has[kind] && (metric == DIFF_METRICS || diff_has_metric(kind, metric));
	if (any)
		return 0;
	if (metric == DIFF_METRICS)
		msg_error("there is nothing to compare: neither calls nor memory accesses are in all of the traces");
	else
		msg_error("what --metric %s is of is not in all of the traces", o->metric);
	return EXIT_USAGE;
}

static void print(struct diff *d, const struct diff_options *o, enum diff_metric metric)
{
	uint64_t limit = o->limit != NO_LIMIT ? o->limit : o->csv || o->json ? UINT64_MAX : DEFAULT_LIMIT;

	if (o->all)
		limit = UINT64_MAX;
	if (o->csv)
		diff_print_csv(d, metric, limit);
	else if (o->json)
		diff_print_json(d, metric, limit);
	else
		diff_print_text(d, metric, limit);
	pick_forgive_closed_pipe();
}

static int compare(struct diff *d, const struct diff_options *o)
{
	enum diff_metric metric = metric_of(o->metric);
	double above = 0, share = 0.01;
	int status = 0;

	if ((o->fail_above && !parse_percent("--fail-above", o->fail_above, &above)) ||
	    (o->min_share && !parse_percent("--min-share", o->min_share, &share)))
		return EXIT_USAGE;
	for (size_t i = 0; i < d->na + d->nb && !status; i++)
		status = diff_look(d, i);
	for (size_t i = 0; i < d->na + d->nb && !status; i++)
		status = diff_read(d, i);
	if (!status)
		leave_out(d);
	if (!status)
		status = check_metric(d, o, metric);
	if (status)
		return status;
	print(d, o, metric);
	if (o->fail_above)
		status = judge(d, metric, above, share);
	return d->damaged ? EXIT_USAGE : status;
}

/* Operands after "--", which opt_parse() has taken away; SIZE_MAX: there is none. */
static size_t count_after(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return (size_t)(argc - i - 1);
	return SIZE_MAX;
}

int verb_diff(int argc, char **argv)
{
	struct diff_options o = { .limit = NO_LIMIT };
	size_t after = count_after(argc, argv), n;
	int first = opt_parse(&diff_command, argc, argv, &o), status;
	struct diff d = { 0 };

	if (first < 0)
		return OPT_STATUS(first);
	n = (size_t)(argc - first);
	d.dirs = (const char *const *)argv + first;
	d.mangled = o.mangled;
	d.nb = after == SIZE_MAX ? 1 : after;
	d.na = n > d.nb ? n - d.nb : 0;
	if (o.csv && o.json)
		return opt_usage_error(&diff_command, "--csv and --json exclude each other");
	if (o.min_share && !o.fail_above)
		return opt_usage_error(&diff_command, "--min-share goes with --fail-above");
	if (after == SIZE_MAX && n != 2)
		return opt_usage_error(&diff_command, n < 2 ? "two traces are needed" : "more than two traces: A... -- B...");
	if (!d.na || !d.nb)
		return opt_usage_error(&diff_command, "there are traces on one side of -- only");
	if (n > MOST_TRACES)
		return opt_usage_error(&diff_command, "more than %d traces", MOST_TRACES);
	status = compare(&d, &o);
	diff_free(&d);
	return status;
}
