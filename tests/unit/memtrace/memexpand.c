// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The machine that expands memory streams, on descriptions made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memexpand_support.h"
#include "tests/unit/part.h"

#define N MD_NONE
#define OP(...) mxt_op(&d, (struct md_op){ __VA_ARGS__ })
#define VALUE(reg) OP(.code = MD_VALUE, .dst = reg)
#define ACCESS(reg, disp) \
	OP(.code = MD_ACCESS, .dst = MD_LOAD, .base = reg, .index = N, .width = 8, .imm = disp)
#define ADD(reg, n) OP(.code = MD_LEA, .dst = reg, .base = reg, .index = N, .width = 8, .imm = n)
#define FLAGS(reg, n) \
	OP(.code = MD_FLAGS, .dst = MD_FLAGS_SUB, .base = reg, .index = N, .width = 8, .imm = n)
#define IF(cc, yes, no) OP(.code = MD_IF, .scale = cc, .imm = mxt_targets(yes, no))
#define GOTO(n) OP(.code = MD_GOTO, .imm = n)
#define PEEK(header, no) OP(.code = MD_PEEK, .imm = mxt_targets(header, no))
#define NEXT OP(.code = MD_NEXT)

enum { CC_B = 2, CC_E = 4, CC_NE = 5 };

static const size_t maxima[] = { 1, 2, 3, 7, 1000 };

static uint64_t repeats; /* that were checked */

static void check_all(const struct mxt_description *d, const struct mxt_program *p)
{
	struct mt_code *code = mxt_code(d);

	for (size_t i = 0; i < sizeof(maxima) / sizeof(maxima[0]); i++)
		mxt_check(code, p, maxima[i]);
	repeats += mxt_check_repeats(code, p, 7) + mxt_check_repeats(code, p, 1000);
	mxt_check_counts(code, p);
	mt_code_free(code);
}

/* ---- operations ---- */

static void check_op(struct md_op op, unsigned int seeds)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);
	for (uint8_t r = 0; r < 4; r++)
		VALUE(r);
	OP(.code = MD_FLAGS, .dst = MD_FLAGS_SUB, .base = 0, .index = 1,
	   .width = op.code == MD_SELECT ? op.width : 8);
	mxt_op(&d, op);
	for (uint8_t r = 0; r < 4; r++)
		ACCESS(r, 0);
	NEXT;
	for (unsigned int seed = 0; seed < seeds; seed++) {
		struct mxt_program p;

		mxt_start(&p, &d, seed);
		mxt_run_node(&p);
		mxt_chunk(&p, MD_CHUNK_END);
		check_all(&d, &p);
		mxt_free(&p);
	}
}

static void test_computing(void **state)
{
	static const uint8_t widths[] = { 1, 2, 4, 8 }, operands[] = { 0, 1, 2, N, MD_OBJECT, MD_FS };

	(void)state;
	for (uint8_t code = MD_LEA; code <= MD_ZEXT; code++) {
		for (unsigned int k = 0; k < 4 * 6 * 6; k++) {
			check_op((struct md_op){
				.code = code, .dst = (uint8_t)(k % 3), .width = widths[k % 4],
				.base = operands[k / 4 % 6], .index = operands[k / 24],
				.scale = (uint8_t)(code == MD_LEA ? k % 4 : code == MD_SELECT ? k / 4 % 16 : k & 2), .imm = (int64_t)k * 0x700000011 - 60,
			}, 2);
		}
	}
}

static void test_values(void **state)
{
	(void)state;
	for (uint8_t code = MD_VALUE; code <= MD_VALUE_S32; code++)
		check_op((struct md_op){ .code = code, .dst = 2 }, 20);
}

