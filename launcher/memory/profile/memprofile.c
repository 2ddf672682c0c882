/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accesses of a thread, one after another. */
#include "launcher/memory/profile/memprofile-private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINES 1024	 /* of an access: more than any instruction has */
#define AHEAD 8		 /* accesses whose lines are on their way into the cache */
#define EXPECT_LINES 4096 /* with fewer of them, they are there */

/* ---- distances ---- */

/* The higher of two is that of an access to both lines. */
enum range {
	NEAR,	/* below what struct memlines holds, or never touched before */
	UNSEEN,	/* farther; the line is none of those that are looked at */
	SEEN,	/* farther */
};

struct distance {
	enum range range;
	bool open;
	uint64_t lines; /* so many, or at least; UINT64_MAX: not touched before */
};

static void put(struct memprofile_thread *t, unsigned int at)
{
	const uint64_t line = t->front.line[at], hash = memlines_hash(line);

	memlines_put(&t->near, line, hash, t->front.note[at]);
	if (t->wide && memlines_sampled(hash, t->far.shift)) {
		memlines_put(&t->far, line, hash, 0);
		t->front_far--;
	}
}

void memprofile_put_front(struct memprofile_thread *t)
{
	for (; t->front.n; t->front.n--)
		put(t, memfront_oldest(&t->front));
	memfront_init(&t->front, t->front.max);
}

/* From here on some lines stand for all where distances are large. */
static bool widen(struct memprofile_thread *t)
{
	if (!memlines_init(&t->far, t->near.max))
		return false;
	memprofile_put_front(t);
	memlines_copy(&t->far, &t->near);
	t->wide = true;
	return true;
}

static struct distance far_distance(struct memprofile_thread *t, uint64_t line, uint64_t hash)
{
	struct distance d = { .range = SEEN };
	uint64_t fresh, used;
	uint32_t note;

	if (!memlines_sampled(hash, t->far.shift))
		return (struct distance){ .range = UNSEEN };
	fresh = t->far.fresh;
	used = memlines_take(&t->far, line, hash, &note);
	d.open = used == UINT64_MAX && t->p->o.sampled;
	d.lines = used;
	if (used != UINT64_MAX || d.open) {
		d.lines = (d.open ? fresh : used + t->front_far) << t->far.shift;
		if (d.lines < t->near.max)
			d.lines = t->near.max;
	}
	t->front_far++;
	return d;
}

static void make_room(struct memprofile_thread *t, uint64_t hash)
{
	if (!t->wide && memlines_full(&t->near) && !widen(t))
		t->failed = true;
	while (t->wide && memlines_sampled(hash, t->far.shift) && memlines_full(&t->far) && t->far.shift < MEMPROFILE_MAX_SHIFT) {
		memprofile_put_front(t);
		memlines_thin(&t->far);
	}
}

/* Of a line that is not in front, and gets there. */
static struct distance distance_behind(struct memprofile_thread *t, uint64_t line)
{
	const uint64_t hash = memlines_hash(line);
	struct distance far;
	uint64_t fresh, used, front;
	uint32_t note;

	make_room(t, hash);
	front = t->front.n;
	if (front == t->front.max) {
		put(t, memfront_oldest(&t->front));
		front--;
	}
	/* also where the distance is small: it orders the lines for others */
	far = t->wide ? far_distance(t, line, hash) : (struct distance){ .range = UNSEEN };
	fresh = t->near.fresh;
	used = memlines_take(&t->near, line, hash, &note);
	memfront_add(&t->front, line, note);
	t->begun = true;
	if (used != UINT64_MAX)
		return (struct distance){ .range = NEAR, .lines = used + front };
	if (t->p->o.sampled && fresh < t->near.max)
		return (struct distance){ .range = NEAR, .open = true, .lines = fresh };
	return t->wide ? far : (struct distance){ .range = NEAR, .lines = UINT64_MAX };
}

