// SPDX-License-Identifier: MIT
/*
 * Libraries that are loaded late.  The dynamic linker calls _dl_debug_state() after it has mapped
 * or unmapped libraries and before it runs their constructors; the injector wraps it with
 * sonde_rt_dl_state().  When the list of libraries has changed, the thread asks the collector to
 * look at it, and executes system calls for it until it is done.
 */
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define WAIT_MS 100
#define PATIENCE_MS 10000 /* a collector that is alive answers within this; else go on without */

/* As in <link.h>; the linker's own memory. */
struct link_map_head {
	uint64_t addr;
	uint64_t name;
	uint64_t ld;
	struct link_map_head *next;
};

struct r_debug_head {
	int32_t version;
	struct link_map_head *map;
	uint64_t brk;
	int32_t state; /* 0: RT_CONSISTENT */
};

/* Differs when a library has come or gone. */
static uint64_t list_digest(const struct r_debug_head *r)
{
	uint64_t digest = 0;

	for (const struct link_map_head *m = r->map; m; m = m->next)
		digest = (digest ^ m->addr ^ (m->ld << 1)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return digest;
}

static void mail_lock(struct ring_mail *m)
{
	uint32_t idle = RING_MAIL_IDLE;

	while (!__atomic_compare_exchange_n((uint32_t *)&m->state, &idle, RING_MAIL_LOCKED, 0,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (ring_collector_gone(rt_control()))
			return;
		sys_futex_wait(&m->state, idle, WAIT_MS);
		idle = RING_MAIL_IDLE;
	}
}

static void mail_set(struct ring_mail *m, uint32_t state)
{
	__atomic_store_n((uint32_t *)&m->state, state, __ATOMIC_RELEASE);
	sys_futex_wake(&m->state);
}

static uint32_t mail_await(struct ring_mail *m)
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
	if (__atomic_compare_exchange_n((uint32_t *)&m->state, &state, RING_MAIL_DONE, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		state = RING_MAIL_DONE;
	return state;
}

static void serve_collector(struct ring_mail *m)
{
	uint32_t state;

	mail_lock(m);
	if (ring_collector_gone(rt_control()))
		return;
	m->pid = (int32_t)sys0(__NR_getpid); /* also says who holds the lock */
	m->tid = (int32_t)sys0(__NR_gettid);
	mail_set(m, RING_MAIL_ASKED);
	rt_ring_doorbell();
	while ((state = mail_await(m)) == RING_MAIL_CALL) {
		m->result = sys6(m->nr, m->args[0], m->args[1], m->args[2], m->args[3], m->args[4],
				 m->args[5]);
		mail_set(m, RING_MAIL_ASKED);
	}
	m->pid = 0;
	mail_set(m, RING_MAIL_IDLE);
}

__attribute__((visibility("default"), used)) void sonde_rt_dl_state(void)
{
	static uint64_t last;
	const struct r_debug_head *r = (const void *)sonde_rt_config.r_debug;
	void (*real)(void) = (void (*)(void))sonde_rt_config.real_dl_debug_state;

	if (r && r->state == 0) {
		uint64_t digest = list_digest(r);

		if (digest != last) {
			uint64_t mask = sys_block_signals();

			last = digest;
			serve_collector((struct ring_mail *)&rt_control()->mail);
			sys_restore_signals(mask);
		}
	}
	real();
}
