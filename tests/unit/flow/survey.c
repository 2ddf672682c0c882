// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The flow of all functions of the C library, or of the files named: what holds for every flow has to
 * hold for each.  With -t, the time it takes.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/flow/support.h"
#include "trampolines/trampoline.h"

enum { LISTED_MAX = 30, BLOCKS_MIN = 50000 };

struct tally {
	size_t fns, blocks, ops, unsure, bad, overlap, switches, tails, ends[TRAMP_END_STOP + 1];
	size_t irreducible, loops, wrong, different;
	size_t entries[4], exits[4], flags_dead; /* with so many dead registers */
	struct tramp_checker *checker; /* NULL: not wanted */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void complain(struct tally *tally, const struct file_facts *f, const struct tramp_flow *flow,
		     uint32_t off, const char *what)
{
	if (tally->wrong++ < LISTED_MAX)
		printf("%s (%#" PRIx64 ") at %#" PRIx64 ": %s\n", f->names[flow->fn],
		       f->fns[flow->fn].addr, tramp_code_base(flow->code) + off, what);
}

static void check_block(struct tally *tally, const struct file_facts *f,
			const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	uint32_t at = b->start;

	if (b->nops == 0 || b->op + b->nops > flow->nops)
		complain(tally, f, flow, b->start, "a block without instructions");
	for (uint32_t k = b->op; k < b->op + b->nops; k++) {
		if (flow->ops[k].off != at)
			complain(tally, f, flow, at, "a gap in a block");
		at += flow->ops[k].len;
	}
	if (at != b->end)
		complain(tally, f, flow, at, "a block that ends elsewhere");
	if (i && b->start < b[-1].end && !(flow->flags & TRAMP_FLOW_OVERLAP))
		complain(tally, f, flow, b->start, "blocks overlap");
	if ((b->target != TRAMP_NONE && b->target >= flow->nblocks) ||
	    (b->next != TRAMP_NONE && b->next >= flow->nblocks))
		complain(tally, f, flow, b->start, "an edge to nowhere");
	if (b->next != TRAMP_NONE && flow->blocks[b->next].start != b->end)
		complain(tally, f, flow, b->start, "next is not next");
	tally->ends[b->ends]++;
}

/* No place that control may come to is inside of a block. */
static void check_inside(struct tally *tally, const struct file_facts *f,
			 const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	uint64_t base = tramp_code_base(flow->code);

	for (uint32_t off = b->start + 1; off < b->end; off++) {
		size_t left;
		const uint8_t *bytes = tramp_code_at(flow->code, base + off, &left);

		if (tramp_code_external(flow->code, base + off) && tramp_insn_length(bytes, left) &&
		    !(flow->flags & (TRAMP_FLOW_OVERLAP | TRAMP_FLOW_BAD_CODE)))
			complain(tally, f, flow, off, "an external place inside of a block");
	}
}

/* The second decoder sees the same instructions. */
static void check_lengths(struct tally *tally, const struct file_facts *f,
			  const struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nops; i++) {
		const struct tramp_op *op = &flow->ops[i];
		uint64_t addr = tramp_code_base(flow->code) + op->off;
		size_t left, len;
		const uint8_t *bytes = tramp_code_at(flow->code, addr, &left);

		len = tramp_checker_length(tally->checker, bytes, left);
		if (len == op->len || tally->different++ >= LISTED_MAX)
			continue;
		printf("%s+%#" PRIx64 ": %u bytes by Zydis, %zu by libopcodes:", f->names[flow->fn],
		       addr - f->fns[flow->fn].addr, op->len, len);
		for (size_t k = 0; k < op->len; k++)
			printf(" %02x", bytes[k]);
		printf("\n");
	}
}

static size_t min3(size_t n)
{
	return n < 3 ? n : 3;
}

static void count_dead(struct tally *tally, const struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];
		tramp_regs dead = ~b->live_in;

		if (b->flags & TRAMP_BLOCK_ENTRY) {
			tally->entries[min3((size_t)__builtin_popcount(dead & TRAMP_GPRS))]++;
			tally->flags_dead += (dead & TRAMP_STATUS) == TRAMP_STATUS;
		}
		if (b->ends != TRAMP_END_RET)
			continue;
		dead = ~tramp_flow_live_at(flow, i, b->op + b->nops - 1);
		tally->exits[min3((size_t)__builtin_popcount(dead & TRAMP_GPRS))]++;
	}
}

