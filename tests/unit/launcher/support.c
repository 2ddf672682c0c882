// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/launcher/support.h"
#include "launcher/common/installed.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPTURE_FILE "captured"

static int captured_fd = -1, saved_fd = -1;

/* In the place of libcommand's: the headers are those of the source, and nothing else is installed. */
char *installed_path(const char *path)
{
	const char *source = getenv("top_srcdir");
	char *now;

	if (strcmp(path, INCLUDEDIR) != 0 || !source)
		return strdup("/nonexistent");
	return asprintf(&now, "%s/modules/include", source) < 0 ? NULL : now;
}

void capture_begin(int fd)
{
	int file = open(CAPTURE_FILE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	fflush(NULL);
	captured_fd = fd;
	saved_fd = dup(fd);
	if (file < 0 || saved_fd < 0 || dup2(file, fd) < 0)
		err(1, "capture");
	close(file);
}

const char *capture_end(void)
{
	static char *text;
	size_t len;

	fflush(NULL);
	if (dup2(saved_fd, captured_fd) < 0)
		err(1, "capture");
	close(saved_fd);
	free(text);
	text = read_whole(CAPTURE_FILE, &len);
	return text;
}

void write_file(const char *path, const void *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fchmod(fd, mode) != 0)
		err(1, "%s", path);
	close(fd);
}

void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text), 0644);
}

void *read_whole(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes;

	if (fd < 0 || fstat(fd, &st) != 0)
		err(1, "%s", path);
	*len = (size_t)st.st_size;
	bytes = malloc(*len + 1);
	if (!bytes || pread(fd, bytes, *len, 0) != (ssize_t)*len)
		err(1, "%s", path);
	bytes[*len] = '\0';
	close(fd);
	return bytes;
}

const char *fresh_folder(void)
{
	static char name[64];
	static int count;

	snprintf(name, sizeof(name), "folder%d", count++);
	if (mkdir(name, 0755) != 0)
		err(1, "%s", name);
	return name;
}

bool is_one_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end && end > text && end[1] == '\0';
}

int run_children(int n, int (*child)(int index))
{
	int good = 0, status;

	fflush(NULL);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (pid == 0)
			_exit(child(i));
	}
	for (int i = 0; i < n; i++) {
		if (wait(&status) < 0)
			err(1, "wait");
		good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return good;
}

/* xorshift64*, Vigna 2016. */
uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}
