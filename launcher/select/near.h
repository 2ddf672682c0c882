/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of functions that are like one which there is not: what may have been meant. */
#ifndef SONDE_LAUNCHER_SELECT_NEAR_H
#define SONDE_LAUNCHER_SELECT_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/select/names.h"

#define NEAR_MAX 3	  /* names that are kept */
#define NEAR_MAX_NAME 128 /* bytes of one, with its end; longer ones are not kept */
#define NEAR_MAX_TEXT (NEAR_MAX * (NEAR_MAX_NAME + 24))

struct near_names {
	size_t n;
	struct near_name {
		char text[NEAR_MAX_NAME];
		unsigned int distance;
	} v[NEAR_MAX]; /* the nearest first */
};

enum near_how {
	NEAR_WORD,
	NEAR_GLOB, /* a shell pattern: only case and namespace may differ */
	NEAR_WRAP, /* of a module, which cannot call Fortran's procedures as the source does */
};

/*
 * Keeps the function's name if it is like @wanted: typed wrong; of other case; in another namespace, class
 * or module, or in one where none was given; with other parameters.
 */
void near_note(struct near_names *near, const char *wanted, enum near_how how, struct function_name *name);

/* "; did you mean 'a' or 'b'?", or "". */
void near_text(const struct near_names *near, char *buf, size_t size);

#endif
