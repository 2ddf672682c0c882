/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/memoryrecur.h"

enum {
	PLACES_LOG = 16,
	RATE_LOG = 10,		/* one of so many words is a place */
	PLACE = 0x155,		/* not where there are zeros */
	CONTEXT = 8,		/* words that are hashed */
	ENOUGH = 1000,		/* places for an answer */
	SHARE = 2,		/* one of so many has to have been before */
};

typedef uint32_t lanes __attribute__((vector_size(16)));
enum { LANES = 4 };

struct tf_recur_place {
	uint32_t hash;
	uint32_t at;		/* modulo 2^32 */
};

void tf_recur_free(struct tf_recur *r)
{
	free(r->places);
	*r = (struct tf_recur){ 0 };
}

static uint64_t hash(const uint8_t *words)
{
	uint64_t h = 0, v;

	for (int i = 0; i < CONTEXT; i += 2) {
		memcpy(&v, words + 4 * i, 8);
		h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h * UINT64_C(0xd6e8feb86659fd93);
}

static void look_at(struct tf_recur *r, const uint8_t *words, uint32_t at)
{
	uint64_t h = hash(words);
	struct tf_recur_place *p = &r->places[h >> (64 - PLACES_LOG)];
	uint64_t bytes = 4 * (uint64_t)(at - p->at);
	unsigned int log = TF_RECUR_NEAR;

	while (log <= TF_RECUR_FAR && bytes > UINT64_C(1) << log)
		log++;
	r->looked++;
	if (p->hash == (uint32_t)h && log > TF_RECUR_NEAR && log <= TF_RECUR_FAR)
		r->seen[log - TF_RECUR_NEAR]++;
	*p = (struct tf_recur_place){ .hash = (uint32_t)h, .at = at };
}

/* Each of four words, by itself and the ones behind it. */
static lanes are_places(const uint8_t *words)
{
	lanes a, b, c;

	memcpy(&a, words, sizeof(a));
	memcpy(&b, words + 4, sizeof(b));
	memcpy(&c, words + 8, sizeof(c));
	a += b << 7 | b >> 25;
	a ^= c << 17 | c >> 15;
	a ^= a >> 15;
	a += a << 9;
	a ^= a >> 13;
	a += a << 5;
	return (lanes)(a >> (32 - RATE_LOG) == PLACE);
}

static bool any(lanes v)
{
	uint64_t halves[2];

	memcpy(halves, &v, sizeof(halves));
	return halves[0] | halves[1];
}

/* What nearly all of what has been seen before is within. */
static unsigned int answer(const struct tf_recur *r)
{
	uint32_t all = 0, sum = 0;
	unsigned int i = 0;

	for (i = 0; i <= TF_RECUR_FAR - TF_RECUR_NEAR; i++)
		all += r->seen[i];
	if (all < r->looked / SHARE)
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
	for (size_t i = 0; i + LANES + CONTEXT <= n; i += LANES) {
		const lanes are = are_places(w + 4 * i);

		for (size_t k = 0; any(are) && k < LANES; k++) {
			if (are[k])
				look_at(r, w + 4 * (i + k), (uint32_t)(r->words + i + k));
		}
	}
	r->words += n;
	if (r->looked < ENOUGH)
		return 0;
	log = answer(r);
	r->looked = 0;
	memset(r->seen, 0, sizeof(r->seen));
	return log;
}
