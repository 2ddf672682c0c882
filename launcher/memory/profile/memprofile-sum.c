/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums over threads, and what they say. */
#include "launcher/memory/profile/memprofile-private.h"

#include <stdlib.h>
#include <string.h>

/* ---- a thread's end ---- */

static uint64_t times(uint64_t n, double factor)
{
	return factor == 1 ? n : (uint64_t)((double)n * factor + 0.5);
}

static void add_scaled(uint64_t *to, uint64_t n, double factor)
{
	*to += times(n, factor);
}

/* Distances that are estimated, so that there are as many as there were. */
static void settle_far(const struct memprofile_thread *t, struct memprofile_state *s)
{
	unsigned int least = memprofile_bucket(t->near.max);
	struct memprofile_insn *sum = &s->sum;
	uint64_t seen = s->far.first;
	double factor;

	for (unsigned int k = least; k < MEMPROFILE_DISTANCES; k++)
		seen += sum->reuse[k] + sum->open[k];
	factor = seen ? (double)s->far.n / (double)seen : 1;
	if (!seen) {
		sum->open[least] += s->far.n;
		for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++)
			sum->unknown[k] += t->p->o.caches[k] > t->near.max ? s->far.n : 0;
	}
	for (unsigned int k = least; seen && k < MEMPROFILE_DISTANCES; k++) {
		sum->reuse[k] = times(sum->reuse[k], factor);
		sum->open[k] = times(sum->open[k], factor);
	}
	add_scaled(&sum->first, s->far.first, factor);
	for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++) {
		add_scaled(&sum->misses[k], s->far.misses[k], factor);
		add_scaled(&sum->unknown[k], s->far.unknown[k], factor);
	}
}

static void scale_all(uint64_t *v, size_t n, double factor)
{
	for (size_t i = 0; i < n; i++)
		v[i] = times(v[i], factor);
}

static void scale_groups(struct memprofile_group *g, double factor)
{
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		g[i].accesses *= factor;
		g[i].bytes *= factor;
		g[i].loads *= factor;
		g[i].stores *= factor;
		for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++)
			g[i].twice[k] *= factor;
	}
}

static void scale_curves(struct memprofile_curve *c, double factor)
{
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		c[i].bursts *= factor;
		c[i].accesses *= factor;
		for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++)
			c[i].twice[k] *= factor;
	}
}

static void scale(struct memprofile_state *s, double factor)
{
	struct memprofile_insn *sum = &s->sum;

	scale_all(sum->accesses, 4, factor);
	scale_all(sum->bytes, 4, factor);
	scale_all(&sum->moves, 1, factor);
	scale_all(&sum->near, 1, factor);
	scale_all(&sum->strided, 1, factor);
	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++)
		scale_all(&sum->strides[k].n, 1, factor);
	scale_all(sum->reuse, MEMPROFILE_DISTANCES, factor);
	scale_all(sum->open, MEMPROFILE_DISTANCES, factor);
	scale_all(&sum->first, 1, factor);
	scale_all(sum->misses, MEMPROFILE_CACHES, factor);
	scale_all(sum->unknown, MEMPROFILE_CACHES, factor);
	/* rounded apart */
	if (sum->near + sum->strided > sum->moves)
		sum->moves = sum->near + sum->strided;
	if (s->groups)
		scale_groups(s->groups, factor);
}

/* ---- a thread that is known from its beginning to its end ---- */

static void close_open(struct memprofile_state *s)
{
	struct memprofile_insn *sum = &s->sum;

	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++) {
		sum->first += sum->open[k];
		sum->open[k] = 0;
	}
	for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++) {
		sum->misses[k] += sum->unknown[k];
		sum->unknown[k] = 0;
	}
}

/* What is known is no sample. */
static void complete(struct memprofile_thread *t)
{
	memset(t->curves, 0, MEMPROFILE_GROUPS * sizeof(*t->curves));
	for (uint32_t i = 0; i < t->insns.n; i++) {
		close_open(&t->insns.v[i]);
		memset(t->insns.v[i].groups, 0, MEMPROFILE_GROUPS * sizeof(*t->insns.v[i].groups));
	}
}

/* ---- all threads ---- */

static void add_stride(struct memprofile_stride *v, const struct memprofile_stride *from)
{
	struct memprofile_stride *least = v;

	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++) {
		if (v[k].n && v[k].by == from->by) {
			v[k].n += from->n;
			return;
		}
		if (v[k].n < least->n)
			least = &v[k];
	}
	if (from->n > least->n)
		*least = *from;
}

