/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source lines of an ELF file, from its DWARF or that of its separate debug file (found by build-id, then
 * by debuglink).  Addresses are link-time ones.
 */
#ifndef SONDE_LAUNCHER_COMMON_LINES_H
#define SONDE_LAUNCHER_COMMON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines;

/* NULL: no line numbers (or no such file, no memory). */
struct lines *lines_open(const char *path);
/* Of the file that is open as @fd, which stays the caller's; it was at @path. */
struct lines *lines_open_fd(const char *path, int fd);
void lines_close(struct lines *lines);

/* Is @path one that @file means, which may leave out leading folders? */
bool lines_is_file(const char *path, const char *file);

enum lines_found { LINES_NO_FILE, LINES_NO_CODE, LINES_FOUND };

/*
 * Addresses of code made from line @line of @file, which may leave out leading folders.  If the line itself
 * has no code: that of the next one in the same function.  Appends to *addrs (malloc'ed, *n of them).
 */
enum lines_found lines_find(struct lines *lines, const char *file, unsigned int line, uint64_t **addrs,
			    size_t *n);

/*
 * Before lines_at() and lines_each(), which read all lines at first: of other units than those with code for which @want returns true there
 * are none.
 */
void lines_restrict(struct lines *lines, bool (*want)(void *arg, uint64_t lo, uint64_t hi), void *arg);

/*
 * Calls @row for all places in [lo, hi), ascending, from which on the code comes from another line, and for lo; of the same address
 * the last one counts, and at the entry of a function the first one is the line of its name.  @file is NULL where it is not
 * known, and else owned by @lines.
 */
void lines_each(struct lines *lines, uint64_t lo, uint64_t hi,
		void (*row)(void *arg, uint64_t addr, const char *file, int line), void *arg);

/* Where the code at @addr comes from: file as the compiler noted it, or NULL. Owned by @lines. */
const char *lines_at(struct lines *lines, uint64_t addr, int *line);

#endif
