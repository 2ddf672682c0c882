// SPDX-License-Identifier: MIT
/* The mailbox, see tracefmt/ring.h. */
#include "runtime/mail.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define WAIT_MS 100
#define PATIENCE_MS 10000 /* a collector that is alive answers within this; else go on without */

/* 0: there is no collector. */
static int take(struct ring_mail *m, int32_t pid)
{
	int32_t nobody = 0;

	while (!__atomic_compare_exchange_n((int32_t *)&m->holder, &nobody, pid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (ring_collector_gone(rt_control()))
			return 0;
		__atomic_store_n((uint32_t *)&m->wanted, 1, __ATOMIC_SEQ_CST);
		sys_futex_wait((_Atomic uint32_t *)&m->holder, (uint32_t)nobody, WAIT_MS);
		nobody = 0;
	}
	return 1;
}

static void set_state(struct ring_mail *m, uint32_t state)
{
	__atomic_store_n((uint32_t *)&m->state, state, __ATOMIC_RELEASE);
	sys_futex_wake(&m->state);
}

/* Nobody waits for IDLE.  A system call of a thread that is about to execute a program stops it twice. */
static void give_back(struct ring_mail *m)
{
	__atomic_store_n((uint32_t *)&m->state, RING_MAIL_IDLE, __ATOMIC_RELEASE);
	__atomic_store_n((int32_t *)&m->holder, 0, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n((uint32_t *)&m->wanted, 0, __ATOMIC_SEQ_CST))
		sys_futex_wake((_Atomic uint32_t *)&m->holder);
}

/* IDLE: the request was taken back. */
static uint32_t await_answer(struct ring_mail *m)
{
	uint32_t state;

	for (int ms = 0; ms < PATIENCE_MS; ms += WAIT_MS) {
		state = __atomic_load_n((uint32_t *)&m->state, __ATOMIC_ACQUIRE);
		if (state != RING_MAIL_ASKED)
			return state;
		if (ring_collector_gone(rt_control()))
			break;
		sys_futex_wait(&m->state, RING_MAIL_ASKED, WAIT_MS);
	}
	/* Take the request back, unless the collector has just answered. */
	state = RING_MAIL_ASKED;
	if (__atomic_compare_exchange_n((uint32_t *)&m->state, &state, RING_MAIL_IDLE, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		state = RING_MAIL_IDLE;
	return state;
}

int rt_mail_ask(enum ring_mail_kind kind)
{
	struct ring_mail *m = (struct ring_mail *)&rt_control()->mail;
	uint64_t mask = sys_block_signals();
	uint32_t state = RING_MAIL_IDLE;

	if (take(m, (int32_t)sys0(__NR_getpid))) {
		m->kind = kind;
		m->tid = (int32_t)sys0(__NR_gettid);
		set_state(m, RING_MAIL_ASKED);
		rt_ring_doorbell();
		while ((state = await_answer(m)) == RING_MAIL_CALL) {
			m->result = sys6(m->nr, m->args[0], m->args[1], m->args[2], m->args[3], m->args[4],
					 m->args[5]);
			set_state(m, RING_MAIL_ASKED);
		}
		give_back(m);
	}
	sys_restore_signals(mask);
	return state == RING_MAIL_DONE;
}
