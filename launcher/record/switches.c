// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The kernel's ring buffers, one a processor: perf_event_open(2), "MMAP layout".  Inherited events need one for each processor, since
 * those of two may write at the same time.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>
#include <xxhash.h>

#include "launcher/common/message.h"
#include "launcher/record/switches.h"
#include "launcher/trace/offcpu.h"
#include "tracefmt/write/extra.h"

#define PAGE 4096u
#define MOST_BYTES (UINT64_C(256) << 10) /* of a processor's buffer; a record takes 24 */
#define LEAST_BYTES (UINT64_C(4) << 10)
#define EVERY_MS 200
#define STACK (256u << 10)
#define TRIES 5

#define SWITCHES (-1)

/* An event on a processor. */
struct cpu {
	int fd;
	int counter; /* enum counter, or SWITCHES */
	struct perf_event_mmap_page *page;
};

struct switches {
	struct tf_outfile file; /* outlives the writer */
	int failed; /* errno of what could not be written; 0: all was */
	struct cpu *cpu;
	size_t ncpus; /* events on processors */
	bool switches;
	uint32_t counters;
	uint32_t user_only; /* of these: what happens in the kernel may not be counted */
	uint64_t bytes; /* of each buffer */
	struct pollfd *polled; /* ncpus, and the one that wakes us */
	pthread_t thread;
	bool runs;
	int wake;
	_Atomic bool ends;
	struct {
		struct offcpu_block head;
		struct offcpu_record v[OFFCPU_MOST];
	} block;
};

/* The longest of those that are read. */
struct record {
	struct perf_event_header head;
	union {
		struct {
			uint32_t pid, tid;
			uint64_t time;
		} at;	   /* SWITCH: sample_id */
		struct {
			uint32_t pid, tid;
			uint64_t time, period;
		} sample;
		struct {
			uint64_t id, lost;
		} lost;
	};
};

/* ---- into the trace ---- */

static void flush(struct switches *s)
{
	struct offcpu_block *head = &s->block.head;

	if (head->n && !s->failed) {
		head->hash = XXH64(s->block.v, head->n * sizeof(*s->block.v), 0);
		if (!tf_outfile_append(&s->file, &s->block, sizeof(*head) + head->n * sizeof(*s->block.v)))
			s->failed = errno;
	}
	head->n = 0;
}

static void put(struct switches *s, enum offcpu_kind kind, uint64_t ns, uint64_t what)
{
	s->block.v[s->block.head.n++] = (struct offcpu_record){ ns << 3 | (uint64_t)kind, what };
	if (s->block.head.n == OFFCPU_MOST)
		flush(s);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Both clocks at one instant: the try that took least was not interrupted. */
static uint64_t put_clock(struct switches *s)
{
	uint64_t least = UINT64_MAX, ns = 0, tsc = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc(), at = now(), took = __rdtsc() - before;

		if (took >= least)
			continue;
		least = took;
		ns = at;
		tsc = before + took / 2;
	}
	put(s, OFFCPU_CLOCK, ns, tsc);
	return ns;
}

/* ---- out of the buffers ---- */

/* It may go around the buffer's end. */
static void copy(const struct switches *s, const struct cpu *c, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)c->page + PAGE;
	size_t from = (size_t)(at & (s->bytes - 1)), first = n < s->bytes - from ? n : (size_t)(s->bytes - from);

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

static void take_sample(struct switches *s, const struct record *r, int counter)
{
	uint64_t n = r->sample.period < OFFCPU_COUNT_MOST ? r->sample.period : OFFCPU_COUNT_MOST;

	if (counter != SWITCHES && r->sample.tid < UINT32_C(1) << OFFCPU_COUNT_TID)
		put(s, OFFCPU_COUNT, r->sample.time, (n << 4 | (uint64_t)counter) << OFFCPU_COUNT_TID | r->sample.tid);
}

static void take(struct switches *s, const struct record *r, int counter, uint64_t ns)
{
	enum offcpu_kind kind = OFFCPU_RUNS;

	if (r->head.type == PERF_RECORD_SAMPLE)
		take_sample(s, r, counter);

	if (r->head.type == PERF_RECORD_LOST)
		put(s, OFFCPU_LOST, ns, r->lost.lost);
	if (r->head.type != PERF_RECORD_SWITCH)
		return;
	if (r->head.misc & PERF_RECORD_MISC_SWITCH_OUT)
		kind = r->head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? OFFCPU_PREEMPTED : OFFCPU_BLOCKED;
	put(s, kind, r->at.time, r->at.tid);
}

