// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memcompile [SEEDS]
 *
 * Compiled descriptions, by the process that reads and by another, against interpreted ones: on what programs wrote, cut at
 * every byte, damaged, and made up.  Chunk by chunk the same accesses, the same status, the same counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memcompile_served.h"
#include "tests/unit/memtrace/memexpand_dice.h"
#include "memtrace/compile.h"

/* Linux 6.3 */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#define PR_GET_MDWE 66
#endif

enum { LIMIT = 300, MOST = 20000, VISITS = 2000, ROUNDS = 60, AGAIN = 3 };

static uint64_t seeds = 120;
static struct {
	uint64_t streams, accesses, errors, entered, served;
} seen;

/* What came of a chunk. */
struct step {
	size_t n;		/* accesses until then */
	enum mt_status status;
	struct mt_counts counts;
};

struct outcome {
	struct mt_access *v;
	struct step *steps;
	size_t n, nsteps;
	bool full;
};

/* ---- running ---- */

static struct mt_machine *machine(struct mt_code *code)
{
	struct mt_machine *m = mt_machine_new(code);

	assert_non_null(m);
	mt_machine_limit(m, LIMIT);
	return m;
}

static void expand(struct mt_machine *m, struct outcome *o, enum mt_status *status, size_t batch)
{
	size_t n;

	do {
		n = mt_next(m, o->v + o->n, batch, status);
		o->n += n;
		o->full = o->n + batch > MOST;
	} while (n && !o->full && *status == MT_OK);
}

/* Each chunk in memory of its own size, which is gone when it has been taken. */
static enum mt_status feed(struct mt_machine *m, const struct mxt_chunk *c, uint8_t **copy)
{
	*copy = malloc(c->len + !c->len);
	assert_non_null(*copy);
	if (c->len)
		memcpy(*copy, c->data, c->len);
	return mt_feed(m, *copy, c->len);
}

/* @batch 0: counts. */
static struct outcome run(struct mt_code *code, const struct mxt_chunk *chunks, size_t n, size_t batch, int stack)
{
	struct mt_machine *m = machine(code);
	struct outcome o = { .v = calloc(MOST, sizeof(*o.v)), .steps = calloc(n + 1, sizeof(*o.steps)) };

	assert_non_null(o.v);
	assert_non_null(o.steps);
	for (size_t i = 0; i < n && !o.full; i++) {
		struct step *s = &o.steps[o.nsteps];
		uint8_t *copy;

		*s = i ? s[-1] : *s;
		s->status = feed(m, &chunks[i], &copy);
		if (s->status == MT_OK && batch)
			expand(m, &o, &s->status, batch);
		else if (s->status == MT_OK)
			s->status = mt_count(m, stack, &s->counts);
		s->n = o.n;
		o.nsteps += !o.full;
		free(copy);
	}
	mt_machine_free(m);
	return o;
}

static void drop(struct outcome *o)
{
	free(o->v);
	free(o->steps);
}

/* ---- comparing ---- */

static void same_counts(const struct mt_counts *a, const struct mt_counts *b, size_t chunk)
{
	for (int k = 0; k < 4; k++)
		if (a->accesses[k] != b->accesses[k] || a->bytes[k] != b->bytes[k])
			fail_msg("chunk %zu, kind %d: %llu accesses, %llu bytes; compiled %llu, %llu", chunk, k,
				 (unsigned long long)a->accesses[k], (unsigned long long)a->bytes[k],
				 (unsigned long long)b->accesses[k], (unsigned long long)b->bytes[k]);
}

static void same_steps(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->nsteps, b->nsteps);
	for (size_t i = 0; i < a->nsteps; i++) {
		const struct step *s = &a->steps[i], *t = &b->steps[i];

		if (s->n != t->n || s->status != t->status)
			fail_msg("chunk %zu: %zu accesses and status %d, compiled %zu and %d", i, s->n, s->status, t->n,
				 t->status);
		same_counts(&s->counts, &t->counts, i);
		seen.errors += s->status != MT_OK;
	}
}

