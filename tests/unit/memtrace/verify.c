// SPDX-License-Identifier: GPL-3.0-or-later
/* The rules of memtrace/machine/verify.h, each at its edge: what just keeps it passes, what just breaks it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memtrace/heap.h"
#include "memtrace/machine/enter.h"
#include "memtrace/machine/verify.h"
#include "tests/unit/memtrace/memexpand_support.h"

#define N MD_NONE
#define OP(d, ...) mxt_op(d, (struct md_op){ __VA_ARGS__ })

/* Node 0 has a header and goes to 1, which comes back if a condition is true, and else looks for a header. */
static struct mxt_description good(void)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);
	OP(&d, .code = MD_VALUE, .dst = 0);
	OP(&d, .code = MD_LEA, .dst = 1, .base = 0, .index = N, .width = 8);
	OP(&d, .code = MD_GOTO, .imm = 1);
	mxt_node(&d, false);
	OP(&d, .code = MD_ACCESS, .dst = MD_LOAD, .base = 0, .index = 1, .scale = 3, .width = 8);
	OP(&d, .code = MD_FLAGS, .dst = MD_FLAGS_SUB, .base = 0, .index = 1, .width = 8);
	OP(&d, .code = MD_IF, .scale = 5, .imm = mxt_targets(1, 2));
	mxt_node(&d, false);
	OP(&d, .code = MD_PEEK, .imm = mxt_targets(0, 3));
	mxt_node(&d, false);
	OP(&d, .code = MD_NEXT);
	return d;
}

static bool passes(const struct mxt_description *d, uint32_t first)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct md_object object = { .first = first, .nnodes = d->nnodes, .nops = d->nops };
	bool is;

	assert_non_null(code);
	is = mt_verify(code, &object, d->nodes, d->ops);
	mt_code_free(code);
	return is;
}

/* With a change. */
#define PASSES(change) do { struct mxt_description d = good(); change; assert_true(passes(&d, 1)); } while (0)
#define FAILS(change) do { struct mxt_description d = good(); change; assert_false(passes(&d, 1)); } while (0)

static void test_ids(void **state)
{
	struct mxt_description d = good();
	struct mt_code *code = mt_code_new(&mt_heap);
	struct md_object object = { .first = 100, .nnodes = d.nnodes, .nops = d.nops };

	(void)state;
	assert_true(passes(&d, 1));
	assert_false(passes(&d, 0));
	assert_true(passes(&d, UINT32_MAX - 3));
	assert_false(passes(&d, UINT32_MAX - 2));
	assert_non_null(code);
	assert_int_equal(mt_code_add(code, &object, d.nodes, d.ops), MT_OK);
	for (uint32_t first = 96; first <= 104; first++) {
		object.first = first;
		assert_int_equal(mt_verify(code, &object, d.nodes, d.ops), first == 96 || first == 104);
	}
	mt_code_free(code);
}

static void test_ranges(void **state)
{
	(void)state;
	PASSES();
	FAILS(d.nodes[3].nops = 0);
	FAILS(d.nodes[3].nops++);
	FAILS(d.nodes[3].op++);
	FAILS(d.nodes[3].op = UINT32_MAX);
	FAILS(d.nodes[3].nops = UINT32_MAX);
	FAILS(d.nops--);
	PASSES(d.nodes[3].op = d.nodes[2].op);
	FAILS(d.nodes[3] = d.nodes[1]);		/* more operations than the object has */
}

static void test_ends(void **state)
{
	(void)state;
	FAILS(d.ops[4].code = MD_NEXT);
	FAILS(d.ops[4] = ((struct md_op){ .code = MD_GOTO }));
	FAILS(d.ops[2].code = MD_LEA);
	FAILS(d.ops[7].code = MD_CODES);
	FAILS(d.ops[7].code = 255);
	PASSES(d.ops[2].imm = 3);
	FAILS(d.ops[2].imm = 4);
	FAILS(d.ops[2].imm = -1);
	FAILS(d.ops[2].imm = mxt_targets(1, 1));
	PASSES(d.ops[5].imm = mxt_targets(3, 3));
	FAILS(d.ops[5].imm = mxt_targets(4, 3));
	FAILS(d.ops[5].imm = mxt_targets(3, 4));
	FAILS(d.ops[6].imm = mxt_targets(4, 3));
	FAILS(d.ops[6].imm = mxt_targets(0, 4));
	FAILS(d.ops[6].imm = mxt_targets(1, 3));	/* has no header */
}

