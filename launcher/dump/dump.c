/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde dump`: which events, in which order; a line for each. */
#include "launcher/dump/dump.h"
#include "launcher/dump/dump-memory.h"
#include "launcher/trace/holds.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/trace/pick.h"
#include "launcher/trace/sampled.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump_options {
	bool json, flat, mangled, by_thread, memory, blocks, lines;
	const char *format, *output;
	struct select_options select;
	struct pick pick;
};

static const struct opt dump_opts[] = {
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct dump_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only the threads of MPI rank N", OPT_COUNT,
	  offsetof(struct dump_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct dump_options, pick.processes)),
	OPT_TRACED_FUNCTIONS(struct dump_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct dump_options, select, "but not these"),
	{ 0, "from", "TIME", "only events from then on, since the start: 2s, 300ms, 1.5s", OPT_TIME,
	  offsetof(struct dump_options, pick.from), NULL },
	{ 0, "to", "TIME", "only events up to then", OPT_TIME,
	  offsetof(struct dump_options, pick.to), NULL },
	{ 0, "by-thread", NULL, "one thread after the other, instead of all by time", OPT_FLAG,
	  offsetof(struct dump_options, by_thread), NULL },
	{ 0, "flat", NULL, "no indentation", OPT_FLAG, offsetof(struct dump_options, flat), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct dump_options, mangled), NULL },
	{ 0, "mem", NULL, "memory accesses (record --mem) in place of events", OPT_FLAG,
	  offsetof(struct dump_options, memory), NULL },
	{ 0, "blocks", NULL, "the order of blocks (record --blocks=trace) in place of events", OPT_FLAG,
	  offsetof(struct dump_options, blocks), NULL },
	{ 0, "lines", NULL, "with --mem: also source lines", OPT_FLAG, offsetof(struct dump_options, lines),
	  NULL },
	{ 0, "format", "NAME", "with --mem: text (default), json, lackey, din, champsim, memtrace or drmemtrace", OPT_CHOICE,
	  offsetof(struct dump_options, format), DUMP_MEMORY_FORMATS },
	{ 'o', "output", "FILE", "with --mem, --blocks: into FILE; FOLDER/: a file for each thread", OPT_STRING,
	  offsetof(struct dump_options, output), NULL },
	{ 0, "json", NULL, "JSON, one object a line", OPT_FLAG, offsetof(struct dump_options, json),
	  NULL },
	PICK_TAIL_CALLS(offsetof(struct dump_options, pick.tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command dump_command = {
	.name = "dump",
	.usage = "[OPTION]... [DIR]",
	.summary = "Prints the events of a trace (sonde.data), by time.",
	.opts = dump_opts,
	.details = "Columns: seconds since the start, thread (rank:pid.tid), program if there are several, what\n"
		   "happened, function, fields. \"unwound\" is a function that was left by longjmp() or an exception; its time\n"
		   "is when that was first seen. For PATTERNs see sonde(1).\n"
		   "With --mem: thread, load, store, modify or prefetch, bytes, address, \"stack\" for push,\n"
		   "pop, call and ret, instruction (function and offset); one thread after the other.\n"
		   "With --blocks: thread, the block's id as in 'sonde blocks', function and offset, source line.\n",
	.examples = "sonde dump | less\teverything\n"
		    "sonde dump -F 'MPI_*' -r 3\twhat one rank did with MPI\n"
		    "sonde dump --from 1.2s --to 1.3s\ta tenth of a second\n"
		    "sonde dump --mem --lines -F 'mat*'\tmemory accesses of some functions\n"
		    "sonde dump --json | jq -c 'select(.type == \"enter\")'\tfor other programs\n",
};

struct dump {
	struct dump_options *o;
	const struct sonde_trace *trace;
	struct dump_style style;
	bool *function; /* by index: wanted; NULL: all are */
	struct tf_buf line;
	struct reading reading;
	uint64_t damage;
};

/* --- which ------------------------------------------------------------------------------- */

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
	enum sonde_trace_status status = SONDE_TRACE_OK;

	pick_tail_calls(iter, d->o->pick.tail_calls);
	if (d->o->pick.from)
		status = sonde_trace_seek(iter, d->o->pick.from);
	while (!status && !(status = sonde_trace_next(iter, &event))) {
		reading_event(&d->reading);
		if (event->time > d->o->pick.to)
			return 0;
		d->o->pick.met |= event->time >= d->o->pick.from;
		if (event->time >= d->o->pick.from && event_wanted(d, event) && !print(d, event))
			return EXIT_USAGE; /* main() says that stdout failed */
	}
	reading_end(&d->reading);
	return status == SONDE_TRACE_END ? 0 : pick_read_error(status);
}

/* Prints what the iterator gives and frees it. */
static int finish(void *arg, enum sonde_trace_status status, struct sonde_trace_iter *iter)
{
	struct dump *d = arg;
	int result = status ? pick_read_error(status) : print_all(d, iter);

	reading_end(&d->reading);
	if (pick_damage(iter, &d->damage))
		result = EXIT_USAGE;
	sonde_trace_iter_free(iter);
	return result;
}

static int dump(struct dump *d, const char *dir)
{
	const struct sonde_trace *trace = d->trace;
	int result = traced_functions(trace, dir, &d->o->select, &d->function);

	if (!result)
		result = pick_check(&d->o->pick);
	if (result)
		return result;
	holds_warn_no_calls(trace, dir);
	d->style = dump_style(trace);
	d->style.flat = d->o->flat;
	d->style.mangled = d->o->mangled;
	pick_reading(&d->o->pick, true, &d->reading);
	result = pick_read(&d->o->pick, d->o->by_thread, finish, d);
	pick_warn_none(&d->o->pick);
	return result;
}

static int open_and_dump(struct dump_options *o, const char *dir)
{
	struct dump d = { .o = o };
	struct sonde_trace *trace;
	int result = pick_open(dir, &trace);

	if (!result)
		result = processes_choose(&trace, &o->pick.processes);
	if (result)
		return result;
	d.trace = o->pick.trace = trace;
	sampled_tell(trace);
	result = dump(&d, dir);
	pick_forgive_closed_pipe();
	free(d.function);
	tf_buf_free(&d.line);
	sonde_trace_close(trace);
	return result;
}

/* Options that mean nothing to the other half are mistakes. */
static int check_options(const struct dump_options *o)
{
	const bool streams = o->memory || o->blocks;
	const char *of_memory = o->lines ? "lines" : o->format ? "format" : NULL;
	const char *of_events = o->pick.from ? "from" : o->pick.to != PICK_NO_END ? "to" : o->flat ? "flat" :
				o->by_thread ? "by-thread" : o->pick.tail_calls ? "tail-calls" : NULL;

	if (o->memory && o->blocks)
		return opt_usage_error(&dump_command, "--mem and --blocks exclude each other: one after the other");
	if (!o->memory && of_memory)
		return opt_usage_error(&dump_command, "--%s is for --mem", of_memory);
	if (!streams && o->output)
		return opt_usage_error(&dump_command, "--output is for --mem");
	if (streams && of_events)
		return opt_usage_error(&dump_command, "--%s is not for %s", of_events, o->memory ? "--mem" : "--blocks");
	if (o->memory && o->json && o->format && strcmp(o->format, "json") != 0)
		return opt_usage_error(&dump_command, "--json and --format=%s exclude each other", o->format);
	return 0;
}

static int dump_accesses(struct dump_options *o, const char *dir)
{
	const struct dump_memory_options m = {
		.format = o->json ? "json" : o->format,
		.output = o->output,
		.select = &o->select,
		.pick = &o->pick,
		.blocks = o->blocks,
		.lines = o->lines,
		.mangled = o->mangled,
	};

	return dump_memory(dir, &m);
}

int verb_dump(int argc, char **argv)
{
	struct dump_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END } };
	int first = opt_parse(&dump_command, argc, argv, &o), result;
	const char *dir = first >= 0 && first < argc ? argv[first] : DEFAULT_TRACE;

	if (first < 0)
		result = OPT_STATUS(first);
	else if (argc - first > 1)
		result = opt_usage_error(&dump_command, "more than one directory");
	else
		result = check_options(&o);
	if (first >= 0 && !result)
		result = o.memory || o.blocks ? dump_accesses(&o, dir) : open_and_dump(&o, dir);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return result;
}
