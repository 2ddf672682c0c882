// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "injector/patch/arena.h"
#include "launcher/collect/collector-private.h"
#include "launcher/common/message.h"

#define SUBS 8
#define TICK_NS INT64_C(500000000) /* how often what is not full yet is looked at */

/* ---- shared memory ---- */

/* Yama, in its usual mode, lets a process trace its descendants, and those that permit it. */
static bool needs_permission(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope == 1 && geteuid() != 0;
}

static int share(struct collector *c, const struct collector_geometry *g)
{
	struct ring_control *control;

	c->fd = inj_memfd("sonde-rings", collector_bytes(c, c->max_rings));
	c->alive = memfd_create("sonde-alive", MFD_ALLOW_SEALING);
	if (c->fd < 0 || c->alive < 0 || ftruncate(c->alive, RING_PAGE) < 0 ||
	    fcntl(c->alive, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -1;
	if (!collector_hold(c))
		return -1;
	control = c->control;
	control->magic = RING_MAGIC;
	control->version = RING_VERSION;
	control->flags = (g->drop ? RING_DROP : 0) | (g->merges ? RING_MERGES : 0) | (g->attached ? RING_ATTACHED : 0) | (g->follow ? RING_FOLLOW : 0) |
			 (needs_permission() ? RING_PERMIT : 0);
	control->tracer = getpid();
	control->pid_ns = collector_namespace();
	control->sub_bytes = c->sub_bytes;
	control->nsub = c->nsub;
	control->ring_bytes = c->ring_bytes;
	control->max_rings = c->max_rings;
	control->counts_offset = collector_counts_offset(c);
	control->max_counts = c->functions;
	control->choices_bytes = c->choices_bytes;
	control->mem_offset = collector_memory_offset(c);
	control->mem_bytes = c->mem_bytes;
	control->mem_nsub = COLLECTOR_MEM_SUBS;
	control->analysis_offset = collector_analysis_offset(c);
	control->analyze_here = g->here;
	control->sample_burst = c->sampler.burst;
	control->sample_every = c->sampler.every;
	control->sample_by = c->sampler.by;
	if (g->off)
		ring_switch(control, 0);
	return 0;
}

struct collector *collector_new(const struct collector_geometry *g, int *fd, int *alive)
{
	struct collector *c = calloc(1, sizeof(*c));
	uint64_t sub = (g->ring_bytes / SUBS + COLLECTOR_PAGE - 1) / COLLECTOR_PAGE * COLLECTOR_PAGE;

	if (!c)
		goto failed;
	c->switched_to = -1;
	c->nsub = SUBS;
	c->sub_bytes = (uint32_t)(sub < 4 * RING_GAP ? 4 * RING_GAP : sub);
	c->functions = g->functions;
	c->weighed = g->weighed;
	if (g->budget > 0)
		c->choices_bytes = (c->functions + COLLECTOR_PAGE - 1) / COLLECTOR_PAGE * COLLECTOR_PAGE;
	c->mem_bytes = (uint32_t)((g->memory_bytes / COLLECTOR_MEM_SUBS + COLLECTOR_PAGE - 1) / COLLECTOR_PAGE * COLLECTOR_PAGE);
	c->inproc = g->inproc;
	c->ring_bytes = collector_memory_offset(c) + (uint64_t)COLLECTOR_MEM_SUBS * c->mem_bytes;
	if (c->inproc)
		c->ring_bytes += (sizeof(struct ring_analysis) + COLLECTOR_PAGE - 1) / COLLECTOR_PAGE * COLLECTOR_PAGE;
	c->max_rings = g->max_rings;
	sampler_begin(&c->sampler, &g->sample);
	c->feeds = calloc(c->max_rings, sizeof(*c->feeds));
	c->rooms[0] = malloc(c->mem_bytes + 1);
	pthread_mutex_init(&c->streams, NULL);
	c->counts = calloc(c->functions + 1, sizeof(*c->counts));
	c->block_sums = g->blocks ? calloc(c->functions + 1, sizeof(*c->block_sums)) : NULL;
	if (!c->feeds || !c->rooms[0] || !c->counts || (g->blocks && !c->block_sums) || share(c, g) < 0 ||
	    (g->budget > 0 && !collector_budget_new(c, g->budget)) || !collector_windows_new(c))
		goto failed;
	*fd = c->fd;
	*alive = c->alive;
	return c;
failed:
	msg_error("cannot make the shared memory for events: %s", strerror(errno));
	collector_free(c);
	return NULL;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	if (c->started)
		pool_remove(&c->member);
	collector_unguard(c);
	/* the others' memory is not even there */
	for (uint32_t i = 0; c->feeds && i < c->rings; i++)
		if (c->feeds[i].head)
			munmap(c->feeds[i].head, c->ring_bytes);
	collector_release(c); /* whoever still runs goes on unrecorded */
	if (c->fd > 0)
		close(c->fd);
	if (c->alive > 0)
		close(c->alive);
	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pidfd >= 0)
			close(c->processes[i].pidfd);
	collector_budget_free(c);
	collector_windows_free(c);
	collector_close_first(c);
	free(c->processes);
	free(c->counts);
	free(c->block_sums);
	for (unsigned int i = 0; i < POOL_MOST_WORKERS; i++)
		free(c->rooms[i]);
	free(c->feeds);
	free(c);
}

/* ---- rings ---- */

static struct ring_head *map_ring(struct collector *c, uint32_t i)
{
	void *p = mmap(NULL, c->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
		       (off_t)collector_bytes(c, i));

	return p == MAP_FAILED ? NULL : p;
}

/* False: no thread has it. */
static bool find_thread(struct collector *c, uint32_t i, uint32_t *state)
{
	struct feed *f = &c->feeds[i];

	if (!f->head)
		f->head = map_ring(c, i);
	if (!f->head)
		return false;
	*state = atomic_load_explicit(&f->head->state, memory_order_acquire);
	if (*state != RING_ACTIVE && *state != RING_EXITED)
		return false;
	return f->thread || collector_open_feed(c, f);
}

static bool visit_ring(struct collector *c, uint32_t i, bool live)
{
	uint32_t state;

	if (!find_thread(c, i, &state))
		return false;
	if (state == RING_EXITED) {
		collector_finish_feed(c, &c->feeds[i], false);
		return true;
	}
	return collector_drain_feed(c, &c->feeds[i], live);
}

bool collector_drain_all(struct collector *c, bool live)
{
	uint32_t n = collector_rings(c), state;
	bool any;

	for (uint32_t i = 0; i < n; i++)
		(void)find_thread(c, i, &state);
	any = collector_drain_streams(c);
	for (uint32_t i = 0; i < n; i++)
		any |= visit_ring(c, i, live);
	return any;
}

static void flush_all(struct collector *c)
{
	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread)
			collector_check(c, tf_thread_flush(c->feeds[i].thread));
}