static void same(const struct outcome *a, const struct outcome *b)
{
	size_t n = a->n < b->n ? a->n : b->n;

	for (size_t i = 0; i < n; i++) {
		if (memcmp(&a->v[i], &b->v[i], sizeof(*a->v)) != 0)
			fail_msg("access %zu: %#llx by %#llx, compiled %#llx by %#llx", i,
				 (unsigned long long)a->v[i].addr, (unsigned long long)a->v[i].insn,
				 (unsigned long long)b->v[i].addr, (unsigned long long)b->v[i].insn);
	}
	if (!a->full && !b->full)
		same_steps(a, b);
	seen.accesses += a->n;
}

struct pair {
	struct mt_code *interpreted, *compiled, *reader;
	struct served *served;	/* the reader's code */
};

static struct pair codes(const struct mxt_description *d)
{
	struct pair p;

	mxt_compiled = false;
	p.interpreted = mxt_code(d);
	p.reader = mxt_code(d);
	p.served = served_begin(p.reader, mxt_code(d), mxd_roll(2));
	mxt_compiled = true;
	p.compiled = mxt_code(d);
	mt_compile_hot(p.compiled, mxd_roll(3));
	return p;
}

static void free_codes(struct pair *p)
{
	struct mt_compiled stats;

	assert_true(mt_compile_stats(p->compiled, &stats));
	seen.entered += stats.entered;
	seen.served += p->served->runner.entered;
	mt_code_free(p->interpreted);
	mt_code_free(p->compiled);
	mt_code_free(p->reader);
	served_end(p->served);
}

static void compare(const struct pair *p, struct mt_code *with, const struct mxt_chunk *chunks, size_t n, size_t batch,
		    int stack)
{
	struct outcome a = run(p->interpreted, chunks, n, batch, stack), b = run(with, chunks, n, batch, stack);

	same(&a, &b);
	drop(&a);
	drop(&b);
	seen.streams++;
}

static void compare_all(const struct pair *p, const struct mxt_chunk *chunks, size_t n)
{
	static const size_t batches[] = { 128, 131, 200, 1000, 4096 };

	size_t batch = batches[mxd_roll(sizeof(batches) / sizeof(batches[0]))];

	compare(p, p->compiled, chunks, n, batch, 0);
	compare(p, p->compiled, chunks, n, 0, (int)mxd_roll(2));
	compare(p, p->reader, chunks, n, p->served->counts ? 0 : batch, 1);
}

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
 * As a program would write it, with signals and full buffers.  Says whether it came to an end: behind END, a loop that
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

/* The chunk that has most is cut to @len, and the rest comes in another. */
static void cut(const struct pair *p, const struct mxt_program *of, size_t which, size_t len)
{
	const struct md_chunk head = { .kind = MD_CHUNK_MORE, .head = sizeof(head) };
	struct mxt_chunk *chunks = calloc(of->nchunks + 1, sizeof(*chunks));
	size_t rest = of->chunks[which].len - len;
	uint8_t *more = malloc(sizeof(head) + rest);

	assert_non_null(chunks);
	assert_non_null(more);
	memcpy(chunks, of->chunks, (which + 1) * sizeof(*chunks));
	memcpy(chunks + which + 2, of->chunks + which + 1, (of->nchunks - which - 1) * sizeof(*chunks));
	memcpy(more, &head, sizeof(head));
	memcpy(more + sizeof(head), of->chunks[which].data + len, rest);
	chunks[which].len = len;
	chunks[which + 1] = (struct mxt_chunk){ .data = more, .len = sizeof(head) + rest };
	compare_all(p, chunks, of->nchunks + 1);
	compare_all(p, chunks, which + 1);	/* truncated */
	free(more);
	free(chunks);
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
		struct pair pair;
		size_t all;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = codes(&d);
		if (seed % 5 == 0)
			invent_stream(&p);
		else if (write_stream(&p, handler))
			mxt_chunk(&p, MD_CHUNK_END);
		compare_all(&pair, p.chunks, p.nchunks);
		all = p.nchunks;
		p.nchunks -= p.nchunks > 1;
		for (int i = 0; i < AGAIN; i++) {
			damage(p.chunks, p.nchunks);
			compare_all(&pair, p.chunks, p.nchunks);
		}
		free_codes(&pair);
		p.nchunks = all;
		mxt_free(&p);
	}
	assert_true(seen.entered > seeds * 20 && seen.errors > seeds * 10 && seen.accesses > seeds * 1000);
	assert_true(seen.served > seeds * 10);
}

