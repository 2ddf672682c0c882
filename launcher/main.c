/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sonde: picks the verb. */
#include "config.h"
#include "launcher/common/message.h"
#include "launcher/common/signatures.h"
#include "launcher/program/program.h"
#include "launcher/ranks/ranks.h"
#include "launcher/select/near.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int verb_help(int argc, char **argv);

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
	enum ranks_verb ranks; /* if MPI has started several of us */
};

static const struct verb verbs[] = {
	{ "record", verb_record, "run a program and record it (the verb may be left out)", RANKS_EACH },
	{ "ctl", verb_ctl, "control a recording that is running", RANKS_EACH },
	{ "top", verb_top, "show the busiest functions of a recording that is running", RANKS_EACH },
	{ "attach", verb_attach, "record a process that runs already", RANKS_EACH },
	{ "detach", verb_detach, "leave a process that is recorded by 'sonde attach'", RANKS_EACH },
	{ "report", verb_report, "show where the time went", RANKS_SHARED },
	{ "replay", verb_replay, "show the calls as they happened, with durations", RANKS_FIRST },
	{ "graph", verb_graph, "show who called whom, and where the time went on each path", RANKS_FIRST },
	{ "memory", verb_memory, "show which code accessed memory, and how", RANKS_SHARED },
	{ "cache", verb_cache, "simulate the caches of other machines with recorded accesses", RANKS_FIRST },
	{ "sharing", verb_sharing, "show which lines of memory threads take from each other", RANKS_FIRST },
	{ "advise", verb_advise, "say what should be done about a program, by what was recorded", RANKS_FIRST },
	{ "dump", verb_dump, "print the events of a trace", RANKS_FIRST },
	{ "export", verb_export, "write a trace in a format that another tool reads", RANKS_FIRST },
	{ "diff", verb_diff, "show what has changed between traces", RANKS_FIRST },
	{ "archive", verb_archive, "put what a trace was recorded of into it, for another machine", RANKS_FIRST },
	{ "info", verb_info, "show what a trace holds, and whether it is intact", RANKS_FIRST },
	{ "list", verb_list, "list the functions of a program that can be instrumented", RANKS_FIRST },
	{ "disasm", verb_disasm, "show functions' code, and what recording makes of it", RANKS_EACH },
	{ "blocks", verb_blocks, "show the basic blocks and loops of a program", RANKS_FIRST },
	{ "config", verb_config, "check and explain files that say what to measure where", RANKS_EACH },
	{ "tags", verb_tags, "show which variables the instructions of a program access", RANKS_FIRST },
	{ "module", verb_module, "list, write and build modules", RANKS_EACH },
	{ "signature", verb_signature, "name functions of stripped programs by static libraries", RANKS_EACH },
	{ "doctor", verb_doctor, "check that this machine has what Sonde needs", RANKS_EACH },
	{ "help", verb_help, "explain a verb", RANKS_EACH },
	{ NULL, NULL, NULL, RANKS_EACH },
};

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++) {
		if (strcmp(v->name, name) == 0)
			return v;
	}
	return NULL;
}

static int print_help(void)
{
	puts("Usage: sonde [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	     "       sonde VERB [OPTION]... [ARGUMENT]...\n"
	     "Runs a program with probes in it and records what it does.\n"
	     "\nVerbs:");
	for (const struct verb *v = verbs; v->name; v++)
		printf("  %-10s %s\n", v->name, v->summary);
	puts("\nOptions:\n"
	     "  -h, --help                 show this help; 'sonde help VERB' for a verb's\n"
	     "      --version              show the version\n"
	     "The other options before PROGRAM are those of 'sonde record'.\n"
	     "\nExamples:\n"
	     "  sonde -m posixio ./app     record with the module 'posixio', into sonde.data\n"
	     "  sonde report               show what was recorded\n"
	     "  sonde help record          all options");
	return 0;
}

static int print_version(void)
{
	puts("sonde " PACKAGE_VERSION);
	return 0;
}

static int verb_help(int argc, char **argv)
{
	char help[] = "--help";

	if (argc < 2 || argv[1][0] == '-')
		return print_help();
	const struct verb *v = find_verb(argv[1]);
	if (!v) {
		msg_error("no verb '%s'; see 'sonde --help'", argv[1]);
		return EXIT_USAGE;
	}
	return v->run(2, (char *[]){ argv[1], help, NULL });
}

/* Neither a verb nor a program: what verb may be meant?  NULL: it is a program, or like none. */
static const char *meant_verb(const char *word)
{
	static struct near_names near;
	char *path;

	if (*word == '-' || strchr(word, '/'))
		return NULL;
	path = program_find(word);
	free(path);
	for (const struct verb *v = verbs; !path && v->name; v++) {
		struct function_name name = { .symbol = v->name };

		near_note(&near, word, NEAR_WORD, &name);
		function_name_free(&name);
	}
	return near.n ? near.v[0].text : NULL;
}

/* Signatures that are installed are used by whatever reads symbols. */
static int run_verb(const struct verb *v, int argc, char **argv)
{
	int status = signatures_use(NULL);

	return status ? status : v->run(argc, argv);
}

/* No verb: everything is `sonde record`'s. argv[0] becomes the verb. */
static int run_record(int argc, char **argv)
{
	static char record[] = "record";

	argv[0] = record;
	return run_verb(&(const struct verb){ .run = verb_record }, argc, argv);
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		msg_error("no program to run; see 'sonde --help'");
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0)
		return print_version();
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	const struct verb *v = find_verb(argv[1]);
	if (v)
		return ranks_begin(v->ranks) ? ranks_end(run_verb(v, argc - 1, argv + 1)) : 0;
	const char *meant = meant_verb(argv[1]);
	if (!meant)
		return run_record(argc, argv);
	msg_error("%s: neither a verb nor a program in $PATH; did you mean 'sonde %s'?", argv[1], meant);
	return EXIT_NOT_FOUND;
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* Standard output may be a file on a full disk: that must not look like success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		msg_error("cannot write to standard output: %m");
		return status ? status : EXIT_USAGE;
	}
	return status;
}