void memprofile_add(struct memprofile_insn *to, const struct memprofile_insn *from)
{
	for (unsigned int k = 0; k < 4; k++) {
		to->accesses[k] += from->accesses[k];
		to->bytes[k] += from->bytes[k];
	}
	to->moves += from->moves;
	to->near += from->near;
	to->strided += from->strided;
	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++)
		add_stride(to->strides, &from->strides[k]);
	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++) {
		to->reuse[k] += from->reuse[k];
		to->open[k] += from->open[k];
	}
	to->first += from->first;
	for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++) {
		to->misses[k] += from->misses[k];
		to->unknown[k] += from->unknown[k];
	}
}

void memprofile_add_groups(struct memprofile_group *to, const struct memprofile_group *from)
{
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		to[i].accesses += from[i].accesses;
		to[i].bytes += from[i].bytes;
		to[i].loads += from[i].loads;
		to[i].stores += from[i].stores;
		for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++)
			to[i].twice[k] += from[i].twice[k];
	}
}

void memprofile_add_curves(struct memprofile_curve *to, const struct memprofile_curve *from)
{
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		to[i].bursts += from[i].bursts;
		to[i].accesses += from[i].accesses;
		for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++)
			to[i].twice[k] += from[i].twice[k];
	}
}

/* @id: instructions of the profile.  It knows at most one in so many lines of each as each of its threads. */
static bool add_pairs(struct memprofile *p, const struct memprofile_thread *t, const uint32_t *id)
{
	bool thinner = false;

	for (uint32_t i = 0; i < t->insns.n; i++) {
		struct memprofile_state *s = &p->insns.v[id[i]];

		thinner |= t->insns.v[i].shift > s->shift;
		s->shift = t->insns.v[i].shift > s->shift ? t->insns.v[i].shift : s->shift;
	}
	if (thinner && !memprofile_apply_shifts(&p->pairs, &p->insns))
		return false;
	for (size_t i = 0; i < t->pairs.room; i++) {
		struct mempair pair = t->pairs.table[i];
		int added;

		if (!pair.id)
			continue;
		pair.id = id[pair.id - 1] + 1;
		if (!memprofile_stays(&p->insns, &pair))
			continue;
		added = mempairs_add(&p->pairs, pair.id - 1, pair.line);
		p->insns.v[pair.id - 1].npairs += added > 0;
		if (added < 0 || !memprofile_thin_pairs(&p->pairs, &p->insns, p->o.lines))
			return false;
	}
	return true;
}

static bool add_insns(struct memprofile *p, struct memprofile_thread *t, uint32_t *id)
{
	for (uint32_t i = 0; i < t->insns.n; i++) {
		struct memprofile_state *from = &t->insns.v[i], *to;

		id[i] = memprofile_find(&p->insns, from->sum.insn);
		if (id[i] == MEMPROFILE_NONE)
			return false;
		scale(from, t->whole ? 1 : t->scale);
		to = &p->insns.v[id[i]];
		memprofile_add(&to->sum, &from->sum);
		if (from->groups)
			memprofile_add_groups(to->groups, from->groups);
	}
	return true;
}

static bool add_thread(struct memprofile *p, struct memprofile_thread *t)
{
	uint32_t *id = calloc((size_t)t->insns.n + 1, sizeof(*id));
	bool good = id != NULL;

	p->sorted = false;
	if (t->wide && t->far.shift > p->shift)
		p->shift = t->far.shift;
	for (uint32_t i = 0; i < t->insns.n; i++) {
		memprofile_settle(&t->insns.v[i], &t->insns.hot[i]);
		settle_far(t, &t->insns.v[i]);
	}
	if (t->curves && t->whole)
		complete(t);
	good = good && add_insns(p, t, id) && add_pairs(p, t, id);
	if (t->curves) {
		scale_curves(t->curves, t->whole ? 1 : t->scale);
		memprofile_add_curves(p->curves, t->curves);
	}
	free(id);
	return good;
}

bool memprofile_flush(struct memprofile_thread *t)
{
	bool good;

	pthread_mutex_lock(&t->p->lock);
	good = add_thread(t->p, t);
	pthread_mutex_unlock(&t->p->lock);
	memprofile_free_insns(&t->insns);
	t->insns.sampled = t->p->o.sampled;
	mempairs_free(&t->pairs);
	memset(t->noted, 0, sizeof(t->noted));
	memprofile_put_front(t);
	memlines_forget_notes(&t->near);
	t->at = MEMPROFILE_NONE;
	if (t->curves)
		memset(t->curves, 0, MEMPROFILE_GROUPS * sizeof(*t->curves));
	return good;
}

bool memprofile_end(struct memprofile_thread *t)
{
	bool good = memprofile_flush(t) && !t->failed;

	memlines_free(&t->near);
	if (t->wide)
		memlines_free(&t->far);
	free(t->curves);
	free(t);
	return good;
}

/* ---- results ---- */

