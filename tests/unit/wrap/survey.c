// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Plans every function of real libraries, emits all code for it, and says how many are refused and
 * why. Without arguments (make check): the C library, and more than 97 of 100 functions of 16 bytes
 * or more have to be accepted. With: the files named; -v lists the refused, -e adds functions known
 * only by their unwind information.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/flow/bytes.h"
#include "tests/unit/wrap/elf.h"
#include "trampolines/trampoline.h"

enum { SIZE_MIN = 16, ACCEPTED_MIN = 97, BRANCHES_MAX = 64 };

struct survey {
	struct tramp_checker *checker;
	bool verbose;
	size_t total;
	size_t small;
	size_t counts[TRAMP_STATUS_COUNT];
	size_t disagreed;
	size_t unchecked;
	double search_seconds;
	double plan_seconds;
	double check_seconds;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static enum tramp_status emit_all(const struct tramp_plan *plan, uint64_t arena)
{
	uint8_t patch[TRAMP_PATCH_MAX], replay[TRAMP_REPLAY_MAX];
	enum tramp_status status = tramp_emit_patch(plan, arena, patch);
	size_t len;

	if (status != TRAMP_OK)
		return status;
	status = tramp_emit_replay(plan, arena, replay, sizeof(replay), &len);
	if (status == TRAMP_OK && len != tramp_replay_size(plan))
		errx(1, "%#lx: replay code of %zu bytes, said %zu", plan->addr, len,
		     tramp_replay_size(plan));
	return status;
}

static void check(struct survey *s, const struct elf_function *fn, const struct tramp_plan *plan)
{
	size_t offset = 0;

	switch (tramp_check_boundaries(s->checker, plan, &offset)) {
	case TRAMP_AGREE:
		return;
	case TRAMP_DISAGREE:
		printf("\t%#lx %s: decoders disagree at +%zu\n", fn->addr, fn->name, offset);
		s->disagreed++;
		return;
	case TRAMP_NO_SECOND:
		s->unchecked++;
	}
}

static void open_code(struct survey *s, const struct elf_code *code, struct bytes_code *object)
{
	struct bytes_range *functions = calloc(code->nfunctions + 1, sizeof(*functions));
	double start;

	if (!functions)
		err(99, "functions");
	for (size_t i = 0; i < code->nfunctions; i++)
		functions[i] = (struct bytes_range){ code->functions[i].addr, code->functions[i].size };
	start = now();
	bytes_code_open(object, code->text, code->text_size, code->text_addr, functions, code->nfunctions);
	s->search_seconds += now() - start;
	free(functions);
}

/* Branches from elsewhere into what may be displaced. */
static size_t find_branches(const struct tramp_code *code, const struct elf_function *fn,
			    struct tramp_branch *branches, size_t room)
{
	uint64_t entries[BRANCHES_MAX];
	size_t n = tramp_code_entries(code, fn->addr, TRAMP_DISPLACED_MAX, entries, room);

	for (size_t i = 0; i < n; i++)
		branches[i] = (struct tramp_branch){ 0, entries[i] };
	return n;
}

static void survey_file(struct survey *s, const struct elf_code *code)
{
	struct tramp_branch branches[BRANCHES_MAX];
	struct bytes_code object;
	uint64_t arena = (code->text_addr + code->map_size + 0xfffff) & ~0xfffffull;
	struct tramp_plan *plans = calloc(code->nfunctions, sizeof(*plans));
	enum tramp_status *status = calloc(code->nfunctions, sizeof(*status));
	double start;

	if (!plans || !status)
		err(99, "plans");
	open_code(s, code, &object);
	start = now();
	for (size_t i = 0; i < code->nfunctions; i++) {
		const struct elf_function *fn = &code->functions[i];
		struct tramp_function tf = {
			.addr = fn->addr, .code = fn->code, .size = fn->size, .avail = fn->avail,
			.branches = branches,
		};

		tf.nbranches = find_branches(object.code, fn, branches, BRANCHES_MAX);

		status[i] = tramp_plan_entry(&tf, &plans[i]);
		if (status[i] == TRAMP_OK)
			status[i] = emit_all(&plans[i], arena);
	}
	s->plan_seconds += now() - start;
	start = now();
	for (size_t i = 0; i < code->nfunctions; i++) {
		if (status[i] == TRAMP_OK)
			check(s, &code->functions[i], &plans[i]);
	}
	s->check_seconds += now() - start;
	for (size_t i = 0; i < code->nfunctions; i++) {
		const struct elf_function *fn = &code->functions[i];

		if (fn->size < SIZE_MIN) {
			s->small++;
			continue;
		}
		s->total++;
		s->counts[status[i]]++;
		if (s->verbose && status[i] != TRAMP_OK)
			printf("\t%#lx %zu %s: %s\n", fn->addr, fn->size, fn->name,
			       tramp_reason_text(status[i]));
	}
	bytes_code_close(&object);
	free(plans);
	free(status);
}

static void report(const struct survey *s)
{
	printf("%zu functions of %d bytes or more, %zu smaller\n", s->total, SIZE_MIN, s->small);
	for (int i = 0; i < TRAMP_STATUS_COUNT; i++) {
		if (s->counts[i])
			printf("%8zu %6.2f %% %s\n", s->counts[i],
			       100.0 * (double)s->counts[i] / (double)s->total,
			       tramp_reason_text((enum tramp_status)i));
	}
	printf("code looked through in %.2f ms\n", s->search_seconds * 1e3);
	printf("planned and emitted in %.2f ms, %.2f us each; checked in %.2f ms\n",
	       s->plan_seconds * 1e3, s->plan_seconds * 1e6 / (double)(s->total + s->small),
	       s->check_seconds * 1e3);
}

static void survey_path(struct survey *s, const char *path, bool unwind)
{
	struct elf_code code;

	printf("%s\n", path);
	elf_code_open(&code, path, unwind);
	survey_file(s, &code);
	elf_code_close(&code);
}

int main(int argc, char **argv)
{
	struct survey s = { .checker = tramp_checker_new() };
	bool unwind = false;
	int opt;

	if (!s.checker)
		err(99, "checker");
	while ((opt = getopt(argc, argv, "ev")) != -1) {
		if (opt == 'e')
			unwind = true;
		else if (opt == 'v')
			s.verbose = true;
		else
			errx(2, "usage: %s [-e] [-v] [FILE...]", argv[0]);
	}
	if (optind == argc)
		survey_path(&s, elf_libc_path(), unwind);
	for (int i = optind; i < argc; i++)
		survey_path(&s, argv[i], unwind);
	report(&s);
	tramp_checker_free(s.checker);
	if (s.disagreed)
		errx(1, "%zu disagreements", s.disagreed);
	if (s.total < 100 || s.counts[TRAMP_OK] * 100 < s.total * ACCEPTED_MIN)
		errx(1, "fewer than %d of 100 functions can be instrumented", ACCEPTED_MIN);
	return 0;
}
