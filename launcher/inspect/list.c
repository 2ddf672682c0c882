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
#include "launcher/record/program.h"
#include "launcher/verbs.h"

#include <fcntl.h>
#include <fnmatch.h>
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
	{ 0, "min-size", "BYTES", "leave smaller functions out", OPT_SIZE,
	  offsetof(struct list_options, select.min_size), NULL },
	{ 0, "lines", NULL, "with -F: where functions and loops stand in the source", OPT_FLAG,
	  offsetof(struct list_options, lines), NULL },
	{ 'l', "libraries", NULL, "also the functions of the libraries that the program needs", OPT_FLAG,
	  offsetof(struct list_options, libraries), NULL },
	{ 'r', "refused", NULL, "only those that cannot be instrumented", OPT_FLAG,
	  offsetof(struct list_options, refused_only), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct list_options, mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command list_command = {
	.name = "list",
	.usage = "[OPTION]... PROGRAM|LIBRARY [PATTERN]...",
	.summary = "Lists functions that can be instrumented, and for the others why not.",
	.opts = list_opts,
	.details = "Without -F: functions that modules can wrap. Address and size (0: not known), both\n"
		   "hexadecimal, then the name; names of one function are joined by '='. PATTERNs are shell\n"
		   "patterns; they choose functions by any name.\n"
		   "With -F: functions that can be recorded without a module; sizes are decimal. For its\n"
		   "PATTERNs see 'sonde record --help'.\n",
	.examples = "sonde list -F '*' ./app\tall functions, and how many can be recorded\n"
		    "sonde list -F 'solve*' --lines ./app\tloops of some functions, with source lines\n"
		    "sonde list ./app 'solve*'\tsome of a program's functions\n"
		    "sonde list -l ./app malloc\tthe program's or its library's\n"
		    "sonde list -r /lib/x86_64-linux-gnu/libc.so.6\twhat is refused in the C library\n",
};

/* ---- one function ---- */

static bool name_matches(const struct listing *l, const char *name)
{
	if (!l->patterns[0])
		return true;
	char *plain = inj_demangle(name);
	bool matches = false;
	for (char **p = l->patterns; *p && !matches; p++)
		matches = fnmatch(*p, name, 0) == 0 || (plain && fnmatch(*p, plain, 0) == 0);
	free(plain);
	return matches;
}

static bool function_matches(const struct listing *l, const struct function *f)
{
	for (size_t i = 0; i < f->nnames; i++) {
		if (name_matches(l, f->symbols[i].name))
			return true;
	}
	return false;
}

static void print_function(const struct listing *l, const struct function *f)
{
	if (!f->refused && l->o->refused_only)
		return;
	printf("%12llx %8llx  ", (unsigned long long)f->symbols[0].addr, (unsigned long long)f->size);
	print_symbols(f->symbols, f->nnames, l->o->mangled);
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

static void print_summary(const struct listing *l, const char *path)
{
	printf("%s: %zu of %zu functions can be instrumented", path, l->usable, l->usable + l->refused);
	for (size_t i = 0; i < l->ncounts; i++)
		printf("%s%zu: %s", i ? "; " : " (not ", l->counts[i].n, l->counts[i].reason);
	printf("%s", l->ncounts ? ")" : "");
	if (l->parts)
		printf("; %zu symbols are parts of functions", l->parts);
	putchar('\n');
}

static int list_file(struct listing *l, const char *path, enum select_kind kind)
{
	struct listing one = { .o = l->o, .patterns = l->patterns };

	if (l->sel)
		return list_mirrored(l, path, kind);
	int status = functions_of(path, add_function, &one);

	if (status)
		return status;
	if (one.usable + one.refused || !l->patterns[0])
		print_summary(&one, path);
	l->usable += one.usable;
	l->refused += one.refused;
	return 0;
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

	if (strchr(name, '/') && is_elf_file(name) && !l->o->libraries)
		return list_file(l, name, SELECT_PROGRAM);
	int status = program_resolve(name, &p);
	if (status)
		return status;
	if (p.is_script)
		msg_info("%s is a script; its interpreter is %s", name, p.elf_path);
	status = list_file(l, p.elf_path, SELECT_PROGRAM);
	if (!status && l->o->libraries)
		status = list_libraries(l, &p);
	program_free(&p);
	return status;
}

/* -l means libraries' functions too, so also for patterns that name no library. */
static int make_selection(struct listing *l, struct list_options *o)
{
	static const char *everything[] = { "*" };
	struct select_options select = o->select;
	char problem[256];

	if (o->libraries)
		select.libs = (struct opt_list){ everything, 1 };
	l->sel = select_new(&select, problem, sizeof(problem));
	return l->sel ? 0 : opt_usage_error(&list_command, "%s", problem);
}

static int check(struct listing *l, struct list_options *o)
{
	const struct select_options *s = &o->select;
	const char *lonely = s->excluded.n	       ? "--no-functions"
			     : s->min_size != UINT64_MAX ? "--min-size"
			     : o->lines		       ? "--lines"
						       : NULL;

	if (!s->functions.n)
		return lonely ? opt_usage_error(&list_command, "%s: only with -F", lonely) : 0;
	if (l->patterns[0])
		return opt_usage_error(&list_command, "'%s': with -F there are no other patterns",
				       l->patterns[0]);
	if (s->min_size == UINT64_MAX)
		o->select.min_size = 0;
	return make_selection(l, o);
}

static int nothing_found(const struct listing *l, const char *name)
{
	if (l->sel)
		select_say_none(l->sel, name);
	else if (l->patterns[0])
		msg_error("%s: no function matches '%s'", name, l->patterns[0]);
	else
		msg_error("%s: has no symbols of functions, nor a separate file with them", name);
	return EXIT_USAGE;
}

int verb_list(int argc, char **argv)
{
	struct list_options o = { .select.min_size = UINT64_MAX };
	struct listing l = { .o = &o };
	int first = opt_parse(&list_command, argc, argv, &o);
	int status = first < 0 ? OPT_STATUS(first) : 0;

	if (first == argc)
		status = opt_usage_error(&list_command, "no program");
	if (first >= 0 && first < argc) {
		l.patterns = argv + first + 1;
		status = check(&l, &o);
		if (!status)
			status = list_program(&l, argv[first]);
		if (!status && !(l.usable + l.refused))
			status = nothing_found(&l, argv[first]);
		else if (!status && l.sel)
			select_warn(l.sel, true);
	}
	select_free(l.sel);
	select_options_free(&o.select);
	return status;
}
