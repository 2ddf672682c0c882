// SPDX-License-Identifier: GPL-3.0-or-later
/* Compiled descriptions at the edges of what their code checks: words, room for accesses, sums, trip counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memcompile_pair.h"
#include "memtrace/compile.h"

/* Nodes with as many words as a piece may have without a check of its own, and with more; chunks end anywhere in them. */
static void test_many_words(void **state)
{
	static const uint8_t values[] = { 14, 15, 16, 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(values); i++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

		mxt_node(&d, true);
		for (uint8_t k = 0; k < values[i]; k++) {
			mxt_op(&d, (struct md_op){ .code = MD_VALUE, .dst = k % 16 });
			mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .base = k % 16, .index = MD_NONE, .width = 8 });
		}
		mxt_op(&d, (struct md_op){ .code = MD_VALUE_U32 });
		mxt_op(&d, (struct md_op){ .code = MD_NEXT });
		mxt_start(&p, &d, i);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		for (int visits = 0; visits < 9; visits++) {
			p.node = 0;
			mxt_run_node(&p);
		}
		for (size_t len = p.chunks[0].len / 2; len <= p.chunks[0].len; len++)
			mcp_compare_cut(&pair, &p, 0, len);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* A loop without an end around one of few iterations, which burns as much fuel as if it were computed. */
static void test_endless(void **state)
{
	(void)state;
	for (int64_t turns = 1; turns < 2 * MCP_LIMIT; turns = turns * 5 / 4 + 1) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

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
		pair = mcp_codes(&d);
		p.node = 0;
		mxt_run_node(&p);
		mxt_chunk(&p, MD_CHUNK_END);
		mcp_compare_all(&pair, p.chunks, p.nchunks);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* A node with as many accesses as a piece may make without a check of its own, or more, and one after it that may be too many. */
static void describe_accesses(struct mxt_description *d, uint32_t n, uint32_t more)
{
	mxt_node(d, true);
	mxt_op(d, (struct md_op){ .code = MD_VALUE, .dst = 0 });
	while (n--)
		mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = 0, .index = MD_NONE, .width = 8, .imm = n });
	mxt_op(d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
	mxt_node(d, false);
	while (more--)
		mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = 0, .index = MD_NONE, .width = 4, .imm = more });
	mxt_op(d, (struct md_op){ .code = MD_NEXT });
}

/* Batches, after which memory ends, are full after each access of each. */
static void test_many_accesses(void **state)
{
	static const uint32_t accesses[] = { 1, 16, 31, 32, 33, 34, 63, 64, 100 };

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(accesses) / sizeof(accesses[0]); i++) {
		uint32_t n = accesses[i / 3], more = (uint32_t)(i % 3);
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

		describe_accesses(&d, n, more);
		mxt_start(&p, &d, i);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		for (int visits = 0; visits < 40; visits++) {
			p.node = 0;
			mxt_run_node(&p);
			mxt_run_node(&p);
		}
		mxt_chunk(&p, MD_CHUNK_END);
		for (size_t batch = 128; batch <= 128 + n + more; batch++)
			mcp_compare(&pair, pair.compiled, p.chunks, p.nchunks, batch, 0);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* Nodes that come up to, and are beyond, what fits into one packed sum, and pieces of several; some too large for a batch. */
static void test_large_nodes(void **state)
{
	static const uint32_t accesses[] = { 127, 128, 200, 255, 256, 400, 1023, 2047 };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(accesses) / sizeof(accesses[0]); i++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

		describe_accesses(&d, accesses[i / 2], i % 2 ? accesses[i / 2] : 3);
		mxt_start(&p, &d, i);
		p.value = mxd_value;
		pair = mcp_codes(&d);
		for (int visits = 0; visits < 200; visits++) {
			p.node = 0;
			mxt_run_node(&p);
			mxt_run_node(&p);
		}
		mxt_chunk(&p, MD_CHUNK_END);
		mcp_compare_all(&pair, p.chunks, p.nchunks);
		for (size_t batch = 1000; batch <= 1030; batch += 3)
			mcp_compare(&pair, pair.compiled, p.chunks, p.nchunks, batch, 0);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

/* A loop of large accesses that is counted by its trip count, of up to and beyond what is computed in one piece. */
static void test_heavy_loops(void **state)
{
	(void)state;
	for (int64_t turns = 1; turns < 100000; turns = turns * 7 / 4 + 1) {
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

		mxt_node(&d, true);
		mxt_op(&d, (struct md_op){ .code = MD_LEA, .base = MD_NONE, .index = MD_NONE, .width = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
		mxt_node(&d, false);
		for (int i = 0; i < 60; i++)
			mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .index = MD_NONE, .width = 64, .imm = i * 64 });
		mxt_op(&d, (struct md_op){ .code = MD_LEA, .index = MD_NONE, .width = 8, .imm = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_FLAGS, .index = MD_NONE, .width = 8, .imm = turns * 8 });
		mxt_op(&d, (struct md_op){ .code = MD_IF, .scale = 5, .imm = mxt_targets(1, 2) });
		mxt_node(&d, false);
		mxt_op(&d, (struct md_op){ .code = MD_NEXT });
		mxt_start(&p, &d, 0);
		pair = mcp_codes(&d);
		for (int visits = 0; visits < (turns < 1000 ? 30 : 2); visits++) {
			p.node = 0;
			while (!mxt_run_node(&p))
				;
		}
		mxt_chunk(&p, MD_CHUNK_END);
		mcp_compare(&pair, pair.compiled, p.chunks, p.nchunks, 0, 1);
		mcp_compare(&pair, pair.reader, p.chunks, p.nchunks, 0, 1);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

static uint64_t beyond_32_bits(struct mxt_program *p)
{
	return (1ull << 32) + mxt_random(p) % 50;
}

/* A 64-bit counter and a bound of which only 32 bits are compared: without its upper half it is far away. */
static void test_cut_bounds(void **state)
{
	static const uint8_t conditions[] = { 2, 6, 12, 14 };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(conditions); i++) {
		struct md_op cut = { .code = i % 2 ? MD_ZEXT : MD_LEA, .dst = 2, .base = 1, .index = MD_NONE, .width = 4 };
		struct mxt_description d = { 0 };
		struct mxt_program p;
		struct mcp_pair pair;

		mxt_node(&d, true);
		mxt_op(&d, (struct md_op){ .code = MD_VALUE, .dst = 0 });
		mxt_op(&d, (struct md_op){ .code = MD_VALUE, .dst = 1 });
		mxt_op(&d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
		mxt_node(&d, false);
		mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .base = 0, .index = MD_NONE, .width = 8 });
		mxt_op(&d, cut);
		mxt_op(&d, (struct md_op){ .code = MD_LEA, .base = 0, .index = MD_NONE, .width = 8, .imm = 1 });
		mxt_op(&d, (struct md_op){ .code = MD_FLAGS, .base = 0, .index = 2, .width = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_IF, .scale = conditions[i / 2], .imm = mxt_targets(1, 2) });
		mxt_node(&d, false);
		mxt_op(&d, (struct md_op){ .code = MD_ACCESS, .base = 0, .index = MD_NONE, .width = 8 });
		mxt_op(&d, (struct md_op){ .code = MD_NEXT });
		mxt_start(&p, &d, i);
		p.value = beyond_32_bits;
		pair = mcp_codes(&d);
		for (int rounds = 0; rounds < 60; rounds++) {
			p.node = 0;
			while (!mxt_run_node(&p))
				;
		}
		mxt_chunk(&p, MD_CHUNK_END);
		for (int again = 0; again < 3; again++)
			mcp_compare_all(&pair, p.chunks, p.nchunks);
		mcp_free(&pair);
		mxt_free(&p);
	}
}

static void most_bytes(struct mxt_description *d, struct md_op end)
{
	mxt_op(d, (struct md_op){ .code = MD_SIZE, .imm = 2047 });
	mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = MD_NONE, .index = MD_NONE });
	mxt_op(d, end);
}

