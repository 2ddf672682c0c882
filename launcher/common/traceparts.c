/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader's side of the trace directory. */
#include "launcher/common/message.h"
#include "launcher/common/tracedir.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct parts {
	struct tracedir_part *v;
	size_t n;
};

/* "rank-3" or "rank-3.2", written as we write it. */
static bool parse_name(const char *name, struct tracedir_part *part)
{
	char again[64];
	int rank, run = 1;
	int fields = sscanf(name, "rank-%d.%d", &rank, &run);

	if (fields < 1 || rank < 0 || run < 1)
		return false;
	if (run > 1)
		snprintf(again, sizeof(again), "rank-%d.%d", rank, run);
	else
		snprintf(again, sizeof(again), "rank-%d", rank);
	part->rank = rank;
	part->run = run;
	return strcmp(again, name) == 0;
}

static bool add(struct parts *parts, struct tracedir_part part)
{
	struct tracedir_part *v =
		part.path ? reallocarray(parts->v, parts->n + 1, sizeof(*v)) : NULL;

	if (!v) {
		free(part.path);
		return false;
	}
	v[parts->n++] = part;
	parts->v = v;
	return true;
}

static bool add_folder(struct parts *parts, const char *dir, const char *name)
{
	struct tracedir_part part = { 0 };
	struct stat st;

	if (!parse_name(name, &part))
		return true;
	if (asprintf(&part.path, "%s/%s", dir, name) < 0)
		return false;
	if (stat(part.path, &st) == 0 && S_ISDIR(st.st_mode))
		return add(parts, part);
	free(part.path);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct tracedir_part *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

static bool read_folder(DIR *d, const char *dir, struct parts *parts)
{
	struct dirent *e;

	while ((e = readdir(d))) {
		if (!add_folder(parts, dir, e->d_name))
			return false;
	}
	if (parts->n)
		qsort(parts->v, parts->n, sizeof(*parts->v), compare);
	return parts->n || add(parts, (struct tracedir_part){ strdup(dir), -1, 1 });
}

int tracedir_parts(const char *dir, struct tracedir_part **v, size_t *n)
{
	struct parts parts = { 0 };
	DIR *d = opendir(dir);

	*v = NULL;
	*n = 0;
	if (!d) {
		msg_error("%s: cannot be read: %m", dir);
		return EXIT_USAGE;
	}
	bool ok = read_folder(d, dir, &parts);
	closedir(d);
	if (!ok) {
		msg_error("out of memory");
		tracedir_parts_free(parts.v, parts.n);
		return EXIT_USAGE;
	}
	*v = parts.v;
	*n = parts.n;
	return 0;
}

void tracedir_parts_free(struct tracedir_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(parts[i].path);
	free(parts);
}