static void test_addresses(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 4 * 5; k++) {
		static const uint8_t operands[] = { 0, 3, N, MD_OBJECT, MD_FS };
		struct md_op op = {
			.code = MD_ACCESS, .dst = (uint8_t)(k % 4 | (k & 8)), .base = operands[k % 5],
			.index = operands[k * 3 % 5], .scale = (uint8_t)(k % 4), .width = (uint8_t)(k + 1), .imm = 17 - (int)k,
		};

		check_op(op, 3);
	}
}

static void test_size(void **state)
{
	struct mxt_description d = { 0 };
	struct mxt_program p;

	(void)state;
	mxt_node(&d, true);
	VALUE(3);
	OP(.code = MD_SIZE, .imm = 2696);
	OP(.code = MD_ACCESS, .dst = MD_STORE, .base = 3, .index = N);
	ACCESS(3, 1);
	NEXT;
	mxt_start(&p, &d, 1);
	mxt_run_node(&p);
	mxt_chunk(&p, MD_CHUNK_END);
	assert_int_equal(p.v[0].size, 2696);
	check_all(&d, &p);
	mxt_free(&p);
}

/* ---- conditions: the machine, and the program of these tests, against the processor ---- */

#define COMPARE(INSN, T, a, b, r) \
	__asm__ volatile(INSN " %2, %1; pushfq; popq %0" : "=r"(r) : "r"((T)(a)), "r"((T)(b)) : "cc", "memory")

static uint64_t processor_flags(bool and, unsigned int width, uint64_t a, uint64_t b)
{
	uint64_t f = 0;

	switch (width) {
	case 1:
		if (and)
			COMPARE("testb", uint8_t, a, b, f);
		else
			COMPARE("cmpb", uint8_t, a, b, f);
		break;
	case 2:
		if (and)
			COMPARE("testw", uint16_t, a, b, f);
		else
			COMPARE("cmpw", uint16_t, a, b, f);
		break;
	case 4:
		if (and)
			COMPARE("testl", uint32_t, a, b, f);
		else
			COMPARE("cmpl", uint32_t, a, b, f);
		break;
	default:
		if (and)
			COMPARE("testq", uint64_t, a, b, f);
		else
			COMPARE("cmpq", uint64_t, a, b, f);
	}
	return f;
}

#define SETCC(cc, f) \
	__asm__ volatile("pushq %1; popfq; set" cc " %0" : "=q"(yes) : "r"(f) : "cc", "memory"); \
	break

/* rflags as the processor had them are put back and asked. */
static bool processor_condition(uint64_t f, unsigned int cc)
{
	uint8_t yes = 0;

	switch (cc) {
	case 0: SETCC("o", f);
	case 1: SETCC("no", f);
	case 2: SETCC("b", f);
	case 3: SETCC("ae", f);
	case 4: SETCC("e", f);
	case 5: SETCC("ne", f);
	case 6: SETCC("be", f);
	case 7: SETCC("a", f);
	case 8: SETCC("s", f);
	case 9: SETCC("ns", f);
	case 10: SETCC("p", f);
	case 11: SETCC("np", f);
	case 12: SETCC("l", f);
	case 13: SETCC("ge", f);
	case 14: SETCC("le", f);
	case 15: SETCC("g", f);
	}
	return yes;
}

static uint64_t operand(struct mxt_program *p)
{
	static const uint64_t edges[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX, 0x100, 0x10000, 0x100000000,
	};
	uint64_t r = mxt_random(p);

	return r & 1 ? r : edges[r / 2 % (sizeof(edges) / sizeof(edges[0]))];
}

/* Nodes 1 and 2 tell which way it went. */
static void condition_description(struct mxt_description *dp, uint8_t kind, uint8_t width, uint8_t cc)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);
	VALUE(0);
	VALUE(1);
	OP(.code = MD_FLAGS, .dst = kind, .base = 0, .index = 1, .width = width);
	IF(cc, 1, 2);
	for (int i = 1; i <= 2; i++) {
		mxt_node(&d, false);
		ACCESS(N, i);
		NEXT;
	}
	*dp = d;
}