static struct distance distance_of(struct memprofile_thread *t, uint64_t line)
{
	const unsigned int at = memfront_find(&t->front, line);

	if (at == MEMFRONT_NONE)
		return distance_behind(t, line);
	return (struct distance){ .range = NEAR, .lines = memfront_use(&t->front, at) };
}

static struct distance farther(struct distance a, struct distance b)
{
	if (a.range != b.range)
		return a.range > b.range ? a : b;
	a.lines = a.lines > b.lines ? a.lines : b.lines;
	a.open |= b.open;
	return a;
}

/* ---- what is counted ---- */

static void count_group(struct memprofile_thread *t, struct memprofile_state *s, const struct mt_access *a)
{
	struct memprofile_group *g = &s->groups[t->group];
	unsigned int kind = a->kind & MD_KIND;

	g->accesses++;
	g->bytes += (double)a->size * (kind == MD_MODIFY ? 2 : 1);
	g->loads += kind != MD_STORE;
	g->stores += kind != MD_LOAD;
}

/* @d->lines other lines, in caches of @size lines: 2: a miss; 1: not known; 0: a hit. */
static unsigned int miss_of(const struct distance *d, uint64_t size)
{
	return d->lines >= size ? 2 : d->open;
}

static void count_caches(struct memprofile_thread *t, struct memprofile_state *s, const struct distance *d,
			 uint64_t weight)
{
	const uint64_t *caches = t->p->o.caches;

	for (unsigned int k = 0; k < MEMPROFILE_CACHES && caches[k]; k++) {
		bool far = d->range != NEAR && caches[k] > t->near.max;
		unsigned int miss = d->range == UNSEEN ? (far ? 0 : 2) : miss_of(d, caches[k]);

		if (!miss)
			continue;
		if (miss == 2)
			*(far ? &s->far.misses[k] : &s->sum.misses[k]) += far ? weight : 1;
		else
			*(far ? &s->far.unknown[k] : &s->sum.unknown[k]) += far ? weight : 1;
		if (s->groups)
			s->groups[t->group].twice[k] += (double)(miss * (far ? weight : 1));
	}
}

static void count_curve(const struct memprofile_thread *t, const struct distance *d, uint64_t weight)
{
	struct memprofile_curve *c = &t->curves[t->group];
	unsigned int bucket = d->lines == UINT64_MAX ? MEMPROFILE_DISTANCES : memprofile_bucket(d->lines);
	unsigned int known = d->range == NEAR ? 0 : memprofile_bucket(t->near.max);

	c->accesses++;
	for (unsigned int k = 0; k < known; k++)
		c->twice[k] += 2;
	if (d->range == UNSEEN)
		return;
	for (unsigned int k = known; k < bucket; k++)
		c->twice[k] += 2 * (double)weight;
	for (unsigned int k = bucket; d->open && k < MEMPROFILE_DISTANCES; k++)
		c->twice[k] += (double)weight;
}

static void count_distance(struct memprofile_thread *t, struct memprofile_state *s, const struct distance *d)
{
	uint64_t weight = d->range == SEEN ? UINT64_C(1) << t->far.shift : 1;

	s->far.n += d->range != NEAR;
	count_caches(t, s, d, weight);
	if (t->curves)
		count_curve(t, d, weight);
	if (d->range == UNSEEN)
		return;
	if (d->lines == UINT64_MAX)
		*(d->range == SEEN ? &s->far.first : &s->sum.first) += weight;
	else
		(d->open ? s->sum.open : s->sum.reuse)[memprofile_bucket(d->lines)] += weight;
}

/* ---- lines ---- */

