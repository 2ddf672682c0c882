/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What options of `sonde record` and `sonde attach` do not go together, and which values they do not take. */
#include "config.h"

#include "launcher/record/record-check.h"
#include "launcher/collect/pool.h"
#include "launcher/common/caches.h"
#include "launcher/select/select.h"
#include "launcher/trace/counters.h"
#include "runtime/probe.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RING (UINT64_C(64) << 10)
#define MAX_RING (UINT64_C(1) << 30)
#define MIN_MEMORY (UINT64_C(256) << 10)
#define MIN_FLIGHT (UINT64_C(64) << 10)
#define MAX_FLIGHT (UINT64_C(64) << 30)

/* Whose options are checked. */
static const struct opt_command *command;

struct said {
	bool given;
	const char *complaint;
};

static const char *first_said(const struct said *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].given)
			return v[i].complaint;
	}
	return NULL;
}

#define NO_FUNCTIONS ": there is no -F that says which functions"
#define NO_MEMORY ": there is no --mem"

/* What is said about -F's functions, without -F; NULL: nothing. */
static const char *about_functions(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	const struct said v[] = {
		{ o->depth != UNSET, "--depth" NO_FUNCTIONS },
		{ o->min_time != UNSET, "--time" NO_FUNCTIONS },
		{ o->max_calls != UNSET, "--threshold-calls" NO_FUNCTIONS },
		{ given->clock != NULL, "--clock" NO_FUNCTIONS },
		{ o->perf_map, "--perf-map" NO_FUNCTIONS },
		{ o->args.n, "--args" NO_FUNCTIONS },
	};

	return o->select.functions.n ? NULL : first_said(v, sizeof(v) / sizeof(v[0]));
}

bool record_all_calls(const struct record_given *given)
{
	const struct record_options *o = &given->o;

	return o->select.functions.n && !o->acts[RT_ACT_UNDER].n && o->depth == UNSET && o->min_time == UNSET && o->max_calls == UNSET &&
	       !(given->clock && strcmp(given->clock, "none") == 0);
}

const char *record_about_memory(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	bool no_functions = !o->select.functions.n && !o->blocks.n;
	const struct said v[] = {
		{ no_functions && o->select.excluded.n, "--no-functions" NO_FUNCTIONS },
		{ no_functions && o->select.libs.n, "--libs" NO_FUNCTIONS },
		{ no_functions && o->select.min_size != UNSET, "--min-size" NO_FUNCTIONS },
		{ given->mem_stack != NULL, "--mem-stack" NO_MEMORY },
		{ o->mem_times, "--mem-times" NO_MEMORY },
		{ o->mem_bytes != UNSET, "--mem-buffer" NO_MEMORY },
		{ given->sample != NULL, "--sample" NO_MEMORY },
		{ given->overhead && no_functions, "--overhead: there is neither -F nor --mem that says what to record" },
		{ given->overhead && !record_all_calls(given), "--overhead chooses which calls are counted: not with --depth, --time, "
						      "--threshold-calls, --under, --clock=none" },
	};

	return o->memory.n ? NULL : first_said(v, sizeof(v) / sizeof(v[0]));
}

/* What is not done while blocks are counted; NULL: nothing of that is wanted. */
static const char *beside_blocks(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	const struct said v[] = {
		{ o->select.functions.n, "--blocks counts, and records no calls: not with -F" },
		{ o->acts[RT_ACT_UNDER].n, "--blocks counts, and records no calls: not with --under" },
		{ given->overhead, "--blocks counts, and records nothing else: not with --overhead" },
		{ o->flight != UNSET, "--blocks counts from the start to the end: not with --flight" },
		{ o->start_off || given->signal || given->trigger, "--blocks counts from the start to the end: not with --start-off, --signal, --trigger" },
	};

	return o->blocks.n ? first_said(v, sizeof(v) / sizeof(v[0])) : NULL;
}

/* "trace", "count", alone or before ":PATTERN".  NULL: @text does not begin so; else the pattern, "*" if there is none. */
static const char *after_mode(const char *text, const char *mode)
{
	size_t n = strlen(mode);

	if (strncmp(text, mode, n) != 0 || (text[n] && text[n] != ':'))
		return NULL;
	return text[n] == ':' && text[n + 1] ? text + n + 1 : "*";
}

