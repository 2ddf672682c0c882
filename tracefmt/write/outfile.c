/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/write/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool tf_outfile_create(struct tf_outfile *f, int dirfd, const char *name)
{
	int fd;

	*f = (struct tf_outfile){ .dirfd = dirfd };
	if (strlen(name) >= sizeof f->name) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(f->name, name);
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool write_all(int fd, const char *data, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t got = pwrite(fd, data, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ENOSPC;
			return false;
		}
		data += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

bool tf_outfile_append(struct tf_outfile *f, const void *data, size_t n)
{
	int fd = openat(f->dirfd, f->name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	bool good;
	int saved;

	if (fd < 0)
		return false;
	good = write_all(fd, data, n, f->size);
	saved = errno;
	if (!good && ftruncate(fd, (off_t)f->size))
		saved = saved ? saved : errno;
	/* Some file systems (NFS, quotas) report only here that the data did not arrive. */
	if (close(fd) && errno != EINTR && good) {
		good = false;
		saved = errno;
	}
	if (good)
		f->size += n;
	errno = saved;
	return good;
}
