// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The machine that expands memory streams, on random descriptions: loops that can be computed in closed form, and
 * nodes of anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memexpand_support.h"

#define N MD_NONE

enum { VISITS = 3000 };

static struct mxt_program dice;

static uint32_t roll(uint32_t n)
{
	return (uint32_t)(mxt_random(&dice) >> 33) % n;
}

static int64_t any_imm(void)
{
	static const int64_t edges[] = {
		0, 1, -1, 8, -8, 64, 0x7f, 0x80, 0x7fff, 0x8000, INT32_MAX, INT32_MIN, UINT32_MAX,
		INT64_MAX, INT64_MIN, 0x7ffffff0, 0xfffffff0,
	};

	if (roll(3))
		return (int64_t)roll(200) - 100;
	return roll(4) ? edges[roll(sizeof(edges) / sizeof(edges[0]))] : (int64_t)mxt_random(&dice);
}

static uint64_t any_value(struct mxt_program *p)
{
	uint64_t r = mxt_random(p);

	switch (r >> 60) {
	case 0:
		return r;
	case 1:
		return (uint32_t)r;
	case 2:
		return (uint64_t)INT32_MAX - r % 50;
	case 3:
		return UINT32_MAX - r % 50;
	case 4:
		return (uint64_t)INT64_MAX - r % 50;
	case 5:
		return -(r % 50);
	default:
		return r % 300;
	}
}

static uint8_t any_width(void)
{
	return (uint8_t)(1 << roll(4));
}

static uint8_t wide(void)
{
	return roll(2) ? 4 : 8;
}

static uint8_t any_reg(void)
{
	return (uint8_t)roll(6);
}

static uint8_t maybe_reg(void)
{
	return roll(8) ? any_reg() : (uint8_t)(roll(2) ? N : MD_OBJECT);
}

static struct md_op any_access(void)
{
	return (struct md_op){
		.code = MD_ACCESS, .dst = (uint8_t)(roll(4) | (roll(4) ? 0 : MD_STACK)), .base = maybe_reg(),
		.index = maybe_reg(), .scale = (uint8_t)roll(4), .width = (uint8_t)(1 + roll(64)), .imm = any_imm(),
	};
}

static struct md_op any_value_op(void)
{
	return (struct md_op){ .code = (uint8_t)(MD_VALUE + roll(3)), .dst = any_reg() };
}

static struct md_op any_flags(uint8_t width)
{
	struct md_op op = {
		.code = MD_FLAGS, .dst = (uint8_t)!roll(4), .base = any_reg(), .index = roll(2) ? any_reg() : N,
		.width = width, .imm = any_imm(),
	};

	if (op.dst == MD_FLAGS_AND && roll(2))
		op.index = op.base;
	return op;
}

/* ---- loops ---- */

static struct md_op step_op(void)
{
	uint8_t reg = any_reg();
	struct md_op op = { .code = MD_LEA, .dst = reg, .base = reg, .index = N, .width = wide(),
			    .imm = roll(6) ? (int64_t)roll(40) - 20 : any_imm() };

	switch (roll(8)) {
	case 0:
		op.code = MD_SUB;
		break;
	case 1:
		op.index = any_reg();
		break;
	case 2:
		op.dst = any_reg();
		op.scale = (uint8_t)roll(4);
		op.index = any_reg();
		break;
	case 3:
		op.code = (uint8_t)(roll(2) ? MD_SEXT : MD_ZEXT);
		op.dst = any_reg();
		op.width = any_width();
		op.scale = (uint8_t)(roll(2) * 2);
		break;
	case 4:
		op.code = (uint8_t)(roll(2) ? MD_SHL : MD_MUL);
		op.dst = any_reg();
		op.imm = roll(9);
		break;
	}
	return op;
}

/* All registers, a loop of one node, and one that shows what they are then. */
static void loop(struct mxt_description *d)
{
	uint8_t cc = (uint8_t)roll(16);
	bool yes = roll(2);

	mxt_node(d, true);
	for (uint8_t r = 0; r < 6; r++)
		mxt_op(d, (struct md_op){ .code = (uint8_t)(roll(2) ? MD_VALUE : MD_VALUE_U32), .dst = r });
	mxt_op(d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
	mxt_node(d, false);
	for (uint32_t i = 1 + roll(6); i; i--) {
		mxt_op(d, roll(2) ? step_op() : any_access());
		if (!roll(8))
			mxt_op(d, any_value_op());
	}
	mxt_op(d, any_flags(roll(4) ? wide() : any_width()));
	while (!roll(3))
		mxt_op(d, roll(2) ? any_access() : step_op());
	mxt_op(d, (struct md_op){ .code = MD_IF, .scale = cc, .imm = yes ? mxt_targets(1, 2) : mxt_targets(2, 1) });
	mxt_node(d, false);
	for (uint8_t r = 0; r < 6; r++)
		mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = r, .index = N, .width = 1 });
	mxt_op(d, (struct md_op){ .code = MD_NEXT });
	mxt_node(d, true);	/* a handler */
	mxt_op(d, (struct md_op){ .code = MD_VALUE, .dst = 7 });
	mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = 7, .index = N, .width = 8 });
	mxt_op(d, (struct md_op){ .code = MD_NEXT });
}

/* A node, with a cut or a signal somewhere. */
static bool run_node(struct mxt_program *p, uint32_t handler)
{
	if (!roll(20))
		mxt_chunk(p, MD_CHUNK_MORE);
	if (!roll(20)) {
		uint32_t op = roll(p->d->nodes[p->node].nops);

		/* Flags are not among what tells one iteration from another. */
		op -= op + 1 == p->d->nodes[p->node].nops && op;
		mxt_run_to(p, op);
		mxt_signal(p, handler, true);
	}
	return mxt_run_node(p);
}

