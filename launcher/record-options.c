/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/options.h"
#include "launcher/message.h"

#include <string.h>

#define MIN_RING (UINT64_C(64) << 10)
#define MAX_RING (UINT64_C(1) << 30)

struct raw {
	struct record_options o;
	const char *overflow;
};

static const struct opt record_opts[] = {
	{ 'm', "module", "MODULE", "use a module: NAME, FILE.so or FILE.c; repeat it for more",
	  OPT_LIST, offsetof(struct raw, o.modules), NULL },
	{ 'o', "output", "DIR", "where the trace goes (sonde.data)", OPT_STRING,
	  offsetof(struct raw, o.dir), NULL },
	{ 0, "overflow", "WHAT", "when events come too fast: wait, or drop (wait)", OPT_CHOICE,
	  offsetof(struct raw, overflow), "wait\0drop\0" },
	{ 0, "buffer", "SIZE", "buffer of each thread, 64K to 1G (1M)", OPT_SIZE,
	  offsetof(struct raw, o.ring_bytes), NULL },
	{ 'q', "quiet", NULL, "no warnings, no summary", OPT_FLAG, offsetof(struct raw, o.quiet), NULL },
	{ 'v', "verbose", NULL, "say what is done", OPT_FLAG, offsetof(struct raw, o.verbose), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command record_command = {
	.name = "record",
	.usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.summary = "Runs PROGRAM and records what the modules' wrappers see, in it and in its children.",
	.opts = record_opts,
	.details = "The word 'record' may be left out. 'sonde module list' shows the modules there are.\n"
		   "The exit status is the program's; 126 and 127 when it cannot be run, 2 for bad\n"
		   "options, 125 when Sonde fails.\n",
	.examples = "sonde -m pthread ./app in.dat\tuse a module\n"
		    "sonde -m ./mine.c ./app\tuse a C file of your own\n"
		    "sonde -m mpi,posixio -o run1 ./app\ttwo modules, another directory\n"
		    "mpirun -np 4 sonde -m mpi ./solver\tone trace of four ranks\n"
		    "sonde -m posixio -- report\ta program called 'report'\n",
	.stop_at_operand = true,
};

static int check(const struct raw *raw, int argc, int first)
{
	if (first == argc)
		return opt_usage_error(&record_command, "no program to run");
	if (raw->o.dir[0] == '\0')
		return opt_usage_error(&record_command, "--output: an empty name");
	if (raw->o.ring_bytes < MIN_RING || raw->o.ring_bytes > MAX_RING)
		return opt_usage_error(&record_command, "--buffer: not from 64K to 1G");
	return 0;
}

int record_options_parse(int argc, char **argv, struct record_options *o)
{
	struct raw raw = {
		.o = { .dir = "sonde.data", .ring_bytes = RECORD_DEFAULT_RING },
		.overflow = "wait",
	};
	int first = opt_parse(&record_command, argc, argv, &raw);
	int status = first < 0 ? OPT_STATUS(first) : check(&raw, argc, first);

	if (first < 0 || status) {
		opt_list_free(&raw.o.modules);
		return -status - 1;
	}
	*o = raw.o;
	o->drop = strcmp(raw.overflow, "drop") == 0;
	o->program = argv + first;
	msg_quiet = o->quiet;
	msg_verbose = o->verbose;
	return 0;
}

void record_options_free(struct record_options *o)
{
	opt_list_free(&o->modules);
}
