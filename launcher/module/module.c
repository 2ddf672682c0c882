/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde module`: list, new, build. */
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/modmpi.h"
#include "launcher/module/modnew.h"
#include "launcher/common/options.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH 100
#define INDENT 16

/* ---- list ---- */

struct list_options {
	bool brief;
};

static const struct opt list_opts[] = {
	{ 'b', "brief", NULL, "one line for each module, without its functions", OPT_FLAG,
	  offsetof(struct list_options, brief), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command list_command = {
	.name = "module list",
	.usage = "[OPTION]... [MODULE]...",
	.summary = "Shows modules and what they wrap: those that can be used by name, or the ones given.",
	.opts = list_opts,
	.details = "Names are looked up in the folders of $SONDE_MODULE_PATH, then in\n"
		   PKGLIBDIR "/modules.\n",
	.examples = "sonde module list\tall of them\n"
		    "sonde module list ./mine.c\twhat a file of your own wraps\n",
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct modfile_wrap *)a)->symbol, ((const struct modfile_wrap *)b)->symbol);
}

static void print_functions(const struct modfile *m)
{
	int column = 0;

	qsort(m->wraps, m->nwraps, sizeof(*m->wraps), by_name);
	for (size_t i = 0; i < m->nwraps; i++) {
		int len = (int)strlen(m->wraps[i].symbol) + 1;

		if (column + len > LINE_WIDTH || !column)
			column = printf("%s%*s", column ? "\n" : "", INDENT - 1, "") - (column > 0);
		column += printf(" %s", m->wraps[i].symbol);
	}
	if (column)
		putchar('\n');
}

/* What it is about: functions, memory accesses, or both. */
static void print_extent(const struct modfile *m)
{
	bool memory = modfile_takes_memory(m);

	if (m->nwraps || !memory)
		printf("%zu function%s", m->nwraps, m->nwraps == 1 ? "" : "s");
	if (memory)
		printf("%smemory accesses", m->nwraps ? ", " : "");
}

static void print_module(const struct modfile *m, bool brief)
{
	printf("%-*s %s; ", INDENT - 1, m->spec, m->description);
	print_extent(m);
	if (m->needs)
		printf(" (for %s)", m->needs);
	putchar('\n');
	if (!brief)
		print_functions(m);
}

static int list_modules(int argc, char **argv)
{
	struct list_options o = { 0 };
	struct modfile_list list = { 0 };
	int status = 0;
	int first = opt_parse(&list_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		status = modfile_all(&list);
	for (int i = first; i < argc && !status; i++)
		status = modfile_add(&list, argv[i], NULL);
	for (size_t i = 0; i < list.n && !status; i++)
		print_module(&list.v[i], o.brief);
	if (!status && first == argc && list.n && !modmpi_is_listed(&list))
		printf("%-*s compiled for an MPI when it is first used\n", INDENT - 1, "mpi");
	if (!status && !list.n)
		msg_info("no modules in $SONDE_MODULE_PATH or " PKGLIBDIR "/modules");
	modfile_list_free(&list);
	return status;
}

/* ---- build ---- */

struct build_options {
	const char *out;
};

static const struct opt build_opts[] = {
	{ 'o', "output", "FILE", "the module to write (SOURCE with .so for .c, in this folder)",
	  OPT_STRING, offsetof(struct build_options, out), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command build_command = {
	.name = "module build",
	.usage = "[OPTION]... SOURCE.c",
	.summary = "Compiles a module. 'sonde -m ./SOURCE.c' does so by itself; this is for keeping it.",
	.opts = build_opts,
	.details = "The compiler is $CC, else cc, gcc or clang; $SONDE_CFLAGS is passed on.\n",
	.examples = "sonde module build mine.c\twrites mine.so\n"
		    "SONDE_CFLAGS=-lm sonde module build mine.c\twith a library\n",
};

static char *default_output(const char *source)
{
	const char *base = path_basename(source);
	char *out = NULL;

	return asprintf(&out, "%.*s.so", (int)strlen(base) - 2, base) < 0 ? NULL : out;
}

static int build(const char *source, const char *out)
{
	struct modfile m;
	int status = modfile_build(source, out);

	if (status)
		return status;
	status = modfile_read(out, out, &m);
	if (status)
		return status;
	printf("%s: ", out);
	print_extent(&m);
	putchar('\n');
	modfile_free(&m);
	return 0;
}

static int build_module(int argc, char **argv)
{
	struct build_options o = { 0 };
	int first = opt_parse(&build_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first != 1)
		return opt_usage_error(&build_command, first == argc ? "no source file"
								     : "more than one source file");
	size_t len = strlen(argv[first]);
	if (len < 3 || strcmp(argv[first] + len - 2, ".c") != 0)
		return opt_usage_error(&build_command, "%s: not a .c file", argv[first]);
	char *out = o.out ? strdup(o.out) : default_output(argv[first]);
	int status = out ? build(argv[first], out) : EXIT_USAGE;
	free(out);
	return status;
}

/* ---- the verb ---- */

static const struct opt module_opts[] = { OPT_HELP, OPT_END };

static const struct opt_command module_command = {
	.name = "module",
	.usage = "list|new|build [OPTION]... [ARGUMENT]...",
	.summary = "Modules are C files that wrap a program's functions.",
	.opts = module_opts,
	.details = "  list     show modules and what they wrap\n"
		   "  new      write a module from prototypes, a header or a library\n"
		   "  build    compile a module\n"
		   "'sonde module new --help' explains one of them.\n",
	.examples = "sonde module list\twhat there is\n"
		    "sonde module new mine --header mine.h\ta start for one of your own\n",
	.stop_at_operand = true,
};

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} actions[] = {
	{ "list", list_modules },
	{ "new", module_new },
	{ "build", build_module },
};

int verb_module(int argc, char **argv)
{
	char nothing;
	int first = opt_parse(&module_command, argc, argv, &nothing);

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&module_command, "what to do is missing: list, new or build");
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(actions[i].name, argv[first]) == 0)
			return actions[i].run(argc - first, argv + first);
	}
	return opt_usage_error(&module_command, "no action '%s'", argv[first]);
}
