/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what the user writes after -m to module files. */
#include "launcher/common/installed.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/modmpi.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULES PKGLIBDIR "/modules"

/* ---- lists of strings, NULL-terminated ---- */

struct strings {
	char **v;
	size_t n;
};

static bool push(struct strings *s, char *value)
{
	char **v = value ? reallocarray(s->v, s->n + 2, sizeof(*v)) : NULL;

	if (!v) {
		free(value);
		return false;
	}
	v[s->n++] = value;
	v[s->n] = NULL;
	s->v = v;
	return true;
}

static void free_strings(struct strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strings){ 0 };
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct strings *s)
{
	size_t kept = 0;

	if (!s->n)
		return;
	qsort(s->v, s->n, sizeof(*s->v), compare);
	for (size_t i = 0; i < s->n; i++) {
		if (kept && strcmp(s->v[i], s->v[kept - 1]) == 0)
			free(s->v[i]);
		else
			s->v[kept++] = s->v[i];
	}
	s->n = kept;
	s->v[kept] = NULL;
}

/* ---- folders ---- */

char **modfile_folders(void)
{
	const char *path = getenv("SONDE_MODULE_PATH");
	struct strings s = { 0 };

	for (const char *p = path ? path : ""; *p; p += strspn(p, ":")) {
		size_t len = strcspn(p, ":");

		if (len && !push(&s, strndup(p, len)))
			goto no_memory;
		p += len;
	}
	if (push(&s, installed_path(MODULES)))
		return s.v;
no_memory:
	free_strings(&s);
	return NULL;
}

void modfile_folders_free(char **folders)
{
	for (char **f = folders; f && *f; f++)
		free(*f);
	free(folders);
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len > n && strcmp(s + len - n, end) == 0;
}

/* "mpi" is what "mpi.so" and "mpi-openmpi.so" are called. */
static size_t name_length(const char *file)
{
	return strcspn(file, "-.");
}

static bool is_called(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) != 0)
		return false;
	return strcmp(file + len, ".so") == 0 || (file[len] == '-' && name_length(file) == len);
}

/* The module files of a folder, sorted: all of them, or those called `name`. */
static struct strings list_folder(const char *folder, const char *name)
{
	struct strings found = { 0 };
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *path;

		if (!ends_with(e->d_name, ".so") || e->d_name[0] == '.' ||
		    (name && !is_called(e->d_name, name)))
			continue;
		if (asprintf(&path, "%s/%s", folder, e->d_name) > 0)
			push(&found, path);
	}
	if (dir)
		closedir(dir);
	sort_unique(&found);
	return found;
}

/* The source of what is compiled when it is first used: of "mpi" alone. */
static char *source_in(const char *folder, const char *name)
{
	char *path;

	if (strcmp(name, "mpi") != 0 || asprintf(&path, "%s/mpi.c", folder) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* ---- an unknown name ---- */

/* Edit distance, for names of a few letters (Wagner and Fischer 1974, one row). */
static size_t distance(const char *a, const char *b)
{
	size_t row[33], n = strlen(b);

	if (n > 32)
		return n;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

static struct strings all_names(void)
{
	struct strings names = { 0 };
	char **folders = modfile_folders();

	for (char **f = folders; f && *f; f++) {
		struct strings files = list_folder(*f, NULL);
		char *source = source_in(*f, "mpi");

		if (source)
			push(&names, strdup("mpi"));
		free(source);
		for (size_t i = 0; i < files.n; i++) {
			const char *file = strrchr(files.v[i], '/') + 1;

			push(&names, strndup(file, name_length(file)));
		}
		free_strings(&files);
	}
	modfile_folders_free(folders);
	sort_unique(&names);
	return names;
}

static const char *nearest(const struct strings *names, const char *name)
{
	const char *best = NULL;
	size_t least = strlen(name) > 3 ? 3 : 2;

	for (size_t i = 0; i < names->n; i++) {
		size_t d = distance(name, names->v[i]);

		if (d < least) {
			least = d;
			best = names->v[i];
		} else if (!best && strlen(name) > 2 &&
			   (strstr(names->v[i], name) || strstr(name, names->v[i]))) {
			best = names->v[i];
		}
	}
	return best;
}

static char *join(const struct strings *names)
{
	size_t len = 1;

	for (size_t i = 0; i < names->n; i++)
		len += strlen(names->v[i]) + 2;
	char *text = malloc(len);
	char *p = text;
	for (size_t i = 0; p && i < names->n; i++)
		p += sprintf(p, "%s%s", i ? ", " : "", names->v[i]);
	if (p)
		*p = '\0';
	return text;
}

static int unknown(const char *name)
{
	struct strings names = all_names();
	const char *near = nearest(&names, name);
	char *list = join(&names);
	char *source = NULL;

	if (asprintf(&source, "%s.c", name) > 0 && access(source, R_OK) == 0)
		msg_error("no module '%s'; for the file here write -m ./%s", name, source);
	else if (!names.n)
		msg_error("no module '%s', nor any other in $SONDE_MODULE_PATH or " MODULES, name);
	else if (near)
		msg_error("no module '%s'; did you mean '%s'? There are: %s", name, near, list);
	else
		msg_error("no module '%s'; there are: %s", name, list ? list : "");
	free(source);
	free(list);
	free_strings(&names);
	return EXIT_USAGE;
}

/* ---- adding ---- */

/* @name: for messages. */
static int add_file(struct modfile_list *list, const char *path, const char *name, const char *spec)
{
	struct modfile m;
	int status = modfile_read(path, name, &m);

	if (status)
		return status;
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].path, m.path) == 0) {
			modfile_free(&m);
			return 0;
		}
	}
	char *copy = strdup(spec);
	if (!copy || !array_one_more(list->v, list->n)) {
		msg_error("out of memory");
		free(copy);
		modfile_free(&m);
		return EXIT_USAGE;
	}
	free(m.spec);
	m.spec = copy;
	list->v[list->n++] = m;
	return 0;
}

