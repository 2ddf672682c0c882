// SPDX-License-Identifier: GPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memexpand_dice.h"

#define N MD_NONE

static struct mxt_program dice;
static bool plain;
static uint8_t registers = 6;

void mxd_seed(uint64_t seed, bool whole)
{
	dice.seed = seed;
	plain = whole;
	registers = 6;
}

uint32_t mxd_roll(uint32_t n)
{
	return (uint32_t)(mxt_random(&dice) >> 33) % n;
}

static int64_t any_imm(void)
{
	static const int64_t edges[] = {
		0, 1, -1, 8, -8, 64, 0x7f, 0x80, 0x7fff, 0x8000, INT32_MAX, INT32_MIN, UINT32_MAX,
		INT64_MAX, INT64_MIN, 0x7ffffff0, 0xfffffff0,
	};

	if (mxd_roll(3))
		return (int64_t)mxd_roll(200) - 100;
	return mxd_roll(4) ? edges[mxd_roll(sizeof(edges) / sizeof(edges[0]))] : (int64_t)mxt_random(&dice);
}

uint64_t mxd_value(struct mxt_program *p)
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
	return (uint8_t)(1 << mxd_roll(4));
}

static uint8_t wide(void)
{
	return mxd_roll(2) ? 4 : 8;
}

static uint8_t any_reg(void)
{
	return (uint8_t)mxd_roll(registers);
}

static uint8_t maybe_reg(void)
{
	return mxd_roll(8) ? any_reg() : (uint8_t)(mxd_roll(2) ? N : MD_OBJECT);
}

static struct md_op any_access(void)
{
	return (struct md_op){
		.code = MD_ACCESS, .dst = (uint8_t)(mxd_roll(plain ? 3 : 4) | (mxd_roll(4) ? 0 : MD_STACK)), .base = maybe_reg(),
		.index = maybe_reg(), .scale = (uint8_t)mxd_roll(4), .width = (uint8_t)(1 + mxd_roll(64)), .imm = any_imm(),
	};
}

static struct md_op any_value_op(void)
{
	return (struct md_op){ .code = (uint8_t)(MD_VALUE + mxd_roll(3)), .dst = any_reg() };
}

static struct md_op any_flags(uint8_t width)
{
	struct md_op op = {
		.code = MD_FLAGS, .dst = (uint8_t)!mxd_roll(4), .base = any_reg(), .index = mxd_roll(2) ? any_reg() : N,
		.width = width, .imm = any_imm(),
	};

	if (op.dst == MD_FLAGS_AND && mxd_roll(2))
		op.index = op.base;
	return op;
}

/* ---- loops ---- */

static struct md_op step_op(void)
{
	uint8_t reg = any_reg();
	struct md_op op = { .code = MD_LEA, .dst = reg, .base = reg, .index = N, .width = wide(),
			    .imm = mxd_roll(6) ? (int64_t)mxd_roll(40) - 20 : any_imm() };

	switch (mxd_roll(8)) {
	case 0:
		op.code = MD_SUB;
		break;
	case 1:
		op.index = any_reg();
		break;
	case 2:
		op.dst = any_reg();
		op.scale = (uint8_t)mxd_roll(4);
		op.index = any_reg();
		break;
	case 3:
		op.code = (uint8_t)(mxd_roll(2) ? MD_SEXT : MD_ZEXT);
		op.dst = any_reg();
		op.width = any_width();
		op.scale = (uint8_t)(mxd_roll(2) * 2);
		break;
	case 4:
		op.code = (uint8_t)(mxd_roll(2) ? MD_SHL : MD_MUL);
		op.dst = any_reg();
		op.imm = mxd_roll(9);
		break;
	}
	return op;
}

