/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/files.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


#define OPEN_FOLDERS 16

static bool make_one(const char *path, mode_t mode)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return true;
	if (errno != EEXIST)
		return false;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return true;
	errno = ENOTDIR;
	return false;
}

bool files_make_folders(const char *path, mode_t mode)
{
	char *copy = strdup(path);
	bool ok = copy != NULL;

	for (char *p = copy; ok && (p = strchr(p + 1, '/'));) {
		*p = '\0';
		/* What is above may be there and not ours to write: see at the last one. */
		if (!make_one(copy, mode) && errno == ENOTDIR)
			ok = false;
		*p = '/';
	}
	ok = ok && make_one(copy, mode);
	int saved = errno;
	free(copy);
	errno = saved;
	return ok;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

bool files_remove_tree(const char *path)
{
	return nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0;
}

int files_is_empty_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int empty = 1;

	if (!dir)
		return -1;
	while (empty && (e = readdir(dir)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

char *files_absolute(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup("."), *real, *absolute = NULL;

	real = folder ? realpath(folder, NULL) : NULL;
	if (real && asprintf(&absolute, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) < 0)
		absolute = NULL;
	free(folder);
	free(real);
	return absolute;
}

bool files_write(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

char *files_text(const char *path, size_t most, size_t *bytes)
{
	char *text = malloc(most + 1);
	FILE *f = text ? fopen(path, "re") : NULL;
	size_t n = f ? fread(text, 1, most + 1, f) : 0;
	int error = !f || ferror(f) ? errno : n > most ? EFBIG : 0;

	if (f)
		fclose(f);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[n] = '\0';
	if (bytes)
		*bytes = n;
	return text;
}
