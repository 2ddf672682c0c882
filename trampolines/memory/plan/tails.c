// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tails: what control comes to behind a search, writing nothing, up to branches that the reader cannot decide.  Each way out of
 * the loop's turns has one of its own, so that the header behind it tells of both, of the way out and of the branch:
 * where the way out is taken or not, the reader looks for any of the headers that its tail leads to.
 */
#include "trampolines/memory/plan/passes.h"

enum {
	BLOCKS_MAX = 3,		/* of a tail */
	BYTES_MAX = 64,
};

/* ---- what one consists of ---- */

struct tail {
	uint32_t n;
	uint32_t block[BLOCKS_MAX];	/* the first is its root, from which it is a tree */
	uint32_t parent[BLOCKS_MAX];
	uint32_t to[BLOCKS_MAX][2];	/* by way: which of them it leads to, or TRAMP_NONE */
	uint32_t bytes;
	bool open;			/* there is a branch in it that cannot be decided */
};

static bool is_open(const struct mp *p, uint32_t i)
{
	return p->flow->blocks[i].ends == TRAMP_END_JCC && !mp_is_decided(&p->blocks.v[i]);
}

/* Can it be in a tail of the loop? */
static bool may_follow(const struct mp *p, uint32_t i, uint32_t loop)
{
	uint32_t around = p->flow->loops[loop].parent;

	return mp_is_inner(p, i) && !p->blocks.v[i].outside && p->flow->blocks[i].loop == around &&
	       (around == TRAMP_NONE || p->flow->loops[around].head != i);
}

static bool is_among(const uint32_t *blocks, uint32_t n, uint32_t i)
{
	for (uint32_t k = 0; k < n; k++) {
		if (blocks[k] == i)
			return true;
	}
	return false;
}

/* Adds @i, and what follows it.  Says which of the tail it is, or TRAMP_NONE. */
static uint32_t gather(const struct mp *p, struct tail *t, uint32_t i, uint32_t parent, uint32_t loop)
{
	const struct mp_block *b = &p->blocks.v[i];
	uint32_t at = t->n;

	if (at == BLOCKS_MAX || !may_follow(p, i, loop) || is_among(t->block, at, i))
		return TRAMP_NONE;
	t->n++;
	t->block[at] = i;
	t->parent[at] = parent;
	t->to[at][MP_TARGET] = t->to[at][MP_NEXT] = TRAMP_NONE;
	t->bytes += p->flow->blocks[i].end - p->flow->blocks[i].start;
	if (is_open(p, i)) {
		t->open = true;
		return at;
	}
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->way[k] != TRAMP_NONE && !p->ways.v[b->way[k]].values)
			t->to[at][k] = gather(p, t, p->ways.v[b->way[k]].to, at, loop);
	}
	return at;
}

/* Behind way @k of a member of the loop. */
static bool find_tail(const struct mp *p, uint32_t member, uint32_t k, uint32_t loop, struct tail *t)
{
	uint32_t way = p->blocks.v[member].way[k];

	*t = (struct tail){ 0 };
	if (way == TRAMP_NONE || !is_open(p, member) || p->ways.v[way].values || mp_in_loop(p, p->ways.v[way].to, loop))
		return false;
	gather(p, t, p->ways.v[way].to, TRAMP_NONE, loop);
	return t->open && t->bytes <= BYTES_MAX;
}

/* ---- copies ---- */

/* Does control come to it in another way, too, which stays? */
static bool is_shared(const struct mp *p, const struct tail *t, uint32_t loop)
{
	const struct mp_block *root = &p->blocks.v[t->block[0]];

	for (uint32_t k = 0; k < root->npreds; k++) {
		uint32_t from = p->ways.v[p->preds.v[root->pred + k]].from;

		if (mp_in_loop(p, from, loop) ? !is_open(p, from) :
		    p->flow->blocks[from].loop == p->flow->blocks[t->block[0]].loop && !mp_dominates(p, from, t->block[0]))
			return true;
	}
	return false;
}