/* ---- serving ---- */

/* What is not full yet is written, too, and who has ended is done with. */
void collector_look_at_all(struct collector *c)
{
	collector_tell_first(c);
	collector_drain_all(c, true);
	collector_free_mail(c);
	collector_reap(c, collector_finish_process);
	collector_budget_tell(c);
	flush_all(c);
}

void collector_serve_publish(struct collector *c)
{
	if (!c->publish)
		return;
	collector_tell(c);
	if (c->executed) {
		collector_check(c, tf_writer_exec(c->writer, c->executed));
		if (c->executed->number)
			collector_process_executed(c, c->executed->pid);
		c->executed = NULL;
	}
	collector_look_at_all(c);
	c->publish = 0;
	collector_wake(&c->publish);
}

void collector_ring(struct collector *c)
{
	atomic_fetch_add(&c->control->doorbell, 1);
	collector_wake(&c->control->doorbell);
}

void collector_publish(struct collector *c)
{
	c->publish = 1;
	collector_ring(c);
	while (c->publish)
		syscall(SYS_futex, &c->publish, FUTEX_WAIT, 1, NULL, NULL, 0);
}

/* When there is something to do again, in ns. */
static int64_t switch_all(struct collector *c)
{
	int64_t soonest = INT64_MAX;

	for (uint32_t i = 0, n = collector_rings(c); i < n && c->sampler.switches; i++) {
		struct feed *f = &c->feeds[i];
		int64_t ns = INT64_MAX;

		if (f->thread && f->memory >= 0 && !collector_windows_switch(c, f->pid))
			ns = sampler_visit(&c->sampler, f->head, &f->sampled, f->memory);
		if (ns < soonest)
			soonest = ns;
	}
	return soonest;
}

/*
 * Where what recording costs is limited, no thread of the program is to be taken off its processor because there is
 * something to do here: nobody waits for that, and each time its caches are colder.
 */