/* What is not done beside a trace of blocks, which is written as memory accesses are; NULL: nothing of that is wanted. */
static const char *beside_trace(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	const struct said v[] = {
		{ !o->memory.n && given->mem_stack != NULL, "--mem-stack is about memory accesses: not with --blocks=trace" },
		{ !o->memory.n && o->mem_times, "--mem-times is about memory accesses: not with --blocks=trace" },
		{ o->acts[RT_ACT_UNDER].n, "--under is about calls: not with --blocks=trace" },
		{ o->flight != UNSET, "--flight keeps calls: not with --blocks=trace" },
		{ o->max_size != UNSET, "--max-size removes calls: not with --blocks=trace, which needs all that was before" },
	};

	return first_said(v, sizeof(v) / sizeof(v[0]));
}

/* --blocks=trace chooses functions in place of --mem; beside it blocks are those of its functions, and their order says how many. */
static int choose_blocks(struct record_given *given)
{
	struct record_options *o = &given->o;
	const char *lonely;
	size_t traced = 0, trips = 0;
	bool chosen = false;

	for (size_t i = 0; i < o->blocks.n; i++) {
		const char *trace = after_mode(o->blocks.v[i], "trace"), *count = after_mode(o->blocks.v[i], "count");
		const char *trip = after_mode(o->blocks.v[i], "trips");

		traced += trace != NULL;
		trips += trip != NULL;
		if (trace || count || trip)
			o->blocks.v[i] = trace ? trace : count ? count : trip;
		chosen |= strcmp(o->blocks.v[i], "*") != 0;
	}
	if (o->blocks.n && o->memory.n && !traced)
		traced = o->blocks.n;
	o->count_trips = trips && !traced;
	if (!traced && trips && trips < o->blocks.n)
		return opt_usage_error(command, "--blocks: count and trips exclude each other");
	if (!traced)
		return 0;
	lonely = traced < o->blocks.n ? "--blocks: trace excludes count and trips" : beside_trace(given);
	if (!lonely && chosen && o->memory.n)
		lonely = "--blocks with --mem is about the functions of --mem: name them there";
	if (lonely)
		return opt_usage_error(command, "%s", lonely);
	o->trace_blocks = true;
	o->mem_blocks = o->memory.n;
	if (o->mem_blocks)
		opt_list_free(&o->blocks);
	else
		o->memory = o->blocks;
	o->blocks = (struct opt_list){ 0 };
	return 0;
}

static int check_filters(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	bool counts = given->clock && strcmp(given->clock, "none") == 0;
	const char *filter = o->depth != UNSET	     ? "--depth"
			     : o->min_time != UNSET  ? "--time"
			     : o->max_calls != UNSET ? "--threshold-calls"
						     : NULL;

	if (o->args.n && (counts || given->overhead || o->min_time != UNSET || o->max_calls != UNSET))
		return opt_usage_error(command, "--args records the arguments of each call: not with --time, --threshold-calls, "
					"--overhead, --clock=none");
	if (counts && filter)
		return opt_usage_error(command, "--clock=none only counts: not with %s", filter);
	if (o->depth == 0 || (o->depth != UNSET && o->depth > RT_SHADOW_MAX))
		return opt_usage_error(command, "--depth: not from 1 to %u", RT_SHADOW_MAX);
	if (o->min_time == 0)
		return opt_usage_error(command, "--time 0: not from 1ns");
	if (o->max_calls == 0)
		return opt_usage_error(command, "--threshold-calls: not from 1");
	return 0;
}

static int check_patterns(const struct select_options *o)
{
	char problem[256];
	struct select *sel = select_new(o, problem, sizeof(problem));

	if (!sel)
		return opt_usage_error(command, "%s", problem);
	select_free(sel);
	return 0;
}

struct select_options record_memory_select(const struct record_options *o)
{
	struct select_options sel = o->select;

	sel.option = o->trace_blocks ? "--blocks=trace" : "--mem";
	sel.functions = o->memory;
	return sel;
}

struct select_options record_blocks_select(const struct record_options *o)
{
	struct select_options sel = o->select;

	sel.option = "--blocks";
	sel.functions = o->blocks;
	return sel;
}

