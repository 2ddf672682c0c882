/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/module/modnew.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/common/options.h"
#include "launcher/record/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct new_options {
	struct opt_list functions;
	const char *header, *library;
	bool force;
};

static const struct opt new_opts[] = {
	{ 0, "function", "PROTOTYPE", "wrap this function: 'int f(int a, char *b);'", OPT_LIST,
	  offsetof(struct new_options, functions), NULL },
	{ 0, "header", "FILE", "wrap the functions declared in a header", OPT_STRING,
	  offsetof(struct new_options, header), NULL },
	{ 0, "library", "FILE", "wrap the functions of a library that has debug information",
	  OPT_STRING, offsetof(struct new_options, library), NULL },
	{ 0, "force", NULL, "write over an existing file", OPT_FLAG,
	  offsetof(struct new_options, force), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command new_command = {
	.name = "module new",
	.usage = "[OPTION]... NAME [FUNCTION]...",
	.summary = "Writes NAME.c, a module that wraps functions and records their arguments.",
	.opts = new_opts,
	.details = "One of --function, --header and --library is needed. FUNCTIONs are shell patterns\n"
		   "that choose among those of the header or library.\n",
	.examples = "sonde module new mine --function 'double f(int n);'\tfrom a prototype\n"
		    "sonde module new z --header zlib.h 'deflate*'\tfrom a header\n"
		    "sonde module new app --library ./libapp.so\tfrom debug information\n",
};

/* Everything that one run needs. */
struct work {
	struct new_options o;
	struct proto_list list;
	struct proto_filter filter;
	const char *name;
	char *path;	/* NAME.c */
	char *soname;
	char *include;
	char *from;
	size_t known_structs;
};

/* ---- from a header ---- */

/* A file of that name here, else one that the compiler finds. */
static char *include_text(const char *header)
{
	char *text = NULL;
	char *real = access(header, R_OK) == 0 ? realpath(header, NULL) : NULL;
	int n = real ? asprintf(&text, "\"%s\"", real) : asprintf(&text, "<%s>", header);

	free(real);
	return n < 0 ? NULL : text;
}

static char *read_all(int fd)
{
	FILE *f = fdopen(fd, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f) {
		close(fd);
		return NULL;
	}
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static int spawn_to_pipe(char **argv, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	int err = posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	if (!err)
		err = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!err)
		return fds[0];
	close(fds[0]);
	errno = err;
	return -1;
}

/* clang would warn of them, as no linker runs. */
static void drop_linker_flags(char **argv)
{
	char **kept = argv;

	for (char **arg = argv; *arg; arg++) {
		if (strncmp(*arg, "-Wl,", 4) == 0 || strcmp(*arg, "-shared") == 0)
			free(*arg);
		else
			*kept++ = *arg;
	}
	*kept = NULL;
}

/* The compiler's output on a one-line source, which includes the header; NULL after a message. */
static char *preprocess(const char *source)
{
	char **argv = modfile_compiler_argv(source, NULL, (const char *[]){ "-E", NULL });
	pid_t pid;
	int status;

	if (!argv)
		return NULL;
	drop_linker_flags(argv);
	int fd = spawn_to_pipe(argv, &pid);
	if (fd < 0)
		msg_error("the compiler %s cannot be run: %m", argv[0]);
	modfile_argv_free(argv);
	if (fd < 0)
		return NULL;
	char *text = read_all(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (text && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return text;
	free(text);
	msg_error("the header cannot be read; the compiler's messages are above");
	return NULL;
}

/* Compilers and C libraries include this on their own. */
static bool is_predefined(const char *name, size_t len)
{
	static const char file[] = "stdc-predef.h";
	size_t n = strlen(file);

	return len >= n && memcmp(name + len - n, file, n) == 0;
}

/*
 * The header's own name in the line markers: the first file that is entered (flag 1) from ours after
 * our own marker line.
 */
static char *main_file_of(const char *text, const char *source)
{
	char ours[300];
	const char *p;

	snprintf(ours, sizeof(ours), "# 1 \"%s\"\n", source);
	p = strstr(text, ours);
	for (p = p ? p + strlen(ours) : text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		const char *open = strncmp(p, "# 1 \"", 5) == 0 ? p + 5 : NULL;
		size_t len = open ? strcspn(open, "\"\n") : 0;

		if (open && strncmp(open + len, "\" 1", 3) == 0 && open[0] != '<' &&
		    !is_predefined(open, len))
			return strndup(open, len);
		if (!*p)
			break;
	}
	return NULL;
}

static char *write_include_source(const char *include)
{
	char *path = NULL;
	const char *tmp = getenv("TMPDIR");

	if (asprintf(&path, "%s/sonde-XXXXXX.c", tmp && *tmp ? tmp : "/tmp") < 0)
		return NULL;
	int fd = mkostemps(path, 2, O_CLOEXEC);
	if (fd < 0 || dprintf(fd, "#include %s\n", include) < 0) {
		msg_error("%s: cannot be written: %m", path);
		free(path);
		path = NULL;
	}
	if (fd >= 0)
		close(fd);
	return path;
}

static int from_header(struct work *w)
{
	w->include = include_text(w->o.header);
	char *source = w->include ? write_include_source(w->include) : NULL;
	if (!source)
		return EXIT_USAGE;
	char *text = preprocess(source);
	unlink(source);
	char *main_file = text ? main_file_of(text, source) : NULL;
	free(source);
	if (!text)
		return EXIT_USAGE;
	bool ok = proto_from_text(&w->list, text, main_file ? main_file : "", &w->filter);
	free(text);
	free(main_file);
	if (!ok)
		msg_error("out of memory");
	w->known_structs = w->list.nstructs;
	w->from = strdup(w->o.header);
	return ok ? 0 : EXIT_USAGE;
}

/* ---- from prototypes, from a library ---- */

static int from_prototypes(struct work *w)
{
	for (size_t i = 0; i < w->o.functions.n; i++) {
		const char *text = w->o.functions.v[i];
		size_t before = w->list.n;
		struct proto_filter all = { 0 };

		if (!proto_from_text(&w->list, text, NULL, &all)) {
			msg_error("out of memory");
			return EXIT_USAGE;
		}
		if (w->list.n == before)
			return opt_usage_error(&new_command, "--function '%s': not a function's prototype",
					       text);
		for (; before < w->list.n; before++) {
			if (!w->list.v[before].refused)
				continue;
			msg_error("%s: no wrapper can be written: %s", w->list.v[before].symbol,
				  w->list.v[before].refused);
			return EXIT_USAGE;
		}
	}
	if (!w->from)
		w->from = strdup("a program");
	return w->from ? 0 : EXIT_USAGE;
}

static int from_library(struct work *w)
{
	const char *slash = strrchr(w->o.library, '/');
	int status = proto_from_dwarf(&w->list, w->o.library, &w->filter, &w->soname);

	w->from = strdup(slash ? slash + 1 : w->o.library);
	return status;
}

/* ---- writing ---- */

/* Compiled once to see that it is good; what it is compiled to is not kept. */
static int try_out(const struct work *w, const char *source)
{
	char *object = NULL;
	int status = EXIT_USAGE;

	if (asprintf(&object, "%s.so", source) >= 0)
		status = modfile_compile(source, NULL, (const char *[]){ "-o", object, NULL });
	if (object)
		unlink(object);
	free(object);
	if (status)
		msg_error("%s: not written, since its wrappers do not compile%s", w->path,
			  w->o.functions.n && !w->o.header
				  ? "; name the header of unknown types with --header" : "");
	return status;
}

/* An existing file is only replaced by a whole one; without --force by none. */
static int put_in_place(const struct work *w, const char *temp)
{
	int failed = w->o.force ? rename(temp, w->path) : link(temp, w->path);

	if (failed) {
		msg_error(errno == EEXIST ? "%s: exists; --force replaces it" : "%s: cannot be written: %m",
			  w->path);
		return EXIT_USAGE;
	}
	return 0;
}

static int write_file(const struct work *w)
{
	struct modtext text = { w->name, w->from, w->soname, w->include, w->known_structs };
	char *temp = NULL;
	int status = 0;

	if (asprintf(&temp, "%s.%d.c", w->path, (int)getpid()) < 0)
		return EXIT_USAGE;
	FILE *out = fopen(temp, "wxe");
	if (!out) {
		msg_error("%s: cannot be written: %m", w->path);
		free(temp);
		return EXIT_USAGE;
	}
	modtext_write(out, &text, &w->list);
	if (fclose(out) != 0) {
		msg_error("%s: cannot be written: %m", w->path);
		status = EXIT_USAGE;
	}
	if (!status)
		status = try_out(w, temp);
	if (!status)
		status = put_in_place(w, temp);
	unlink(temp);
	free(temp);
	return status;
}

/* ---- the verb ---- */

static int check(struct work *w)
{
	const struct new_options *o = &w->o;

	if (o->functions.n + !!o->header + !!o->library == 0)
		return opt_usage_error(&new_command, "what is to be wrapped? --function, --header or "
						     "--library");
	if (o->library && (o->header || o->functions.n))
		return opt_usage_error(&new_command, "--library goes with neither --header nor --function");
	if (w->filter.n && !o->header && !o->library)
		return opt_usage_error(&new_command, "FUNCTIONs choose from a --header or --library");
	for (const char *p = w->name; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '_')
			return opt_usage_error(&new_command, "%s: a module's name is of letters, digits "
							     "and '_'", w->name);
	}
	if (!*w->name)
		return opt_usage_error(&new_command, "an empty name");
	if (!o->force && access(w->path, F_OK) == 0) {
		msg_error("%s: exists; --force replaces it", w->path);
		return EXIT_USAGE;
	}
	return 0;
}

static int check_found(const struct work *w)
{
	size_t usable = 0;

	for (size_t i = 0; i < w->filter.n; i++) {
		if (!w->filter.found[i]) {
			msg_error("%s: no function '%s' there", w->from, w->filter.patterns[i]);
			return EXIT_USAGE;
		}
	}
	for (size_t i = 0; i < w->list.n; i++)
		usable += !w->list.v[i].refused;
	if (usable)
		return 0;
	if (w->list.n)
		msg_error("%s: no wrapper can be written: %s: %s", w->from, w->list.v[0].symbol,
			  w->list.v[0].refused);
	else
		msg_error("%s: no functions found%s", w->from,
			  w->o.header ? " in the file itself; those of headers that it includes are to be "
					"named" : "");
	return EXIT_USAGE;
}

static void report(const struct work *w)
{
	size_t refused = 0;

	for (size_t i = 0; i < w->list.n; i++)
		refused += w->list.v[i].refused != NULL;
	printf("%s: %zu wrapper%s", w->path, w->list.n - refused, w->list.n - refused == 1 ? "" : "s");
	if (refused)
		printf("; %zu function%s left out, listed at its end", refused, refused == 1 ? "" : "s");
	printf("; use it with: sonde -m ./%s PROGRAM\n", w->path);
}

static int make(struct work *w)
{
	int status = check(w);

	/* With both, the header gives the types and, by FUNCTION, more functions. */
	if (!status && w->o.header && (w->filter.n || !w->o.functions.n))
		status = from_header(w);
	else if (!status && w->o.header)
		w->include = include_text(w->o.header);
	if (!status && w->o.functions.n)
		status = from_prototypes(w);
	if (!status && w->o.library)
		status = from_library(w);
	if (!status)
		status = check_found(w);
	if (!status)
		status = write_file(w);
	if (!status)
		report(w);
	return status;
}

int module_new(int argc, char **argv)
{
	struct work w = { 0 };
	int first = opt_parse(&new_command, argc, argv, &w.o);
	int status;

	if (first < 0) {
		status = OPT_STATUS(first);
	} else if (first == argc) {
		status = opt_usage_error(&new_command, "no name for the module");
	} else {
		w.name = argv[first];
		w.filter.patterns = (const char *const *)argv + first + 1;
		w.filter.n = (size_t)(argc - first - 1);
		w.filter.found = calloc(w.filter.n + 1, sizeof(*w.filter.found));
		status = asprintf(&w.path, "%s.c", w.name) < 0 ? EXIT_USAGE : make(&w);
	}
	proto_list_free(&w.list);
	opt_list_free(&w.o.functions);
	free(w.filter.found);
	free(w.path);
	free(w.soname);
	free(w.include);
	free(w.from);
	return status;
}
