// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memcompile [SEEDS]
 *
 * Compiled descriptions, by the process that reads and by another, against interpreted ones: on what programs wrote, cut at
 * every byte, far in every fifth one, damaged, and made up.  Chunk by chunk the same accesses, the same status, the same counts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memcompile_pair.h"
#include "tests/unit/part.h"
#include "memtrace/compile.h"

/* Linux 6.3 */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#define PR_GET_MDWE 66
#endif

enum { VISITS = 2000, ROUNDS = 60, AGAIN = 3 };

static uint64_t seeds = PART_OF(30);

/* ---- streams ---- */

static uint32_t header_node(const struct mxt_description *d)
{
	uint32_t n;

	do
		n = mxd_roll(d->nnodes);
	while (!(d->nodes[n].flags & MD_NODE_HEADER));
	return n;
}

/*
 * As a program would write it, with signals and full buffers.  Says whether it came to an end: after END, a loop that
 * has none is run for long.
 */
static bool write_stream(struct mxt_program *p, uint32_t handler)
{
	uint32_t rounds = ROUNDS;
	bool next = true;

	for (uint32_t visits = 0; visits < VISITS && rounds; visits++) {
		if (next) {
			p->node = header_node(p->d);
			rounds--;
		}
		if (!mxd_roll(60))
			mxt_chunk(p, MD_CHUNK_MORE);
		if (!mxd_roll(60)) {
			mxt_run_to(p, mxd_roll(p->d->nodes[p->node].nops));
			mxt_signal(p, handler, true);
		}
		next = mxt_run_node(p);
	}
	return rounds == 0;
}

/* Nodes with headers, and any values. */
static void invent_stream(struct mxt_program *p)
{
	struct mxt_chunk *c = &p->chunks[p->nchunks - 1];
	size_t len = sizeof(struct md_chunk), room = 4096;
	uint8_t *data = realloc(c->data, room + 512);

	assert_non_null(data);
	c->data = data;
	while (len < room) {
		uint32_t n = header_node(p->d), id = MXT_FIRST + n;

		memcpy(data + len, &id, sizeof(id));
		for (uint32_t at = 4; at < p->d->nodes[n].bytes && at < 256; at += 4) {
			uint32_t v = (uint32_t)mxd_value(p);

			memcpy(data + len + at, &v, sizeof(v));
		}
		len += p->d->nodes[n].bytes < 256 ? p->d->nodes[n].bytes : 256;
	}
	c->len = len;
}

static void damage(struct mxt_chunk *chunks, size_t n)
{
	struct mxt_chunk *c = &chunks[mxd_roll((uint32_t)n)];

	for (uint32_t i = 1 + mxd_roll(4); i && c->len > sizeof(struct md_chunk); i--) {
		uint32_t words = (uint32_t)(c->len - sizeof(struct md_chunk)) / 4, v;

		v = mxd_roll(2) ? MXT_FIRST + mxd_roll(12) : (uint32_t)mxd_roll(0x7fffffff) << mxd_roll(2);
		if (words)
			memcpy(c->data + sizeof(struct md_chunk) + mxd_roll(words) * 4, &v, sizeof(v));
	}
}

/* ---- tests ---- */

static void describe(struct mxt_description *d, uint64_t seed, uint32_t *handler)
{
	mxd_seed(seed << 32, seed % 4);
	*handler = MXD_HANDLER;
	if (seed % 4 == 0) {
		mxd_seed(seed << 32, true);
		mxd_long(d);
	} else if (seed % 3) {
		mxd_anything(d);
	} else {
		mxd_loop(d);
		*handler = 3;
	}
}

static void test_programs(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		uint32_t handler;
		struct mcp_pair pair;
		size_t all;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		if (seed % 5 == 0)
			invent_stream(&p);
		else if (write_stream(&p, handler))
			mxt_chunk(&p, MD_CHUNK_END);
		mcp_compare_all(&pair, p.chunks, p.nchunks);
		all = p.nchunks;
		p.nchunks -= p.nchunks > 1;
		for (int i = 0; i < AGAIN; i++) {
			damage(p.chunks, p.nchunks);
			mcp_compare_all(&pair, p.chunks, p.nchunks);
		}
		mcp_free(&pair);
		p.nchunks = all;
		mxt_free(&p);
	}
	assert_true(mcp_seen.entered > seeds * 20 && mcp_seen.errors > seeds * 10 && mcp_seen.accesses > seeds * 1000);
	assert_true(mcp_seen.served > seeds * 10);
}

