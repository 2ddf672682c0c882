/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streams that cross lines because of where they begin.  Of a[i - 1], a[i], a[i + 1] two are never aligned: where another stream of the loop to the
 * same variable is, nothing can be done.  Nor can it where addresses are anything: text that is parsed, blocks that are copied.
 */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launcher/common/units.h"

#define CROSSES 0.1 /* share of accesses */
#define SURE 0.8
#define LINE MEMPROFILE_LINE

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

static bool is_stream(const struct advise_stream *s)
{
	const struct advise_walk w = advise_walk_of(s->sum);

	return is_power(s->at->size) && !s->at->sizes && w.share >= SURE && w.by && advise_far(w.by) <= 4 * LINE;
}

/* All at the same distance from where they would be aligned. */
static bool is_off(const struct advise_stream *s)
{
	return !(s->at->varying & (s->at->size - 1)) && s->at->unaligned == s->at->accesses &&
	       (double)s->at->lines >= CROSSES * (double)s->at->accesses;
}

static bool has_aligned(const struct advise_loop *l, const struct advise_stream *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (advise_same_variable(&l->v[i], s) && l->v[i].at->size == s->at->size && is_stream(&l->v[i]) && !l->v[i].at->unaligned)
			return true;
	return false;
}

static const char *remedy(const struct advise_stream *s)
{
	switch (s->place->name ? s->place->name->variable->kind : NM_UNKNOWN) {
	case NM_GLOBAL:
	case NM_STATIC:
	case NM_TLS:
	case NM_STACK:
		return "declare it alignas(64), and begin loops at an element that is aligned";
	case NM_HEAP:
		return "allocate it by aligned_alloc(64, ...), and begin loops at an element that is aligned";
	default:
		return "let it begin at a multiple of 64 bytes (alignas(64), or aligned_alloc(64, ...)), and loops at an element that is aligned";
	}
}

/* The others that are off, of the same variable, are in the same sentence. */
static uint64_t take(struct advise_loop *l, const struct advise_stream *s, bool *said, uint64_t *all)
{
	uint64_t lines = 0;

	*all = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (said[i] || !advise_same_variable(&l->v[i], s) || l->v[i].at->size != s->at->size || !is_stream(&l->v[i]) || !is_off(&l->v[i]))
			continue;
		said[i] = true;
		lines += l->v[i].at->lines;
		*all += l->v[i].at->accesses;
	}
	return lines;
}

static void say(struct advise_rank *r, struct advise_loop *l, const struct advise_stream *s, bool *said)
{
	uint64_t all, lines = take(l, s, said, &all);
	struct advice like = { .kind = ADVICE_ALIGNMENT, .of = ADVICE_OF_ACCESSES, .amount = (double)lines, .place = advise_place(l) };
	char *name = advise_variable(s), share[UNITS_MAX];

	like.place.variable = name;
	units_percent(100.0 * (double)lines / (double)all, share);
	advise_add(r->a, &like,
		   advise_text("%s is accessed %" PRIu32 " bytes at a time, always %" PRIu64 " bytes after a multiple of %" PRIu32
			       ", so that %" PRIu64 " of %" PRIu64 " accesses (%s) cross a line of %d bytes and take two",
			       name ? name : s->place->file ? "a stream" : "memory", s->at->size, s->at->lo & (s->at->size - 1), s->at->size,
			       lines, all, share, LINE),
		   advise_text("%s", remedy(s)));
	free(name);
}

void advise_alignment(struct advise_rank *r, struct advise_loop *l)
{
	bool *said;

	if (!l->place->loop || !l->place->loop_file)
		return;
	said = calloc(l->n, sizeof(*said));
	r->a->failed |= !said;
	for (size_t i = 0; said && i < l->n; i++)
		if (!said[i] && is_stream(&l->v[i]) && is_off(&l->v[i]) && !has_aligned(l, &l->v[i]))
			say(r, l, &l->v[i], said);
	free(said);
}
