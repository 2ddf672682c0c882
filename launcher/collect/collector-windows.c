// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory accesses by what recording them may cost: between bursts the windows of the program's processes are out, and it runs its
 * original code (injector/switch/windows.h).  Bursts are those of all its threads.  Where that cannot be, windows stay in, and
 * threads begin and end bursts by themselves: so it is of a program that forks, whose children come and go unseen while windows are out.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "injector/patch/attach.h"
#include "injector/switch/windows.h"
#include "launcher/collect/bursts.h"
#include "launcher/collect/collector-private.h"

#define AGAIN_NS INT64_C(300000)
#define FIND_NS INT64_C(10000000) /* how often children are looked for */
#define IDLE_CPU_NS 100000
#define IDLE_NS INT64_C(20000000)
#define TRIES 30 /* with so much between them, for threads that are in the runtime or wait in the kernel */

/* What cannot be measured of a switch, ns of CPU time: that a thread is stopped and goes on, and that it runs our code in between. */
#define THREAD_NS 10000
#define MOVED_NS 30000

struct member {
	pid_t pid;
	struct inj_windows *windows;
	double cpu; /* ns, when that was last looked at */
	bool gone;
};

struct collector_windows {
	struct bursts pace;
	struct member *v; /* the program's is the first one; who is gone is removed */
	size_t n, room;
	double cpu, seen; /* ns, of all, also those that are gone: now, and at the last visit */
	double price;	  /* ns of the switch that is being made */
	unsigned int tries; /* of that */
	int64_t found;	  /* ns: when children were last looked for */
	bool given_up;	  /* all windows are in again, and stay */
	uint64_t switches, ns; /* in and out; what they have cost */
	uint64_t began;	   /* TSC: of the burst; */
	bool recorded;	   /* ... was anything in it? */
	bool looked;
	const char *unfit; /* why windows stay in; NULL: they do not */
	int error;	   /* errno of the last one that failed; 0: none */
};

/* ---- bursts of threads ---- */

static struct ring_sample *sample_of(const struct feed *f)
{
	return &f->head->sample;
}

static uint32_t phase_of(const struct feed *f)
{
	return atomic_load_explicit(&sample_of(f)->phase, memory_order_acquire);
}

static bool is_on(void *arg, pid_t tid)
{
	const struct collector *c = arg;

	for (uint32_t i = 0; i < c->rings; i++) {
		const struct feed *f = &c->feeds[i];

		if (f->head && __atomic_load_n(&f->head->tid, __ATOMIC_RELAXED) == tid &&
		    atomic_load_explicit(&f->head->state, memory_order_relaxed) == RING_ACTIVE)
			return phase_of(f) == RING_PHASE_ON;
	}
	return false;
}

static void begin(void *arg)
{
	struct collector *c = arg;

	for (uint32_t i = 0; i < c->rings; i++) {
		const struct feed *f = &c->feeds[i];

		if (f->thread && f->memory >= 0 && phase_of(f) == RING_PHASE_OFF)
			sampler_begin_burst(f->head, f->memory);
	}
}

/* Threads have recorded in this burst, and none does any more: there was no room for more. */
static bool is_over(const struct collector *c, bool *recorded)
{
	bool any = false, on = false;

	for (uint32_t i = 0; i < c->rings; i++) {
		const struct feed *f = &c->feeds[i];
		uint32_t phase = f->thread ? phase_of(f) : RING_PHASE_NONE;

		on |= phase == RING_PHASE_ON;
		any |= phase == RING_PHASE_OFF && atomic_load_explicit(&sample_of(f)->began, memory_order_relaxed) > c->windows->began;
	}
	*recorded = any || on;
	return any && !on;
}

bool collector_windows_switch(const struct collector *c, pid_t pid)
{
	const struct collector_windows *w = c->windows;

	for (size_t i = 0; w && i < w->n; i++)
		if (w->v[i].pid == pid)
			return inj_windows_are_switched(w->v[i].windows);
	return false;
}

/* ---- figures ---- */

static double cpu_of(pid_t pid)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &ts) != 0)
		return 0;
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void look_at_cpu(struct collector_windows *w)
{
	for (size_t i = 0; i < w->n; i++) {
		double now = cpu_of(w->v[i].pid);

		if (now <= w->v[i].cpu)
			continue;
		w->cpu += now - w->v[i].cpu;
		w->v[i].cpu = now;
	}
}

