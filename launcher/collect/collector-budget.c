// SPDX-License-Identifier: GPL-3.0-or-later
/* What recording calls may cost: measures it, and has the program's probes do what budget.h decides. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "launcher/collect/budget.h"
#include "launcher/collect/collector-private.h"

#define FIRST_WINDOW_NS INT64_C(2500000) /* in which all calls are recorded: 10 ms would be much of a second's budget */
#define WINDOW_NS INT64_C(10000000) /* at first */
#define LATER_NS INT64_C(30000000)
#define FIRST_NS INT64_C(300000000)
#define IDLE_NS INT64_C(100000000)
#define LEAST_CPU 0.3	/* of a window, or of WINDOW_NS: less says nothing */
#define PAUSE 50	/* a window is so many times what it took to look at it, or longer */
#define EVENT_NS 20.0	/* what one costs here, before it is known */
#define MOST_EVENT_NS 200.0
#define MANY_EVENTS 20000
#define BURSTS 64	/* that are written to the trace at once */
#define TALLY ((size_t)1 << RING_ID_BITS)

struct chosen_function {
	uint32_t enter;	  /* event id; 0: not known */
	uint64_t tallied, counted; /* so far */
	uint64_t gone;	  /* counted by threads that have ended */
};

struct collector_budget {
	struct budget b;
	_Atomic uint8_t *choices;
	uint32_t room;	  /* choices */
	uint64_t *tally;  /* events by id */
	struct chosen_function *fn;
	uint32_t known;	  /* mirrors of the session that have been seen */
	uint32_t *counted; /* functions that are */
	size_t ncounted, counted_room;
	struct tf_chosen *changes; /* of the last decision */
	size_t changes_room;
	struct tf_burst bursts[BURSTS];
	size_t nbursts;
	struct tf_clock begun;
	double pair;	  /* ticks that the probes of a call take */
	double event;	  /* ns that an event takes here */
	uint64_t events, seen; /* drained; ... up to the last window */
	double entered;	  /* CPU time of the thread that serves, ns, when it began to */
	double own;	  /* CPU time that serving has taken since the last window */
	double cpu;	  /* of the program, since then */
	bool off;	  /* recording was, when all was chosen */
	bool idle;	  /* the program did nothing of late: bursts would show nothing */
	int64_t window, length, next; /* when the next window ends, and how long they are; when a burst may begin */
	uint64_t burst_tsc; /* 0: there is none */
	int64_t until;
	struct tf_budget result;
};

bool collector_budget_new(struct collector *c, double share)
{
	struct collector_budget *k = calloc(1, sizeof(*k));
	void *p;

	if (!k)
		return false;
	c->budget = k;
	budget_begin(&k->b, share);
	k->result.share = share;
	k->event = EVENT_NS;
	k->tally = calloc(TALLY, sizeof(*k->tally));
	k->fn = calloc(c->functions, sizeof(*k->fn));
	k->room = c->functions;
	p = mmap(NULL, c->choices_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, RING_FIRST);
	if (p == MAP_FAILED)
		return false;
	k->choices = p;
	return k->tally && k->fn;
}

void collector_budget_free(struct collector *c)
{
	struct collector_budget *k = c->budget;

	if (!k)
		return;
	if (k->choices)
		munmap((void *)k->choices, c->choices_bytes);
	budget_end(&k->b);
	free(k->tally);
	free(k->fn);
	free(k->counted);
	free(k->changes);
	free(k);
	c->budget = NULL;
}

void collector_budget_start(struct collector *c)
{
	struct collector_budget *k = c->budget;

	if (!k)
		return;
	tf_writer_tally(c->writer, k->tally);
	tf_clock_now(&k->begun);
	/* said again at the end, with figures */
	collector_check(c, tf_writer_budget(c->writer, &k->result));
	k->length = FIRST_WINDOW_NS;
	k->window = clock_now_ns() + k->length;
}

void collector_budget_enter(struct collector *c)
{
	if (c->budget)
		c->budget->entered = (double)clock_thread_ns();
}

static void add_own(struct collector_budget *k)
{
	double now = (double)clock_thread_ns();

	k->own += now - k->entered;
	k->entered = now;
}

void collector_cost(struct collector *c, double ticks)
{
	if (c->budget)
		c->budget->pair = ticks;
}

void collector_budget_known(struct collector *c)
{
	const struct inj_mirrors *m = &c->session->mirrors;
	struct collector_budget *k = c->budget;

	for (; k && k->known < m->n; k->known++) {
		const struct inj_recorded *f = &m->v[k->known];

		if (f->state == INJ_RECORDED_OK && f->enter && f->index < k->room && budget_functions(&k->b, f->index + 1))
			k->fn[f->index].enter = f->enter;
	}
}

/* ---- what happened ---- */