struct memprofile *memprofile_new(const struct memprofile_options *o)
{
	struct memprofile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	if (o)
		p->o = *o;
	if (!p->o.lines)
		p->o.lines = MEMPROFILE_LINES;
	p->insns.sampled = p->o.sampled;
	if (p->o.sampled)
		p->curves = calloc(MEMPROFILE_GROUPS, sizeof(*p->curves));
	if (p->curves || !p->o.sampled)
		return p;
	free(p);
	return NULL;
}

void memprofile_free(struct memprofile *p)
{
	if (!p)
		return;
	memprofile_free_insns(&p->insns);
	mempairs_free(&p->pairs);
	free(p->curves);
	free(p);
}

static int by_address(const void *a, const void *b)
{
	const struct memprofile_state *x = a, *y = b;

	return x->sum.insn < y->sum.insn ? -1 : x->sum.insn > y->sum.insn;
}

/* Pairs hold indices: those are kept in `next` while the instructions are sorted. */
static void sort(struct memprofile *p)
{
	uint32_t *to = calloc((size_t)p->insns.n + 1, sizeof(*to));

	p->sorted = true;
	if (!to)
		return; /* another order is no harm */
	for (uint32_t i = 0; i < p->insns.n; i++)
		p->insns.v[i].was = i;
	if (p->insns.n)
		qsort(p->insns.v, p->insns.n, sizeof(*p->insns.v), by_address);
	for (uint32_t i = 0; i < p->insns.n; i++)
		p->insns.hot[i].insn = p->insns.v[i].sum.insn;
	for (uint32_t i = 0; i < p->insns.n; i++)
		to[p->insns.v[i].was] = i;
	for (size_t i = 0; i < p->pairs.room; i++)
		if (p->pairs.table[i].id)
			p->pairs.table[i].id = to[p->pairs.table[i].id - 1] + 1;
	free(to);
	/* where they are by their hashes has changed; without memory nothing more can be added */
	if (p->insns.room && (!memprofile_make_hash(&p->insns) || !mempairs_thin(&p->pairs, NULL, NULL)))
		p->insns.n = 0;
}

const struct memprofile_insn *memprofile_insn(struct memprofile *p, size_t i)
{
	if (!p->sorted)
		sort(p);
	return i < p->insns.n ? &p->insns.v[i].sum : NULL;
}

const struct memprofile_group *memprofile_groups(struct memprofile *p, size_t i)
{
	return memprofile_insn(p, i) ? p->insns.v[i].groups : NULL;
}

const struct memprofile_curve *memprofile_curves(const struct memprofile *p)
{
	return p->curves;
}

struct memprofile_stride memprofile_dominant(const struct memprofile_insn *sum, double *percent)
{
	struct memprofile_stride best = { 0 };

	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++)
		if (sum->strides[k].n > best.n)
			best = sum->strides[k];
	*percent = sum->moves ? 100.0 * (double)best.n / (double)sum->moves : 0.0;
	return best;
}

/* One line in 2^shift[i] stands for all of group i: no more than for each of its instructions. */
static void make_shifts(const struct memprofile *p, const uint32_t *group, uint8_t *shift, size_t ngroups)
{
	for (uint32_t i = 0; i < p->insns.n; i++)
		if (group[i] < ngroups && p->insns.v[i].shift > shift[group[i]])
			shift[group[i]] = p->insns.v[i].shift;
}

bool memprofile_footprint(struct memprofile *p, const uint32_t *group, uint64_t *lines, size_t ngroups)
{
	uint8_t *shift = calloc(ngroups + 1, sizeof(*shift));
	struct mempairs seen = { 0 };
	bool good = shift != NULL;

	if (!p->sorted)
		sort(p);
	memset(lines, 0, ngroups * sizeof(*lines));
	if (good)
		make_shifts(p, group, shift, ngroups);
	for (size_t i = 0; good && i < p->pairs.room; i++) {
		const struct mempair *pair = &p->pairs.table[i];
		uint32_t g = pair->id ? group[pair->id - 1] : 0;
		int added;

		if (!pair->id || g >= ngroups || !memlines_sampled(memlines_hash(pair->line), shift[g]))
			continue;
		added = mempairs_add(&seen, g, pair->line);
		if (added > 0)
			lines[g] += UINT64_C(1) << shift[g];
		good = added >= 0;
	}
	for (uint32_t i = 0; good && i < p->insns.n; i++) {
		const uint64_t *n = p->insns.v[i].sum.accesses;

		if (group[i] < ngroups && !lines[group[i]] && n[MD_LOAD] + n[MD_STORE] + n[MD_MODIFY])
			lines[group[i]] = 1;
	}
	mempairs_free(&seen);
	free(shift);
	return good;
}

uint64_t memprofile_sampled(const struct memprofile *p)
{
	return UINT64_C(1) << p->shift;
}
