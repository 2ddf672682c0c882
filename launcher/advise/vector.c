/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops that step through memory one number at a time, and could take several at once.  That needs accesses in order, one way out, no calls, and
 * iterations that do not wait for each other: loops that lack it get no advice.  Why the compiler did not: what its options are, a branch, a sum whose order counts,
 * pointers that could overlap.  That they do not is only known of this run, and of all of it, and said so.
 */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SURE 0.8
#define MINOR 0.05	/* share of the loop's accesses: less does not matter */
#define LEAST_RUN 8	/* shorter loops gain nothing */
#define NAMES_MAX 200
#define VECTOR_BYTES 16

struct loop {
	struct advise_loop *l;
	struct advise_code code;
	uint64_t units, loads, stores; /* streams one after another; of those, that load or store */
	double run;
	char names[NAMES_MAX];
	uint32_t size;
};

/* ---- streams ---- */

static bool is_minor(const struct advise_loop *l, const struct advise_stream *s)
{
	return (double)advise_accesses(s) < MINOR * (double)l->accesses;
}

static bool is_scalar(const struct advise_stream *s)
{
	return !s->at->sizes && s->at->size && s->at->size <= 8 && !(s->at->size & (s->at->size - 1));
}

/* One number after another; or always the same one. */
static bool is_unit(const struct advise_stream *s, const struct advise_walk *w)
{
	return w->share >= SURE && w->by && advise_far(w->by) == s->at->size;
}

static bool is_fixed(const struct advise_walk *w)
{
	return w->share >= SURE && !w->by;
}

enum overlap { APART, SAME, OVER };

static enum overlap overlap_of(const struct advise_stream *a, const struct advise_stream *b)
{
	if (a->at->hi <= b->at->lo || b->at->hi <= a->at->lo)
		return APART;
	return a->at->lo == b->at->lo && a->at->hi == b->at->hi ? SAME : OVER;
}

/* Does one iteration load what one before it has stored?  So it is if the stream that stores is ahead. */
static bool waits(const struct advise_stream *store, const struct advise_stream *load, int64_t by)
{
	const int64_t ahead = (int64_t)(store->at->lo - load->at->lo);

	return overlap_of(store, load) == OVER && (by > 0 ? ahead > 0 : ahead < 0);
}

static void add_name(struct loop *v, const struct advise_stream *s)
{
	char *name = advise_variable(s);
	size_t n = strlen(v->names);

	if (name && !strstr(v->names, name) && n + strlen(name) + 3 < NAMES_MAX)
		snprintf(v->names + n, NAMES_MAX - n, "%s%s", n ? ", " : "", name);
	free(name);
}

/* Are all streams that matter so that vectors could take them? */
static bool is_simple(struct loop *v)
{
	for (size_t i = 0; i < v->l->n; i++) {
		const struct advise_stream *s = &v->l->v[i];
		const struct advise_walk w = advise_walk_of(s->sum);

		if (is_minor(v->l, s))
			continue;
		if (!is_scalar(s) || (!is_unit(s, &w) && !is_fixed(&w)))
			return false;
		if (!is_unit(s, &w))
			continue;
		v->units++;
		v->loads += memory_loads(s->sum) != 0;
		v->stores += memory_stores(s->sum) != 0;
		v->run = v->run == 0 || w.run < v->run ? w.run : v->run;
		v->size = s->at->size;
		add_name(v, s);
	}
	return v->units && v->run >= LEAST_RUN;
}

/* Of pairs of a store and another access: do iterations wait, do ranges overlap? */
static void compare(const struct loop *v, bool *wait, bool *over, bool *pairs)
{
	const struct advise_loop *l = v->l;

	*wait = *over = *pairs = false;
	for (size_t i = 0; i < l->n; i++) {
		const struct advise_walk w = advise_walk_of(l->v[i].sum);

		if (!memory_stores(l->v[i].sum) || !is_unit(&l->v[i], &w))
			continue;
		for (size_t k = 0; k < l->n; k++) {
			const enum overlap how = overlap_of(&l->v[i], &l->v[k]);

			if (k == i || !memory_loads(l->v[k].sum))
				continue;
			*wait |= waits(&l->v[i], &l->v[k], w.by);
			*over |= how == OVER;
			*pairs |= how == APART;
		}
	}
}

/* ---- the compiler ---- */

/* The last of the options that begin with @option; NULL: none. */
static const char *last_option(const char *producer, const char *option)
{
	const char *found = NULL, *p = producer;

	while (p && (p = strstr(p, option))) {
		found = p + strlen(option);
		p = found;
	}
	return found;
}

static bool is_gcc(const char *producer)
{
	return producer && strncmp(producer, "GNU ", 4) == 0 && strstr(producer, " -m");
}

