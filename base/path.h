/* SPDX-License-Identifier: MIT */
/* Names of files. */
#ifndef SONDE_BASE_PATH_H
#define SONDE_BASE_PATH_H

#include <string.h>

/* A path's last component: what follows its last slash, "" after a slash at its end; all of a path without one.  NULL: NULL. */
static inline const char *path_basename(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

#endif
