// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A separate debug file is put beside its program, by the name in .gnu_debuglink: that is where GDB, BFD and libdwfl look,
 * too.  So is what both have in common with others (.gnu_debugaltlink, by dwz), by its own name.
 */
#include "launcher/archive/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "launcher/common/debugfiles.h"
#include "launcher/common/message.h"
#include "launcher/program/binary.h"

struct putting {
	const struct sonde_trace *trace;
	int to;
	struct archive_sum *sum;
};

/* False after a message: it cannot be written.  Nothing at @path is no failure. */
static bool put_file(const struct putting *p, const char *path, const char *name, size_t *count)
{
	int from = archive_open(path);
	int64_t bytes;

	if (from < 0)
		return true;
	bytes = archive_put(p->to, name, from);
	if (bytes < 0)
		msg_error("%s: cannot be put into the archive: %m", path);
	close(from);
	if (bytes < 0)
		return false;
	p->sum->bytes += (uint64_t)bytes;
	(*count)++;
	return true;
}

/* @name: of the program in the archive; the file gets the name @beside in the same folder. */
static bool put_beside(const struct putting *p, const char *name, const char *path, const char *beside)
{
	char *there;
	bool good;

	if (!*beside || strcmp(beside, path_basename(name)) == 0)
		return true;
	if (asprintf(&there, "%.*s%s", (int)(path_basename(name) - name), name, beside) < 0)
		return false;
	good = put_file(p, path, there, &p->sum->debug_files);
	free(there);
	return good;
}

static bool put_debug_files(const struct putting *p, const char *path, const char *name)
{
	struct debugfiles files;
	bool good = true;

	if (!debugfiles_find(path, &files))
		return true;
	if (files.debug)
		good = put_beside(p, name, files.debug, files.debug_name);
	if (good && files.common)
		good = put_beside(p, name, files.common, path_basename(files.common));
	debugfiles_free(&files);
	return good;
}

static bool is_first(const struct sonde_trace *trace, const struct sonde_trace_object *o)
{
	for (size_t i = 0; i < o->index; i++) {
		const struct sonde_trace_object *other = sonde_trace_object(trace, i);

		if (other->code == o->code && !strcmp(other->path, o->path) && !strcmp(other->build_id, o->build_id))
			return false;
	}
	return true;
}

static bool put_object(const struct putting *p, const struct sonde_trace_object *o)
{
	char *path, *name = binary_archived(o);
	enum binary_state state = binary_find(p->trace, o, &path);
	bool good = true;

	if (name && state == BINARY_SAME) {
		if (strcmp(path, o->path) != 0)
			p->sum->objects++; /* it is there already */
		else
			good = put_file(p, path, name, &p->sum->objects);
		good = good && put_debug_files(p, path, name);
	} else {
		msg_warn("%s is not in the archive: it is %s", o->path,
			 state == BINARY_OTHER ? "not the file that was recorded" : "not there any more");
		p->sum->missing++;
	}
	free(path);
	free(name);
	return good;
}

bool archive_objects(const struct sonde_trace *trace, int to, struct archive_sum *sum)
{
	const struct putting p = { trace, to, sum };
	struct progress shown;
	bool good = true;

	progress_begin(&shown, "copying programs and libraries");
	for (size_t i = 0; i < sonde_trace_objects(trace) && good; i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);

		if (is_first(trace, o))
			good = put_object(&p, o);
		progress_at(&shown, (double)(i + 1) / (double)sonde_trace_objects(trace));
	}
	progress_end(&shown);
	return good;
}
