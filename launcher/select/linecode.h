/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of source lines, for @FILE:LINE: as a file's debug information has it, or, of a trace, as was written when it was
 * recorded.  Of a trace without that (its recorder was killed), and of one whose program had no debug information then, the
 * file is read if it is the same.
 */
#ifndef SONDE_LAUNCHER_SELECT_LINECODE_H
#define SONDE_LAUNCHER_SELECT_LINECODE_H

#include <stddef.h>
#include <stdint.h>

#include "launcher/select/select.h"
#include "sonde/trace.h"

struct linecode_kept; /* what traces say, once read */
void linecode_kept_free(struct linecode_kept *kept);

struct linecode; /* of one file */

/*
 * @trace: NULL: of the file as it is.  *kept is NULL at first, and has to live as long.  NULL: no memory.
 */
struct linecode *linecode_open(const char *path, const struct sonde_trace *trace, struct linecode_kept **kept);
void linecode_close(struct linecode *c);

/*
 * Appends addresses of the line's code to *addrs (malloc'ed, *n of them), as lines_find() does.  Returns why there are none, if there
 * are.
 */
enum select_why linecode_find(const struct linecode *c, const char *file, unsigned int line, uint64_t **addrs,
			      size_t *n);

/* Size of the function at @addr; 0: not known. */
uint64_t linecode_size(struct linecode *c, uint64_t addr);

#endif