static int check_sample(const struct record_given *given)
{
	struct sample_times times;
	uint64_t one_in;

	if (given->sets && !cache_sets_parse(given->sets, &one_in))
		return opt_usage_error(command, "--sets=%s: " CACHE_SETS " belongs there", given->sets);
	if (given->sample && given->overhead)
		return opt_usage_error(command, "--overhead chooses what is sampled: not with --sample");
	if (given->sample && !sample_times_parse(given->sample, &times))
		return opt_usage_error(command, "--sample: not like burst:1ms,every:10ms or "
							"burst:1M,every:10M");
	if (given->overhead && !sample_overhead_parse(given->overhead, &times))
		return opt_usage_error(command, "--overhead: not from 0.1%% to 100%%");
	return 0;
}

static int check_memory(const struct record_given *given)
{
	const struct record_options *o = &given->o;
	struct select_options sel = record_memory_select(o);

	if (o->mem_bytes != UNSET && (o->mem_bytes < MIN_MEMORY || o->mem_bytes > MAX_RING))
		return opt_usage_error(command, "--mem-buffer: not from 256K to 1G");
	return check_patterns(&sel);
}

static int check_functions(const struct record_given *given)
{
	struct select_options blocks = record_blocks_select(&given->o);
	const char *lonely = beside_blocks(given);
	int status;

	if (!lonely)
		lonely = about_functions(given);

	if (!lonely && !given->o.modules.n)
		lonely = record_about_memory(given);
	if (lonely)
		return opt_usage_error(command, "%s", lonely);
	status = check_patterns(&given->o.select);
	if (status == 0)
		status = check_patterns(&blocks);
	if (status == 0)
		status = check_memory(given);
	if (status == 0)
		status = check_sample(given);
	return status ? status : check_filters(given);
}

/* Those that mean something else to us, or that the kernel does not let anybody catch. */
static bool may_toggle(int sig)
{
	static const int others[] = { SIGKILL, SIGSTOP, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGSEGV, SIGBUS, SIGILL,
				      SIGFPE, SIGABRT, SIGTRAP };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (sig == others[i])
			return false;
	return true;
}

/* "USR2", "SIGUSR2", up to a '=' if there is one; 0: none that can be used. */
static int signal_number(const char *name)
{
	size_t len;

	name += strncmp(name, "SIG", 3) == 0 ? 3 : 0;
	len = strcspn(name, "=");
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		const char *abbrev = sigabbrev_np(sig);

		if (abbrev && strlen(abbrev) == len && strncmp(abbrev, name, len) == 0)
			return may_toggle(sig) ? sig : 0;
	}
	return 0;
}

/* What --trigger calls them; NULL: not that. */
static const char *const triggers[RT_ACTS] = { [RT_ACT_ON] = "on", [RT_ACT_OFF] = "off", [RT_ACT_SNAPSHOT] = "snapshot" };

static int find_trigger(const char *name)
{
	for (int act = 0; act < RT_ACTS; act++)
		if (triggers[act] && strcmp(name, triggers[act]) == 0)
			return act;
	return -1;
}

/* "PATTERN=on,PATTERN=off" into lists; @text is cut into pieces.  False: it is not that. */
static bool read_trigger(char *text, struct opt_list *acts)
{
	char *rest = text, *item, *what;
	int act;

	while ((item = strsep(&rest, ","))) {
		what = strrchr(item, '=');
		if (!what || what == item)
			return false;
		*what++ = '\0';
		act = find_trigger(what);
		if (act < 0 || !opt_list_append(&acts[act], item))
			return false;
	}
	return true;
}

struct select_options record_act_select(const struct record_options *o, enum rt_act act)
{
	struct select_options sel = o->select;

	sel.option = act == RT_ACT_UNDER ? "--under" : "--trigger";
	sel.functions = o->acts[act];
	sel.excluded = (struct opt_list){ 0 };
	sel.min_size = 0;
	return sel;
}

static int check_trigger(struct record_given *given)
{
	given->o.trigger = given->trigger ? strdup(given->trigger) : NULL;
	if (given->trigger && (!given->o.trigger || !read_trigger(given->o.trigger, given->o.acts)))
		return opt_usage_error(command, "--trigger: not like solve=on,finish=off");
	if (given->o.acts[RT_ACT_SNAPSHOT].n && given->o.flight == UNSET)
		return opt_usage_error(command, "--trigger: without --flight there is no snapshot, all is written");
	return 0;
}