static void test_conditions(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 2 * 4 * 16; k++) {
		uint8_t kind = k & 1, width = (uint8_t)(1 << (k >> 1 & 3)), cc = (uint8_t)(k >> 3);
		struct mxt_description d;
		struct mxt_program p;

		condition_description(&d, kind, width, cc);
		mxt_start(&p, &d, k);
		p.value = operand;
		for (int i = 0; i < PART_OF(300); i++) {
			bool yes;

			p.node = 0;
			assert_false(mxt_run_node(&p));
			yes = processor_condition(processor_flags(kind, width, p.a, p.b), cc);
			assert_int_equal(p.node, yes ? 1 : 2);
			mxt_run_node(&p);
		}
		mxt_chunk(&p, MD_CHUNK_END);
		check_all(&d, &p);
		mxt_free(&p);
	}
}

/* STATE hands over rflags as the processor has them. */
static void test_state_flags(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 2 * 4 * 16; k++) {
		uint8_t kind = k & 1, width = (uint8_t)(1 << (k >> 1 & 3)), cc = (uint8_t)(k >> 3);
		struct mxt_description d;

		condition_description(&d, kind, width, cc);
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct mxt_program p;
			struct md_interrupt *at;

			mxt_start(&p, &d, seed);
			p.value = operand;
			mxt_run_to(&p, 3);
			mxt_chunk(&p, MD_CHUNK_STATE);
			at = (struct md_interrupt *)(p.chunks[1].data + sizeof(struct md_chunk));
			at->flags = processor_flags(kind, width, p.a, p.b);
			p.node = processor_condition(at->flags, cc) ? 1 : 2;
			p.op = p.written = 0;
			mxt_run_node(&p);
			mxt_chunk(&p, MD_CHUNK_END);
			check_all(&d, &p);
			mxt_free(&p);
		}
	}
}

/* ---- strings and lanes ---- */

static uint64_t small(struct mxt_program *p)
{
	return mxt_random(p) % 40;
}

static void string_node(struct mxt_description *dp, struct md_op op)
{
	struct mxt_description d = *dp;

	mxt_node(&d, true);
	VALUE(1);
	VALUE(6);
	VALUE(7);
	VALUE(MD_TEMP);
	mxt_op(&d, op);
	ACCESS(1, 0);
	ACCESS(6, 0);
	ACCESS(7, 0);
	NEXT;
	*dp = d;
}

static const uint8_t string_widths[] = { 1, 2, 4, 8 };

static struct md_op string_op(unsigned int k)
{
	static const uint8_t base[] = { N, MD_TEMP };

	return (struct md_op){
		.code = MD_STRING, .dst = (uint8_t)(k % 5), .width = string_widths[k / 5 % 4],
		.base = base[k / 20 % 2], .index = k / 40 % 3 ? 1 : N, .scale = k / 40 % 3 == 2,
	};
}

static void test_strings(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 5 * 4 * 2 * 3; k++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;

		string_node(&d, string_op(k));
		mxt_start(&p, &d, k);
		p.value = small;
		for (int i = 0; i < 20; i++)
			mxt_run_node(&p);
		mxt_chunk(&p, MD_CHUNK_END);
		check_all(&d, &p);
		mxt_free(&p);
	}
}

static void test_lanes(void **state)
{
	(void)state;
	for (unsigned int k = 0; k < 3 * 4 * 4 * 4 * 2; k++) {
		static const unsigned int counts[] = { 1, 4, 16, 64 };
		uint64_t mask = k / 12 % 4, count = counts[k / 48 % 4], index = k / 192 ? 8 : 4;
		struct md_op op = {
			.code = (uint8_t)(MD_MASKED + k % 3), .dst = MD_STORE, .base = 0, .index = 1,
			.scale = (uint8_t)(k % 4), .width = string_widths[k / 3 % 4],
			.imm = (int64_t)((uint32_t)-48 | count << 32 | index << 40 | mask << 44),
		};

		check_op(op, 10);
	}
}