static void test_sums(void **state)
{
	struct mxt_description d = { 0 };
	struct md_object object = { .first = 1, .nnodes = 1, .nops = UINT16_MAX / 4 };
	struct md_op *ops = calloc(object.nops + 1, sizeof(*ops));
	struct md_node node = { .nops = object.nops, .bytes = UINT16_MAX / 4 * 4, .flags = MD_NODE_HEADER };
	struct mt_code *code = mt_code_new(&mt_heap);

	(void)state;
	FAILS(d.nodes[0].bytes += 4);
	FAILS(d.nodes[0].bytes -= 8);
	FAILS(d.nodes[0].flags = 0);
	FAILS(d.nodes[0].flags |= MD_NODE_VARIES);
	FAILS(d.nodes[0].flags |= 4);
	FAILS(d.nodes[1].accesses = 0);
	FAILS(d.nodes[1].accesses++);
	mxt_node(&d, true);
	for (int i = 0; i < 256; i++)
		OP(&d, .code = MD_ACCESS, .base = N, .index = N, .width = 1);
	OP(&d, .code = MD_NEXT);
	assert_int_equal(d.nodes[0].accesses, 255);
	assert_true(passes(&d, 1));
	d.nodes[0].accesses = 0;
	assert_false(passes(&d, 1));
	/* As many bytes as there can be; and 65536 more, as if there were none. */
	assert_non_null(ops);
	assert_non_null(code);
	for (uint32_t i = 0; i < object.nops - 1; i++)
		ops[i] = (struct md_op){ .code = MD_VALUE_U32 };
	ops[object.nops - 2].code = MD_VALUE;
	ops[object.nops - 1].code = MD_NEXT;
	assert_false(mt_verify(code, &object, &node, ops));
	node.bytes = 0;
	assert_false(mt_verify(code, &object, &node, ops));
	node.bytes = UINT16_MAX / 4 * 4;
	ops[object.nops - 2].code = MD_VALUE_U32;
	assert_true(mt_verify(code, &object, &node, ops));
	mt_code_free(code);
	free(ops);
}

static void test_sizes(void **state)
{
	(void)state;
	FAILS(d.ops[3].width = 0);
	PASSES(d.ops[3].width = 0; d.ops[4] = d.ops[3]; d.ops[3] = ((struct md_op){ .code = MD_SIZE, .imm = 1 }));
	PASSES(d.ops[3].width = 0; d.ops[4] = d.ops[3];
	       d.ops[3] = ((struct md_op){ .code = MD_SIZE, .imm = UINT32_MAX }));
	FAILS(d.ops[3].width = 0; d.ops[4] = ((struct md_op){ .code = MD_SIZE, .imm = 1 }));
	FAILS(d.ops[4] = ((struct md_op){ .code = MD_SIZE }));
	FAILS(d.ops[4] = ((struct md_op){ .code = MD_SIZE, .imm = 1ll << 32 }));
	FAILS(d.ops[4] = ((struct md_op){ .code = MD_SIZE, .imm = -1 }));
}

/* Does @op pass, in place of the comparison? */
static bool op_passes(struct md_op op)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);
	mxt_op(&d, op);
	OP(&d, .code = MD_NEXT);
	return passes(&d, 1);
}

static bool writes(uint8_t code)
{
	return code <= MD_ZEXT;
}

static bool reads(uint8_t code)
{
	return code > MD_VALUE_S32 && code != MD_SIZE;
}

static bool has_index(uint8_t code)
{
	return reads(code) && code != MD_STRING;
}

static struct md_op plain(uint8_t code)
{
	struct md_op op = { .code = code, .base = N, .index = N, .width = 8 };

	if (code == MD_SIZE)
		op.imm = 1;
	else if (mt_is_lanes(&op))
		op.imm = (int64_t)(UINT64_C(4) << 32 | UINT64_C(8) << 40);
	return op;
}

static void test_registers(void **state)
{
	(void)state;
	for (uint8_t code = 0; code < MD_GOTO; code++) {
		for (unsigned int reg = 0; reg < 256; reg++) {
			struct md_op op = plain(code);
			bool is_read = reg < MD_REGS || reg == N;

			op.dst = (uint8_t)reg;
			if (writes(code))
				assert_int_equal(op_passes(op), reg < MD_FS);
			op = plain(code);
			op.base = (uint8_t)reg;
			if (reads(code))
				assert_int_equal(op_passes(op), is_read && (code != MD_STRING ||
									    (reg != 1 && reg != 6 && reg != 7)));
			op = plain(code);
			op.index = (uint8_t)reg;
			if (has_index(code))
				assert_int_equal(op_passes(op), is_read);
		}
	}
}