void collector_budget_drained(struct collector *c, uint64_t bytes)
{
	if (c->budget)
		c->budget->events += bytes / 16;
}

void collector_budget_gone(struct collector *c)
{
	struct collector_budget *k = c->budget;

	for (uint32_t i = 0; k && i < k->b.n; i++)
		k->fn[i].gone += c->counts[i];
}

static double process_ns(pid_t pid)
{
	struct timespec ts;

	if (clock_gettime((~(clockid_t)pid << 3) | 2, &ts) != 0)
		return -1;
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* CPU time of the program's processes since the last time. */
static double program_ns(struct collector *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->nprocesses; i++) {
		struct process *p = &c->processes[i];
		double now = p->pidfd >= 0 && !p->gone ? process_ns(p->pid) : -1;

		if (now < 0)
			continue;
		if (p->cpu >= 0 && now > p->cpu)
			sum += now - p->cpu;
		p->cpu = now;
	}
	return sum;
}

static uint64_t counted_now(struct collector *c, uint32_t function)
{
	uint64_t sum = c->budget->fn[function].gone;

	for (uint32_t i = 0, n = collector_rings(c); i < n; i++) {
		const struct feed *f = &c->feeds[i];

		if (f->thread)
			sum += __atomic_load_n((const uint64_t *)((const uint8_t *)f->head + collector_counts_offset(c)) + function,
					       __ATOMIC_RELAXED);
	}
	return sum;
}

/* How often each function was called. */
static void count_calls(struct collector *c)
{
	struct collector_budget *k = c->budget;

	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread)
			tf_thread_tally(c->feeds[i].thread);
	for (uint32_t i = 0; i < k->b.n; i++) {
		struct chosen_function *f = &k->fn[i];
		uint64_t now = f->enter ? k->tally[f->enter] : 0;

		k->b.fn[i].calls = now - f->tallied;
		f->tallied = now;
	}
	for (size_t i = 0; i < k->ncounted; i++) {
		struct chosen_function *f = &k->fn[k->counted[i]];
		uint64_t now = counted_now(c, k->counted[i]);

		/* a thread that ends may be in neither sum, or in both, for a moment */
		k->b.fn[k->counted[i]].calls += now > f->counted ? now - f->counted : 0;
		f->counted = now;
	}
}

/* ---- choosing ---- */

static bool is_off(const struct collector *c)
{
	return atomic_load(&c->control->off) != 0;
}

/* While recording is off no call is to be counted, nor recorded: what records sees that. */
static void choose(struct collector *c, uint32_t function, enum ring_choice choice)
{
	_Atomic uint8_t *byte = &c->budget->choices[function];

	if (function >= atomic_load(&c->control->choices_used))
		atomic_store(&c->control->choices_used, function + 1);
	atomic_store(byte, is_off(c) ? RING_CHOICE_RECORD : (uint8_t)choice);
	/* switched off meanwhile? */
	if (is_off(c))
		atomic_store(byte, RING_CHOICE_RECORD);
}

static void choose_all(struct collector *c, enum ring_choice choice)
{
	const struct collector_budget *k = c->budget;

	for (size_t i = 0; i < k->ncounted; i++)
		choose(c, k->counted[i], choice);
}

static bool keep(struct collector_budget *k, size_t n)
{
	return array_room(k->counted, k->counted_room, k->ncounted + n) && array_room(k->changes, k->changes_room, n);
}

static void put_into_force(struct collector *c)
{
	struct collector_budget *k = c->budget;
	const struct budget *b = &k->b;
	uint64_t tsc = __builtin_ia32_rdtsc();
	size_t n = 0;

	for (size_t i = 0; i < b->nchanged; i++) {
		uint32_t f = b->changed[i];

		choose(c, f, b->fn[f].counted ? RING_CHOICE_COUNT : RING_CHOICE_RECORD);
		k->changes[i] = (struct tf_chosen){ f, b->fn[f].counted };
		if (b->fn[f].counted) {
			k->fn[f].counted = counted_now(c, f);
			k->counted[k->ncounted++] = f;
		}
	}
	for (size_t i = 0; i < k->ncounted; i++)
		if (b->fn[k->counted[i]].counted)
			k->counted[n++] = k->counted[i];
	k->ncounted = n;
	if (b->nchanged)
		collector_check(c, tf_writer_chosen(c->writer, tsc, k->changes, b->nchanged));
}

static double ns_of(const struct collector_budget *k, double ticks)
{
	struct tf_clock now;

	tf_clock_now(&now);
	if (now.tsc <= k->begun.tsc)
		return 0;
	return ticks * (double)(now.mono_ns - k->begun.mono_ns) / (double)(now.tsc - k->begun.tsc);
}

