/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde dump`: which events, in which order; a line for each. */
#include "launcher/dump.h"
#include "launcher/message.h"
#include "launcher/options.h"
#include "launcher/verbs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY_RANK UINT64_MAX

struct dump_options {
	bool json, flat, mangled, by_thread;
	struct opt_list threads, functions;
	uint64_t rank;
};

static const struct opt dump_opts[] = {
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct dump_options, threads), NULL },
	{ 0, "rank", "N", "only the threads of MPI rank N", OPT_COUNT,
	  offsetof(struct dump_options, rank), NULL },
	{ 'f', "function", "PATTERN", "only functions that match; may be repeated", OPT_LIST,
	  offsetof(struct dump_options, functions), NULL },
	{ 0, "by-thread", NULL, "one thread after the other, instead of all by time", OPT_FLAG,
	  offsetof(struct dump_options, by_thread), NULL },
	{ 0, "flat", NULL, "no indentation", OPT_FLAG, offsetof(struct dump_options, flat), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct dump_options, mangled), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct dump_options, json),
	  NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command dump_command = {
	.name = "dump",
	.usage = "[OPTION]... [DIR]",
	.summary = "Prints the events of a trace (sonde.data), by time.",
	.opts = dump_opts,
	.details = "Columns: seconds since the start, thread (rank:pid.tid), what happened, function,\n"
		   "fields. \"unwound\" is a function that was left by longjmp() or an exception; its time\n"
		   "is when that was first seen. PATTERNs are shell patterns.\n",
	.examples = "sonde dump | less\teverything\n"
		    "sonde dump -f 'MPI_*' --rank 3\twhat one rank did with MPI\n"
		    "sonde dump --json | jq -c 'select(.type == \"enter\")'\tfor other programs\n",
};

struct dump {
	const struct dump_options *o;
	const struct sonde_trace *trace;
	struct dump_style style;
	bool *function; /* by index: wanted; NULL: all are */
	struct tf_buf line;
	uint64_t damage;
};

/* --- which ------------------------------------------------------------------------------- */

static bool thread_named(const struct sonde_trace_thread *thread, const char *name)
{
	char full[32], tid[16];

	snprintf(full, sizeof full, "%d.%d", thread->pid, thread->tid);
	snprintf(tid, sizeof tid, "%d", thread->tid);
	return !strcmp(name, full) || !strcmp(name, tid);
}

static bool thread_wanted(const struct sonde_trace_thread *thread, void *arg)
{
	const struct dump *d = arg;
	const struct opt_list *names = &d->o->threads;
	int rank = sonde_trace_rank(d->trace, thread->rank_index)->rank;

	if (d->o->rank != ANY_RANK && (rank < 0 || (uint64_t)rank != d->o->rank))
		return false;
	for (size_t i = 0; i < names->n; i++)
		if (thread_named(thread, names->v[i]))
			return true;
	return !names->n;
}

static bool function_matches(const struct sonde_trace_function *f, const struct opt_list *patterns)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (!fnmatch(patterns->v[i], f->name, 0) ||
		    !fnmatch(patterns->v[i], f->demangled, 0))
			return true;
	return false;
}

/* Returns 0, or EXIT_USAGE after a message when no function matches. */
static int choose_functions(struct dump *d)
{
	size_t n = sonde_trace_functions(d->trace), found = 0;

	if (!d->o->functions.n)
		return 0;
	d->function = calloc(n + 1, sizeof *d->function);
	if (!d->function) {
		msg_error("no memory");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < n; i++) {
		d->function[i] = function_matches(sonde_trace_function(d->trace, i),
						  &d->o->functions);
		found += d->function[i];
	}
	if (!found)
		msg_error("no function in this trace matches '%s'", d->o->functions.v[0]);
	return found ? 0 : EXIT_USAGE;
}

/* Returns 0, or EXIT_USAGE after a message when there is no such thread or rank. */
static int check_threads(struct dump *d)
{
	size_t n = sonde_trace_threads(d->trace);

	for (size_t i = 0; i < n; i++)
		if (thread_wanted(sonde_trace_thread(d->trace, i), d))
			return 0;
	if (d->o->threads.n)
		msg_error("no thread '%s' in this trace%s", d->o->threads.v[0],
			  d->o->rank == ANY_RANK ? "" : ", in this rank");
	else if (d->o->rank != ANY_RANK)
		msg_error("no thread of rank %llu in this trace", (unsigned long long)d->o->rank);
	else
		return 0;
	return EXIT_USAGE;
}

static bool event_wanted(const struct dump *d, const struct sonde_trace_event *event)
{
	if (!d->function || event->kind == SONDE_TRACE_LOST)
		return true;
	return event->function && d->function[event->function->index];
}

/* --- output ------------------------------------------------------------------------------ */

static bool print(struct dump *d, const struct sonde_trace_event *event)
{
	tf_buf_clear(&d->line);
	if (d->o->json)
		dump_json(&d->line, &d->style, d->trace, event);
	else
		dump_text(&d->line, &d->style, d->trace, event);
	if (d->line.failed) {
		msg_error("no memory");
		return false;
	}
	return fwrite(d->line.data, 1, d->line.size, stdout) == d->line.size;
}

static int print_all(struct dump *d, struct sonde_trace_iter *iter)
{
	const struct sonde_trace_event *event;
	enum sonde_trace_status status;

	while (!(status = sonde_trace_next(iter, &event)))
		if (event_wanted(d, event) && !print(d, event))
			return EXIT_USAGE; /* main() says that stdout failed */
	if (status != SONDE_TRACE_END) {
		msg_error("cannot read the trace: %s", status == SONDE_TRACE_E_SYSTEM ?
						      strerror(errno) :
						      sonde_trace_strstatus(status));
		return EXIT_USAGE;
	}
	return 0;
}

/* Prints what the iterator gives and frees it. */
static int finish(struct dump *d, enum sonde_trace_status status, struct sonde_trace_iter *iter)
{
	const char *text;
	int result = EXIT_USAGE;

	if (status)
		msg_error("cannot read the trace: %s", sonde_trace_strstatus(status));
	else
		result = print_all(d, iter);
	if (iter && sonde_trace_damage(iter, &text)) {
		fflush(stdout);
		if (!d->damage)
			msg_error("damaged: %s", text);
		d->damage += sonde_trace_damage(iter, NULL);
		result = EXIT_USAGE;
	}
	sonde_trace_iter_free(iter);
	return result;
}

static int dump_threads(struct dump *d)
{
	int result = 0;

	for (size_t i = 0; i < sonde_trace_threads(d->trace) && !ferror(stdout); i++) {
		struct sonde_trace_iter *iter = NULL;
		enum sonde_trace_status status;
		int one;

		if (!thread_wanted(sonde_trace_thread(d->trace, i), d))
			continue;
		status = sonde_trace_iterate(d->trace, i, &iter);
		one = finish(d, status, iter);
		result = one ? one : result;
	}
	return result;
}

static int dump_merged(struct dump *d)
{
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status = sonde_trace_merge(d->trace, thread_wanted, d, &iter);

	return finish(d, status, iter);
}

static int dump(struct dump *d)
{
	const struct sonde_trace *trace = d->trace;
	const char *text;
	int result = choose_functions(d);

	if (!result)
		result = check_threads(d);
	if (result)
		return result;
	if (sonde_trace_bad_ranks(trace, &text))
		msg_warn("%zu rank%s left out: %s", sonde_trace_bad_ranks(trace, NULL),
			 sonde_trace_bad_ranks(trace, NULL) > 1 ? "s" : "", text);
	d->style = (struct dump_style){ .flat = d->o->flat, .mangled = d->o->mangled };
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		d->style.ranks |= sonde_trace_rank(trace, i)->rank >= 0;
	return d->o->by_thread ? dump_threads(d) : dump_merged(d);
}

static int open_and_dump(const struct dump_options *o, const char *dir)
{
	struct dump d = { .o = o };
	struct sonde_trace_message why;
	struct sonde_trace *trace;
	int result;

	if (sonde_trace_open(dir, &trace, &why)) {
		msg_error("%s", why.text);
		return EXIT_USAGE;
	}
	d.trace = trace;
	result = dump(&d);
	free(d.function);
	tf_buf_free(&d.line);
	sonde_trace_close(trace);
	return result;
}

int verb_dump(int argc, char **argv)
{
	struct dump_options o = { .rank = ANY_RANK };
	int first = opt_parse(&dump_command, argc, argv, &o), result;

	if (first < 0)
		result = OPT_STATUS(first);
	else if (argc - first > 1)
		result = opt_usage_error(&dump_command, "more than one directory");
	else
		result = open_and_dump(&o, first < argc ? argv[first] : "sonde.data");
	opt_list_free(&o.threads);
	opt_list_free(&o.functions);
	return result;
}
