/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What instructions access in the source, of files with tags (launcher/tags/tagfile.h). */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/memory/memory.h"
#include "launcher/program/binary.h"
#include "launcher/tags/tagfile.h"

struct tagged {
	const char *path; /* of a row */
	struct tagfile file;
	bool has;
};

struct tagged_files {
	struct tagged *v;
	size_t n, room;
};

/* NULL: it has no tags, or it is another file by now; false: no memory. */
static bool file_of(struct tagged_files *files, const struct sonde_trace *trace, const char *path, const struct tags **tags)
{
	struct tagged *t;
	char *found;

	*tags = NULL;
	for (size_t i = 0; i < files->n; i++) {
		if (strcmp(files->v[i].path, path) != 0)
			continue;
		*tags = files->v[i].has ? &files->v[i].file.tags : NULL;
		return true;
	}
	if (!array_room(files->v, files->room, files->n + 1))
		return false;
	t = &files->v[files->n++];
	*t = (struct tagged){ .path = path };
	found = binary_of_trace(trace, path);
	t->has = found && tagfile_open(found, &t->file) == TAGFILE_OK;
	free(found);
	*tags = t->has ? &t->file.tags : NULL;
	return true;
}

/* "grid[i][k]: double"; of several accesses, "a[i]: int, b[i]: int".  NULL: no memory. */
static char *expression(const struct tag *tags, size_t n)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *what = *tags[i].expr ? tags[i].expr : *tags[i].variable ? tags[i].variable : tags_kind_text(tags[i].fact.kind);

		fprintf(out, "%s%s%s%s", i ? ", " : "", what, *tags[i].type ? ": " : "", tags[i].type);
	}
	return fclose(out) == 0 ? text : NULL;
}

bool memory_rows_tag(struct memory_rows *rows, const struct sonde_trace *trace)
{
	struct tagged_files files = { 0 };
	bool good = true;

	for (size_t i = 0; i < rows->n && good; i++) {
		struct memory_row *row = rows->v[i];
		const struct tags *tags = NULL;
		const struct tag *found = NULL;
		size_t n = 0;

		if (row->key.path)
			good = file_of(&files, trace, row->key.path, &tags);
		if (tags)
			found = tags_find(tags, row->key.address, 1, &n);
		if (!found)
			continue;
		row->expression = expression(found, n);
		good = row->expression != NULL;
		rows->tagged = true;
	}
	for (size_t i = 0; i < files.n; i++)
		if (files.v[i].has)
			tagfile_close(&files.v[i].file);
	free(files.v);
	return good;
}
