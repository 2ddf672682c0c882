// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/patch/within.h"
#include "injector/process/sigframes.h"

#define MOST (UINT64_C(64) << 20) /* bytes of a stack that are looked at */
#define WORDS ((size_t)8192)	  /* of it at a time */
#define UC_RSP (8 * (5 + 15))
#define LONGEST_CALL 7

static enum inj_status add_range(struct inj_ranges *r, uint64_t lo, uint64_t hi)
{
	struct inj_range *v = realloc(r->v, (r->n + 1) * sizeof(*v));

	if (!v)
		return INJ_MEMORY;
	r->v = v;
	r->v[r->n++] = (struct inj_range){ lo, hi };
	return INJ_OK;
}

bool inj_holds(const struct inj_ranges *r, uint64_t addr)
{
	for (size_t i = 0; i < r->n; i++)
		if (addr - r->v[i].lo < r->v[i].hi - r->v[i].lo)
			return true;
	return false;
}

bool inj_is_shared(const struct inj_session *s, const struct inj_map *m)
{
	if (strncmp(m->path, "/SYSV", 5) == 0)
		return s->code.shm >= 0 && m->inode == (uint64_t)s->code.shm;
	for (size_t i = 0; i < INJ_SHARED && strncmp(m->path, "/memfd:", 7) == 0; i++)
		if (s->shared[i] && m->inode == s->shared[i])
			return true;
	return false;
}

enum inj_status inj_our_code(const struct inj_session *s, pid_t pid, struct inj_ranges *r)
{
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(pid, &maps);

	for (size_t i = 0; status == INJ_OK && i < maps.n; i++)
		if (maps.v[i].executable && inj_is_shared(s, &maps.v[i]))
			status = add_range(r, maps.v[i].start, maps.v[i].end);
	inj_maps_free(&maps);
	return status;
}

bool inj_handler_returns(struct inj_target *t, const struct inj_maps *maps, const struct inj_ranges *ours,
			 const struct inj_thread *th)
{
	struct inj_sigframe frames[INJ_SIGFRAMES];
	size_t n = inj_sigframes(t, maps, th->regs.rsp, frames, INJ_SIGFRAMES);

	for (size_t i = 0; n <= INJ_SIGFRAMES && i < n; i++)
		if (inj_holds(ours, frames[i].rip) || inj_holds(ours, frames[i].restorer))
			return true;
	return n > INJ_SIGFRAMES;
}

/* ---- wrappers ---- */

/* Does a call end right before @addr?  e8 rel32, or ff /2 with any operand. */
static bool follows_call(struct inj_target *t, uint64_t addr)
{
	uint8_t code[LONGEST_CALL];

	if (inj_read_some(t, addr - sizeof(code), code, sizeof(code)) != sizeof(code))
		return true;
	if (code[sizeof(code) - 5] == 0xe8)
		return true;
	for (size_t len = 2; len <= sizeof(code); len++)
		if (code[sizeof(code) - len] == 0xff && (code[sizeof(code) - len + 1] & 0x38) == 0x10)
			return true;
	return false;
}

static bool returns_within(struct inj_target *t, const struct inj_maps *maps, const struct inj_ranges *ours, uint64_t sp)
{
	const struct inj_map *m = inj_maps_find(maps, sp);
	uint64_t at = sp & ~UINT64_C(7), end = m ? m->end : at;
	uint64_t *words = malloc(WORDS * 8);
	bool found = !words;

	end = end - at > MOST ? at + MOST : end;
	while (!found && at < end) {
		size_t n = (end - at) / 8 < WORDS ? (size_t)(end - at) / 8 : WORDS;

		found = inj_read(t, at, words, n * 8) != INJ_OK;
		for (size_t i = 0; i < n && !found; i++)
			found = inj_holds(ours, words[i]) && follows_call(t, words[i]);
		at += 8 * n;
	}
	free(words);
	return found;
}

bool inj_wrapper_called(struct inj_target *t, const struct inj_maps *maps, const struct inj_ranges *ours,
			const struct inj_thread *th)
{
	struct inj_sigframe frames[INJ_SIGFRAMES];
	size_t n = inj_sigframes(t, maps, th->regs.rsp, frames, INJ_SIGFRAMES);
	bool called = n > INJ_SIGFRAMES || returns_within(t, maps, ours, th->regs.rsp);

	for (size_t i = 0; i < n && !called; i++) {
		uint64_t sp = 0;

		called = inj_read(t, frames[i].uc + UC_RSP, &sp, sizeof(sp)) != INJ_OK || returns_within(t, maps, ours, sp);
	}
	return called;
}
