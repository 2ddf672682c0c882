// SPDX-License-Identifier: MIT
/*
 * Threads, pools and rings of this process.
 *
 * Nobody tells us of new threads: a thread inherits its parent's GS base, the owner check of its
 * first probe fails, and the gate brings it here.  Nobody tells us of exits either: when pools or
 * rings run out, the threads that are gone (tgkill says ESRCH) are swept up.
 *
 * Pools are wiped by fork, so a child starts with none and every thread of it registers anew.
 * What must survive a fork (where rings are mapped: mappings are inherited) is in ordinary data.
 */
#include "runtime/memory/analysis.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"
#include "runtime/windows.h"

#define MAX_REGIONS 16
#define MAX_POOL_REGIONS 16
#define POOLS_A_REGION 256
#define SWEEP_WAIT_MS 50
#define RELEASING -1 /* a pool's tid */

/* Rings [first, first + count) are mapped at base. */
struct ring_region {
	uint64_t base;
	uint32_t first;
	uint32_t count;
};

static struct ring_region regions[MAX_REGIONS];
static _Atomic uint32_t nregions;
static _Atomic uint32_t region_lock;

/* The first region of pools is in the configuration; these follow, up to the first 0. */
static _Atomic uint64_t pool_regions[MAX_POOL_REGIONS];

static struct ring_head *region_ring(const struct ring_region *r, uint32_t i)
{
	return (struct ring_head *)(r->base + i * rt_control()->ring_bytes);
}

static void set_gs(struct rt_thread *t)
{
	if (sonde_rt_config.flags & RT_FSGSBASE)
		__asm__ volatile("wrgsbase %0" : : "r"(t));
	else
		sys2(__NR_arch_prctl, 0x1001 /* ARCH_SET_GS */, t);
}

static uint64_t get_gs(void)
{
	uint64_t base = 0;

	if (sonde_rt_config.flags & RT_FSGSBASE)
		__asm__ volatile("rdgsbase %0" : "=r"(base));
	else
		sys2(__NR_arch_prctl, 0x1004 /* ARCH_GET_GS */, &base);
	return base;
}

static int is_pool(uint64_t base)
{
	if (base - sonde_rt_config.pools < sonde_rt_config.npools * RT_POOL_BYTES)
		return 1;
	for (uint32_t i = 0; i < MAX_POOL_REGIONS && pool_regions[i]; i++)
		if (base - pool_regions[i] < (uint64_t)POOLS_A_REGION * RT_POOL_BYTES)
			return 1;
	return 0;
}

/* It belongs to us, or it is as a thread has it that nobody has given one. */
int rt_gs_is_ours(void)
{
	uint64_t base = get_gs();

	return base == sonde_rt_config.nobody || base == 0 || is_pool(base);
}

/* ---- pools ---- */

typedef int (*pool_test)(struct rt_thread *t, void *arg);

static struct rt_thread *scan_pools(uint64_t base, uint64_t n, pool_test test, void *arg)
{
	for (uint64_t i = 0; i < n; i++) {
		struct rt_thread *t = (struct rt_thread *)(base + i * RT_POOL_BYTES);

		if (test(t, arg))
			return t;
	}
	return NULL;
}

struct rt_thread *rt_find_pool(pool_test test, void *arg)
{
	struct rt_thread *t;

	t = scan_pools(sonde_rt_config.pools, sonde_rt_config.npools, test, arg);
	for (uint32_t i = 0; !t && i < MAX_POOL_REGIONS && pool_regions[i]; i++)
		t = scan_pools(pool_regions[i], POOLS_A_REGION, test, arg);
	return t;
}

static int pool_of_tid(struct rt_thread *t, void *tid)
{
	return t->tid == *(int32_t *)tid;
}

