// SPDX-License-Identifier: GPL-3.0-or-later
/* Small functions, as gcc 12 makes them: how much is written each time around their loops. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memplan/check.h"

#define ADDRESS 0x401000ull
#define TABLE 0x402000ull
#define NEXT "\x31\xc0\xc3"	/* the function after: xor %eax, %eax; ret */

struct subject {
	uint8_t bytes[512];
	struct tramp_bytes maps[2];
	struct tramp_fn fns[2];
	struct tramp_facts facts;
	struct tramp_code *code;
	struct tramp_flow flow;
	struct tramp_mem_env env;
	struct mp *planner;
	struct mem_plan plan;
	enum tramp_mirror_status status;
};

static void plan(struct subject *s, unsigned int rungs, bool stack)
{
	uint32_t node;
	const char *wrong;

	s->env = (struct tramp_mem_env){ .slack = 4096, .stack = stack, .rungs = rungs };
	if (!s->planner)
		s->planner = mem_planner_new();
	assert_non_null(s->planner);
	s->status = mem_plan(s->planner, &s->plan, &s->env, &s->flow, 0);
	if (s->status != TRAMP_MIRROR_OK)
		return;
	wrong = memplan_check(&s->plan, &s->env, &s->flow, 0, &node);
	if (wrong)
		fail_msg("node %u: %s", node, wrong);
}

/* @table: of @ntable distances, at TABLE. */
static void build_with(struct subject *s, const void *code, size_t size, const int32_t *table, size_t ntable)
{
	memset(s, 0, sizeof(*s));
	assert_true(size + sizeof(NEXT) <= sizeof(s->bytes));
	memcpy(s->bytes, code, size);
	memcpy(s->bytes + size, NEXT, sizeof(NEXT) - 1);
	s->maps[0] = (struct tramp_bytes){ .addr = ADDRESS, .bytes = s->bytes, .len = size + 3, .code = true };
	s->maps[1] = (struct tramp_bytes){ .addr = TABLE, .bytes = (const void *)table, .len = 4 * ntable };
	s->fns[0] = (struct tramp_fn){ ADDRESS, size, TRAMP_FN_FRAMED, TRAMP_NONE };
	s->fns[1] = (struct tramp_fn){ ADDRESS + size, 3, TRAMP_FN_FRAMED, TRAMP_NONE };
	s->facts = (struct tramp_facts){
		.bytes = s->maps, .nbytes = table ? 2 : 1, .fns = s->fns, .nfns = 2,
	};
	assert_int_equal(tramp_code_new(&s->facts, &s->code), TRAMP_CODE_OK);
	assert_int_equal(tramp_flow_build(&s->flow, s->code, 0), TRAMP_CODE_OK);
	tramp_flow_live(&s->flow);
	assert_int_equal(tramp_flow_loops(&s->flow), TRAMP_CODE_OK);
	plan(s, TRAMP_MEM_ALL, false);
}

#define BUILD(s, code) build_with(s, code, sizeof(code) - 1, NULL, 0)

static void drop(struct subject *s)
{
	mem_plan_free(&s->plan);
	mem_planner_free(s->planner);
	tramp_flow_free(&s->flow);
	tramp_code_free(s->code);
}

/* ---- once around a loop ---- */

struct lap {
	unsigned int bytes, headers, checks, homes, nodes;
};

static bool within(const struct subject *s, uint32_t node, unsigned int depth)
{
	return node != TRAMP_NONE && s->flow.blocks[s->plan.nodes[node].block].loop_depth >= depth;
}

/* It stays in the loop, falls through if it can, and goes after calls. */
static uint32_t on_from(const struct subject *s, uint32_t node, unsigned int depth)
{
	const struct mem_node *n = &s->plan.nodes[node];
	const struct tramp_block *b = &s->flow.blocks[n->block];

	if (n->next == TRAMP_NONE && n->target == TRAMP_NONE && b->ends == TRAMP_END_CALL)
		return s->plan.entry[b->next];
	return within(s, n->next, depth) ? n->next : n->target;
}

