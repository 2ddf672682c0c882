// SPDX-License-Identifier: MIT
/* The mailbox, see tracefmt/ring.h. */
#include "runtime/mail.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define WAIT_MS 100
#define PATIENCE_MS 10000 /* a collector that is alive answers within this; else go on without */
#define FIRST_MS 10
#define FIRST_ROUNDS 7 /* of FIRST_MS each, that a collector which does nothing is waited for at a function's first call ... */
#define FIRST_SERVING 100 /* ... if it was in the midst of something: a slow disk may let it wait for as long */
#define FIRST_MOST 300 /* ... at most, where the machine is busy */
#define FIRST_SPIN_NS 20000000 /* and then so much CPU time */
#define CLOCK_MONOTONIC 1
#define CLOCK_THREAD 3 /* CLOCK_THREAD_CPUTIME_ID */
#define SPINS 4096 /* between looks at clocks */

static struct ring_mail *mail(void)
{
	return (struct ring_mail *)&rt_control()->mail;
}

int rt_mail_take(void)
{
	int32_t pid = (int32_t)sys0(__NR_getpid), nobody = 0;
	struct ring_mail *m = mail();

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
void rt_mail_give_back(void)
{
	struct ring_mail *m = mail();

	__atomic_store_n((uint32_t *)&m->state, RING_MAIL_IDLE, __ATOMIC_RELEASE);
	__atomic_store_n((int32_t *)&m->holder, 0, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n((uint32_t *)&m->wanted, 0, __ATOMIC_SEQ_CST))
		sys_futex_wake((_Atomic uint32_t *)&m->holder);
}

/* IDLE: it is, unless the collector has just answered. */
static uint32_t take_back(struct ring_mail *m)
{
	uint32_t state = RING_MAIL_ASKED;

	if (__atomic_compare_exchange_n((uint32_t *)&m->state, &state, RING_MAIL_IDLE, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		state = RING_MAIL_IDLE;
	return state;
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
	return take_back(m);
}

static void post(struct ring_mail *m, enum ring_mail_kind kind)
{
	m->kind = kind;
	m->tid = (int32_t)sys0(__NR_gettid);
	set_state(m, RING_MAIL_ASKED);
	rt_ring_doorbell();
}

static void do_call(struct ring_mail *m)
{
	m->result = sys6(m->nr, m->args[0], m->args[1], m->args[2], m->args[3], m->args[4], m->args[5]);
	set_state(m, RING_MAIL_ASKED);
}

int rt_mail_ask(enum ring_mail_kind kind, int64_t *result)
{
	struct ring_mail *m = mail();
	uint64_t mask = sys_block_signals();
	uint32_t state = RING_MAIL_IDLE;

	if (rt_mail_take()) {
		post(m, kind);
		while ((state = await_answer(m)) == RING_MAIL_CALL)
			do_call(m);
		*result = m->result;
		rt_mail_give_back();
	}
	sys_restore_signals(mask);
	return state == RING_MAIL_DONE;
}

/* ---- first calls ---- */

static uint64_t time_of(int64_t clock)
{
	int64_t now[2] = { 0, 0 };

	sys2(__NR_clock_gettime, clock, now);
	return (uint64_t)now[0] * 1000000000 + (uint64_t)now[1];
}

/* That of the collector's process (MAKE_PROCESS_CPUCLOCK() of the kernel): while it advances something is done, if not for us yet. */
static uint64_t collector_time(void)
{
	return time_of((int64_t)(~rt_control()->tracer) * 8 + 2);
}

static int waits(struct ring_mail *m, uint32_t state)
{
	return __atomic_load_n((uint32_t *)&m->state, __ATOMIC_ACQUIRE) == state && !ring_collector_gone(rt_control());
}

/*
 * Is it stopped?  Where more threads want to run than there are processors it may only not have had its turn; but then this one,
 * too, has to wait now and then.
 */
static int is_stopped(struct ring_mail *m, uint32_t state)
{
	uint64_t cpu = time_of(CLOCK_THREAD), began = time_of(CLOCK_MONOTONIC), then = collector_time(), spent = 0;

	while (waits(m, state) && spent < FIRST_SPIN_NS) {
		for (int i = 0; i < SPINS; i++)
			__builtin_ia32_pause();
		if (collector_time() != then)
			return 0;
		spent = time_of(CLOCK_THREAD) - cpu;
	}
	return spent >= FIRST_SPIN_NS && time_of(CLOCK_MONOTONIC) - began < spent + spent / 8;
}

/* After so many rounds in which it has taken no CPU time: is it time to look whether it is stopped? */
static int is_overdue(struct ring_mail *m, int idle)
{
	int serving = __atomic_load_n((uint32_t *)&m->serving, __ATOMIC_RELAXED) != 0;

	return idle >= (serving ? FIRST_SERVING : FIRST_ROUNDS) && idle % FIRST_ROUNDS == 0;
}

static uint32_t await_first(struct ring_mail *m)
{
	uint64_t then = 0;
	uint32_t state;

	for (int idle = 0, ms = 0;; ms += FIRST_MS) {
		state = __atomic_load_n((uint32_t *)&m->state, __ATOMIC_ACQUIRE);
		if (state != RING_MAIL_ASKED && state != RING_MAIL_WRITING)
			return state;
		if (ring_collector_gone(rt_control()))
			return take_back(m);
		if (state == RING_MAIL_ASKED &&
		    (ms >= PATIENCE_MS || idle >= FIRST_MOST ||
		     (is_overdue(m, idle) && is_stopped(m, state))))
			return take_back(m);
		sys_futex_wait(&m->state, state, FIRST_MS);
		if (waits(m, state)) {
			uint64_t now = collector_time();

			idle = now > then ? 0 : idle + 1;
			then = now;
		}
	}
}

int rt_mail_first(uint32_t index)
{
	struct ring_mail *m = mail();
	uint32_t state;

	m->args[0] = index;
	m->result = RING_FIRST_LOST; /* of an answer that says nothing */
	post(m, RING_MAIL_FIRST);
	while ((state = await_first(m)) == RING_MAIL_CALL || state == RING_MAIL_WRITING) {
		if (state == RING_MAIL_CALL)
			do_call(m);
		else if (ring_collector_gone(rt_control()))
			return 0;
	}
	if (state == RING_MAIL_DONE)
		return 1;
	__atomic_store_n((uint32_t *)&m->silent, 1, __ATOMIC_RELEASE);
	return 0;
}
