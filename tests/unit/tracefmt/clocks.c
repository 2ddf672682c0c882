/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of several nodes on one time line: nodes are simulated, with clocks that run at rates and begin at times of their own. */
#include "tests/unit/tracefmt/support.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NODES 7
#define HOUR 3600.0
#define LATENCY 2e-6 /* s */
#define JITTER 5e-6  /* s, mean of an exponential distribution, each way */
#define NOISE 200	   /* ns that a clock is read late */
#define MOST 5000    /* ns: the error after correction */

struct node {
	double hz, skew;	/* of the time-stamp counter; of CLOCK_MONOTONIC against true time */
	uint64_t tsc, mono, real; /* at true time 0 */
	const char *boot;
};

static double uniform(void)
{
	return ((double)(random_bits() >> 11) + 0.5) / 9007199254740992.0;
}

static double delay(void)
{
	return LATENCY - JITTER * log(uniform());
}

static uint64_t ticks(const struct node *n, double at)
{
	return n->tsc + (uint64_t)(at * n->hz);
}

static struct node simulate(int i)
{
	static char boots[NODES][16];
	struct node n = { .hz = 2.1e9 + 1e8 * i, .skew = (i % 2 ? -50e-6 : 50e-6) * uniform(),
			  .tsc = BASE_TSC + (uint64_t)i * 123456789012, .mono = UINT64_C(1000000000000) * (uint64_t)(i + 1),
			  .real = UINT64_C(1700000000000000000) + (uint64_t)(uniform() * 5e9) };

	snprintf(boots[i], sizeof boots[i], "boot%d", i);
	n.boot = boots[i];
	return n;
}

/* --- what is in the metadata --------------------------------------------------------------- */

static FILE *begin(const char *dir, const struct node *n, int rank, double at)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof path, "%s/rank-%d", dir, rank);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof path, "%s/rank-%d/metadata", dir, rank);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "{\"type\":\"trace\",\"format\":3,\"version\":\"1\",\"id\":\"01\",\"program\":\"/bin/p\",\"args\":[],\"host\":\"h\","
		"\"boot\":\"%s\",\"rank\":%d,\"ranks\":%d,\"tsc\":%" PRIu64 ",\"mono\":%" PRIu64 ",\"real\":%" PRIu64 "}\n", n->boot, rank,
		NODES, ticks(n, at), n->mono + (uint64_t)(at * 1e9 * (1 + n->skew)), n->real + (uint64_t)(at * 1e9));
	return f;
}

static void clock_points(FILE *f, const struct node *n, double from, double to, double step)
{
	for (double at = from; at <= to; at += step)
		fprintf(f, "{\"type\":\"clock\",\"tsc\":%" PRIu64 ",\"mono\":%" PRIu64 ",\"real\":%" PRIu64 "}\n", ticks(n, at),
			n->mono + (uint64_t)(at * 1e9 * (1 + n->skew)) + random_below(NOISE), n->real + (uint64_t)(at * 1e9));
}

static void exchanges(FILE *f, const struct node *n, const struct node *other, int rank, int round, double at)
{
	for (int i = 0; i < 20; i++) {
		double arrived = at + delay(), answered = arrived + 1e-7, returned = answered + delay();

		fprintf(f, "{\"type\":\"exchange\",\"round\":%d,\"rank\":%d,\"sent\":%" PRIu64 ",\"arrived\":%" PRIu64 ",\"answered\":%" PRIu64
			",\"returned\":%" PRIu64 "}\n", round, rank, ticks(n, at), ticks(other, arrived), ticks(other, answered),
			ticks(n, returned));
		at = returned + 1e-6;
	}
}