void collector_wait_for_turns(const struct collector *c)
{
	static _Thread_local bool waits;
	struct sched_param none = { 0 };

	if (waits || (!c->budget && (!c->sampler.burst || c->sampler.by != RING_SAMPLE_COST)))
		return;
	waits = true;
	/* timers are 50 us late else */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	(void)!pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

static int64_t do_all(struct collector *c)
{
	int64_t left, soon, due;
	bool any;

	msg_become(&c->messages);
	atomic_store_explicit(&c->control->mail.serving, 1, memory_order_relaxed);
	collector_budget_enter(c);
	any = collector_serve_mail(c);
	collector_wait_for_turns(c);
	collector_serve_publish(c);
	collector_serve_control(c);
	collector_note_switches(c);
	collector_take_snapshots(c);
	any |= collector_drain_all(c, false);
	any |= c->analysis && analysis_serve(c->analysis);
	soon = switch_all(c);
	due = collector_windows_visit(c);
	soon = due < soon ? due : soon;
	due = collector_budget_visit(c);
	soon = due < soon ? due : soon;
	atomic_store_explicit(&c->control->mail.serving, 0, memory_order_relaxed);
	left = c->next_tick - clock_now_ns();
	if (left <= 0) {
		collector_look_at_all(c);
		collector_hurry(c);
		collector_place(c);
		c->next_tick = clock_now_ns() + TICK_NS;
	} else if (!any) {
		return clock_now_ns() + (soon < left ? soon : left);
	}
	return 0;
}

/* Not at once: it takes longer than many a program. */
void collector_trim_soon(struct collector *c)
{
	c->trim_at = clock_now_ns() + TICK_NS;
}

/* pool_member.serve */
static int64_t serve(void *arg)
{
	uint64_t began = clock_thread_ns();
	struct collector *c = arg;
	int64_t due = do_all(c);

	c->served_ns += clock_thread_ns() - began;
	if (c->trim_at <= clock_now_ns()) {
		malloc_trim(0);
		c->trim_at = INT64_MAX;
	}
	return due;
}

void collector_analyze(struct collector *c, struct analysis *a)
{
	c->analysis = a;
}

void collector_follow(struct collector *c, collector_exec_fn *asked, void *arg)
{
	c->exec_asked = asked;
	c->exec_arg = arg;
}

void collector_executed(struct collector *c, const struct tf_exec *exec)
{
	c->executed = exec;
	collector_publish(c);
}

int collector_start(struct collector *c, struct tf_writer *w, struct inj_session *s,
		    const struct record_options *o, pid_t program)
{
	c->writer = w;
	c->session = s;
	c->program = program;
	c->next_tick = clock_now_ns() + TICK_NS;
	collector_add_process(c, program, collector_namespace());
	c->options = o;
	collector_trim_soon(c);
	collector_guard(c);
	if (c->analysis)
		analysis_trace(c->analysis, w);
	collector_budget_start(c);
	collector_tell(c);
	if (s->mirrors.nwaiting)
		collector_open_first(c, program);
	c->messages = msg_context();
	c->member = (struct pool_member){
		.serve = serve, .arg = c, .doorbell = &c->control->doorbell, .sleeping = &c->control->sleeping,
	};
	pool_limit((unsigned int)o->workers);
	c->started = pool_add(&c->member);
	if (!c->started) {
		msg_error("cannot start the collector: %s", strerror(errno));
		return -1;
	}
	return 0;
}

void collector_program_ended(struct collector *c, bool killed)
{
	c->ended = killed ? PROGRAM_KILLED : PROGRAM_EXITED;
	collector_publish(c);
}

void collector_all_ended(struct collector *c, bool killed)
{
	c->ended = killed ? PROGRAM_KILLED : PROGRAM_EXITED;
}

/*
 * A mapping is inherited by fork() and gone with the process, and with what it executes, whoever closes descriptors.  Nobody
 * tells us of that, but a memfd can be sealed against writing only when nobody has it mapped for that (fcntl(2), EBUSY).
 */
bool collector_is_needed(const struct collector *c)
{
	return fcntl(c->alive, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EBUSY;
}

const uint64_t *collector_blocks(const struct collector *c, size_t *n)
{
	*n = c->block_sums ? c->functions : 0;
	return c->block_sums;
}

void collector_finish(struct collector *c, struct collector_totals *totals)
{
	uint32_t n;

	if (c->started)
		pool_remove(&c->member);
	collector_tell_first(c);
	collector_drain_all(c, false);
	if (c->ended != PROGRAM_RUNS)
		collector_reap(c, collector_finish_process);
	collector_note_switches(c);
	n = collector_rings(c);
	for (uint32_t i = 0; i < n; i++) {
		struct feed *f = &c->feeds[i];

		visit_ring(c, i, false);
		if (f->thread && c->stopped)
			collector_leave_feed(c, f);
		else if (f->thread)
			collector_finish_feed(c, f, collector_no_end_of(c, f->pid));
	}
	collector_budget_finish(c);
	c->totals.sampled.asked = c->asked_ns;
	collector_windows_finish(c);
	c->totals.lost += atomic_load(&c->control->lost);
	c->totals.unfollowed = atomic_load(&c->control->unfollowed);
	c->totals.guest_calls = atomic_load(&c->control->guest_calls);
	c->totals.lost_threads = atomic_load(&c->control->lost_threads);
	c->totals.discarded = tf_writer_discarded(c->writer);
	c->totals.memory_lost += tf_writer_memory_discarded(c->writer);
	*totals = c->totals;
}
