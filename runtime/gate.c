// SPDX-License-Identifier: MIT
/*
 * The gate: where a stub goes when the owner check fails.  It decides whether the wrapper or the
 * original code is to run.  The check fails when
 *
 *  - the thread is new, or a forked child: register it, run the wrapper;
 *  - a static program has set up its TLS since: the same;
 *  - the thread is inside a wrapper ("closed"), which calls this function itself: run the
 *    original, nothing is recorded;
 *  - the pool is closed, but it is a signal handler that calls: run the wrapper;
 *  - the pool is closed, but the wrapper is long gone (left by longjmp or an exception):
 *    open it, run the wrapper.
 *
 * To tell the last three apart there is the stack: closed_sp is the stack pointer of the closing wrapper.
 */
#include "runtime/guest/guest.h"
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define CALL_EVENTS 2 /* what a call whose wrapper does not run would have recorded */

/* struct rt_sigframe from its ucontext on, as words (Linux, asm/sigcontext.h). */
#define UC_FLAGS 0
#define UC_LINK 1
#define UC_RSP (5 + 15)
#define UC_CS (5 + 18)
#define UC_FPSTATE (5 + 23)
#define UC_WORDS (5 + 24)

/*
 * Is there a signal frame at @uc that interrupted code between it and @top?  Every part of it that
 * has only few possible values is looked at; the words are the thread's own stack, so readable.
 */
static int is_signal_frame(const uint64_t *uc, uint64_t top)
{
	uint64_t here = (uint64_t)uc;

	return uc[UC_FLAGS] <= 0xf && uc[UC_LINK] == 0 && (uc[UC_CS] & 0xffff) == 0x33 &&
	       uc[UC_RSP] > here && uc[UC_RSP] <= top + RT_WRAPPER_FRAME && uc[UC_FPSTATE] > here &&
	       uc[UC_FPSTATE] < uc[UC_RSP] && (uc[UC_FPSTATE] & 15) == 0;
}

int rt_below_signal_frame(uint64_t sp, uint64_t top)
{
	for (uint64_t p = (sp + 7) & ~UINT64_C(7); p + 8 * UC_WORDS <= top; p += 8)
		if (is_signal_frame((const uint64_t *)p, top))
			return 1;
	return 0;
}

int rt_in_handler(uint64_t sp, uint64_t top)
{
	if (sp < top && top - sp <= RT_ANOTHER_STACK && rt_below_signal_frame(sp, top))
		return 1;
	return rt_on_signal_stack();
}

/* Does the call come from the wrapper that closed the pool? */
static int called_by_wrapper(struct rt_thread *t, uint64_t sp)
{
	uint64_t top = t->closed_sp;

	if (sp >= top || top - sp > RT_ANOTHER_STACK)
		return 0;
	return !rt_in_handler(sp, top);
}

static void count_nested(struct rt_thread *t, uint64_t calls)
{
	if (t->ring && calls)
		__atomic_fetch_add((uint64_t *)&t->ring->nested, calls, __ATOMIC_RELAXED);
}

static struct rt_thread *open_own(struct rt_thread *t, uint64_t sp, uint64_t calls, uint64_t events)
{
	if (t->owner == t->tcb)
		return t;
	if (called_by_wrapper(t, sp)) {
		count_nested(t, calls);
		return NULL;
	}
	/* A stale pool needs no gap, but to be sure of it is not worth the trouble. */
	if (!rt_step_over(t, sp, events))
		return NULL;
	t->owner = t->tcb;
	return t;
}

struct rt_thread *rt_gate_open(uint64_t sp, uint64_t calls, uint64_t events)
{
	uint64_t tcb = rt_tcb();
	struct rt_thread *t = NULL;

	if (rt_gs_is_ours()) {
		t = rt_current();
		if (t && t->guest_inside && rt_guest_keeps(t, sp, tcb, calls))
			return NULL;
		t = rt_current_of(tcb);
		if (t)
			return open_own(t, sp, calls, events);
		t = rt_register(tcb);
	}
	if (t)
		t->owner = tcb;
	else
		rt_count_lost(NULL, events);
	return t;
}

/* Called by the assembly in gate.S; @sp is the stack pointer at the function's entry. */
RT_HIDDEN uint64_t rt_gate_decide(const struct rt_stub_desc *desc, uint64_t sp)
{
	struct rt_thread *t;
	uint64_t mask;
	int records;

	if (rt_off())
		return desc->replay;
	mask = rt_block_signals();
	t = rt_gate_open(sp, 1, CALL_EVENTS);
	records = t && rt_under(t, sp, 1);
	sys_restore_signals(mask);
	return records ? desc->wrapper : desc->replay;
}