/* From the block at an offset on, until it comes there again. */
static struct lap lap(const struct subject *s, uint32_t off)
{
	struct lap sum = { 0 };
	uint32_t block = 0, start, node;

	while (block < s->flow.nblocks && s->flow.blocks[block].start != off)
		block++;
	assert_true(block < s->flow.nblocks);
	start = node = s->plan.body[block];
	do {
		const struct mem_node *n = &s->plan.nodes[node];

		sum.bytes += n->bytes;
		sum.headers += n->header;
		sum.homes += !n->kept;
		sum.nodes++;
		for (uint32_t k = 0; k < n->nactions; k++)
			sum.checks += s->plan.actions[n->action + k].code == MEM_CHECK;
		node = on_from(s, node, s->flow.blocks[block].loop_depth);
		assert_true(node < s->plan.nnodes && sum.nodes <= s->plan.nnodes);
	} while (node != start);
	return sum;
}

/* Bytes of values that are stored on the way into loops: on edges, or before all loops. */
static unsigned int values_outside(const struct subject *s)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < s->plan.nnodes; i++) {
		if (s->plan.nodes[i].nops == 0 || !within(s, i, 1))
			n += s->plan.nodes[i].bytes - (s->plan.nodes[i].header ? 4 : 0);
	}
	return n;
}

/* ---- cases ---- */

/* for (i = 0; i < n; i++) y[i] += a * x[i]: three values before it, and then nothing */
static const char daxpy[] =
	"\x48\x85\xd2\x7e\x23\x31\xc0\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"
	"\xc5\xfb\x10\x0c\xc6"		/* 10: vmovsd (%rsi,%rax,8), %xmm1 */
	"\xc4\xe2\xf9\xa9\x0c\xc7"	/* vfmadd213sd (%rdi,%rax,8), %xmm0, %xmm1 */
	"\xc5\xfb\x11\x0c\xc7"		/* vmovsd %xmm1, (%rdi,%rax,8) */
	"\x48\xff\xc0\x48\x39\xc2\x75\xe8\xc3"; /* inc %rax; cmp %rax, %rdx; jne 10; ret */

static void test_known_bound(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, daxpy);
	l = lap(&s, 0x10);
	assert_int_equal(l.bytes, 0);
	assert_int_equal(l.checks, 0);
	assert_int_equal(l.homes, 0);
	assert_int_equal(values_outside(&s), 24);
	drop(&s);
}

/* The same with less left to the reader. */
static void test_rungs(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, daxpy);
	plan(&s, 0, false);
	l = lap(&s, 0x10);
	assert_int_equal(l.bytes, 4 + 3 * 16);
	assert_int_equal(l.homes, 1);
	assert_int_equal(l.checks, 1);
	plan(&s, TRAMP_MEM_CHAINS, false);
	assert_int_equal(lap(&s, 0x10).bytes, 4 + 3 * 8);
	plan(&s, TRAMP_MEM_CHAINS | TRAMP_MEM_RESIDENT, false);
	assert_int_equal(lap(&s, 0x10).homes, 0);
	plan(&s, TRAMP_MEM_CHAINS | TRAMP_MEM_RESIDENT | TRAMP_MEM_KNOWN, false);
	l = lap(&s, 0x10);
	assert_int_equal(l.bytes, 4);
	assert_int_equal(l.headers, 1);
	assert_int_equal(l.checks, 1);
	drop(&s);
}

/* s += a[b[i]], b of int: four bytes each time */
static void test_indirect(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x48\x85\xd2\x7e\x1c\x48\x8d\x14\x96\xc5\xf9\x57\xc0\x0f\x1f\x00"
		  "\x48\x63\x06\x48\x83\xc6\x04\xc5\xfb\x58\x04\xc7" /* 10: movslq (%rsi), %rax; ... */
		  "\x48\x39\xf2\x75\xef\xc3");
	l = lap(&s, 0x10);
	assert_int_equal(l.bytes, 4);
	assert_int_equal(l.headers, 0);
	assert_int_equal(l.checks, 1);
	assert_int_equal(l.homes, 0);
	drop(&s);
}

