/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the files are that were installed with sonde. */
#ifndef SONDE_LAUNCHER_COMMON_INSTALLED_H
#define SONDE_LAUNCHER_COMMON_INSTALLED_H

/*
 * `path` is absolute, as set by configure. Returned is where that is now: elsewhere when the
 * installation was moved (DESTDIR, a copied tree), or has not been made yet (the tree it was built in), which
 * our own program's place shows. malloc'd; NULL: no memory.
 */
char *installed_path(const char *path) __attribute__((warn_unused_result));

#endif
