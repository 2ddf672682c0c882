/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/stream.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

uint64_t cache_stream_groups(const struct cache_level *level, unsigned int unit)
{
	/* from where on in memory sets come again; groups have to come again with them */
	const uint64_t bytes = level->lines / level->ways * level->line;
	const uint64_t groups = (bytes & -bytes) >> unit;

	return !groups ? 1 : groups < CACHE_STREAM_GROUPS ? groups : CACHE_STREAM_GROUPS;
}

/* One of each one_in groups in a row: the chosen ones are spread, and follow no pattern. */
static bool choose(struct cache_stream *s)
{
	s->chosen = calloc(s->groups, sizeof(*s->chosen));
	for (uint64_t i = 0; s->chosen && i < s->groups; i += s->one_in)
		s->chosen[i + hash_word(i + 1) % s->one_in] = true;
	return s->chosen != NULL;
}

bool cache_stream_begin(struct cache_stream *s)
{
	if (s->one_in > 1 && !choose(s))
		return false;
	s->last = malloc(s->groups * sizeof(*s->last));
	for (uint64_t i = 0; s->last && i < s->groups; i++)
		s->last[i] = CACHE_STREAM_NONE;
	return s->last != NULL;
}

void cache_stream_free(struct cache_stream *s)
{
	free(s->last);
	free(s->chosen);
	free(s->more);
	free(s->requests.v);
	free(s->given.v);
}

/* Is it to be left out?  Else notes it. */
static inline bool known(struct cache_stream *s, enum cache_stream_kind kind, uint64_t line, uint32_t how)
{
	const uint64_t group = line >> (s->unit - s->shift) & (s->groups - 1);
	uint64_t *last = &s->last[group], key = line << 1;

	if (s->chosen && !s->chosen[group])
		return true;
	switch (kind) {
	case CACHE_STREAM_BACK:
		key |= (how & CACHE_WRITE) != 0;
		if (*last == key || *last == (key | 1))
			return true;
		break;
	case CACHE_STREAM_THROUGH:
		if (*last == key)
			return !(how & CACHE_WRITE);
		if (!(how & CACHE_READ))
			key = CACHE_STREAM_NONE;
		break;
	case CACHE_STREAM_READS:
		if (*last == key)
			return true;
		break;
	case CACHE_STREAM_ALL:
		return false;
	}
	*last = key;
	return false;
}

/* An access over several lines; @left: so many accesses follow.  False: no memory. */
static bool take_long(struct cache_stream *s, const struct cache_access *a, size_t left)
{
	const uint64_t first = a->first >> s->shift, last = a->last >> s->shift;
	const uint32_t how = s->kind == CACHE_STREAM_READS ? CACHE_READ : a->how;
	struct cache_requests *to = &s->requests;

	s->more[a->insn] += last - first;
	if (!array_room(to->v, to->room, to->n + (last - first) + 1 + left))
		return false;
	for (uint64_t line = first; line <= last; line++)
		if (!known(s, s->kind, line, how))
			to->v[to->n++] = (struct cache_request){ .line = line, .insn = a->insn, .how = how };
	return true;
}

/* As a function of its own for each kind. */
__attribute__((always_inline))
static inline bool take(struct cache_stream *s, enum cache_stream_kind kind, const struct cache_access *v, size_t n)
{
	const unsigned int shift = s->shift;
	struct cache_request *to = s->requests.v + s->requests.n;

	for (size_t i = 0; i < n; i++) {
		const uint64_t line = v[i].first >> shift;

		if (v[i].last >> shift != line) {
			s->requests.n = (size_t)(to - s->requests.v);
			if (!take_long(s, &v[i], n - i - 1))
				return false;
			to = s->requests.v + s->requests.n;
		} else if (!known(s, kind, line, v[i].how)) {
			*to++ = (struct cache_request){ .line = line, .insn = v[i].insn,
							.how = kind == CACHE_STREAM_READS ? CACHE_READ : v[i].how };
		}
	}
	s->requests.n = (size_t)(to - s->requests.v);
	return true;
}

bool cache_stream_take(struct cache_stream *s, const struct cache_access *v, size_t n)
{
	if (!array_room(s->requests.v, s->requests.room, s->requests.n + n))
		return false;
	switch (s->kind) {
	case CACHE_STREAM_BACK:
		return take(s, CACHE_STREAM_BACK, v, n);
	case CACHE_STREAM_THROUGH:
		return take(s, CACHE_STREAM_THROUGH, v, n);
	case CACHE_STREAM_READS:
		return take(s, CACHE_STREAM_READS, v, n);
	case CACHE_STREAM_ALL:
		break;
	}
	return take(s, CACHE_STREAM_ALL, v, n);
}