/* What was spent here but for chunks and first calls: on switches, and on looking whether there is something to do. */
static double spent_here(const struct collector *c, double packed)
{
	double served = (double)c->served_ns - (double)c->asked_ns - packed;

	return served > (double)c->windows->ns ? served : (double)c->windows->ns;
}

/* Of threads that have ended, too. */
static double cost_of(const struct collector *c)
{
	double cost = c->totals.sampled.cost, packed = c->totals.sampled.packed;

	for (uint32_t i = 0; i < c->rings; i++) {
		if (!c->feeds[i].thread)
			continue;
		cost += (double)__atomic_load_n(&sample_of(&c->feeds[i])->cost, __ATOMIC_RELAXED);
		packed += (double)__atomic_load_n(&sample_of(&c->feeds[i])->packed, __ATOMIC_RELAXED);
	}
	return cost + packed + spent_here(c, packed);
}

static struct bursts_now figures(struct collector *c)
{
	look_at_cpu(c->windows);
	return (struct bursts_now){ .now = clock_now_ns(), .cpu = c->windows->cpu, .cost = cost_of(c) };
}

/* ---- processes ---- */

static bool is_member(const struct collector_windows *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].pid == pid)
			return true;
	return false;
}

/* A child of vfork() is not one: it runs in its parent's memory. */
static bool is_shared(const struct collector_windows *w, pid_t pid)
{
	for (size_t i = 0; i < w->n; i++)
		if (syscall(SYS_kcmp, w->v[i].pid, pid, KCMP_VM, 0, 0) == 0)
			return true;
	return false;
}

static void add_member(void *arg, pid_t pid)
{
	struct collector *c = arg;
	struct collector_windows *w = c->windows;
	struct inj_windows *windows;

	if (is_member(w, pid) || is_shared(w, pid) || !array_room(w->v, w->room, w->n + 1))
		return;
	windows = inj_windows_new(c->session, pid);
	if (windows)
		w->v[w->n++] = (struct member){ .pid = pid, .windows = windows };
}

/* Those that have rings, and those that have been forked while windows were out, and do not know of us. */
static void find_members(struct collector *c)
{
	struct collector_windows *w = c->windows;

	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pidfd >= 0 && !c->processes[i].gone && !c->processes[i].executed)
			add_member(c, c->processes[i].pid);
	for (size_t i = 0; i < w->n; i++)
		inj_children(w->v[i].pid, add_member, c);
	w->found = clock_now_ns();
}

static void remove_gone(struct collector_windows *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (w->v[i].gone)
			inj_windows_free(w->v[i].windows);
		else
			w->v[kept++] = w->v[i];
	}
	w->n = kept;
}

/* ---- switching ---- */

static void pay(struct collector_windows *w, uint64_t began, const struct inj_switched *took)
{
	w->price += (double)(clock_thread_ns() - began) + (double)(took->threads * THREAD_NS + took->moved * MOVED_NS);
}

/* A thread may wait for a child of vfork(), and that for us. */
static void idle(void *arg)
{
	collector_serve_exec(arg);
	collector_serve_publish(arg);
}

/* False: it is to be tried again soon. */
static bool switch_one(struct collector *c, struct member *m, bool out)
{
	const struct inj_bursts bursts = { .is_on = is_on, .begin = begin, .idle = idle, .arg = c };
	struct collector_windows *w = c->windows;
	struct inj_switched took;
	uint64_t began;
	enum inj_status status;

	if (inj_windows_are_switched(m->windows) ? inj_windows_are_out(m->windows) == out : !out)
		return true;
	began = clock_thread_ns();
	status = out ? inj_windows_out(m->windows, &bursts, &took) : inj_windows_in(m->windows, &bursts, &took);
	pay(w, began, &took);
	w->switches += status == INJ_OK;
	m->gone = status == INJ_GONE || (kill(m->pid, 0) < 0 && errno == ESRCH);
	if (status == INJ_OK || m->gone)
		return true;
	w->error = errno;
	if (status == INJ_SYSTEM && w->error == EAGAIN)
		return false;
	m->gone = !inj_session_is_in(c->session, m->pid);
	return true;
}

/* False: as above. */
static bool switch_all(struct collector *c, bool out)
{
	struct collector_windows *w = c->windows;
	bool done = true;

	for (size_t i = 0; i < w->n; i++)
		done &= switch_one(c, &w->v[i], out);
	remove_gone(w);
	return done;
}

