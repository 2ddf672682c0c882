/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pattern for names of functions; what patterns there are is in launcher/select/select.h. */
#ifndef SONDE_LAUNCHER_SELECT_PATTERN_H
#define SONDE_LAUNCHER_SELECT_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/select/names.h"
#include "launcher/select/near.h"
#include "launcher/select/select.h"

enum pattern_kind {
	PATTERN_ALL,   /* '*' */
	PATTERN_WORD,  /* no wildcards */
	PATTERN_GLOB,
	PATTERN_REGEX,
	PATTERN_LINE,
};

struct pattern {
	char *text; /* as the user wrote it */
	char *body; /* name, glob, expression or file */
	char *lib;  /* after the '@'; NULL: none */
	enum pattern_kind kind;
	bool params; /* to be compared with the parameters too */
	bool template; /* it has arguments of a template: to be compared with names that have theirs */
	unsigned int line;
	regex_t regex;
	/* What became of it. */
	bool hit, lib_seen, said;
	bool searched; /* among functions: some were known */
	bool named;    /* by their names: there were symbols */
	enum select_why why; /* of the most promising file */
	struct near_names near;
};

struct pattern_list {
	struct pattern *v;
	size_t n;
};

/* Where the first pattern of a list ends: a comma that is not its own, or the end of the text. */
const char *pattern_end(const char *s);

/* Appends all patterns of a list separated by commas.  false: one line in problem[size]. */
bool pattern_parse(struct pattern_list *list, const char *text, char *problem, size_t size);
void pattern_list_free(struct pattern_list *list);

/* Does @lib, a pattern's or one of --libs, mean the file of this name (without folders)? */
bool pattern_lib_is(const char *lib, const char *file);

/* Not for PATTERN_LINE. */
bool pattern_matches(const struct pattern *p, struct function_name *name);

/* Of a pattern without a hit: is this what was meant? */
void pattern_note_near(struct pattern *p, struct function_name *name);

#endif
