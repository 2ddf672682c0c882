/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/program/binary.h"
#include "base/path.h"
#include "injector/image/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum binary_state binary_state(const char *path, const struct sonde_trace_object *recorded)
{
	struct inj_identity now;
	struct stat st;

	/* a trace may name anything: a pipe would never be opened */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || access(path, R_OK) != 0)
		return BINARY_GONE;
	if (inj_identity_read(path, &now) != INJ_OK || now.code != recorded->code ||
	    strcmp(now.build_id, recorded->build_id) != 0)
		return BINARY_OTHER;
	return BINARY_SAME;
}

char *binary_archived(const struct sonde_trace_object *recorded)
{
	const char *id = recorded->build_id, *name = path_basename(recorded->path);
	char code[32], *path;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || id[strspn(id, "0123456789abcdef")])
		return NULL;
	snprintf(code, sizeof(code), "code-%016" PRIx64, recorded->code);
	return asprintf(&path, "objects/%s/%s", *id ? id : code, name) < 0 ? NULL : path;
}

/* The folder above one of a rank or of a program in it: *dir gets shorter.  False: it is none of these. */
static bool go_up(const char *dir, size_t *length)
{
	size_t at = *length;

	while (at && dir[at - 1] != '/')
		at--;
	if (at < 2 || (strncmp(dir + at, "rank-", 5) != 0 && strncmp(dir + at, "process-", 8) != 0))
		return false;
	*length = at - 1;
	return true;
}

static char *find_archived(const struct sonde_trace *trace, const struct sonde_trace_object *recorded)
{
	const char *dir = sonde_trace_rank(trace, recorded->rank_index)->dir;
	char *name = binary_archived(recorded), *path;
	size_t length = strlen(dir);

	do {
		if (!name || asprintf(&path, "%.*s/%s", (int)length, dir, name) < 0)
			break;
		if (binary_state(path, recorded) == BINARY_SAME) {
			free(name);
			return path;
		}
		free(path);
	} while (go_up(dir, &length));
	free(name);
	return NULL;
}

enum binary_state binary_find(const struct sonde_trace *trace, const struct sonde_trace_object *recorded, char **path)
{
	enum binary_state state;

	*path = find_archived(trace, recorded);
	if (*path)
		return BINARY_SAME;
	state = binary_state(recorded->path, recorded);
	if (state == BINARY_SAME)
		*path = strdup(recorded->path);
	return state == BINARY_SAME && !*path ? BINARY_GONE : state;
}

char *binary_of_trace(const struct sonde_trace *trace, const char *path)
{
	char *found = NULL;

	for (size_t i = 0; i < sonde_trace_objects(trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);
		char *file;

		if (strcmp(o->path, path) != 0)
			continue;
		if (binary_find(trace, o, &file) != BINARY_SAME || (found && strcmp(found, file) != 0)) {
			free(file);
			free(found);
			return NULL;
		}
		free(found);
		found = file;
	}
	return found;
}