static int claim_pool(struct rt_thread *t, void *tid)
{
	int32_t nobody = 0;

	return t->tid == 0 &&
	       __atomic_compare_exchange_n((int32_t *)&t->tid, &nobody, *(int32_t *)tid, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void release_pool(struct rt_thread *t)
{
	if (t->ring)
		__atomic_store_n((uint32_t *)&t->ring->state, RING_EXITED, __ATOMIC_RELEASE);
	rt_mem_end(t);
	t->owner = t->ptr = t->limit = t->room = t->counters = t->counts = t->self = t->tcb = 0;
	t->ring = NULL;
	t->left = 0;
	__atomic_store_n((int32_t *)&t->tid, 0, __ATOMIC_RELEASE);
}

struct sweep {
	int32_t pid;
	uint32_t released;
};

/* Others may do the same meanwhile, and a new thread have the pool then. */
static int sweep_pool(struct rt_thread *t, void *arg)
{
	struct sweep *s = arg;
	int32_t tid = t->tid;

	if (tid > 0 && t->self && sys3(__NR_tgkill, s->pid, tid, 0) == -SYS_ESRCH &&
	    __atomic_compare_exchange_n((int32_t *)&t->tid, &tid, RELEASING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		release_pool(t);
		s->released++;
	}
	return 0;
}

static uint32_t sweep_exited(int32_t pid)
{
	struct sweep s = { .pid = pid };

	rt_find_pool(sweep_pool, &s);
	if (s.released)
		rt_ring_doorbell();
	return s.released;
}

#define ADVISE_WIPEONFORK 18

/*
 * Another region of pools; 0 when there is no memory.  Another thread may have added one meanwhile, in the same place:
 * then that one serves both.
 */
static int add_pools(void)
{
	uint64_t bytes = (uint64_t)POOLS_A_REGION * RT_POOL_BYTES, none = 0;
	uint32_t n = 0;
	uint64_t p;

	while (n < MAX_POOL_REGIONS && pool_regions[n])
		n++;
	if (n == MAX_POOL_REGIONS)
		return 0;
	p = rt_map(bytes);
	if (!p)
		return 0;
	if (sys3(__NR_madvise, p, bytes, ADVISE_WIPEONFORK) < 0) {
		rt_unmap(p, bytes);
		return 0;
	}
	if (!__atomic_compare_exchange_n((uint64_t *)&pool_regions[n], &none, p, 0, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		rt_unmap(p, bytes);
	return 1;
}

/* ---- rings ---- */

/* Any number of threads may do so at a time. */
static void first_region(void)
{
	uint32_t none = 0;

	if (nregions)
		return;
	regions[0].base = sonde_rt_config.control + RING_FIRST + rt_control()->choices_bytes;
	regions[0].first = 0;
	regions[0].count = (uint32_t)sonde_rt_config.nrings;
	__atomic_compare_exchange_n((uint32_t *)&nregions, &none, 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static int claim_ring(struct ring_head *h)
{
	uint32_t state = RING_FREE;

	return __atomic_load_n((uint32_t *)&h->state, __ATOMIC_RELAXED) == RING_FREE &&
	       __atomic_compare_exchange_n((uint32_t *)&h->state, &state, RING_CLAIMED, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void note_used(uint32_t n)
{
	struct ring_control *c = rt_control();
	uint32_t used = c->used_rings;

	while (used < n && !__atomic_compare_exchange_n((uint32_t *)&c->used_rings, &used, n, 0,
							__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static struct ring_head *free_ring(void)
{
	for (uint32_t r = 0; r < nregions; r++) {
		for (uint32_t i = 0; i < regions[r].count; i++) {
			struct ring_head *h = region_ring(&regions[r], i);

			if (claim_ring(h)) {
				note_used(regions[r].first + i + 1);
				return h;
			}
		}
	}
	return NULL;
}

/*
 * Maps as many rings again as there are.  There is no file descriptor (programs close them all):
 * mremap() with an old size of zero makes a second mapping of a shared page and may make it
 * longer, so the last page of the last ring is the handle to all that follow it in the file.
 */
static int add_rings(void)
{
	struct ring_control *c = rt_control();
	struct ring_region *last = &regions[nregions - 1];
	uint32_t first = last->first + last->count;
	uint32_t count = first;
	uint64_t handle = last->base + last->count * c->ring_bytes - RING_PAGE;
	int64_t p = -1;

	if (nregions == MAX_REGIONS || first >= c->max_rings)
		return 0;
	if (count > c->max_rings - first)
		count = c->max_rings - first;
	for (; count > 0; count /= 2) {
		p = sys4(__NR_mremap, handle, 0, RING_PAGE + count * c->ring_bytes, 1 /* MAYMOVE */);
		if (!SYS_IS_ERROR(p))
			break;
	}
	if (count == 0)
		return 0;
	regions[nregions].base = (uint64_t)p + RING_PAGE;
	regions[nregions].first = first;
	regions[nregions].count = count;
	__atomic_fetch_add((uint32_t *)&nregions, 1, __ATOMIC_RELEASE);
	return 1;
}

/*
 * More rings than the @seen regions have.  The lock is the holder's process number: fork() copies one that another thread
 * holds, and in the child nobody would ever give it up.  What it guards is consistent at any time.  True: look again.
 */
static int more_rings(int32_t pid, uint32_t seen)
{
	uint32_t mine = (uint32_t)pid, holder = 0;
	int added;

	while (!__atomic_compare_exchange_n((uint32_t *)&region_lock, &holder, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		if (holder == mine) {
			sys_futex_wait(&region_lock, mine, 1);
			return 1;
		}
	added = nregions != seen || add_rings();
	__atomic_store_n((uint32_t *)&region_lock, 0, __ATOMIC_RELEASE);
	sys_futex_wake(&region_lock);
	return added;
}

static int pool_releasing(struct rt_thread *t, void *unused)
{
	(void)unused;
	return t->tid == RELEASING;
}

/* A ring is free by now, or will be: of a thread that another one has found gone, or that the collector has to drain. */
static int ring_is_coming(void)
{
	if (rt_find_pool(pool_releasing, NULL)) /* first: its ring is not marked yet */
		return 1;
	for (uint32_t r = 0; r < nregions; r++)
		for (uint32_t i = 0; i < regions[r].count; i++) {
			uint32_t state = __atomic_load_n((uint32_t *)&region_ring(&regions[r], i)->state, __ATOMIC_ACQUIRE);

			if (state == RING_EXITED || state == RING_FREE)
				return 1;
		}
	return 0;
}

/*
 * Rings of threads that are gone come back when the collector has drained them: we wait for that rather than map
 * more, for a while; and rather than lose what the thread does, as with a full ring, as long as it takes.
 */
static struct ring_head *get_ring(int32_t pid)
{
	struct ring_control *c = rt_control();

	first_region();
	for (int waits = rt_windows_are_moving();;) {
		uint32_t freed = c->freed, seen = nregions;
		struct ring_head *h = free_ring();
		int coming;

		if (h || ring_collector_gone(c))
			return h;
		sweep_exited(pid);
		coming = ring_is_coming();
		if ((waits || !coming) && more_rings(pid, seen))
			continue;
		if (!coming || (waits && (c->flags & RING_DROP || rt_windows_are_moving())))
			return NULL;
		sys_futex_wait(&c->freed, freed, SWEEP_WAIT_MS);
		waits = 1;
	}
}

#define STAT_BYTES 144
#define STAT_INO 1 /* index of st_ino in struct stat, as 64-bit words */

/* Process numbers mean something to the collector only if it is in the same PID namespace. */
uint32_t rt_pid_namespace(int32_t pid)
{
	static const char path[] = "/proc/self/ns/pid";
	static int32_t of_pid;
	static uint32_t inode;
	uint64_t st[STAT_BYTES / 8];

	if (of_pid == pid)
		return inode;
	inode = sys2(__NR_stat, path, st) == 0 ? (uint32_t)st[STAT_INO] : 0;
	of_pid = pid;
	return inode;
}

/* Counters of threads without a ring: nobody reads them.  Without memory for that, those of a ring. */
static uint64_t lost_counts(void)
{
	static _Atomic uint64_t counts;
	uint64_t none = 0, bytes = rt_control()->max_counts * 8, p;

	if (counts || sonde_rt_config.probe_mode != RT_PROBE_BLOCKS)
		return counts;
	p = rt_map(bytes);
	if (!p)
		return (uint64_t)region_ring(&regions[0], 0) + rt_control()->counts_offset;
	if (!__atomic_compare_exchange_n((uint64_t *)&counts, &none, p, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		rt_unmap(p, bytes);
	return counts;
}

static void start_ring(struct rt_thread *t)
{
	struct ring_head *h = get_ring(t->pid);

	t->ring = h;
	if (!h) {
		t->counts = lost_counts();
		__atomic_fetch_add((uint64_t *)&rt_control()->lost_threads, 1, __ATOMIC_RELAXED);
		return;
	}
	h->pid = t->pid;
	h->tid = t->tid;
	h->pid_ns = rt_pid_namespace(t->pid);
	h->tcb = t->tcb;
	h->first_tsc = rt_tsc();
	h->lost = 0;
	h->nested = 0;
	h->sample.limit_at = (uint64_t)&t->mem_limit;
	rt_take_first(t);
	rt_analysis_begin(t);
	t->counters = (uint64_t)h + RING_COUNTERS_OFFSET;
	if (rt_control()->max_counts)
		t->counts = (uint64_t)h + rt_control()->counts_offset;
	__atomic_store_n((uint32_t *)&h->state, RING_ACTIVE, __ATOMIC_RELEASE);
	rt_ring_doorbell();
}

/*
 * The same thread under another TCB: a static program has set up its TLS since.  Any other
 * difference means that the kernel has reused the number of a thread that is gone.
 */
static struct rt_thread *known_thread(int32_t tid, int32_t pid, uint64_t tcb)
{
	struct rt_thread *t = rt_find_pool(pool_of_tid, &tid);

	if (!t || !t->self)
		return NULL;
	if (t->pid == pid && t->tcb == tcb)
		return t;
	if (t->pid == pid && t->tcb == sonde_rt_config.pre_tls) {
		t->tcb = tcb;
		rt_mem_moved(t);
		return t;
	}
	release_pool(t);
	return NULL;
}

struct rt_thread *rt_register(uint64_t tcb)
{
	int32_t pid = (int32_t)sys0(__NR_getpid);
	int32_t tid = (int32_t)sys0(__NR_gettid);
	struct rt_thread *t = known_thread(tid, pid, tcb);

	if (t) {
		set_gs(t);
		return t;
	}
	t = rt_find_pool(claim_pool, &tid);
	if (!t && sweep_exited(pid))
		t = rt_find_pool(claim_pool, &tid);
	while (!t && add_pools())
		t = rt_find_pool(claim_pool, &tid);
	if (!t)
		return NULL;
	t->pid = pid;
	t->tcb = tcb;
	t->closed_sp = 0;
	t->under = 0;
	t->guest = t->guest_inside = 0; /* a forked child may have written there */
	((struct sonde_pool *)t)->own = 0;
	start_ring(t);
	rt_shadow_init(t);
	t->self = (uint64_t)t;
	set_gs(t);
	return t;
}
