/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/replay/replay.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/holds.h"
#include "launcher/trace/pick.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/sampled.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <stdlib.h>

#define FULL (32u << 10) /* bytes of output that are held back at most */

struct replay_options {
	struct pick pick;
	struct select_options select;
	uint64_t min_time, depth;
	bool no_merge, mangled;
};

static const struct opt replay_opts[] = {
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct replay_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only the threads of MPI rank N", OPT_COUNT,
	  offsetof(struct replay_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct replay_options, pick.processes)),
	OPT_TRACED_FUNCTIONS(struct replay_options, select, "only these functions and what they call"),
	OPT_TRACED_NO_FUNCTIONS(struct replay_options, select, "neither these functions nor what they call"),
	{ 'd', "depth", "N", "only N levels of calls", OPT_COUNT,
	  offsetof(struct replay_options, depth), NULL },
	{ 0, "time", "DURATION", "only calls that take as long: 500ns, 10us, 1ms", OPT_TIME,
	  offsetof(struct replay_options, min_time), NULL },
	{ 0, "from", "TIME", "from then on, since the start: 2s, 300ms, 1.5s", OPT_TIME,
	  offsetof(struct replay_options, pick.from), NULL },
	{ 0, "to", "TIME", "up to then", OPT_TIME, offsetof(struct replay_options, pick.to), NULL },
	{ 0, "no-merge", NULL, "one thread after the other, instead of all by time", OPT_FLAG,
	  offsetof(struct replay_options, no_merge), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct replay_options, mangled), NULL },
	PICK_TAIL_CALLS(offsetof(struct replay_options, pick.tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command replay_command = {
	.name = "replay",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows the calls of a trace as they happened, with durations.",
	.opts = replay_opts,
	.details = "DIR is a trace, " DEFAULT_TRACE " if not given. \"unwound\" is a function that was left by\n"
		   "longjmp() or an exception. A call's line comes when its thread's next event does, so\n"
		   "lines of different threads may change places.\n",
	.examples = "sonde replay | less\teverything\n"
		    "sonde replay -F parse -d 3\tcalls of parse(), three levels deep\n"
		    "sonde replay --time 1ms --no-merge\twhat took long, thread by thread\n",
};

struct replay {
	struct replay_options *o;
	const struct sonde_trace *trace;
	struct replay_style style;
	struct replay_thread *threads; /* by index */
	struct tf_buf out;
	struct reading reading;
	uint64_t damage;
};

/* False: stdout takes no more, about which main() has a word to say. */
static bool write_out(struct replay *r)
{
	bool good = fwrite(r->out.data, 1, r->out.size, stdout) == r->out.size;

	tf_buf_clear(&r->out);
	return good;
}

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* Up to the end of the iterator or of the time that was asked for. */
static int replay_all(struct replay *r, struct sonde_trace_iter *iter)
{
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status = SONDE_TRACE_OK;

	pick_tail_calls(iter, r->o->pick.tail_calls);
	if (r->o->pick.from)
		status = sonde_trace_seek(iter, r->o->pick.from);
	while (!status && !(status = sonde_trace_next(iter, &ev))) {
		reading_event(&r->reading);
		if (ev->time > r->o->pick.to)
			return 0;
		if (ev->time < r->o->pick.from)
			continue;
		r->o->pick.met = true;
		if (!replay_event(&r->threads[ev->thread->index], &r->style, &r->out, ev))
			return no_memory();
		if (r->out.size > FULL && !write_out(r))
			return EXIT_USAGE;
	}
	reading_end(&r->reading);
	return status == SONDE_TRACE_END ? 0 : pick_read_error(status);
}

/* Shows what the iterator gives and frees it. */
static int finish(void *arg, enum sonde_trace_status status, struct sonde_trace_iter *iter)
{
	struct replay *r = arg;
	int result = status ? pick_read_error(status) : replay_all(r, iter);

	reading_end(&r->reading);
	for (size_t i = 0; i < sonde_trace_threads(r->trace); i++) {
		if (!result && !replay_finish(&r->threads[i], &r->style, &r->out))
			result = no_memory();
		replay_thread_free(&r->threads[i]);
	}
	if (!write_out(r) && !result)
		result = EXIT_USAGE;
	if (pick_damage(iter, &r->damage))
		result = EXIT_USAGE;
	sonde_trace_iter_free(iter);
	return result;
}

static void choose_columns(struct replay *r)
{
	const struct sonde_trace *t = r->trace;

	r->style.thread_column = sonde_trace_threads(t) > 0;
	r->style.dump = dump_style(t);
	r->style.dump.mangled = r->o->mangled;
	for (size_t i = 1; i < sonde_trace_threads(t); i++)
		r->style.pids |= sonde_trace_thread(t, i)->pid != sonde_trace_thread(t, 0)->pid;
}

static int replay(struct replay *r, const char *dir, bool **only, bool **without)
{
	struct replay_options *o = r->o;
	const struct select_options in = { .functions = o->select.functions };
	const struct select_options out = { .option = "-N", .functions = o->select.excluded };
	int result = pick_check(&o->pick);

	if (!result)
		result = traced_functions(r->trace, dir, &in, only);
	if (!result)
		result = traced_functions(r->trace, dir, &out, without);
	if (result)
		return result;
	r->style = (struct replay_style){ .trace = r->trace, .only = *only, .without = *without,
					  .min_time = o->min_time, .depth = o->depth };
	choose_columns(r);
	r->threads = calloc(sonde_trace_threads(r->trace) + 1, sizeof *r->threads);
	if (!r->threads)
		return no_memory();
	holds_warn_no_calls(r->trace, dir);
	replay_put_title(&r->out, &r->style);
	pick_reading(&o->pick, true, &r->reading);
	result = pick_read(&o->pick, o->no_merge, finish, r);
	pick_warn_none(&o->pick);
	return result;
}

static int open_and_replay(struct replay_options *o, const char *dir)
{
	struct replay r = { .o = o };
	bool *only = NULL, *without = NULL, *counted;
	struct sonde_trace *trace;
	int result = pick_open(dir, &trace);

	if (!result)
		result = processes_choose(&trace, &o->pick.processes);
	if (result)
		return result;
	r.trace = o->pick.trace = trace;
	sampled_tell(trace);
	budgeted_tell(trace);
	r.style.counted = counted = budgeted_functions(trace);
	result = replay(&r, dir, &only, &without);
	pick_forgive_closed_pipe();
	free(only);
	free(without);
	free(counted);
	free(r.threads);
	tf_buf_free(&r.out);
	sonde_trace_close(trace);
	return result;
}

int verb_replay(int argc, char **argv)
{
	struct replay_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END } };
	int first = opt_parse(&replay_command, argc, argv, &o), result;

	if (first < 0)
		result = OPT_STATUS(first);
	else if (argc - first > 1)
		result = opt_usage_error(&replay_command, "more than one directory");
	else
		result = open_and_replay(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return result;
}
