/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From counts of blocks (launcher/blocks/counts.h): loops that end after a few iterations, and small functions that are called often.
 *
 * A loop that can be left in several places searches for something, and is as long as that takes; a function that is called by no other of its file, or
 * by itself, is none that could be put into its caller.
 */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/blocks/counts.h"
#include "launcher/trace/holds.h"
#include "memtrace/pack/blocks.h"

#define SHORT 8.0
#define SHORT_INSNS 60 /* ... and all of it: else what begins and ends it does not matter */
#define LEAST_ENTRIES 1000
#define LEAST_CALLS 10000
#define SMALL 40.0 /* instructions of a call */
#define SMALL_CODE 60 /* ... and of the function, if that is known: what compilers put into callers */
#define MATTERS 0.02 /* share of all instructions */

/* ---- trip counts ---- */

static const struct advice_place *place_of(const struct counts_row *row, bool loop, struct advice_place *p)
{
	*p = (struct advice_place){ .function = row->name, .path = row->path, .file = row->file, .line = row->file ? row->line : 0,
				    .address = row->addr, .loop = loop };
	return p;
}

static void say_trips(struct advise *a, const struct counts_row *row, double trips)
{
	const bool always = row->most && row->least == row->most;
	const double insns = (double)row->facts[FACT_INSNS] / (double)row->count;
	struct advice like = { .kind = ADVICE_TRIPS, .of = ADVICE_OF_INSNS, .amount = (double)row->facts[FACT_INSNS] };
	char range[64] = "";

	place_of(row, true, &like.place);
	if (row->most)
		snprintf(range, sizeof(range), " (%" PRIu64 " to %" PRIu64 ")", row->least, row->most);
	if (always)
		advise_add(a, &like,
			   advise_text("it was entered %" PRIu64 " times, and each time went round %" PRIu64 " times, %.1f instructions in one",
				       row->entries, row->most, insns),
			   advise_text("its trip count never changed: if it is known when the program is compiled, make it a constant, so that the "
				       "loop is unrolled; else let the loop around it be the inner one"));
	else
		advise_add(a, &like,
			   advise_text("it was entered %" PRIu64 " times, and went round %.1f times on average%s, %.1f instructions in one",
				       row->entries, trips, range, insns),
			   advise_text("what begins and ends it is a large part of its work, and vectors do not get full: let a longer loop be the "
				       "inner one, or handle the usual counts apart"));
}

/* The function that a loop is in begins no later than it. */
static uint64_t entry_of(const struct counts *functions, const struct counts_row *loop)
{
	uint64_t entry = 0;

	for (size_t i = 0; i < functions->n; i++) {
		const struct counts_row *f = &functions->rows[i];

		if (strcmp(f->path, loop->path) == 0 && strcmp(f->name, loop->name) == 0 && f->addr <= loop->addr && f->addr > entry)
			entry = f->addr;
	}
	return entry;
}

static void look_at_loop(struct advise *a, const struct counts *functions, const struct counts_row *row)
{
	const double trips = row->entries ? (double)row->count / (double)row->entries : 0;
	struct advise_code code;

	if (!row->file || row->entries < LEAST_ENTRIES || trips > SHORT || row->facts[FACT_INSNS] > SHORT_INSNS * row->entries || row->facts[FACT_CLASSES + TRAMP_CLASS_CALL] ||
	    (double)row->facts[FACT_INSNS] < MATTERS * a->whole[ADVICE_OF_INSNS])
		return;
	code = advise_code_of(a, row->path, entry_of(functions, row), row->addr);
	a->no_code |= !code.known;
	if (code.known && !code.inner && !code.calls && code.exits == 1 && code.carried.counted)
		say_trips(a, row, trips);
}

/* ---- small functions ---- */

/*
 * Which calls of a function its file's own code makes by its name: so many, and the place that makes most of them.  NULL: none, or it calls
 * itself.
 */
