/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/time/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracefmt/read/trace-internal.h"

#define AGREE 1e6	 /* ns: clock points that differ by less are of one clock, if read at the same time; else by ... */
#define AGREE_RATE 1e-4	 /* ... this of the time between more, */
#define NOISE 5e3	 /* ... and by what this moves the end of a line that is so short as the known one */
#define MAX_POINTS 256	 /* of a node's clock, about; more would be nothing but noise nearer together */
#define APART 50000000	 /* ns between two of them, at least */
#define STEP 1000000	 /* ns, likewise, of those that are carried over from another node */
#define MIN_HZ 1e6	 /* ticks a second: clock points that say something else are damaged */
#define MAX_HZ 1e11

/* ---- the clock of a node ---- */

/* The same machine since it was started: one time-stamp counter. */
static bool same_node(const struct tf_part *a, const struct tf_part *b)
{
	return *a->boot && !strcmp(a->boot, b->boot);
}

/* Parts of one node mostly follow one another. */
static bool find_node(struct tf_nodes *n, struct tf_part *part, size_t last)
{
	size_t i = last;

	if (last >= n->n || !same_node(n->v[last].first, part))
		for (i = 0; i < n->n && !same_node(n->v[i].first, part); i++)
			;
	part->pub.node = i;
	if (i < n->n)
		return true;
	if (!array_room(n->v, n->room, n->n + 1))
		return false;
	n->v[n->n++] = (struct tf_node){ .first = part, .clock = SONDE_TRACE_CLOCK_SET };
	return true;
}

static uint64_t span(const struct tf_timeline *t)
{
	return t->point[t->n - 1].ns - t->point[0].ns;
}

static bool near(const struct tf_timeline *t, const struct tf_point *p)
{
	int64_t ns = tf_timeline_ns(t, p->tsc);
	double rate = AGREE_RATE + NOISE / ((double)span(t) + 1);
	double off = (double)(ns - (int64_t)p->ns), since = (double)((int64_t)p->ns - (int64_t)t->point[0].ns);

	return (off < 0 ? -off : off) <= AGREE + rate * (since < 0 ? -since : since);
}

/* In another time name space CLOCK_MONOTONIC is another clock. */
static bool agree(const struct tf_timeline *t, const struct tf_timeline *other)
{
	return t == other || (near(t, &other->point[0]) && near(t, &other->point[other->n - 1]));
}

struct points {
	struct tf_point *v;
	size_t n, room;
};

static int by_tsc(const void *a, const void *b)
{
	const struct tf_point *x = a, *y = b;

	return (x->tsc > y->tsc) - (x->tsc < y->tsc);
}

/* Of the points, those that are @apart (ns), and the last one, become @t. */
static bool set_points(struct tf_timeline *t, struct points *p, uint64_t apart)
{
	const struct tf_point *last;

	if (!p->n)
		return true;
	qsort(p->v, p->n, sizeof *p->v, by_tsc);
	last = &p->v[p->n - 1];
	for (const struct tf_point *v = p->v; v <= last; v++) {
		if (v == last && t->n > 1 && v->ns < t->point[t->n - 1].ns + apart && v->tsc > t->point[t->n - 2].tsc)
			t->n--;
		if ((v == last || !t->n || v->ns >= t->point[t->n - 1].ns + apart) && !tf_timeline_add(t, v->tsc, v->ns))
			return false;
	}
	tf_timeline_finish(t);
	return true;
}

static const struct tf_timeline *longest(const struct sonde_trace *t, size_t node)
{
	const struct tf_timeline *best = NULL;

	for (size_t i = 0; i < t->parts.n; i++) {
		const struct tf_part *part = t->parts.v[i];

		if (part->pub.node == node && (!best || span(&part->timeline) > span(best)))
			best = &part->timeline;
	}
	return best;
}

/* The clock points of all parts; where there is one part they are that one's. */
static bool gather(struct sonde_trace *t, size_t node, size_t parts)
{
	struct tf_node *n = &t->nodes.v[node];
	const struct tf_timeline *known = longest(t, node);
	struct points all = { 0 };
	uint64_t first = UINT64_MAX, last = 0, apart = APART;
	bool done = true;

	for (size_t i = 0; i < t->parts.n && done; i++) {
		const struct tf_part *part = t->parts.v[i];
		const struct tf_timeline *own = &part->timeline;

		if (part->pub.node != node || !agree(known, own))
			continue;
		done = array_room(all.v, all.room, all.n + own->n);
		if (!done)
			break;
		memcpy(all.v + all.n, own->point, own->n * sizeof *own->point);
		all.n += own->n;
		first = own->point[0].ns < first ? own->point[0].ns : first;
		last = own->point[own->n - 1].ns > last ? own->point[own->n - 1].ns : last;
	}
	if (parts == 1)
		apart = 0;
	else if (last > first && (last - first) / MAX_POINTS > apart)
		apart = (last - first) / MAX_POINTS;
	done = done && set_points(&n->timeline, &all, apart);
	free(all.v);
	n->hz = n->timeline.hz;
	return done;
}

