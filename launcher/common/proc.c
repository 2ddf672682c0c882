/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/process/procpath.h"

#define MOST_ARGUMENTS ((size_t)4 << 20)

static int open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* What a read() gives is enough for all but the arguments.  The length; -1: the process is gone. */
static ssize_t read_once(pid_t pid, const char *name, char *buf, size_t size)
{
	int fd = open_file(pid, name);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

bool proc_stat(pid_t pid, struct proc_stat *s)
{
	char text[1024], *p;

	*s = (struct proc_stat){ 0 };
	if (read_once(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	/* the second field, the name, may hold blanks and parentheses: it ends at the last one */
	p = strrchr(text, ')');
	/* fields 3, 4 and 22 */
	if (!p || sscanf(p, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64, &s->state,
			 &s->parent, &s->start) != 3) {
		*s = (struct proc_stat){ 0 };
		return false;
	}
	/* field 52, the last one */
	s->status = atoi(strrchr(p, ' '));
	return true;
}

void proc_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
	read_once(pid, name, comm, size);
	comm[strcspn(comm, "\n")] = '\0';
}

static bool read_times(pid_t pid, pid_t tid, uint64_t *ran, uint64_t *waited)
{
	char name[40], text[80];

	snprintf(name, sizeof(name), "task/%d/schedstat", (int)tid);
	return read_once(pid, name, text, sizeof(text)) > 0 && sscanf(text, "%" SCNu64 " %" SCNu64, ran, waited) == 2;
}

bool proc_cpu_time(pid_t pid, pid_t tid, uint64_t *ns)
{
	uint64_t waited;

	return read_times(pid, tid, ns, &waited);
}

bool proc_wanted_time(pid_t pid, pid_t tid, uint64_t *ns)
{
	uint64_t ran, waited;

	if (!read_times(pid, tid, &ran, &waited))
		return false;
	*ns = ran + waited;
	return true;
}

/* malloc'ed, NUL-terminated.  NULL: no memory. */
static char *read_arguments(pid_t pid, size_t *len)
{
	char path[INJ_PROC_PATH], *text = NULL;
	ssize_t n = 0;
	int fd;

	*len = 0;
	inj_proc_path(path, pid, "cmdline");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t room = 0; *len == room && room < MOST_ARGUMENTS;) {
		char *more = realloc(text, (room = 2 * room + 4096) + 1);

		if (!more)
			goto out;
		text = more;
		while (*len < room && fd >= 0 && (n = read(fd, text + *len, room - *len)) > 0)
			*len += (size_t)n;
	}
out:
	if (fd >= 0)
		close(fd);
	if (text)
		text[*len] = '\0';
	return text;
}

char **proc_arguments(pid_t pid)
{
	size_t len, n = 0, at = 0;
	char *text = read_arguments(pid, &len), **argv = NULL, *copy;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += strlen(text + i) + 1)
		n++;
	argv = malloc((n + 1) * sizeof(*argv) + len + 1);
	if (argv) {
		copy = memcpy(argv + n + 1, text, len + 1);
		for (size_t i = 0; i < n; i++, at += strlen(copy + at) + 1)
			argv[i] = copy + at;
		argv[n] = NULL;
	}
	free(text);
	return argv;
}
