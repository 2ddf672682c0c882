/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How an instruction's accesses go through memory, from its most frequent distances: a loop makes steps of one distance, and where it is entered
 * anew, another one.  With n accesses to each pass that are S bytes apart, and a distance T from the last of one to the first of the next, passes
 * begin T + (n - 1) S bytes after each other.
 */
#include "launcher/advise/advise.h"

#include <math.h>

/* The most frequent distance but @by. */
static struct memprofile_stride second(const struct memprofile_insn *sum, int64_t by)
{
	struct memprofile_stride best = { 0 };

	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++)
		if (sum->strides[k].by != by && sum->strides[k].n > best.n)
			best = sum->strides[k];
	return best;
}

/* The remainder that is nearest to 0. */
static int64_t nearest(int64_t value, int64_t by)
{
	const int64_t all = by < 0 ? -by : by;
	int64_t rest = value % all;

	if (rest > all / 2)
		rest -= all;
	else if (rest < -(all / 2))
		rest += all;
	return rest;
}

struct advise_walk advise_walk_of(const struct memprofile_insn *sum)
{
	double percent;
	const struct memprofile_stride first = memprofile_dominant(sum, &percent), other = second(sum, first.by);
	const uint64_t accesses = memory_accesses(sum), rest = sum->moves - first.n;
	struct advise_walk w = { .by = first.by, .share = percent / 100 };
	double steps;

	if (!sum->moves || !first.n || first.n >= accesses)
		return w;
	w.random = (double)(sum->moves - sum->near - sum->strided) / (double)sum->moves;
	steps = (double)first.n / (double)(accesses - first.n);
	w.run = 1 + steps;
	w.passes = other.n >= 1 && 2 * other.n >= rest;
	if (!w.passes)
		return w;
	if (advise_far(first.by) > MEMPROFILE_NEAR)
		w.again = nearest(other.by, first.by);
	else if (fabs(steps * (double)first.by) < 0x1p62)
		w.again = other.by + (int64_t)round(steps) * first.by;
	else
		w.passes = false;
	return w;
}