static void drain_cpu(struct switches *s, const struct cpu *c, uint64_t ns)
{
	uint64_t head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE), at = c->page->data_tail;

	while (at < head) {
		struct record r = { 0 };

		copy(s, c, at, &r.head, sizeof(r.head));
		if (r.head.size < sizeof(r.head) || r.head.size > head - at)
			break;
		copy(s, c, at, &r, r.head.size < sizeof(r) ? r.head.size : sizeof(r));
		take(s, &r, c->counter, ns);
		at += r.head.size;
	}
	__atomic_store_n(&c->page->data_tail, head, __ATOMIC_RELEASE);
}

/* The clock last: all that is drained is known until then. */
static void drain(struct switches *s)
{
	uint64_t ns = now();

	for (size_t i = 0; i < s->ncpus; i++)
		drain_cpu(s, &s->cpu[i], ns);
	put_clock(s);
	flush(s);
}

static void *work(void *arg)
{
	struct switches *s = arg;

	while (!s->ends) {
		poll(s->polled, s->ncpus + 1, EVERY_MS);
		for (size_t i = 0; i < s->ncpus; i++)
			if (s->polled[i].revents & (POLLHUP | POLLERR))
				s->polled[i].fd = -1; /* the process has ended; those that have inherited it may go on */
		drain(s);
	}
	return NULL;
}

/* ---- from the start to the end ---- */

#define BLOCKED "--blocked: when threads are blocked"

static void say_why(const char *what, int err)
{
	if (err == EACCES || err == EPERM)
		msg_warn("%s is not recorded: /proc/sys/kernel/perf_event_paranoid does not let users see "
			 "their own programs' switches (it has to be 2 or less)", what);
	else if (err == ENOSYS || err == ENOENT || err == EINVAL || err == EOPNOTSUPP)
		msg_warn("%s is not recorded: this kernel does not tell, it takes Linux 4.3 with perf events", what);
	else
		msg_warn("%s is not recorded: %s", what, strerror(err));
}

static void say_no_counter(int counter, int err)
{
	const char *name = counter_kinds[counter].name;

	if (err == EACCES || err == EPERM)
		msg_warn("--counters: %s are not counted: /proc/sys/kernel/perf_event_paranoid does not let users (it has to be %d or less)",
			 name, counter_kinds[counter].in_kernel ? 1 : 2);
	else
		msg_warn("--counters: %s are not counted: this machine does not (%s); task-clock and page-faults need no hardware", name,
			 strerror(err));
}

/* How often a second samples are taken of what happens too often to record each. */
#define SAMPLES 4000u

static int open_event(pid_t pid, int cpu, int counter, bool user_only, uint64_t bytes)
{
	const struct counter_kind *kind = counter == SWITCHES ? NULL : &counter_kinds[counter];
	struct perf_event_attr a = {
		.type = kind ? kind->type : PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = kind ? kind->config : PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (kind ? PERF_SAMPLE_PERIOD : 0),
		.inherit = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.context_switch = !kind,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)bytes / 2,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
	};

	if (kind && kind->sampled) {
		a.freq = 1;
		a.sample_freq = SAMPLES;
	} else if (kind) {
		a.sample_period = 1;
	}
	return (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void close_events(struct switches *s)
{
	for (size_t i = 0; i < s->ncpus; i++) {
		if (s->cpu[i].page)
			munmap(s->cpu[i].page, PAGE + s->bytes);
		close(s->cpu[i].fd);
	}
	s->ncpus = 0;
}

/* What users may lock in memory for this is bounded. */
static bool map_buffers(struct switches *s)
{
	for (size_t i = 0; i < s->ncpus; i++) {
		void *page = mmap(NULL, PAGE + s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->cpu[i].fd, 0);

		if (page == MAP_FAILED)
			return false;
		s->cpu[i].page = page;
	}
	return true;
}

/* Of one kind, on each processor. */
static bool open_events(struct switches *s, pid_t pid, int counter)
{
	long most = sysconf(_SC_NPROCESSORS_CONF);
	size_t before = s->ncpus;

	for (int i = 0; i < most; i++) {
		int fd = open_event(pid, i, counter, counter == SWITCHES || s->user_only & UINT32_C(1) << counter, s->bytes);

		if (fd < 0 && errno == ENODEV)
			continue; /* it is off */
		if (fd < 0)
			return false;
		s->cpu[s->ncpus++] = (struct cpu){ .fd = fd, .counter = counter };
	}
	return s->ncpus > before;
}

/* Those that this machine has, and whether users may count them in the kernel. */
static void choose_counters(struct switches *s, pid_t pid)
{
	for (int i = 0; i < COUNTERS; i++) {
		uint32_t bit = UINT32_C(1) << i;
		int fd = -1;

		if (!(s->counters & bit))
			continue;
		fd = open_event(pid, -1, i, false, LEAST_BYTES);
		if (fd < 0 && (errno == EACCES || errno == EPERM) && !counter_kinds[i].in_kernel) {
			s->user_only |= bit;
			fd = open_event(pid, -1, i, true, LEAST_BYTES);
		}
		if (fd < 0) {
			say_no_counter(i, errno);
			s->counters &= ~bit;
		}
		if (fd >= 0)
			close(fd);
	}
}

static bool open_kinds(struct switches *s, pid_t pid)
{
	if (s->switches && !open_events(s, pid, SWITCHES))
		return false;
	for (int i = 0; i < COUNTERS; i++)
		if (s->counters & UINT32_C(1) << i && !open_events(s, pid, i))
			return false;
	return true;
}

static bool open_all(struct switches *s, pid_t pid)
{
	int err = 0;

	for (s->bytes = MOST_BYTES; s->bytes >= LEAST_BYTES; s->bytes /= 4) {
		bool opened = open_kinds(s, pid);

		if (opened && map_buffers(s))
			return true;
		err = errno;
		close_events(s);
		if (!opened)
			break;
	}
	errno = err;
	return false;
}

static bool start_thread(struct switches *s)
{
	pthread_attr_t attr;
	int err;

	for (size_t i = 0; i < s->ncpus; i++)
		s->polled[i] = (struct pollfd){ .fd = s->cpu[i].fd, .events = POLLIN };
	s->polled[s->ncpus] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&s->thread, &attr, work, s);
	pthread_attr_destroy(&attr);
	s->runs = err == 0;
	errno = err;
	return s->runs;
}

