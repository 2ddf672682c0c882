// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Plans and emits the copies that record memory of all functions of the C library, or of the files
 * named.  Prints how many functions cannot be instrumented and why, and what the others take.
 *	-v  lists those; -s  the stack, too; -r  rungs (number)
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injector/facts/facts.h"
#include "tests/unit/wrap/elf.h"
#include "trampolines/mirror/mirror.h"

enum { BIG = 16, PERCENT = 90, BLOCKS_MIN = 50000, LISTED_MAX = 20, DISTANCE = 1 << 28, SLACK = 4096 };

struct tally {
	size_t by_status[TRAMP_MIRROR_STATUS_COUNT], functions;
	size_t blocks, original, bytes, room, pieces, mems, nodes, ops, headers, accesses, wrong;
	double plan_time, emit_time;
};

struct survey {
	const struct inj_codefacts *facts;
	const struct tramp_code *code;
	struct tramp_mirror *mirror;
	struct tally *tally;
	uint8_t *buf;
	size_t room;
};

static bool verbose, stack;
static unsigned int rungs = TRAMP_MEM_ALL;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void complain(struct survey *s, uint32_t fn, const char *what)
{
	if (s->tally->wrong++ < LISTED_MAX)
		printf("%#" PRIx64 " %s: %s\n", s->facts->facts.fns[fn].addr, s->facts->fn[fn].name, what);
}

static const char *look_at_pieces(const struct tramp_mirror_code *code, const struct tramp_mem_description *d,
				  uint32_t first)
{
	for (size_t i = 0; i < code->nmems; i++) {
		const struct rt_mem_piece *p = &code->mems[i];

		if (p->start >= code->len || (i ? p->start <= p[-1].start : p->start != 0))
			return "pieces are not in order";
		if (p->flags & RT_MEM_BACK && p->back > p->start)
			return "a piece leads back to nowhere";
		if (p->node - first >= d->nnodes || p->written > d->nodes[p->node - first].bytes)
			return "a piece of no node, or with more words than it has";
		if (p->reg != RT_MEM_NO_REG && (p->reg > TRAMP_R15 || p->reg == TRAMP_RSP))
			return "a pointer nowhere";
	}
	return code->nmems ? NULL : "no pieces";
}

static void add_description(struct tally *t, const struct tramp_mem_description *d)
{
	t->nodes += d->nnodes;
	t->ops += d->nops;
	for (size_t i = 0; i < d->nnodes; i++) {
		t->headers += d->nodes[i].flags & MD_NODE_HEADER;
		t->accesses += d->nodes[i].accesses;
	}
}

static void emit(struct survey *s, const struct tramp_mirror_request *req)
{
	uint64_t base = tramp_code_base(s->code);
	size_t room = tramp_mirror_room(s->mirror);
	struct tramp_mem_description d;
	struct tramp_mirror_code code;
	enum tramp_mirror_status status;
	const char *wrong;
	double start = now();

	if (room > s->room) {
		s->room = 2 * room;
		free(s->buf);
		s->buf = malloc(s->room);
		if (!s->buf)
			err(99, "buffer");
	}
	status = tramp_mirror_emit(s->mirror, base, base + DISTANCE, s->buf, room, &code);
	s->tally->emit_time += now() - start;
	if (status != TRAMP_MIRROR_OK) {
		complain(s, req->fn, tramp_mirror_text(status));
		return;
	}
	tramp_mirror_description(s->mirror, &d);
	add_description(s->tally, &d);
	s->tally->bytes += code.len;
	s->tally->room += room;
	s->tally->pieces += code.npieces;
	s->tally->mems += code.nmems;
	wrong = look_at_pieces(&code, &d, req->node);
	if (wrong)
		complain(s, req->fn, wrong);
}

