// SPDX-License-Identifier: MIT
#include "runtime/guest/guest.h"
#include "runtime/guest/layout.h"
#include "runtime/memory/analysis.h"
#include "runtime/signals/signals.h"
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"

#define SET_FS 0x1002
#define GET_FS 0x1003
#define MAX_THREADS 65536
#define FIRST_SWEEP 16
#define LOCK_MS 2

/* A thread of the guest, which stands for one of the program's. */
struct guest_thread {
	uint64_t tcb;
	int32_t tid;  /* 0: that of a process that this one was forked from; -1: nobody can have it */
	int32_t used; /* 0: nobody has run with it yet but what started the guest */
};

/* Ordinary memory, which a forked child has a copy of. */
static struct guest_thread *threads;
static uint32_t nthreads, sweep_at = FIRST_SWEEP, sweep_from;
static int32_t of_pid;		/* whose threads they are */
static uint64_t spare;		/* the next thread's TCB: to make one takes a thread that has one */
static uint64_t vectors;	/* where vector registers are kept while the guest works for us */
static _Atomic uint32_t lock;	/* the holder's process; a futex */
static _Atomic uint32_t ending; /* 1: destructors run, 2: they have run; a futex */

RT_HIDDEN uint64_t rt_guest_shut; /* not 0: nobody is to enter it any more; for the assembly */

/* Called by the assembly, with the program's FS base. */
RT_HIDDEN uint64_t rt_guest_thread(void);
RT_HIDDEN int rt_guest_returned(uint64_t tcb, uint64_t frame);
RT_HIDDEN void rt_guest_finish(int thread);
RT_HIDDEN void rt_on_stack(void (*what)(void *), void *arg, uint64_t top, void *vectors, int xsave);

static void set_fs(uint64_t base)
{
	if (sonde_rt_config.flags & RT_FSGSBASE)
		__asm__ volatile("wrfsbase %0" : : "r"(base) : "memory");
	else
		sys2(__NR_arch_prctl, SET_FS, base);
}

static uint64_t get_fs(void)
{
	uint64_t base = 0;

	if (sonde_rt_config.flags & RT_FSGSBASE)
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	else
		sys2(__NR_arch_prctl, GET_FS, &base);
	return base;
}

static void count(uint64_t calls)
{
	__atomic_fetch_add((uint64_t *)&rt_control()->guest_calls, calls, __ATOMIC_RELAXED);
}

/* ---- the agent's work ---- */

struct work {
	uint64_t function, args[2], tcb, result;
};

static void work(void *arg)
{
	struct work *w = arg;
	uint64_t fs = get_fs();

	set_fs(w->tcb);
	w->result = ((uint64_t (*)(uint64_t, uint64_t))w->function)(w->args[0], w->args[1]);
	set_fs(fs);
}

/* With the lock.  0 if there is no memory, too. */
static uint64_t have_done(struct work *w)
{
	if (!vectors)
		vectors = rt_map(rt_vector_bytes());
	if (vectors)
		rt_on_stack(work, w, sonde_rt_config.guest_stack, (void *)vectors, rt_has_xsave());
	return w->result;
}

static int begin(uint64_t tcb, int32_t tid, int again)
{
	struct work w = { .function = sonde_rt_config.guest_begin, .args = { (uint64_t)tid, (uint64_t)again }, .tcb = tcb };

	return have_done(&w) != 0;
}

/* ---- which thread has which TCB ---- */