/* What happened since the last window is taken into account; its length is then over. */
static void look(struct collector *c)
{
	struct collector_budget *k = c->budget;
	double took = k->own, events = (double)(k->events - k->seen), probes;
	struct budget_window w = { .now = (uint64_t)clock_now_ns() };

	k->own = 0;
	k->seen = k->events;
	if (events > MANY_EVENTS && took / events < MOST_EVENT_NS)
		k->event += (took / events - k->event) / 4;
	probes = events / 2 * ns_of(k, k->pair);
	if (probes > k->cpu * 0.98)
		probes = k->cpu * 0.98;
	w.cpu = k->cpu;
	w.plain = k->cpu - probes;
	w.call = ns_of(k, k->pair) + 2 * k->event;
	w.spent = probes + took;
	k->result.plain_ns += (uint64_t)w.plain;
	k->result.probes_ns += (uint64_t)probes;
	k->result.sonde_ns += (uint64_t)took;
	k->cpu = 0;
	count_calls(c);
	if (keep(k, k->b.n) && budget_decide(&k->b, &w))
		put_into_force(c);
}

static void window(struct collector *c)
{
	struct collector_budget *k = c->budget;
	int64_t began = clock_now_ns(), least, length = k->length < WINDOW_NS ? k->length : WINDOW_NS;
	double before;

	collector_drain_all(c, true);
	before = (double)clock_thread_ns();
	k->cpu += program_ns(c);
	if (k->cpu < LEAST_CPU * (double)length) {
		k->length = k->length * 2 < IDLE_NS ? k->length * 2 : IDLE_NS;
		k->idle = true;
	} else {
		k->idle = false;
		look(c);
		k->length = began - (int64_t)k->begun.mono_ns < FIRST_NS ? WINDOW_NS : LATER_NS;
	}
	least = (int64_t)(PAUSE * ((double)clock_thread_ns() - before));
	k->window = clock_now_ns() + (k->length > least ? k->length : least);
}

/* ---- bursts ---- */

static void tell_bursts(struct collector *c)
{
	struct collector_budget *k = c->budget;

	collector_check(c, tf_writer_bursts(c->writer, k->bursts, k->nbursts));
	k->nbursts = 0;
}

/* From a time when all surely record, to one when they still do. */
static void begin_burst(struct collector *c, int64_t now)
{
	struct collector_budget *k = c->budget;
	int64_t length = (int64_t)budget_burst(&k->b);

	choose_all(c, RING_CHOICE_RECORD);
	k->burst_tsc = __builtin_ia32_rdtsc();
	k->until = now + length;
	/* as if all of it was cost; where that is not so, or less than is so, the next window shows it */
	k->next = now + (int64_t)((double)length / k->b.share * (0.5 + budget_chance(&k->b)));
}

static void end_burst(struct collector *c)
{
	struct collector_budget *k = c->budget;

	k->bursts[k->nbursts++] = (struct tf_burst){ k->burst_tsc, __builtin_ia32_rdtsc() - k->burst_tsc };
	k->burst_tsc = 0;
	choose_all(c, RING_CHOICE_COUNT);
	if (k->nbursts == BURSTS)
		tell_bursts(c);
}

static void note_switch(struct collector *c)
{
	struct collector_budget *k = c->budget;

	if (is_off(c) == k->off)
		return;
	k->off = !k->off;
	choose_all(c, RING_CHOICE_COUNT);
}

static int64_t do_due(struct collector *c)
{
	struct collector_budget *k = c->budget;
	int64_t now = clock_now_ns();
	bool wants;

	if (k->burst_tsc) {
		if (now < k->until)
			return k->until - now;
		end_burst(c);
		now = clock_now_ns();
	}
	note_switch(c);
	if (now >= k->window) {
		window(c);
		now = clock_now_ns();
	}
	wants = k->ncounted && !k->idle && budget_wants_burst(&k->b) && !k->off;
	if (wants && now >= k->next) {
		begin_burst(c, now);
		return k->until - now;
	}
	if (wants && k->next < k->window)
		return k->next - now;
	return k->window > now ? k->window - now : 0;
}

int64_t collector_budget_visit(struct collector *c)
{
	int64_t ns;

	if (!c->budget)
		return INT64_MAX;
	add_own(c->budget);
	ns = do_due(c);
	add_own(c->budget);
	return ns;
}

void collector_budget_tell(struct collector *c)
{
	if (c->budget)
		tell_bursts(c);
}

void collector_budget_finish(struct collector *c)
{
	struct collector_budget *k = c->budget;
	double events;

	if (!k)
		return;
	if (k->burst_tsc)
		end_burst(c);
	tell_bursts(c);
	events = (double)(k->events - k->seen);
	k->result.probes_ns += (uint64_t)(events / 2 * ns_of(k, k->pair));
	collector_check(c, tf_writer_budget(c->writer, &k->result));
}
