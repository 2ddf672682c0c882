/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "memtrace/pack/places.h"
#include "memtrace/pack/recur.h"

enum {
	PLACES_LOG = 16,
	RATE = 11,		/* one of 2^RATE words is a place */
	ENOUGH = 500,		/* places for an answer */
	SHARE = 60,		/* per cent that have to have been before */
	STEADY = 20,		/* ... that were as far back as others lately: else they are but phrases that are frequent */
	DRIFT = 64,		/* words that that may differ by */
};

struct tf_recur_place {
	uint32_t hash;
	uint32_t at;		/* modulo 2^32 */
};

void tf_recur_free(struct tf_recur *r)
{
	free(r->places);
	*r = (struct tf_recur){ 0 };
}

/* Was another place lately as far back? */
static bool is_steady(struct tf_recur *r, uint32_t back)
{
	bool steady = false;

	for (unsigned int i = 0; i < TF_RECUR_LATELY; i++)
		steady |= back - r->back[i] + DRIFT <= 2 * DRIFT;
	if (steady)
		r->distance = back;
	r->back[r->next] = back;
	r->next = (r->next + 1) % TF_RECUR_LATELY;
	return steady;
}

static void look_at(struct tf_recur *r, const uint8_t *words, uint32_t at)
{
	uint64_t h = tf_place_hash(words);
	struct tf_recur_place *p = &r->places[h >> (64 - PLACES_LOG)];
	uint64_t bytes = 4 * (uint64_t)(at - p->at);
	unsigned int log = TF_RECUR_NEAR;

	while (log <= TF_RECUR_FAR && bytes > UINT64_C(1) << log)
		log++;
	r->looked++;
	if (p->hash == (uint32_t)h && log > TF_RECUR_NEAR && log <= TF_RECUR_FAR) {
		r->seen[log - TF_RECUR_NEAR]++;
		r->steady += is_steady(r, at - p->at);
	}
	*p = (struct tf_recur_place){ .hash = (uint32_t)h, .at = at };
}

/* What nearly all of what has been seen before is within. */
static unsigned int answer(const struct tf_recur *r)
{
	uint32_t all = 0, sum = 0;
	unsigned int i = 0;

	for (i = 0; i <= TF_RECUR_FAR - TF_RECUR_NEAR; i++)
		all += r->seen[i];
	if (100 * (uint64_t)all < SHARE * (uint64_t)r->looked || 100 * (uint64_t)r->steady < STEADY * (uint64_t)r->looked)
		return 0;
	for (i = 0; i < TF_RECUR_FAR - TF_RECUR_NEAR && sum + r->seen[i] < all - all / 8; i++)
		sum += r->seen[i];
	return TF_RECUR_NEAR + i;
}

unsigned int tf_recur_look(struct tf_recur *r, const void *words, size_t bytes)
{
	const uint8_t *w = words;
	size_t n = bytes / 4;
	unsigned int log;

	if (!r->places)
		r->places = calloc((size_t)1 << PLACES_LOG, sizeof(*r->places));
	if (!r->places)
		return 0;
	for (size_t i = 0; i + TF_PLACES_AHEAD <= n; i += TF_PLACES_LANES) {
		for (unsigned int are = tf_places(w + 4 * i, RATE); are; are &= are - 1) {
			size_t at = i + (size_t)__builtin_ctz(are);

			look_at(r, w + 4 * at, (uint32_t)(r->words + at));
		}
	}
	r->words += n;
	if (r->looked < ENOUGH)
		return 0;
	log = answer(r);
	r->looked = r->steady = 0;
	memset(r->seen, 0, sizeof(r->seen));
	if (!log)
		r->since = 0;
	else if (!r->since)
		r->since = r->words;
	return log && r->words - r->since >= r->distance ? log : 0;
}
