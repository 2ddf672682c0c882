/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/stack.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"

void tf_stack_free(struct tf_stack *s)
{
	free(s->frame);
	*s = (struct tf_stack){ 0 };
}

bool tf_stack_grow(struct tf_stack *s)
{
	return s->n < TF_STACK_MAX && array_room(s->frame, s->room, s->n + 1);
}

void tf_stack_trim(struct tf_stack *s)
{
	while (s->segments && s->base[s->segments - 1] >= s->n)
		s->segments--;
}

/* Segments are numbered from 0, the outermost; this is where number @i begins, or ends. */
static size_t segment_start(const struct tf_stack *s, unsigned i)
{
	return i ? s->base[i - 1] : 0;
}

static size_t segment_end(const struct tf_stack *s, unsigned i)
{
	return i < s->segments ? s->base[i] : s->n;
}

/* How far @addr is from the frames of segment @i; 0: among them. */
static uint64_t distance(const struct tf_stack *s, unsigned i, uint64_t addr)
{
	uint64_t low = s->frame[segment_end(s, i) - 1].addr;
	uint64_t high = s->frame[segment_start(s, i)].addr;

	if (addr < low)
		return low - addr;
	return addr > high ? addr - high : 0;
}

/* The innermost segment counts with any distance, the others only when near. */
static unsigned nearest(const struct tf_stack *s, uint64_t addr)
{
	unsigned best = s->segments;
	uint64_t least = distance(s, best, addr);

	for (unsigned i = s->segments; i-- > 0;) {
		uint64_t d = distance(s, i, addr);

		if (d < least && d < TF_STACK_FAR) {
			least = d;
			best = i;
		}
	}
	return best;
}

static bool begin_segment(struct tf_stack *s)
{
	if (s->segments == TF_STACK_SEGMENTS)
		return false;
	s->base[s->segments++] = s->n;
	return true;
}

size_t tf_stack_keep(struct tf_stack *s, uint64_t addr)
{
	size_t start, keep;
	unsigned i;

	if (!s->n)
		return 0;
	i = nearest(s, addr);
	start = segment_start(s, i);
	if (i == s->segments && addr > s->frame[start].addr &&
	    addr - s->frame[start].addr > TF_STACK_FAR && begin_segment(s))
		return s->n;
	for (keep = segment_end(s, i); keep > start && s->frame[keep - 1].addr <= addr;)
		keep--;
	return keep;
}

size_t tf_stack_find(struct tf_stack *s, uint32_t function, uint64_t budget)
{
	size_t least = 0;

	if (s->n > 4096 && s->spent + s->n > 16 * budget)
		least = s->n - 4096;
	for (size_t i = s->n; i > least; i--)
		if (s->frame[i - 1].function == function)
			return i - 1;
	s->spent += s->n - least;
	return SIZE_MAX;
}

/* How many frames of [low, high), whose addresses decrease, are above @addr; plus @low. */
static size_t above(const struct tf_stack *s, size_t low, size_t high, uint64_t addr)
{
	return low + search_first(i, high - low, s->frame[low + i].addr <= addr);
}

size_t tf_stack_at(const struct tf_stack *s, uint64_t addr, uint32_t function)
{
	for (unsigned i = s->segments + 1; i-- > 0;) {
		size_t end = segment_end(s, i), at = above(s, segment_start(s, i), end, addr);

		if (at < end && s->frame[at].addr == addr && s->frame[at].function == function)
			return at;
	}
	return SIZE_MAX;
}

size_t tf_stack_above(const struct tf_stack *s, uint64_t addr)
{
	size_t start = segment_start(s, s->segments);

	if (start == s->n || (addr > s->frame[start].addr &&
			      addr - s->frame[start].addr > TF_STACK_FAR))
		return s->n;
	return above(s, start, s->n, addr);
}
