// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde detach`: asks the `sonde attach` that records a process to leave it.  Who that is, is in the memory that the process
 * shares with it; since the process can write there, it is believed only of a process that has that memory, too.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/process/attachable.h"
#include "injector/process/maps.h"
#include "injector/process/target.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/verbs.h"
#include "tracefmt/ring.h"

static const struct opt detach_opts[] = {
	OPT_HELP,
	OPT_END,
};

static const struct opt_command detach_command = {
	.name = "detach",
	.usage = "PID",
	.summary = "Ends a recording by 'sonde attach': the process goes on as it was before. Returns when\n"
		   "the trace is complete.",
	.opts = detach_opts,
	.examples = "sonde detach 1234\tleave process 1234\n",
};

/* The rings that @pid shares with who records it: their inode, and the collector's number.  False: there are none. */
static bool find_rings(pid_t pid, uint64_t *inode, pid_t *collector)
{
	static const char name[] = "/memfd:sonde-rings";
	struct ring_control control;
	struct inj_target target;
	struct inj_maps maps;
	bool found = false;

	if (inj_maps_read(pid, &maps) != INJ_OK)
		return false;
	if (inj_target_open(&target, pid) != INJ_OK) {
		inj_maps_free(&maps);
		return false;
	}
	for (size_t i = 0; i < maps.n && !found; i++) {
		const struct inj_map *m = &maps.v[i];

		if (m->offset || strncmp(m->path, name, strlen(name)) != 0 ||
		    inj_read(&target, m->start, &control, sizeof(control)) != INJ_OK)
			continue;
		found = control.magic == RING_MAGIC && (control.flags & RING_ATTACHED) && !ring_collector_gone(&control);
		*inode = m->inode;
		*collector = (pid_t)control.tracer;
	}
	inj_target_close(&target);
	inj_maps_free(&maps);
	return found;
}

/* A descriptor of the very memory, in a process that is no thread of another one. */
static bool has_rings(pid_t pid, uint64_t inode)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		char link[64] = "";
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, e->d_name);
		found = readlink(path, link, sizeof(link) - 1) > 0 && strncmp(link, "/memfd:sonde-rings", 18) == 0 &&
			stat(path, &st) == 0 && st.st_ino == inode;
	}
	if (dir)
		closedir(dir);
	return found;
}

static int leave(pid_t pid, pid_t collector)
{
	int fd = (int)syscall(SYS_pidfd_open, collector, 0);
	struct pollfd end = { .fd = fd, .events = POLLIN };

	if (fd < 0 || syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) < 0) {
		msg_error("cannot ask process %d to leave process %d: %s", (int)collector, (int)pid, strerror(errno));
		return EXIT_USAGE;
	}
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	close(fd);
	return 0;
}

int verb_detach(int argc, char **argv)
{
	int first = opt_parse(&detach_command, argc, argv, NULL);
	uint64_t inode;
	pid_t collector;
	char *end;
	long pid;

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first != 1)
		return opt_usage_error(&detach_command, first == argc ? "no process" : "more than one process");
	pid = strtol(argv[first], &end, 10);
	if (*end || end == argv[first] || pid <= 0 || pid > INT_MAX)
		return opt_usage_error(&detach_command, "'%s' is not the number of a process", argv[first]);
	if (inj_process_status((pid_t)pid, "Tgid", 10) != pid)
		msg_error("there is no process %ld", pid);
	else if (!find_rings((pid_t)pid, &inode, &collector) || !has_rings(collector, inode))
		msg_error("process %ld is not recorded by `sonde attach'", pid);
	else
		return leave((pid_t)pid, collector);
	return EXIT_USAGE;
}
