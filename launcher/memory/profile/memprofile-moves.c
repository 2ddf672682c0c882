// SPDX-License-Identifier: GPL-3.0-or-later
/* How far an instruction's accesses are from one another. */
#include "launcher/memory/profile/memprofile-private.h"

#define MAX_SCORE 16 /* a stride that was seen so often outlives as many others */

static bool count_known(struct memprofile_state *s, struct memprofile_hot *h, int64_t by, uint64_t times)
{
	struct memprofile_stride *v = s->sum.strides;

	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++) {
		if (v[k].by != by || !v[k].n)
			continue;
		v[k].n += times;
		h->score[k] = (uint8_t)(times < MAX_SCORE - (unsigned int)h->score[k] ? h->score[k] + times : MAX_SCORE);
		return true;
	}
	return false;
}

/*
 * A stride's count is exact from when it got its place, which it loses when others came more often
 * since: what is frequent gets a place early and keeps it, and random ones never count for much.
 */
static void note_stride(struct memprofile_state *s, struct memprofile_hot *h, int64_t by)
{
	struct memprofile_stride *v = s->sum.strides;
	const unsigned int k = h->turn++ % MEMPROFILE_STRIDES;

	if (h->score[k]) {
		h->score[k]--;
		return;
	}
	/* what is here often is not given up for what came once */
	if (v[k].n > s->sum.moves / 8)
		return;
	v[k] = (struct memprofile_stride){ by, 1 };
	h->score[k] = 1;
}

static void add_moves(struct memprofile_state *s, struct memprofile_hot *h, int64_t by, uint64_t times)
{
	if (by >= -MEMPROFILE_NEAR && by <= MEMPROFILE_NEAR)
		s->sum.near += times;
	for (; times; times--) {
		s->sum.moves++;
		if (count_known(s, h, by, times)) {
			s->sum.moves += times - 1;
			return;
		}
		note_stride(s, h, by);
	}
}

/* Those that were as far as the time before. */
static void settle_run(struct memprofile_state *s, struct memprofile_hot *h)
{
	const int64_t by = h->moved;

	if (by < -MEMPROFILE_NEAR || by > MEMPROFILE_NEAR)
		s->sum.strided += h->run;
	add_moves(s, h, by, h->run);
	h->run = 0;
}

void memprofile_moved(struct memprofile_state *s, struct memprofile_hot *h, int64_t by)
{
	if (h->run)
		settle_run(s, h);
	add_moves(s, h, by, 1);
	h->moved = by;
}

void memprofile_settle(struct memprofile_state *s, struct memprofile_hot *h)
{
	if (h->run)
		settle_run(s, h);
	s->sum.accesses[h->kind] += h->n;
	s->sum.bytes[h->kind] += (uint64_t)h->n * h->size;
	h->n = 0;
	for (unsigned int k = 0; k < MEMPROFILE_SOON; k++) {
		s->sum.reuse[k] += h->soon[k];
		h->soon[k] = 0;
	}
}
