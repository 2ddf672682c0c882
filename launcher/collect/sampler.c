// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/collect/sampler.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "injector/process/procpath.h"
#include "tracefmt/write/writer.h"

#define NAP_NS 5000000
#define WAIT_S 1e-3
#define AGAIN_MAX_NS 100000000.0
#define NS_OF_S 1e9

/* ---- time ---- */

void sampler_begin(struct sampler *s, const struct sample_times *t)
{
	struct timespec nap = { .tv_nsec = NAP_NS };
	struct tf_clock a, b;

	memset(s, 0, sizeof(*s));
	s->by = t->by;
	s->burst = t->burst;
	s->every = t->every;
	if (!t->burst)
		return;
	tf_clock_now(&a);
	nanosleep(&nap, NULL);
	tf_clock_now(&b);
	s->hz = (double)(b.tsc - a.tsc) / (double)(b.mono_ns - a.mono_ns) * 1e9;
	s->wait = (uint64_t)(s->hz * WAIT_S) + 1;
	s->switches = t->by != RING_SAMPLE_ACCESSES;
	if (!s->switches)
		return;
	if (t->by == RING_SAMPLE_COST) {
		s->every = (uint64_t)(s->hz / 1e3);
		return;
	}
	s->burst = (uint64_t)((double)t->burst / 1e9 * s->hz) + 1;
	s->every = (uint64_t)((double)t->every / 1e9 * s->hz) + 1;
}

static int64_t in_ns(const struct sampler *s, uint64_t ticks)
{
	double ns = (double)ticks / s->hz * 1e9;

	return ns < 1e12 ? (int64_t)ns + 1 : INT64_C(1000000000000);
}

/* ---- what was done ---- */

/* Ticks of the phase that is not over, of a thread that began at @first. */
static double open_ticks(const struct ring_sample *r, uint64_t first, uint32_t phase, uint64_t now)
{
	return r->phase == phase && now > r->began && r->began > first ? (double)(now - r->began) : 0;
}

struct sonde_trace_thread_sampled sampled_thread(const struct ring_head *head)
{
	struct ring_sample r;
	struct sonde_trace_thread_sampled t;

	memcpy(&r, (const void *)&head->sample, sizeof(r));
	t = (struct sonde_trace_thread_sampled){ .bursts = r.bursts, .on_units = r.on_units, .all_units = r.on_units };
	if (r.off_units <= UINT64_MAX - t.all_units)
		t.all_units += r.off_units;
	return t;
}

/* ns of CPU time in the phase that is not over. */
static double open_cpu(const struct sampler *s, const struct ring_sample *r, const struct sampled *f, uint64_t first,
		       uint64_t now)
{
	double cpu = (double)r->then, known, lived, rate = 1;
	uint64_t at = r->then_at;

	if (f->cpu_at > at && (double)f->cpu > cpu) {
		cpu = (double)f->cpu;
		at = f->cpu_at;
	}
	if (!r->then || at < first || at > now)
		return 0;
	known = cpu - (double)r->then + (double)r->on_cpu + (double)r->off_cpu;
	lived = (double)(at - first) / s->hz * NS_OF_S;
	if (known > 0 && known < lived)
		rate = known / lived;
	return cpu - (double)r->then + rate * (double)(now - at) / s->hz * NS_OF_S;
}

void sampled_add(struct sampled_sums *to, const struct sampler *s, const struct ring_head *head,
		 const struct sampled *f, uint64_t now)
{
	uint64_t first = __atomic_load_n(&head->first_tsc, __ATOMIC_RELAXED);
	struct ring_sample copy;
	const struct ring_sample *r = &copy;
	double on, cpu;

	memcpy(&copy, (const void *)&head->sample, sizeof(copy));
	on = open_ticks(r, first, RING_PHASE_ON, now);
	cpu = open_cpu(s, r, f, first, now);
	to->bursts += r->bursts + (r->phase == RING_PHASE_ON);
	to->on += (double)r->on_ticks + on;
	to->lived += (double)now - (double)first;
	to->on_units += (double)r->on_units;
	to->off_units += (double)r->off_units;
	to->visits += r->visits;
	to->on_cpu += (double)r->on_cpu + (r->phase == RING_PHASE_ON ? cpu : 0);
	to->off_cpu += (double)r->off_cpu + (r->phase == RING_PHASE_ON ? 0 : cpu);
	if (s->by != RING_SAMPLE_COST)
		return;
	to->cost += (double)r->cost;
	to->packed += (double)r->packed;
}