/* ---- from node to node ---- */

/* Who answered: the process of that rank, in the same run. */
static const struct tf_part *find_rank(const struct sonde_trace *t, const struct tf_part *asker, int rank)
{
	for (size_t i = 0; i < t->parts.n; i++) {
		const struct tf_part *part = t->parts.v[i];

		if (part->pub.rank == rank && part->pub.run == asker->pub.run && !part->pub.number)
			return part;
	}
	return NULL;
}

struct edge {
	size_t asker, answerer; /* nodes */
	struct tf_compared compared;
};

struct edges {
	struct edge *v;
	size_t n, room;
};

static struct edge *edge_between(struct edges *e, size_t asker, size_t answerer)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].asker == asker && e->v[i].answerer == answerer)
			return &e->v[i];
	if (!array_room(e->v, e->room, e->n + 1))
		return NULL;
	e->v[e->n] = (struct edge){ .asker = asker, .answerer = answerer };
	return &e->v[e->n++];
}

static bool has_rate(const struct tf_node *n)
{
	return n->timeline.n > 1 && n->hz >= MIN_HZ && n->hz <= MAX_HZ;
}

static bool add_edges(const struct sonde_trace *t, struct edges *e, const struct tf_part *part)
{
	const struct tf_exchange *x = part->exchange;

	for (size_t i = 0, end; i < part->nexchanges; i = end) {
		const struct tf_part *other = find_rank(t, part, x[i].rank);
		struct edge *edge;

		for (end = i + 1; end < part->nexchanges && x[end].rank == x[i].rank;)
			end++;
		if (!other || other->pub.node == part->pub.node || !has_rate(&t->nodes.v[part->pub.node]) ||
		    !has_rate(&t->nodes.v[other->pub.node]))
			continue;
		edge = edge_between(e, part->pub.node, other->pub.node);
		if (!edge || !tf_compared_add(&edge->compared, x + i, end - i, t->nodes.v[part->pub.node].hz,
					      t->nodes.v[other->pub.node].hz))
			return false;
	}
	return true;
}

static bool put_point(struct points *p, uint64_t tsc, int64_t ns)
{
	if (!array_room(p->v, p->room, p->n + 1))
		return false;
	p->v[p->n++] = (struct tf_point){ tsc, ns < 0 ? 0 : (uint64_t)ns };
	return true;
}

/* The clock of @node by that of its other: where one of the points of that is, and where they met. */
static bool carry_over(struct sonde_trace *t, struct tf_node *node, const struct tf_compared *back)
{
	const struct tf_node *other = &t->nodes.v[node->other];
	struct tf_timeline made = { 0 };
	struct points p = { 0 };
	bool done = true;

	for (size_t i = 0; i < other->timeline.n && done; i++)
		done = put_point(&p, tf_compared_ticks(back, other->timeline.point[i].tsc), (int64_t)other->timeline.point[i].ns);
	for (size_t i = 0; i < node->compared.map.n && done; i++)
		done = put_point(&p, node->compared.map.point[i].tsc,
				 tf_timeline_ns(&other->timeline, node->compared.map.point[i].ns));
	done = done && set_points(&made, &p, STEP);
	free(p.v);
	if (done && made.n > 1) {
		tf_timeline_free(&node->timeline);
		node->timeline = made;
		node->shift = other->shift;
		node->clock = node->compared.n > 1 ? SONDE_TRACE_CLOCK_COMPARED : SONDE_TRACE_CLOCK_COMPARED_ONCE;
	} else {
		tf_timeline_free(&made);
	}
	return done;
}

/* @node's clock becomes that of @other, by @edge, which is used up. */
static bool connect(struct sonde_trace *t, struct edge *edge, size_t node, size_t other)
{
	struct tf_node *n = &t->nodes.v[node];
	struct tf_compared back = { 0 };
	double hz = t->nodes.v[other].hz;
	bool done = tf_compared_reverse(&edge->compared, &back);

	tf_compared_free(&n->compared);
	n->other = other;
	n->compared = edge->compared;
	edge->compared = (struct tf_compared){ 0 };
	if (edge->asker != node) {
		struct tf_compared swapped = n->compared;

		n->compared = back;
		back = swapped;
	}
	done = done && tf_compared_finish(&n->compared, n->hz, hz) && tf_compared_finish(&back, hz, n->hz);
	if (done && n->compared.n && back.n)
		done = carry_over(t, n, &back);
	tf_compared_free(&back);
	return done;
}

static bool is_set(const struct tf_node *n)
{
	return n->clock != SONDE_TRACE_CLOCK_SET;
}

/* From the first node, whose clock is the trace's, on. */
static bool follow(struct sonde_trace *t, struct edges *e)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < e->n; i++) {
			struct edge *edge = &e->v[i];
			bool asker = is_set(&t->nodes.v[edge->asker]), answerer = is_set(&t->nodes.v[edge->answerer]);

			if (asker == answerer || !edge->compared.n)
				continue;
			if (!connect(t, edge, asker ? edge->answerer : edge->asker, asker ? edge->asker : edge->answerer))
				return false;
			more = true;
		}
	}
	return true;
}

