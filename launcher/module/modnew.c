/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/module/modnew.h"
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct new_options {
	struct opt_list functions;
	const char *header, *library;
	bool force;
};

static const struct opt new_opts[] = {
	{ 0, "prototype", "PROTOTYPE", "wrap this function: 'int f(int a, char *b);'", OPT_LIST,
	  offsetof(struct new_options, functions), NULL },
	{ 0, "function", "PROTOTYPE", NULL, OPT_LIST, offsetof(struct new_options, functions), NULL },
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
	.usage = "[OPTION]... NAME [PATTERN]...",
	.summary = "Writes NAME.c, a module that wraps functions and records their arguments.",
	.opts = new_opts,
	.details = "One of --prototype, --header and --library is needed. PATTERNs choose among the\n"
		   "functions of the header or library; see sonde(1).\n",
	.examples = "sonde module new mine --prototype 'double f(int n);'\tfrom a prototype\n"
		    "sonde module new z --header zlib.h 'deflate*'\tfrom a header\n"
		    "sonde module new app --library ./libapp.so\tfrom debug information\n",
};

/* Everything that one run needs. */
struct work {
	struct new_options o;
	struct proto_list list;
	struct select *sel; /* functions of the header or library; NULL: no patterns */
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

/* A source with this text; the caller unlinks it. NULL after a message. */
static char *write_source(const char *include, const char *headers, const char *text)
{
	char *path = NULL;
	const char *tmp = getenv("TMPDIR");

	if (asprintf(&path, "%s/sonde-XXXXXX.c", tmp && *tmp ? tmp : "/tmp") < 0)
		return NULL;
	int fd = mkostemps(path, 2, O_CLOEXEC);
	if (fd < 0 || (include && dprintf(fd, "#include %s\n", include) < 0) ||
	    dprintf(fd, "%s%s;\n", headers, text) < 0) {
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
	char *source = w->include ? write_source(w->include, "", "") : NULL;
	if (!source)
		return EXIT_USAGE;
	int status = proto_from_source(&w->list, source, w->o.header, false, w->sel);
	unlink(source);
	free(source);
	w->known_structs = w->list.nstructs;
	w->from = strdup(w->o.header);
	return status;
}

/* ---- from prototypes, from a library ---- */

/* Standard headers that a prototype may need without saying so; others are to be named. */
static const struct known_type {
	const char *name, *header;
} known_types[] = {
	{ "FILE", "stdio.h" },	      { "bool", "stdbool.h" },	   { "clockid_t", "time.h" },
	{ "gid_t", "sys/types.h" },   { "mode_t", "sys/types.h" }, { "off_t", "sys/types.h" },
	{ "pid_t", "sys/types.h" },   { "pthread_t", "pthread.h" }, { "socklen_t", "sys/socket.h" },
	{ "ssize_t", "sys/types.h" }, { "time_t", "time.h" },	   { "uid_t", "sys/types.h" },
	{ "va_list", "stdarg.h" },
};

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += len) {
		if ((p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_')) &&
		    !isalnum((unsigned char)p[len]) && p[len] != '_')
			return true;
	}
	return false;
}

/* The lines that include what a prototype needs; noted for the module, too. */
static bool include_known(struct work *w, const char *text, char *lines, size_t size)
{
	size_t at = (size_t)snprintf(lines, size, "#include <stddef.h>\n#include <stdint.h>\n");
	bool ok = true;

	for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
		if (!has_word(text, known_types[i].name) || at >= size)
			continue;
		ok = ok && proto_add_string(&w->list.headers, &w->list.nheaders, known_types[i].header);
		at += (size_t)snprintf(lines + at, size - at, "#include <%s>\n", known_types[i].header);
	}
	return ok;
}

static int from_prototype(struct work *w, const char *text)
{
	char *what = NULL, lines[1024];
	char *source = include_known(w, text, lines, sizeof(lines)) ? write_source(w->include, lines, text)
								     : NULL;
	int status = EXIT_USAGE;

	if (source && asprintf(&what, "--prototype '%s': not a function's prototype", text) < 0)
		what = NULL;
	if (what)
		status = proto_from_source(&w->list, source, what, true, NULL);
	if (source)
		unlink(source);
	free(source);
	free(what);
	return status;
}

static int from_prototypes(struct work *w)
{
	for (size_t i = 0; i < w->o.functions.n; i++) {
		const char *text = w->o.functions.v[i];
		size_t before = w->list.n;

		if (from_prototype(w, text))
			return EXIT_USAGE;
		if (w->list.n == before)
			return opt_usage_error(&new_command, "--prototype '%s': not a function's prototype",
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
	int status = proto_from_dwarf(&w->list, w->o.library, w->sel, &w->soname);

	w->from = strdup(path_basename(w->o.library));
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
		return opt_usage_error(&new_command, "what is to be wrapped? --prototype, --header or "
						     "--library");
	if (o->library && (o->header || o->functions.n))
		return opt_usage_error(&new_command, "--library goes with neither --header nor --prototype");
	if (w->sel && !o->header && !o->library)
		return opt_usage_error(&new_command, "PATTERNs choose from a --header or --library");
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
	struct select_miss miss;
	char text[SELECT_MISS_TEXT];
	size_t usable = 0, at = 0;

	/* All patterns have to be good: a function that is not wrapped would be missed later. */
	if (w->sel && select_next_miss(w->sel, &at, &miss)) {
		select_miss_text(&miss, text, sizeof(text));
		msg_error("%s: %s", w->from, text);
		return EXIT_USAGE;
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

	/* With both, the header gives the types and, by PATTERN, more functions. */
	if (!status && w->o.header && (w->sel || !w->o.functions.n))
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

static int choose(struct work *w, const char **patterns, size_t n)
{
	const struct select_options o = { .option = "", .functions = { patterns, n } };
	char problem[256];

	if (!n)
		return 0;
	w->sel = select_new(&o, problem, sizeof(problem));
	return w->sel ? 0 : opt_usage_error(&new_command, "%s", problem);
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
		status = choose(&w, (const char **)argv + first + 1, (size_t)(argc - first - 1));
		if (!status)
			status = asprintf(&w.path, "%s.c", w.name) < 0 ? EXIT_USAGE : make(&w);
	}
	proto_list_free(&w.list);
	opt_list_free(&w.o.functions);
	select_free(w.sel);
	free(w.path);
	free(w.soname);
	free(w.include);
	free(w.from);
	return status;
}
