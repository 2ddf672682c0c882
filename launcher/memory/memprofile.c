/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memprofile.h"
#include "launcher/memory/memlines.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NONE UINT32_MAX
#define PAIRS_PER_LINE 8 /* at most; more are thinned out, as lines are */
#define MAX_SCORE 16	 /* a stride that was seen so often outlives as many others */
#define MAX_SHIFT 40
#define PAIRED 8

/* An instruction in a thread. */
struct state {
	struct memprofile_insn sum;
	uint64_t last;		/* address accessed last */
	int64_t moved;		/* by so much */
	uint64_t paired[PAIRED]; /* + 1: lines that are in the pairs */
	uint32_t next;		/* which one came after it last: a guess */
	uint8_t score[MEMPROFILE_STRIDES], turn;
	bool begun;
};

/* Instructions by address. */
struct insns {
	struct state *v;
	uint32_t n, room;
	uint32_t *hash; /* index + 1; twice the room */
};

struct memprofile {
	struct memprofile_options o;
	struct insns insns;
	struct mempairs pairs;
	unsigned int shift;
	bool sorted;
};

struct memprofile_thread {
	struct memprofile *p;
	struct insns insns;
	struct memlines lines;
	struct mempairs pairs;
	uint32_t at;		/* index of the last instruction */
	uint64_t line;		/* accessed last */
	bool begun, failed;
};

/* ---- instructions ---- */

static size_t slot_of(const struct insns *s, uint64_t insn)
{
	return hash_slot(i, 2 * (size_t)s->room, hash_word(insn), !s->hash[i] || s->v[s->hash[i] - 1].sum.insn == insn);
}

static bool make_hash(struct insns *s)
{
	uint32_t *hash = calloc(2 * (size_t)s->room, sizeof(*hash));

	if (!hash)
		return false;
	free(s->hash);
	s->hash = hash;
	for (uint32_t i = 0; i < s->n; i++)
		hash[slot_of(s, s->v[i].sum.insn)] = i + 1;
	return true;
}

static bool grow(struct insns *s)
{
	uint32_t room = s->room ? 2 * s->room : 256;
	struct state *v = realloc(s->v, room * sizeof(*v));

	if (!v)
		return false;
	s->v = v;
	s->room = room;
	return make_hash(s);
}

/* Index; NONE: no memory. */
static uint32_t find(struct insns *s, uint64_t insn)
{
	size_t slot;

	if (!s->room && !grow(s))
		return NONE;
	slot = slot_of(s, insn);
	if (s->hash[slot])
		return s->hash[slot] - 1;
	if (s->n == s->room) {
		if (!grow(s))
			return NONE;
		slot = slot_of(s, insn);
	}
	memset(&s->v[s->n], 0, sizeof(s->v[0]));
	s->v[s->n].sum.insn = insn;
	s->hash[slot] = s->n + 1;
	return s->n++;
}

static void free_insns(struct insns *s)
{
	free(s->v);
	free(s->hash);
	*s = (struct insns){ 0 };
}

/* ---- strides ---- */

/*
 * A stride's count is exact from when it got its place, which it loses when others came more often
 * since: what is frequent gets a place early and keeps it, and random ones never count for much.
 */
static void note_stride(struct state *s, int64_t by)
{
	struct memprofile_stride *v = s->sum.strides;
	unsigned int k;

	for (k = 0; k < MEMPROFILE_STRIDES; k++) {
		if (v[k].by == by && v[k].n) {
			v[k].n++;
			s->score[k] += s->score[k] < MAX_SCORE;
			return;
		}
	}
	k = s->turn++ % MEMPROFILE_STRIDES;
	if (s->score[k]) {
		s->score[k]--;
		return;
	}
	/* what is here often is not given up for what came once */
	if (v[k].n > s->sum.moves / 8)
		return;
	v[k] = (struct memprofile_stride){ by, 1 };
	s->score[k] = 1;
}

static void note_move(struct state *s, uint64_t addr)
{
	int64_t by = (int64_t)(addr - s->last);

	if (s->begun) {
		s->sum.moves++;
		if (by >= -MEMPROFILE_NEAR && by <= MEMPROFILE_NEAR)
			s->sum.near++;
		else
			s->sum.strided += by == s->moved;
		if (by == s->sum.strides[0].by && s->sum.strides[0].n) {
			s->sum.strides[0].n++;
			s->score[0] += s->score[0] < MAX_SCORE;
		} else {
			note_stride(s, by);
		}
		s->moved = by;
	}
	s->begun = true;
	s->last = addr;
}