/* while (p) { s += p->v; p = p->next; }: p, each time, which also says when it ends */
static void test_list(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x31\xc0\x48\x85\xff\x74\x19\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"
		  "\x48\x03\x47\x08\x48\x8b\x3f\x48\x85\xff\x75\xf4\xc3\x0f\x1f\x00\xc3");
	l = lap(&s, 0x10);
	assert_int_equal(l.bytes, 8);
	assert_int_equal(l.headers, 0);
	assert_int_equal(l.checks, 1);
	drop(&s);
}

/* for (i = 0; i < n; i++) f(a[i]): after the call nothing is known */
static void test_calls(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x48\x85\xf6\x7e\x2b\x41\x54\x49\x89\xfc\x55\x48\x89\xf5\x53\x31"
		  "\xdb\x49\x8b\x3c\xdc\x48\xff\xc3\xe8\x44\xfe\xff\xff\x48\x39\xdd\x75\xef"
		  "\x5b\x5d\x41\x5c\xc3\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xc3");
	l = lap(&s, 0x11);
	assert_int_equal(l.bytes, 4 + 16 + 4);
	assert_int_equal(l.headers, 2);
	assert_int_equal(l.homes, 1);
	drop(&s);
}

/* for (i = 0; i < n; i++) { a[i] += 3; if (a[i] == 7) f(i); }: without the call, only that it was not made */
static void test_rare_call(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x48\x85\xf6\x7e\x3b\x41\x54\x49\x89\xf4\x55\x48\x89\xfd\x53\x31\xdb"
		  "\x48\x8b\x44\xdd\x00\x48\x83\xc0\x03\x48\x89\x44\xdd\x00\x48\x83\xf8\x07\x74\x0d"
		  "\x48\xff\xc3\x49\x39\xdc\x75\xe4\x5b\x5d\x41\x5c\xc3"
		  "\x48\x89\xdf\xe8\xc8\xfd\xff\xff\xeb\xe9\x0f\x1f\x00\x90\xc3");
	l = lap(&s, 0x11);
	assert_int_equal(l.bytes, 4);
	assert_int_equal(l.headers, 1);
	assert_int_equal(l.checks, 1);
	assert_int_equal(l.homes, 0);
	drop(&s);
}

/* Matrix multiplication: three loops, all bounds known; six values for all of it. */
static void test_nest(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x85\xc9\x0f\x8e\x83\x00\x00\x00\x55\x49\x89\xf2\x53\x48\x8d\x1c\xcd\x00\x00\x00\x00"
		  "\x49\x89\xf9\x49\x89\xcb\x49\x01\xda\x48\x8d\x34\x1f\x31\xed"
		  "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"
		  "\x4c\x89\xd7\x45\x31\xc0\x48\x29\xdf\x0f\x1f\x80\x00\x00\x00\x00"
		  "\xc5\xfb\x10\x0f\x4a\x8d\x0c\xc2\x4c\x89\xc8\x0f\x1f\x44\x00\x00"
		  "\xc5\xfb\x10\x01\x48\x83\xc0\x08\x48\x83\xc1\x08\xc4\xe2\xf1\xa9\x40\xf8"
		  "\xc5\xfb\x11\x40\xf8\x48\x39\xf0\x75\xe4"
		  "\x48\x83\xc7\x08\x4d\x01\xd8\x49\x39\xfa\x75\xc8"
		  "\x48\xff\xc5\x49\x01\xda\x49\x01\xd9\x48\x01\xde\x49\x39\xeb\x75\xa7"
		  "\x5b\x5d\xc3\xc3");
	assert_int_equal(s.flow.nloops, 3);
	assert_int_equal(lap(&s, 0x30).bytes, 0);
	assert_int_equal(lap(&s, 0x40).bytes, 0);
	assert_int_equal(lap(&s, 0x50).bytes, 0);
	assert_int_equal(values_outside(&s), 48);
	drop(&s);
}

/*
 * Sparse matrix times vector: four bytes each time in the inner loop; around it two bounds of four, and whether
 * a row is empty.
 */
