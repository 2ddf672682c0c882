/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde config': checks a configuration file, explains what may be in one, writes the files of a trace that is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/config/outputs.h"
#include "launcher/config/plan.h"
#include "launcher/verbs.h"

extern const char config_example[], config_example_end[]; /* shipped.S */

struct config_options {
	bool quiet;
};

static const struct opt opts[] = { OPT_HELP, OPT_END };

static const struct opt_command config_command = {
	.name = "config",
	.usage = "check FILE [PROGRAM] | output FILE [DIR] | explain [TYPE] | example",
	.summary = "Checks and explains files that say what is to be measured where in a program's source, for\n"
		   "'sonde -c FILE'.",
	.opts = opts,
	.details = "check FILE            whether it can be read\n"
		   "check FILE PROGRAM    and what of the program would be instrumented\n"
		   "output FILE [DIR]     writes its text files again, from the trace in DIR\n"
		   "explain [TYPE]        types, locations and keys\n"
		   "example               a file with comments to begin with\n",
	.examples = "sonde config example >measure.yaml\ta file to change\n"
		    "sonde config check measure.yaml ./app\twhat it would do\n"
		    "sonde -c measure.yaml ./app\tdo it\n",
};

/* ---- check ---- */

static void print_entry(const struct config_entry *e, const struct config_found *found)
{
	const struct config_about *about = &config_about[e->type];

	printf("%s, line %zu, to %s:\n", about->name, e->at.line, e->output ? e->output : "the trace");
	for (size_t i = 0; i < found->notes.n; i++)
		printf("  %s\n", found->notes.v[i]);
}

static int check_program(const struct config *c, char *program)
{
	struct config_files f;
	struct config_plan plan = { 0 };
	char verb[] = "record";
	char *argv[] = { verb, program, NULL };
	int status = config_resolve(&f, c, program);

	if (!status)
		status = config_plan(&plan, &f, -1, true, 2, argv);
	for (size_t i = 0; !status && i < c->n; i++)
		print_entry(&c->v[i], &f.found[i]);
	if (!status)
		fputs("sonde", stdout);
	for (int i = 1; !status && i < plan.argc; i++)
		printf(strpbrk(plan.argv[i], " *?()<>&|;$/[]") && i + 1 < plan.argc ? " '%s'" : " %s", plan.argv[i]);
	if (!status)
		putchar('\n');
	config_plan_free(&plan);
	config_files_free(&f);
	return status;
}

static int check(int argc, char **argv)
{
	struct config c;
	int status;

	if (argc < 2 || argc > 3)
		return opt_usage_error(&config_command, argc < 2 ? "check: no file" : "check: a file and a program");
	status = config_read(&c, argv[1]);
	if (status)
		return status;
	if (!status && argc == 3)
		status = check_program(&c, argv[2]);
	else if (!status)
		printf("%s: %zu entr%s\n", c.path, c.n, c.n == 1 ? "y" : "ies");
	config_free(&c);
	return status;
}

/* ---- output ---- */

/* The first program of a trace; for free().  NULL after a message. */
static char *program_of(const char *dir)
{
	struct sonde_trace *trace;
	char *program;

	if (pick_open(dir, &trace))
		return NULL;
	program = strdup(sonde_trace_rank(trace, 0)->program);
	if (!program)
		config_no_memory();
	sonde_trace_close(trace);
	return program;
}

static int output(int argc, char **argv)
{
	const char *dir = argc > 2 ? argv[2] : DEFAULT_TRACE;
	struct config_files f = { 0 };
	struct config c;
	char *program;
	int status;

	if (argc < 2 || argc > 3)
		return opt_usage_error(&config_command, argc < 2 ? "output: no file" : "output: a file and a trace");
	status = config_read(&c, argv[1]);
	if (status)
		return status;
	program = program_of(dir);
	status = program ? config_resolve(&f, &c, program) : EXIT_USAGE;
	if (!status)
		status = config_outputs(&f, dir, -1);
	config_files_free(&f);
	free(program);
	config_free(&c);
	return status;
}

/* ---- explain ---- */