static void survey_function(struct survey *s, uint32_t fn)
{
	struct tramp_mirror_request req = {
		.fn = fn, .want = TRAMP_MIRROR_ACCESSES, .enter = 2, .leave = 3, .node = 1,
	};
	const struct tramp_fn *f = &s->facts->facts.fns[fn];
	struct tramp_mirror_plan plan;
	enum tramp_mirror_status status;
	double start = now();

	if (f->size < BIG)
		return;
	status = tramp_mirror_plan(s->mirror, &req, &plan);
	s->tally->plan_time += now() - start;
	s->tally->functions++;
	s->tally->by_status[status]++;
	if (status == TRAMP_MIRROR_OK) {
		s->tally->blocks += plan.nblocks;
		s->tally->original += f->size;
		emit(s, &req);
	} else if (verbose) {
		printf("%#" PRIx64 " %s (%" PRIu64 "): %s\n", f->addr, s->facts->fn[fn].name, f->size,
		       tramp_mirror_text(status));
	}
}

static void survey_file(const char *path, struct tally *tally)
{
	static const struct tramp_probe_env env = {
		.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16,
		.gate = 0x10000000,
	};
	const struct tramp_mem_env mem = {
		.id = TRAMP_ID_FS_ZERO, .ptr = 8, .limit = 16, .park = 24, .slot = { 32, 40, 48 },
		.gate = 0x10000000, .slack = SLACK, .stack = stack, .rungs = rungs,
	};
	struct survey s = { .tally = tally };
	struct tramp_checker *checker = tramp_checker_new();
	struct inj_codefacts f;
	struct inj_symtab *tab;
	struct tramp_code *code;

	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK ||
	    inj_codefacts_read(path, tab, &f) != INJ_OK)
		errx(99, "%s: cannot be read", path);
	if (tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: no code", path);
	s.facts = &f;
	s.code = code;
	s.mirror = tramp_mirror_new(code, &env, checker);
	if (!s.mirror || !checker)
		errx(99, "no memory");
	tramp_mirror_memory(s.mirror, &mem, 0);
	for (uint32_t i = 0; i < f.facts.nfns; i++) {
		if (tramp_code_function(code, f.facts.fns[i].addr) == i)
			survey_function(&s, i);
	}
	tramp_mirror_free(s.mirror);
	tramp_checker_free(checker);
	free(s.buf);
	tramp_code_free(code);
	inj_codefacts_free(&f);
	inj_symtab_close(tab);
}

static bool report(const char *path, const struct tally *t)
{
	size_t ok = t->by_status[TRAMP_MIRROR_OK];
	double blocks = (double)t->blocks / 1e6;

	printf("%s: %zu functions of %d bytes or more: %.2f %%\n", path, t->functions, BIG,
	       t->functions ? 100.0 * (double)ok / (double)t->functions : 0);
	for (int i = 0; i < TRAMP_MIRROR_STATUS_COUNT; i++) {
		if (t->by_status[i])
			printf("  %6zu  %s\n", t->by_status[i], tramp_mirror_text(i));
	}
	printf("  %zu blocks, %zu bytes; %zu bytes of mirror (%.2f a byte), room for %zu; %zu pieces, "
	       "%zu of memory\n", t->blocks, t->original, t->bytes, (double)t->bytes / (double)t->original,
	       t->room, t->pieces, t->mems);
	printf("  %zu nodes, %zu with a header, %zu operations, %zu accesses; a million blocks: plans %.2f s, "
	       "emission %.2f s\n", t->nodes, t->headers, t->ops, t->accesses, t->plan_time / blocks,
	       t->emit_time / blocks);
	if (t->wrong)
		printf("  %zu WRONG\n", t->wrong);
	return !t->wrong && 100 * ok >= PERCENT * t->functions;
}

int main(int argc, char **argv)
{
	struct tally none = { 0 }, tally;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "vsr:")) != -1) {
		verbose |= option == 'v';
		stack |= option == 's';
		if (option == 'r')
			rungs = (unsigned int)strtoul(optarg, NULL, 0);
	}
	if (optind == argc) {
		tally = none;
		survey_file(elf_libc_path(), &tally);
		failed |= !report("the C library", &tally) || tally.blocks < BLOCKS_MIN;
	}
	for (; optind < argc; optind++) {
		tally = none;
		survey_file(argv[optind], &tally);
		failed |= !report(argv[optind], &tally);
	}
	return failed;
}