static void test_sparse(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x85\xff\x7e\x56\x53\x49\x89\xfb\x31\xdb\x0f\x1f\x44\x00\x00"
		  "\x48\x63\x04\x9e\x44\x8b\x54\x9e\x04\xc5\xf1\x57\xc9\x44\x39\xd0\x7d\x29"
		  "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x0f\x1f\x00"
		  "\x48\x63\x3c\x82\xc4\xc1\x7b\x10\x04\xf8\xc5\xfb\x59\x04\xc1\x48\xff\xc0"
		  "\xc5\xf3\x58\xc8\x41\x39\xc2\x7f\xe5"
		  "\xc4\xc1\x7b\x11\x0c\xd9\x48\xff\xc3\x49\x39\xdb\x75\xb7\x5b\xc3\xc3");
	assert_int_equal(lap(&s, 0x30).bytes, 4);
	assert_int_equal(lap(&s, 0x30).headers, 0);
	assert_int_equal(lap(&s, 0x10).bytes, 4 + 8 + 4);
	assert_int_equal(lap(&s, 0x10).homes, 0);
	drop(&s);
}

/*
 * A system call, then an access by a register it leaves alone: mov $39, %eax; syscall; mov (%rdi), %rdx; ret.
 * Nothing is known after it, and the pool may be another thread's.
 */
static void test_syscall(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x8b\x17\xb8\x27\x00\x00\x00\x0f\x05\x48\x8b\x17\xc3");
	assert_int_equal(s.plan.nnodes, 2);
	assert_true(s.plan.nodes[0].leaves);
	assert_false(s.plan.nodes[0].kept);
	assert_int_equal(s.plan.nodes[0].bytes, 12);
	assert_true(s.plan.nodes[1].owner);
	assert_true(s.plan.nodes[1].header);
	assert_int_equal(s.plan.nodes[1].bytes, 12);
	drop(&s);
}

/*
 * cmp $2, %rdi; ja 9f; 1: movzbl (%rsi), %eax; lea table(%rip), %rdx; movslq (%rdx,%rax,4), %rax;
 * add %rdx, %rax; jmp *%rax; 2: add $1, %rsi; jmp 1b; 3: add $2, %rsi; jmp 1b; 9: ret: where the table leads nothing
 * is known, and the table's place is.  2 and 3 store %rsi, and whoever comes to 1 knows it.
 */
static void test_switch(void **state)
{
	static const int32_t table[] = { 0x1019 - 0x2000, 0x101f - 0x2000, 0x1025 - 0x2000 };
	static const char code[] =
		"\x48\x83\xff\x02\x77\x1f\x0f\xb6\x06\x48\x8d\x15\xf0\x0f\x00\x00\x48\x63\x04\x82"
		"\x48\x01\xd0\xff\xe0\x48\x83\xc6\x01\xeb\xe7\x48\x83\xc6\x02\xeb\xe1\xc3";
	struct subject s;

	(void)state;
	build_with(&s, code, sizeof(code) - 1, table, 3);
	assert_int_equal(s.flow.nblocks, 5);
	assert_int_equal(s.flow.blocks[1].ends, TRAMP_END_SWITCH);
	assert_int_equal(s.plan.nodes[s.plan.body[1]].bytes, 4);
	for (uint32_t i = 2; i < 5; i++) {
		const struct mem_node *n = &s.plan.nodes[s.plan.entry[i]];

		assert_true(n->header);
		assert_false(n->owner);
		assert_int_equal(n->bytes, i < 4 ? 4 + 8 : 4);
	}
	drop(&s);
}

/* Without the header. */
static unsigned int values_in(const struct subject *s, uint32_t node)
{
	return s->plan.nodes[node].bytes - (s->plan.nodes[node].header ? 4 : 0);
}

/* test %rsi, %rsi; je 1f; mov (%rdi), %eax; 1: mov 8(%rdi), %ecx; ret: %rdi is needed on either way, so at once */
static void test_fork(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x85\xf6\x74\x02\x8b\x07\x8b\x4f\x08\xc3");
	assert_int_equal(s.flow.nblocks, 3);
	assert_int_equal(values_in(&s, s.plan.body[0]), 8);
	for (uint32_t i = 1; i < s.plan.nnodes; i++)
		assert_int_equal(values_in(&s, i), 0);
	drop(&s);
}