static void check_flow(struct tally *tally, const struct file_facts *f, const struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		check_block(tally, f, flow, i);
		check_inside(tally, f, flow, i);
	}
	if (tally->checker)
		check_lengths(tally, f, flow);
	if (flow->nblocks && flow->entry >= flow->nblocks)
		complain(tally, f, flow, 0, "no entry");
	count_dead(tally, flow);
	tally->fns++;
	tally->blocks += flow->nblocks;
	tally->ops += flow->nops;
	tally->loops += flow->nloops;
	tally->unsure += (flow->flags & TRAMP_FLOW_UNSURE) != 0;
	tally->bad += (flow->flags & TRAMP_FLOW_BAD_CODE) != 0;
	tally->overlap += (flow->flags & TRAMP_FLOW_OVERLAP) != 0;
	tally->irreducible += (flow->flags & TRAMP_FLOW_IRREDUCIBLE) != 0;
	if (getenv("FLOW_LIST") && flow->flags)
		printf("%s (%#" PRIx64 "): flags %u\n", f->names[flow->fn], f->fns[flow->fn].addr,
		       flow->flags);
}

static void survey(const char *path, struct tally *tally, bool timed)
{
	struct tramp_flow flow = { 0 };
	struct file_facts f;
	struct tramp_code *code;
	double start, built = 0;

	file_facts_open(&f, path);
	start = now();
	if (tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: no code", path);
	if (timed)
		printf("%s: pass %.3f s\n", path, now() - start);
	for (uint32_t i = 0; i < f.facts.nfns; i++) {
		if (tramp_code_function(code, f.fns[i].addr) != i)
			continue;
		start = now();
		if (tramp_flow_build(&flow, code, i) != TRAMP_CODE_OK)
			errx(99, "no memory");
		tramp_flow_live(&flow);
		built += now() - start;
		if (tramp_flow_loops(&flow) != TRAMP_CODE_OK)
			errx(99, "no memory");
		check_flow(tally, &f, &flow);
	}
	if (timed)
		printf("%s: flows %.3f s\n", path, built);
	tramp_flow_free(&flow);
	tramp_code_free(code);
	file_facts_close(&f);
}

int main(int argc, char **argv)
{
	static const char *const ends[] = { "fall", "jmp", "jcc", "call", "noreturn", "switch", "ret",
		"tail", "tail_jcc", "tail_ind", "tail_fall", "unsure", "stop" };
	bool timed = argc > 1 && strcmp(argv[1], "-t") == 0;
	struct tally tally = { 0 };
	struct rusage usage;
	int first = timed ? 2 : 1;

	if (!timed)
		tally.checker = tramp_checker_new();
	if (tally.checker && tramp_checker_length(tally.checker, (const uint8_t *)"\x90", 1) == 0) {
		tramp_checker_free(tally.checker);	/* built without it */
		tally.checker = NULL;
	}
	if (first == argc)
		survey(elf_libc_path(), &tally, timed);
	for (int i = first; i < argc; i++)
		survey(argv[i], &tally, timed);
	tramp_checker_free(tally.checker);
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu functions, %zu blocks, %zu instructions, %zu loops; functions: %zu unsure, %zu bad "
	       "code, %zu overlap, %zu irreducible; %zu wrong, %zu different; %ld MB\n",
	       tally.fns, tally.blocks, tally.ops, tally.loops, tally.unsure, tally.bad,
	       tally.overlap, tally.irreducible, tally.wrong, tally.different, usage.ru_maxrss / 1024);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		printf("%s %zu%s", ends[i], tally.ends[i], i + 1 < sizeof(ends) / sizeof(ends[0]) ? ", " : "\n");
	printf("dead registers (0, 1, 2, more) at entries: %zu %zu %zu %zu, flags at %zu; at ret: %zu %zu "
	       "%zu %zu\n", tally.entries[0], tally.entries[1], tally.entries[2], tally.entries[3],
	       tally.flags_dead, tally.exits[0], tally.exits[1], tally.exits[2], tally.exits[3]);
	return tally.wrong || tally.different || tally.blocks < BLOCKS_MIN;
}
