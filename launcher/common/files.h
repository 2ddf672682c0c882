/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small file operations that several verbs need. */
#ifndef SONDE_LAUNCHER_COMMON_FILES_H
#define SONDE_LAUNCHER_COMMON_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Makes a folder and those above it, which may exist. False: errno says why. */
bool files_make_folders(const char *path, mode_t mode) __attribute__((warn_unused_result));

/* Removes a file or a folder with everything in it; follows no symbolic link. False: errno. */
bool files_remove_tree(const char *path) __attribute__((warn_unused_result));

/* 1: no entries, 0: some, -1: errno (ENOTDIR, ENOENT, ...). */
int files_is_empty_folder(const char *path);

/*
 * The absolute path: of the file's folder without symbolic links, and the file's own name as it is.  malloc'ed; NULL: there
 * is no such folder, or no memory.
 */
char *files_absolute(const char *path) __attribute__((warn_unused_result));

/*
 * A file's text, of @most bytes, with a NUL after it; malloc'ed.  *bytes, unless NULL: how many.  NULL: errno; EFBIG: there are more.
 */
char *files_text(const char *path, size_t most, size_t *bytes) __attribute__((warn_unused_result));

/* All of it, whatever signals come. False: errno. */
bool files_write(int fd, const char *data, size_t bytes) __attribute__((warn_unused_result));

#endif
