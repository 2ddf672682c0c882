/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)", or without the first part. */
static char *library_of_line(char *line)
{
	char *arrow = strstr(line, "=> ");
	char *path = arrow ? arrow + 3 : line + strspn(line, " \t");
	char *end = strrchr(path, '(');

	if (*path != '/' || !end || end == path)
		return NULL;
	while (end > path && end[-1] == ' ')
		end--;
	*end = '\0';
	return path;
}

static FILE *run_linker(const struct program *p, pid_t *pid)
{
	char list[] = "--list";
	char *argv[] = { p->interp, list, p->elf_path, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return NULL;
	if (posix_spawn_file_actions_init(&actions) != 0)
		goto fail;
	int err = posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	if (!err)
		err = posix_spawn(pid, p->interp, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		goto fail;
	close(fds[1]);
	return fdopen(fds[0], "r");
fail:
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

int program_libraries(const struct program *p, int (*each)(const char *path, void *arg), void *arg)
{
	char *line = NULL;
	size_t size = 0;
	pid_t pid;
	int status = 0, child;

	if (p->is_static)
		return 0;
	FILE *lines = run_linker(p, &pid);
	if (!lines)
		return -1;
	while (!status && getline(&line, &size, lines) > 0) {
		char *path = library_of_line(line);

		if (path)
			status = each(path, arg);
	}
	free(line);
	fclose(lines);
	while (waitpid(pid, &child, 0) < 0 && errno == EINTR)
		;
	return status || (WIFEXITED(child) && !WEXITSTATUS(child)) ? status : -1;
}