/* ---- lines ---- */

static bool thin(struct memprofile_thread *t)
{
	memlines_thin(&t->lines);
	return mempairs_thin(&t->pairs, t->lines.shift);
}

static unsigned int bucket_of(uint64_t distance)
{
	unsigned int b = distance ? 64 - (unsigned int)__builtin_clzll(distance) : 0;

	return b < MEMPROFILE_DISTANCES ? b : MEMPROFILE_DISTANCES - 1;
}

static void note_reuse(struct memprofile_thread *t, struct state *s, uint64_t line, uint64_t hash)
{
	unsigned int shift = t->lines.shift;
	uint64_t weight = UINT64_C(1) << shift, distance;

	if (t->begun && line == t->line) {
		s->sum.reuse[0] += weight;
		return;
	}
	distance = memlines_use(&t->lines, line, hash);
	if (distance == UINT64_MAX)
		s->sum.first += weight;
	else
		s->sum.reuse[bucket_of(distance << shift)] += weight;
}

static bool note_line(struct memprofile_thread *t, uint32_t id, uint64_t line)
{
	struct state *s = &t->insns.v[id];
	uint64_t hash = memlines_hash(line);
	bool good = true;

	if (memlines_sampled(hash, t->lines.shift)) {
		note_reuse(t, s, line, hash);
		if (s->paired[line % PAIRED] != line + 1)
			good = mempairs_add(&t->pairs, id, line) >= 0;
		s->paired[line % PAIRED] = line + 1;
		while (good && t->lines.shift < MAX_SHIFT &&
		       (t->lines.n >= t->lines.max || t->pairs.n >= PAIRS_PER_LINE * t->lines.max))
			good = thin(t);
	}
	t->line = line;
	t->begun = true;
	return good;
}

/* ---- accesses ---- */

static bool take(struct memprofile_thread *t, const struct mt_access *a)
{
	unsigned int kind = a->kind & MD_KIND;
	uint32_t id = t->at == NONE ? NONE : t->insns.v[t->at].next;

	if (kind > MD_PREFETCH || (t->p->o.no_stack && (a->kind & MD_STACK)))
		return true;
	if (id >= t->insns.n || t->insns.v[id].sum.insn != a->insn) {
		id = find(&t->insns, a->insn);
		if (id == NONE)
			return false;
		if (t->at != NONE)
			t->insns.v[t->at].next = id;
	}
	t->at = id;
	t->insns.v[id].sum.accesses[kind]++;
	t->insns.v[id].sum.bytes[kind] += a->size;
	if (kind == MD_PREFETCH)
		return true;
	note_move(&t->insns.v[id], a->addr);
	return note_line(t, id, a->addr / MEMPROFILE_LINE);
}

bool memprofile_take(struct memprofile_thread *t, const struct mt_access *v, size_t n)
{
	for (size_t i = 0; i < n && !t->failed; i++)
		t->failed = !take(t, &v[i]);
	return !t->failed;
}

void memprofile_off(struct memprofile_thread *t)
{
	for (uint32_t i = 0; i < t->insns.n; i++)
		t->insns.v[i].begun = false;
	t->begun = false;
}

struct memprofile_thread *memprofile_begin(struct memprofile *p)
{
	struct memprofile_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->p = p;
	t->at = NONE;
	if (memlines_init(&t->lines, p->o.lines))
		return t;
	free(t);
	return NULL;
}

/* ---- a thread's end ---- */

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
	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++)
		to->reuse[k] += from->reuse[k];
	to->first += from->first;
}

/* The profile knows at most one in so many lines as each of its threads. */
static bool thin_profile(struct memprofile *p, unsigned int shift)
{
	if (shift <= p->shift)
		return true;
	p->shift = shift;
	return mempairs_thin(&p->pairs, shift);
}