/* ---- chunks ---- */

/* A loop with known bounds around one with a value in each iteration, then one with an unknown end. */
static void loops(struct mxt_description *dp)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);	/* 0 */
	VALUE(0);
	OP(.code = MD_LEA, .dst = 1, .base = N, .index = N, .width = 4);
	GOTO(1);
	mxt_node(&d, false);	/* 1: over rcx */
	ACCESS(0, 8);
	OP(.code = MD_LEA, .dst = 2, .base = N, .index = N, .width = 4);
	GOTO(2);
	mxt_node(&d, false);	/* 2: over rdx */
	ACCESS(0, 0);
	OP(.code = MD_ACCESS, .dst = MD_STORE, .base = 0, .index = 2, .scale = 3, .width = 8);
	OP(.code = MD_LEA, .dst = 2, .base = 2, .index = N, .width = 4, .imm = 1);
	OP(.code = MD_FLAGS, .base = 2, .index = N, .width = 4, .imm = 5);
	IF(CC_NE, 2, 3);
	mxt_node(&d, false);	/* 3 */
	OP(.code = MD_VALUE_S32, .dst = 3);
	OP(.code = MD_ACCESS, .dst = MD_LOAD, .base = 0, .index = 3, .scale = 2, .width = 4);
	ADD(1, 1);
	FLAGS(1, 4);
	IF(CC_B, 1, 4);
	mxt_node(&d, false);	/* 4 */
	ACCESS(0, 64);
	OP(.code = MD_ACCESS, .dst = MD_STORE | MD_STACK, .base = 0, .index = N, .width = 8);
	NEXT;
	mxt_node(&d, true);	/* 5: a handler */
	VALUE(7);
	ACCESS(7, 0);
	NEXT;
	*dp = d;
}

static void run_loops(struct mxt_program *p)
{
	p->node = 0;
	while (!mxt_run_node(p))
		;
}

/* MORE after each node gives the same. */
static void test_cuts(void **state)
{
	struct mxt_description d;

	(void)state;
	loops(&d);
	for (int where = 0; where < 40; where++) {
		struct mxt_program p;
		int node = 0;

		mxt_start(&p, &d, 5);
		for (int round = 0; round < 2; round++) {
			p.node = 0;
			do {
				if (node++ == where)
					mxt_chunk(&p, MD_CHUNK_MORE);
				if (node == where + 3)	/* maybe an empty one */
					mxt_chunk(&p, MD_CHUNK_MORE);
			} while (!mxt_run_node(&p));
		}
		mxt_chunk(&p, MD_CHUNK_END);
		check_all(&d, &p);
		mxt_free(&p);
	}
}

/* A signal before each operation, at any depth. */
static bool signal_at(const struct mxt_description *d, int where, int second, bool back)
{
	struct mxt_program p;
	bool there = false;
	int op = 0;

	mxt_start(&p, d, 5);
	for (int round = 0; round < 2; round++) {
		bool next = false;

		p.node = 0;
		while (!next && (back || !there)) {
			for (uint32_t i = 0; i < d->nodes[p.node].nops && (back || !there); i++) {
				mxt_run_to(&p, i);
				if (op == where || op == where + second) {
					mxt_signal(&p, 5, back);
					there = true;
				}
				op++;
			}
			if (back || !there)
				next = mxt_run_node(&p);
		}
		p.op = p.written = 0;	/* longjmp */
		p.begun = false;
	}
	mxt_chunk(&p, MD_CHUNK_END);
	check_all(d, &p);
	mxt_free(&p);
	return there;
}

static void test_signals(void **state)
{
	struct mxt_description d;
	int where = 0;

	(void)state;
	loops(&d);
	while (signal_at(&d, where, 0, true) && signal_at(&d, where, 1, true) &&
	       signal_at(&d, where, 4, true) && signal_at(&d, where, 0, false))
		where++;
	assert_true(where > 100);
}

