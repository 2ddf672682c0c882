// SPDX-License-Identifier: MIT
/*
 * A function that is instrumented when it is first called (trampolines/mirror/first.h) is called: the collector is asked, which
 * writes its copy and what leads there from its body.  Nobody is in the body meanwhile, since all who come are here, or
 * wait for the mailbox; only who holds that may let the function run as it is.
 */
#include <stddef.h>

#include "runtime/mail.h"
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"
#include "trampolines/mirror/codemap.h"

#define CALL_EVENTS 2 /* what the call would have recorded */
#define BARRIER 32 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */
#define REGISTER 64 /* ..._REGISTER_... */
#define SET_PTRACER 0x59616d61 /* PR_SET_PTRACER */
#define NOT_REGISTERED (-1)

/* Called by the assembly: where to go on. */
RT_HIDDEN uint64_t rt_first(const struct rt_first_desc *desc);

/* Other threads' processors may have read ahead what was written over. */
static void synchronize(void)
{
	if (sys2(__NR_membarrier, BARRIER, 0) == NOT_REGISTERED && sys2(__NR_membarrier, REGISTER, 0) == 0)
		sys2(__NR_membarrier, BARRIER, 0);
}

/* A forked child has not permitted it yet. */
static void permit(const struct ring_control *c)
{
	static int32_t permitted;
	int32_t pid = c->mail.holder;

	if (!(c->flags & RING_PERMIT) || permitted == pid)
		return;
	sys2(__NR_prctl, SET_PTRACER, (uint64_t)c->tracer);
	permitted = pid;
}

static void count_call_lost(void)
{
	rt_count_lost(rt_gs_is_ours() ? rt_current_of(rt_tcb()) : NULL, CALL_EVENTS);
}

/* ---- a body of which a part has been written ---- */

#define AT_FDCWD (-100)
#define O_RDWR 2
#define O_CLOEXEC 02000000
#define UNDO_MAX 64

/* @fd: of this process's memory, -1 if it is not open yet. */
static int64_t put_back(const struct rt_first_undo *u, int64_t fd)
{
	const uint8_t *now = (const uint8_t *)u->addr, *was = u->bytes, *is = was + u->len;
	uint8_t bytes[UNDO_MAX];
	int differs = 0;

	for (int i = 0; i < u->len && i < UNDO_MAX; i++) {
		int written = now[i] == is[i] && was[i] != is[i];

		bytes[i] = written ? was[i] : now[i];
		differs |= written;
	}
	if (!differs)
		return fd;
	if (fd < 0)
		fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	if (fd >= 0)
		sys4(__NR_pwrite64, fd, bytes, u->len, u->addr);
	return fd;
}

/* Nobody is in it; the same is done by all who come. */
static void put_back_body(const struct rt_first_desc *desc)
{
	const uint64_t *undo = (const uint64_t *)((uint64_t)desc + offsetof(struct rt_first_desc, undo));
	const struct rt_first_undo *u = (const struct rt_first_undo *)__atomic_load_n(undo, __ATOMIC_ACQUIRE);
	int64_t fd = -1;

	for (; u && u->len; u = (const struct rt_first_undo *)(u->bytes + 2 * (uint64_t)u->len))
		fd = put_back(u, fd);
	if (fd >= 0)
		sys2(__NR_close, fd, 0);
}

/* ---- the call ---- */

/* With the mailbox. */
static uint64_t ask(const struct rt_first_desc *desc, uint64_t as_it_is)
{
	struct ring_mail *m = (struct ring_mail *)&rt_control()->mail;
	uint64_t to;

	permit(rt_control());
	if (__atomic_load_n((uint32_t *)&m->silent, __ATOMIC_RELAXED) || !rt_mail_first(desc->index)) {
		count_call_lost();
		return as_it_is;
	}
	to = (uint64_t)m->result;
	if (to == RING_FIRST_LOST)
		count_call_lost();
	if (to == RING_FIRST_LOST || to == RING_FIRST_AS_IS)
		return as_it_is;
	if (!m->args[1])
		synchronize();
	return to;
}

uint64_t rt_first(const struct rt_first_desc *desc)
{
	uint64_t *word = (uint64_t *)desc->word;
	uint64_t stub = (uint64_t)desc - RT_FIRST_DESC, as_it_is = stub + RT_FIRST_REPLAY;
	uint64_t mask = rt_block_signals();
	int held = rt_mail_take();

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == stub + RT_FIRST_ASK) {
		uint64_t to = as_it_is;

		if (held)
			to = ask(desc, as_it_is);
		else
			count_call_lost();
		/* the collector may have set it, and been killed then */
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == stub + RT_FIRST_ASK) {
			if (to == as_it_is)
				put_back_body(desc);
			__atomic_store_n(word, to, __ATOMIC_RELEASE);
		}
	}
	if (held)
		rt_mail_give_back();
	sys_restore_signals(mask);
	return stub;
}