static void discard(struct switches *s)
{
	close_events(s);
	if (s->file.dirfd >= 0)
		close(s->file.dirfd);
	if (s->wake >= 0)
		close(s->wake);
	free(s->cpu);
	free(s->polled);
	free(s);
}

/* With the header that all files of the trace have. */
static bool create_file(struct switches *s, struct tf_writer *writer)
{
	struct tf_extra_file file = { 0 };

	tf_writer_extra_file(writer, &file, OFFCPU_FILE, OFFCPU_MAGIC, OFFCPU_VERSION);
	if (file.broken)
		return false;
	s->file = file.file;
	s->file.dirfd = fcntl(file.file.dirfd, F_DUPFD_CLOEXEC, 0);
	return s->file.dirfd >= 0;
}

static struct switches *not_begun(struct switches *s, bool blocked, int err)
{
	say_why(blocked ? BLOCKED : "--counters: what was asked for", err);
	if (s)
		discard(s);
	return NULL;
}

struct switches *switches_begin(pid_t pid, struct tf_writer *writer, bool blocked, uint32_t counters)
{
	struct switches *s = calloc(1, sizeof(*s));
	size_t most = (size_t)sysconf(_SC_NPROCESSORS_CONF) * (COUNTERS + 1);

	if (!s)
		return not_begun(NULL, blocked, ENOMEM);
	s->file.dirfd = -1;
	s->switches = blocked;
	s->counters = counters;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->cpu = calloc(most, sizeof(*s->cpu));
	s->polled = calloc(most + 1, sizeof(*s->polled));
	if (s->wake < 0 || !s->cpu || !s->polled)
		return not_begun(s, blocked, errno);
	choose_counters(s, pid);
	if (!s->switches && !s->counters) {
		discard(s);
		return NULL;
	}
	if (!open_all(s, pid) || !create_file(s, writer))
		return not_begun(s, blocked, errno);
	for (int i = 0; i < COUNTERS; i++)
		if (s->counters & UINT32_C(1) << i)
			put(s, OFFCPU_COUNTER, 0, (uint64_t)i);
	put_clock(s);
	flush(s);
	return start_thread(s) ? s : not_begun(s, blocked, errno);
}

void switches_end(struct switches *s)
{
	static const uint64_t one = 1;

	if (!s)
		return;
	s->ends = true;
	(void)!write(s->wake, &one, sizeof(one));
	if (s->runs)
		pthread_join(s->thread, NULL);
	drain(s);
	if (s->failed)
		msg_warn("--blocked, --counters: what the kernel said is not in the trace to the end: %s", strerror(s->failed));
	discard(s);
}