static void test_widths(void **state)
{
	(void)state;
	for (uint8_t code = MD_LEA; code < MD_GOTO; code++) {
		struct md_op op = plain(code);
		bool any = code == MD_ACCESS || code == MD_SIZE;

		for (unsigned int width = 1; width < 256; width++) {
			op.width = (uint8_t)width;
			assert_int_equal(op_passes(op), any || width == 1 || width == 2 || width == 4 || width == 8);
		}
		op.width = 0;
		assert_int_equal(op_passes(op), code == MD_SIZE);
	}
}

static bool scale_passes(uint8_t code, unsigned int scale)
{
	switch (code) {
	case MD_LEA:
	case MD_ACCESS:
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return scale <= 3;
	case MD_SELECT:
		return scale <= 15;
	case MD_SEXT:
	case MD_ZEXT:
		return scale == 0 || scale == 2 || scale == 3;
	case MD_STRING:
		return scale == 0;	/* 1 if it repeats */
	}
	return true;
}

static void test_scales(void **state)
{
	(void)state;
	for (uint8_t code = 0; code < MD_GOTO; code++) {
		for (unsigned int scale = 0; scale < 256; scale++) {
			struct md_op op = plain(code);

			op.scale = (uint8_t)scale;
			assert_int_equal(op_passes(op), scale_passes(code, scale));
		}
	}
	PASSES(d.ops[5].scale = 15);
	FAILS(d.ops[5].scale = 16);
}

static void test_kinds(void **state)
{
	static const uint8_t codes[] = { MD_ACCESS, MD_MASKED, MD_GATHER, MD_PACKED, MD_STRING, MD_FLAGS };

	(void)state;
	for (size_t i = 0; i < sizeof(codes); i++) {
		for (unsigned int dst = 0; dst < 256; dst++) {
			struct md_op op = plain(codes[i]);
			bool right = dst < 4 || (dst >= 8 && dst < 12);

			op.dst = (uint8_t)dst;
			if (op.code == MD_STRING)
				right = dst <= MD_SCAS;
			else if (op.code == MD_FLAGS)
				right = dst <= MD_FLAGS_AND;
			else if (op.code == MD_ACCESS)
				right |= dst == MD_TIME;
			assert_int_equal(op_passes(op), right);
		}
	}
}

/* Blocks beside accesses: only where they are expected, and of nothing else. */
static void test_fetches(void **state)
{
	struct mxt_description d = good();
	struct mt_code *code = mt_code_new(&mt_heap);
	struct md_object object = { .first = 1, .nnodes = d.nnodes, .nops = d.nops };

	(void)state;
	assert_non_null(code);
	assert_int_equal(d.ops[3].code, MD_ACCESS);
	d.ops[3].dst = MD_FETCH;
	assert_false(mt_verify(code, &object, d.nodes, d.ops));
	mt_code_fetches(code);
	assert_true(mt_verify(code, &object, d.nodes, d.ops));
	d.ops[3].dst = MD_FETCH | MD_STACK;
	assert_false(mt_verify(code, &object, d.nodes, d.ops));
	mt_code_free(code);
}

static void test_strings(void **state)
{
	struct md_op op = plain(MD_STRING);

	(void)state;
	assert_true(op_passes(op));
	for (unsigned int index = 0; index < 256; index++) {
		op.index = (uint8_t)index;
		op.scale = 0;
		assert_int_equal(op_passes(op), index == 1 || index == N);
		op.scale = 1;
		assert_int_equal(op_passes(op), index == 1);
	}
}

static void test_lanes(void **state)
{
	(void)state;
	for (uint8_t code = MD_MASKED; code <= MD_PACKED; code++) {
		for (uint64_t count = 0; count < 256; count++) {
			struct md_op op = plain(code);

			op.imm = (int64_t)(count << 32 | UINT64_C(4) << 40);
			assert_int_equal(op_passes(op), count >= 1 && count <= 64);
		}
		for (uint64_t mask = 0; mask < 16; mask++) {
			struct md_op op = plain(code);

			op.imm = (int64_t)(UINT64_C(64) << 32 | UINT64_C(4) << 40 | mask << 44);
			assert_int_equal(op_passes(op), mask <= MD_MASK_BYTES);
		}
		for (uint64_t index = 0; index < 16; index++) {
			struct md_op op = plain(code);

			op.imm = (int64_t)(UINT64_C(2) << 32 | index << 40);
			assert_int_equal(op_passes(op), code != MD_GATHER || index == 4 || index == 8);
		}
	}
}

