/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/installed.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The length of the folder that both are below. */
static size_t common_folder(const char *a, const char *b)
{
	size_t len = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
		if (a[i] == '/')
			len = i;
	}
	return len;
}

/* In `exe`, the path of our program: the length of what is now instead of BINDIR without `tail`. */
static size_t moved_folder(const char *exe, const char *tail)
{
	const char *slash = strrchr(exe, '/');
	size_t dir = slash ? (size_t)(slash - exe) : 0, len = strlen(tail);

	return dir > len && memcmp(exe + dir - len, tail, len) == 0 ? dir - len : 0;
}

char *installed_path(const char *path)
{
	static const char bindir[] = BINDIR;
	size_t common = common_folder(bindir, path), moved;
	char exe[PATH_MAX], *now;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[len > 0 ? len : 0] = '\0';
	moved = moved_folder(exe, bindir + common);
	if (moved && asprintf(&now, "%.*s%s", (int)moved, exe, path + common) > 0) {
		if (access(now, F_OK) == 0)
			return now;
		free(now);
	}
	return strdup(path);
}
