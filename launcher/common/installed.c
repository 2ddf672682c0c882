/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/installed.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- the tree it was built in ---- */

/* Is it of this kind, and nobody else's than the program itself? */
static bool is_ours(const char *folder, const char *name, mode_t kind, uid_t owner)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return false;
	bool ours = lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == owner &&
		    !(st.st_mode & S_IWOTH);
	free(path);
	return ours;
}

/*
 * What lies beside our program shows that it was built there, also @name. Modules become part of programs: in a folder
 * that all may write to, another user could have put these beside a copy of ours.
 */
static bool is_build_tree(const char *folder, const char *name)
{
	struct stat st;

	return stat("/proc/self/exe", &st) == 0 && is_ours(folder, "config.status", S_IFREG, st.st_uid) &&
	       is_ours(folder, "modules", S_IFDIR, st.st_uid) &&
	       is_ours(folder, "modules/include", S_IFDIR, st.st_uid) && is_ours(folder, name, S_IFDIR, st.st_uid) &&
	       (strncmp(name, "launcher/", 9) != 0 || is_ours(folder, "launcher", S_IFDIR, st.st_uid)) &&
	       (strncmp(name, "tags/", 5) != 0 || is_ours(folder, "tags", S_IFDIR, st.st_uid)) &&
	       (strncmp(name, "runtime/", 8) != 0 || is_ours(folder, "runtime", S_IFDIR, st.st_uid));
}

/* Where what will be installed at `path` is before. */
static char *built_path(const char *exe, const char *path)
{
	const char *slash = strrchr(exe, '/');
	const char *name = strcmp(path, PKGLIBDIR "/modules") == 0 ? "modules"
			   : strcmp(path, INCLUDEDIR) == 0	   ? "modules/include"
			   : strcmp(path, PKGLIBDIR "/ranks") == 0 ? "launcher/ranks"
			   : strcmp(path, PKGLIBDIR "/tags") == 0  ? "tags/plugin"
			   : strcmp(path, PKGLIBDIR "/guest") == 0 ? "runtime/guest"
								   : NULL;
	char *folder = slash ? strndup(exe, (size_t)(slash - exe)) : NULL;
	char *built = NULL;

	if (folder && name && is_build_tree(folder, name) && asprintf(&built, "%s/%s", folder, name) < 0)
		built = NULL;
	free(folder);
	return built;
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
	now = built_path(exe, path);
	return now ? now : strdup(path);
}