/* "GNU C17 12.2.0 -O2": 12; 0: not known. */
static unsigned int version_of(const char *producer)
{
	const char *first = strchr(producer + 4, ' ');

	return first ? (unsigned int)strtoul(first + 1, NULL, 10) : 0;
}

/* Then all of it is, and its code says nothing. */
static bool is_unoptimized(const char *producer)
{
	const char *o = is_gcc(producer) ? last_option(producer, " -O") : "2";

	return !o || *o == '0' || *o == 'g';
}

/* Why GCC does not even try; NULL: it does, or it is not known.  *todo: static. */
static const char *level_of(const char *producer, const char **todo)
{
	const char *o = is_gcc(producer) ? last_option(producer, " -O") : NULL;
	const bool vectorizes = producer && (strstr(producer, "-ftree-vectorize") || strstr(producer, "-ftree-loop-vectorize"));

	*todo = "compile it with -O3";
	if (!is_gcc(producer))
		return NULL;
	if (strstr(producer, "-fno-tree-vectorize") || strstr(producer, "-fno-tree-loop-vectorize")) {
		*todo = "leave out -fno-tree-vectorize";
		return "GCC was asked not to vectorize";
	}
	if (vectorizes && o && *o != '0')
		return NULL;
	if (!o || *o == '1' || *o == ' ' || *o == '\0' || *o == 's' || *o == 'z')
		return "at the level of optimization that it was compiled with, GCC vectorizes nothing";
	if (*o != '2' || strstr(producer, "-fvect-cost-model="))
		return NULL;
	if (version_of(producer) < 12)
		return "at -O2 this GCC vectorizes nothing";
	*todo = "compile it with -O3, or -O2 -fvect-cost-model=dynamic";
	return "at -O2 GCC vectorizes only loops that need no check at run time and no rest of a few iterations";
}

/* ---- another copy of the same loop, with vectors ---- */

static bool is_of_vectors(const struct advise_loop *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].at->size >= VECTOR_BYTES && !is_minor(l, &l->v[i]))
			return true;
	return false;
}

/* How many accesses it made; 0: there is none that ran. */
static uint64_t in_vectors(const struct advise_rank *r, const struct advise_loop *l)
{
	const struct memplace *p = l->place;
	uint64_t n = 0;

	for (const struct advise_loop *o = r->loops; o < r->loops + r->nloops; o++)
		if (o != l && o->place->entry == p->entry && o->place->loop && o->place->loop_file && o->place->loop_line == p->loop_line &&
		    strcmp(o->place->loop_file, p->loop_file) == 0 && is_of_vectors(o))
			n += o->accesses;
	return n;
}

/* ---- a number that stays in memory ---- */

/* What is loaded and stored again in each iteration, at one place, while the others of the loop are elsewhere. */
static const struct advise_stream *find_kept(const struct advise_loop *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct advise_stream *s = &l->v[i];
		const struct advise_walk w = advise_walk_of(s->sum);
		const struct nm_name *name = s->place->name;
		bool apart = false, over = false;

		if (is_minor(l, s) || !is_fixed(&w) || !memory_stores(s->sum) || w.run < LEAST_RUN || (name && name->variable->kind == NM_STACK))
			continue;
		for (size_t k = 0; k < l->n; k++) {
			const struct advise_walk other = advise_walk_of(l->v[k].sum);
			const enum overlap how = overlap_of(s, &l->v[k]);

			apart |= how == APART && is_unit(&l->v[k], &other);
			over |= how == OVER;
		}
		if (apart && !over)
			return s;
	}
	return NULL;
}

static void say_kept(struct advise_rank *r, struct advise_loop *l, const struct advise_stream *s)
{
	struct advice like = { .kind = ADVICE_ALIASING, .of = ADVICE_OF_ACCESSES, .place = advise_place(l) };
	char *name = advise_variable(s);

	for (size_t i = 0; i < l->n; i++)
		if (overlap_of(s, &l->v[i]) == SAME)
			like.amount += (double)advise_accesses(&l->v[i]);
	like.place.variable = name;
	advise_add(r->a, &like,
		   advise_text("%s stays in memory: line %d stores to the same %" PRIu32 " bytes %.0f times in a row, %" PRIu64
			       " times in all, and nothing else that the loop accesses was there in this run", name ? name : "a result",
			       s->place->line, s->at->size, advise_walk_of(s->sum).run, advise_accesses(s)),
		   advise_text("unless it is volatile or atomic, keep it in a local variable and store it after the loop, or declare the pointers "
			       "restrict: the compiler cannot, since a pointer may lead to it"));
	free(name);
}

/* ---- why ---- */

static char *what(const struct loop *v)
{
	return advise_text("its %" PRIu64 " accesses%s%s take one number of %" PRIu32 " bytes at a time, in order, at least %.0f in a row", v->l->accesses,
			   *v->names ? " to " : "", v->names, v->size, v->run);
}

