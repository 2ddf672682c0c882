/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/chosen.h"

#include <stdlib.h>

#include "base/array.h"
#include "tracefmt/read/trace-internal.h"

bool tf_chosen_add(struct tf_chosen_in *c, uint64_t ticks, const struct sonde_trace_function *function, bool counted)
{
	if (!array_room(c->v, c->room, c->n + 1))
		return false;
	c->v[c->n++] = (struct sonde_trace_chosen){ ticks, function, counted };
	return true;
}

bool tf_chosen_burst(struct tf_chosen_in *c, uint64_t ticks, uint64_t length)
{
	if (length > UINT64_MAX - ticks)
		return true;
	if (!array_room(c->bursts, c->bursts_room, c->nbursts + 1))
		return false;
	c->bursts[c->nbursts++] = (struct sonde_trace_burst){ ticks, ticks + length };
	return true;
}

/* They were written in the order of time; what is not comes from damage. */
void tf_chosen_finish(struct tf_part *part)
{
	struct tf_chosen_in *c = &part->chosen;
	uint64_t last = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t time = tf_part_time(part, c->v[i].time);

		last = time > last ? time : last;
		c->v[i].time = last;
	}
	last = 0;
	for (size_t i = 0; i < c->nbursts; i++) {
		struct sonde_trace_burst b = { tf_part_time(part, c->bursts[i].begin), tf_part_time(part, c->bursts[i].end) };

		if (b.begin < last || b.end <= b.begin)
			continue;
		last = b.end;
		c->bursts[n++] = b;
	}
	c->nbursts = n;
	c->pub.chosen = c->v;
	c->pub.nchosen = c->n;
	c->pub.bursts = c->bursts;
	c->pub.nbursts = c->nbursts;
	if (c->known || c->n)
		part->pub.budget = &c->pub;
}

void tf_chosen_free(struct tf_chosen_in *c)
{
	free(c->v);
	free(c->bursts);
	*c = (struct tf_chosen_in){ 0 };
}
