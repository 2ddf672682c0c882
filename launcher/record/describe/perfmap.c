/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/record/describe/perfmap.h"
#include "injector/image/symbols.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

/* In a folder that anybody may write to: only a plain file of ours, that has no other name, is replaced. */
static bool is_ours(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
}

static int create(const char *path)
{
	int fd = open(path, CREATE, 0644);

	if (fd >= 0 || errno != EEXIST)
		return fd;
	if (is_ours(path) && unlink(path) == 0)
		return open(path, CREATE, 0644);
	errno = EEXIST;
	return -1;
}

static void fail(struct perfmap *map, const char *path)
{
	if (!map->failed)
		msg_warn("%s: cannot be written: %m", path);
	map->failed = true;
}

/* The name is the rest of its line. */
static void write_name(FILE *file, const char *mangled)
{
	char *plain = inj_demangle(mangled);

	for (const char *s = plain ? plain : mangled; *s; s++)
		putc((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s, file);
	putc('\n', file);
	free(plain);
}

void perfmap_write(struct perfmap *map, pid_t pid, const struct perfmap_entry *v, size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)pid);
	if (!map->file && !map->failed) {
		int fd = create(path);

		map->file = fd >= 0 ? fdopen(fd, "w") : NULL;
		if (!map->file) {
			fail(map, path);
			if (fd >= 0)
				close(fd);
		}
	}
	if (map->failed)
		return;
	for (size_t i = 0; i < n; i++) {
		fprintf(map->file, "%" PRIx64 " %" PRIx64 " ", v[i].addr, v[i].size);
		write_name(map->file, v[i].name);
	}
	if (fflush(map->file) != 0)
		fail(map, path);
}

void perfmap_close(struct perfmap *map)
{
	if (map->file)
		fclose(map->file);
	*map = (struct perfmap){ 0 };
}
