// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The shared memory is the program's too: nothing that is read from it is trusted.  Sizes are our own,
 * states out of range are taken for "nothing there".
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/collector.h"
#include "launcher/message.h"
#include "launcher/metadata.h"
#include "launcher/sampler.h"
#include "tracefmt/memory.h"
#include "tracefmt/ring.h"
#include "trampolines/memdesc.h"

#define SUBS 8
#define MEM_SUBS 8
#define PAGE 4096u
#define TICK_NS INT64_C(500000000) /* how often what is not full yet is looked at */
#define THREAD_STACK (512u << 10)
#define MODULE_STACK (8u << 20) /* if modules run there */

struct process {
	pid_t pid;
	int pidfd; /* -1: not to be had */
	bool dead; /* when we first heard of it */
	bool gone; /* its rings are finished */
};

/* One ring, as we see it. */
struct feed {
	struct ring_head *head; /* mapped when first used */
	struct tf_thread *thread;
	pid_t pid;
	uint32_t sub; /* next to be drained */
	uint32_t pos; /* in it: bytes drained */
	uint64_t lost;
	uint32_t mem; /* sub-buffer of the memory stream that is next */
	uint64_t mem_lost;
	bool mem_gap;  /* chunks are missing in front of the next */
	bool mem_open; /* there were some, and no end */
	struct analysis_thread *analysis; /* NULL: none */
	struct sampled sampled;
	bool may_switch; /* it is a process of the program's */
};

struct collector {
	int fd;
	struct ring_control *control;
	uint32_t sub_bytes, nsub, max_rings;
	uint64_t ring_bytes;
	uint32_t functions; /* counts in each ring */
	uint32_t mem_bytes; /* a sub-buffer of a memory stream; 0: there are none */
	struct feed *feeds;
	struct process *processes;
	size_t nprocesses;
	struct tf_writer *writer;
	struct inj_session *session;
	const struct record_options *options;
	struct sampler sampler;
	struct analysis *analysis; /* NULL: none */
	size_t analyzed; /* descriptions of code that it has */
	pid_t program;
	pthread_t thread;
	bool started;
	_Atomic bool stop;
	_Atomic uint32_t publish; /* a futex: 1 asked for, 0 done */
	bool told_children;
	struct collector_totals totals;
};

/* ---- shared memory ---- */

uint64_t collector_bytes(const struct collector *c, uint32_t n)
{
	return RING_FIRST + n * c->ring_bytes;
}

static int hold_mutex(struct ring_control *control)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)control->collector;
	pthread_mutexattr_t attr;

	_Static_assert(sizeof(pthread_mutex_t) <= sizeof(control->collector), "mutex fits");
	if (pthread_mutexattr_init(&attr) != 0 ||
	    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) != 0 ||
	    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) != 0 ||
	    pthread_mutex_init(mutex, &attr) != 0)
		return -1;
	pthread_mutexattr_destroy(&attr);
	return pthread_mutex_lock(mutex) == 0 ? 0 : -1;
}

/* Within a ring, behind its sub-buffers. */
static uint64_t counts_offset(const struct collector *c)
{
	return RING_PAGE + (uint64_t)c->nsub * c->sub_bytes;
}

static uint64_t mem_offset(const struct collector *c)
{
	return counts_offset(c) + ((uint64_t)c->functions * 8 + PAGE - 1) / PAGE * PAGE;
}

static int share(struct collector *c, bool drop)
{
	struct ring_control *control;

	if (ftruncate(c->fd, (off_t)collector_bytes(c, c->max_rings)) < 0)
		return -1;
	control = mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (control == MAP_FAILED)
		return -1;
	c->control = control;
	control->magic = RING_MAGIC;
	control->version = RING_VERSION;
	control->flags = drop ? RING_DROP : 0;
	control->sub_bytes = c->sub_bytes;
	control->nsub = c->nsub;
	control->ring_bytes = c->ring_bytes;
	control->max_rings = c->max_rings;
	control->counts_offset = counts_offset(c);
	control->max_counts = c->functions;
	control->mem_offset = mem_offset(c);
	control->mem_bytes = c->mem_bytes;
	control->mem_nsub = MEM_SUBS;
	control->sample_burst = c->sampler.burst;
	control->sample_every = c->sampler.every;
	return hold_mutex(control);
}