/* A handler in a handler; the inner one comes back or does not. */
static void test_nested(void **state)
{
	struct mxt_description d;

	(void)state;
	loops(&d);
	for (int inner = 0; inner < 2; inner++) {
		struct mxt_program p, outer;

		mxt_start(&p, &d, 9);
		mxt_run_node(&p);
		mxt_run_node(&p);
		mxt_run_to(&p, 2);
		outer = p;
		p.depth = 1;
		mxt_chunk(&p, MD_CHUNK_SIGNAL);
		p.node = 5;
		p.op = p.written = 0;
		p.begun = false;
		mxt_run_to(&p, 1);
		mxt_signal(&p, 5, inner);
		if (inner)
			mxt_run_node(&p);
		else
			p.depth = 1;
		mxt_chunk(&p, MD_CHUNK_RESUME);
		outer.v = p.v, outer.nv = p.nv, outer.room_v = p.room_v;
		outer.chunks = p.chunks, outer.nchunks = p.nchunks;
		while (!mxt_run_node(&outer))
			;
		mxt_chunk(&outer, MD_CHUNK_END);
		check_all(&d, &outer);
		mxt_free(&outer);
	}
}

static void test_string_signals(void **state)
{
	(void)state;
	for (unsigned int k = 40; k < 5 * 4 * 2 * 3; k++) {
		for (uint64_t part = 0; part < 6; part++) {
			struct mxt_description d = { 0 };
			struct mxt_program p;

			string_node(&d, string_op(k));
			mxt_node(&d, true);
			VALUE(7);
			ACCESS(7, 0);
			NEXT;
			mxt_start(&p, &d, k);
			p.value = small;
			p.string_cut = true;
			p.strings = part;
			mxt_run_to(&p, 7);
			mxt_signal(&p, 1, true);
			mxt_run_node(&p);
			mxt_chunk(&p, MD_CHUNK_END);
			check_all(&d, &p);
			mxt_free(&p);
		}
	}
}

/* Recording begins before any operation. */
static void test_state(void **state)
{
	struct mxt_description d;
	bool next = false;

	(void)state;
	loops(&d);
	for (int where = 0; !next; where++) {
		struct mxt_program p;
		int op = 0;

		mxt_start(&p, &d, 5);
		for (next = false; !next && op <= where; next = op <= where && mxt_run_node(&p)) {
			for (uint32_t i = 0; i < d.nodes[p.node].nops && op <= where; i++) {
				mxt_run_to(&p, i);
				op++;
			}
		}
		for (size_t i = 0; i < p.nchunks; i++)
			free(p.chunks[i].data);
		p.nchunks = p.nv = 0;
		mxt_chunk(&p, MD_CHUNK_STATE);
		while (!next && !mxt_run_node(&p))
			;
		mxt_chunk(&p, MD_CHUNK_END);
		if (!next)
			check_all(&d, &p);
		mxt_free(&p);
	}
}

/* What nothing proves is not handed out: a handler may have come in between. */
static void test_unproven(void **state)
{
	struct mxt_description d;
	struct mxt_program p;
	struct mxt_read read = { 0 };
	struct mt_code *code;

	(void)state;
	loops(&d);
	code = mxt_code(&d);
	mxt_start(&p, &d, 5);
	mxt_run_node(&p);
	mxt_expand(code, &p, 100, &read);
	assert_int_equal(read.n, 0);
	while (!mxt_run_node(&p))
		;
	read.n = 0;
	mxt_expand(code, &p, 100, &read);
	assert_in_range(read.n, 1, p.nv - 1);
	assert_memory_equal(read.v, p.v, read.n * sizeof(*p.v));
	free(read.v);
	mxt_free(&p);
	mt_code_free(code);
}

/* ---- paths ---- */