/* False: it takes too long for a test. */
static bool run_loop(struct mxt_program *p)
{
	bool next = false;

	p->node = 0;
	for (uint32_t visits = 0; !next && visits < VISITS; visits++)
		next = run_node(p, 3);
	return next;
}

static void check(const struct mxt_description *d, struct mxt_program *p, uint64_t *checked)
{
	struct mx_code *code = mxt_code(d);

	mxt_chunk(p, MD_CHUNK_END);
	mxt_check(code, p, 1 + roll(8));
	mxt_check(code, p, 500);
	mxt_check_counts(code, p);
	mx_code_free(code);
	++*checked;
}

static void test_loops(void **state)
{
	uint64_t checked = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 6000; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;

		dice.seed = seed << 32;
		loop(&d);
		mxt_start(&p, &d, seed);
		p.value = any_value;
		if (run_loop(&p) && run_loop(&p))
			check(&d, &p, &checked);
		mxt_free(&p);
	}
	assert_true(checked > 2000);
}

/* ---- anything ---- */

static struct md_op any_computing(void)
{
	uint8_t code = (uint8_t)(MD_LEA + roll(MD_ZEXT - MD_LEA + 1)), scale = (uint8_t)roll(4);

	if (code == MD_SELECT)
		scale = (uint8_t)roll(16);
	else if (code == MD_SEXT || code == MD_ZEXT)
		scale &= 2;
	return (struct md_op){
		.code = code, .dst = any_reg(), .base = maybe_reg(), .index = maybe_reg(), .width = any_width(),
		.scale = scale, .imm = any_imm(),
	};
}

static struct md_op any_string(void)
{
	bool rep = roll(2);

	return (struct md_op){
		.code = MD_STRING, .dst = (uint8_t)roll(5), .base = roll(2) ? 3 : N, .index = rep ? 1 : N,
		.scale = (uint8_t)(rep && roll(2)), .width = any_width(),
	};
}

static struct md_op any_lanes(void)
{
	uint64_t count = 1 + roll(16), index = roll(2) ? 4 : 8, mask = roll(4);

	return (struct md_op){
		.code = (uint8_t)(MD_MASKED + roll(3)), .dst = (uint8_t)roll(3), .base = maybe_reg(),
		.index = maybe_reg(), .scale = (uint8_t)roll(4), .width = any_width(),
		.imm = (int64_t)((uint32_t)any_imm() | count << 32 | index << 40 | mask << 44),
	};
}

static void any_op(struct mxt_description *d)
{
	switch (roll(12)) {
	case 0:
	case 1:
		mxt_op(d, any_value_op());
		break;
	case 2:
		mxt_op(d, any_lanes());
		break;
	case 3:	/* not too often */
		mxt_op(d, (struct md_op){ .code = MD_ZEXT, .dst = 1, .base = 1, .width = 1 });
		mxt_op(d, any_string());
		break;
	case 4:
	case 5:
	case 6:
		mxt_op(d, any_computing());
		break;
	default:
		mxt_op(d, any_access());
	}
}

enum { NODES = 6 };

static void any_end(struct mxt_description *d)
{
	struct md_op op = { .code = (uint8_t)(MD_GOTO + roll(3)), .imm = roll(NODES) };

	if (op.code == MD_IF) {
		mxt_op(d, any_flags(any_width()));
		op.imm = mxt_targets(roll(NODES), roll(NODES));
		op.scale = (uint8_t)roll(16);
	}
	mxt_op(d, op);
}

static void anything(struct mxt_description *d)
{
	for (uint32_t n = 0; n < NODES; n++) {
		mxt_node(d, n == 0 || roll(2));
		for (uint32_t i = roll(5); i; i--)
			any_op(d);
		if (n)
			any_end(d);
		else
			mxt_op(d, (struct md_op){ .code = MD_NEXT });
	}
	mxt_node(d, true);	/* a handler */
	mxt_op(d, (struct md_op){ .code = MD_VALUE, .dst = 7 });
	mxt_op(d, (struct md_op){ .code = MD_ACCESS, .base = 7, .index = N, .width = 8 });
	mxt_op(d, (struct md_op){ .code = MD_NEXT });
}

/* Some node with a header. */
static uint32_t next_node(const struct mxt_description *d)
{
	uint32_t n;

	do
		n = roll(NODES);
	while (!(d->nodes[n].flags & MD_NODE_HEADER));
	return n;
}

static bool run_anything(struct mxt_program *p)
{
	uint32_t rounds = 30;
	bool next = true;

	for (uint32_t visits = 0; visits < 600; visits++) {
		if (next && !rounds--)
			return true;
		if (next)
			p->node = next_node(p->d);
		next = run_node(p, NODES);
	}
	return false;
}

static void test_anything(void **state)
{
	uint64_t checked = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;

		dice.seed = ~seed << 32;
		anything(&d);
		mxt_start(&p, &d, seed);
		p.value = any_value;
		if (run_anything(&p))
			check(&d, &p, &checked);
		mxt_free(&p);
	}
	assert_true(checked > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_anything),
	};
	int failed = cmocka_run_group_tests_name("interpreted", tests, NULL, NULL);

	mxt_compiled = true;
	return failed + cmocka_run_group_tests_name("compiled", tests, NULL, NULL);
}
