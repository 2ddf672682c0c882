/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of `sonde list` share. */
#ifndef SONDE_LAUNCHER_INSPECT_LIST_H
#define SONDE_LAUNCHER_INSPECT_LIST_H

#include "launcher/inspect/functions.h"
#include "launcher/common/options.h"
#include "launcher/record/select.h"

#include <stdbool.h>
#include <stddef.h>

struct list_options {
	bool libraries, mangled, refused_only, lines;
	struct select_options select; /* with functions: what -F can record, instead of what can be wrapped */
};

struct listing {
	const struct list_options *o;
	char **patterns;    /* up to NULL */
	struct select *sel; /* -F; else NULL */
	size_t usable, refused, parts;
	struct functions_count counts[FUNCTIONS_MAX_REASONS];
	size_t ncounts;
};

/* Prints one file's functions that -F chooses.  Returns 0, or EXIT_USAGE after a message. */
int list_mirrored(struct listing *l, const char *path, enum select_kind kind)
	__attribute__((warn_unused_result));

#endif
