/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C text as tokens. */
#ifndef SONDE_LAUNCHER_MODULE_CTOKEN_H
#define SONDE_LAUNCHER_MODULE_CTOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum ctoken_kind {
	CTOKEN_WORD,	/* identifiers, keywords */
	CTOKEN_VALUE,	/* numbers, strings, characters */
	CTOKEN_MARK,	/* punctuation: one character, or "..." */
};

struct ctoken {
	const char *text; /* into the caller's text */
	size_t len;
	enum ctoken_kind kind;
	bool in_main; /* from the main file */
};

struct ctokens {
	struct ctoken *v;
	size_t n;
};

/*
 * Comments are left out; lines that begin with '#' too, but for line markers, which decide in_main:
 * main_file is their file name, NULL: all is. False: no memory.
 */
bool ctoken_split(const char *text, const char *main_file, struct ctokens *t);

bool ctoken_is(const struct ctoken *t, const char *text);

/* Behind the bracket that closes the one at v[i], at most end. */
size_t ctoken_skip_group(const struct ctoken *v, size_t i, size_t end);

/* The tokens v[begin..end), spaced as usual; malloc'ed. */
char *ctoken_text(const struct ctoken *v, size_t begin, size_t end);

#endif
