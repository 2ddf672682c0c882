/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde info`: what a trace holds, and whether it is intact. */
#include "launcher/inspect/info.h"
#include "launcher/trace/clocks.h"
#include "launcher/trace/holds.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/common/units.h"
#include "launcher/trace/pick.h"
#include "launcher/trace/processtree.h"
#include "launcher/trace/tracedir.h"
#include "launcher/select/processes.h"
#include "launcher/verbs.h"
#include "sonde/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct info_options {
	bool threads, check, verbose;
	struct opt_list processes;
};

static const struct opt info_opts[] = {
	{ 't', "threads", NULL, "also a line for each thread", OPT_FLAG,
	  offsetof(struct info_options, threads), NULL },
	{ 'c', "check", NULL, "read all events, to find all damage", OPT_FLAG,
	  offsetof(struct info_options, check), NULL },
	{ 'v', "verbose", NULL, "also which functions were left alone, or counted and when", OPT_FLAG,
	  offsetof(struct info_options, verbose), NULL },
	OPT_PROCESSES(offsetof(struct info_options, processes)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command info_command = {
	.name = "info",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows what a trace (sonde.data) holds, and whether it is intact.",
	.opts = info_opts,
	.details = "The exit status is 2 when the trace is damaged. A trace whose recorder was killed is\n"
		   "not damaged, only unfinished.\n",
	.examples = "sonde info\tthe trace in ./sonde.data\n"
		    "sonde info -v\talso the names of functions that could not be recorded\n"
		    "sonde info --check old.data\tis it all readable?\n",
};

/* Sums over the whole trace. */
struct totals {
	uint64_t events, bytes, lost, nested, guest_calls, discarded, lost_threads, damaged, backward, bad_lines;
	size_t open_ranks; /* whose recording has no end */
	size_t unfinished; /* thread files without an end */
	size_t damage;	   /* thread files that are damaged */
	bool goes_on;	   /* recording */
	const struct sonde_trace_thread *worst; /* one of them */
	struct process_tree tree;
};

static void print_command(const struct sonde_trace_rank *rank)
{
	printf("%-12s", "program");
	units_text(stdout, rank->program, 0, true);
	putchar('\n');
	if (!rank->nargs)
		return;
	printf("%-12s", "command");
	for (size_t i = 0; i < rank->nargs; i++) {
		bool quote = !*rank->args[i] || strpbrk(rank->args[i], " \t\n'\"\\$&|;<>()*?");

		fputs(i ? quote ? " \"" : " " : quote ? "\"" : "", stdout);
		units_text(stdout, rank->args[i], 0, true);
		fputs(quote ? "\"" : "", stdout);
	}
	putchar('\n');
}

static void print_start(const struct sonde_trace_rank *rank)
{
	time_t t = (time_t)(rank->start_real_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (localtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
		info_row("started", "%s on %s", text, *rank->host ? rank->host : "an unknown host");
}

static void ending_text(const struct sonde_trace_rank *rank, char *text, size_t room)
{
	switch (rank->ending) {
	case SONDE_TRACE_EXITED:
		snprintf(text, room, "exit status %d", rank->exit_status);
		break;
	case SONDE_TRACE_KILLED:
		snprintf(text, room, "killed by signal %d (%s)", rank->signal,
			 strsignal(rank->signal));
		break;
	case SONDE_TRACE_DETACHED:
		snprintf(text, room, "went on without Sonde");
		break;
	case SONDE_TRACE_EXECUTED:
		snprintf(text, room, "executed another program");
		break;
	case SONDE_TRACE_ENDED:
		snprintf(text, room, "with a status that is not known");
		break;
	case SONDE_TRACE_UNFINISHED:
		snprintf(text, room, "not recorded: Sonde was stopped before the program ended");
		break;
	}
}

/* Of the programs that are not the first of their rank the tree says how they ended. */
static const struct sonde_trace_rank *next_first(const struct sonde_trace *trace, size_t *at)
{
	const struct sonde_trace_rank *rank;

	while ((rank = sonde_trace_rank(trace, (*at)++)))
		if (!rank->number && !rank->left_out)
			return rank;
	return NULL;
}

static bool several_firsts(const struct sonde_trace *trace)
{
	size_t at = 0;

	return next_first(trace, &at) && next_first(trace, &at);
}

/* Ranks that ended in the same way are one line. */
static void print_endings(const struct sonde_trace *trace)
{
	const struct sonde_trace_rank *rank, *last, *next;
	bool several = several_firsts(trace);
	char text[128], other[128];
	size_t at = 0;

	for (rank = next_first(trace, &at); rank; rank = next) {
		ending_text(rank, text, sizeof text);
		for (last = rank; (next = next_first(trace, &at)); last = next) {
			ending_text(next, other, sizeof other);
			if (strcmp(text, other))
				break;
		}
		if (!several)
			info_row("ended", "%s", text);
		else if (rank == last)
			info_row("ended", "rank %d: %s", rank->rank, text);
		else
			info_row("ended", "ranks %d to %d: %s", rank->rank, last->rank, text);
	}
}

static bool is_damaged(const struct sonde_trace_thread *thread)
{
	return thread->status != SONDE_TRACE_OK && thread->status != SONDE_TRACE_E_TRUNCATED;
}

static void add_threads(const struct sonde_trace *trace, struct totals *t)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(trace, i);

		t->events += thread->events;
		t->bytes += thread->file_bytes;
		t->nested += thread->nested;
		t->damaged += thread->damaged;
		t->backward += thread->backward;
		t->unfinished += thread->status == SONDE_TRACE_E_TRUNCATED;
		t->damage += is_damaged(thread);
		if (is_damaged(thread))
			t->worst = thread;
	}
}

static void add_ranks(const struct sonde_trace *trace, struct totals *t)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(trace, i);

		t->open_ranks += rank->ending == SONDE_TRACE_UNFINISHED;
		t->lost += rank->lost;
		t->discarded += rank->discarded;
		t->lost_threads += rank->lost_threads;
		t->guest_calls += rank->guest_calls;
		t->bad_lines += rank->bad_lines;
	}
}

/* A flight recorder, or a limited size: for each program. */
static void print_newest(const struct sonde_trace *trace)
{
	const struct sonde_trace_rank *first = sonde_trace_rank(trace, 0);
	uint64_t older = 0;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		older += sonde_trace_rank(trace, i)->older;
	if (first->flight || first->max_size)
		info_row(first->flight ? "flight" : "max-size",
			 "the newest events of each thread, in %" PRIu64 " bytes; %" PRIu64 " older ones were not kept",
			 first->flight ? first->flight : first->max_size, older);
}

static void print_span(const struct sonde_trace *trace, bool verbose)
{
	char clocks[CLOCKS_MAX];
	uint64_t end = 0;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		if (sonde_trace_rank(trace, i)->end > end)
			end = sonde_trace_rank(trace, i)->end;
	info_row("duration", "%.6f s", (double)end / 1e9);
	if (sonde_trace_rank(trace, 0)->offs)
		info_row("switched", "off %zu time%s, %.6f s in all", sonde_trace_rank(trace, 0)->offs,
			 sonde_trace_rank(trace, 0)->offs == 1 ? "" : "s", (double)sonde_trace_rank(trace, 0)->off / 1e9);
	print_newest(trace);
	info_budget_print(trace, verbose);
	info_row("clock", "TSC, %.3f MHz", sonde_trace_rank(trace, 0)->tsc_hz / 1e6);
	if (clocks_text(trace, clocks))
		info_row("clocks", "%s", clocks);
}

static uint64_t count_calls(const struct sonde_trace *trace)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		for (size_t k = 0; k < t->ncalls; k++)
			calls += t->calls[k].calls;
	}
	return calls;
}

/* Runs of the same rank included. */
static size_t count_ranks(const struct sonde_trace *trace)
{
	const struct sonde_trace_rank *rank, *last = NULL;
	size_t n = 0;

	for (size_t i = 0; (rank = sonde_trace_rank(trace, i)); last = rank, i++)
		n += rank->rank >= 0 && (!last || last->rank != rank->rank || last->run != rank->run);
	return n;
}

static void print_counts(const struct sonde_trace *trace, const struct totals *t)
{
	if (count_ranks(trace))
		info_row("ranks", "%zu", count_ranks(trace));
	if (t->tree.n && process_tree_is_worth(trace))
		info_row("programs", "%zu", t->tree.programs);
	if (t->tree.processes)
		info_row("processes", "%zu", t->tree.processes);
	info_row("threads", "%zu", sonde_trace_threads(trace));
	info_row("functions", "%zu", sonde_trace_functions(trace));
	info_row("events", "%" PRIu64, t->events);
	if (count_calls(trace))
		info_row("calls", "%" PRIu64 " counted", count_calls(trace));
	info_size("size", t->bytes);
	if (t->events)
		info_row("per pair", "%.2f bytes for two events (enter and leave)",
		    2 * (double)t->bytes / (double)t->events);
}

static void print_modules(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_modules(trace); i++) {
		const struct sonde_trace_module *m = sonde_trace_module(trace, i);

		printf("%-12s", i ? "" : "modules");
		units_text(stdout, m->name, 0, true);
		if (*m->description) {
			fputs(": ", stdout);
			units_text(stdout, m->description, 0, true);
		}
		putchar('\n');
	}
}

static void print_texts(const struct sonde_trace *trace)
{
	struct holds_texts t;

	holds_texts(trace, &t);
	for (size_t i = 0; i < t.n; i++) {
		printf("%-12s", i ? "" : "found");
		units_text(stdout, t.v[i].path, 0, true);
		fputs(", by module ", stdout);
		units_text(stdout, t.v[i].module, 0, true);
		putchar('\n');
	}
	holds_texts_free(&t);
}

/* What a recorder has not written is counted nowhere. */
static void print_unwritten(const struct sonde_trace *trace, const struct totals *t)
{
	if (!t->open_ranks || t->goes_on)
		return;
	if (sonde_trace_ranks(trace) == 1)
		info_row("lost", "not known: recording was not finished");
	else
		info_row("lost", "not known: recording of %zu of %zu %s was not finished", t->open_ranks,
			 sonde_trace_ranks(trace), t->tree.programs > count_ranks(trace) ? "programs" : "ranks");
	info_row("", "all that the program did after the recorder was killed; before that the events of");
	info_row("", "half a second at most, and memory accesses in buffers that were not full");
}

static void print_losses(const struct sonde_trace *trace, const struct totals *t, uint64_t memory)
{
	print_unwritten(trace, t);
	if (t->lost)
		info_row(t->open_ranks ? "" : "lost", "%" PRIu64 " events%s", t->lost,
			 t->open_ranks ? " that were counted" : "");
	else if (!memory && t->goes_on)
		info_row("lost", "nothing so far");
	else if (!memory && !t->open_ranks && !t->lost_threads)
		info_row("lost", "nothing");
	if (t->discarded)
		info_row("", "%" PRIu64 " of them could not be written to the disk", t->discarded);
	if (t->damaged)
		info_row("", "%" PRIu64 " of them were damaged in memory by the program", t->damaged);
	if (t->lost_threads)
		info_row(t->lost || t->goes_on || t->open_ranks ? "" : "lost",
			 "all of %" PRIu64 " thread%s, for which there was no buffer", t->lost_threads,
			 t->lost_threads == 1 ? "" : "s");
	if (memory)
		info_row("lost", "%" PRIu64 " part%s of memory streams", memory, memory == 1 ? "" : "s");
	if (t->nested)
		info_row("left out", "%" PRIu64 " calls by the modules' own code", t->nested);
	if (t->guest_calls)
		info_row(t->nested ? "" : "left out",
			 "%" PRIu64 " call%s without wrapper, whose C library could not be entered", t->guest_calls,
			 t->guest_calls == 1 ? "" : "s");
	if (t->backward)
		info_row("clock", "%" PRIu64 " events were moved: their clock was behind", t->backward);
}

static void print_threads(const struct sonde_trace *trace)
{
	printf("\n%6s %15s %-16s %12s %12s %8s  %s\n", "rank", "thread", "name", "events", "bytes",
	       "lost", "file");
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);
		int rank = sonde_trace_rank(trace, t->rank_index)->rank;
		char id[32], number[16] = "-";

		snprintf(id, sizeof id, "%d.%d", t->pid, t->tid);
		if (rank >= 0)
			snprintf(number, sizeof number, "%d", rank);
		printf("%6s %15s %-16.16s %12" PRIu64 " %12" PRIu64 " %8" PRIu64 "  %s\n", number,
		       id, t->comm, t->events, t->file_bytes, t->lost,
		       t->status ? sonde_trace_strstatus(t->status) : "complete");
	}
}

/* Reads every event of every thread.  Returns the number of places that cannot be read. */
static uint64_t check(const struct sonde_trace *trace, char *finding, size_t room)
{
	uint64_t damage = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		struct sonde_trace_iter *iter;
		const struct sonde_trace_event *event;
		enum sonde_trace_status status = sonde_trace_iterate(trace, i, &iter);
		const char *text;
		uint64_t found;

		while (!status)
			status = sonde_trace_next(iter, &event);
		found = iter ? sonde_trace_damage(iter, &text) : 0;
		if (found)
			snprintf(finding, room, "%s", text);
		if (status != SONDE_TRACE_END) {
			found++;
			snprintf(finding, room, "%s: %s", sonde_trace_thread(trace, i)->file,
				 sonde_trace_strstatus(status));
		}
		damage += found;
		sonde_trace_iter_free(iter);
	}
	return damage;
}

/* Returns the exit status. */
static int print_state(const struct sonde_trace *trace, const struct totals *t, uint64_t memory,
		       bool check_all)
{
	char finding[512] = "";
	const char *text;
	uint64_t places = check_all ? check(trace, finding, sizeof finding) : 0;

	if (t->unfinished && !t->goes_on)
		info_row("unfinished", "%zu thread file%s no end: the recorder was killed, or the disk was full",
			 t->unfinished, t->unfinished == 1 ? " has" : "s have");
	if (t->bad_lines)
		info_row("damage", "%" PRIu64 " line%s of the metadata", t->bad_lines, t->bad_lines == 1 ? "" : "s");
	if (sonde_trace_bad_ranks(trace, &text))
		info_row("damage", "%zu ranks are left out: %s", sonde_trace_bad_ranks(trace, NULL),
		    text);
	if (t->damage)
		info_row("damage", "%zu thread file%s, such as %s: %s", t->damage, t->damage == 1 ? "" : "s", t->worst->file,
		    sonde_trace_strstatus(t->worst->status));
	if (places)
		info_row("damage", "%" PRIu64 " places cannot be read, such as %s", places, finding);
	if (memory)
		info_row("damage", "%" PRIu64 " part%s of memory streams", memory, memory == 1 ? "" : "s");
	if (t->bad_lines || sonde_trace_bad_ranks(trace, NULL) || t->damage || places || memory)
		return EXIT_USAGE;
	info_row("state", "%s", t->goes_on ? "being recorded" : t->unfinished || t->open_ranks ? "unfinished" :
			   check_all	 ? "intact, all events read" :
					   "intact");
	return 0;
}

static int info(struct sonde_trace *trace, const struct info_options *o, const char *dir)
{
	struct totals t = { .goes_on = tracedir_is_recorded(dir) };
	struct info_memory *memory = info_memory_read(trace, &o->processes);
	int status;

	add_threads(trace, &t);
	add_ranks(trace, &t);
	if (!process_tree_make(trace, PROCESS_ANY_RANK, &t.tree))
		msg_error("no memory");
	print_command(sonde_trace_rank(trace, 0));
	print_start(sonde_trace_rank(trace, 0));
	print_span(trace, o->verbose);
	print_endings(trace);
	info_row("recorder", "Sonde %s", sonde_trace_rank(trace, 0)->version);
	print_modules(trace);
	info_recorded_print(trace, o->verbose);
	info_objects_print(trace);
	print_texts(trace);
	print_counts(trace, &t);
	print_losses(trace, &t, info_memory_lost(memory));
	info_memory_print(memory, trace);
	status = print_state(trace, &t, info_memory_damage(memory), o->check);
	if (process_tree_is_worth(trace)) {
		putchar('\n');
		process_tree_print(&t.tree, stdout, UINT64_MAX, units_terminal_width(), false);
	}
	process_tree_free(&t.tree);
	if (o->threads) {
		print_threads(trace);
		info_memory_print_threads(memory);
	}
	info_memory_free(memory);
	return status;
}

static int open_and_print(const struct info_options *o, const char *dir)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;
	int status;

	if (sonde_trace_open(dir, &trace, &why)) {
		pick_no_trace(dir, why.text);
		return EXIT_USAGE;
	}
	status = processes_choose(&trace, &o->processes);
	if (status)
		return status;
	status = info(trace, o, dir);
	sonde_trace_close(trace);
	return status;
}

int verb_info(int argc, char **argv)
{
	struct info_options o = { 0 };
	int first = opt_parse(&info_command, argc, argv, &o), status;

	if (first < 0)
		status = OPT_STATUS(first);
	else if (argc - first > 1)
		status = opt_usage_error(&info_command, "more than one directory");
	else
		status = open_and_print(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.processes);
	return status;
}
