// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: analysis flow|mirror FILE: what it takes to analyse all functions of an ELF file, by one thread: facts,
 * object pass, blocks, liveness, loops (flow); or facts, object pass, plans and emission (mirror).
 *
 * Prints: blocks, functions; CPU seconds for facts, for the object pass, for the functions; then bytes by
 * which the process grew at most, pages of the file itself included; for facts, and for everything.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "injector/facts/facts.h"
#include "trampolines/mirror/mirror.h"

#define ARENA (UINT64_C(1) << 28) /* after the code */

struct counts {
	uint64_t blocks, functions;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_bytes(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_maxrss * 1024;
}

static void flow_all(const struct inj_codefacts *f, const struct tramp_code *code, struct counts *n)
{
	struct tramp_flow flow = { 0 };

	for (uint32_t i = 0; i < f->facts.nfns; i++) {
		if (tramp_code_function(code, f->facts.fns[i].addr) != i)
			continue;
		if (tramp_flow_build(&flow, code, i) != TRAMP_CODE_OK)
			errx(1, "no memory");
		tramp_flow_live(&flow);
		if (tramp_flow_loops(&flow) != TRAMP_CODE_OK)
			errx(1, "no memory");
		n->blocks += flow.nblocks;
		n->functions++;
	}
	tramp_flow_free(&flow);
}

static void emit(struct tramp_mirror *m, uint64_t base)
{
	static uint8_t *buf;
	static size_t room;
	struct tramp_mirror_code out;

	if (tramp_mirror_room(m) > room) {
		room = 2 * tramp_mirror_room(m);
		buf = realloc(buf, room);
		if (!buf)
			errx(1, "no memory");
	}
	if (tramp_mirror_emit(m, base, base + ARENA, buf, room, &out) != TRAMP_MIRROR_OK)
		errx(1, "a mirror cannot be emitted");
}

static void mirror_all(const struct inj_codefacts *f, const struct tramp_code *code, struct counts *n)
{
	static const struct tramp_probe_env env = {
		.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16,
		.gate = ARENA,
	};
	struct tramp_checker *checker = tramp_checker_new();
	struct tramp_mirror *m = tramp_mirror_new(code, &env, checker);

	if (!m || !checker)
		errx(1, "no memory");
	for (uint32_t i = 0; i < f->facts.nfns; i++) {
		struct tramp_mirror_request req = {
			.fn = i, .want = TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT, .enter = 16, .leave = 17,
		};
		struct tramp_mirror_plan plan;
		enum tramp_mirror_status said;

		if (tramp_code_function(code, f->facts.fns[i].addr) != i)
			continue;
		said = tramp_mirror_plan(m, &req, &plan);
		n->blocks += plan.nblocks;
		n->functions++;
		if (said == TRAMP_MIRROR_OK || said == TRAMP_MIRROR_NEVER_LEAVES)
			emit(m, tramp_code_base(code));
	}
	tramp_mirror_free(m);
	tramp_checker_free(checker);
}

int main(int argc, char **argv)
{
	struct counts n = { 0 };
	struct inj_codefacts f;
	struct inj_symtab *tab;
	struct tramp_code *code;
	long before = peak_bytes(), for_facts;
	double start = now(), read, passed, done;

	if (argc != 3 || (strcmp(argv[1], "flow") != 0 && strcmp(argv[1], "mirror") != 0))
		errx(2, "usage: analysis flow|mirror FILE");
	if (inj_symtab_open(argv[2], INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK ||
	    inj_codefacts_read(argv[2], tab, &f) != INJ_OK)
		errx(1, "%s: cannot be read", argv[2]);
	read = now();
	for_facts = peak_bytes() - before;
	if (tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(1, "%s: no code", argv[2]);
	passed = now();
	(strcmp(argv[1], "flow") == 0 ? flow_all : mirror_all)(&f, code, &n);
	done = now();
	printf("%" PRIu64 " %" PRIu64 " %.4f %.4f %.4f %ld %ld\n", n.blocks, n.functions, read - start,
	       passed - read, done - passed, for_facts, peak_bytes() - before);
	tramp_code_free(code);
	inj_codefacts_free(&f);
	inj_symtab_close(tab);
	return 0;
}