/* 0: a thread that is no more holds it, in the process that this one was forked from. */
static int take_lock(int32_t pid)
{
	uint32_t mine = (uint32_t)pid, holder = 0;

	while (!__atomic_compare_exchange_n((uint32_t *)&lock, &holder, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (holder != mine)
			return 0;
		sys_futex_wait(&lock, mine, LOCK_MS);
		holder = 0;
	}
	return 1;
}

static void give_lock(void)
{
	__atomic_store_n((uint32_t *)&lock, 0, __ATOMIC_RELEASE);
	sys_futex_wake(&lock);
}

static int start(int32_t pid)
{
	if (threads)
		return 1;
	threads = (struct guest_thread *)rt_map(MAX_THREADS * sizeof(*threads));
	if (!threads)
		return 0;
	threads[0] = (struct guest_thread){ .tcb = sonde_rt_config.guest_tcb, .tid = pid };
	nthreads = 1;
	of_pid = pid;
	spare = sonde_rt_config.guest_spare;
	return 1;
}

/* Not a child of vfork(), which is in its parent's memory: what is forked finds a 0 here. */
static int owns_memory(int32_t pid)
{
	int32_t *mark = (int32_t *)sonde_rt_config.guest_mark;

	if (!*mark)
		*mark = pid;
	return *mark == pid;
}

/*
 * Is the process one that may enter the guest?  The child of one in which a single thread has ever been there may: that thread is
 * the one that it is a copy of, or is in the program.
 */
static int is_whole(int32_t pid)
{
	if (!owns_memory(pid))
		return 0;
	if (!rt_guest_shut && of_pid != pid && of_pid) {
		if (nthreads > 1 || lock)
			rt_guest_shut = 1;
		of_pid = pid;
		threads[0].tid = 0;
	}
	return !rt_guest_shut;
}

static struct guest_thread *find_dead(int32_t pid)
{
	if (nthreads < sweep_at)
		return NULL;
	for (uint32_t i = 0; i < nthreads; i++) {
		struct guest_thread *g = &threads[(sweep_from + i) % nthreads];

		if (g->tid < 0 || sys3(__NR_tgkill, pid, g->tid, 0) != -SYS_ESRCH)
			continue;
		sweep_from += i + 1;
		return g;
	}
	sweep_at = 2 * nthreads;
	return NULL;
}

/* The one that has that number, which may be that of a thread that is gone; or whose thread is gone; or a new one.  NULL: none. */
static struct guest_thread *get_thread(int32_t pid, int32_t tid)
{
	struct guest_thread *g;

	for (uint32_t i = 0; i < nthreads; i++)
		if (threads[i].tid == tid || !threads[i].tid)
			return &threads[i];
	g = find_dead(pid);
	if (g || !spare || nthreads == MAX_THREADS)
		return g;
	g = &threads[nthreads++];
	*g = (struct guest_thread){ .tcb = spare };
	spare = 0;
	return g;
}

/* With the lock. */
static uint64_t assign(int32_t pid, int32_t tid)
{
	struct guest_thread *g = start(pid) ? get_thread(pid, tid) : NULL;

	if (!g)
		return 0;
	if (!begin(g->tcb, tid, g->used && g->tid)) {
		g->tid = -1;
		return 0;
	}
	g->tid = tid;
	g->used = 1;
	if (!spare) {
		struct work w = { .function = sonde_rt_config.guest_create, .tcb = g->tcb };

		spare = have_done(&w);
	}
	return g->tcb;
}

uint64_t rt_guest_thread(void)
{
	uint64_t mask = rt_block_signals(), tcb = 0;
	int32_t pid = (int32_t)sys0(__NR_getpid), tid = (int32_t)sys0(__NR_gettid);
	struct rt_thread *t = rt_gs_is_ours() ? rt_current() : NULL;

	if (t && !t->guest_inside && is_whole(pid) && take_lock(pid)) {
		tcb = assign(pid, tid);
		give_lock();
	}
	if (tcb)
		t->guest = tcb;
	else
		count(1);
	sys_restore_signals(mask);
	return tcb;
}

/*
 * What SONDE_REAL() has called returns, and it is not as it was: this is a forked child, or nobody is to enter the guest any more.
 * 0: the wrapper is not to go on.
 */
int rt_guest_returned(uint64_t tcb, uint64_t frame)
{
	uint64_t mask = rt_block_signals();
	int32_t pid = (int32_t)sys0(__NR_getpid), tid = (int32_t)sys0(__NR_gettid);
	struct rt_thread *t = rt_gs_is_ours() ? rt_register(rt_tcb()) : NULL;
	int goes_on = 0;

	if (t && is_whole(pid) && take_lock(pid)) {
		goes_on = begin(tcb, tid, 0);
		for (uint32_t i = 0; i < nthreads; i++)
			if (threads[i].tcb == tcb)
				threads[i].tid = tid;
		give_lock();
	}
	if (goes_on) {
		t->guest = tcb;
		t->guest_program = get_fs();
		t->guest_frame = frame;
	}
	if (!goes_on)
		count(1);
	if (!goes_on && t)
		t->owner = t->tcb;
	sys_restore_signals(mask);
	return goes_on;
}

/* ---- signals ---- */

int rt_guest_keeps(struct rt_thread *t, uint64_t sp, uint64_t tcb, uint64_t calls)
{
	if (rt_in_handler(sp, t->closed_sp)) {
		count(calls);
		return 1;
	}
	if (tcb == t->guest) {
		if (t->ring && calls)
			__atomic_fetch_add((uint64_t *)&t->ring->nested, calls, __ATOMIC_RELAXED);
		return 1;
	}
	rt_guest_shut = 1;
	t->guest_inside = 0;
	return 0;
}

void rt_guest_arrived(uint64_t *regs)
{
	struct rt_thread *t;
	uint64_t *restorer = regs - RT_UC_REGS - 1, fs;

	if (!sonde_rt_config.guest_tcb || !rt_gs_is_ours())
		return;
	t = rt_current();
	fs = t && t->guest ? get_fs() : 0;
	if (!fs || fs != t->guest)
		return;
	regs[RT_GUEST_NOTE_FS] = fs;
	regs[RT_GUEST_NOTE_RESTORER] = *restorer;
	*restorer = (uint64_t)(sonde_rt_config.flags & RT_FSGSBASE ? sonde_rt_guest_restored : sonde_rt_guest_restored_slow);
	set_fs(t->guest_program);
}

/* ---- the end ---- */

#define NAP_MS 1
#define NAPS 100 /* that others have to come out of the guest, or the destructors to run */

/* stat() of a folder says how many others are in it. */
static int is_only_thread(void)
{
	static const char path[] = "/proc/self/task";
	uint64_t st[144 / 8];

	return sys2(__NR_stat, path, st) == 0 && st[2] == 3;
}

static int is_inside(struct rt_thread *t, void *self)
{
	return t != self && t->tid > 0 && t->guest_inside;
}

static int all_are_out(struct rt_thread *self)
{
	_Atomic uint32_t never = 0;

	for (int i = 0; i < NAPS; i++) {
		if (!rt_find_pool(is_inside, self))
			return 1;
		sys_futex_wait(&never, 0, NAP_MS);
	}
	return 0;
}

/* What the one that was first does is not to be cut short. */
static void await_other(void)
{
	for (int i = 0; i < NAPS && __atomic_load_n((uint32_t *)&ending, __ATOMIC_ACQUIRE) == 1; i++)
		sys_futex_wait(&ending, 1, 10 * NAP_MS);
}

/* Destructors are the user's, and may take their time: so signals come as ever. */
static void finish(struct rt_thread *t, int32_t tid)
{
	struct work w = { .function = sonde_rt_config.guest_finish, .tcb = spare ? spare : threads[0].tcb };

	(void)begin(w.tcb, tid, 0);
	t->guest_program = get_fs();
	t->guest = w.tcb;
	t->closed_sp = (uint64_t)__builtin_frame_address(0);
	t->owner = 0;
	t->guest_inside = 1;
	have_done(&w);
	t->guest_inside = 0;
	t->owner = t->tcb;
	__atomic_store_n((uint32_t *)&ending, 2, __ATOMIC_RELEASE);
}

void rt_guest_finish(int thread)
{
	int32_t pid = (int32_t)sys0(__NR_getpid), tid = (int32_t)sys0(__NR_gettid);
	struct rt_thread *t = rt_gs_is_ours() ? rt_current() : NULL;
	uint64_t mask;
	int may;

	if (!sonde_rt_config.guest_tcb || (thread && !is_only_thread()) || !owns_memory(pid) || (t && t->guest_inside))
		return;
	mask = rt_block_signals();
	t = rt_gs_is_ours() ? rt_register(rt_tcb()) : NULL;
	may = t && is_whole(pid) && !__atomic_exchange_n((uint32_t *)&ending, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&rt_guest_shut, 1, __ATOMIC_SEQ_CST);
	may = may && all_are_out(t) && start(pid) && take_lock(pid);
	sys_restore_signals(mask);
	if (may)
		finish(t, tid);
	else
		await_other();
}