static bool note_pair(struct memprofile_thread *t, uint32_t id, uint64_t line)
{
	struct memprofile_state *s = &t->insns.v[id];
	struct memprofile_hot *h = &t->insns.hot[id];
	struct mempair *noted = &t->noted[(line ^ id * UINT64_C(37)) % MEMPROFILE_NOTED];
	uint32_t *last; /* instruction that has been paired with the line, + 1 */
	int added;

	if (h->paired[line % MEMPROFILE_PAIRED] == line + 1)
		return true;
	h->paired[line % MEMPROFILE_PAIRED] = line + 1;
	if (noted->line == line && noted->id == id + 1)
		return true;
	*noted = (struct mempair){ line, id + 1 };
	last = &t->front.note[memfront_find(&t->front, line)];
	if (*last == id + 1)
		return true;
	*last = id + 1;
	if (s->shift && !memlines_sampled(memlines_hash(line), s->shift))
		return true;
	/* of the line that it will get to, if it goes on so */
	mempairs_expect(&t->pairs, id, line + (uint64_t)(h->moved / MEMPROFILE_LINE) + (h->moved > 0 && h->moved < MEMPROFILE_LINE));
	added = mempairs_add(&t->pairs, id, line);
	s->npairs += added > 0;
	return added >= 0 && (!added || memprofile_thin_pairs(&t->pairs, &t->insns, t->near.max));
}

static bool note_lines(struct memprofile_thread *t, uint32_t id, const struct mt_access *a)
{
	uint64_t line = a->addr / MEMPROFILE_LINE;
	uint64_t last = (a->addr + (a->size ? a->size - 1u : 0)) / MEMPROFILE_LINE;
	struct distance d = { .range = NEAR };
	bool good = true;

	if (last - line > MAX_LINES)
		last = line; /* the end of the address space, or damage */
	for (; good; line++) {
		d = farther(d, distance_of(t, line));
		good = note_pair(t, id, line) && !t->failed;
		if (line == last)
			break;
	}
	count_distance(t, &t->insns.v[id], &d);
	return good;
}

/* ---- accesses ---- */

static void new_burst(struct memprofile_thread *t)
{
	if (t->curves)
		t->curves[t->group].bursts++;
}

static inline void note_move(const struct memprofile_thread *t, uint32_t id, uint64_t addr)
{
	struct memprofile_hot *h = &t->insns.hot[id];
	const int64_t by = (int64_t)(addr - h->last);

	if (h->begun && by == h->moved) {
		h->run++;
	} else if (h->begun) {
		memprofile_moved(&t->insns.v[id], h);
		h->moved = by;
		h->other = true;
	}
	h->begun = true;
	h->last = addr;
}

static bool take_one(struct memprofile_thread *t, uint32_t id, const struct mt_access *a)
{
	struct memprofile_state *s = &t->insns.v[id];

	s->sum.accesses[a->kind & MD_KIND]++;
	s->sum.bytes[a->kind & MD_KIND] += a->size;
	if ((a->kind & MD_KIND) == MD_PREFETCH)
		return true;
	if (!t->begun)
		new_burst(t);
	if (s->groups)
		count_group(t, s, a);
	note_move(t, id, a->addr);
	return note_lines(t, id, a);
}

/* The first of its kind or size, or in a stream where there is more to be counted. */
static bool take_other(struct memprofile_thread *t, uint32_t id, const struct mt_access *a)
{
	const unsigned int kind = a->kind & MD_KIND;
	struct memprofile_hot *h = &t->insns.hot[id];

	memprofile_settle(&t->insns.v[id], h);
	h->kind = (uint8_t)kind;
	h->size = a->size <= MEMPROFILE_LINE && kind != MD_PREFETCH && t->soon ? (uint8_t)a->size : 0;
	return take_one(t, id, a);
}

static uint32_t find(struct memprofile_thread *t, uint64_t insn)
{
	uint32_t id = t->at == MEMPROFILE_NONE ? MEMPROFILE_NONE : t->insns.hot[t->at].next;

	if (!(insn >> 32) && t->insns.n) {
		id = t->insns.hash[insn & (2 * (uint64_t)t->insns.room - 1)] - 1;
		return id < t->insns.n && t->insns.hot[id].insn == insn ? id : memprofile_find(&t->insns, insn);
	}
	if (id < t->insns.n && t->insns.hot[id].insn == insn)
		return id;
	id = memprofile_find(&t->insns, insn);
	if (id != MEMPROFILE_NONE && t->at != MEMPROFILE_NONE)
		t->insns.hot[t->at].next = id;
	return id;
}