static void test_cuts(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (seeds + 49) / 50; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		uint32_t handler;
		struct mcp_pair pair;
		size_t most = 0;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		write_stream(&p, handler);
		for (size_t i = 0; i < p.nchunks; i++)
			most = p.chunks[i].len > p.chunks[most].len ? i : most;
		for (size_t len = 0; len <= p.chunks[most].len; len += len < 512 ? 1 : 5)
			mcp_compare_cut(&pair, &p, most, len);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* An IF whose flags are set elsewhere, in an object of its own. */
static void add_reader(struct mt_code *code, uint32_t first)
{
	static const struct md_op ops[] = {
		{ .code = MD_IF, .scale = 4 },
		{ .code = MD_NEXT },
	};
	static const struct md_node nodes[] = {
		{ .op = 0, .nops = 1, .bytes = 4, .flags = MD_NODE_HEADER },
		{ .op = 1, .nops = 1, .bytes = 4, .flags = MD_NODE_HEADER },
	};
	const struct md_object object = { .base = 1, .load = 1, .first = first, .nnodes = 2, .nops = 2 };

	assert_int_equal(mt_code_add(code, &object, nodes, ops), MT_OK);
}

/* Objects come later, with ids far away, and make flags matter that did not before. */
static void test_objects(void **state)
{
	static const uint32_t first[] = { MXT_FIRST + 50, 3000000, 1u << 31, UINT32_MAX - 1 };

	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		uint32_t handler;
		struct mcp_pair pair;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		write_stream(&p, handler);
		mcp_compare_all(&pair, p.chunks, p.nchunks);
		for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
			add_reader(pair.interpreted, first[i]);
			add_reader(pair.compiled, first[i]);
			add_reader(pair.reader, first[i]);
			add_reader(pair.served->code, first[i]);
			served_objects(pair.served);
			mcp_compare_all(&pair, p.chunks, p.nchunks);
		}
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* ---- by several threads ---- */

enum { SIDES = 4 };

struct side {
	struct mt_code *code;
	const struct mxt_program *p;
	pthread_barrier_t *begin;
	uint64_t sum;	/* of all that came out, in its order */
};

static uint64_t add(uint64_t sum, uint64_t v)
{
	return (sum ^ v) * UINT64_C(0x9e3779b97f4a7c15) + (sum >> 29);
}

static void take_all(struct side *s, struct mt_machine *m)
{
	static _Thread_local struct mt_access v[500];
	enum mt_status status;
	size_t n;

	do {
		n = mt_next(m, v, sizeof(v) / sizeof(v[0]), &status);
		for (size_t i = 0; i < n; i++)
			s->sum = add(add(s->sum, v[i].addr), v[i].insn ^ v[i].size);
	} while (n && status == MT_OK);
	s->sum = add(s->sum, status);
}

static void count_all(struct side *s, struct mt_machine *m)
{
	struct mt_counts counts = { 0 };

	s->sum = add(s->sum, mt_count(m, 1, &counts));
	for (int k = 0; k < 4; k++)
		s->sum = add(add(s->sum, counts.accesses[k]), counts.bytes[k]);
}

/* All chunks but the last, after which a loop may have no end. */
static void *one_side(void *arg)
{
	struct side *s = arg;

	pthread_barrier_wait(s->begin);
	for (int way = 0; way < 4; way++) {
		struct mt_machine *m = mt_machine_new(s->code);

		mt_machine_limit(m, MCP_LIMIT);
		for (size_t i = 0; i + 1 < s->p->nchunks; i++) {
			s->sum = add(s->sum, mt_feed(m, s->p->chunks[i].data, s->p->chunks[i].len));
			(way & 1 ? count_all : take_all)(s, m);
		}
		mt_machine_free(m);
	}
	return NULL;
}

static void run_sides(struct mt_code *code, const struct mxt_program *p, unsigned int n, struct side *sides)
{
	pthread_barrier_t begin;
	pthread_t threads[SIDES];

	pthread_barrier_init(&begin, NULL, n);
	for (unsigned int i = 0; i < n; i++) {
		sides[i] = (struct side){ .code = code, .p = p, .begin = &begin };
		assert_int_equal(pthread_create(&threads[i], NULL, one_side, &sides[i]), 0);
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&begin);
}

/* What one compiles others run: while they do, and the same comes out. */
static void test_threads(void **state)
{
	uint64_t entered = 0;

	(void)state;
	for (uint64_t seed = 0; seed < seeds / 4; seed++) {
		struct mxt_description d = { 0 };
		struct side one[SIDES], all[SIDES];
		struct mt_compiled stats = { 0 };
		struct mt_code *interpreted, *compiled;
		struct mxt_program p;
		uint32_t handler;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		write_stream(&p, handler);
		mxt_chunk(&p, MD_CHUNK_MORE);
		mxt_compiled = false;
		interpreted = mxt_code(&d);
		mxt_compiled = true;
		compiled = mxt_code(&d);
		run_sides(interpreted, &p, 1, one);
		run_sides(compiled, &p, SIDES, all);
		for (int i = 0; i < SIDES; i++)
			assert_int_equal(all[i].sum, one[0].sum);
		(void)mt_compile_stats(compiled, &stats);
		entered += stats.entered;
		mt_code_free(interpreted);
		mt_code_free(compiled);
		mxt_free(&p);
	}
	assert_true(entered > seeds * 5);
}

static bool compiles(void)
{
	struct mxt_description d = { 0 };
	struct mt_compiled stats;
	struct mt_code *code;
	bool yes;

	mxd_seed(1, true);
	mxd_anything(&d);
	mxt_compiled = true;
	code = mxt_code(&d);
	yes = mt_compile_stats(code, &stats);
	mt_code_free(code);
	return yes;
}

static void test_switched_off(void **state)
{
	(void)state;
	setenv("SONDE_MEM_COMPILE", "0", 1);
	assert_false(compiles());
	unsetenv("SONDE_MEM_COMPILE");
	assert_true(compiles());
}

/* Where nothing that was writable may be executed, the interpreter does all. */
static void test_refused(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (prctl(PR_GET_MDWE, 0, 0, 0, 0) < 0)
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0 ? 2 : compiles());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_refused),
	};
	int failed;

	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	failed = cmocka_run_group_tests(tests, NULL, NULL);

	printf("%llu streams, %llu accesses, %llu errors, %llu times in compiled code, %llu in another process's\n",
	       (unsigned long long)mcp_seen.streams, (unsigned long long)mcp_seen.accesses, (unsigned long long)mcp_seen.errors,
	       (unsigned long long)mcp_seen.entered, (unsigned long long)mcp_seen.served);
	return failed;
}