enum { PATH_HANDLER = 6 };

/* Three branches; without words if none of them is taken. */
static void paths(struct mxt_description *dp)
{
	struct mxt_description d = { 0 };

	mxt_node(&d, true);	/* 0 */
	VALUE(0);
	ACCESS(0, 0);
	PEEK(4, 1);
	mxt_node(&d, false);	/* 1 */
	ACCESS(0, 8);
	ADD(0, 1);
	PEEK(5, 2);
	mxt_node(&d, false);	/* 2 */
	ACCESS(0, 16);
	GOTO(3);
	mxt_node(&d, false);	/* 3 */
	ADD(0, 1);
	ACCESS(0, 24);
	NEXT;
	mxt_node(&d, true);	/* 4: only from 0 */
	ACCESS(0, 32);
	GOTO(2);
	mxt_node(&d, true);	/* 5: only from 1 */
	OP(.code = MD_VALUE_U32, .dst = 1);
	ACCESS(1, 40);
	NEXT;
	mxt_node(&d, true);	/* 6 */
	VALUE(3);
	ACCESS(3, 0);
	NEXT;
	*dp = d;
}

/* Where the program is cut: in the node that is the @visit-th, before its header, or before operation @at - 1. */
static void run_path(struct mxt_program *p, uint32_t visits, uint32_t visit, uint32_t at, bool signal)
{
	bool next = true;

	for (uint32_t i = 0; i < visits || !next; i++) {
		if (next)
			p->node = 0;
		if (i == visit && at <= p->d->nodes[p->node].nops) {
			if (at)
				mxt_run_to(p, at - 1);
			if (signal)
				mxt_signal(p, PATH_HANDLER, true);
			else if (!at)
				mxt_chunk(p, MD_CHUNK_MORE);
		}
		next = mxt_run_node(p);
	}
	mxt_chunk(p, MD_CHUNK_END);
}

/* Chunks end, and handlers come in between, at all places of all paths. */
static void test_paths(void **state)
{
	enum { VISITS = 6, PLACES = 5 };
	struct mxt_description d;

	(void)state;
	paths(&d);
	for (uint64_t seed = 0; seed < 60; seed++) {
		for (uint32_t place = 0; place < 2 * VISITS * PLACES; place++) {
			struct mxt_program p;

			mxt_start(&p, &d, seed);
			run_path(&p, VISITS, place / 2 / PLACES, place / 2 % PLACES, place % 2);
			assert_false(p.ambiguous);
			check_all(&d, &p);
			mxt_free(&p);
		}
	}
}

/* Which way was taken last is not known before a word follows, or the thread has ended. */
static void test_unproven_path(void **state)
{
	struct mxt_description d;
	struct mxt_program p;
	struct mxt_read read = { 0 };
	struct mt_code *code;
	bool next = false;

	(void)state;
	paths(&d);
	code = mxt_code(&d);
	mxt_start(&p, &d, 0);
	for (int i = 0; i < 2; i++)
		next |= mxt_run_node(&p);
	assert_false(next);	/* not 4, 5 or the path's end */
	mxt_expand(code, &p, 100, &read);
	assert_int_equal(read.n, 0);
	while (!mxt_run_node(&p))
		;
	mxt_chunk(&p, MD_CHUNK_END);
	read.n = 0;
	mxt_expand(code, &p, 100, &read);
	assert_int_equal(read.n, p.nv);
	free(read.v);
	mxt_free(&p);
	mt_code_free(code);
}

/* ---- loops ---- */

static uint64_t first_value;

static uint64_t given(struct mxt_program *p)
{
	(void)p;
	return first_value;
}

