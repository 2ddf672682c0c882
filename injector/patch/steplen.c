// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The length of an instruction as the processor sees it, for when the two decoders do not agree or
 * there is only one.  The bytes are put at the end of an executable page that nothing follows, one
 * more each time: as long as the processor wants more, fetching faults exactly at the page's end.
 * When it has all of it, it is executed, or faults on its operands; all registers point
 * nowhere, so that it does no harm, and the program's registers are put back afterwards.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "injector/patch/session.h"

#define PAGE UINT64_C(4096)
#define MAX_INSN 15

static void harmless(struct user_regs_struct *regs, uint64_t rip)
{
	/* not canonical: an access of any size faults, whatever is added to it */
	const uint64_t nowhere = UINT64_C(0x6000000000000000);

	regs->rax = regs->rbx = regs->rcx = regs->rdx = nowhere;
	regs->rsi = regs->rdi = regs->rbp = regs->rsp = nowhere;
	regs->r8 = regs->r9 = regs->r10 = regs->r11 = nowhere;
	regs->r12 = regs->r13 = regs->r14 = regs->r15 = nowhere;
	regs->orig_rax = (uint64_t)-1;
	regs->rip = rip;
}

static bool is_syscall(const uint8_t *code, size_t n)
{
	return n >= 2 && ((code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34)) ||
			  code[0] == 0xcd);
}

/* Does the processor ask for more than the @n bytes at the end of the page? */
static enum inj_status wants_more(struct inj_session *s, const uint8_t *code, size_t n,
				  uint64_t page, uint8_t *mem, bool *more)
{
	struct user_regs_struct saved, regs;
	uint64_t end = page + PAGE, fault = 0;
	enum inj_status status = inj_tracee_regs(s->tracee, &saved);
	int sig = 0;

	if (status != INJ_OK)
		return status;
	memcpy(mem + PAGE - n, code, n);
	regs = saved;
	harmless(&regs, end - n);
	status = inj_tracee_set_regs(s->tracee, &regs);
	if (status == INJ_OK)
		status = inj_tracee_step(s->tracee, &sig, &fault);
	if (status == INJ_OK)
		status = inj_tracee_regs(s->tracee, &regs);
	*more = sig == SIGSEGV && fault == end && regs.rip == end - n;
	if (status != INJ_OK)
		return status;
	saved.orig_rax = (uint64_t)-1;
	return inj_tracee_set_regs(s->tracee, &saved);
}

static enum inj_status one_length(struct inj_session *s, const uint8_t *code, size_t avail,
				  uint64_t page, uint8_t *mem, uint8_t *length)
{
	*length = 0;
	for (size_t n = 1; n <= MAX_INSN && n <= avail; n++) {
		bool more = true;
		enum inj_status status = INJ_OK;

		if (!is_syscall(code, n))
			status = wants_more(s, code, n, page, mem, &more);
		else
			more = false; /* known, and not to be executed */
		if (status != INJ_OK)
			return status;
		if (!more) {
			*length = (uint8_t)n;
			return INJ_OK;
		}
	}
	return INJ_OK;
}

enum inj_status inj_step_lengths(struct inj_session *s, const uint8_t *code, size_t bytes,
				 uint8_t *lengths, size_t max, size_t *n)
{
	uint64_t page, guard;
	uint8_t *mem;
	enum inj_status status;

	*n = 0;
	if (!s->tracee)
		return INJ_NOT_SUPPORTED;
	status = inj_code_alloc_pages(&s->code, s->target, 2 * PAGE, &page, &mem);
	if (status == INJ_OK)
		status = inj_mmap(s->target, page + PAGE, PAGE, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &guard);
	for (size_t at = 0; status == INJ_OK && at < bytes && *n < max; at += lengths[*n - 1]) {
		/* the caller has at least one longest instruction after what it asks for */
		status = one_length(s, code + at, MAX_INSN, page, mem, &lengths[*n]);
		if (status != INJ_OK || lengths[*n] == 0)
			break;
		++*n;
	}
	return status;
}