static const struct {
	unsigned int has;
	const char *key, *text;
} keys[] = {
	{ CONFIG_HAS_VARIABLES, "variables", "only accesses to these variables, their fields, or blocks of the heap: particles.pos, solve:forces, malloc at mesh.c:61" },
	{ CONFIG_HAS_ARGUMENTS, "arguments",
	 "names of arguments; 'return' is what a function returns; all if it is left out" },
	{ CONFIG_HAS_BY, "by", "what is a row of the table" },
	{ CONFIG_HAS_SYSTEM, "system",
	 "what caches are simulated: as `sonde cache --system'; this machine's if it is left out" },
	{ CONFIG_HAS_TOP, "top", "so many of the most frequent values; 10 if it is left out" },
	{ CONFIG_HAS_LIMIT, "limit",
	 "the first so many calls of each function in each thread, or accesses of each thread" },
	{ CONFIG_HAS_SAMPLE, "sample",
	 "record accesses in bursts, as `sonde record --sample'; the same in all entries about accesses" },
	{ CONFIG_HAS_CALLS, "when: { call: N }", "the N-th call of each function in each thread; 3-5, 3- likewise" },
	{ CONFIG_HAS_CALLS, "when: { argument: 'n > 100' }", "calls where an argument is so: < <= > >= == !=" },
	{ CONFIG_HAS_THREAD, "when: { thread: N }", "the N-th thread of the process; 1 is the first" },
	{ 0, "when: { rank: N }", "this MPI rank alone" },
	{ 0, "output", "'trace' (if it is left out): it is in the trace, for other verbs; else a file for a text" },
};

static void print_list(const char *words)
{
	for (; *words; words += strlen(words) + 1)
		printf(" %s", words);
}

static int explain_type(const struct config_about *about)
{
	printf("%s: %s\n", about->name, about->summary);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].has && !(about->keys & keys[i].has))
			continue;
		printf("  %-30s %s", keys[i].key, keys[i].text);
		if (keys[i].has == CONFIG_HAS_BY) {
			fputs(":", stdout);
			print_list(about->bys);
			printf("; %s if it is left out", about->by);
		}
		putchar('\n');
	}
	return 0;
}

static int explain_all(void)
{
	puts("instrumentation:                a list of entries, each of which has\n"
	     "  - type: TYPE                  what is measured\n"
	     "    location: PLACE             where: one place, a list, or several with commas\n"
	     "    output: FILE                and what its type may have: `sonde config explain TYPE'\n"
	     "program: FILE                   of a job that a script starts: whose code it is\n"
	     "\nTypes:");
	for (unsigned int i = 0; i < CONFIG_TYPES; i++)
		printf("  %-20s %s\n", config_about[i].name, config_about[i].summary);
	puts("\nPlaces:\n"
	     "  function NAME                 NAME as for -F: solve, 'num::*', /regex/, bar(int, int), inflate@libz\n"
	     "  loop at FILE:LINE             the loop whose 'for' or 'while' is there, and the loops in it\n"
	     "  lines FILE:FIRST-LAST         code of these lines of the source\n"
	     "  variable NAME                 accesses to it, by any code of the program\n"
	     "  library NAME                  all functions of it: libz\n"
	     "  all                           all functions of the program\n"
	     "\nKeys, beside type and location:");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		printf("  %-30s %s\n", keys[i].key, keys[i].text);
	return 0;
}

static int explain(int argc, char **argv)
{
	if (argc < 2)
		return explain_all();
	for (unsigned int i = 0; i < CONFIG_TYPES; i++)
		if (strcmp(config_about[i].name, argv[1]) == 0)
			return explain_type(&config_about[i]);
	return opt_usage_error(&config_command, "no type is called '%s'", argv[1]);
}

static int example(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fwrite(config_example, 1, (size_t)(config_example_end - config_example), stdout);
	return 0;
}

int verb_config(int argc, char **argv)
{
	static const struct {
		const char *word;
		int (*run)(int argc, char **argv);
	} words[] = { { "check", check }, { "output", output }, { "explain", explain }, { "example", example } };
	struct config_options o = { 0 };
	int first = opt_parse(&config_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&config_command, "check, output, explain or example?");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(argv[first], words[i].word) == 0)
			return words[i].run(argc - first, argv + first);
	return opt_usage_error(&config_command, "'%s': check, output, explain or example belongs there", argv[first]);
}
