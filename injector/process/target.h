/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process whose memory can be read and written and that executes system calls for us, in either
 * of two ways: stopped under ptrace, or by one of its threads that waits in the runtime's
 * mailbox.  Whoever patches does not know which.
 */
#ifndef SONDE_INJECTOR_PROCESS_TARGET_H
#define SONDE_INJECTOR_PROCESS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "injector/status.h"

struct inj_target {
	pid_t pid;
	int mem; /* /proc/PID/mem */
	bool stands;   /* under ptrace, with arg its struct inj_tracee */
	bool inherits; /* it has our descriptors that are not close-on-exec, by the same numbers */
	/* Executes system call @nr; *result is the kernel's (negative errno on failure). */
	enum inj_status (*syscall)(struct inj_target *t, long nr, const uint64_t args[6],
				   int64_t *result);
	void *arg;
};

/* Opens /proc/PID/mem.  Errors: GONE, SYSTEM. */
enum inj_status inj_target_open(struct inj_target *t, pid_t pid) INJ_CHECK;
void inj_target_close(struct inj_target *t);

/* Whole ranges or an error: GONE, SYSTEM (errno EIO: not mapped). */
enum inj_status inj_read(struct inj_target *t, uint64_t addr, void *buf, size_t len) INJ_CHECK;
enum inj_status inj_write(struct inj_target *t, uint64_t addr, const void *buf, size_t len)
	INJ_CHECK;
/* Many short ranges at once; a write needs memory that the process, too, may write.  All of them, or an error as above. */
struct inj_span {
	uint64_t addr;
	void *buf;
	size_t len;
};
enum inj_status inj_read_spans(struct inj_target *t, const struct inj_span *v, size_t n) INJ_CHECK;
enum inj_status inj_write_spans(struct inj_target *t, const struct inj_span *v, size_t n) INJ_CHECK;
/* As many bytes as can be read, up to len. */
size_t inj_read_some(struct inj_target *t, uint64_t addr, void *buf, size_t len);
/* A string of at most size - 1 bytes; longer ones are cut. */
enum inj_status inj_read_string(struct inj_target *t, uint64_t addr, char *buf, size_t size)
	INJ_CHECK;

/* System calls in the process.  A failure of theirs is REMOTE, with errno set. */
enum inj_status inj_syscall(struct inj_target *t, long nr, const uint64_t args[6],
			    int64_t *result) INJ_CHECK;
enum inj_status inj_mmap(struct inj_target *t, uint64_t addr, uint64_t len, int prot, int flags,
			 int fd, uint64_t offset, uint64_t *out) INJ_CHECK;
enum inj_status inj_munmap(struct inj_target *t, uint64_t addr, uint64_t len) INJ_CHECK;
/* A second mapping, at exactly @to, of the shared pages that are mapped from @from on. */
enum inj_status inj_map_again(struct inj_target *t, uint64_t from, uint64_t to, uint64_t len)
	INJ_CHECK;

#endif
