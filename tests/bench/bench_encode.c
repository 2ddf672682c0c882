/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: bench_encode [SECONDS]
 *
 * How fast records are taken from a ring and become a file, and how large they are there.  Each
 * load is prepared in memory once and drained again and again into a trace in $TMPDIR (or
 * /tmp), which is removed. The times in the records are made up; "real" takes them from this
 * machine's TSC around a real function.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tracefmt/write/writer.h"

#define SUB_BYTES (1u << 20)
#define SUBS 32u
#define ENTER(f) (16u + 2 * (f))
#define LEAVE(f) (17u + 2 * (f))
#define FUNCTIONS 400u
#define PROBES 50000u /* announced in one go */
#define PROBE(i) (2000u + 2 * (i))

static uint64_t seed = 88172645463325252;

static uint64_t random_bits(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double normal(void)
{
	double u = ((random_bits() >> 11) + 1) * 0x1p-53, v = (random_bits() >> 11) * 0x1p-53;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* The sub-buffers of one thread, filled one after the other. */
struct load {
	uint64_t *word; /* SUBS * SUB_BYTES */
	uint32_t used[SUBS];
	uint32_t sub, at; /* where to write, in words */
	uint64_t now;
	uint64_t events, pairs;
	uint32_t functions; /* that nested() chooses from */
	bool probes;	    /* their records */
};

static bool put(struct load *l, const uint64_t *record, uint32_t words)
{
	if (l->at + words > SUB_BYTES / 8) {
		l->used[l->sub] = l->at * 8;
		l->at = 0;
		if (++l->sub == SUBS)
			return false;
	}
	memcpy(l->word + (size_t)l->sub * (SUB_BYTES / 8) + l->at, record, 8 * words);
	l->at += words;
	l->events++;
	return true;
}

static bool enter(struct load *l, uint32_t f, uint64_t addr)
{
	uint64_t id = l->probes ? PROBE(f) : ENTER(f);
	uint64_t record[2] = { l->now << RING_ID_BITS | id, addr };

	return put(l, record, 2);
}

static bool leave(struct load *l, uint32_t f, uint64_t addr)
{
	uint64_t id = l->probes ? PROBE(f) + 1 : LEAVE(f);
	uint64_t record[2] = { l->now << RING_ID_BITS | id, addr };

	l->pairs++;
	return put(l, record, l->probes ? 2 : 1);
}

static void wait_about(struct load *l, double mean, double sigma)
{
	double ticks = mean + sigma * normal();

	if (random_bits() % 700 == 0) /* a cache miss, a page fault, an interrupt */
		ticks += (double)(random_bits() % 3000);
	l->now += ticks < 1 ? 1 : (uint64_t)ticks;
}

/* A loop that calls one function; jitter as on a machine whose TSC counts every tick. */
static void tight_loop(struct load *l)
{
	do {
		wait_about(l, 70, 6);
		if (!enter(l, 0, 0x7fff0000))
			return;
		wait_about(l, 55, 5);
	} while (leave(l, 0, 0x7fff0000));
}

static __attribute__((noinline)) int work(int n)
{
	int x = n;

	for (int i = 0; i < 30; i++)
		x = x * 7 + i;
	return x;
}

static void real_loop(struct load *l)
{
	volatile int sink = 0;

	do {
		l->now = __rdtsc();
		if (!enter(l, 0, 0x7fff0000))
			return;
		sink = work(sink);
		l->now = __rdtsc();
	} while (leave(l, 0, 0x7fff0000));
}

/*
 * A program of many functions: each calls a few others, chosen by itself, a little different
 * each time; times are log-normal around a figure of the function's own.
 */
static bool call(struct load *l, uint32_t f, unsigned depth)
{
	uint64_t own = f * 2654435761u % 7;
	double body = 40 + 30.0 * (double)own * (double)own;
	uint64_t addr = 0x7fff0000 - 96 * (uint64_t)depth;

	wait_about(l, 30, 4);
	if (!enter(l, f, addr))
		return false;
	for (unsigned i = 0; i < f % 4 && depth < 12; i++) {
		uint32_t callee = (f * 31 + i * 7 + 1) % l->functions;

		if (random_bits() % 8 == 0)
			callee = (uint32_t)(random_bits() % l->functions);
		if (!call(l, callee, depth + 1))
			return false;
	}
	wait_about(l, body * exp(0.3 * normal()), 2);
	return leave(l, f, addr);
}

static void nested(struct load *l)
{
	while (call(l, (uint32_t)(random_bits() % l->functions), 0))
		;
}

static void payload(struct load *l)
{
	uint64_t i = 0;

	for (;; i++) {
		uint64_t a[5], b[2];

		wait_about(l, 300, 20);
		a[0] = l->now << RING_ID_BITS | ENTER(FUNCTIONS);
		a[1] = 0x7fff0000;
		a[2] = 3 + random_bits() % 2;		    /* a file descriptor */
		a[3] = 0x55d000000000 + 4096 * (i % 64);    /* a buffer */
		a[4] = 512 << random_bits() % 4;	    /* a size */
		if (!put(l, a, 5))
			return;
		wait_about(l, 900, 90);
		b[0] = l->now << RING_ID_BITS | LEAVE(FUNCTIONS);
		b[1] = random_bits() % 50 ? a[4] : 17;
		l->pairs++;
		if (!put(l, b, 2))
			return;
	}
}

static const struct {
	const char *name;
	void (*fill)(struct load *);
	uint32_t functions;
	bool probes;
} loads[] = {
	{ "tight loop, every tick", tight_loop, FUNCTIONS, false },
	{ "tight loop, real TSC", real_loop, FUNCTIONS, false },
	{ "400 functions, nested", nested, FUNCTIONS, false },
	{ "four fields a pair", payload, FUNCTIONS, false },
	{ "probes, tight loop", tight_loop, FUNCTIONS, true },
	{ "probes, 400 functions", nested, FUNCTIONS, true },
	{ "probes, 20000 functions", nested, 20000, true },
};

static void describe(struct tf_writer *w)
{
	static const struct tf_field in[] = { { "fd", SONDE_TRACE_I32 },
					      { "buffer", SONDE_TRACE_PTR },
					      { "size", SONDE_TRACE_BYTES } };
	static const struct tf_field out[] = { { "done", SONDE_TRACE_I64 } };

	for (uint32_t f = 0; f <= FUNCTIONS; f++) {
		struct tf_function function = { .id = f };
		struct tf_event event = { .function = f };
		char name[32];

		snprintf(name, sizeof name, "function%u", f);
		function.name = name;
		event.id = ENTER(f);
		event.kind = SONDE_TRACE_ENTER;
		event.fields = in;
		event.nfields = f == FUNCTIONS ? 3 : 0;
		if (tf_writer_function(w, &function) || tf_writer_event(w, &event))
			abort();
		event.id = LEAVE(f);
		event.kind = SONDE_TRACE_LEAVE;
		event.fields = out;
		event.nfields = f == FUNCTIONS ? 1 : 0;
		if (tf_writer_event(w, &event))
			abort();
	}
}

static double seconds(clockid_t which);

/* In ms, how long it takes. */
static double announce(struct tf_writer *w)
{
	struct tf_probe *probe = calloc(PROBES, sizeof *probe);
	char(*name)[32] = calloc(PROBES, sizeof *name);
	double before;

	for (uint32_t i = 0; i < PROBES; i++) {
		snprintf(name[i], sizeof name[i], "some_function_called_%u", i);
		probe[i] = (struct tf_probe){ .function = { .id = 1000 + i, .name = name[i],
							    .path = "/usr/lib/libmany.so.1",
							    .address = 0x10000 + 64 * i },
					      .event = PROBE(i), .count = i };
	}
	before = seconds(CLOCK_THREAD_CPUTIME_ID);
	if (tf_writer_probes(w, probe, PROBES, NULL))
		abort();
	before = seconds(CLOCK_THREAD_CPUTIME_ID) - before;
	free(probe);
	free(name);
	return 1e3 * before;
}

static double seconds(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same records once more, later. */
static void shift(struct load *l, uint64_t ticks)
{
	for (uint32_t i = 0; i < SUBS; i++)
		for (uint32_t at = 0; at < l->used[i] / 8;) {
			uint64_t *word = l->word + (size_t)i * (SUB_BYTES / 8) + at;
			uint64_t id = *word & RING_ID_MASK;
			bool rich = id >= ENTER(FUNCTIONS);

			*word += ticks << RING_ID_BITS;
			at += id >= PROBE(0) ? 2 : id % 2 == 0 ? (rich ? 5 : 2) : (rich ? 2 : 1);
		}
}

static double drain_all(struct tf_thread *t, struct load *l)
{
	double before = seconds(CLOCK_THREAD_CPUTIME_ID);

	for (uint32_t i = 0; i < SUBS; i++) {
		struct tf_sub sub = { .base = l->word + (size_t)i * (SUB_BYTES / 8),
				      .bytes = SUB_BYTES, .used = l->used[i], .final = true,
				      .now_tsc = l->now };
		uint32_t pos = 0;

		if (tf_thread_drain(t, &sub, &pos))
			abort();
	}
	return seconds(CLOCK_THREAD_CPUTIME_ID) - before;
}

static void measure(unsigned which, const char *dir, double budget)
{
	struct load *l = calloc(1, sizeof *l);
	char *args[] = { NULL }, command[256];
	struct tf_start start = { .program = "bench", .args = args, .rank = -1 };
	struct tf_end end = { .complete = true };
	struct tf_thread_end thread_end = { 0 };
	struct tf_thread_stats stats;
	struct tf_writer *w;
	struct tf_thread *t;
	double spent = 0, announced;
	uint64_t rounds = 0, begun;

	l->word = calloc(SUBS, SUB_BYTES);
	begun = l->now = __rdtsc();
	l->functions = loads[which].functions;
	l->probes = loads[which].probes;
	loads[which].fill(l);
	if (tf_writer_create(&w, dir, &start))
		abort();
	describe(w);
	announced = loads[which].probes ? announce(w) : 0;
	if (tf_thread_create(w, &t, 1, 1, "bench", 0))
		abort();
	while (spent < budget) {
		uint64_t ticks = l->now - begun + 1000;

		spent += drain_all(t, l);
		rounds++;
		shift(l, ticks);
		begun += ticks;
		l->now += ticks;
	}
	tf_thread_stats(t, &stats);
	printf("%-24s %8.1f M events/s %8.3f bytes/event %8.3f bytes/pair", loads[which].name,
	       (double)l->events * (double)rounds / spent / 1e6,
	       (double)stats.file_bytes / (double)stats.events,
	       (double)stats.file_bytes / (double)(l->pairs * rounds));
	if (announced)
		printf(", announced in %.1f ms", announced);
	putchar('\n');
	if (stats.events < l->events * rounds || stats.damaged || stats.orphans)
		abort();
	if (tf_thread_close(t, &thread_end) || tf_writer_close(w, &end))
		abort();
	snprintf(command, sizeof command, "rm -r '%s'", dir);
	if (system(command))
		abort();
	free(l->word);
	free(l);
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	char dir[128];

	snprintf(dir, sizeof dir, "%.100s/bench_encode.%d", tmp ? tmp : "/tmp", (int)getpid());
	for (unsigned i = 0; i < sizeof loads / sizeof loads[0]; i++)
		measure(i, dir, argc > 1 ? atof(argv[1]) : 2);
	return 0;
}
