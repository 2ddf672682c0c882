// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injector/process/procpath.h"

/* The link is to what its memory was made for.  Who may not read it has not learned that there is none. */
static bool has_memory(pid_t id)
{
	char path[INJ_PROC_PATH], c;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)id);
	return readlink(path, &c, 1) >= 0 || errno != ENOENT;
}

static pid_t thread_with_memory(pid_t pid)
{
	char path[INJ_PROC_PATH];
	pid_t found = pid;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && found == pid && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && tid != pid && has_memory(tid))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

void inj_proc_path(char path[INJ_PROC_PATH], pid_t pid, const char *name)
{
	snprintf(path, INJ_PROC_PATH, "/proc/%d/%.40s", (int)(has_memory(pid) ? pid : thread_with_memory(pid)), name);
}
