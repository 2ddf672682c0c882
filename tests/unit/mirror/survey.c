// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Plans and emits the mirrors of all functions of the C library, or of the files named, and walks through
 * each (mirror_walk.h).  Prints how many functions of 16 bytes and more can be instrumented, and why the
 * others cannot.
 *	-v  lists those; -w  copies all blocks; -a  those of calls that make no calls; -t  prints times
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
#include "tests/unit/mirror/walk.h"
#include "tests/unit/wrap/elf.h"

enum { BIG = 16, PERCENT = 97, BLOCKS_MIN = 50000, LISTED_MAX = 20, DISTANCE = 1 << 28 };

struct tally {
	size_t big, small, small_ok, by_status[TRAMP_MIRROR_STATUS_COUNT];
	size_t blocks, copied, windows, shorts, retargeted, moved, bytes, patches, pieces, wrong;
	double code_time, plan_time, emit_time;
};

struct survey {
	const struct inj_codefacts *facts;
	const struct tramp_code *code;
	struct tramp_mirror *mirror;
	struct tramp_flow flow;
	struct tally *tally;
	uint8_t *buf;
	size_t room;
};

static bool verbose, timed;
static unsigned int wanted = TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void complain(struct survey *s, uint32_t fn, const char *what, uint64_t where)
{
	if (s->tally->wrong++ < LISTED_MAX)
		printf("%#" PRIx64 " %s: %s at %#" PRIx64 "\n", s->facts->facts.fns[fn].addr,
		       s->facts->fn[fn].name, what, where);
}

static void add_plan(struct tally *tally, const struct tramp_mirror_plan *plan)
{
	tally->blocks += plan->nblocks;
	tally->copied += plan->ncopied;
	tally->windows += plan->nwindows;
	tally->shorts += plan->nshort;
	tally->retargeted += plan->nretargeted;
	tally->moved += plan->nmoved_calls;
}

static void add_code(struct tally *tally, const struct tramp_mirror_code *code)
{
	tally->bytes += code->len;
	tally->patches += code->npatches;
	tally->pieces += code->npieces;
}

static void walk(struct survey *s, const struct tramp_mirror_request *req,
		 const struct tramp_mirror_code *code, uint64_t arena)
{
	struct mirror_subject subject = {
		.code = s->code, .flow = &s->flow, .req = req, .arena = arena, .buf = s->buf,
		.mirror = code,
	};
	const char *wrong;
	uint64_t where;
	size_t nprobes;

	subject.probes = tramp_mirror_probes(s->mirror, &nprobes);
	if (tramp_flow_build(&s->flow, s->code, req->fn) != TRAMP_CODE_OK)
		errx(99, "no memory");
	wrong = mirror_walk(&subject, &where);
	if (wrong)
		complain(s, req->fn, wrong, where);
}

static void emit(struct survey *s, const struct tramp_mirror_request *req)
{
	uint64_t base = tramp_code_base(s->code), arena = base + DISTANCE;
	size_t room = tramp_mirror_room(s->mirror);
	struct tramp_mirror_code code;
	enum tramp_mirror_status status;
	double start = now();

	if (room > s->room) {
		s->room = 2 * room;
		free(s->buf);
		s->buf = malloc(s->room);
		if (!s->buf)
			err(99, "buffer");
	}
	status = tramp_mirror_emit(s->mirror, base, arena, s->buf, room, &code);
	s->tally->emit_time += now() - start;
	if (status != TRAMP_MIRROR_OK) {
		complain(s, req->fn, tramp_mirror_text(status), arena);
		return;
	}
	add_code(s->tally, &code);
	if (!timed)
		walk(s, req, &code, arena);
}

