/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde list`: a program's functions, as far as its files tell. Each entry is planned as it would be
 * for recording, with the branches of the whole segment known.
 */
#include "injector/symbols.h"
#include "launcher/functions.h"
#include "launcher/message.h"
#include "launcher/options.h"
#include "launcher/program.h"
#include "launcher/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct list_options {
	bool libraries, mangled, refused_only;
};

static const struct opt list_opts[] = {
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
	.details = "Address and size (0: not known), both hexadecimal, then the name; names of one function\n"
		   "are joined by '='. PATTERNs are shell patterns; they choose functions by any name.\n",
	.examples = "sonde list ./app 'solve*'\tsome of a program's functions\n"
		    "sonde list -l ./app malloc\tthe program's or its library's\n"
		    "sonde list -r /lib/x86_64-linux-gnu/libc.so.6\twhat is refused in the C library\n",
};

struct listing {
	const struct list_options *o;
	char **patterns; /* up to NULL */
	size_t usable, refused, parts;
	struct functions_count counts[FUNCTIONS_MAX_REASONS];
	size_t ncounts;
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

/* malloc'ed; NULL: no memory. */
static char *display_name(const struct listing *l, const char *name)
{
	char *plain = l->o->mangled ? NULL : inj_demangle(name);

	return plain ? plain : strdup(name);
}

/* Versions of a symbol, and C++ constructors, have the same name several times. */
static bool is_repeated(char *const *names, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (names[i] && strcmp(names[i], names[index]) == 0)
			return true;
	}
	return false;
}

static void print_names(const struct listing *l, const struct function *f)
{
	char **names = calloc(f->nnames, sizeof(*names));

	for (size_t i = 0; names && i < f->nnames; i++) {
		names[i] = display_name(l, f->symbols[i].name);
		if (names[i] && !is_repeated(names, i))
			printf("%s%s", i ? " = " : "", names[i]);
	}
	for (size_t i = 0; names && i < f->nnames; i++)
		free(names[i]);
	free(names);
}

static void print_function(const struct listing *l, const struct function *f)
{
	if (!f->refused && l->o->refused_only)
		return;
	printf("%12llx %8llx  ", (unsigned long long)f->symbols[0].addr, (unsigned long long)f->size);
	print_names(l, f);
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

static int list_file(struct listing *l, const char *path)
{
	struct listing one = { .o = l->o, .patterns = l->patterns };
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

/* "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)", or without the first part. */
static char *library_of_line(char *line)
{
	char *arrow = strstr(line, "=> ");
	char *path = arrow ? arrow + 3 : line + strspn(line, " \t");
	char *end = strrchr(path, '(');

	if (*path != '/' || !end || end == path)
		return NULL;
	while (end > path && end[-1] == ' ')
		end--;
	*end = '\0';
	return path;
}

/* Asks the dynamic linker itself, which knows its own rules; the program is not run. */
static FILE *run_linker(const struct program *p, pid_t *pid)
{
	char list[] = "--list";
	char *argv[] = { p->interp, list, p->elf_path, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return NULL;
	if (posix_spawn_file_actions_init(&actions) != 0)
		goto fail;
	int err = posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	if (!err)
		err = posix_spawn(pid, p->interp, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		goto fail;
	close(fds[1]);
	return fdopen(fds[0], "r");
fail:
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

static int list_libraries(struct listing *l, const struct program *p)
{
	pid_t pid;
	FILE *lines = p->interp ? run_linker(p, &pid) : NULL;
	char *line = NULL;
	size_t size = 0;
	int status = 0, child;

	if (!p->interp)
		return 0;
	if (!lines) {
		msg_error("%s: cannot be run to find the libraries: %m", p->interp);
		return EXIT_USAGE;
	}
	while (!status && getline(&line, &size, lines) > 0) {
		char *path = library_of_line(line);

		if (path)
			status = list_file(l, path);
	}
	free(line);
	fclose(lines);
	while (waitpid(pid, &child, 0) < 0 && errno == EINTR)
		;
	if (!status && (!WIFEXITED(child) || WEXITSTATUS(child)))
		msg_warn("%s: not all of its libraries were found", p->path);
	return status;
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
		return list_file(l, name);
	int status = program_resolve(name, &p);
	if (status)
		return status;
	if (p.is_script)
		msg_info("%s is a script; its interpreter is %s", name, p.elf_path);
	status = list_file(l, p.elf_path);
	if (!status && l->o->libraries)
		status = list_libraries(l, &p);
	program_free(&p);
	return status;
}

int verb_list(int argc, char **argv)
{
	struct list_options o = { 0 };
	struct listing l = { .o = &o };
	int first = opt_parse(&list_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&list_command, "no program");
	l.patterns = argv + first + 1;
	int status = list_program(&l, argv[first]);
	if (!status && !(l.usable + l.refused)) {
		if (l.patterns[0])
			msg_error("%s: no function matches '%s'", argv[first], l.patterns[0]);
		else
			msg_error("%s: has no symbols of functions, nor a separate file with them",
				  argv[first]);
		return EXIT_USAGE;
	}
	return status;
}
