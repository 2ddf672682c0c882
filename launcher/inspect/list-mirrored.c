/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde list -F`: functions as recording by -F finds them. Each is planned as it would be for recording;
 * nothing is emitted.
 */
#include "launcher/inspect/anatomy.h"
#include "launcher/common/lines.h"
#include "launcher/inspect/list.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG 16u /* bytes; summaries give the share of functions of at least this size too */

struct tally {
	size_t all, usable;	    /* functions */
	size_t big, big_usable;	    /* of those, of BIG bytes or more */
	uint64_t bytes, usable_bytes;
	struct functions_count counts[FUNCTIONS_MAX_REASONS];
	size_t ncounts;
};

/* One file. */
struct file {
	const struct listing *l;
	struct anatomy a;
	struct lines *lines; /* NULL: not asked for, or none */
	struct tally tally;
	bool silent; /* only to be counted */
};

static void count(struct tally *t, uint64_t size, const char *refused)
{
	t->all++;
	t->bytes += size;
	t->big += size >= BIG;
	if (refused) {
		functions_count(t->counts, &t->ncounts, refused);
		return;
	}
	t->usable++;
	t->usable_bytes += size;
	t->big_usable += size >= BIG;
}

/* ---- one function ---- */

static void print_place(const struct file *f, uint64_t addr)
{
	int line;
	const char *file = f->lines ? lines_at(f->lines, addr, &line) : NULL;

	if (file)
		printf("  %s:%d", file, line);
}

static void print_loop(const struct file *f, const struct tramp_loop *loop)
{
	const struct tramp_block *head = &f->a.flow.blocks[loop->head];
	uint64_t addr = tramp_code_base(f->a.code) + head->start;

	printf("%12" PRIx64 "  %*sloop of %" PRIu32 " block%s", addr, 25 + 2 * head->loop_depth, "",
	       loop->nblocks, loop->nblocks == 1 ? "" : "s");
	print_place(f, addr); /* the block in which it begins says where it stands */
	putchar('\n');
}

/* Outer ones before those in them. */
static void print_loops(const struct file *f, uint32_t parent)
{
	const struct tramp_flow *flow = &f->a.flow;

	for (uint32_t i = 0; i < flow->nloops; i++) {
		if (flow->loops[i].parent != parent)
			continue;
		print_loop(f, &flow->loops[i]);
		print_loops(f, i);
	}
}

static void print_evidence(const struct inj_fn *fn)
{
	char evidence[INJ_EVIDENCE_MAX];

	inj_fn_evidence(fn, evidence);
	printf("  (%s%s)", inj_fn_is_certain(fn) ? "" : "guessed: ", evidence);
}

static void print_function(const struct file *f, size_t i, const char *refused)
{
	const struct tramp_fn *fn = &f->a.facts.facts.fns[i];

	printf("%12" PRIx64 "  %7" PRIu64 "  %6" PRIu32 "  %5" PRIu32 "   ", fn->addr, fn->size,
	       f->a.flow.nblocks, f->a.flow.nloops);
	anatomy_print_names(&f->a, i, f->l->o->mangled);
	print_place(f, fn->addr);
	if (f->l->o->verbose)
		print_evidence(&f->a.facts.fn[i]);
	if (refused)
		printf("  -- not instrumented: %s", refused);
	putchar('\n');
	if (f->lines)
		print_loops(f, TRAMP_NONE);
}

static void print_any(const struct file *f, size_t i, const char *refused)
{
	if (f->l->o->csv)
		list_print_csv(&f->a, i, f->l->o->mangled, refused);
	else if (f->l->o->json)
		list_print_json(&f->a, i, f->l->o->mangled, refused);
	else
		print_function(f, i, refused);
}

static bool list_function(struct file *f, size_t i)
{
	struct tramp_mirror_plan plan;

	if (!anatomy_flow(&f->a, i))
		return false;
	const char *refused = anatomy_plan(&f->a, i, &plan);
	count(&f->tally, f->a.facts.facts.fns[i].size, refused);
	if (!f->silent && (refused || !f->l->o->refused_only))
		print_any(f, i, refused);
	return true;
}

/* ---- the summary ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static int by_number(const void *a, const void *b)
{
	const struct functions_count *x = a, *y = b;

	return x->n < y->n ? 1 : x->n > y->n ? -1 : strcmp(x->reason, y->reason);
}

static void print_summary(struct tally *t, const char *path)
{
	printf("%s: %zu of %zu function%s can be recorded (%.2f %%)", path, t->usable, t->all,
	       t->all == 1 ? "" : "s", percent(t->usable, t->all));
	if (t->big)
		printf("; of those of %u bytes or more %zu of %zu (%.2f %%)", BIG, t->big_usable, t->big,
		       percent(t->big_usable, t->big));
	printf("; of their code %.2f %%\n", percent(t->usable_bytes, t->bytes));
	qsort(t->counts, t->ncounts, sizeof(t->counts[0]), by_number);
	for (size_t i = 0; i < t->ncounts; i++)
		printf("%7zu not instrumented: %s\n", t->counts[i].n, t->counts[i].reason);
}

/* Code in no function is seen by nobody: said if there is any, as a warning if it is much. */
static void say_unknown(const struct file *f)
{
	const struct inj_codefacts *facts = &f->a.facts;
	bool more = facts->guessed && !f->l->o->select.guess;
	uint64_t unknown = facts->uncovered + (f->l->o->select.guess ? 0 : facts->guessed);
	char bytes[UNITS_MAX], all[UNITS_MAX], text[256];

	units_bytes(unknown, bytes);
	units_bytes(facts->code, all);
	snprintf(text, sizeof(text), "%s of %s of its code (%.1f %%) belong to no known function%s", bytes, all,
		 percent(unknown, facts->code), facts->go ? ": it was made by Go, whose functions are left alone" :
						more	  ? "; --guess takes more" :
							    "");
	if (unknown > facts->code / INJ_COVERAGE_SHARE)
		msg_warn("%s: %s", f->a.path, text);
	else if (unknown && !f->l->o->csv && !f->l->o->json)
		printf("%s: %s\n", f->a.path, text);
}

/* ---- one file ---- */

static int list_all(struct file *f, const bool *wanted)
{
	bool header = false;

	for (size_t i = 0; i < f->a.facts.facts.nfns; i++) {
		if (!wanted[i])
			continue;
		if (!header && !f->silent && f->l->o->csv)
			list_print_csv_head();
		else if (!header && !f->silent && !f->l->o->json)
			puts("     ADDRESS     SIZE  BLOCKS  LOOPS   FUNCTION");
		header = true;
		if (!list_function(f, i)) {
			msg_error("%s: out of memory", f->a.path);
			return EXIT_USAGE;
		}
	}
	return 0;
}

static int list(struct file *f, const char *path, struct listing *l, enum select_kind kind)
{
	size_t n = 0;
	int status = anatomy_open(&f->a, path);

	if (status)
		return status;
	bool *wanted = anatomy_wanted(&f->a, l->sel, kind, &n);
	f->lines = l->o->lines ? lines_open(path) : NULL;
	if (l->o->lines && !f->lines)
		msg_warn("%s: there are no line numbers (compile with -g)", path);
	status = wanted ? list_all(f, wanted) : EXIT_USAGE;
	if (!status && n && !f->silent && !l->o->csv && !l->o->json)
		print_summary(&f->tally, path);
	if (!status && n && !f->silent)
		say_unknown(f);
	l->usable += f->tally.usable;
	l->refused += f->tally.all - f->tally.usable;
	free(wanted);
	lines_close(f->lines);
	anatomy_close(&f->a);
	return status;
}

int list_mirrored(struct listing *l, const char *path, enum select_kind kind)
{
	struct file f = { .l = l };

	return list(&f, path, l, kind);
}

int list_count(struct listing *l, const char *path, enum select_kind kind)
{
	struct file f = { .l = l, .silent = true };

	return list(&f, path, l, kind);
}
