/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which directories a trace consists of: what the names of folders say. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracefmt/read/trace-internal.h"

/* A decimal number as we write it, at least @min; *@at is moved after it. */
static bool get_number(const char **at, int min, int *out)
{
	const char *s = *at;
	char *end;
	long v;

	if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9'))
		return false;
	v = strtol(s, &end, 10);
	if (v < min || v > INT_MAX)
		return false;
	*at = end;
	*out = (int)v;
	return true;
}

/* PREFIX and a number, and ".N" for the N-th of these, N > 1.  Every such folder has one name. */
static bool parse_name(const char *name, const char *prefix, int min, int *number, int *which)
{
	size_t n = strlen(prefix);

	if (strncmp(name, prefix, n))
		return false;
	name += n;
	*which = 1;
	return get_number(&name, min, number) &&
	       (!*name || (*name == '.' && (name++, get_number(&name, 2, which)) && !*name));
}

static int compare(const void *a, const void *b)
{
	const struct sonde_trace_rank *x = &(*(struct tf_part *const *)a)->pub;
	const struct sonde_trace_rank *y = &(*(struct tf_part *const *)b)->pub;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (!x->number != !y->number)
		return x->number ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

const struct tf_part *tf_trace_find_program(const struct sonde_trace *t, const struct tf_part *beside, int pid,
					    int number)
{
	const struct tf_part like = { .pub = { .rank = beside->pub.rank, .run = beside->pub.run, .pid = pid,
					       .number = number } };
	const struct tf_part *key = &like;
	void **found = t->parts.n ? bsearch(&key, t->parts.v, t->parts.n, sizeof *t->parts.v, compare) : NULL;

	return found ? *found : NULL;
}

static bool add_part(struct sonde_trace *t, const char *dir, struct sonde_trace_rank about)
{
	struct tf_part *part = tf_arena_alloc(&t->arena, sizeof *part);
	static const char *const no_args[1];

	if (!part)
		return false;
	part->pub = about;
	part->pub.program = part->pub.host = part->pub.version = part->boot = "";
	part->pub.args = no_args;
	part->pub.dir = tf_arena_strdup(&t->arena, dir);
	return part->pub.dir && tf_list_add(&t->parts, part);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* It could lead to a part that is counted already. */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) || S_ISLNK(st.st_mode);
}

static bool has_metadata(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof path, "%s/metadata", dir) < (int)sizeof path && !stat(path, &st) &&
	       S_ISREG(st.st_mode);
}

/*
 * A rank and its later programs, as far as they are in @dir: all that is directly in it.  A rank that none of its
 * programs was recorded of counts as one that cannot be read, if @expected.
 */
static enum sonde_trace_status find_programs(struct sonde_trace *t, const char *dir, int rank, int run,
					     bool expected)
{
	struct sonde_trace_rank about = { .rank = rank, .run = run };
	enum sonde_trace_status status = SONDE_TRACE_OK;
	bool any = has_metadata(dir);
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *d;

	if (any && !add_part(t, dir, about))
		return SONDE_TRACE_E_NOMEM;
	d = opendir(dir);
	while (d && !status && (entry = readdir(d))) {
		if (!parse_name(entry->d_name, "process-", 1, &about.pid, &about.number) ||
		    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) >= (int)sizeof path ||
		    !is_folder(path) || is_link(path) || !has_metadata(path)) /* just made */
			continue;
		any = true;
		if (!add_part(t, path, about))
			status = SONDE_TRACE_E_NOMEM;
	}
	if (d)
		closedir(d);
	about.pid = about.number = 0;
	if (!any && expected && !add_part(t, dir, about))
		status = SONDE_TRACE_E_NOMEM;
	return status;
}

enum sonde_trace_status tf_trace_find_parts(struct sonde_trace *t, const char *dir)
{
	enum sonde_trace_status status;
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[PATH_MAX];
	int rank, run;

	if (!d)
		return SONDE_TRACE_E_SYSTEM;
	status = find_programs(t, dir, -1, 1, false);
	while (!status && (entry = readdir(d)))
		if (parse_name(entry->d_name, "rank-", 0, &rank, &run) &&
		    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name) < (int)sizeof path &&
		    is_folder(path))
			status = find_programs(t, path, rank, run, true);
	closedir(d);
	if (t->parts.n)
		qsort(t->parts.v, t->parts.n, sizeof *t->parts.v, compare);
	return status;
}
