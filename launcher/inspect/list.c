/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde list`: a program's functions, as far as its files tell. Each entry is planned as it would be
 * for a wrapper, with the branches of the whole segment known; with -F see list-mirrored.c.
 */
#include "injector/image/symbols.h"
#include "launcher/inspect/anatomy.h"
#include "launcher/inspect/functions.h"
#include "launcher/inspect/list.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/common/signatures.h"
#include "launcher/program/program.h"
#include "launcher/verbs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct opt list_opts[] = {
	{ 'F', "functions", "PATTERN", "what 'sonde record -F PATTERN' chooses, with blocks and loops", OPT_LIST,
	  offsetof(struct list_options, select.functions), NULL },
	{ 'N', "no-functions", "PATTERN", "but not these", OPT_LIST,
	  offsetof(struct list_options, select.excluded), NULL },
	{ 0, "libs", "GLOB", "also of the libraries that the program needs: of all, or those called GLOB",
	  OPT_LIST_OR, offsetof(struct list_options, select.libs), "*" },
	{ 'l', NULL, NULL, "the same as --libs, of all", OPT_FLAG, offsetof(struct list_options, libraries), NULL },
	{ 0, "libraries", NULL, NULL, OPT_FLAG, offsetof(struct list_options, libraries), NULL },
	{ 0, "min-size", "BYTES", "leave smaller functions out", OPT_SIZE,
	  offsetof(struct list_options, select.min_size), NULL },
	OPT_GUESS(struct list_options, select),
	{ 0, "lines", NULL, "with -F: where functions and loops stand in the source", OPT_FLAG,
	  offsetof(struct list_options, lines), NULL },
	{ 'r', "refused", NULL, "only those that cannot be instrumented", OPT_FLAG,
	  offsetof(struct list_options, refused_only), NULL },
	OPT_SIGNATURES(struct list_options, signatures),
	{ 'v', "verbose", NULL, "with -F: why each is taken for a function", OPT_FLAG, offsetof(struct list_options, verbose), NULL },
	{ 0, "csv", NULL, "with -F: comma-separated values", OPT_FLAG, offsetof(struct list_options, csv), NULL },
	{ 0, "json", NULL, "with -F: JSON, one object a line", OPT_FLAG, offsetof(struct list_options, json), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct list_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command list_command = {
	.name = "list",
	.usage = "[OPTION]... PROGRAM|LIBRARY|DIR [PATTERN]...",
	.summary = "Lists functions that can be instrumented, and for the others why not.",
	.opts = list_opts,
	.details = "Without -F: functions that modules can wrap. Address and size (0: not known), both\n"
		   "hexadecimal, then the name; names of one function are joined by '='.\n"
		   "With -F: functions that can be recorded without a module; sizes are decimal.\n"
		   "Of a trace, in DIR: which were instrumented, and which were left alone; how many were never called.\n"
		   "For PATTERNs see sonde(1); NAME@LIB looks into libraries without --libs.\n",
	.examples = "sonde list -F '*' ./app\tall functions, and how many can be recorded\n"
		    "sonde list -F 'solve*' --lines ./app\tloops of some functions, with source lines\n"
		    "sonde list ./app 'solve*'\tsome of a program's functions\n"
		    "sonde list --libs ./app malloc\tthe program's or its library's\n"
		    "sonde list -r /lib/x86_64-linux-gnu/libc.so.6\twhat is refused in the C library\n"
		    "sonde list -r sonde.data\twhat was left alone in a recording, and why\n",
};

/* ---- one function ---- */

static bool function_matches(const struct listing *l, const struct function *f)
{
	const char *few[8], **names = f->nnames > 8 ? calloc(f->nnames, sizeof(*names)) : few;
	struct select_function fn = {
		.addr = f->symbols[0].addr, .size = f->size, .names = names, .nnames = f->nnames,
	};

	if (!names)
		return false;
	for (size_t i = 0; i < f->nnames; i++)
		names[i] = f->symbols[i].name;
	bool matches = select_wants(l->file, &fn);
	if (!matches)
		select_note_near(l->file, &fn);
	if (names != few)
		free(names);
	return matches;
}

static void print_function(const struct listing *l, const struct function *f)
{
	if (!f->refused && l->o->refused_only)
		return;
	printf("%12llx %8llx  ", (unsigned long long)f->symbols[0].addr, (unsigned long long)f->size);
	print_symbols(f->symbols, f->nnames, l->o->mangled);
	print_source(f->symbols);
	if (f->is_ifunc)
		fputs(" (IFUNC: its code is chosen when the program starts)", stdout);
	if (f->refused)
		printf("  -- not instrumented: %s", f->refused);
	putchar('\n');
}

/* ---- one file ---- */

static bool add_function(void *arg, const struct function *f)
{
	struct listing *l = arg;

	if (!function_matches(l, f))
		return true;
	if (!f->is_part || l->o->refused_only)
		print_function(l, f);
	if (f->is_part) {
		l->parts++;
		return true;
	}
	if (!f->refused) {
		l->usable++;
		return true;
	}
	l->refused++;
	functions_count(l->counts, &l->ncounts, f->refused);
	return true;
}

/* @recorded: what -F would come to; NULL: not asked for. */
static void print_summary(const struct listing *l, const struct listing *recorded, const char *path)
{
	size_t n = l->usable + l->refused;

	printf("%s: modules can wrap %zu of %zu function%s", path, l->usable, n, n == 1 ? "" : "s");
	for (size_t i = 0; i < l->ncounts; i++)
		printf("%s%zu: %s", i ? "; " : " (not ", l->counts[i].n, l->counts[i].reason);
	printf("%s", l->ncounts ? ")" : "");
	if (l->parts)
		printf("; %zu %s of functions", l->parts, l->parts == 1 ? "symbol is a part" : "symbols are parts");
	if (recorded)
		printf("; -F can record %zu of %zu without a module", recorded->usable, recorded->usable + recorded->refused);
	putchar('\n');
}

/* What modules can wrap. */
static int list_wrapped(struct listing *l, const char *path, enum select_kind kind)
{
	struct listing one = { .o = l->o, .sel = l->sel, .file = select_open(l->sel, path, kind) };
	struct listing recorded = { .o = l->o, .sel = l->sel };
	int status = EXIT_USAGE;

	if (!one.file)
		msg_error("%s: out of memory", path);
	else
		status = functions_of(path, add_function, &one);
	select_close(one.file);
	if (!status && !l->has_patterns)
		status = list_count(&recorded, path, kind);
	if (!status && (one.usable + one.refused || !l->has_patterns))
		print_summary(&one, l->has_patterns ? NULL : &recorded, path);
	l->usable += one.usable;
	l->refused += one.refused;
	return status;
}

static int list_file(struct listing *l, const char *path, enum select_kind kind)
{
	if (!select_object(l->sel, path, kind))
		return 0;
	return l->o->select.functions.n ? list_mirrored(l, path, kind) : list_wrapped(l, path, kind);
}

/* ---- the libraries ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

struct library_listing {
	struct listing *l;
	const struct program *p;
};

static int list_library(const char *path, void *arg)
{
	const struct library_listing *all = arg;

	return list_file(all->l, path,
			 is_same_file(path, all->p->interp) ? SELECT_LINKER : SELECT_LIBRARY);
}

static int list_libraries(struct listing *l, const struct program *p)
{
	struct library_listing all = { l, p };
	int status = program_libraries(p, list_library, &all);

	if (status < 0)
		msg_warn("%s: not all of its libraries were found", p->path);
	return status < 0 ? 0 : status;
}

/* ---- the verb ---- */

/* A library may lie about without the right to be executed. */
static bool is_elf_file(const char *path)
{
	char magic[4];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool yes = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		   read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
		   memcmp(magic, "\177ELF", sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

static int list_program(struct listing *l, const char *name)
{
	struct program p;

	bool is_file = strchr(name, '/') && is_elf_file(name);

	if (is_file && !l->o->select.libs.n && !select_needs_libraries(l->sel, name))
		return list_file(l, name, SELECT_PROGRAM);
	int status = program_resolve(name, &p);
	if (status)
		return status;
	if (p.is_script)
		msg_info("%s is a script; its interpreter is %s", name, p.elf_path);
	status = list_file(l, p.elf_path, SELECT_PROGRAM);
	if (!status && (l->o->select.libs.n || select_needs_libraries(l->sel, p.elf_path)))
		status = list_libraries(l, &p);
	program_free(&p);
	return status;
}

static int make_selection(struct listing *l, struct list_options *o, char **patterns, int n)
{
	static const char *everything[] = { "*" };
	struct select_options select = o->select;
	char problem[256];

	if (!o->select.functions.n) {
		select.option = "";
		select.functions = (struct opt_list){ n ? (const char **)patterns : everything, n ? (size_t)n : 1 };
	}
	l->has_patterns = o->select.functions.n || n;
	l->sel = select_new(&select, problem, sizeof(problem));
	return l->sel ? 0 : opt_usage_error(&list_command, "%s", problem);
}

static int check(struct listing *l, struct list_options *o, char **patterns, int n)
{
	if (o->lines && !o->select.functions.n)
		return opt_usage_error(&list_command, "--lines: only with -F");
	if ((o->verbose || o->csv || o->json || o->select.guess) && !o->select.functions.n)
		return opt_usage_error(&list_command, "--guess, --verbose, --csv, --json: only with -F");
	if (o->csv && o->json)
		return opt_usage_error(&list_command, "--csv and --json exclude each other");
	if ((o->csv || o->json) && o->lines)
		return opt_usage_error(&list_command, "--lines: not with --csv or --json");
	if (o->select.functions.n && n)
		return opt_usage_error(&list_command, "'%s': with -F there are no other patterns", patterns[0]);
	if (o->libraries && !o->select.libs.n && !opt_list_append(&o->select.libs, "*")) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	return make_selection(l, o, patterns, n);
}

static int nothing_found(const struct listing *l, const char *name)
{
	if (l->has_patterns)
		select_say_none(l->sel, name);
	else
		msg_error("%s: has no symbols of functions, nor a separate file with them; `sonde list -F '*'' shows "
			  "what else is known", name);
	return EXIT_USAGE;
}

