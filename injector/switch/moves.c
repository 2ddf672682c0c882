// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>

#include "base/search.h"
#include "injector/mirror/first.h"
#include "injector/patch/attach.h"
#include "injector/switch/windows-private.h"

static enum inj_status again(void)
{
	errno = EAGAIN;
	return INJ_SYSTEM;
}

/* ---- where a thread is ---- */

static const struct rt_codemap *map_of(const struct inj_session *s, uint64_t pc)
{
	for (uint32_t i = 0; i < s->mirrors.nmaps; i++)
		if (pc - s->mirrors.maps->v[i].arena < s->mirrors.maps->v[i].arena_end - s->mirrors.maps->v[i].arena)
			return &s->mirrors.maps->v[i];
	return NULL;
}

static bool in_copy(const struct inj_session *s, uint64_t pc)
{
	return map_of(s, pc) != NULL;
}

static bool in_runtime(const struct inj_session *s, uint64_t pc)
{
	return pc - s->runtime < s->runtime_image.size;
}

static const struct inj_edit *covering(const struct inj_edits *e, uint64_t addr)
{
	size_t end = search_first(i, e->n, e->v[i].addr > addr);

	return end && addr - e->v[end - 1].addr < e->v[end - 1].len ? &e->v[end - 1] : NULL;
}

/* ---- from the original to the copy ---- */

/* Of @addr, in the copy of that function; 0: there is none. */
static uint64_t copy_in(const struct inj_session *s, const struct inj_recorded *r, uint64_t addr)
{
	const struct rt_codemap *map = map_of(s, r->mirror);
	const struct rt_piece *pieces = map ? inj_code_at(&s->code, map->pieces) : NULL;
	uint64_t off = map ? addr - map->object : 0, start = map ? r->mirror - map->arena : 0;

	if (!pieces)
		return 0;
	for (uint32_t i = (uint32_t)search_first(k, map->npieces, pieces[k].start >= start);
	     i < map->npieces && pieces[i].start < start + r->mirror_len; i++)
		if (off - pieces[i].orig < rt_piece_span(map, pieces, i))
			return map->arena + pieces[i].start + (off - pieces[i].orig);
	return 0;
}

/* Of what is instrumented in this process. */
static uint64_t copy_of(const struct inj_windows *w, uint64_t addr)
{
	const struct inj_recorded *v = w->s->mirrors.v;
	uint64_t copy = 0;

	for (size_t i = 0; i < w->nowners && !copy; i++)
		if (w->owners[i] && addr - v[i].orig_lo < v[i].orig_hi - v[i].orig_lo)
			copy = copy_in(w->s, &v[i], addr);
	return copy;
}

/* ---- out ---- */

/* Some jumps stand for an instruction that is elsewhere: those that short windows lead to. */
static void move_off_jump(const struct inj_windows *w, struct inj_thread *th)
{
	uint64_t pc = inj_thread_pc(th), to;
	const struct inj_edit *e = covering(&w->edits, pc);

	if (!e || e->addr != pc || e->owner & INJ_FIRST_OWNER)
		return;
	to = inj_jump_original(w->s, e->bytes, pc);
	if (to && to != pc)
		inj_thread_move(th, to);
}

enum inj_status inj_windows_can_leave(const struct inj_windows *w, const struct inj_threads *t, const struct inj_bursts *b)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].gone && in_runtime(w->s, inj_thread_pc(&t->v[i])) && b->is_on(b->arg, t->v[i].tid))
			return again();
	return INJ_OK;
}

/* What fails here is seen at the thread's next visit to the runtime: its burst has been longer. */
void inj_windows_leave(const struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b, struct inj_switched *took)
{
	uint64_t ignored;

	for (size_t i = 0; i < t->n; i++) {
		struct inj_thread *th = &t->v[i];

		if (th->gone)
			continue;
		if (!in_copy(w->s, inj_thread_pc(th)) && !b->is_on(b->arg, th->tid)) {
			move_off_jump(w, th);
			continue;
		}
		took->moved += inj_run_in_thread(w->s, t, i, w->s->rt_rest, &ignored) == INJ_OK;
	}
}

/* ---- in ---- */

enum inj_status inj_windows_can_come(const struct inj_windows *w, const struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct inj_thread *th = &t->v[i];
		uint64_t pc = inj_thread_pc(th);
		const struct inj_edit *e;

		if (th->gone || in_copy(w->s, pc))
			continue;
		/* a handler may be about to return to the original */
		if (in_runtime(w->s, pc) && !inj_thread_repeats(th))
			return again();
		e = covering(&w->edits, pc);
		if (e && e->addr != pc && !copy_of(w, pc))
			return again();
	}
	return INJ_OK;
}

/* A thread in the original of what has a copy. */
static enum inj_status come(const struct inj_windows *w, struct inj_threads *t, size_t i, uint64_t copy)
{
	struct inj_thread *th = &t->v[i], was = *th;
	uint64_t ready = 0;
	enum inj_status status;

	inj_thread_move(th, copy);
	status = inj_run_in_thread(w->s, t, i, w->s->rt_come, &ready);
	if (status == INJ_OK)
		status = ready ? inj_thread_to_call(t, i, w->s->runtime, w->s->runtime + w->s->runtime_image.size) : again();
	if (status == INJ_OK || status == INJ_GONE)
		return status;
	th->regs = was.regs;
	th->changed = true;
	return status;
}

enum inj_status inj_windows_come(const struct inj_windows *w, struct inj_threads *t, struct inj_switched *took)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < t->n && status == INJ_OK; i++) {
		uint64_t pc = inj_thread_pc(&t->v[i]), copy;

		if (t->v[i].gone || in_copy(w->s, pc) || in_runtime(w->s, pc))
			continue;
		copy = copy_of(w, pc);
		if (!copy)
			continue;
		status = come(w, t, i, copy);
		took->moved += status == INJ_OK;
		if (status == INJ_GONE && t->v[i].gone)
			status = INJ_OK;
	}
	return status;
}