static void test_cuts(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < (seeds + 49) / 50; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		uint32_t handler;
		struct pair pair;
		size_t most = 0;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = codes(&d);
		write_stream(&p, handler);
		for (size_t i = 0; i < p.nchunks; i++)
			most = p.chunks[i].len > p.chunks[most].len ? i : most;
		for (size_t len = 0; len <= p.chunks[most].len; len++)
			cut(&pair, &p, most, len);
		free_codes(&pair);
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
		struct pair pair;

		describe(&d, seed, &handler);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		pair = codes(&d);
		write_stream(&p, handler);
		compare_all(&pair, p.chunks, p.nchunks);
		for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
			add_reader(pair.interpreted, first[i]);
			add_reader(pair.compiled, first[i]);
			add_reader(pair.reader, first[i]);
			add_reader(pair.served->code, first[i]);
			served_objects(pair.served);
			compare_all(&pair, p.chunks, p.nchunks);
		}
		free_codes(&pair);
		mxt_free(&p);
	}
}

/* Nodes with as many words as a piece may have without a check of its own, and with more; chunks end anywhere in them. */
static void test_many_words(void **state)
{
	static const uint8_t values[] = { 14, 15, 16, 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(values); i++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct pair pair;

		mxt_node(&d, true);
		for (uint8_t k = 0; k < values[i]; k++) {
			mxt_op(&d, (struct md_op){ .code = MD_VALUE, .dst = k % 16 });
			mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .base = k % 16, .index = MD_NONE, .width = 8 });
		}
		mxt_op(&d, (struct md_op){ .code = MD_VALUE_U32 });
		mxt_op(&d, (struct md_op){ .code = MD_NEXT });
		mxt_start(&p, &d, i);
		p.value = mxd_value;
		pair = codes(&d);
		for (int visits = 0; visits < 9; visits++) {
			p.node = 0;
			mxt_run_node(&p);
		}
		for (size_t len = p.chunks[0].len / 2; len <= p.chunks[0].len; len++)
			cut(&pair, &p, 0, len);
		free_codes(&pair);
		mxt_free(&p);
	}
}

/* A loop without an end around one of few turns, which burns as much fuel as if it were computed. */
static void test_endless(void **state)
{
	(void)state;
	for (int64_t turns = 1; turns < 2 * LIMIT; turns = turns * 5 / 4 + 1) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct pair pair;

		mxt_node(&d, true);
		mxt_op(&d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
		mxt_node(&d, false);
		mxt_op(&d, (struct md_op){ .code = MD_LEA, .base = MD_NONE, .index = MD_NONE, .width = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_GOTO, .imm = 2 });
		mxt_node(&d, false);
		mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .index = MD_NONE, .width = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_LEA, .index = MD_NONE, .width = 8, .imm = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_FLAGS, .index = MD_NONE, .width = 8, .imm = turns * 8 });
		mxt_op(&d, (struct md_op){ .code = MD_IF, .scale = 5, .imm = mxt_targets(2, 1) });
		mxt_start(&p, &d, 0);
		pair = codes(&d);
		p.node = 0;
		mxt_run_node(&p);
		mxt_chunk(&p, MD_CHUNK_END);
		compare_all(&pair, p.chunks, p.nchunks);
		free_codes(&pair);
		mxt_free(&p);
	}
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
		cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_refused),
	};
	int failed;

	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	failed = cmocka_run_group_tests(tests, NULL, NULL);

	printf("%llu streams, %llu accesses, %llu errors, %llu times in compiled code, %llu in another process's\n",
	       (unsigned long long)seen.streams, (unsigned long long)seen.accesses, (unsigned long long)seen.errors,
	       (unsigned long long)seen.entered, (unsigned long long)seen.served);
	return failed;
}
