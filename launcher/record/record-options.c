/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of `sonde record` and `sonde attach`: what there are, and what is made of their values. */
#include "config.h"

#include "launcher/record/record-check.h"
#include "launcher/common/caches.h"
#include "launcher/common/message.h"
#include "launcher/common/signatures.h"
#include "launcher/select/select.h"

#include <stdlib.h>
#include <string.h>

static const struct opt record_opts[] = {
	{ 'F', "functions", "PATTERN", "record these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB",
	  OPT_LIST, offsetof(struct record_given, o.select.functions), NULL },
	{ 'N', "no-functions", "PATTERN", "but not these", OPT_LIST,
	  offsetof(struct record_given, o.select.excluded), NULL },
	{ 'A', "args", "FUNCTION[:NAME,...]", "their arguments too, and what they return, as debug information tells: of all, or of these",
	  OPT_LIST_OR, offsetof(struct record_given, o.args), "*" },
	{ 0, "libs", "GLOB", "functions of libraries too: of all, or those called GLOB", OPT_LIST_OR,
	  offsetof(struct record_given, o.select.libs), "*" },
	{ 0, "min-size", "BYTES", "leave smaller functions alone", OPT_SIZE,
	  offsetof(struct record_given, o.select.min_size), NULL },
	OPT_GUESS(struct record_given, o.select),
	{ 0, "depth", "N", "only calls up to N deep", OPT_COUNT, offsetof(struct record_given, o.depth), NULL },
	{ 0, "time", "DURATION", "only calls that take as long: 500ns, 10us, 1ms", OPT_TIME,
	  offsetof(struct record_given, o.min_time), NULL },
	{ 0, "threshold-calls", "N", "only a function's first N calls in each thread", OPT_COUNT,
	  offsetof(struct record_given, o.max_calls), NULL },
	{ 0, "clock", "WHAT", "tsc: time each call; none: count them (tsc)", OPT_CHOICE,
	  offsetof(struct record_given, clock), "tsc\0none\0" },
	{ 0, "start-off", NULL, "record nothing until it is switched on: 'sonde ctl on', a signal, a trigger", OPT_FLAG,
	  offsetof(struct record_given, o.start_off), NULL },
	{ 0, "signal", "NAME", "sent to sonde, it switches recording off and on: USR2; or USR2=snapshot", OPT_STRING,
	  offsetof(struct record_given, signal), NULL },
	{ 0, "trigger", "LIST", "calls of functions do that: 'solve=on,finish=off,fail=snapshot'", OPT_STRING,
	  offsetof(struct record_given, trigger), NULL },
	{ 0, "under", "PATTERN", "only what these functions call, on the same thread, and they themselves", OPT_LIST,
	  offsetof(struct record_given, o.acts[RT_ACT_UNDER]), NULL },
	{ 0, "flight", "SIZE", "keep the newest events in memory, 64K to 64G, and write them at the end", OPT_SIZE,
	  offsetof(struct record_given, o.flight), NULL },
	{ 0, "max-size", "SIZE", "events take no more than that on disk, 64K or more: older ones are removed", OPT_SIZE,
	  offsetof(struct record_given, o.max_size), NULL },
	{ 0, "eager", NULL, "instrument all functions at the start, not each when it is first called", OPT_FLAG,
	  offsetof(struct record_given, o.eager), NULL },
	{ 0, "blocked", NULL, "when threads do not run: blocked, or preempted; 'sonde report' says in which functions", OPT_FLAG,
	  offsetof(struct record_given, o.blocked), NULL },
	{ 0, "counters", "LIST", "what happens in which functions: page-faults,task-clock,cycles,instructions,cache-misses,...", OPT_STRING,
	  offsetof(struct record_given, counters), NULL },
	{ 0, "perf-map", NULL, "write /tmp/perf-PID.map, so that perf knows our code", OPT_FLAG,
	  offsetof(struct record_given, o.perf_map), NULL },
	{ 0, "mem", "PATTERN", "record the memory accesses of all functions, or of these", OPT_LIST_OR,
	  offsetof(struct record_given, o.memory), "*" },
	{ 0, "mem-times", NULL, "times at atomic instructions and where threads wait, too: for\n'sonde sharing'", OPT_FLAG,
	  offsetof(struct record_given, o.mem_times), NULL },
	{ 0, "mem-stack", "WHAT", "push, pop, call and ret too: yes, or no (yes)", OPT_CHOICE,
	  offsetof(struct record_given, mem_stack), "yes\0no\0" },
	{ 0, "mem-buffer", "SIZE", "memory stream's buffer of each thread, 256K to 1G (2M)", OPT_SIZE,
	  offsetof(struct record_given, o.mem_bytes), NULL },
	{ 0, "analyze", "WHERE", "modules get memory accesses in Sonde (collector), in the program, or by turns (auto)",
	  OPT_CHOICE, offsetof(struct record_given, analyze), "auto\0program\0collector\0" },
	{ 0, "sample", "HOW", "memory accesses in bursts: burst:1ms,every:10ms, or burst:1M,every:10M of them",
	  OPT_STRING, offsetof(struct record_given, sample), NULL },
	{ 0, "overhead", "P%", "what recording may cost: calls are counted, memory accesses sampled beyond that", OPT_STRING,
	  offsetof(struct record_given, overhead), NULL },
	{ 0, "blocks", "WHAT", "count how often blocks and loops of all functions, or PATTERN, are executed; trips: and the least and "
	  "the most trips of loops; trace: record their order (of some: trace:PATTERN)", OPT_LIST_OR, offsetof(struct record_given, o.blocks), "*" },
	{ 'c', "config", "FILE", "what is to be measured where, as FILE says: 'sonde config explain'", OPT_STRING,
	  offsetof(struct record_given, config), NULL },
	{ 'm', "module", "MODULE", "use a module: NAME, FILE.so or FILE.c; repeat it for more",
	  OPT_LIST, offsetof(struct record_given, o.modules), NULL },
	{ 0, "alloc-stack", "N", "with -m memory: the stack of each allocation, 1 to 8 frames (1: the caller alone)", OPT_COUNT,
	  offsetof(struct record_given, o.alloc_stack), NULL },
	{ 0, "slow-guest", NULL, "a module's own C library, in static programs, even where each call takes system calls", OPT_FLAG,
	  offsetof(struct record_given, o.slow_guest), NULL },
	OPT_SIGNATURES(struct record_given, o.signatures),
	{ 0, "system", "SYSTEM", "caches for -m cachesim: as for 'sonde cache'; may be repeated", OPT_LIST,
	  offsetof(struct record_given, o.systems), NULL },
	{ 0, "sets", "1/N", "-m cachesim simulates one in N sets, in place of all: 2, 4, 8, ... 64", OPT_STRING,
	  offsetof(struct record_given, sets), NULL },
	{ 'o', "output", "DIR", "where the trace goes (sonde.data)", OPT_STRING,
	  offsetof(struct record_given, o.dir), NULL },
	{ 0, "follow", "GLOB", "of programs that are executed, record only those called GLOB", OPT_LIST,
	  offsetof(struct record_given, o.follow), NULL },
	{ 0, "no-follow", NULL, "record PROGRAM alone, not what it executes", OPT_FLAG,
	  offsetof(struct record_given, o.no_follow), NULL },
	{ 0, "overflow", "WHAT", "when events come too fast: wait, or drop (wait)", OPT_CHOICE,
	  offsetof(struct record_given, overflow), "wait\0drop\0" },
	{ 0, "buffer", "SIZE", "buffer of each thread, 64K to 1G (1M)", OPT_SIZE,
	  offsetof(struct record_given, o.ring_bytes), NULL },
	{ 0, "workers", "N", "threads of sonde that collect, and that look at new code: 1 to 256", OPT_COUNT,
	  offsetof(struct record_given, o.workers), NULL },
	{ 0, "progress", NULL, "say each second on standard error how far it is", OPT_FLAG,
	  offsetof(struct record_given, o.progress), NULL },
	{ 'q', "quiet", NULL, "no warnings, no summary", OPT_FLAG, offsetof(struct record_given, o.quiet), NULL },
	{ 'v', "verbose", NULL, "say what is done", OPT_FLAG, offsetof(struct record_given, o.verbose), NULL },
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

static void finish(struct record_options *o, const struct record_given *given, char **program)
{
	*o = given->o;
	set_unset(&o->select.min_size);
	set_unset(&o->depth);
	set_unset(&o->min_time);
	set_unset(&o->max_calls);
	set_unset(&o->flight);
	set_unset(&o->max_size);
	set_unset(&o->workers);
	o->count_only = given->clock && strcmp(given->clock, "none") == 0;
	o->mem_no_stack = given->mem_stack && strcmp(given->mem_stack, "no") == 0;
	if (o->mem_bytes == UNSET)
		o->mem_bytes = RECORD_DEFAULT_MEMORY;
	o->wants_memory = record_about_memory(given);
	o->analyze = strcmp(given->analyze, "program") == 0 ? ANALYZE_PROGRAM :
		     strcmp(given->analyze, "auto") == 0	  ? ANALYZE_AUTO :
							    ANALYZE_COLLECTOR;
	o->mem_keep = o->mem_describe = true;
	if (given->sample)
		(void)!sample_times_parse(given->sample, &o->sample);
	if (given->sets)
		(void)!cache_sets_parse(given->sets, &o->one_in);
	if (given->overhead)
		(void)!sample_overhead_parse(given->overhead, &o->sample);
	if (given->overhead && record_all_calls(given))
		o->budget = o->sample.burst;
	if (o->memory.n)
		share_budget(o);
	o->drop = strcmp(given->overflow, "drop") == 0;
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
	struct record_given given = {
		.o = { .dir = DEFAULT_TRACE, .ring_bytes = RECORD_DEFAULT_RING, .select.min_size = UNSET,
		       .depth = UNSET, .min_time = UNSET, .max_calls = UNSET, .mem_bytes = UNSET, .duration = UNSET,
		       .flight = UNSET, .max_size = UNSET, .workers = UNSET, .alloc_stack = 1 },
		.overflow = "wait", .analyze = "auto",
	};
	int first = opt_parse(command, argc, argv, &given);
	int status = first < 0 ? OPT_STATUS(first) : record_check(command, command == &attach_command, &given, first < argc);

	if (first >= 0 && !status && given.o.signatures)
		status = signatures_use(given.o.signatures);
	if (first < 0 || status) {
		record_options_free(&given.o);
		return -status - 1;
	}
	finish(o, &given, argv + first);
	return 0;
}

int record_options_peek(int argc, char **argv, struct record_peek *peek)
{
	struct record_given given = { .o.dir = DEFAULT_TRACE };
	const struct record_options *o = &given.o;
	int first;

	given.o.depth = given.o.min_time = given.o.max_calls = given.o.flight = given.o.max_size = UNSET;
	command = &record_command;
	first = opt_parse(command, argc, argv, &given);
	*peek = (struct record_peek){
		.config = given.config, .dir = o->dir, .quiet = o->quiet, .verbose = o->verbose,
		.program = first >= 0 && first < argc ? argv + first : NULL,
		.plain = !o->select.functions.n && !o->args.n && o->depth == UNSET && o->min_time == UNSET && o->max_calls == UNSET &&
			 o->flight == UNSET && o->max_size == UNSET && !o->start_off && !o->acts[RT_ACT_UNDER].n && !given.clock &&
			 !given.overhead && !given.signal && !given.trigger && !o->memory.n && !o->blocks.n,
	};
	record_options_free(&given.o);
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
					OPT_TIME, offsetof(struct record_given, o.duration), NULL };
	static const struct opt end[] = { OPT_HELP, OPT_END };
	size_t n = 0;
	int status;

	for (const struct opt *o = record_opts; o->type != OPT_TYPE_HELP; o++)
		if (o->offset != offsetof(struct record_given, o.eager) && o->offset != offsetof(struct record_given, o.blocked) &&
		    o->offset != offsetof(struct record_given, o.slow_guest) && o->offset != offsetof(struct record_given, counters) && o->offset != offsetof(struct record_given, config))
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
