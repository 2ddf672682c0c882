// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/collect/bursts.h"

/* ns of CPU time before windows are taken out for the first time: what a short program takes. */
#define FIRST 20e6

/* ns of CPU time of a burst: so many times what a switch costs, within bounds; by the clock no more than so many times that. */
#define PRICES 10
#define SHORTEST 4e6
#define LONGEST 20e6
#define STRETCH 4

#define MOST_EMPTY 5 /* pauses are so many times doubled */

#define SOONEST INT64_C(500000) /* ns */
#define LATEST INT64_C(100000000)

void bursts_begin(struct bursts *b, double share)
{
	*b = (struct bursts){ .share = share, .state = BURSTS_FIRST };
}

static double length(const struct bursts *b)
{
	double ns = PRICES * b->price;

	return ns < SHORTEST ? SHORTEST : ns < LONGEST ? ns : LONGEST;
}

static int64_t until(double left)
{
	if (left <= 0)
		return 0;
	return left < SOONEST ? SOONEST : left < LATEST ? (int64_t)left : LATEST;
}

int64_t bursts_wait(const struct bursts *b, const struct bursts_now *n)
{
	double used = n->cpu - b->cpu, left;

	switch (b->state) {
	case BURSTS_FIRST: return until(FIRST - used);
	case BURSTS_OFF: return until((n->cost - b->cost) / b->share * (1u << b->empty) - used);
	default: break;
	}
	left = STRETCH * length(b) - (double)(n->now - b->now);
	return until(left < length(b) - used ? left : length(b) - used);
}

void bursts_switched(struct bursts *b, const struct bursts_now *n, double price, bool recorded)
{
	b->price = b->price > 0 ? (3 * b->price + price) / 4 : price;
	b->now = n->now;
	b->cpu = n->cpu;
	if (b->state == BURSTS_OFF)
		b->cost = n->cost - price;
	if (b->state == BURSTS_ON)
		b->empty = recorded ? 0 : b->empty + (b->empty < MOST_EMPTY);
	b->state = b->state == BURSTS_ON || b->state == BURSTS_FIRST ? BURSTS_OFF : BURSTS_ON;
}
