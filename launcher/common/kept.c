// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/common/kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/common/files.h"
#include "launcher/common/message.h"

#define SLOTS 8
#define MAX_BYTES ((off_t)1 << 32)

bool kept_hash_file(XXH3_state_t *state, const char *path)
{
	static char buf[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t all = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		XXH3_128bits_update(state, buf, (size_t)n);
		all += (uint64_t)n;
	}
	XXH3_128bits_update(state, &all, sizeof(all));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

bool kept_hash_in(XXH3_state_t *state, const char *dir, const char *name)
{
	char *path;
	bool good;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return false;
	good = kept_hash_file(state, path);
	free(path);
	return good;
}

/* A folder that cannot be written to, or is full, is no reason to complain. */
static bool replace(const char *dir, const char *name, const char *path, const void *data, size_t bytes)
{
	char *temporary;
	bool good = false;
	int fd;

	if (asprintf(&temporary, "%s/.%s-XXXXXX", dir, name) < 0)
		return false;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0) {
		good = files_write(fd, data, bytes);
		good = close(fd) == 0 && good;
		good = good && rename(temporary, path) == 0;
		if (!good)
			unlink(temporary);
	}
	free(temporary);
	return good;
}

static char *path_of(const char *dir, const char *name, const struct kept_key *key)
{
	char *path;

	if (!(key->word[0] | key->word[1]))
		return NULL;
	return asprintf(&path, "%s/%s.%u", dir, name, (unsigned int)(key->word[0] % SLOTS)) < 0 ? NULL : path;
}

void kept_write(const char *dir, const char *name, const struct kept_key *key, const void *data, size_t bytes)
{
	char *path = path_of(dir, name, key);

	if (path && !replace(dir, name, path, data, bytes))
		msg_debug("%s: it is not kept: %m", path);
	free(path);
}

/* A plain file, or nothing. */
static void *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *data = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < MAX_BYTES)
		data = malloc((size_t)st.st_size);
	*bytes = 0;
	while (data && *bytes < (size_t)st.st_size) {
		ssize_t n = read(fd, data + *bytes, (size_t)st.st_size - *bytes);

		if (n <= 0)
			break;
		*bytes += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

void *kept_read(const char *dir, const char *name, const struct kept_key *key, size_t *bytes)
{
	char *path = path_of(dir, name, key);
	void *data = path ? read_file(path, bytes) : NULL;

	free(path);
	return data;
}
