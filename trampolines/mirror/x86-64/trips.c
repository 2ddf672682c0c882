// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where trips of loops are counted in the mirror (TRAMP_MIRROR_TRIPS):
 *
 *	             in a register                     in memory
 *	entry        it is set to 0                    a look whether the loop is running already
 *	head         1 is added                        likewise
 *	exit         the least and the most are noted  likewise, and it is 0 again
 */
#include "trampolines/mirror/x86-64/plan.h"

struct step {
	struct tramp_mirror *m;
	const struct tramp_edge *edge;
};

static void place_step(void *arg, size_t trips, enum tramp_trips_step step)
{
	const struct step *s = arg;
	const struct tramp_counts *c = &s->m->counts;
	const struct tramp_kept *kept = c->trips[trips].kept == TRAMP_NONE ? NULL : &c->kept[c->trips[trips].kept];
	struct mir_counter like = { .counter = mir_trips_counter(s->m, trips), .trust = TRAMP_TRUST_COUNTS };

	if (kept) {
		like.reg = kept->reg;
		like.saved = kept->saved;
		like.act = step == TRAMP_TRIPS_ENTER ? MIR_COUNT_BEGIN : MIR_COUNT_LEFT_KEPT;
	} else {
		like.act = step == TRAMP_TRIPS_ENTER ? MIR_COUNT_ENTER : MIR_COUNT_LEFT;
	}
	mir_count_on(s->m, s->edge, like);
}

static void place_head(struct tramp_mirror *m, size_t trips)
{
	const struct tramp_trips *t = &m->counts.trips[trips];
	uint32_t head = m->flow.loops[t->loop].head;

	if (t->kept == TRAMP_NONE)
		mir_count_within(m, head, mir_trips_counter(m, trips) + RT_TRIPS_RUNNING, TRAMP_TRUST_COUNTS, 0);
	else
		mir_count_add(m, (struct mir_counter){
			.block = head, .place = MIR_COUNT_WITHIN, .at = m->blocks.v[head].lo, .act = MIR_COUNT_ADD, .by = 1,
			.reg = m->counts.kept[t->kept].reg, .trust = TRAMP_TRUST_COUNTS,
		});
}

void mir_trips_plan(struct tramp_mirror *m)
{
	struct step s = { .m = m };

	for (size_t i = 0; i < m->counts.nedges && m->counts.ntrips; i++) {
		s.edge = &m->counts.edges[i];
		tramp_count_steps(&m->counts, &m->flow, s.edge, place_step, &s);
	}
	for (size_t k = 0; k < m->counts.ntrips; k++)
		place_head(m, k);
}

bool tramp_mirror_trips(const struct tramp_mirror *m, size_t i, struct tramp_mirror_trips *trips)
{
	if (!m->planned || i >= m->counts.ntrips)
		return false;
	*trips = (struct tramp_mirror_trips){ .loop = m->counts.trips[i].loop, .counter = mir_trips_counter(m, i) };
	return true;
}