struct collector *collector_new(const struct collector_geometry *g, int *fd)
{
	struct collector *c = calloc(1, sizeof(*c));
	uint64_t sub = (g->ring_bytes / SUBS + PAGE - 1) / PAGE * PAGE;

	if (!c)
		goto failed;
	c->nsub = SUBS;
	c->sub_bytes = (uint32_t)(sub < 4 * RING_GAP ? 4 * RING_GAP : sub);
	c->functions = g->functions;
	c->mem_bytes = (uint32_t)((g->memory_bytes / MEM_SUBS + PAGE - 1) / PAGE * PAGE);
	c->ring_bytes = mem_offset(c) + (uint64_t)MEM_SUBS * c->mem_bytes;
	c->max_rings = g->max_rings;
	sampler_begin(&c->sampler, &g->sample);
	c->feeds = calloc(c->max_rings, sizeof(*c->feeds));
	c->fd = memfd_create("sonde-rings", 0);
	if (!c->feeds || c->fd < 0 || share(c, g->drop) < 0)
		goto failed;
	*fd = c->fd;
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
	for (uint32_t i = 0; c->feeds && i < c->max_rings; i++)
		if (c->feeds[i].head)
			munmap(c->feeds[i].head, c->ring_bytes);
	if (c->control) {
		/* whoever still runs goes on unrecorded */
		pthread_mutex_unlock((pthread_mutex_t *)(void *)c->control->collector);
		munmap(c->control, RING_PAGE);
	}
	if (c->fd > 0)
		close(c->fd);
	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pidfd >= 0)
			close(c->processes[i].pidfd);
	free(c->processes);
	free(c->feeds);
	free(c);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void check(struct collector *c, enum sonde_trace_status status)
{
	if (status != SONDE_TRACE_OK)
		msg_error("%s; the program goes on, its events are discarded",
			  tf_writer_message(c->writer));
}

/* ---- processes ---- */

static void read_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char path[64];
	ssize_t n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (f) {
		n = fgets(comm, (int)size, f) ? (ssize_t)strcspn(comm, "\n") : -1;
		fclose(f);
	}
	comm[n > 0 ? n : 0] = '\0';
}