static void finish(FILE *f, const struct node *n, double at)
{
	fprintf(f, "{\"type\":\"end\",\"tsc\":%" PRIu64 ",\"mono\":%" PRIu64 ",\"real\":%" PRIu64
		",\"ending\":\"exited\",\"exit\":0,\"lost\":0,\"lost_threads\":0,\"discarded\":0,\"complete\":true}\n", ticks(n, at),
		n->mono + (uint64_t)(at * 1e9 * (1 + n->skew)), n->real + (uint64_t)(at * 1e9));
	assert_int_equal(fclose(f), 0);
}

/* A job of @count nodes, one rank each; exchanges along the tree in the first @rounds of the two rounds. */
static void write_job(const char *dir, struct node *node, int count, int rounds, double length)
{
	assert_int_equal(mkdir(dir, 0777), 0);
	for (int i = 0; i < count; i++) {
		FILE *f;

		node[i] = simulate(i);
		f = begin(dir, &node[i], i, 0.01 * i);
		clock_points(f, &node[i], 0.2, length, length / 60);
		for (int k = 0; i && k < rounds; k++)
			exchanges(f, &node[i], &node[i & (i - 1)], i & (i - 1), k, k ? length - 0.5 : 0.5);
		finish(f, &node[i], length);
	}
}

/* The largest difference of the times of one instant, between @from and @to; none may be more than is said. */
static double largest(const struct sonde_trace *trace, const struct node *node, int count, double from, double to)
{
	double most = 0;

	for (int k = 0; k <= 1000; k++) {
		double at = from + (to - from) * k / 1000;
		int64_t first = (int64_t)sonde_trace_time(trace, 0, ticks(&node[0], at));

		for (int i = 1; i < count; i++) {
			uint64_t error = sonde_trace_clock_error(trace, (size_t)i, ticks(&node[i], at));
			double off = fabs((double)((int64_t)sonde_trace_time(trace, (size_t)i, ticks(&node[i], at)) - first));

			most = off > most ? off : most;
			assert_true(error != UINT64_MAX);
			assert_true(off <= (double)error + 2 * NOISE);
			assert_true(error <= sonde_trace_rank(trace, (size_t)i)->clock_error + 1);
		}
	}
	return most;
}

/* --- tests --------------------------------------------------------------------------------- */

static void an_hour(void **state)
{
	struct node node[NODES];
	struct sonde_trace *trace;
	double most;

	(void)state;
	write_job("hour", node, NODES, 2, HOUR);
	trace = open_trace("hour");
	assert_int_equal(sonde_trace_ranks(trace), NODES);
	for (size_t i = 0; i < NODES; i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(trace, i);

		assert_int_equal(k->bad_lines, 0);
		assert_int_equal(k->node, i);
		assert_int_equal(k->clock, i ? SONDE_TRACE_CLOCK_COMPARED : SONDE_TRACE_CLOCK_FIRST);
	}
	assert_int_equal(sonde_trace_rank(trace, 0)->clock_error, 0);
	most = largest(trace, node, NODES, 1, HOUR);
	print_message("%d nodes, an hour: at most %.0f ns wrong, said %" PRIu64 "\n", NODES, most,
		      sonde_trace_rank(trace, NODES - 1)->clock_error);
	assert_true(most <= MOST);
	sonde_trace_close(trace);
}

/* What is left out changes no time. */
static bool last_rank(const struct sonde_trace_rank *program, int pid, void *arg)
{
	(void)pid;
	return program->rank == *(int *)arg;
}

static void one_of_them(void **state)
{
	struct sonde_trace *all = open_trace("hour"), *trace;
	int rank = NODES - 1;
	uint64_t at = BASE_TSC + UINT64_C(123456789012) * (NODES - 1) + 99999999999;

	(void)state;
	assert_int_equal(sonde_trace_open_some(all, last_rank, &rank, &trace, NULL), SONDE_TRACE_OK);
	assert_int_equal(sonde_trace_ranks(trace), 1);
	assert_int_equal(sonde_trace_time(trace, 0, at), sonde_trace_time(all, NODES - 1, at));
	assert_int_equal(sonde_trace_rank(trace, 0)->start, sonde_trace_rank(all, NODES - 1)->start);
	assert_int_equal(sonde_trace_rank(trace, 0)->clock, SONDE_TRACE_CLOCK_COMPARED);
	assert_int_equal(sonde_trace_rank(trace, 0)->clock_error, sonde_trace_rank(all, NODES - 1)->clock_error);
	sonde_trace_close(trace);
	sonde_trace_close(all);
}

