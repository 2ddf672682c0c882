// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/common/files.h"
#include "launcher/common/message.h"

#define TEMPORARY ".archiving"
#define AT_ONCE ((size_t)1 << 20)

int archive_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* Closes @dir; what is returned is the folder below it, made if it is not there.  -1: errno. */
static int enter(int dir, const char *name)
{
	int below = mkdirat(dir, name, 0777) == 0 || errno == EEXIST ? openat(dir, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC) :
								       -1;
	int saved = errno;

	close(dir);
	errno = saved;
	return below;
}

static int64_t copy(int to, int from)
{
	char *buf = malloc(AT_ONCE);
	int64_t all = 0;
	ssize_t n = -1;

	while (buf && (n = pread(from, buf, AT_ONCE, all)) > 0 && files_write(to, buf, (size_t)n))
		all += n;
	free(buf);
	return n == 0 ? all : -1;
}

/* @dir is closed. */
static int64_t put_here(int dir, const char *name, int from)
{
	int64_t all = -1;
	int saved, fd;

	unlinkat(dir, TEMPORARY, 0); /* of one that was killed */
	fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd >= 0) {
		all = copy(fd, from);
		if (close(fd) != 0)
			all = -1;
		if (all >= 0 && renameat(dir, TEMPORARY, dir, name) != 0)
			all = -1;
	}
	saved = errno;
	if (fd >= 0 && all < 0)
		unlinkat(dir, TEMPORARY, 0);
	close(dir);
	errno = saved;
	return all;
}

int64_t archive_put(int dir, const char *name, int from)
{
	char *names = strdup(name), *part = names, *slash;
	int at = names ? fcntl(dir, F_DUPFD_CLOEXEC, 0) : -1;
	int64_t all = -1;

	while (at >= 0 && (slash = strchr(part, '/'))) {
		*slash = '\0';
		at = enter(at, part);
		part = slash + 1;
	}
	if (at >= 0)
		all = put_here(at, part, from);
	free(names);
	return all;
}

static bool copy_one(int to, const char *path, const char *name)
{
	int from = archive_open(path);
	bool good = from >= 0 && archive_put(to, name, from) >= 0;

	if (!good)
		msg_error("%s: cannot be copied: %m", path);
	if (from >= 0)
		close(from);
	return good;
}

bool archive_copy_tree(const char *from, const char *to)
{
	char *root = strdup(from), *roots[] = { root, NULL };
	int dir = open(to, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	FTS *fts = root && dir >= 0 ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	size_t skip = strlen(from) + 1;
	bool good = fts != NULL;
	FTSENT *e;

	while (good && (e = fts_read(fts))) {
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
			msg_error("%s: %s", e->fts_path, strerror(e->fts_errno));
			good = false;
		} else if (e->fts_info == FTS_F && S_ISREG(e->fts_statp->st_mode)) {
			good = copy_one(dir, e->fts_path, e->fts_path + skip);
		}
	}
	if (!fts)
		msg_error("%s: %m", to);
	else
		fts_close(fts);
	if (dir >= 0)
		close(dir);
	free(root);
	return good;
}