static int check_signal(struct record_given *given)
{
	const char *act = given->signal ? strchr(given->signal, '=') : NULL;

	if (!given->signal)
		return 0;
	given->o.toggle = signal_number(given->signal);
	given->o.signal_snapshots = act;
	if (!given->o.toggle || (act && strcmp(act, "=snapshot") != 0))
		return opt_usage_error(command, "--signal: not the name of a signal that may be used, as USR2");
	if (act && given->o.flight == UNSET)
		return opt_usage_error(command, "--signal: without --flight there is no snapshot, all is written");
	return 0;
}

static int check_acts(const struct record_given *given)
{
	int status = 0;

	for (int act = 0; act < RT_ACTS && status == 0; act++) {
		struct select_options sel = record_act_select(&given->o, (enum rt_act)act);

		status = sel.functions.n ? check_patterns(&sel) : 0;
	}
	return status;
}

/* Without -F and -m all that they call. */
static int check_under(struct record_given *given)
{
	struct record_options *o = &given->o;

	if (!o->acts[RT_ACT_UNDER].n)
		return 0;
	if (o->memory.n)
		return opt_usage_error(command, "--under is about calls: not with --mem");
	if (!o->select.functions.n && !o->modules.n && !opt_list_append(&o->select.functions, "*"))
		return opt_usage_error(command, "out of memory");
	return 0;
}

static int check_switching(struct record_given *given)
{
	int status;

	if (given->o.flight != UNSET && (given->o.flight < MIN_FLIGHT || given->o.flight > MAX_FLIGHT))
		return opt_usage_error(command, "--flight: not from 64K to 64G");
	if (given->o.flight != UNSET && given->o.memory.n)
		return opt_usage_error(command, "--flight keeps calls: not with --mem");
	if (given->o.max_size != UNSET && given->o.max_size < MIN_FLIGHT)
		return opt_usage_error(command, "--max-size: less than 64K");
	if (given->o.max_size != UNSET && given->o.flight != UNSET)
		return opt_usage_error(command, "--max-size: not with --flight, which has a size of its own");
	if (given->o.max_size != UNSET && given->o.memory.n)
		return opt_usage_error(command, "--max-size removes calls: not with --mem, whose accesses need all that was before");
	status = check_signal(given);
	if (status == 0)
		status = check_trigger(given);
	if (status == 0)
		status = check_acts(given);
	return status ? status : check_under(given);
}

static int check_counters(struct record_given *given)
{
	const char *bad;
	int n;

	if (!given->counters)
		return 0;
	given->o.counters = counters_parse(given->counters, &bad, &n);
	if (given->o.counters)
		return 0;
	return opt_usage_error(command, "--counters: there is no '%.*s': cycles, instructions, cache-references, cache-misses, branches, "
			       "branch-misses, task-clock, page-faults, minor-faults, major-faults, context-switches, cpu-migrations", n, bad);
}

int record_check(const struct opt_command *cmd, bool attach, struct record_given *given, bool operands)
{
	int status;

	command = cmd;
	status = choose_blocks(given);

	if (!status)
		status = check_counters(given);
	if (!status && attach && given->o.blocks.n)
		status = opt_usage_error(command, "--blocks counts from the start of a program: --blocks=trace is for one that runs");
	if (!status)
		status = check_switching(given);
	if (status)
		return status;
	if (!operands)
		return opt_usage_error(command, attach ? "no process" : "no program to run");
	if (given->o.no_follow && given->o.follow.n)
		return opt_usage_error(command, "--no-follow: not with --follow");
	if (given->o.dir[0] == '\0')
		return opt_usage_error(command, "--output: an empty name");
	if (given->o.ring_bytes < MIN_RING || given->o.ring_bytes > MAX_RING)
		return opt_usage_error(command, "--buffer: not from 64K to 1G");
	if (given->o.workers != UNSET && (given->o.workers < 1 || given->o.workers > POOL_MOST_WORKERS))
		return opt_usage_error(command, "--workers: not from 1 to %u", POOL_MOST_WORKERS);
	if (given->o.alloc_stack < 1 || given->o.alloc_stack > RECORD_MOST_FRAMES)
		return opt_usage_error(command, "--alloc-stack: not from 1 to %u", RECORD_MOST_FRAMES);
	if (given->o.alloc_stack > 1 && !given->o.modules.n && !given->config)
		return opt_usage_error(command, "--alloc-stack is about allocations, which a module records: add -m memory");
	return check_functions(given);
}