static bool compare_clocks(struct sonde_trace *t)
{
	struct edges e = { 0 };
	bool done = true;

	for (size_t i = 0; i < t->parts.n && done; i++)
		done = add_edges(t, &e, t->parts.v[i]);
	done = done && follow(t, &e);
	for (size_t i = 0; i < e.n; i++)
		tf_compared_free(&e.v[i].compared);
	free(e.v);
	return done;
}

/* ---- all of it ---- */

/* By CLOCK_REALTIME. */
static int64_t shift_against(const struct tf_part *part, const struct tf_part *first)
{
	return (int64_t)(part->pub.start_real_ns - part->start_mono - first->pub.start_real_ns + first->start_mono);
}

/* What its own clock points say besides. */
static void note_own(struct tf_part *part)
{
	part->first_tsc = part->timeline.point[0].tsc;
	part->last_tsc = part->timeline.point[part->timeline.n - 1].tsc;
}

static void hand_out(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->parts.n; i++) {
		struct tf_part *part = t->parts.v[i];
		const struct tf_node *n = &t->nodes.v[part->pub.node];

		tf_timeline_free(&part->timeline);
		part->timeline = n->timeline;
		part->shares = true;
		part->offset = n->shift;
		part->pub.clock = n->clock;
	}
}

enum sonde_trace_status tf_nodes_find(struct sonde_trace *t)
{
	size_t *parts = calloc(t->parts.n, sizeof *parts), last = 0;
	bool done = parts != NULL;

	for (size_t i = 0; i < t->parts.n && done; i++) {
		struct tf_part *part = t->parts.v[i];

		note_own(part);
		tf_timeline_finish(&part->timeline);
		done = find_node(&t->nodes, part, last);
		last = part->pub.node;
		if (done)
			parts[last]++;
	}
	for (size_t i = 0; i < t->nodes.n && done; i++) {
		done = gather(t, i, parts[i]);
		t->nodes.v[i].shift = shift_against(t->nodes.v[i].first, t->parts.v[0]);
	}
	free(parts);
	if (done) {
		t->nodes.v[0].clock = SONDE_TRACE_CLOCK_FIRST;
		done = compare_clocks(t);
	}
	if (!done)
		return SONDE_TRACE_E_NOMEM;
	hand_out(t);
	return SONDE_TRACE_OK;
}

static bool copy_timeline(struct tf_timeline *to, const struct tf_timeline *from)
{
	*to = (struct tf_timeline){ .hz = from->hz };
	if (!array_room(to->point, to->room, from->n))
		return false;
	memcpy(to->point, from->point, from->n * sizeof *from->point);
	to->n = from->n;
	return true;
}

static bool copy_compared(struct tf_compared *to, const struct tf_compared *from)
{
	*to = (struct tf_compared){ 0 };
	if (!from->n)
		return true;
	if (!array_room(to->v, to->room, from->n))
		return false;
	memcpy(to->v, from->v, from->n * sizeof *from->v);
	to->n = from->n;
	return copy_timeline(&to->map, &from->map);
}

enum sonde_trace_status tf_nodes_copy(struct sonde_trace *t, const struct sonde_trace *all, const struct tf_part *const *same)
{
	struct tf_nodes *to = &t->nodes;

	for (size_t i = 0; i < all->nodes.n; i++) {
		const struct tf_node *from = &all->nodes.v[i];
		struct tf_node *n;

		if (!array_room(to->v, to->room, to->n + 1))
			return SONDE_TRACE_E_NOMEM;
		n = &to->v[to->n++];
		*n = *from;
		n->first = NULL;
		n->compared = (struct tf_compared){ 0 };
		if (!copy_timeline(&n->timeline, &from->timeline) || !copy_compared(&n->compared, &from->compared))
			return SONDE_TRACE_E_NOMEM;
	}
	for (size_t i = 0; i < t->parts.n; i++) {
		struct tf_part *part = t->parts.v[i];

		note_own(part);
		part->pub.node = same[i]->pub.node;
	}
	hand_out(t);
	return SONDE_TRACE_OK;
}

uint64_t tf_nodes_error(const struct sonde_trace *t, const struct tf_part *part, uint64_t ticks)
{
	const struct tf_node *n = &t->nodes.v[part->pub.node];
	double error = 0;

	for (; n->clock != SONDE_TRACE_CLOCK_FIRST; n = &t->nodes.v[n->other]) {
		if (n->clock == SONDE_TRACE_CLOCK_SET)
			return UINT64_MAX;
		error += tf_compared_error(&n->compared, ticks, n->hz);
		ticks = tf_compared_ticks(&n->compared, ticks);
	}
	return error < 1e18 ? (uint64_t)error : UINT64_MAX;
}

void tf_nodes_free(struct tf_nodes *n)
{
	for (size_t i = 0; i < n->n; i++) {
		tf_timeline_free(&n->v[i].timeline);
		tf_compared_free(&n->v[i].compared);
	}
	free(n->v);
	*n = (struct tf_nodes){ 0 };
}