/* Only at the start: the rates are those of the nodes' own clocks, and the error grows. */
static void once(void **state)
{
	struct node node[3];
	struct sonde_trace *trace;
	uint64_t early, late;

	(void)state;
	write_job("once", node, 3, 1, 10);
	trace = open_trace("once");
	for (size_t i = 1; i < 3; i++)
		assert_int_equal(sonde_trace_rank(trace, i)->clock, SONDE_TRACE_CLOCK_COMPARED_ONCE);
	assert_true(largest(trace, node, 3, 0.5, 0.51) <= MOST);
	early = sonde_trace_clock_error(trace, 1, ticks(&node[1], 0.5));
	late = sonde_trace_clock_error(trace, 1, ticks(&node[1], 9.5));
	assert_true(late >= early + 850000 && late <= early + 950000);
	sonde_trace_close(trace);
}

static void never(void **state)
{
	struct node node[2];
	struct sonde_trace *trace;
	const struct sonde_trace_rank *k;

	(void)state;
	write_job("never", node, 2, 0, 10);
	trace = open_trace("never");
	k = sonde_trace_rank(trace, 1);
	assert_int_equal(k->clock, SONDE_TRACE_CLOCK_SET);
	assert_true(k->clock_error == UINT64_MAX);
	assert_int_equal((int64_t)k->start - (int64_t)sonde_trace_rank(trace, 0)->start,
			 (int64_t)(k->start_real_ns - sonde_trace_rank(trace, 0)->start_real_ns));
	sonde_trace_close(trace);
}

/* Ranks of one node have one clock, whatever the noise in what each has read of it. */
static void one_node(void **state)
{
	struct node n = simulate(0);
	struct sonde_trace *trace;

	(void)state;
	assert_int_equal(mkdir("node", 0777), 0);
	for (int i = 0; i < 4; i++) {
		FILE *f = begin("node", &n, i, 0.01 * i);

		clock_points(f, &n, 0.2 + 0.001 * i, 2, 0.11);
		finish(f, &n, 2);
	}
	trace = open_trace("node");
	for (double at = 0; at < 2.5; at += 0.01)
		for (size_t i = 1; i < 4; i++)
			assert_int_equal(sonde_trace_time(trace, i, ticks(&n, at)), sonde_trace_time(trace, 0, ticks(&n, at)));
	assert_true(fabs((double)sonde_trace_time(trace, 3, ticks(&n, 1)) - 1e9) < 1e5);
	assert_int_equal(sonde_trace_rank(trace, 3)->clock, SONDE_TRACE_CLOCK_FIRST);
	sonde_trace_close(trace);
}