static int add_source(struct modfile_list *list, const char *spec)
{
	char *path;
	int status = modfile_cached(spec, NULL, &path);

	if (status)
		return status;
	status = add_file(list, path, spec, spec);
	free(path);
	return status;
}

static int add_compiled(struct modfile_list *list, const char *source, const struct program *program)
{
	char *paths[MODMPI_MAX];
	int status;

	list->for_program = true;
	status = modmpi_compile(source, program, list, paths);

	for (size_t i = 0; i < MODMPI_MAX; i++) {
		if (!status && paths[i])
			status = add_file(list, paths[i], paths[i], "mpi");
		free(paths[i]);
	}
	return status;
}

static int add_name(struct modfile_list *list, const char *name, const struct program *program)
{
	char **folders = modfile_folders();
	struct strings files = { 0 };
	char *source = NULL;
	int status = 0;

	for (char **f = folders; f && *f && !files.n && !source; f++) {
		files = list_folder(*f, name);
		source = source_in(*f, name);
	}
	modfile_folders_free(folders);
	if (!files.n && !source)
		return unknown(name);
	for (size_t i = 0; i < files.n && !status; i++)
		status = add_file(list, files.v[i], files.v[i], name);
	free_strings(&files);
	if (!status && source)
		status = add_compiled(list, source, program);
	free(source);
	return status;
}

static int add_one(struct modfile_list *list, const char *spec, const struct program *program)
{
	if (ends_with(spec, ".c"))
		return add_source(list, spec);
	if (ends_with(spec, ".so"))
		return add_file(list, spec, spec, spec);
	if (!*spec) {
		msg_error("--module: an empty name");
		return EXIT_USAGE;
	}
	if (strpbrk(spec, "/.")) {
		msg_error("--module %s: neither a module's name nor a .c or .so file", spec);
		return EXIT_USAGE;
	}
	return add_name(list, spec, program);
}

int modfile_add(struct modfile_list *list, const char *spec, const struct program *program)
{
	const char *p = spec;

	for (;;) {
		size_t len = strcspn(p, ",");
		char *one = strndup(p, len);
		int status = one ? add_one(list, one, program) : EXIT_USAGE;

		free(one);
		if (status || !p[len])
			return status;
		p += len + 1;
	}
}

int modfile_all(struct modfile_list *list)
{
	char **folders = modfile_folders();

	if (!folders)
		return EXIT_USAGE;
	for (char **f = folders; *f; f++) {
		struct strings files = list_folder(*f, NULL);

		for (size_t i = 0; i < files.n; i++) {
			const char *file = strrchr(files.v[i], '/') + 1;
			char name[256];

			snprintf(name, sizeof(name), "%.*s", (int)name_length(file), file);
			/* An unusable file has been complained about; the others are shown. */
			if (add_file(list, files.v[i], files.v[i], name))
				continue;
		}
		free_strings(&files);
	}
	modfile_folders_free(folders);
	return 0;
}