static const struct counts_call *caller_of(const struct counts *c, const struct counts_row *row, uint64_t *known)
{
	const struct counts_call *most = NULL;

	*known = 0;
	for (size_t i = 0; i < c->ncalls; i++) {
		const struct counts_call *call = &c->calls[i];

		if (!call->to.name || strcmp(call->to.name, row->name) != 0 || strcmp(call->to.path, row->path) != 0)
			continue;
		if (!call->from.name || strcmp(call->from.path, row->path) != 0)
			continue;
		if (strcmp(call->from.name, row->name) == 0)
			return NULL;
		*known += call->calls;
		if (!most || call->calls > most->calls)
			most = call;
	}
	return most;
}

static void look_at_function(struct advise *a, const struct counts *c, const struct counts_row *row)
{
	const double insns = row->count ? (double)row->facts[FACT_INSNS] / (double)row->count : 0;
	struct advice like = { .kind = ADVICE_CALLS, .of = ADVICE_OF_INSNS, .amount = (double)row->facts[FACT_INSNS] };
	const struct counts_call *call;
	uint64_t known;
	char *where;

	if (row->count < LEAST_CALLS || insns > SMALL || !row->file || row->facts[FACT_CLASSES + TRAMP_CLASS_CALL] ||
	    like.amount < MATTERS * a->whole[ADVICE_OF_INSNS])
		return;
	if (advise_function_insns(a, row->path, row->addr) > SMALL_CODE)
		return;
	call = caller_of(c, row, &known);
	/* calls through pointers, and from other files, cannot be spared */
	if (!call || 2 * known < row->count)
		return;
	place_of(row, false, &like.place);
	where = call->from.file ? advise_text("%s at %s:%d", call->from.name, path_basename(call->from.file), call->from.line) :
				  advise_text("%s", call->from.name);
	advise_add(a, &like,
		   advise_text("it was called %" PRIu64 " times, %" PRIu64 " of them by %s, for %.1f instructions each, call and return among them",
			       row->count, call->calls, where ? where : "?", insns),
		   call->from.home && row->home && strcmp(call->from.home, row->home) == 0 ?
			   advise_text("let the compiler put it into its caller: it is in the same file, so -O2 does that if it is static (inline), and not "
				       "declared noinline; in a shared library, with -fvisibility=hidden or -fno-semantic-interposition") :
			   advise_text("let the compiler put it into its caller: define it in a header as static inline, or build with -flto"));
	free(where);
}

/* ---- both ---- */

static bool has_counts(const struct sonde_trace *trace)
{
	if (holds_order(trace))
		return true;
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		bool none;
		struct mt_blocks *b = mt_blocks_of(trace, sonde_trace_rank(trace, i), &none);

		if (b) {
			mt_blocks_free(b);
			return true;
		}
	}
	return false;
}

int advise_counts(struct advise *a, bool *has)
{
	struct counts_options functions = { .pick = a->o->pick, .by = COUNTS_BY_FUNCTION, .calls = true, .mangled = a->o->mangled };
	struct counts_options loops = { .pick = a->o->pick, .by = COUNTS_BY_LOOP, .mangled = a->o->mangled };
	struct counts f = { 0 }, l = { 0 };
	int status;

	*has = has_counts(a->t.trace) && holds_ends(a->t.trace);
	if (!*has)
		return 0;
	status = counts_read(&f, &functions, a->dir);
	if (!status)
		status = counts_read(&l, &loops, a->dir);
	if (!status) {
		a->whole[ADVICE_OF_INSNS] = (double)f.total.facts[FACT_INSNS];
		a->damage += f.damage;
		for (size_t i = 0; i < l.n; i++)
			look_at_loop(a, &f, &l.rows[i]);
		for (size_t i = 0; i < f.n; i++)
			look_at_function(a, &f, &f.rows[i]);
		counts_free(&l);
	}
	if (f.o)
		counts_free(&f);
	return status;
}