static bool note_tail(struct mp *p, uint32_t from, uint32_t k, uint32_t n)
{
	struct mp_unrolled *u = &p->unrolled;

	if (!mp_reserve(p, &u->tails, u->ntails + 1) || !mp_reserve(p, &u->tail_blocks, u->ntail_blocks + n))
		return false;
	u->tails.v[u->ntails++] = (struct mp_tail){ .from = from, .way = (uint8_t)k, .at = u->ntail_blocks, .n = n };
	u->ntail_blocks += n;
	return true;
}

static void lead_to(struct tramp_block *b, uint32_t k, uint32_t to)
{
	if (k == MP_TARGET)
		b->target = to;
	else
		b->next = to;
}

static bool copy_tail(struct mp *p, const struct tail *t, uint32_t from, uint32_t k)
{
	struct mp_unrolled *u = &p->unrolled;
	uint32_t base = u->flow.nblocks, *blocks;

	if (!mp_copy_room(p, t->block, t->n, 1) || !note_tail(p, from, k, t->n))
		return false;
	blocks = &u->tail_blocks.v[u->ntail_blocks - t->n];
	for (uint32_t i = 0; i < t->n; i++) {
		struct tramp_block *b = mp_copy_block(p, t->block[i]);

		b->idom = i ? base + t->parent[i] : from;
		blocks[i] = base + i;
		for (uint32_t w = MP_TARGET; w <= MP_NEXT; w++) {
			if (t->to[i][w] != TRAMP_NONE)
				lead_to(b, w, base + t->to[i][w]);
		}
	}
	lead_to(&u->flow.blocks[from], k, base);
	return true;
}

static bool keep_tail(struct mp *p, const struct tail *t, uint32_t from, uint32_t k)
{
	struct mp_unrolled *u = &p->unrolled;

	if (!note_tail(p, from, k, t->n))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		u->tail_blocks.v[u->ntail_blocks - t->n + i] = t->block[i];
	return true;
}

/* What it dominated can be come to from its copies. */
static void raise_idoms(struct mp *p, const struct tail *t, uint32_t head)
{
	for (uint32_t i = 0; i < p->norig; i++) {
		struct tramp_block *b = &p->unrolled.flow.blocks[i];

		if (is_among(t->block, t->n, b->idom) && !is_among(t->block, t->n, i))
			b->idom = head;
	}
}

bool mp_add_tails(struct mp *p, const struct mp_turns *u, uint32_t most)
{
	struct tail t;

	for (uint32_t m = 0; m < u->n; m++) {
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			bool shared;

			if (!find_tail(p, u->members[m], k, u->loop, &t) ||
			    p->unrolled.flow.nblocks + u->turns * t.n > most)
				continue;
			shared = is_shared(p, &t, u->loop);
			if (shared ? !copy_tail(p, &t, u->members[m], k) : !keep_tail(p, &t, u->members[m], k))
				return false;
			for (uint32_t turn = 1; turn < u->turns; turn++) {
				if (!copy_tail(p, &t, mp_in_turn(u, m, turn), k))
					return false;
			}
			raise_idoms(p, &t, u->head);
		}
	}
	return true;
}

/* ---- their headers ---- */

static uint32_t ntails(const struct mp *p)
{
	return p->flow == &p->unrolled.flow ? p->unrolled.ntails : 0;
}

static const uint32_t *blocks_of(const struct mp *p, const struct mp_tail *t)
{
	return &p->unrolled.tail_blocks.v[t->at];
}

/* The way leads out of it. */
static bool leads_out(const struct mp *p, const struct mp_tail *t, uint32_t way)
{
	return way != TRAMP_NONE && !is_among(blocks_of(p, t), t->n, p->ways.v[way].to);
}

/* Can all ways that lead there have a header each, instead of the block?  Those out of tails have one in any case. */
static bool may_be_bare(const struct mp *p, uint32_t block)
{
	const struct mp_block *b = &p->blocks.v[block];
	uint32_t others = 0;

	for (uint32_t k = 0; k < b->npreds; k++) {
		uint32_t from = p->ways.v[p->preds.v[b->pred + k]].from;

		others += from == TRAMP_NONE || !p->blocks.v[from].in_tail;
	}
	return others <= MP_OWN_HEADERS;
}