/*
 * As much as a batch of pieces can count: with each word there is a piece of 16 nodes, then a loop of 16 iterations, and a
 * piece that goes on to 15 nodes from there; and all nodes have as many bytes as those that are compiled may have.
 */
static void test_most_bytes(void **state)
{
	enum { FIRST_LOOP = 16, LAST = 31, WORDS = 1 << 16, PER_WORD = 16 + 16 + 15 };
	struct md_chunk head = { .kind = MD_CHUNK_START, .head = sizeof(head) };
	struct mxt_chunk chunk = { .len = sizeof(head) + WORDS * sizeof(uint32_t) };
	struct mxt_description d = { 0 };
	struct mt_counts counts = { 0 };
	struct mcp_pair pair;
	struct mt_machine *m;

	(void)state;
	for (uint32_t n = 0; n <= LAST; n++) {
		mxt_node(&d, n == 0);
		if (n == 0)
			mxt_op(&d, (struct md_op){ .code = MD_LEA, .base = MD_NONE, .index = MD_NONE, .width = 8 });
		if (n == FIRST_LOOP) {
			mxt_op(&d, (struct md_op){ .code = MD_LEA, .index = MD_NONE, .width = 8, .imm = 1 });
			mxt_op(&d, (struct md_op){ .code = MD_FLAGS, .index = MD_NONE, .width = 8, .imm = 16 });
			most_bytes(&d, (struct md_op){ .code = MD_IF, .scale = 5, .imm = mxt_targets(n, n + 1) });
		} else {
			most_bytes(&d, (struct md_op){ .code = n == LAST ? MD_NEXT : MD_GOTO, .imm = n == LAST ? 0 : n + 1 });
		}
	}
	chunk.data = malloc(chunk.len);
	assert_non_null(chunk.data);
	memcpy(chunk.data, &head, sizeof(head));
	for (size_t i = 0; i < WORDS; i++)
		memcpy(chunk.data + sizeof(head) + i * 4, &(uint32_t){ MXT_FIRST }, 4);
	pair = mcp_codes(&d);
	mt_compile_hot(pair.compiled, 0);
	m = mt_machine_new(pair.compiled);
	assert_non_null(m);
	assert_int_equal(mt_feed(m, chunk.data, chunk.len), MT_OK);
	assert_int_equal(mt_count(m, 1, &counts), MT_OK);
	assert_int_equal(counts.bytes[MD_LOAD], (WORDS - 1) * 2047ull * PER_WORD);
	mt_machine_free(m);
	mcp_free(&pair);
	free(chunk.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_words),
		cmocka_unit_test(test_many_accesses),
		cmocka_unit_test(test_large_nodes),
		cmocka_unit_test(test_heavy_loops),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_cut_bounds),
		cmocka_unit_test(test_most_bytes),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	return failed + !mcp_seen.entered;
}
