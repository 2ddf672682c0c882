/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pattern of -F or -N, and the names that it is compared with; see launcher/record/select.h. */
#ifndef SONDE_LAUNCHER_RECORD_SELECT_PATTERN_H
#define SONDE_LAUNCHER_RECORD_SELECT_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/record/select.h"

#define PATTERN_NEAR_NAME 64

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
	unsigned int line;
	regex_t regex;
	/* What became of it. */
	bool hit, lib_seen, said;
	bool searched; /* among functions: some were known */
	enum select_why why; /* of the most promising file */
	char near[SELECT_MAX_NEAR][PATTERN_NEAR_NAME];
	unsigned int distance[SELECT_MAX_NEAR];
	size_t nnear;
};

struct pattern_list {
	struct pattern *v;
	size_t n;
};

/* Appends all patterns of a list separated by commas.  false: one line in problem[size]. */
bool pattern_parse(struct pattern_list *list, const char *text, char *problem, size_t size);
void pattern_list_free(struct pattern_list *list);

/* Does @lib, a pattern's or one of --libs, mean the file of this name (without folders)? */
bool pattern_lib_is(const char *lib, const char *file);

/* A name in its forms; those of the source are made when they are asked for.  Zero but for mangled. */
struct pattern_name {
	const char *mangled;
	char *bare; /* without parameters; NULL: it is not mangled */
	char *full; /* with them */
	char *stem; /* of a name that is not mangled: without the compiler's suffix; NULL: it has none */
	bool made, made_full;
};
void pattern_name_free(struct pattern_name *name);

/* Not for PATTERN_LINE. */
bool pattern_matches(const struct pattern *p, struct pattern_name *name);

#endif
