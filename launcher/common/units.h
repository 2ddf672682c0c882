/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures and names as a person reads them. */
#ifndef SONDE_LAUNCHER_COMMON_UNITS_H
#define SONDE_LAUNCHER_COMMON_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tracefmt/buffer.h"

#define UNITS_MAX 32u /* bytes that a figure needs at most, with its NUL */

/* "123 ns", "1.234 us", "12.34 ms", "123.4 s", "12345 s": four digits. */
void units_time(uint64_t ns, char text[static UNITS_MAX]);

/* "123 B", "1.234 KiB", "12.34 GiB". */
void units_bytes(uint64_t bytes, char text[static UNITS_MAX]);

/* "12.3%" */
void units_percent(double percent, char text[static UNITS_MAX]);

/*
 * Writes @text so that it is safe on a terminal: control characters become '?'.  Cut in the middle to
 * @width columns unless that is 0.  Returns the columns used; a character of UTF-8 counts as one.
 */
size_t units_text(FILE *out, const char *text, size_t width, bool utf8);

/* A field of CSV in quotes, as in RFC 4180.  @text: NULL: it is empty. */
void units_csv(FILE *out, const char *text);

/* Ends a line of JSON (tracefmt/json.h), writes and clears it.  False: no memory. */
bool units_json_end(struct tf_buf *b, FILE *out) __attribute__((warn_unused_result));

/* Writes and clears what is one of a list of objects, each in a line of its own. */
void units_json_item(struct tf_buf *b, bool first, FILE *out);

/* Columns that the text needs. */
size_t units_width(const char *text);

/* Of the terminal that standard output is; 0: it is none. */
unsigned int units_terminal_width(void);
/* From now on it is none: what mpirun gives its ranks as a terminal says nothing of where the output goes. */
void units_no_terminal(void);

#endif