static bool add_pairs(struct memprofile *p, const struct memprofile_thread *t, const uint32_t *id)
{
	if (!thin_profile(p, t->lines.shift))
		return false;
	for (size_t i = 0; i < t->pairs.room; i++) {
		const struct mempair *pair = &t->pairs.table[i];

		if (!pair->id || !memlines_sampled(memlines_hash(pair->line), p->shift))
			continue;
		if (mempairs_add(&p->pairs, id[pair->id - 1], pair->line) < 0)
			return false;
		while (p->pairs.n >= PAIRS_PER_LINE * (size_t)p->o.lines && p->shift < MAX_SHIFT)
			if (!thin_profile(p, p->shift + 1))
				return false;
	}
	return true;
}

static bool add_thread(struct memprofile *p, const struct memprofile_thread *t)
{
	uint32_t *id = calloc((size_t)t->insns.n + 1, sizeof(*id));
	bool good = id != NULL;

	p->sorted = false;
	for (uint32_t i = 0; good && i < t->insns.n; i++) {
		id[i] = find(&p->insns, t->insns.v[i].sum.insn);
		good = id[i] != NONE;
		if (good)
			memprofile_add(&p->insns.v[id[i]].sum, &t->insns.v[i].sum);
	}
	good = good && add_pairs(p, t, id);
	free(id);
	return good;
}

bool memprofile_end(struct memprofile_thread *t)
{
	bool good = add_thread(t->p, t) && !t->failed;

	free_insns(&t->insns);
	memlines_free(&t->lines);
	mempairs_free(&t->pairs);
	free(t);
	return good;
}

/* ---- results ---- */

struct memprofile *memprofile_new(const struct memprofile_options *o)
{
	struct memprofile *p = calloc(1, sizeof(*p));

	if (p && o)
		p->o = *o;
	if (p && !p->o.lines)
		p->o.lines = MEMPROFILE_LINES;
	return p;
}

void memprofile_free(struct memprofile *p)
{
	if (!p)
		return;
	free_insns(&p->insns);
	mempairs_free(&p->pairs);
	free(p);
}

static int by_address(const void *a, const void *b)
{
	const struct state *x = a, *y = b;

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
		p->insns.v[i].next = i;
	if (p->insns.n)
		qsort(p->insns.v, p->insns.n, sizeof(*p->insns.v), by_address);
	for (uint32_t i = 0; i < p->insns.n; i++)
		to[p->insns.v[i].next] = i;
	for (size_t i = 0; i < p->pairs.room; i++)
		if (p->pairs.table[i].id)
			p->pairs.table[i].id = to[p->pairs.table[i].id - 1] + 1;
	free(to);
	/* where they are by their hashes has changed; without memory nothing more can be added */
	if (p->insns.room && (!make_hash(&p->insns) || !mempairs_thin(&p->pairs, p->shift)))
		p->insns.n = 0;
}

const struct memprofile_insn *memprofile_insn(struct memprofile *p, size_t i)
{
	if (!p->sorted)
		sort(p);
	return i < p->insns.n ? &p->insns.v[i].sum : NULL;
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

void memprofile_adjust(struct memprofile_insn *sum)
{
	uint64_t all = sum->accesses[MD_LOAD] + sum->accesses[MD_STORE] + sum->accesses[MD_MODIFY];
	uint64_t n = sum->first;

	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++)
		n += sum->reuse[k];
	if (n < all)
		sum->reuse[0] += all - n;
	else
		sum->reuse[0] -= n - all < sum->reuse[0] ? n - all : sum->reuse[0];
}

bool memprofile_footprint(struct memprofile *p, const uint32_t *group, uint64_t *lines, size_t ngroups)
{
	struct mempairs seen = { 0 };
	bool good = true;

	if (!p->sorted)
		sort(p);
	memset(lines, 0, ngroups * sizeof(*lines));
	for (size_t i = 0; good && i < p->pairs.room; i++) {
		const struct mempair *pair = &p->pairs.table[i];
		int added;

		if (!pair->id || group[pair->id - 1] >= ngroups)
			continue;
		added = mempairs_add(&seen, group[pair->id - 1], pair->line);
		if (added > 0)
			lines[group[pair->id - 1]] += UINT64_C(1) << p->shift;
		good = added >= 0;
	}
	mempairs_free(&seen);
	return good;
}

uint64_t memprofile_sampled(const struct memprofile *p)
{
	return UINT64_C(1) << p->shift;
}