/* A register of 32 bits that wraps around, or had more of them at first, at some iteration of a counted loop. */
static void test_narrow_loops(void **state)
{
	(void)state;
	repeats = 0;
	for (int64_t step = -3; step <= 3; step++) {
		struct mxt_description d = { 0 };

		mxt_node(&d, true);
		VALUE(0);
		OP(.code = MD_LEA, .dst = 1, .base = N, .index = N, .width = 8);
		GOTO(1);
		mxt_node(&d, false);
		ACCESS(0, 16);
		OP(.code = MD_LEA, .dst = 0, .base = 0, .index = N, .width = 4, .imm = step);
		OP(.code = MD_SEXT, .dst = 2, .base = 0, .width = 4);
		ACCESS(2, 0);
		ADD(1, 1);
		FLAGS(1, 20);
		IF(CC_NE, 1, 2);
		mxt_node(&d, false);
		ACCESS(0, 0);
		NEXT;
		for (int64_t off = -30; off <= 30; off++) {
			static const uint64_t edges[] = { 0, 1ull << 31, 1ull << 32, 3ull << 32 };

			for (int k = 0; k < 4; k++) {
				struct mxt_program p;

				first_value = edges[k] + (uint64_t)off;
				mxt_start(&p, &d, 1);
				p.value = given;
				run_loops(&p); /* whose end the next one proves */
				run_loops(&p);
				mxt_chunk(&p, MD_CHUNK_END);
				check_all(&d, &p);
				mxt_free(&p);
			}
		}
	}
	assert_true(repeats > 1000);
}

/* ---- damage ---- */

static void test_bad_descriptions(void **state)
{
	struct mxt_description good, d;

	(void)state;
	loops(&good);
	assert_int_equal(mxt_try(&good), MT_OK);
#define BAD(change) do { d = good; change; assert_int_equal(mxt_try(&d), MT_BAD_CODE); } while (0)
	BAD(d.ops[0].code = MD_CODES);
	BAD(d.ops[0].code = MD_NEXT);
	BAD(d.ops[2] = ((struct md_op){ .code = MD_PEEK, .imm = mxt_targets(1, 0) }));	/* has no header */
	BAD(d.ops[2] = ((struct md_op){ .code = MD_PEEK, .imm = mxt_targets(0, 9) }));
	BAD(d.ops[0].dst = MD_FS);
	BAD(d.ops[0].code = MD_VALUE_U32);
	BAD(d.ops[1].width = 3);
	BAD(d.ops[1].base = MD_REGS);
	BAD(d.ops[2].imm = 6);
	BAD(d.ops[2].imm = -1);
	BAD(d.ops[2].code = MD_LEA);
	BAD(d.ops[3].dst = 4);
	BAD(d.ops[3].width = 0);
	BAD(d.ops[3].scale = 4);
	BAD(d.nodes[0].bytes += 4);
	BAD(d.nodes[0].flags = 0);
	BAD(d.nodes[0].flags |= MD_NODE_VARIES);
	BAD(d.nodes[0].flags |= 128);
	BAD(d.nodes[1].accesses++);
	BAD(d.nodes[1].op = UINT32_MAX);
	BAD(d.nodes[1].nops = 0);
	BAD(d.nodes[1].nops = UINT32_MAX);
	BAD(d.nodes[1] = d.nodes[2]);
#undef BAD
}

static enum mt_status damaged(size_t chunk, size_t at, uint32_t word)
{
	struct mxt_description d;
	struct mxt_program p;
	struct mxt_read read = { 0 };
	struct mt_code *code;
	enum mt_status status;

	loops(&d);
	code = mxt_code(&d);
	mxt_start(&p, &d, 5);
	run_loops(&p);
	mxt_chunk(&p, MD_CHUNK_MORE);
	run_loops(&p);
	mxt_chunk(&p, MD_CHUNK_END);
	memcpy(p.chunks[chunk].data + at, &word, 4);
	mxt_expand(code, &p, 100, &read);
	status = read.status;
	free(read.v);
	mxt_free(&p);
	mt_code_free(code);
	return status;
}