void mxd_loop(struct mxt_description *d)
{
	uint8_t cc = (uint8_t)mxd_roll(16);
	bool yes = mxd_roll(2);

	mxt_node(d, true);
	for (uint8_t r = 0; r < 6; r++)
		mxt_op(d, (struct md_op){ .code = (uint8_t)(mxd_roll(2) ? MD_VALUE : MD_VALUE_U32), .dst = r });
	mxt_op(d, (struct md_op){ .code = MD_GOTO, .imm = 1 });
	mxt_node(d, false);
	for (uint32_t i = 1 + mxd_roll(6); i; i--) {
		mxt_op(d, mxd_roll(2) ? step_op() : any_access());
		if (!mxd_roll(8))
			mxt_op(d, any_value_op());
	}
	mxt_op(d, any_flags(mxd_roll(4) ? wide() : any_width()));
	while (!mxd_roll(3))
		mxt_op(d, mxd_roll(2) ? any_access() : step_op());
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

/* ---- anything ---- */

static struct md_op any_computing(void)
{
	uint8_t code = (uint8_t)(MD_LEA + mxd_roll(MD_ZEXT - MD_LEA + 1)), scale = (uint8_t)mxd_roll(4);

	if (code == MD_SELECT)
		scale = (uint8_t)mxd_roll(16);
	else if (code == MD_SEXT || code == MD_ZEXT)
		scale &= 2;
	return (struct md_op){
		.code = code, .dst = any_reg(), .base = maybe_reg(), .index = maybe_reg(), .width = any_width(),
		.scale = scale, .imm = any_imm(),
	};
}

static struct md_op any_string(void)
{
	bool rep = mxd_roll(2);

	return (struct md_op){
		.code = MD_STRING, .dst = (uint8_t)mxd_roll(5), .base = mxd_roll(2) ? 3 : N, .index = rep ? 1 : N,
		.scale = (uint8_t)(rep && mxd_roll(2)), .width = any_width(),
	};
}

static struct md_op any_lanes(void)
{
	uint64_t count = 1 + mxd_roll(16), index = mxd_roll(2) ? 4 : 8, mask = mxd_roll(4);

	return (struct md_op){
		.code = (uint8_t)(MD_MASKED + mxd_roll(3)), .dst = (uint8_t)mxd_roll(3), .base = maybe_reg(),
		.index = maybe_reg(), .scale = (uint8_t)mxd_roll(4), .width = any_width(),
		.imm = (int64_t)((uint32_t)any_imm() | count << 32 | index << 40 | mask << 44),
	};
}

static void any_op(struct mxt_description *d)
{
	uint32_t n = mxd_roll(12);

	switch (plain && (n == 2 || n == 3) ? 4 : n) {
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

/* mxt_op() has to know all nodes: only then it is known which of them have headers. */
static void repair_peeks(struct mxt_description *d)
{
	for (uint32_t i = 0; i < d->nops; i++) {
		struct md_op *op = &d->ops[i];

		if (op->code == MD_PEEK && !(d->nodes[(uint32_t)op->imm].flags & MD_NODE_HEADER))
			op->imm = mxt_targets(0, (uint32_t)((uint64_t)op->imm >> 32));
	}
}

static void any_end(struct mxt_description *d)
{
	struct md_op op = { .code = (uint8_t)(MD_GOTO + mxd_roll(4)), .imm = mxd_roll(MXD_HANDLER) };

	if (op.code == MD_PEEK)
		op.imm = mxt_targets(mxd_roll(MXD_HANDLER), mxd_roll(MXD_HANDLER));
	if (op.code == MD_IF) {
		mxt_op(d, any_flags(any_width()));
		op.imm = mxt_targets(mxd_roll(MXD_HANDLER), mxd_roll(MXD_HANDLER));
		op.scale = (uint8_t)mxd_roll(16);
	}
	mxt_op(d, op);
}

void mxd_anything(struct mxt_description *d)
{
	for (uint32_t n = 0; n < MXD_HANDLER; n++) {
		mxt_node(d, n == 0 || mxd_roll(2));
		for (uint32_t i = mxd_roll(5); i; i--)
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
	repair_peeks(d);
}

/* ---- long nodes ---- */

static void any_select(struct mxt_description *d)
{
	struct md_op op = any_computing();

	op.code = MD_SELECT;
	op.scale = (uint8_t)mxd_roll(16);
	mxt_op(d, op);
}

static void long_op(struct mxt_description *d)
{
	switch (mxd_roll(9)) {
	case 0:
		mxt_op(d, any_flags(any_width()));
		break;
	case 1:
		any_select(d);
		break;
	case 2:
	case 3:
		mxt_op(d, any_value_op());
		break;
	case 4:
	case 5:
		mxt_op(d, any_access());
		break;
	default:
		mxt_op(d, any_computing());
	}
}

void mxd_long(struct mxt_description *d)
{
	enum { NODES = 14 };

	registers = MD_TEMP;
	for (uint32_t n = 0; n < NODES; n++) {
		struct md_op end = { .code = (uint8_t)(MD_GOTO + mxd_roll(4)), .imm = mxd_roll(NODES) };

		mxt_node(d, n == 0 || n == MXD_HANDLER || mxd_roll(2));
		for (uint32_t i = mxd_roll(mxd_roll(2) ? 60 : 5); i && n != MXD_HANDLER; i--)
			long_op(d);
		if (n == 0 || n == MXD_HANDLER)
			end.code = MD_NEXT;
		if (end.code == MD_PEEK)
			end.imm = mxt_targets(mxd_roll(NODES), mxd_roll(NODES));
		if (end.code == MD_IF) {
			end.imm = mxt_targets(mxd_roll(NODES), mxd_roll(NODES));
			end.scale = (uint8_t)mxd_roll(16);
			if (mxd_roll(2))
				mxt_op(d, any_flags(any_width()));
		}
		mxt_op(d, end);
	}
	repair_peeks(d);
}
