/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of `sonde list` share. */
#ifndef SONDE_LAUNCHER_INSPECT_LIST_H
#define SONDE_LAUNCHER_INSPECT_LIST_H

#include "launcher/inspect/anatomy.h"
#include "launcher/inspect/functions.h"
#include "launcher/common/options.h"
#include "launcher/select/select.h"

#include <stdbool.h>
#include <stddef.h>

struct list_options {
	bool libraries; /* -l */
	bool mangled, refused_only, lines, verbose, csv, json;
	const char *signatures;
	struct select_options select; /* with functions: what -F can record, instead of what can be wrapped */
};

struct listing {
	const struct list_options *o;
	bool has_patterns;
	struct select *sel;
	struct select_file *file; /* the one at work, without -F */
	size_t usable, refused, parts;
	struct functions_count counts[FUNCTIONS_MAX_REASONS];
	size_t ncounts;
};

/* Counts one file's functions that -F can record.  Returns 0, or EXIT_USAGE after a message. */
int list_count(struct listing *l, const char *path, enum select_kind kind) __attribute__((warn_unused_result));

/* Prints one file's functions that -F chooses.  Returns 0, or EXIT_USAGE after a message. */
int list_mirrored(struct listing *l, const char *path, enum select_kind kind)
	__attribute__((warn_unused_result));

/* list-data.c: a function that -F chooses, as data; @refused: why it is left alone, or NULL. */
void list_print_csv_head(void);
void list_print_csv(const struct anatomy *a, size_t i, bool mangled, const char *refused);
void list_print_json(const struct anatomy *a, size_t i, bool mangled, const char *refused);

/*
 * Prints which functions of the trace in @dir that @select chooses were instrumented, and which were left alone, and why; counts those
 * that were never called.  Returns likewise.
 */
int list_trace(const struct listing *l, const char *dir, const struct select_options *select) __attribute__((warn_unused_result));

#endif
