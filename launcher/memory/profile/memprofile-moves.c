// SPDX-License-Identifier: GPL-3.0-or-later
/* How far an instruction's accesses are from one another. */
#include "launcher/memory/profile/memprofile-private.h"

#define MAX_SCORE 16 /* a stride that was seen so often outlives as many others */

static bool count_known(struct memprofile_state *s, int64_t by, uint64_t times)
{
	struct memprofile_stride *v = s->sum.strides;

	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++) {
		if (v[k].by != by || !v[k].n)
			continue;
		v[k].n += times;
		s->score[k] = (uint8_t)(times < MAX_SCORE - (unsigned int)s->score[k] ? s->score[k] + times : MAX_SCORE);
		return true;
	}
	return false;
}

/*
 * A stride's count is exact from when it got its place, which it loses when others came more often
 * since: what is frequent gets a place early and keeps it, and random ones never count for much.
 */
static void note_stride(struct memprofile_state *s, int64_t by)
{
	struct memprofile_stride *v = s->sum.strides;
	const unsigned int k = s->turn++ % MEMPROFILE_STRIDES;

	if (s->score[k]) {
		s->score[k]--;
		return;
	}
	/* what is here often is not given up for what came once */
	if (v[k].n > s->sum.moves / 8)
		return;
	v[k] = (struct memprofile_stride){ by, 1 };
	s->score[k] = 1;
}

void memprofile_moved(struct memprofile_state *s, struct memprofile_hot *h)
{
	const int64_t by = h->moved;
	uint64_t times = (uint64_t)h->run + h->other;

	if (by >= -MEMPROFILE_NEAR && by <= MEMPROFILE_NEAR)
		s->sum.near += times;
	else
		s->sum.strided += h->run;
	h->run = 0;
	h->other = false;
	for (; times; times--) {
		s->sum.moves++;
		if (count_known(s, by, times)) {
			s->sum.moves += times - 1;
			return;
		}
		note_stride(s, by);
	}
}

void memprofile_settle(struct memprofile_state *s, struct memprofile_hot *h)
{
	uint64_t n = 0;

	memprofile_moved(s, h);
	for (unsigned int k = 0; k < MEMPROFILE_SOON; k++) {
		n += h->soon[k];
		s->sum.reuse[k] += h->soon[k];
		h->soon[k] = 0;
	}
	s->sum.accesses[h->kind] += n;
	s->sum.bytes[h->kind] += n * h->size;
}