static uint64_t whole(double v)
{
	return v >= 1 && v < 1e18 ? (uint64_t)v : 0;
}

struct sonde_trace_sampled sampled_result(const struct sample_times *t, const struct sampled_sums *s)
{
	static const char *const by[] = { "time", "accesses", "overhead" };
	struct sonde_trace_sampled to = {
		.by = by[t->by], .bursts = s->bursts, .on = whole(s->on), .lived = whole(s->lived),
		.on_units = whole(s->on_units), .all_units = whole(s->on_units + s->off_units),
		.visits = s->visits,
	};

	if (t->by == RING_SAMPLE_COST) {
		to.overhead = (double)t->burst * 1e-6;
	} else {
		to.burst = t->burst;
		to.every = t->every;
	}
	to.on_cpu_ns = whole(s->on_cpu);
	to.cpu_ns = whole(s->on_cpu + s->off_cpu);
	to.cost_ns = whole(s->cost);
	to.sonde_ns = whole(s->packed);
	to.asked_ns = s->asked;
	to.switches = s->switches;
	to.switch_ns = s->switching;
	to.used_ns = whole(s->used);
	to.stay = s->stay;
	return to;
}

/* ---- switching ---- */

static bool maps(pid_t pid, int fd)
{
	unsigned long long inode;
	unsigned int major, minor;
	char path[INJ_PROC_PATH], line[512];
	bool found = false;
	struct stat st;
	FILE *f;

	inj_proc_path(path, pid, "maps");
	f = fstat(fd, &st) == 0 ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
			inode == st.st_ino && makedev(major, minor) == st.st_dev;
	fclose(f);
	return found;
}

/* If it executes another program before its mappings are read, they do not hold the file. */
int sampler_open(pid_t pid, int fd)
{
	char path[INJ_PROC_PATH];
	int mem;

	inj_proc_path(path, pid, "mem");
	mem = open(path, O_WRONLY | O_CLOEXEC);
	if (mem >= 0 && !maps(pid, fd)) {
		close(mem);
		return -1;
	}
	return mem;
}

static void write_zero(int mem, uint64_t addr)
{
	uint64_t zero = 0;

	if (addr <= INT64_MAX)
		(void)!pwrite(mem, &zero, sizeof(zero), (off_t)addr); /* the process may be gone */
}

void sampler_hurry(const struct ring_head *head, int mem)
{
	write_zero(mem, __atomic_load_n(&head->sample.limit_at, __ATOMIC_RELAXED));
}

void sampler_begin_burst(const struct ring_head *head, int mem)
{
	write_zero(mem, __atomic_load_n(&head->sample.off_at, __ATOMIC_RELAXED));
}

/*
 * A thread that sleeps does not notice; one that writes its limit at the same time may miss it.  So it is done again,
 * after longer and longer times.
 */
int64_t sampler_visit(const struct sampler *s, struct ring_head *head, struct sampled *f, int mem)
{
	struct ring_sample *r = &head->sample;
	uint32_t phase = atomic_load_explicit(&r->phase, memory_order_acquire);
	uint64_t until = atomic_load_explicit(&r->until, memory_order_acquire);
	uint64_t now = __builtin_ia32_rdtsc();

	if (phase != RING_PHASE_OFF && phase != RING_PHASE_ON)
		return INT64_MAX;
	if (until != f->until) {
		f->until = f->due = until;
		f->wait = s->by == RING_SAMPLE_TIME ? s->burst / 8 + 1 : s->wait;
	}
	if (now < f->due)
		return in_ns(s, f->due - now);
	write_zero(mem, __atomic_load_n(phase == RING_PHASE_OFF ? &r->off_at : &r->limit_at, __ATOMIC_RELAXED));
	f->due = now + f->wait;
	if ((double)f->wait < AGAIN_MAX_NS / 1e9 * s->hz)
		f->wait *= 2;
	return in_ns(s, f->wait);
}
