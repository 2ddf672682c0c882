/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/cost.h"

void cost_begin(struct cost_clock *c, const struct sonde_trace *trace, const struct sonde_trace_thread *t, bool raw)
{
	const struct sonde_trace_cost *cost = sonde_trace_rank(trace, t->rank_index)->cost;

	*c = (struct cost_clock){ .raw = raw };
	if (!cost)
		return;
	c->inside = cost->inside;
	c->outside = cost->outside;
}
