// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/process/remote.h"

#define PAGE 4096u

enum inj_status inj_remote_open(struct inj_target *t, int fd, int *remote)
{
	char path[64];
	enum inj_status status;
	int64_t result = -1;
	uint64_t page;

	*remote = fd;
	if (t->inherits)
		return INJ_OK;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	status = inj_mmap(t, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &page);
	if (status != INJ_OK)
		return status;
	status = inj_write(t, page, path, strlen(path) + 1);
	if (status == INJ_OK)
		status = inj_syscall(t, SYS_open, (const uint64_t[6]){ page, O_RDWR | O_CLOEXEC }, &result);
	*remote = (int)result;
	(void)!inj_munmap(t, page, PAGE);
	return status;
}

enum inj_status inj_remote_close(struct inj_target *t, int remote)
{
	int64_t ignored;

	return inj_syscall(t, SYS_close, (const uint64_t[6]){ (uint64_t)remote }, &ignored);
}
