// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/process/attachable.h"
#include "injector/process/maps.h"
#include "injector/process/target.h"
#include "tracefmt/ring.h"

#define RINGS "/memfd:sonde-rings" /* what recorded processes have mapped */

/* The text after "FIELD:" in /proc/PID/status.  False: it is not there. */
static bool read_field(pid_t pid, const char *field, char *value, size_t size)
{
	size_t len = strlen(field), room = 0;
	char path[32], *line = NULL;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &room, f) > 0) {
		found = strncmp(line, field, len) == 0 && line[len] == ':';
		if (found)
			snprintf(value, size, "%.*s", (int)strcspn(line + len + 2, "\n"), line + len + 2);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

long long inj_process_status(pid_t pid, const char *field, int base)
{
	char value[128];

	return read_field(pid, field, value, sizeof(value)) ? strtoll(value, NULL, base) : -1;
}

static bool is_kernel_thread(pid_t pid)
{
	char value[32];

	/* "VmSize" is of those that have memory; Linux 6.10 says it outright */
	return inj_process_status(pid, "Kthread", 10) == 1 || !read_field(pid, "VmSize", value, sizeof(value));
}

static const char *wrong_state(pid_t pid)
{
	char state[32] = "";

	(void)!read_field(pid, "State", state, sizeof(state));
	switch (state[0]) {
	case 'Z':
		if (inj_process_status(pid, "Threads", 10) > 1)
			return "its first thread has ended, as by pthread_exit() in main(): it can be recorded from its start, not later";
		/* fallthrough */
	case 'X': return "it has ended already, its parent has not asked for its exit status yet (a zombie)";
	case 'T': return "it is stopped (by SIGSTOP or a terminal): continue it first, as by kill -CONT";
	default: return NULL;
	}
}

static bool is_32bit(pid_t pid)
{
	unsigned char ident[EI_NIDENT] = "";
	char path[32];
	bool is;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident) && ident[EI_CLASS] != ELFCLASS64;
	if (fd >= 0)
		close(fd);
	return is;
}

/* Has it been left, but for what a thread stood in?  What cannot be read has not. */
static bool is_left(struct inj_target *t, uint64_t rings)
{
	struct ring_control c;

	return inj_read(t, rings, &c, sizeof(c)) == INJ_OK && c.magic == RING_MAGIC && c.flags & RING_LEFT;
}

static bool is_recorded(pid_t pid)
{
	struct inj_target target;
	struct inj_maps maps;
	bool is = false, readable;

	if (inj_maps_read(pid, &maps) != INJ_OK)
		return false;
	readable = inj_target_open(&target, pid) == INJ_OK;
	for (size_t i = 0; i < maps.n && !is; i++)
		is = strncmp(maps.v[i].path, RINGS, strlen(RINGS)) == 0 && !maps.v[i].offset &&
		     !(readable && is_left(&target, maps.v[i].start));
	inj_target_close(&target);
	inj_maps_free(&maps);
	return is;
}

static bool is_other_user(pid_t pid)
{
	return geteuid() != 0 && inj_process_status(pid, "Uid", 10) != geteuid();
}

static bool is_restricted(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f) {
		(void)!fscanf(f, "%d", &scope);
		fclose(f);
	}
	return scope > 0;
}

bool inj_attachable(pid_t pid, char *why, size_t size)
{
	long long tgid = inj_process_status(pid, "Tgid", 10), tracer;
	const char *text = NULL;

	if (pid <= 0 || tgid < 0) {
		snprintf(why, size, "there is no such process");
		return false;
	}
	if (tgid != pid) {
		snprintf(why, size, "it is a thread of process %lld: attach to that", tgid);
		return false;
	}
	tracer = inj_process_status(pid, "TracerPid", 10);
	if (pid == getpid())
		text = "it is Sonde itself";
	else if ((text = wrong_state(pid)))
		;
	else if (is_kernel_thread(pid))
		text = "it is a thread of the kernel";
	else if (is_other_user(pid))
		text = "it belongs to another user";
	else if (tracer <= 0 && is_32bit(pid))
		text = "it is a 32-bit program";
	else if (tracer <= 0 && is_recorded(pid))
		text = "it is recorded already";
	else if (tracer <= 0 && inj_process_status(pid, "Seccomp", 10) == 2)
		text = "it is under a seccomp filter, which may end it for system calls that recording needs";
	if (tracer > 0)
		snprintf(why, size, "process %lld traces it already (a debugger, strace, or another Sonde)", tracer);
	else if (text)
		snprintf(why, size, "%s", text);
	return !text && tracer <= 0;
}

void inj_not_attachable(pid_t pid, int err, char *why, size_t size)
{
	if (!inj_attachable(pid, why, size))
		return;
	if (err == EPERM && geteuid() != 0 && is_restricted())
		snprintf(why, size, "not permitted (kernel.yama.ptrace_scope allows only root, or an ancestor of the process); "
				    "see `sonde doctor'");
	else if (err == EPERM)
		snprintf(why, size, "not permitted (it has rights that you have not, or a container forbids it); see `sonde doctor'");
	else if (err == ETIMEDOUT)
		snprintf(why, size, "a thread of it waits in the kernel and cannot be stopped; try again later");
	else
		snprintf(why, size, "%s", strerror(err));
}
