/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/program/binary.h"
#include "injector/image/identity.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum binary_state binary_state(const struct sonde_trace_object *recorded)
{
	struct inj_identity now;
	struct stat st;

	/* a trace may name anything: a pipe would never be opened */
	if (stat(recorded->path, &st) != 0 || !S_ISREG(st.st_mode) || access(recorded->path, R_OK) != 0)
		return BINARY_GONE;
	if (inj_identity_read(recorded->path, &now) != INJ_OK || now.code != recorded->code ||
	    strcmp(now.build_id, recorded->build_id) != 0)
		return BINARY_OTHER;
	return BINARY_SAME;
}

bool binary_is_recorded(const struct sonde_trace *trace, const char *path)
{
	bool found = false;

	for (size_t i = 0; i < sonde_trace_objects(trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);

		if (strcmp(o->path, path) != 0)
			continue;
		if (binary_state(o) != BINARY_SAME)
			return false;
		found = true;
	}
	return found;
}