/* ---- what is compiled ---- */

static bool compiles(const struct mxt_description *d, uint32_t node, uint32_t first)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct md_object object = { .first = first, .nnodes = d->nnodes, .nops = d->nops };
	bool is;

	assert_non_null(code);
	assert_int_equal(mt_code_add(code, &object, d->nodes, d->ops), MT_OK);
	is = mt_find(code, first + node)->compiles;
	mt_code_free(code);
	return is;
}

#define COMPILES(change) do { struct mxt_description d = good(); change; assert_true(compiles(&d, 1, 1)); } while (0)
#define STAYS(change) do { struct mxt_description d = good(); change; assert_false(compiles(&d, 1, 1)); } while (0)

static void test_compiled(void **state)
{
	struct mxt_description d = good();

	(void)state;
	for (uint32_t i = 0; i < d.nnodes; i++)
		assert_true(compiles(&d, i, 1));
	assert_true(compiles(&d, 0, MT_IDS - 1));
	assert_false(compiles(&d, 1, MT_IDS - 1));
	STAYS(d.ops[4] = d.ops[1]);			/* flags of another node */
	STAYS(d.ops[3] = d.ops[1]; d.ops[3].code = MD_SELECT; d.nodes[1].accesses = 0);
	COMPILES(d.ops[3] = d.ops[4]; d.ops[4] = d.ops[1]; d.ops[4].code = MD_SELECT; d.nodes[1].accesses = 0);
	STAYS(d.ops[5].scale = 10);			/* parity */
	STAYS(d.ops[5].scale = 11);
	COMPILES(d.ops[5].scale = 12);
	STAYS(d.ops[3].dst = MD_PREFETCH);
	COMPILES(d.ops[3].width = 255);
	STAYS(d.ops[3] = plain(MD_STRING); d.nodes[1].accesses = 0; d.nodes[1].flags = MD_NODE_VARIES);
	STAYS(d.ops[3] = plain(MD_PACKED); d.nodes[1].accesses = 0; d.nodes[1].flags = MD_NODE_VARIES);
}

/* Accesses of so many bytes, and of as many together. */
static void test_packed(void **state)
{
	(void)state;
	for (int64_t size = 2046; size <= 2048; size++) {
		for (int small = 0; small <= 1; small++) {
			struct mxt_description d = { 0 };

			mxt_node(&d, true);
			OP(&d, .code = MD_SIZE, .imm = size);
			OP(&d, .code = MD_ACCESS, .dst = MD_LOAD, .base = N, .index = N);
			if (small)
				OP(&d, .code = MD_ACCESS, .dst = MD_LOAD, .base = N, .index = N, .width = 1);
			OP(&d, .code = MD_ACCESS, .dst = MD_STORE, .base = N, .index = N, .width = 1);
			OP(&d, .code = MD_NEXT);
			assert_int_equal(compiles(&d, 0, 1), size + small <= MT_PACKED_MAX || size <= MT_PACKED_MAX);
		}
	}
}

/* So many accesses of 16 bytes. */
static void test_many(void **state)
{
	const uint32_t most = MT_WEIGHT_MAX * MT_PACKED_MAX / 16;

	(void)state;
	for (uint32_t n = most - 1; n <= most + 1; n++) {
		struct mxt_description d = { 0 };

		mxt_node(&d, true);
		for (uint32_t i = 0; i < n; i++)
			OP(&d, .code = MD_ACCESS, .dst = MD_LOAD, .base = N, .index = N, .width = 16);
		OP(&d, .code = MD_NEXT);
		assert_int_equal(compiles(&d, 0, 1), n <= most);
	}
}

static void test_long(void **state)
{
	(void)state;
	for (uint32_t nops = MT_COMPILED_OPS; nops <= MT_COMPILED_OPS + 1; nops++) {
		struct md_op *ops = calloc(nops + 1, sizeof(*ops));
		struct md_node node = { .nops = nops + 1 };
		struct md_object object = { .first = 1, .nnodes = 1, .nops = nops + 1 };
		struct mt_code *code = mt_code_new(&mt_heap);

		assert_true(ops && code);
		for (uint32_t i = 0; i < nops; i++)
			ops[i] = (struct md_op){ .code = MD_LEA, .width = 8 };
		ops[nops].code = MD_NEXT;
		assert_int_equal(mt_code_add(code, &object, &node, ops), MT_OK);
		assert_int_equal(mt_find(code, 1)->compiles, nops == MT_COMPILED_OPS);
		mt_code_free(code);
		free(ops);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_fetches),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