static void say(struct advise_rank *r, const struct loop *v, enum advice_kind kind, const char *why, char *todo)
{
	const struct advice like = { .kind = kind, .of = ADVICE_OF_ACCESSES, .amount = (double)v->l->accesses, .place = advise_place(v->l) };
	char *text = what(v);

	if (text)
		advise_add(r->a, &like, advise_text("%s; %s", text, why), todo);
	else
		r->a->failed = true;
	if (!text)
		free(todo);
	free(text);
}

static void say_copies(struct advise_rank *r, const struct loop *v, uint64_t vectors, bool over)
{
	char *why = advise_text("a copy of the loop with vectors made only %" PRIu64 " accesses: this one ran in its place since %s", vectors,
				over ? "what is stored overlaps what is loaded" : "a check at run time failed");

	if (why)
		say(r, v, over ? ADVICE_ALIASING : ADVICE_VECTOR, why,
		    advise_text("%s", over ? "if they need not overlap, keep them apart by more than a vector; if iterations want what others before them have stored, "
					   "this is as it has to be" :
					     "let its arrays begin at multiples of their vectors, and its trip count be large enough"));
	else
		r->a->failed = true;
	free(why);
}

/* A branch in the loop: its line by a tag, else 0. */
static uint32_t branch_of(struct advise_rank *r, const struct advise_loop *l)
{
	uint32_t line = 0;
	bool vectorized;

	for (size_t i = 0; i < l->n && !line; i++)
		line = advise_tag_branch(r->a, l->place->path, l->v[i].place->addr, &vectorized);
	return line;
}

static void say_branch(struct advise_rank *r, const struct loop *v, uint32_t line)
{
	char *why = line ? advise_text("a tag says that the branch at line %" PRIu32 " is still in it", line) :
			   advise_text("it has a branch in it");

	if (why)
		say(r, v, ADVICE_VECTOR, why,
		    advise_text("compute both cases and choose (a conditional expression without side effects), or let the branch's cases be loops "
				"of their own; with -march=native, stores under a condition can be masked"));
	else
		r->a->failed = true;
	free(why);
}

static void say_why(struct advise_rank *r, const struct loop *v, bool over, bool apart)
{
	const char *todo, *level = level_of(v->code.producer, &todo);
	const bool may_alias = apart && !over && v->code.pointers > v->code.restricted && v->code.pointers > 1;
	const uint32_t line = branch_of(r, v->l);

	if (v->code.carried.sums_floats)
		say(r, v, ADVICE_VECTOR, "it sums up floating point numbers, whose order the compiler has to keep",
		    advise_text("if the order does not matter, say so: -O3 and #pragma omp simd reduction(+: ...) with -fopenmp-simd, or "
				"-fassociative-math -fno-signed-zeros -fno-trapping-math"));
	else if (level)
		say(r, v, ADVICE_VECTOR, level,
		    advise_text("%s%s", todo, may_alias ? "; and declare the pointers that it gets restrict if they never overlap, as in this run, "
							  "which saves the check" : ""));
	else if (line || v->code.branches)
		say_branch(r, v, line);
	else if (may_alias)
		say(r, v, ADVICE_ALIASING, "it stores through a pointer, which never overlapped what is loaded in this run",
		    advise_text("declare the pointers that the function gets restrict, if that is always so"));
	else
		say(r, v, ADVICE_VECTOR, "nothing that is known here hinders vectors",
		    advise_text("-fopt-info-vec-missed (GCC) or -Rpass-missed=loop-vectorize (Clang) says what the compiler missed"));
}

void advise_vector(struct advise_rank *r, struct advise_loop *l)
{
	struct loop v = { .l = l };
	const struct advise_stream *kept;
	bool wait, over, apart;
	uint64_t vectors;

	if (!l->inner || !l->place->loop_file || l->pushes || (double)l->accesses < ADVISE_LEAST * r->a->whole[ADVICE_OF_ACCESSES])
		return;
	kept = find_kept(l);
	if (!kept && !is_simple(&v))
		return;
	v.code = advise_code_of(r->a, l->place->path, l->place->entry, l->place->loop);
	if (!v.code.known) {
		r->a->no_code = true;
		return;
	}
	if (v.code.calls || v.code.inner || v.code.packed)
		return;
	if (is_unoptimized(v.code.producer)) {
		say(r, &v, ADVICE_VECTOR, "it was compiled without optimization", advise_text("compile it with -O3"));
		return;
	}
	if (kept) {
		say_kept(r, l, kept);
		return;
	}
	if (v.code.exits != 1 || !v.code.carried.counted || v.code.carried.waits)
		return;
	compare(&v, &wait, &over, &apart);
	vectors = in_vectors(r, l);
	if (vectors && vectors < l->accesses)
		say_copies(r, &v, vectors, over);
	else if (!vectors && !wait)
		say_why(r, &v, over, apart);
}
