// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The calls are a table on the process's stack, below all that is used of it; what executes them takes, for as long as it runs,
 * the place of code in the page that the process stands in.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>

#include "injector/process/batch.h"
#include "injector/process/tracee.h"
#include "injector/process/tracee-private.h"

#define PAGE UINT64_C(4096)
#define BELOW 512u /* the red zone, and more */

static const uint8_t code[] = {
	0x48, 0x8b, 0x03,	/* 0: mov (%rbx), %rax: the number */
	0x48, 0x8b, 0x7b, 0x08, /*    mov 8(%rbx), %rdi */
	0x48, 0x8b, 0x73, 0x10, /*    mov 16(%rbx), %rsi */
	0x48, 0x8b, 0x53, 0x18, /*    mov 24(%rbx), %rdx */
	0x4c, 0x8b, 0x53, 0x20, /*    mov 32(%rbx), %r10 */
	0x4c, 0x8b, 0x43, 0x28, /*    mov 40(%rbx), %r8 */
	0x4c, 0x8b, 0x4b, 0x30, /*    mov 48(%rbx), %r9 */
	0x0f, 0x05,		/*    syscall */
	0x48, 0x8b, 0x4b, 0x38, /*    mov 56(%rbx), %rcx: where else it is needed */
	0x48, 0x89, 0x01,	/*    mov %rax, (%rcx) */
	0x48, 0x8b, 0x4b, 0x40, /*    mov 64(%rbx), %rcx */
	0x48, 0x89, 0x01,	/*    mov %rax, (%rcx) */
	0x48, 0x8b, 0x4b, 0x48, /*    mov 72(%rbx), %rcx */
	0x48, 0x89, 0x01,	/*    mov %rax, (%rcx) */
	0x48, 0x89, 0x03,	/*    mov %rax, (%rbx): the result */
	0x48, 0x83, 0xc3, 0x50, /*    add $80, %rbx */
	0xff, 0xcd,		/*    dec %ebp */
	0x75, 0xc3,		/*    jnz 0b */
	0xcc,			/*    int3 */
};

_Static_assert(sizeof(((struct inj_batch *)0)->calls[0]) == 80, "as the code has it");

enum inj_status inj_batch_begin(struct inj_target *t, struct inj_batch *b)
{
	struct user_regs_struct regs;
	enum inj_status status;

	if (!t->stands)
		return INJ_NOT_SUPPORTED;
	status = inj_tracee_regs(t->arg, &regs);
	memset(b, 0, sizeof(*b));
	b->at = ((regs.rsp - BELOW) & ~UINT64_C(15)) - sizeof(*b);
	return status;
}

uint64_t inj_batch_put(struct inj_batch *b, const void *bytes, size_t len)
{
	size_t at = b->ndata;

	memcpy(b->data + at, bytes, len);
	b->ndata += (len + 7) & ~(size_t)7;
	return b->at + offsetof(struct inj_batch, data) + at;
}

const void *inj_batch_data(const struct inj_batch *b, uint64_t addr)
{
	return (const uint8_t *)b + (addr - b->at);
}

/* Of a word of the table. */
static uint64_t address(const struct inj_batch *b, const uint64_t *word)
{
	return b->at + (uint64_t)((const uint8_t *)word - (const uint8_t *)b);
}

size_t inj_batch_add(struct inj_batch *b, long nr, const uint64_t args[6])
{
	size_t i = b->n++;

	b->calls[i].nr = (uint64_t)nr;
	memcpy(b->calls[i].args, args, sizeof(b->calls[i].args));
	for (size_t k = 0; k < INJ_BATCH_USES; k++)
		b->calls[i].uses[k] = address(b, &b->calls[i].nr);
	return i;
}

void inj_batch_use(struct inj_batch *b, size_t call, size_t user, size_t arg)
{
	uint64_t none = address(b, &b->calls[call].nr);

	for (size_t k = 0; k < INJ_BATCH_USES; k++) {
		if (b->calls[call].uses[k] != none)
			continue;
		b->calls[call].uses[k] = address(b, &b->calls[user].args[arg]);
		return;
	}
}

static enum inj_status run(struct inj_tracee *t, const struct inj_batch *b, const struct user_regs_struct *saved, uint64_t place)
{
	struct user_regs_struct regs = *saved, after;
	enum inj_status status;

	regs.rip = place;
	regs.rbx = b->at + offsetof(struct inj_batch, calls);
	regs.rbp = b->n;
	regs.orig_rax = (uint64_t)-1; /* no system call to restart */
	status = inj_tracee_set_regs(t, &regs);
	if (status == INJ_OK)
		status = inj_tracee_to_trap(t);
	if (status == INJ_OK)
		status = inj_tracee_regs(t, &after);
	return status == INJ_OK && after.rip != place + sizeof(code) ? INJ_REMOTE : status;
}

enum inj_status inj_batch_run(struct inj_target *t, struct inj_batch *b)
{
	struct inj_tracee *tracee = t->arg;
	struct user_regs_struct saved;
	uint8_t original[sizeof(code)];
	enum inj_status status = inj_tracee_regs(tracee, &saved), restored;
	uint64_t place = saved.rip & ~(PAGE - 1);

	if (status == INJ_OK)
		status = inj_read(t, place, original, sizeof(original));
	if (status == INJ_OK)
		status = inj_write(t, b->at, b, sizeof(*b));
	if (status == INJ_OK)
		status = inj_write(t, place, code, sizeof(code));
	if (status != INJ_OK)
		return status;
	status = run(tracee, b, &saved, place);
	if (status == INJ_GONE)
		return status;
	restored = inj_write(t, place, original, sizeof(original));
	saved.orig_rax = (uint64_t)-1;
	if (restored == INJ_OK)
		restored = inj_tracee_set_regs(tracee, &saved);
	if (restored == INJ_OK && status == INJ_OK)
		status = inj_read(t, b->at, b, offsetof(struct inj_batch, n));
	return restored == INJ_OK ? status : restored;
}

int64_t inj_batch_result(const struct inj_batch *b, size_t call)
{
	return (int64_t)b->calls[call].nr;
}
