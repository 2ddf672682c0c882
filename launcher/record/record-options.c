/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "launcher/common/options.h"
#include "launcher/collect/pool.h"
#include "launcher/common/caches.h"
#include "launcher/common/message.h"
#include "launcher/common/signatures.h"
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
#define UNSET UINT64_MAX

struct raw {
	struct record_options o;
	const char *overflow, *clock, *mem_stack, *sample, *overhead, *analyze, *signal, *trigger, *sets, *counters, *config;
};

static const struct opt record_opts[] = {
	{ 'F', "functions", "PATTERN", "record these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB",
	  OPT_LIST, offsetof(struct raw, o.select.functions), NULL },
	{ 'N', "no-functions", "PATTERN", "but not these", OPT_LIST,
	  offsetof(struct raw, o.select.excluded), NULL },
	{ 'A', "args", "FUNCTION[:NAME,...]", "their arguments too, and what they return, as debug information tells: of all, or of these",
	  OPT_LIST_OR, offsetof(struct raw, o.args), "*" },
	{ 0, "libs", "GLOB", "functions of libraries too: of all, or those called GLOB", OPT_LIST_OR,
	  offsetof(struct raw, o.select.libs), "*" },
	{ 0, "min-size", "BYTES", "leave smaller functions alone", OPT_SIZE,
	  offsetof(struct raw, o.select.min_size), NULL },
	OPT_GUESS(struct raw, o.select),
	{ 0, "depth", "N", "only calls up to N deep", OPT_COUNT, offsetof(struct raw, o.depth), NULL },
	{ 0, "time", "DURATION", "only calls that take as long: 500ns, 10us, 1ms", OPT_TIME,
	  offsetof(struct raw, o.min_time), NULL },
	{ 0, "threshold-calls", "N", "only a function's first N calls in each thread", OPT_COUNT,
	  offsetof(struct raw, o.max_calls), NULL },
	{ 0, "clock", "WHAT", "tsc: time each call; none: count them (tsc)", OPT_CHOICE,
	  offsetof(struct raw, clock), "tsc\0none\0" },
	{ 0, "start-off", NULL, "record nothing until it is switched on: 'sonde ctl on', a signal, a trigger", OPT_FLAG,
	  offsetof(struct raw, o.start_off), NULL },
	{ 0, "signal", "NAME", "sent to sonde, it switches recording off and on: USR2; or USR2=snapshot", OPT_STRING,
	  offsetof(struct raw, signal), NULL },
	{ 0, "trigger", "LIST", "calls of functions do that: 'solve=on,finish=off,fail=snapshot'", OPT_STRING,
	  offsetof(struct raw, trigger), NULL },
	{ 0, "under", "PATTERN", "only what these functions call, on the same thread, and they themselves", OPT_LIST,
	  offsetof(struct raw, o.acts[RT_ACT_UNDER]), NULL },
	{ 0, "flight", "SIZE", "keep the newest events in memory, 64K to 64G, and write them at the end", OPT_SIZE,
	  offsetof(struct raw, o.flight), NULL },
	{ 0, "max-size", "SIZE", "events take no more than that on disk, 64K or more: older ones are removed", OPT_SIZE,
	  offsetof(struct raw, o.max_size), NULL },
	{ 0, "eager", NULL, "instrument all functions at the start, not each when it is first called", OPT_FLAG,
	  offsetof(struct raw, o.eager), NULL },
	{ 0, "blocked", NULL, "when threads do not run: blocked, or preempted; 'sonde report' says in which functions", OPT_FLAG,
	  offsetof(struct raw, o.blocked), NULL },
	{ 0, "counters", "LIST", "what happens in which functions: page-faults,task-clock,cycles,instructions,cache-misses,...", OPT_STRING,
	  offsetof(struct raw, counters), NULL },
	{ 0, "perf-map", NULL, "write /tmp/perf-PID.map, so that perf knows our code", OPT_FLAG,
	  offsetof(struct raw, o.perf_map), NULL },
	{ 0, "mem", "PATTERN", "record the memory accesses of all functions, or of these", OPT_LIST_OR,
	  offsetof(struct raw, o.memory), "*" },
	{ 0, "mem-times", NULL, "times at atomic instructions and where threads wait, too: for\n'sonde sharing'", OPT_FLAG,
	  offsetof(struct raw, o.mem_times), NULL },
	{ 0, "mem-stack", "WHAT", "push, pop, call and ret too: yes, or no (yes)", OPT_CHOICE,
	  offsetof(struct raw, mem_stack), "yes\0no\0" },
	{ 0, "mem-buffer", "SIZE", "memory stream's buffer of each thread, 256K to 1G (2M)", OPT_SIZE,
	  offsetof(struct raw, o.mem_bytes), NULL },
	{ 0, "analyze", "WHERE", "modules get memory accesses in Sonde (collector), in the program, or by turns (auto)",
	  OPT_CHOICE, offsetof(struct raw, analyze), "auto\0program\0collector\0" },
	{ 0, "sample", "HOW", "memory accesses in bursts: burst:1ms,every:10ms, or burst:1M,every:10M of them",
	  OPT_STRING, offsetof(struct raw, sample), NULL },
	{ 0, "overhead", "P%", "what recording may cost: calls are counted, memory accesses sampled beyond that", OPT_STRING,
	  offsetof(struct raw, overhead), NULL },
	{ 0, "blocks", "WHAT", "count how often blocks and loops of all functions, or PATTERN, are executed; trips: and the least and "
	  "the most trips of loops; trace: record their order (of some: trace:PATTERN)", OPT_LIST_OR, offsetof(struct raw, o.blocks), "*" },
	{ 'c', "config", "FILE", "what is to be measured where, as FILE says: 'sonde config explain'", OPT_STRING,
	  offsetof(struct raw, config), NULL },
	{ 'm', "module", "MODULE", "use a module: NAME, FILE.so or FILE.c; repeat it for more",
	  OPT_LIST, offsetof(struct raw, o.modules), NULL },
	{ 0, "alloc-stack", "N", "with -m memory: the stack of each allocation, 1 to 8 frames (1: the caller alone)", OPT_COUNT,
	  offsetof(struct raw, o.alloc_stack), NULL },
	{ 0, "slow-guest", NULL, "a module's own C library, in static programs, even where each call takes system calls", OPT_FLAG,
	  offsetof(struct raw, o.slow_guest), NULL },
	OPT_SIGNATURES(struct raw, o.signatures),
	{ 0, "system", "SYSTEM", "caches for -m cachesim: as for 'sonde cache'; may be repeated", OPT_LIST,
	  offsetof(struct raw, o.systems), NULL },
	{ 0, "sets", "1/N", "-m cachesim simulates one in N sets, in place of all: 2, 4, 8, ... 64", OPT_STRING,
	  offsetof(struct raw, sets), NULL },
	{ 'o', "output", "DIR", "where the trace goes (sonde.data)", OPT_STRING,
	  offsetof(struct raw, o.dir), NULL },
	{ 0, "follow", "GLOB", "of programs that are executed, record only those called GLOB", OPT_LIST,
	  offsetof(struct raw, o.follow), NULL },
	{ 0, "no-follow", NULL, "record PROGRAM alone, not what it executes", OPT_FLAG,
	  offsetof(struct raw, o.no_follow), NULL },
	{ 0, "overflow", "WHAT", "when events come too fast: wait, or drop (wait)", OPT_CHOICE,
	  offsetof(struct raw, overflow), "wait\0drop\0" },
	{ 0, "buffer", "SIZE", "buffer of each thread, 64K to 1G (1M)", OPT_SIZE,
	  offsetof(struct raw, o.ring_bytes), NULL },
	{ 0, "workers", "N", "threads of sonde that collect, and that look at new code: 1 to 256", OPT_COUNT,
	  offsetof(struct raw, o.workers), NULL },
	{ 0, "progress", NULL, "say each second on standard error how far it is", OPT_FLAG,
	  offsetof(struct raw, o.progress), NULL },
	{ 'q', "quiet", NULL, "no warnings, no summary", OPT_FLAG, offsetof(struct raw, o.quiet), NULL },
	{ 'v', "verbose", NULL, "say what is done", OPT_FLAG, offsetof(struct raw, o.verbose), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command record_command = {
	.name = "record",
	.usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.summary = "Runs PROGRAM and records its functions, and what modules' wrappers see, in it and in its\n"
		   "children.",
	.opts = record_opts,
	.details = "The word 'record' may be left out. 'sonde module list' shows the modules there are,\n"
		   "'sonde list' the functions. PATTERNs may be lists separated by commas.\n"
		   "The exit status is the program's; 126 and 127 when it cannot be run, 2 for bad\n"
		   "options, 125 when Sonde fails.\n",
	.examples = "sonde -F '*' ./app\tevery function of the program\n"
		    "sonde -F 'solve*,@grid.c:120' ./app\tsome functions, one by a line of it\n"
		    "sonde -F '*' --libs -N 'std::*' ./app\tlibraries too, but not these\n"
		    "sonde -F 'inflate*@libz' ./app\tfunctions of one library\n"
		    "sonde -F 'solve*' --args ./app\twith their arguments and what they return\n"
		    "sonde --mem ./app\tall memory accesses of the program\n"
		    "sonde --mem='solve*,*@libm' ./app\tthose of some functions, and of a library\n"
		    "sonde --blocks ./app\thow often each block and loop is executed\n"
		    "sonde -m memcount ./app\tcount them, keep none\n"
		    "sonde -m pthread ./app in.dat\tuse a module\n"
		    "sonde -m ./mine.c ./app\tuse a C file of your own\n"
		    "sonde -c measure.yaml ./app\twhat a file says of its source\n"
		    "sonde -m mpi,posixio -o run1 ./app\ttwo modules, another directory\n"
		    "mpirun -np 4 sonde -m mpi ./solver\tone trace of four ranks\n"
		    "sonde -m posixio -- report\ta program called 'report'\n",
	.stop_at_operand = true,
};

/* The same, and some that are filled in below. */
static struct opt attach_opts[sizeof(record_opts) / sizeof(record_opts[0]) + 1];

static const struct opt_command attach_command = {
	.name = "attach",
	.usage = "[OPTION]... PID...",
	.summary = "Records processes that run already, until they end, the duration is over, Ctrl-C, or\n"
		   "'sonde detach PID'; then they go on as they were before.",
	.opts = attach_opts,
	.details = "What is recorded has to be chosen, by -F, -m or --mem. A module may need nothing that the\n"
		   "process has not mapped, and may have no functions that run at start or exit.\n"
		   "The exit status is 0 when the trace is complete, 2 when a process cannot be\n"
		   "attached to (the others are recorded all the same) and for bad options, 125 when\n"
		   "Sonde fails.\n",
	.examples = "sonde attach -F '*' 1234\tall functions of the program, until Ctrl-C\n"
		    "sonde attach -F '*' --duration=30s 1234\tfor half a minute\n"
		    "sonde attach -m posixio 1234\twhat a module sees\n"
		    "sonde attach -F 'SSL_*@libssl' -o tls $(pidof nginx)\tsome of a library, in all processes of a server\n",
};

/* That is being parsed. */
static const struct opt_command *command = &record_command;

/* ---- what goes together ---- */

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
static const char *about_functions(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	const struct said v[] = {
		{ o->depth != UNSET, "--depth" NO_FUNCTIONS },
		{ o->min_time != UNSET, "--time" NO_FUNCTIONS },
		{ o->max_calls != UNSET, "--threshold-calls" NO_FUNCTIONS },
		{ raw->clock != NULL, "--clock" NO_FUNCTIONS },
		{ o->perf_map, "--perf-map" NO_FUNCTIONS },
		{ o->args.n, "--args" NO_FUNCTIONS },
	};

	return o->select.functions.n ? NULL : first_said(v, sizeof(v) / sizeof(v[0]));
}

/* Are all calls recorded?  Else --overhead is not about them. */
static bool records_all(const struct raw *raw)
{
	const struct record_options *o = &raw->o;

	return o->select.functions.n && !o->acts[RT_ACT_UNDER].n && o->depth == UNSET && o->min_time == UNSET && o->max_calls == UNSET &&
	       !(raw->clock && strcmp(raw->clock, "none") == 0);
}

/* What is said about memory accesses, or functions of any kind, without --mem; NULL: nothing. */
static const char *about_memory(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	bool no_functions = !o->select.functions.n && !o->blocks.n;
	const struct said v[] = {
		{ no_functions && o->select.excluded.n, "--no-functions" NO_FUNCTIONS },
		{ no_functions && o->select.libs.n, "--libs" NO_FUNCTIONS },
		{ no_functions && o->select.min_size != UNSET, "--min-size" NO_FUNCTIONS },
		{ raw->mem_stack != NULL, "--mem-stack" NO_MEMORY },
		{ o->mem_times, "--mem-times" NO_MEMORY },
		{ o->mem_bytes != UNSET, "--mem-buffer" NO_MEMORY },
		{ raw->sample != NULL, "--sample" NO_MEMORY },
		{ raw->overhead && no_functions, "--overhead: there is neither -F nor --mem that says what to record" },
		{ raw->overhead && !records_all(raw), "--overhead chooses which calls are counted: not with --depth, --time, "
						      "--threshold-calls, --under, --clock=none" },
	};

	return o->memory.n ? NULL : first_said(v, sizeof(v) / sizeof(v[0]));
}

/* What is not done while blocks are counted; NULL: nothing of that is wanted. */
static const char *beside_blocks(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	const struct said v[] = {
		{ o->select.functions.n, "--blocks counts, and records no calls: not with -F" },
		{ o->acts[RT_ACT_UNDER].n, "--blocks counts, and records no calls: not with --under" },
		{ raw->overhead, "--blocks counts, and records nothing else: not with --overhead" },
		{ o->flight != UNSET, "--blocks counts from the start to the end: not with --flight" },
		{ o->start_off || raw->signal || raw->trigger, "--blocks counts from the start to the end: not with --start-off, --signal, --trigger" },
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
static const char *beside_trace(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	const struct said v[] = {
		{ !o->memory.n && raw->mem_stack != NULL, "--mem-stack is about memory accesses: not with --blocks=trace" },
		{ !o->memory.n && o->mem_times, "--mem-times is about memory accesses: not with --blocks=trace" },
		{ o->acts[RT_ACT_UNDER].n, "--under is about calls: not with --blocks=trace" },
		{ o->flight != UNSET, "--flight keeps calls: not with --blocks=trace" },
		{ o->max_size != UNSET, "--max-size removes calls: not with --blocks=trace, which needs all that was before" },
	};

	return first_said(v, sizeof(v) / sizeof(v[0]));
}

/* --blocks=trace chooses functions in place of --mem; beside it blocks are those of its functions, and their order says how many. */
static int choose_blocks(struct raw *raw)
{
	struct record_options *o = &raw->o;
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
	lonely = traced < o->blocks.n ? "--blocks: trace excludes count and trips" : beside_trace(raw);
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

static int check_filters(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	bool counts = raw->clock && strcmp(raw->clock, "none") == 0;
	const char *filter = o->depth != UNSET	     ? "--depth"
			     : o->min_time != UNSET  ? "--time"
			     : o->max_calls != UNSET ? "--threshold-calls"
						     : NULL;

	if (o->args.n && (counts || raw->overhead || o->min_time != UNSET || o->max_calls != UNSET))
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

static int check_sample(const struct raw *raw)
{
	struct sample_times times;
	uint64_t one_in;

	if (raw->sets && !cache_sets_parse(raw->sets, &one_in))
		return opt_usage_error(command, "--sets=%s: " CACHE_SETS " belongs there", raw->sets);
	if (raw->sample && raw->overhead)
		return opt_usage_error(command, "--overhead chooses what is sampled: not with --sample");
	if (raw->sample && !sample_times_parse(raw->sample, &times))
		return opt_usage_error(command, "--sample: not like burst:1ms,every:10ms or "
							"burst:1M,every:10M");
	if (raw->overhead && !sample_overhead_parse(raw->overhead, &times))
		return opt_usage_error(command, "--overhead: not from 0.1%% to 100%%");
	return 0;
}

static int check_memory(const struct raw *raw)
{
	const struct record_options *o = &raw->o;
	struct select_options sel = record_memory_select(o);

	if (o->mem_bytes != UNSET && (o->mem_bytes < MIN_MEMORY || o->mem_bytes > MAX_RING))
		return opt_usage_error(command, "--mem-buffer: not from 256K to 1G");
	return check_patterns(&sel);
}

static int check_functions(const struct raw *raw)
{
	struct select_options blocks = record_blocks_select(&raw->o);
	const char *lonely = beside_blocks(raw);
	int status;

	if (!lonely)
		lonely = about_functions(raw);

	if (!lonely && !raw->o.modules.n)
		lonely = about_memory(raw);
	if (lonely)
		return opt_usage_error(command, "%s", lonely);
	status = check_patterns(&raw->o.select);
	if (status == 0)
		status = check_patterns(&blocks);
	if (status == 0)
		status = check_memory(raw);
	if (status == 0)
		status = check_sample(raw);
	return status ? status : check_filters(raw);
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

static int check_trigger(struct raw *raw)
{
	raw->o.trigger = raw->trigger ? strdup(raw->trigger) : NULL;
	if (raw->trigger && (!raw->o.trigger || !read_trigger(raw->o.trigger, raw->o.acts)))
		return opt_usage_error(command, "--trigger: not like solve=on,finish=off");
	if (raw->o.acts[RT_ACT_SNAPSHOT].n && raw->o.flight == UNSET)
		return opt_usage_error(command, "--trigger: without --flight there is no snapshot, all is written");
	return 0;
}

static int check_signal(struct raw *raw)
{
	const char *act = raw->signal ? strchr(raw->signal, '=') : NULL;

	if (!raw->signal)
		return 0;
	raw->o.toggle = signal_number(raw->signal);
	raw->o.signal_snapshots = act;
	if (!raw->o.toggle || (act && strcmp(act, "=snapshot") != 0))
		return opt_usage_error(command, "--signal: not the name of a signal that may be used, as USR2");
	if (act && raw->o.flight == UNSET)
		return opt_usage_error(command, "--signal: without --flight there is no snapshot, all is written");
	return 0;
}

static int check_acts(const struct raw *raw)
{
	int status = 0;

	for (int act = 0; act < RT_ACTS && status == 0; act++) {
		struct select_options sel = record_act_select(&raw->o, (enum rt_act)act);

		status = sel.functions.n ? check_patterns(&sel) : 0;
	}
	return status;
}

/* Without -F and -m all that they call. */
static int check_under(struct raw *raw)
{
	struct record_options *o = &raw->o;

	if (!o->acts[RT_ACT_UNDER].n)
		return 0;
	if (o->memory.n)
		return opt_usage_error(command, "--under is about calls: not with --mem");
	if (!o->select.functions.n && !o->modules.n && !opt_list_append(&o->select.functions, "*"))
		return opt_usage_error(command, "out of memory");
	return 0;
}

static int check_switching(struct raw *raw)
{
	int status;

	if (raw->o.flight != UNSET && (raw->o.flight < MIN_FLIGHT || raw->o.flight > MAX_FLIGHT))
		return opt_usage_error(command, "--flight: not from 64K to 64G");
	if (raw->o.flight != UNSET && raw->o.memory.n)
		return opt_usage_error(command, "--flight keeps calls: not with --mem");
	if (raw->o.max_size != UNSET && raw->o.max_size < MIN_FLIGHT)
		return opt_usage_error(command, "--max-size: less than 64K");
	if (raw->o.max_size != UNSET && raw->o.flight != UNSET)
		return opt_usage_error(command, "--max-size: not with --flight, which has a size of its own");
	if (raw->o.max_size != UNSET && raw->o.memory.n)
		return opt_usage_error(command, "--max-size removes calls: not with --mem, whose accesses need all that was before");
	status = check_signal(raw);
	if (status == 0)
		status = check_trigger(raw);
	if (status == 0)
		status = check_acts(raw);
	return status ? status : check_under(raw);
}

static int check_counters(struct raw *raw)
{
	const char *bad;
	int n;

	if (!raw->counters)
		return 0;
	raw->o.counters = counters_parse(raw->counters, &bad, &n);
	if (raw->o.counters)
		return 0;
	return opt_usage_error(command, "--counters: there is no '%.*s': cycles, instructions, cache-references, cache-misses, branches, "
			       "branch-misses, task-clock, page-faults, minor-faults, major-faults, context-switches, cpu-migrations", n, bad);
}

static int check(struct raw *raw, int argc, int first)
{
	int status = choose_blocks(raw);

	if (!status)
		status = check_counters(raw);

	if (!status && command == &attach_command && raw->o.blocks.n)
		status = opt_usage_error(command, "--blocks counts from the start of a program: --blocks=trace is for one that runs");
	if (!status)
		status = check_switching(raw);
	if (status)
		return status;
	if (first == argc)
		return opt_usage_error(command, command == &record_command ? "no program to run" : "no process");
	if (raw->o.no_follow && raw->o.follow.n)
		return opt_usage_error(command, "--no-follow: not with --follow");
	if (raw->o.dir[0] == '\0')
		return opt_usage_error(command, "--output: an empty name");
	if (raw->o.ring_bytes < MIN_RING || raw->o.ring_bytes > MAX_RING)
		return opt_usage_error(command, "--buffer: not from 64K to 1G");
	if (raw->o.workers != UNSET && (raw->o.workers < 1 || raw->o.workers > POOL_MOST_WORKERS))
		return opt_usage_error(command, "--workers: not from 1 to %u", POOL_MOST_WORKERS);
	if (raw->o.alloc_stack < 1 || raw->o.alloc_stack > RECORD_MOST_FRAMES)
		return opt_usage_error(command, "--alloc-stack: not from 1 to %u", RECORD_MOST_FRAMES);
	if (raw->o.alloc_stack > 1 && !raw->o.modules.n && !raw->config)
		return opt_usage_error(command, "--alloc-stack is about allocations, which a module records: add -m memory");
	return check_functions(raw);
}

/* ---- all of it ---- */

static void set_unset(uint64_t *value)
{
	if (*value == UNSET)
		*value = 0;
}

/* One budget for calls and memory accesses. */
static void share_budget(struct record_options *o)
{
	if (!o->budget || !o->sample.burst)
		return;
	o->budget -= o->budget / 2;
	o->sample.burst -= o->sample.burst / 2;
}

static void finish(struct record_options *o, const struct raw *raw, char **program)
{
	*o = raw->o;
	set_unset(&o->select.min_size);
	set_unset(&o->depth);
	set_unset(&o->min_time);
	set_unset(&o->max_calls);
	set_unset(&o->flight);
	set_unset(&o->max_size);
	set_unset(&o->workers);
	o->count_only = raw->clock && strcmp(raw->clock, "none") == 0;
	o->mem_no_stack = raw->mem_stack && strcmp(raw->mem_stack, "no") == 0;
	if (o->mem_bytes == UNSET)
		o->mem_bytes = RECORD_DEFAULT_MEMORY;
	o->wants_memory = about_memory(raw);
	o->analyze = strcmp(raw->analyze, "program") == 0 ? ANALYZE_PROGRAM :
		     strcmp(raw->analyze, "auto") == 0	  ? ANALYZE_AUTO :
							    ANALYZE_COLLECTOR;
	o->mem_keep = o->mem_describe = true;
	if (raw->sample)
		(void)!sample_times_parse(raw->sample, &o->sample);
	if (raw->sets)
		(void)!cache_sets_parse(raw->sets, &o->one_in);
	if (raw->overhead)
		(void)!sample_overhead_parse(raw->overhead, &o->sample);
	if (raw->overhead && records_all(raw))
		o->budget = o->sample.burst;
	if (o->memory.n)
		share_budget(o);
	o->drop = strcmp(raw->overflow, "drop") == 0;
	o->program = program;
	set_unset(&o->duration);
	o->attached = command == &attach_command;
	msg_quiet = o->quiet;
	msg_verbose = o->verbose;
}

int record_imply_memory(struct record_options *o)
{
	if (o->memory.n)
		return 0;
	if (o->blocks.n)
		return opt_usage_error(command, "--blocks counts, and records no memory accesses: not with a module that takes them");
	if (o->acts[RT_ACT_UNDER].n)
		return opt_usage_error(command, "--under is about calls: not with a module that takes memory accesses");
	o->memory.v = calloc(1, sizeof(*o->memory.v));
	if (!o->memory.v) {
		msg_error("out of memory");
		return EXIT_TRACER;
	}
	o->memory.v[o->memory.n++] = "*";
	share_budget(o);
	return 0;
}

int record_without_memory(struct record_options *o)
{
	if (o->memory.n)
		return 0;
	o->mem_bytes = 0;
	if (o->budget)
		o->sample = (struct sample_times){ 0 };
	return o->wants_memory ? opt_usage_error(command, "%s", o->wants_memory) : 0;
}

static int parse(int argc, char **argv, struct record_options *o)
{
	struct raw raw = {
		.o = { .dir = "sonde.data", .ring_bytes = RECORD_DEFAULT_RING, .select.min_size = UNSET,
		       .depth = UNSET, .min_time = UNSET, .max_calls = UNSET, .mem_bytes = UNSET, .duration = UNSET,
		       .flight = UNSET, .max_size = UNSET, .workers = UNSET, .alloc_stack = 1 },
		.overflow = "wait", .analyze = "auto",
	};
	int first = opt_parse(command, argc, argv, &raw);
	int status = first < 0 ? OPT_STATUS(first) : check(&raw, argc, first);

	if (first >= 0 && !status && raw.o.signatures)
		status = signatures_use(raw.o.signatures);
	if (first < 0 || status) {
		record_options_free(&raw.o);
		return -status - 1;
	}
	finish(o, &raw, argv + first);
	return 0;
}

int record_options_peek(int argc, char **argv, struct record_peek *peek)
{
	struct raw raw = { .o.dir = "sonde.data" };
	const struct record_options *o = &raw.o;
	int first;

	raw.o.depth = raw.o.min_time = raw.o.max_calls = raw.o.flight = raw.o.max_size = UNSET;
	command = &record_command;
	first = opt_parse(command, argc, argv, &raw);
	*peek = (struct record_peek){
		.config = raw.config, .dir = o->dir, .quiet = o->quiet, .verbose = o->verbose,
		.program = first >= 0 && first < argc ? argv + first : NULL,
		.plain = !o->select.functions.n && !o->args.n && o->depth == UNSET && o->min_time == UNSET && o->max_calls == UNSET &&
			 o->flight == UNSET && o->max_size == UNSET && !o->start_off && !o->acts[RT_ACT_UNDER].n && !raw.clock &&
			 !raw.overhead && !raw.signal && !raw.trigger && !o->memory.n && !o->blocks.n,
	};
	record_options_free(&raw.o);
	return first < 0 ? first : 0;
}

int record_options_parse(int argc, char **argv, struct record_options *o)
{
	command = &record_command;
	return parse(argc, argv, o);
}

int attach_options_parse(int argc, char **argv, struct record_options *o)
{
	static const struct opt own = { 0, "duration", "DURATION", "leave the process again after so long: 500ms, 30s",
					OPT_TIME, offsetof(struct raw, o.duration), NULL };
	static const struct opt end[] = { OPT_HELP, OPT_END };
	size_t n = 0;
	int status;

	for (const struct opt *o = record_opts; o->type != OPT_TYPE_HELP; o++)
		if (o->offset != offsetof(struct raw, o.eager) && o->offset != offsetof(struct raw, o.blocked) &&
		    o->offset != offsetof(struct raw, o.slow_guest) && o->offset != offsetof(struct raw, counters) && o->offset != offsetof(struct raw, config))
			attach_opts[n++] = *o;
	attach_opts[n] = own;
	memcpy(attach_opts + n + 1, end, sizeof(end));
	command = &attach_command;
	status = parse(argc, argv, o);
	/* what is left again is taken out of programs that were executed, too */
	o->eager = true;
	return status;
}

void record_options_free(struct record_options *o)
{
	opt_list_free(&o->modules);
	opt_list_free(&o->systems);
	opt_list_free(&o->memory);
	opt_list_free(&o->blocks);
	opt_list_free(&o->args);
	for (int act = 0; act < RT_ACTS; act++)
		opt_list_free(&o->acts[act]);
	free(o->trigger);
	opt_list_free(&o->follow);
	select_options_free(&o->select);
}
