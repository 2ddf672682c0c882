// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injector/process/procpath.h"
#include "injector/process/target.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGES 4096 /* bytes that are worth another system call if it fails */

const char *inj_status_text(enum inj_status status)
{
	static const char *const text[] = {
		[INJ_OK] = "no error",
		[INJ_GONE] = "the program is gone",
		[INJ_SYSTEM] = "system call failed",
		[INJ_REMOTE] = "system call failed in the program",
		[INJ_MEMORY] = "out of memory",
		[INJ_NO_FILE] = "file cannot be read as ELF",
		[INJ_BAD_IMAGE] = "image cannot be loaded",
		[INJ_NO_ROOM] = "no free addresses near enough",
		[INJ_NOT_SUPPORTED] = "not supported",
	};

	return text[status];
}

enum inj_status inj_target_open(struct inj_target *t, pid_t pid)
{
	char path[INJ_PROC_PATH];

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	inj_proc_path(path, pid, "mem");
	t->mem = open(path, O_RDWR | O_CLOEXEC);
	if (t->mem < 0)
		return errno == ENOENT || errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	return INJ_OK;
}

void inj_target_close(struct inj_target *t)
{
	if (t->mem >= 0)
		close(t->mem);
	t->mem = -1;
}

static enum inj_status moved(ssize_t n)
{
	if (n == 0) { /* the address space is gone */
		errno = ESRCH;
		return INJ_GONE;
	}
	return INJ_SYSTEM;
}

/* The faster way, for code and data that can be read there; not all of it may be. */
static bool read_pages(const struct inj_target *t, uint64_t addr, void *buf, size_t len)
{
	const struct iovec here = { .iov_base = buf, .iov_len = len };
	const struct iovec there = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	return len >= PAGES && process_vm_readv(t->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

enum inj_status inj_read(struct inj_target *t, uint64_t addr, void *buf, size_t len)
{
	if (read_pages(t, addr, buf, len))
		return INJ_OK;
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(t->mem, (char *)buf + done, len - done, (off_t)(addr + done));

		if (n <= 0)
			return moved(n);
		done += (size_t)n;
	}
	return INJ_OK;
}

enum inj_status inj_write(struct inj_target *t, uint64_t addr, const void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(t->mem, (const char *)buf + done, len - done,
				   (off_t)(addr + done));

		if (n <= 0)
			return moved(n);
		done += (size_t)n;
	}
	return INJ_OK;
}

#define SPANS 256 /* in one system call, where the kernel lets us */

static bool move_at_once(struct inj_target *t, const struct inj_span *v, size_t n, bool write)
{
	struct iovec here[SPANS], there[SPANS];
	size_t all = 0;
	ssize_t moved;

	for (size_t i = 0; i < n; i++) {
		here[i] = (struct iovec){ .iov_base = v[i].buf, .iov_len = v[i].len };
		there[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)v[i].addr, .iov_len = v[i].len };
		all += v[i].len;
	}
	moved = write ? process_vm_writev(t->pid, here, n, there, n, 0) : process_vm_readv(t->pid, here, n, there, n, 0);
	return moved >= 0 && (size_t)moved == all;
}

static enum inj_status move_spans(struct inj_target *t, const struct inj_span *v, size_t n, bool write)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0, end; i < n && status == INJ_OK; i = end) {
		end = n - i < SPANS ? n : i + SPANS;
		if (move_at_once(t, v + i, end - i, write))
			continue;
		for (size_t k = i; k < end && status == INJ_OK; k++)
			status = write ? inj_write(t, v[k].addr, v[k].buf, v[k].len) :
					 inj_read(t, v[k].addr, v[k].buf, v[k].len);
	}
	return status;
}

enum inj_status inj_read_spans(struct inj_target *t, const struct inj_span *v, size_t n)
{
	return move_spans(t, v, n, false);
}

enum inj_status inj_write_spans(struct inj_target *t, const struct inj_span *v, size_t n)
{
	return move_spans(t, v, n, true);
}

size_t inj_read_some(struct inj_target *t, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = pread(t->mem, buf, len, (off_t)addr);

	return n > 0 ? (size_t)n : 0;
}

enum inj_status inj_read_string(struct inj_target *t, uint64_t addr, char *buf, size_t size)
{
	size_t n = inj_read_some(t, addr, buf, size - 1);

	if (n == 0)
		return INJ_SYSTEM;
	buf[n] = '\0';
	return INJ_OK;
}

enum inj_status inj_syscall(struct inj_target *t, long nr, const uint64_t args[6], int64_t *result)
{
	enum inj_status status = t->syscall(t, nr, args, result);

	if (status != INJ_OK)
		return status;
	if ((uint64_t)*result >= (uint64_t)-4095) {
		errno = (int)-*result;
		return INJ_REMOTE;
	}
	return INJ_OK;
}

enum inj_status inj_mmap(struct inj_target *t, uint64_t addr, uint64_t len, int prot, int flags,
			 int fd, uint64_t offset, uint64_t *out)
{
	const uint64_t args[6] = { addr, len, (uint64_t)prot, (uint64_t)flags, (uint64_t)(int64_t)fd,
				   offset };
	int64_t result = 0;
	enum inj_status status = inj_syscall(t, SYS_mmap, args, &result);

	*out = status == INJ_OK ? (uint64_t)result : 0;
	return status;
}

enum inj_status inj_munmap(struct inj_target *t, uint64_t addr, uint64_t len)
{
	const uint64_t args[6] = { addr, len };
	int64_t result;

	return inj_syscall(t, SYS_munmap, args, &result);
}

enum inj_status inj_map_again(struct inj_target *t, uint64_t from, uint64_t to, uint64_t len)
{
	/* an old size of zero: leave the old mapping where it is */
	const uint64_t args[6] = { from, 0, len, MREMAP_MAYMOVE | MREMAP_FIXED, to };
	enum inj_status status;
	uint64_t got;
	int64_t result;

	/* mremap() would replace what is there: take the place first */
	status = inj_mmap(t, to, len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0,
			  &got);
	if (status != INJ_OK)
		return status;
	status = got == to ? inj_syscall(t, SYS_mremap, args, &result) : INJ_NO_ROOM;
	if (status != INJ_OK)
		(void)!inj_munmap(t, got, len);
	return status;
}
