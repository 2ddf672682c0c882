/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running the compiler on a module. */
#include "launcher/common/installed.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct args {
	char **v;
	size_t n;
	bool failed;
};

static void push(struct args *a, char *value)
{
	char **v = value ? reallocarray(a->v, a->n + 2, sizeof(*v)) : NULL;

	if (!v) {
		free(value);
		a->failed = true;
		return;
	}
	v[a->n++] = value;
	v[a->n] = NULL;
	a->v = v;
}

void modfile_argv_free(char **argv)
{
	for (char **p = argv; p && *p; p++)
		free(*p);
	free(argv);
}

/* Words are split at blanks, as make does with $(CC) and $(CFLAGS) but for quotes. */
static void push_words(struct args *a, const char *text)
{
	static const char blank[] = " \t\n";

	for (const char *p = text + strspn(text, blank); *p; p += strspn(p, blank)) {
		size_t len = strcspn(p, blank);

		push(a, strndup(p, len));
		p += len;
	}
}

static void push_compiler(struct args *a, const char *compiler)
{
	static const char *const known[] = { "cc", "gcc", "clang" };
	const char *cc = compiler ? compiler : getenv("CC");

	if (cc && cc[strspn(cc, " \t\n")]) {
		push_words(a, cc);
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char *path = program_find(known[i]);
		bool usable = path && access(path, X_OK) == 0;

		free(path);
		if (usable) {
			push(a, strdup(known[i]));
			return;
		}
	}
}

static char *include_path(void)
{
	const char *path = getenv("SONDE_INCLUDE_PATH");

	return path && *path ? strdup(path) : installed_path(INCLUDEDIR);
}

static void push_includes(struct args *a)
{
	char *path = include_path(), *rest = path, *folder;

	a->failed |= !path;
	while ((folder = strsep(&rest, ":"))) {
		char *flag = NULL;

		if (*folder && asprintf(&flag, "-I%s", folder) < 0)
			flag = NULL;
		if (*folder)
			push(a, flag);
	}
	free(path);
}

/*
 * No stack protector and no fortified functions: those are libc's, which a static program's modules
 * do not have. Lazy binding: a module stays preloaded in programs that this one starts, and those
 * may lack a library whose functions it calls.
 */
static const char *const flags[] = {
	"-std=gnu17", "-O2", "-g", "-Wall", "-fPIC", "-shared", "-fvisibility=hidden",
	"-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-exceptions",
	"-fasynchronous-unwind-tables", "-Wl,-z,lazy", "-Wl,--as-needed",
};

char **modfile_compiler_argv(const char *source, const char *compiler, const char *const *extra)
{
	struct args a = { 0 };
	const char *cflags = getenv("SONDE_CFLAGS");

	push_compiler(&a, compiler);
	if (!a.n && !a.failed)
		msg_error("%s: no C compiler (cc, gcc or clang in $PATH, or $CC) to compile it with",
			  source);
	if (!a.n)
		return NULL;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		push(&a, strdup(flags[i]));
	push_includes(&a);
	for (; extra && *extra; extra++)
		push(&a, strdup(*extra));
	push(&a, strdup(source));
	/* After the source, so that it may name libraries too. */
	push_words(&a, cflags ? cflags : "");
	if (!a.failed)
		return a.v;
	msg_error("out of memory");
	modfile_argv_free(a.v);
	return NULL;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

/* The compiler's messages are the user's to read; what it prints must not mix with our output. */
static int run(char **argv, int *status)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	int err = posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (!err)
		*status = wait_for(pid);
	return err;
}

static bool have_header(const char *path)
{
	for (const char *p = path; *p; p += *p == ':') {
		size_t len = strcspn(p, ":");
		bool found = false;
		char *header;

		if (len && asprintf(&header, "%.*s/sonde/module.h", (int)len, p) >= 0) {
			found = access(header, R_OK) == 0;
			free(header);
		}
		if (found)
			return true;
		p += len;
	}
	return getenv("SONDE_CFLAGS") != NULL; /* may know better */
}

static int check_source(const char *source)
{
	char *path;
	bool found;

	if (access(source, R_OK) != 0) {
		msg_error("%s: cannot be read: %m", source);
		return EXIT_USAGE;
	}
	path = include_path();
	found = path && have_header(path);
	if (!found)
		msg_error("%s: not compiled: <sonde/module.h> is not in %s; set $SONDE_INCLUDE_PATH",
			  source, path ? path : "any folder");
	free(path);
	return found ? 0 : EXIT_USAGE;
}

static int compile(const char *source, char **argv)
{
	int status = 0;
	int err = run(argv, &status);

	msg_debug("%s: compiled by %s", source, argv[0]);
	if (err) {
		msg_error("%s: the compiler %s cannot be run: %s", source, argv[0], strerror(err));
		return EXIT_USAGE;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		msg_error("%s: not compiled; the compiler's messages are above", source);
		return EXIT_USAGE;
	}
	return 0;
}

int modfile_compile(const char *source, const char *compiler, const char *const *extra)
{
	char **argv = check_source(source) ? NULL : modfile_compiler_argv(source, compiler, extra);
	int status = argv ? compile(source, argv) : EXIT_USAGE;

	modfile_argv_free(argv);
	return status;
}

bool modfile_has_header(const char *compiler, const char *header)
{
	const char *const argv[] = { compiler, "-E", "-x", "c", "-include", header, "/dev/null", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	int err = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	if (!err)
		err = posix_spawnp(&pid, compiler, &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	int status = err ? -1 : wait_for(pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int modfile_build(const char *source, const char *out)
{
	char *temp;

	if (asprintf(&temp, "%s.%d.tmp", out, (int)getpid()) < 0)
		return EXIT_USAGE;
	int status = modfile_compile(source, NULL, (const char *[]){ "-o", temp, NULL });
	if (!status && rename(temp, out) != 0) {
		msg_error("%s: cannot be written: %m", out);
		status = EXIT_USAGE;
	}
	if (status)
		unlink(temp);
	free(temp);
	return status;
}