static pid_t read_parent(pid_t pid)
{
	char path[32], buf[512], *p;
	size_t n = 0;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	if (!p || sscanf(p, ") %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static uint32_t our_namespace(void)
{
	static uint32_t inode;
	struct stat st;

	if (!inode && stat("/proc/self/ns/pid", &st) == 0)
		inode = (uint32_t)st.st_ino;
	return inode;
}

/* A process of another PID namespace has a number that means somebody else here: leave it alone. */
static struct process watch(pid_t pid, uint32_t ns)
{
	struct process p = { .pid = pid, .pidfd = -1 };

	if (ns == 0 || ns != our_namespace())
		return p;
	p.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.dead = p.pidfd < 0 && errno == ESRCH;
	return p;
}

static void add_process(struct collector *c, pid_t pid, uint32_t ns)
{
	struct process *v;
	char comm[32];

	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pid == pid && !c->processes[i].gone)
			return;
	v = realloc(c->processes, (c->nprocesses + 1) * sizeof(*v));
	if (!v)
		return;
	c->processes = v;
	v[c->nprocesses++] = watch(pid, ns);
	read_comm(pid, pid, comm, sizeof(comm));
	check(c, tf_writer_process(c->writer, pid, read_parent(pid), comm[0] ? comm : NULL));
}

/* A process that is dead, a zombie too, makes its pidfd readable. */
static bool has_ended(const struct process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	if (p->dead)
		return true;
	return p->pidfd >= 0 && poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN);
}

/* ---- draining ---- */

static void free_sub(struct collector *c, struct feed *f, struct ring_sub *sub, uint32_t used)
{
	uint8_t *base = (uint8_t *)f->head + RING_PAGE + (uint64_t)f->sub * c->sub_bytes;

	memset(base, 0, used < c->sub_bytes ? used : c->sub_bytes);
	atomic_store_explicit(&sub->state, RING_SUB_FREE, memory_order_release);
	futex_wake(&sub->state);
	f->sub = (f->sub + 1) % c->nsub;
	f->pos = 0;
}

static void drain_sub(struct collector *c, struct feed *f, const struct ring_sub *sub, uint32_t used,
		      bool final)
{
	struct tf_sub in = {
		.base = (const uint8_t *)f->head + RING_PAGE + (uint64_t)f->sub * c->sub_bytes,
		.bytes = c->sub_bytes,
		.used = used,
		.sub = sub,
		.final = final,
		.now_tsc = __builtin_ia32_rdtsc(),
	};

	check(c, tf_thread_drain(f->thread, &in, &f->pos));
}

/* When is not known: not before the sub-buffer that is drained next was taken. */
static void note_lost(struct collector *c, struct feed *f)
{
	uint64_t lost = atomic_load_explicit(&f->head->lost, memory_order_relaxed);
	uint64_t now = __builtin_ia32_rdtsc(), then = f->head->sub[f->sub].start_tsc;

	if (lost > f->lost)
		check(c, tf_thread_lost(f->thread, then < now ? then : now, lost - f->lost));
	f->lost = lost;
}

/* ---- memory streams ---- */

static uint8_t *mem_base(const struct collector *c, const struct feed *f)
{
	return (uint8_t *)f->head + mem_offset(c) + (uint64_t)f->mem * c->mem_bytes;
}

static void note_mem_lost(struct collector *c, struct feed *f)
{
	uint64_t lost = atomic_load_explicit(&f->head->mem_lost, memory_order_relaxed);

	if (lost > f->mem_lost) {
		check(c, tf_thread_memory_lost(f->thread, lost - f->mem_lost));
		c->totals.memory_lost += lost - f->mem_lost;
		f->mem_gap = true;
	}
	f->mem_lost = lost;
}

static void give_chunk(struct collector *c, struct feed *f, const void *chunk, uint32_t bytes)
{
	if (c->options->mem_keep)
		check(c, tf_thread_memory(f->thread, chunk, bytes));
	if (c->analysis)
		analysis_chunk(f->analysis, chunk, bytes, f->mem_gap);
	f->mem_gap = false;
	f->mem_open = bytes >= sizeof(uint32_t) && *(const uint32_t *)chunk != MD_CHUNK_END;
}

static void drain_mem(struct collector *c, struct feed *f, uint32_t used)
{
	note_mem_lost(c, f);
	if (used)
		give_chunk(c, f, mem_base(c, f), used);
	c->totals.memory_bytes += used;
}

static void free_mem(struct collector *c, struct feed *f, uint32_t used)
{
	struct ring_mem_sub *sub = &f->head->mem[f->mem];

	memset(mem_base(c, f), 0, used);
	atomic_store_explicit(&sub->state, RING_SUB_FREE, memory_order_release);
	futex_wake(&sub->state);
	f->mem = (f->mem + 1) % MEM_SUBS;
}

static uint32_t mem_used(const struct collector *c, uint32_t used)
{
	return used < c->mem_bytes ? used : c->mem_bytes;
}

static bool drain_full_mem(struct collector *c, struct feed *f)
{
	bool any = false;

	for (uint32_t i = 0; i < MEM_SUBS && c->mem_bytes; i++) {
		struct ring_mem_sub *sub = &f->head->mem[f->mem];
		uint32_t used;

		if (atomic_load_explicit(&sub->state, memory_order_acquire) != RING_SUB_FULL)
			break;
		used = mem_used(c, sub->used);
		drain_mem(c, f, used);
		free_mem(c, f, used);
		any = true;
	}
	return any;
}

/* Up to the last word that is not zero: the thread was killed, or is done, somewhere in it. */
static uint32_t written(const struct collector *c, const struct feed *f)
{
	const uint32_t *word = (const uint32_t *)(const void *)mem_base(c, f);
	uint32_t n = c->mem_bytes / 4;

	while (n && !word[n - 1])
		n--;
	return 4 * n;
}

/*
 * What follows a thread's last words needs none.  That it came to the end of that is known if it ended by itself, or
 * the process did.
 */
static void end_mem(struct collector *c, struct feed *f)
{
	struct md_chunk end = {
		.kind = MD_CHUNK_END, .head = sizeof(end), .tsc = __builtin_ia32_rdtsc(),
	};

	if (f->mem_open)
		give_chunk(c, f, &end, sizeof(end));
}

static void drain_last_mem(struct collector *c, struct feed *f, bool killed)
{
	drain_full_mem(c, f);
	if (c->mem_bytes &&
	    atomic_load_explicit(&f->head->mem[f->mem].state, memory_order_acquire) ==
		    RING_SUB_WRITING)
		drain_mem(c, f, written(c, f));
	note_mem_lost(c, f);
	if (!killed)
		end_mem(c, f);
	f->mem = 0;
	f->mem_lost = 0;
	f->mem_gap = f->mem_open = false;
}

/* ---- */

/* All that is full; with @live also what is in the sub-buffer that the thread writes to. */
static bool drain_feed(struct collector *c, struct feed *f, bool live)
{
	bool any = drain_full_mem(c, f);

	note_lost(c, f);
	for (uint32_t i = 0; i < c->nsub; i++) {
		struct ring_sub *sub = &f->head->sub[f->sub];
		uint32_t state = atomic_load_explicit(&sub->state, memory_order_acquire);

		if (state == RING_SUB_WRITING && live)
			drain_sub(c, f, sub, 0, false);
		if (state != RING_SUB_FULL)
			break;
		uint32_t used = sub->used;

		drain_sub(c, f, sub, used, true);
		free_sub(c, f, sub, used);
		any = true;
	}
	return any;
}

/* The thread will write no more: everything, in order. */
static void drain_rest(struct collector *c, struct feed *f)
{
	for (uint32_t i = 0; i < c->nsub; i++) {
		struct ring_sub *sub = &f->head->sub[f->sub];
		uint32_t state = atomic_load_explicit(&sub->state, memory_order_acquire);

		if (state == RING_SUB_FREE)
			break;
		drain_sub(c, f, sub, state == RING_SUB_FULL ? sub->used : c->sub_bytes, true);
		free_sub(c, f, sub, c->sub_bytes);
	}
	note_lost(c, f);
}

static void note_sampled(struct collector *c, const struct feed *f)
{
	uint64_t now = __builtin_ia32_rdtsc();

	if (!c->sampler.burst)
		return;
	c->totals.bursts += f->head->sample.bursts;
	c->totals.sampled += (double)sampler_on_ticks(&c->sampler, f->head, now);
	c->totals.lived += (double)now - (double)f->head->first_tsc;
}

static void close_thread(struct collector *c, struct feed *f)
{
	uint64_t counters[RING_COUNTERS];
	struct tf_thread_end end = { .counters = counters };
	struct tf_thread_stats stats;
	char comm[32];

	memcpy(counters, (const uint8_t *)f->head + RING_COUNTERS_OFFSET, sizeof(counters));
	analysis_end(f->analysis, counters);
	f->analysis = NULL;
	note_sampled(c, f);
	tf_thread_stats(f->thread, &stats);
	c->totals.events += stats.events;
	c->totals.damaged += stats.damaged;
	c->totals.lost += f->lost;
	c->totals.nested += f->head->nested;
	c->totals.threads++;
	read_comm(f->pid, f->head->tid, comm, sizeof(comm));
	end.comm = comm[0] ? comm : NULL;
	end.lost = f->lost;
	end.nested = f->head->nested;
	if (c->functions) {
		end.calls = (const uint64_t *)(const void *)((const uint8_t *)f->head +
							     counts_offset(c));
		end.ncalls = c->functions;
	}
	check(c, tf_thread_close(f->thread, &end));
	f->thread = NULL;
}

/* Drains and closes; the ring is as new afterwards. */
static void finish_feed(struct collector *c, struct feed *f, bool killed)
{
	_Atomic uint32_t *state = &f->head->state;
	char *rest = (char *)f->head + sizeof(*state);

	drain_rest(c, f);
	drain_last_mem(c, f, killed);
	close_thread(c, f);
	/* its memory goes back to the system; whoever has the ring next finds zeros */
	madvise((char *)f->head + RING_PAGE, c->ring_bytes - RING_PAGE, MADV_REMOVE);
	memset(rest, 0, RING_PAGE - sizeof(*state));
	f->sub = f->pos = 0;
	f->lost = 0;
	f->sampled = (struct sampled){ 0 };
	atomic_store_explicit(state, RING_FREE, memory_order_release);
}

static bool open_feed(struct collector *c, struct feed *f)
{
	char comm[32];

	f->pid = f->head->pid;
	read_comm(f->pid, f->head->tid, comm, sizeof(comm));
	add_process(c, f->pid, f->head->pid_ns);
	f->may_switch = c->sampler.burst && f->head->pid_ns == our_namespace() &&
			sampler_maps(f->pid, c->fd);
	check(c, tf_thread_create(c->writer, &f->thread, f->pid, f->head->tid,
				  comm[0] ? comm : NULL, f->head->first_tsc));
	if (f->thread && c->analysis)
		f->analysis = analysis_begin(c->analysis, f->pid, f->head->tid, comm);
	return f->thread != NULL;
}

static struct ring_head *map_ring(struct collector *c, uint32_t i)
{
	void *p = mmap(NULL, c->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
		       (off_t)collector_bytes(c, i));

	return p == MAP_FAILED ? NULL : p;
}

static bool visit_ring(struct collector *c, uint32_t i, bool live)
{
	struct feed *f = &c->feeds[i];
	uint32_t state;

	if (!f->head)
		f->head = map_ring(c, i);
	if (!f->head)
		return false;
	state = atomic_load_explicit(&f->head->state, memory_order_acquire);
	if (state != RING_ACTIVE && state != RING_EXITED)
		return false;
	if (!f->thread && !open_feed(c, f))
		return false;
	if (state == RING_EXITED) {
		finish_feed(c, f, false);
		return true;
	}
	return drain_feed(c, f, live);
}

static uint32_t used_rings(const struct collector *c)
{
	uint32_t n = atomic_load_explicit(&c->control->used_rings, memory_order_acquire);

	return n < c->max_rings ? n : c->max_rings;
}

static bool drain_all(struct collector *c, bool live)
{
	uint32_t n = used_rings(c);
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		any |= visit_ring(c, i, live);
	return any;
}

/* One that is killed while it asks leaves the mailbox locked for all others. */
static void unlock_mail(struct collector *c, const struct process *p)
{
	struct ring_mail *m = &c->control->mail;

	if (m->pid != p->pid)
		return;
	atomic_store_explicit(&m->state, RING_MAIL_IDLE, memory_order_release);
	futex_wake(&m->state);
}

/*
 * A process that is not our child says how it ended only as long as its parent has not asked.  What is not known is taken
 * for a normal end.
 */
static bool was_killed(struct collector *c, pid_t pid)
{
	char path[32], buf[1024], *p;
	int status = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	/* fields 3, the state, and 52, the last one */
	if (!p || strncmp(p, ") Z", 3) != 0)
		return false;
	p = strrchr(p, ' ');
	if (sscanf(p, "%d", &status) != 1 || !WIFSIGNALED(status))
		return false;
	check(c, tf_writer_process_end(c->writer, pid, status));
	return true;
}

static void finish_process(struct collector *c, struct process *p, bool killed)
{
	p->gone = true;
	for (uint32_t i = 0, n = used_rings(c); i < n; i++)
		if (c->feeds[i].thread && c->feeds[i].pid == p->pid)
			finish_feed(c, &c->feeds[i], killed);
}

/* Rings of processes that have ended are finished, so that others can have them.  The program's end is told to us. */
static void reap_processes(struct collector *c)
{
	for (size_t k = 0; k < c->nprocesses; k++) {
		struct process *p = &c->processes[k];

		if (p->gone || p->pid == c->program || !has_ended(p))
			continue;
		unlock_mail(c, p);
		finish_process(c, p, was_killed(c, p->pid));
		if (p->pidfd >= 0)
			close(p->pidfd);
		p->pidfd = -1;
	}
}

static void flush_all(struct collector *c)
{
	for (uint32_t i = 0, n = used_rings(c); i < n; i++)
		if (c->feeds[i].thread)
			check(c, tf_thread_flush(c->feeds[i].thread));
}

/* ---- libraries that are loaded late ---- */

static enum inj_status mail_syscall(struct inj_target *t, long nr, const uint64_t args[6],
				    int64_t *result)
{
	struct collector *c = t->arg;
	struct ring_mail *m = &c->control->mail;
	struct timespec timeout = { .tv_nsec = 100000000 };

	m->nr = (uint32_t)nr;
	memcpy(m->args, args, sizeof(m->args));
	atomic_store_explicit(&m->state, RING_MAIL_CALL, memory_order_release);
	futex_wake(&m->state);
	for (int tries = 0; tries < 50; tries++) {
		uint32_t state = atomic_load_explicit(&m->state, memory_order_acquire);

		if (state == RING_MAIL_ASKED) {
			*result = m->result;
			return INJ_OK;
		}
		if (state != RING_MAIL_CALL)
			return INJ_GONE;
		if (kill(t->pid, 0) < 0)
			return INJ_GONE;
		syscall(SYS_futex, &m->state, FUTEX_WAIT, state, &timeout, NULL, 0);
	}
	return INJ_GONE;
}

/* What has been instrumented since the last time. */
static void publish(struct collector *c)
{
	const struct inj_mirrors *m = &c->session->mirrors;

	metadata_publish(c->session, c->writer, c->options);
	for (; c->analysis && c->analyzed < m->ndescribed; c->analyzed++) {
		const struct inj_described *d = &m->described[c->analyzed];
		const struct inj_object *o = &c->session->objects[d->object];
		struct md_object object = {
			.base = o->base + d->code_base, .load = o->base, .first = d->first,
			.nnodes = d->nnodes, .nops = d->nops, .number = (uint32_t)c->analyzed,
		};

		analysis_object(c->analysis, &object, d->nodes, d->ops);
	}
}

static void instrument_late(struct collector *c, pid_t pid)
{
	struct inj_target target;
	enum inj_status status = inj_target_open(&target, pid);

	if (status == INJ_OK) {
		target.syscall = mail_syscall;
		target.arg = c;
		status = inj_session_library(c->session, &target);
		inj_target_close(&target);
	}
	publish(c);
	if (status != INJ_OK && status != INJ_GONE)
		msg_warn("a library that was loaded late could not be instrumented: %s",
			 inj_status_text(status));
}

static bool serve_mail(struct collector *c)
{
	struct ring_mail *m = &c->control->mail;

	if (atomic_load_explicit(&m->state, memory_order_acquire) != RING_MAIL_ASKED)
		return false;
	if (m->pid == c->program) {
		instrument_late(c, m->pid);
	} else if (!c->told_children) {
		c->told_children = true;
		msg_warn("libraries that forked children load are not instrumented");
	}
	atomic_store_explicit(&m->state, RING_MAIL_DONE, memory_order_release);
	futex_wake(&m->state);
	return true;
}

/* ---- the thread ---- */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/*
 * 1. we say that we sleep; 2. we look at the doorbell; 3. we sleep unless it has changed since.
 * A thread rings: 1. doorbell + 1; 2. looks whether we sleep.  Either we see its ring or it sees us.
 */
static void sleep_until_rung(struct collector *c, uint32_t bell, int64_t ns)
{
	struct timespec timeout = { .tv_nsec = ns };

	atomic_store(&c->control->sleeping, 1);
	if (atomic_load(&c->control->doorbell) == bell && !c->stop)
		syscall(SYS_futex, &c->control->doorbell, FUTEX_WAIT, bell, &timeout, NULL, 0);
	atomic_store(&c->control->sleeping, 0);
}

static void serve_publish(struct collector *c)
{
	if (!c->publish)
		return;
	publish(c);
	c->publish = 0;
	futex_wake(&c->publish);
}

static void ring_ourselves(struct collector *c)
{
	atomic_fetch_add(&c->control->doorbell, 1);
	futex_wake(&c->control->doorbell);
}

void collector_publish(struct collector *c)
{
	c->publish = 1;
	ring_ourselves(c);
	while (c->publish)
		syscall(SYS_futex, &c->publish, FUTEX_WAIT, 1, NULL, NULL, 0);
}

/* When there is something to do again, in ns. */
static int64_t switch_all(struct collector *c)
{
	int64_t soonest = INT64_MAX;

	for (uint32_t i = 0, n = used_rings(c); i < n && c->sampler.burst; i++) {
		struct feed *f = &c->feeds[i];
		int64_t ns = INT64_MAX;

		if (f->thread && f->may_switch)
			ns = sampler_visit(&c->sampler, f->head, &f->sampled, f->pid);
		if (ns < soonest)
			soonest = ns;
	}
	return soonest;
}

static void *run(void *arg)
{
	struct collector *c = arg;
	int64_t next_tick = now_ns() + TICK_NS;

	while (!c->stop) {
		uint32_t bell = atomic_load(&c->control->doorbell);
		bool any = serve_mail(c);
		int64_t left, soon;

		serve_publish(c);
		any |= drain_all(c, false);
		soon = switch_all(c);
		left = next_tick - now_ns();
		if (left <= 0) {
			drain_all(c, true);
			reap_processes(c);
			flush_all(c);
			next_tick = now_ns() + TICK_NS;
		} else if (!any) {
			sleep_until_rung(c, bell, soon < left ? soon : left);
		}
	}
	return NULL;
}

void collector_analyze(struct collector *c, struct analysis *a)
{
	c->analysis = a;
}

int collector_start(struct collector *c, struct tf_writer *w, struct inj_session *s,
		    const struct record_options *o, pid_t program)
{
	pthread_attr_t attr;
	int err;

	c->writer = w;
	c->session = s;
	c->program = program;
	add_process(c, program, our_namespace());
	c->options = o;
	if (c->analysis)
		analysis_trace(c->analysis, w);
	publish(c);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, c->analysis ? MODULE_STACK : THREAD_STACK);
	err = pthread_create(&c->thread, &attr, run, c);
	pthread_attr_destroy(&attr);
	if (err != 0) {
		msg_error("cannot start the collector: %s", strerror(err));
		return -1;
	}
	c->started = true;
	return 0;
}

