/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs and libraries whose functions were recorded, and whether they are still the same. */
#include "launcher/common/units.h"
#include "launcher/inspect/info.h"
#include "launcher/program/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks mostly run the same program. */
static bool is_printed(const struct sonde_trace *trace, const struct sonde_trace_object *o)
{
	for (size_t i = 0; i < o->index; i++) {
		const struct sonde_trace_object *other = sonde_trace_object(trace, i);

		if (other->code == o->code && !strcmp(other->path, o->path) && !strcmp(other->build_id, o->build_id))
			return true;
	}
	return false;
}

void info_objects_print(const struct sonde_trace *trace)
{
	static const char *const state[] = {
		[BINARY_SAME] = "",
		[BINARY_OTHER] = ", by now another file",
		[BINARY_GONE] = ", not there any more",
	};
	bool first = true;
	char *path;

	for (size_t i = 0; i < sonde_trace_objects(trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);

		if (is_printed(trace, o))
			continue;
		printf("%-12s", first ? "code of" : "");
		first = false;
		units_text(stdout, o->path, 0, true);
		if (*o->build_id)
			fputs(", build-id ", stdout);
		units_text(stdout, o->build_id, 0, true);
		enum binary_state now = binary_find(trace, o, &path);
		puts(path && strcmp(path, o->path) != 0 ? ", in the archive" : state[now]);
		free(path);
	}
}