static bool is_folder(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

static int list_folder(const struct listing *l, const char *dir, char **patterns, int n)
{
	struct select_options select = { .option = "", .functions = l->o->select.functions, .excluded = l->o->select.excluded };

	if (l->o->verbose || l->o->csv || l->o->json || l->o->select.guess || l->o->lines || l->o->libraries || l->o->select.libs.n || l->o->select.min_size)
		return opt_usage_error(&list_command, "%s is a trace: only -F, -N, -r and --mangled are for those", dir);
	if (select.functions.n && n)
		return opt_usage_error(&list_command, "'%s': with -F there are no other patterns", patterns[0]);
	if (n)
		select.functions = (struct opt_list){ (const char **)patterns, (size_t)n };
	return list_trace(l, dir, &select);
}

int verb_list(int argc, char **argv)
{
	struct list_options o = { 0 };
	struct listing l = { .o = &o };
	int first = opt_parse(&list_command, argc, argv, &o);
	int status = first < 0 ? OPT_STATUS(first) : 0;

	if (first == argc)
		status = opt_usage_error(&list_command, "no program");
	else if (!status && o.signatures)
		status = signatures_use(o.signatures);
	if (status) {
		; /* said */
	} else if (first >= 0 && first < argc && is_folder(argv[first])) {
		status = list_folder(&l, argv[first], argv + first + 1, argc - first - 1);
	} else if (first >= 0 && first < argc) {
		status = check(&l, &o, argv + first + 1, argc - first - 1);
		if (!status)
			status = list_program(&l, argv[first]);
		if (!status && !(l.usable + l.refused))
			status = nothing_found(&l, argv[first]);
		else if (!status)
			select_warn(l.sel, true);
	}
	select_free(l.sel);
	select_options_free(&o.select);
	return status;
}