/* Exchanges that cannot have been: of a process with itself, backward, with huge numbers, that contradict each other. */
static void nonsense(void **state)
{
	static const char *const lines[] = {
		"\"round\":0,\"rank\":0,\"sent\":5,\"arrived\":1,\"answered\":2,\"returned\":4",
		"\"round\":0,\"rank\":0,\"sent\":\"9223372036854775808\",\"arrived\":1,\"answered\":2,\"returned\":\"9223372036854775809\"",
		"\"round\":0,\"rank\":-4,\"sent\":1,\"arrived\":1,\"answered\":2,\"returned\":4",
		"\"round\":0,\"rank\":0",
		"\"round\":1,\"rank\":1,\"sent\":1,\"arrived\":1,\"answered\":2,\"returned\":4",
		"\"round\":2,\"rank\":77,\"sent\":1,\"arrived\":1,\"answered\":2,\"returned\":4",
		"\"round\":3,\"rank\":0,\"sent\":0,\"arrived\":4611686018427387903,\"answered\":4611686018427387903,\"returned\":0",
		"\"round\":3,\"rank\":0,\"sent\":4611686018427387903,\"arrived\":0,\"answered\":0,\"returned\":4611686018427387903",
		"\"round\":4,\"rank\":0,\"sent\":0,\"arrived\":0,\"answered\":4611686018427387903,\"returned\":4611686018427387903",
		"\"round\":5,\"rank\":0,\"sent\":4611686018427387902,\"arrived\":1,\"answered\":1,\"returned\":4611686018427387902",
	};
	struct node node[2] = { simulate(0), simulate(1) };
	struct sonde_trace *trace;
	char dir[20];

	(void)state;
	for (size_t first = 0; first < sizeof lines / sizeof lines[0]; first++) {
		snprintf(dir, sizeof dir, "nonsense%zu", first);
		assert_int_equal(mkdir(dir, 0777), 0);
		for (int i = 0; i < 2; i++) {
			FILE *f = begin(dir, &node[i], i, 0);

			clock_points(f, &node[i], 0.2, 2, 0.1);
			for (size_t k = first; i && k < sizeof lines / sizeof lines[0]; k++)
				fprintf(f, "{\"type\":\"exchange\",%s}\n", lines[k]);
			finish(f, &node[i], 2);
		}
		trace = open_trace(dir);
		assert_int_equal(sonde_trace_rank(trace, 1)->bad_lines, first < 4 ? 4 - first : 0);
		for (double at = 0; at < 3; at += 0.5)
			assert_true(sonde_trace_time(trace, 1, ticks(&node[1], at)) <= INT64_MAX);
		sonde_trace_close(trace);
	}
}

/* The events of which a writer makes such lines. */
static void written(void **state)
{
	static const struct tf_field fields[] = {
		{ "round", SONDE_TRACE_I32 },	{ "rank", SONDE_TRACE_I32 },	 { "sent", SONDE_TRACE_U64 },
		{ "arrived", SONDE_TRACE_U64 }, { "answered", SONDE_TRACE_U64 }, { "returned", SONDE_TRACE_U64 },
	};
	struct tf_event event = { .id = 500, .kind = SONDE_TRACE_POINT, .function = 3, .name = "exchange", .fields = fields, .nfields = 6 };
	struct tf_writer *w = new_trace("written", 0);
	struct image im;
	struct tf_thread *t;
	char line[1000];
	int n = 0;
	FILE *f;

	(void)state;
	describe_functions(w);
	assert_int_equal(tf_writer_event(w, &event), SONDE_TRACE_OK);
	event.id++;
	event.name = "another";
	assert_int_equal(tf_writer_event(w, &event), SONDE_TRACE_OK);
	t = new_thread(w, 5, 5);
	image_init(&im, 4096);
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t record[7] = { (BASE_TSC + 10 * i) << RING_ID_BITS | (500 + i % 2), 1, UINT64_MAX - 1, 10 + i, 20, 21, 30 };

		assert_true(image_put(&im, record, 7));
	}
	drain_image(t, &im, true, BASE_TSC + 1000);
	image_free(&im);
	end_thread(t);
	end_trace(w);
	f = fopen("written/metadata", "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		n += strstr(line, "\"type\":\"exchange\",\"round\":1,\"rank\":-2,\"sent\":10,\"arrived\":20,\"answered\":21,\"returned\":30}") ||
		     strstr(line, "\"type\":\"exchange\",\"round\":1,\"rank\":-2,\"sent\":12,");
	fclose(f);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour), cmocka_unit_test(one_of_them), cmocka_unit_test(once), cmocka_unit_test(never),
		cmocka_unit_test(one_node), cmocka_unit_test(nonsense), cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