/* Windows that are in stay there: threads begin and end bursts by themselves. */
static void let_stay(struct collector_windows *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (inj_windows_are_switched(w->v[i].windows) && !inj_windows_are_out(w->v[i].windows))
			inj_windows_stay(w->v[i].windows);
}

/* For good, of all; when to come again. */
static int64_t give_up(struct collector *c)
{
	struct collector_windows *w = c->windows;

	if (!switch_all(c, false) && ++w->tries < TRIES)
		return AGAIN_NS;
	w->ns += (uint64_t)w->price;
	w->price = 0;
	let_stay(w);
	w->given_up = true;
	return 0;
}

/* What the user wants as well, so that windows have to stay in; NULL: nothing. */
static const char *stays_for(const struct collector *c)
{
	const struct record_options *o = c->options;

	if (o->select.functions.n || o->blocks.n || c->budget)
		return "calls are recorded as well";
	for (size_t i = 0; i < RT_ACTS; i++)
		if (o->acts[i].n)
			return "calls are recorded as well";
	if (c->inproc)
		return "the program itself hands accesses to modules";
	if (c->control->flags & RING_PERMIT)
		return "Yama lets nobody trace what the program forks";
	return inj_windows_unfit(c->session);
}

static bool may_switch(struct collector *c)
{
	struct collector_windows *w = c->windows;

	if (!w->looked) {
		w->looked = true;
		w->unfit = stays_for(c);
	}
	if (!w->unfit && (!w->n || clock_now_ns() - w->found > FIND_NS / 2))
		find_members(c);
	if (!w->unfit && w->n > 1)
		w->unfit = "the program has forked";
	return w->n;
}

/* Who has used no CPU time since children were looked for has not forked either. */
static int64_t come_again(struct collector_windows *w, int64_t wait)
{
	bool idle = w->cpu - w->seen < IDLE_CPU_NS && clock_now_ns() - w->found < FIND_NS / 2;

	w->seen = w->cpu;
	return idle || wait < FIND_NS ? wait : FIND_NS;
}

int64_t collector_windows_visit(struct collector *c)
{
	struct collector_windows *w = c->windows;
	struct bursts_now n;
	int64_t wait;
	bool out, over, recorded;

	if (!w || c->no_requests || w->given_up || !may_switch(c))
		return INT64_MAX;
	if (w->unfit)
		return give_up(c);
	n = figures(c);
	wait = w->tries ? 0 : bursts_wait(&w->pace, &n);
	over = is_over(c, &recorded);
	w->recorded |= recorded;
	if (wait > 0 && !(w->pace.state == BURSTS_ON && over))
		return come_again(w, wait);
	out = w->pace.state != BURSTS_OFF;
	if (!out && atomic_load_explicit(&c->control->off, memory_order_relaxed))
		return IDLE_NS;
	if (!switch_all(c, out) && ++w->tries < TRIES)
		return AGAIN_NS;
	if (out && w->tries == TRIES)
		let_stay(w);
	w->tries = 0;
	w->ns += (uint64_t)w->price;
	n = figures(c);
	bursts_switched(&w->pace, &n, w->price, w->recorded);
	w->recorded = false;
	w->began = __builtin_ia32_rdtsc();
	w->price = 0;
	return AGAIN_NS;
}

void collector_windows_changed(struct collector *c)
{
	for (size_t i = 0; c->windows && i < c->windows->n; i++)
		inj_windows_changed(c->windows->v[i].windows);
}

/* ---- all ---- */

void collector_windows_finish(struct collector *c)
{
	const struct collector_windows *w = c->windows;
	struct sampled_sums *to = &c->totals.sampled;

	if (!w)
		return;
	to->switches = w->switches;
	to->switching = (uint64_t)spent_here(c, to->packed);
	to->used = w->cpu;
	to->stay = w->unfit;
	if (!w->unfit && !w->switches)
		to->stay = w->error ? strerrordesc_np(w->error) : "the program took too little CPU time for anything else";
}

bool collector_windows_new(struct collector *c)
{
	if (!c->sampler.burst || c->sampler.by != RING_SAMPLE_COST)
		return true;
	c->windows = calloc(1, sizeof(*c->windows));
	if (c->windows)
		bursts_begin(&c->windows->pace, (double)c->sampler.burst * 1e-6);
	return c->windows != NULL;
}

void collector_windows_free(struct collector *c)
{
	struct collector_windows *w = c->windows;

	for (size_t i = 0; w && i < w->n; i++)
		inj_windows_free(w->v[i].windows);
	if (w)
		free(w->v);
	free(w);
	c->windows = NULL;
}
