// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The names are those in the debug information of files that are what the trace says they are; the trace's own lines are not
 * asked, since whoever has made it could have written any file's name there.
 */
#include "launcher/archive/archive.h"

#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/program/binary.h"
#include "memtrace/pack/places.h"

#define LARGEST ((off_t)16 << 20) /* bytes of a source */

/* One file of the archive. */
struct file {
	char *name; /* in the archive */
	struct lines *lines;
};

struct naming {
	const struct sonde_trace *trace;
	const char *dir;
	int to;
	struct archive_sum *sum;
	struct file *files; /* one for each of the trace's objects; of those with the same name, the first has the lines */
	size_t rank_index;  /* whose functions are gone through */
	void *names;	    /* of sources, a tree */
	const char *last;   /* the string of debug information that was noted last */
	bool failed;	    /* no memory */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "/a/b/../c" is "/a/c", for a file's name in the archive; NULL: it is not absolute, or no memory. */
static char *plain_name(const char *path)
{
	char *plain = *path == '/' ? malloc(strlen(path) + 2) : NULL;
	size_t n = 0;

	while (plain && *path) {
		size_t part = strcspn(path += strspn(path, "/"), "/");

		if (part == 2 && memcmp(path, "..", 2) == 0) {
			while (n && plain[--n] != '/')
				;
		} else if (part && !(part == 1 && *path == '.')) {
			plain[n++] = '/';
			memcpy(plain + n, path, part);
			n += part;
		}
		path += part;
	}
	if (plain)
		plain[n] = '\0';
	return plain;
}

static void note(void *arg, uint64_t addr, const char *file, int line)
{
	struct naming *n = arg;
	char *name, **found;

	(void)addr;
	(void)line;
	if (!file || file == n->last)
		return;
	n->last = file;
	name = plain_name(file);
	if (!name || !*name) {
		free(name);
		return;
	}
	found = tsearch(name, &n->names, by_name);
	n->failed |= !found;
	if (!found || *found != name)
		free(name);
}

static void note_function(void *arg, uint32_t object, uint64_t addr, uint64_t size, const char *name)
{
	struct naming *n = arg;

	(void)name;
	for (size_t i = 0; i < sonde_trace_objects(n->trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(n->trace, i);

		if (o->rank_index != n->rank_index || o->id != object || !n->files[i].lines)
			continue;
		lines_each(n->files[i].lines, addr, addr + (size ? size : 1), note, n);
		return;
	}
}

/* Those that modules wrap are known by their first line. */
static void note_wrapped(struct naming *n)
{
	for (size_t i = 0; i < sonde_trace_functions(n->trace); i++) {
		const struct sonde_trace_function *f = sonde_trace_function(n->trace, i);

		for (size_t k = 0; f->address && k < sonde_trace_objects(n->trace); k++) {
			if (!n->files[k].lines || strcmp(sonde_trace_object(n->trace, k)->path, f->path) != 0)
				continue;
			lines_each(n->files[k].lines, f->address, f->address + 1, note, n);
			break;
		}
	}
}

/* Of objects of the same name in the archive, which are the same file, one is read. */
static void open_file(struct naming *n, size_t i)
{
	char *path;

	n->files[i].name = binary_archived(sonde_trace_object(n->trace, i));
	for (size_t k = 0; n->files[i].name && k < i; k++) {
		if (n->files[k].name && strcmp(n->files[k].name, n->files[i].name) == 0) {
			n->files[i].lines = n->files[k].lines;
			return;
		}
	}
	if (!n->files[i].name || asprintf(&path, "%s/%s", n->dir, n->files[i].name) < 0)
		return;
	if (binary_state(path, sonde_trace_object(n->trace, i)) == BINARY_SAME)
		n->files[i].lines = lines_open(path);
	free(path);
}

static void close_files(struct naming *n)
{
	for (size_t i = sonde_trace_objects(n->trace); i-- > 0;) {
		bool mine = n->files[i].lines != NULL;

		for (size_t k = 0; k < i && mine; k++)
			mine = n->files[k].lines != n->files[i].lines;
		if (mine)
			lines_close(n->files[i].lines);
		free(n->files[i].name);
	}
	free(n->files);
}

static void find_names(struct naming *n)
{
	struct progress shown;

	progress_begin(&shown, "reading source lines");
	for (size_t i = 0; i < sonde_trace_objects(n->trace); i++)
		open_file(n, i);
	for (size_t i = 0; i < sonde_trace_ranks(n->trace); i++) {
		struct mt_placed *placed = mt_placed_of(n->trace, sonde_trace_rank(n->trace, i));

		n->rank_index = i;
		if (placed)
			mt_placed_each_function(placed, note_function, n);
		n->failed |= !placed;
		mt_placed_close(placed);
		progress_at(&shown, (double)(i + 1) / (double)sonde_trace_ranks(n->trace));
	}
	note_wrapped(n);
	progress_end(&shown);
}

/* Text, and not endless. */
static bool is_source(int fd)
{
	char begin[4096];
	struct stat st;
	ssize_t n = pread(fd, begin, sizeof(begin), 0);

	return n >= 0 && fstat(fd, &st) == 0 && st.st_size <= LARGEST && !memchr(begin, 0, (size_t)n);
}

static bool put_source(struct naming *n, const char *path)
{
	int from = archive_open(path);
	int64_t bytes = -1;
	char *name;

	bool good = true;

	if (asprintf(&name, "sources%s", path) < 0)
		name = NULL;
	if (!name || from < 0 || !is_source(from)) {
		bool there = name && faccessat(n->to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; /* put earlier */

		n->sum->sources += there;
		n->sum->no_sources += !there;
	} else {
		bytes = archive_put(n->to, name, from);
		good = bytes >= 0;
		if (!good)
			msg_error("%s: cannot be put into the archive: %m", path);
		n->sum->sources += good;
		n->sum->bytes += good ? (uint64_t)bytes : 0;
	}
	free(name);
	if (from >= 0)
		close(from);
	return good;
}

bool archive_sources(const struct sonde_trace *trace, const char *dir, int to, struct archive_sum *sum)
{
	struct naming n = { .trace = trace, .dir = dir, .to = to, .sum = sum };
	bool good = true;

	n.files = calloc(sonde_trace_objects(trace) + 1, sizeof(*n.files));
	if (n.files)
		find_names(&n);
	if (!n.files || n.failed) {
		msg_error("out of memory");
		good = false;
	}
	while (n.names) {
		char *name = *(char **)n.names;

		tdelete(name, &n.names, by_name);
		good = good && put_source(&n, name);
		free(name);
	}
	if (n.files)
		close_files(&n);
	return good;
}