static bool is_block_sound(const struct mp *p, const struct mp_tail *t, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	if (!b->quiet || b->outside || b->npreds != 1)
		return false;
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		uint32_t way = b->way[k];

		if (way == TRAMP_NONE && b->end != MD_GOTO)
			return false;
		if (leads_out(p, t, way) ? !may_be_bare(p, p->ways.v[way].to) :
		    way != TRAMP_NONE && (b->end == MD_NEXT || p->ways.v[way].values))
			return false;
	}
	return true;
}

/* Is it in this plan what it was made for? */
static bool is_sound(const struct mp *p, const struct mp_tail *t)
{
	const struct mp_block *from = &p->blocks.v[t->from];
	bool open = false;

	if (from->end != MD_NEXT || from->way[t->way] == TRAMP_NONE || p->ways.v[from->way[t->way]].values)
		return false;
	for (uint32_t k = 0; k < t->n; k++) {
		uint32_t i = blocks_of(p, t)[k];

		if (!is_block_sound(p, t, i))
			return false;
		open |= p->blocks.v[i].end == MD_NEXT;
	}
	return open;
}

static void name_way(struct mp *p, uint32_t way)
{
	struct mp_way *w = &p->ways.v[way];

	w->implied = false;
	w->own = w->relied = true;
	p->blocks.v[w->to].bare = true;
}

bool mp_name_tails(struct mp *p)
{
	bool any = false;

	for (uint32_t k = 0; ntails(p) && k < p->unrolled.ntail_blocks; k++)
		p->blocks.v[p->unrolled.tail_blocks.v[k]].in_tail = true;

	for (uint32_t i = 0; i < ntails(p); i++) {
		struct mp_tail *t = &p->unrolled.tails.v[i];

		t->named = !t->useless && is_sound(p, t);
		any |= t->named;
		for (uint32_t k = 0; t->named && k < t->n; k++) {
			const struct mp_block *b = &p->blocks.v[blocks_of(p, t)[k]];

			for (uint32_t w = MP_TARGET; w <= MP_NEXT; w++) {
				if (leads_out(p, t, b->way[w]))
					name_way(p, b->way[w]);
			}
		}
	}
	return any;
}

static bool is_ahead(const struct mp *p, const struct mp_tail *t)
{
	return p->blocks.v[t->from].tail == t - p->unrolled.tails.v;
}

/* The header that @b looks for goes, or comes back. */
static void set_ahead(struct mp *p, struct mp_tail *t, bool ahead)
{
	struct mp_block *b = &p->blocks.v[t->from];
	struct mp_way *w = &p->ways.v[b->way[t->way]];

	w->ahead = w->implied = ahead;
	b->tail = ahead ? (uint32_t)(t - p->unrolled.tails.v) : TRAMP_NONE;
	mp_choose_header(p, w->to);
}

void mp_look_ahead(struct mp *p)
{
	for (uint32_t i = 0; i < ntails(p); i++) {
		struct mp_tail *t = &p->unrolled.tails.v[i];
		const struct mp_block *b = &p->blocks.v[t->from];

		if (t->named && !is_ahead(p, t) && b->end == MD_PEEK && b->looks == t->way)
			set_ahead(p, t, true);
	}
}

void mp_look_back(struct mp *p, struct mp_block *b)
{
	if (b->tail != TRAMP_NONE)
		set_ahead(p, &p->unrolled.tails.v[b->tail], false);
}

bool mp_drop_tails(struct mp *p)
{
	bool any = false;

	for (uint32_t i = 0; i < ntails(p); i++) {
		struct mp_tail *t = &p->unrolled.tails.v[i];

		t->useless |= t->named && !is_ahead(p, t);
		any |= t->named && !is_ahead(p, t);
	}
	return any;
}

bool mp_link_tails(struct mp *p)
{
	for (uint32_t i = 0; i < ntails(p); i++) {
		struct mp_tail *t = &p->unrolled.tails.v[i];

		t->first = (uint32_t)p->plan->nnodes;
		for (uint32_t k = 0; is_ahead(p, t) && k < t->n; k++) {
			if (!mp_link_ways(p, blocks_of(p, t)[k]))
				return false;
		}
		t->nodes = (uint32_t)p->plan->nnodes - t->first;
	}
	return true;
}