static void survey_function(struct survey *s, uint32_t fn)
{
	struct tramp_mirror_request req = { .fn = fn, .want = wanted, .enter = 2, .leave = 3 };
	const struct tramp_fn *f = &s->facts->facts.fns[fn];
	struct tramp_mirror_plan plan;
	enum tramp_mirror_status status;
	double start = now();
	bool ok;

	status = tramp_mirror_plan(s->mirror, &req, &plan);
	ok = status == TRAMP_MIRROR_OK || status == TRAMP_MIRROR_NEVER_LEAVES;
	s->tally->plan_time += now() - start;
	if (f->size < BIG) {
		s->tally->small++;
		s->tally->small_ok += ok;
	} else {
		s->tally->big++;
		s->tally->by_status[status]++;
	}
	if (verbose && !ok && f->size >= BIG)
		printf("%#" PRIx64 " %s (%" PRIu64 "): %s\n", f->addr, s->facts->fn[fn].name, f->size,
		       tramp_mirror_text(status));
	if (ok) {
		add_plan(s->tally, &plan);
		emit(s, &req);
	}
}

static void survey_file(const char *path, struct tally *tally)
{
	static const struct tramp_probe_env env = {
		.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16,
		.gate = 0x10000000,
	};
	struct survey s = { .tally = tally };
	struct tramp_checker *checker = tramp_checker_new();
	struct inj_codefacts f;
	struct inj_symtab *tab;
	struct tramp_code *code;
	double start;

	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK ||
	    inj_codefacts_read(path, tab, &f) != INJ_OK)
		errx(99, "%s: cannot be read", path);
	start = now();
	if (tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: no code", path);
	tally->code_time += now() - start;
	s.facts = &f;
	s.code = code;
	s.mirror = tramp_mirror_new(code, &env, checker);
	if (!s.mirror || !checker)
		errx(99, "no memory");
	for (uint32_t i = 0; i < f.facts.nfns; i++) {
		if (tramp_code_function(code, f.facts.fns[i].addr) == i)
			survey_function(&s, i);
	}
	tramp_mirror_free(s.mirror);
	tramp_checker_free(checker);
	tramp_flow_free(&s.flow);
	free(s.buf);
	tramp_code_free(code);
	inj_codefacts_free(&f);
	inj_symtab_close(tab);
}

static bool report(const char *path, const struct tally *t)
{
	size_t ok = t->by_status[TRAMP_MIRROR_OK] + t->by_status[TRAMP_MIRROR_NEVER_LEAVES];

	printf("%s: %zu functions of %d bytes or more: %.2f %% (smaller: %zu of %zu)\n", path, t->big, BIG,
	       t->big ? 100.0 * (double)ok / (double)t->big : 0, t->small_ok, t->small);
	for (int i = 0; i < TRAMP_MIRROR_STATUS_COUNT; i++) {
		if (t->by_status[i])
			printf("  %6zu  %s\n", t->by_status[i], tramp_mirror_text(i));
	}
	printf("  %zu of %zu blocks copied, %zu windows, %zu short ones, %zu retargeted, %zu calls moved; "
	       "%zu bytes, %zu patches, %zu pieces\n", t->copied, t->blocks, t->windows, t->shorts,
	       t->retargeted, t->moved, t->bytes, t->patches, t->pieces);
	if (timed)
		printf("  code %.3f s, plans %.3f s, emission %.3f s\n", t->code_time, t->plan_time,
		       t->emit_time);
	if (t->wrong)
		printf("  %zu WRONG\n", t->wrong);
	return !t->wrong && 100 * ok >= PERCENT * t->big;
}

int main(int argc, char **argv)
{
	struct tally none = { 0 }, tally;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "vtwea")) != -1) {
		verbose |= option == 'v';
		timed |= option == 't';
		if (option == 'w')
			wanted |= TRAMP_MIRROR_WHOLE;
		else if (option == 'a')
			wanted |= TRAMP_MIRROR_AHEAD;
		else if (option == 'e')
			wanted &= ~(unsigned int)TRAMP_MIRROR_EXIT;
	}
	if (optind == argc) {
		tally = none;
		survey_file(elf_libc_path(), &tally);
		failed |= !report("the C library", &tally) || tally.blocks < BLOCKS_MIN;
		wanted |= TRAMP_MIRROR_AHEAD;
		tally = none;
		survey_file(elf_libc_path(), &tally);
		failed |= !report("the same, with what makes no calls ahead", &tally);
	}
	for (; optind < argc; optind++) {
		tally = none;
		survey_file(argv[optind], &tally);
		failed |= !report(argv[optind], &tally);
	}
	return failed;
}