/*
 * test %rsi, %rsi; js 9f; je 1f; mov (%rdi), %eax; 1: mov 8(%rdi), %ecx; 9: ret: %rdi is known on one of the ways to 1, so it
 * is stored on the other.
 */
static void test_meet(void **state)
{
	struct subject s;
	const struct mem_node *n;

	(void)state;
	BUILD(&s, "\x48\x85\xf6\x78\x07\x74\x02\x8b\x07\x8b\x4f\x08\xc3");
	assert_int_equal(s.flow.nblocks, 5);
	assert_int_equal(values_in(&s, s.plan.body[0]), 0);
	assert_int_equal(values_in(&s, s.plan.body[1]), 0);
	assert_int_equal(values_in(&s, s.plan.body[2]), 8);
	assert_int_equal(values_in(&s, s.plan.body[3]), 0);
	n = &s.plan.nodes[s.plan.body[1]];
	assert_int_equal(s.plan.nodes[n->target].nops, 0);
	assert_int_equal(values_in(&s, n->target), 8);
	drop(&s);
}

/* 1: mov (%rdi), %al; jmp 1b: the reader has to learn that it goes on. */
static void test_endless(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x90\x8a\x07\xeb\xfc");
	l = lap(&s, 1);
	assert_int_equal(l.bytes, 4);
	assert_int_equal(l.checks, 1);
	drop(&s);
}

/* push %rbx; mov (%rdi), %rbx; pop %rbx; ret: with the stack, rsp; without, not */
static unsigned int ends(const struct subject *s, enum md_code code)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->plan.nops; i++)
		n += s->plan.ops[i].code == code;
	return n;
}

/* if (*p) q = p[1]: the word that says so differs from all that can follow */
static void test_path(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x83\x3f\x00\x74\x03\x8b\x47\x04\xc3");
	assert_int_equal(ends(&s, MD_PEEK), 1);
	plan(&s, TRAMP_MEM_ALL & ~TRAMP_MEM_PATHS, false);
	assert_int_equal(ends(&s, MD_PEEK), 0);
	drop(&s);
}

/* The branch depends on a value, of 8 bytes: it could be anything, and before the branch it would be more. */
static void test_no_path(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x83\x3f\x00\x74\x06\x48\x8b\x47\x08\x8b\x00\x48\x8b\x47\x10\x8b\x00\xc3");
	assert_int_equal(ends(&s, MD_PEEK), 0);
	drop(&s);
}

/* if (p) q = *p: without p there is nothing to tell */
static void test_not_decided(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x85\xf6\x74\x02\x8b\x06\xc3");
	assert_int_equal(ends(&s, MD_IF), 0);
	assert_int_equal(values_in(&s, s.plan.body[0]), 0);
	assert_int_equal(values_in(&s, s.plan.body[1]), 8);
	drop(&s);
}

/* while (i < n && a[i] < key) i++: one word an iteration */
static void test_search(void **state)
{
	struct subject s;
	struct lap l;

	(void)state;
	BUILD(&s, "\x31\xc0\x85\xd2\x7e\x0e\x48\x39\x34\xc7\x73\x08\x48\x83\xc0\x01\x39\xc2\x75\xf2\xc3");
	l = lap(&s, 6);
	assert_int_equal(l.bytes, 4);
	assert_int_equal(l.headers, 1);
	drop(&s);
}

static void test_stack(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x53\x48\x8b\x1f\x5b\xc3");
	assert_int_equal(s.plan.md[0].accesses, 1);
	assert_int_equal(s.plan.md[0].bytes, 4 + 8);
	plan(&s, TRAMP_MEM_ALL, true);
	assert_int_equal(s.plan.md[0].accesses, 4);
	assert_int_equal(s.plan.md[0].bytes, 4 + 16);
	drop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_bound),
		cmocka_unit_test(test_rungs),
		cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_rare_call),
		cmocka_unit_test(test_nest),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_syscall),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_meet),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_no_path),
		cmocka_unit_test(test_not_decided),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