static unsigned int still_running(struct collector *c)
{
	unsigned int n = 0;

	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pidfd >= 0 && c->processes[i].pid != c->program &&
		    !has_ended(&c->processes[i]))
			n++;
	return n;
}

/* Of a process that still runs it is not known either. */
static bool no_end_of(struct collector *c, pid_t pid, bool killed)
{
	if (pid == c->program)
		return killed;
	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pid == pid && !c->processes[i].gone)
			return !has_ended(&c->processes[i]) || was_killed(c, pid);
	return false;
}

void collector_finish(struct collector *c, bool killed, struct collector_totals *totals)
{
	uint32_t n;

	c->stop = true;
	ring_ourselves(c);
	if (c->started)
		pthread_join(c->thread, NULL);
	drain_all(c, false);
	c->totals.running = still_running(c);
	n = used_rings(c);
	for (uint32_t i = 0; i < n; i++) {
		struct feed *f = &c->feeds[i];

		visit_ring(c, i, false);
		if (f->thread)
			finish_feed(c, f, no_end_of(c, f->pid, killed));
	}
	c->totals.lost += atomic_load(&c->control->lost);
	c->totals.lost_threads = atomic_load(&c->control->lost_threads);
	c->totals.discarded = tf_writer_discarded(c->writer);
	*totals = c->totals;
}