static inline bool take(struct memprofile_thread *t, const struct mt_access *a)
{
	const unsigned int kind = a->kind & MD_KIND;
	const uint64_t line = a->addr / MEMPROFILE_LINE;
	struct memprofile_hot *h;
	unsigned int at;
	uint64_t before;
	uint32_t id;

	if (kind > MD_PREFETCH || (a->kind & t->skip))
		return true;
	id = find(t, a->insn);
	if (id == MEMPROFILE_NONE)
		return false;
	t->at = id;
	h = &t->insns.hot[id];
	if (a->size != h->size || kind != h->kind || !h->size)
		return take_other(t, id, a);
	at = memfront_find(&t->front, line);
	if (at == MEMFRONT_NONE || (a->addr + h->size - 1) / MEMPROFILE_LINE != line)
		return take_one(t, id, a);
	h->soon[memprofile_bucket(memfront_use(&t->front, at))]++;
	before = h->last;
	note_move(t, id, a->addr);
	return (before && before / MEMPROFILE_LINE == line) || note_pair(t, id, line);
}

bool memprofile_take(struct memprofile_thread *t, const struct mt_access *v, size_t n)
{
	const bool expect = t->near.n >= EXPECT_LINES;

	t->unsettled += n;
	for (uint32_t i = 0; t->unsettled > UINT32_MAX && i < t->insns.n; i++)
		memprofile_settle(&t->insns.v[i], &t->insns.hot[i]);
	if (t->unsettled > UINT32_MAX)
		t->unsettled = n;
	for (size_t i = 0; i < n && !t->failed; i++) {
		if (expect && i + AHEAD < n && (v[i + AHEAD].addr ^ v[i + AHEAD - 1].addr) / MEMPROFILE_LINE)
			memlines_expect(&t->near, v[i + AHEAD].addr / MEMPROFILE_LINE);
		t->failed = !take(t, &v[i]);
	}
	return !t->failed;
}

/* Each group has bursts of all times: of every so many.  The first one is no sample: it is always there. */
void memprofile_off(struct memprofile_thread *t)
{
	if (t->begun)
		t->group = (t->group + 1) % MEMPROFILE_GROUPS;
	t->begun = false;
	t->burst++;
	for (uint32_t i = 0; i < t->insns.n; i++)
		t->insns.hot[i].begun = false;
	if (!t->p->o.sampled)
		return;
	if (t->burst == 1 && !t->failed) {
		t->whole = true;
		t->failed = !memprofile_flush(t);
		t->whole = false;
	}
	memprofile_put_front(t);
	memlines_begin(&t->near);
	if (t->wide)
		memlines_begin(&t->far);
}

void memprofile_scale(struct memprofile_thread *t, double factor)
{
	t->scale = factor;
}

void memprofile_whole(struct memprofile_thread *t)
{
	t->whole = true;
}

struct memprofile_thread *memprofile_begin(struct memprofile *p)
{
	struct memprofile_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->p = p;
	t->at = MEMPROFILE_NONE;
	t->scale = 1;
	t->insns.sampled = p->o.sampled;
	t->group = p->begun++ % MEMPROFILE_GROUPS;
	t->skip = p->o.no_stack ? MD_STACK : 0;
	t->soon = !p->o.sampled && (!p->o.caches[0] || p->o.caches[0] >= MEMFRONT_LINES);
	memfront_init(&t->front, p->o.lines);
	if (p->o.sampled)
		t->curves = calloc(MEMPROFILE_GROUPS, sizeof(*t->curves));
	if ((t->curves || !p->o.sampled) && memlines_init(&t->near, p->o.lines))
		return t;
	free(t->curves);
	free(t);
	return NULL;
}
