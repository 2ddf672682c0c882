/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texts of a page, each once, by number; what they take is bounded. */
#ifndef SONDE_LAUNCHER_HTML_NAMES_H
#define SONDE_LAUNCHER_HTML_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/buffer.h"

#define NAMES_OTHER 0u /* stands for all that found no room */

/* What time in a call of that name is. */
enum html_class { HTML_PLAIN, HTML_WORK, HTML_WAIT, HTML_APART };

struct name {
	char *text;
	uint64_t hash;
	uint32_t of; /* the name without the place, or itself */
	uint8_t class;
};

struct names {
	struct name *v;
	size_t n, room;
	uint32_t *table; /* 1 + number; 0: free */
	size_t slots;
	size_t bytes, limit; /* of texts */
};

/* @limit: bytes.  False: no memory. */
bool names_begin(struct names *s, size_t limit) __attribute__((warn_unused_result));
void names_free(struct names *s);

/* Long texts are cut.  NAMES_OTHER, also without memory: there is no room. */
uint32_t names_find(struct names *s, const char *text);

/* A JSON array of strings, and then one of [of, class] with the numbers that are not their own and plain. */
void names_put(const struct names *s, struct tf_buf *b);

/* Writes JSON as a script element may contain it: without `<'. */
void names_put_safe(const struct tf_buf *json, struct tf_buf *out);

#endif