static void test_bad_streams(void **state)
{
	(void)state;
	assert_int_equal(damaged(1, 32, MXT_FIRST), MT_OK);
	assert_int_equal(damaged(1, 32, 0), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 32, MXT_FIRST - 1), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 32, MXT_FIRST + 1), MT_BAD_STREAM);	/* it has no header */
	assert_int_equal(damaged(1, 32, MXT_FIRST + 6), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 0, 0), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 0, MD_CHUNK_RESUME), MT_BAD_STREAM);
	assert_int_equal(damaged(0, 0, MD_CHUNK_MORE), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 24, 8), MT_BAD_STREAM);
	assert_int_equal(damaged(1, 24, 4000), MT_BAD_STREAM);
}

/* What is read before the damage is handed out, and then said that there is some, once. */
static void test_damage_after_accesses(void **state)
{
	struct mxt_description d = { 0 };
	struct mxt_program p;
	struct mt_access v[50];
	enum mt_status status;
	struct mt_machine *m;
	struct mt_code *code;

	(void)state;
	mxt_node(&d, true);
	VALUE(0);
	ACCESS(0, 0);
	NEXT;
	code = mxt_code(&d);
	mxt_start(&p, &d, 1);
	for (int i = 0; i < 3; i++)
		mxt_run_node(&p);
	memset(p.chunks[0].data + p.chunks[0].len - 12, 0xff, 4);
	m = mt_machine_new(code);
	assert_non_null(m);
	assert_int_equal(mt_feed(m, p.chunks[0].data, p.chunks[0].len), MT_OK);
	assert_int_equal(mt_next(m, v, 50, &status), 2);
	assert_int_equal(status, MT_OK);
	assert_int_equal(mt_next(m, v, 50, &status), 0);
	assert_int_equal(status, MT_BAD_STREAM);
	assert_int_equal(mt_next(m, v, 50, &status), 0);
	assert_int_equal(status, MT_OK);
	mt_machine_free(m);
	mxt_free(&p);
	mt_code_free(code);
}

/* Loops that do not end: with an access, each call comes back; without, or when counting, it is damage. */
static void check_endless(bool access, bool moves)
{
	struct mxt_description d = { 0 };
	struct mxt_program p;
	struct mt_machine *m;
	struct mt_code *code;
	struct mt_access v[50];
	struct mt_counts counts = { 0 };
	enum mt_status status;

	mxt_node(&d, true);
	GOTO(1);
	mxt_node(&d, false);
	if (access)
		ACCESS(3, 0);
	if (moves)
		ADD(3, 1);
	GOTO(1);
	mxt_start(&p, &d, 1);
	mxt_run_node(&p);
	mxt_chunk(&p, MD_CHUNK_END);
	code = mxt_code(&d);
	for (int counted = 0; counted < 2; counted++) {
		m = mt_machine_new(code);
		mt_machine_limit(m, 1000);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(mt_feed(m, p.chunks[i].data, p.chunks[i].len), MT_OK);
			if (!counted)
				assert_int_equal(mt_next(m, v, 50, &status), access && i ? 50 : 0);
			else
				status = mt_count(m, true, &counts);
			assert_int_equal(status, i && (counted || !access) ? MT_BAD_STREAM : MT_OK);
		}
		mt_machine_free(m);
	}
	mxt_free(&p);
	mt_code_free(code);
}

static void test_endless(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++)
		check_endless(k & 1, k & 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_computing),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_state_flags),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_string_signals),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_unproven_path),
		cmocka_unit_test(test_narrow_loops),
		cmocka_unit_test(test_bad_descriptions),
		cmocka_unit_test(test_bad_streams),
		cmocka_unit_test(test_damage_after_accesses),
		cmocka_unit_test(test_endless),
	};
	int failed = cmocka_run_group_tests_name("interpreted", tests, NULL, NULL);

	mxt_compiled = true;
	return failed + cmocka_run_group_tests_name("compiled", tests, NULL, NULL);
}
