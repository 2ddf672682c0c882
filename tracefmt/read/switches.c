/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/switches.h"

#include <stdlib.h>

#include "base/array.h"
#include "tracefmt/read/trace-internal.h"

bool tf_switches_add(struct tf_switches *s, uint64_t ticks, bool on)
{
	if (!array_room(s->v, s->room, s->n + 1))
		return false;
	s->v[s->n++] = (struct tf_switch){ .from = ticks, .on = on };
	return true;
}

/* Threads switch, and say so a little later: not always in the order of time. */
static int compare(const void *a, const void *b)
{
	const struct tf_switch *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->on - y->on;
}

static void add_stretch(struct tf_switches *s, size_t *n, uint64_t from, uint64_t to)
{
	const struct tf_switch *last = *n ? &s->v[*n - 1] : NULL;

	if (to > from)
		s->v[(*n)++] = (struct tf_switch){ .from = from, .to = to,
						   .before = last ? last->before + (last->to - last->from) : 0 };
}

void tf_switches_finish(struct tf_part *part)
{
	struct tf_switches *s = &part->switches;
	uint64_t off = 0, time;
	bool is_off = false;
	size_t n = 0, at = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare);
	/* stretches are not more than the switches that have been looked at */
	for (size_t i = 0; i < s->n; i++) {
		bool on = s->v[i].on;

		if (on != is_off)
			continue;
		time = tf_part_time(part, s->v[i].from);
		if (on)
			add_stretch(s, &n, off, time);
		off = time;
		is_off = !on;
		part->pub.offs += !on;
	}
	if (is_off)
		add_stretch(s, &n, off, UINT64_MAX);
	s->n = n;
	part->pub.off = tf_switches_off(s, part->pub.end, &at);
}

uint64_t tf_switches_off(const struct tf_switches *s, uint64_t time, size_t *at)
{
	const struct tf_switch *v;

	while (*at < s->n && s->v[*at].to <= time)
		++*at;
	if (*at == s->n && !s->n)
		return 0;
	v = &s->v[*at < s->n ? *at : s->n - 1];
	return v->before + (time <= v->from ? 0 : time < v->to ? time - v->from : v->to - v->from);
}

void tf_switches_free(struct tf_switches *s)
{
	free(s->v);
	*s = (struct tf_switches){ 0 };
}

uint64_t sonde_trace_off(const struct sonde_trace *trace, size_t rank_index, uint64_t from, uint64_t to)
{
	const struct tf_part *part = rank_index < trace->parts.n ? trace->parts.v[rank_index] : NULL;
	size_t at = 0, later = 0;

	if (!part || to <= from)
		return 0;
	return tf_switches_off(&part->switches, to, &later) - tf_switches_off(&part->switches, from, &at);
}
