// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "injector/process/sigframes.h"

#define RED_ZONE 128
#define MOST (UINT64_C(64) << 20) /* bytes of a stack that are looked at */
#define CHUNK ((size_t)65536)	  /* words at a time */
#define DEPTH 4			  /* stacks of one thread */

/* A ucontext in words (asm/ucontext.h, asm/sigcontext.h); the word below it is what the handler returns to. */
enum { RESTORER = -1, FLAGS, LINK, RSP = 5 + 15, RIP, CS = 5 + 18, FPSTATE = 5 + 23, WORDS };

#define HAS_XSTATE 1u		/* in FLAGS: there is what follows */
#define XSTATE_MAGIC_AT 464	/* in the floating-point state */
#define XSTATE_MAGIC 0x46505853u

/* Every part of it that has only few possible values is looked at. */
static bool is_frame(struct inj_target *t, const uint64_t *uc, uint64_t at)
{
	uint32_t magic;

	return uc[FLAGS] <= 0xf && uc[FLAGS] & HAS_XSTATE && uc[LINK] == 0 && (uc[CS] & 0xffff) == 0x33 &&
	       uc[FPSTATE] > at && (uc[FPSTATE] & 63) == 0 &&
	       inj_read(t, uc[FPSTATE] + XSTATE_MAGIC_AT, &magic, sizeof(magic)) == INJ_OK && magic == XSTATE_MAGIC;
}

struct search {
	struct inj_target *t;
	const struct inj_maps *maps;
	struct inj_sigframe *v;
	size_t n, max;
	uint64_t *words;
	uint64_t other; /* stack pointer of an interrupted stack, 0: none */
};

/* Frames are found whole: the last words of a chunk are the first ones of the next. */
static bool look(struct search *s, uint64_t at, uint64_t end)
{
	while (end - at > 8 * WORDS && end > at) {
		size_t n = end - at < CHUNK * 8 ? (end - at) / 8 : CHUNK;

		if (inj_read(s->t, at, s->words, n * 8) != INJ_OK)
			return false;
		for (size_t i = 1; i + WORDS <= n; i++) {
			const uint64_t *uc = s->words + i;

			if (!is_frame(s->t, uc, at + 8 * i))
				continue;
			if (s->n == s->max)
				return false;
			s->v[s->n++] = (struct inj_sigframe){ at + 8 * i, at + 8 * (i + RIP), uc[RIP], uc[RESTORER] };
			if (uc[RSP] < at || uc[RSP] >= end)
				s->other = uc[RSP];
		}
		at += 8 * (n < CHUNK ? n : n - WORDS);
	}
	return true;
}

size_t inj_sigframes(struct inj_target *t, const struct inj_maps *maps, uint64_t rsp, struct inj_sigframe *v, size_t max)
{
	struct search s = { .t = t, .maps = maps, .v = v, .max = max, .words = malloc(CHUNK * 8), .other = rsp };
	bool all = s.words;

	for (int i = 0; all && s.other && i < DEPTH; i++) {
		const struct inj_map *m = inj_maps_find(maps, s.other);
		uint64_t at = (s.other - RED_ZONE) & ~UINT64_C(7);

		s.other = 0;
		if (!m)
			break; /* it is no stack, or nothing of one */
		at = at < m->start ? m->start : at;
		all = look(&s, at, m->end - at > MOST ? at + MOST : m->end);
	}
	free(s.words);
	return all ? s.n : SIZE_MAX;
}
