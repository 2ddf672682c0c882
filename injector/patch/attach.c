// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/search.h"
#include "injector/patch/attach.h"
#include "injector/patch/needed.h"
#include "injector/process/attachable.h"
#include "injector/process/sigframes.h"
#include "injector/syscall/sigsites.h"
#include "trampolines/trampoline.h"

#define TRIES 100 /* to find no thread where one seldom is */
#define LONGEST 4096 /* a piece is not more bytes of the original */
#define LINKER_WAIT_MS 2000 /* for a dlopen() that is under way */

/* ---- while it runs ---- */

static enum inj_status check_bases(struct inj_session *s, const struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		uint64_t gs = t->v[i].regs.gs_base;

		if (t->v[i].gone || !gs || inj_leftovers_have_base(s->attach.left, gs))
			continue;
		s->opt.warn("the program uses the GS register for itself and cannot be traced");
		return INJ_NOT_SUPPORTED;
	}
	return INJ_OK;
}

static enum inj_status check_running(struct inj_session *s, struct inj_threads *t)
{
	enum inj_status status;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].gone || !t->v[i].halted)
			continue;
		s->opt.warn("process %d is stopped (by SIGSTOP or a terminal): continue it first, as by kill -CONT",
			    (int)t->pid);
		return INJ_NOT_SUPPORTED;
	}
	status = inj_leftovers_find(s, t);
	return status == INJ_OK ? check_bases(s, t) : status;
}

static enum inj_status check_once(struct inj_session *s, pid_t pid)
{
	struct inj_threads t;
	enum inj_status status = inj_threads_stop(&t, pid, INJ_ALL_THREADS);
	int saved = errno;

	if (status == INJ_OK) {
		status = check_running(s, &t);
		inj_threads_go(&t);
	}
	errno = saved;
	return status;
}

static enum inj_status check_process(struct inj_session *s, pid_t pid)
{
	enum inj_status status = check_once(s, pid);

	for (int tries = 0; tries < TRIES && status == INJ_SYSTEM && errno == EAGAIN; tries++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		status = check_once(s, pid);
	}
	if (status == INJ_SYSTEM && errno == EAGAIN) {
		s->opt.warn("cannot attach to process %d: a thread, or what a signal handler returns to, is within what an earlier "
			    "recording has left; try again later", (int)pid);
		status = INJ_NOT_SUPPORTED;
	}
	return status;
}

/* By one of its threads; the others run on. */
static enum inj_status load(struct inj_session *s, pid_t pid)
{
	struct inj_threads t;
	enum inj_status status = inj_threads_stop(&t, pid, INJ_ANY_THREAD);
	int saved;

	if (status != INJ_OK)
		return status;
	s->target = &t.target;
	status = inj_load_runtime(s);
	saved = errno;
	if (status != INJ_OK && status != INJ_GONE)
		(void)!inj_unload(s, &t.target);
	inj_threads_go(&t);
	errno = saved;
	s->target = &s->attach.target;
	return status;
}

/* What a list that is being changed says is not all true. */
static enum inj_status read_libraries(struct inj_session *s)
{
	enum inj_status status = inj_find_linker(s) ? INJ_OK : inj_debug_from_dynamic(s);

	for (int ms = 0; status == INJ_OK && !inj_libraries_complete(s) && ms < LINKER_WAIT_MS; ms++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return status == INJ_OK ? inj_objects_read(s) : status;
}

enum inj_status inj_call_resolver(struct inj_session *s, uint64_t resolver, uint64_t *chosen)
{
	/* and $-16, %rsp; call *%rdi; movabs %rax, spare; mov $-1, %eax; syscall; ud2 */
	uint8_t code[] = { 0x48, 0x83, 0xe4, 0xf0, 0xff, 0xd7, 0x48, 0xa3, 0, 0, 0, 0, 0, 0, 0, 0,
			   0xb8, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x05, 0x0f, 0x0b };
	struct inj_threads *t = s->target->arg;
	enum inj_status status;
	uint64_t at;

	memcpy(code + 8, &s->spare, sizeof(s->spare));
	status = inj_code_put(&s->code, s->target, code, sizeof(code), &at);
	if (status == INJ_OK)
		status = inj_thread_run(t, t->caller, at, resolver, at + sizeof(code) - 4, 0);
	return status == INJ_OK ? inj_read(s->target, s->spare, chosen, sizeof(*chosen)) : status;
}

/* Functions that are chosen when a program starts: the resolver is asked once more, by one of the threads. */
static enum inj_status resolve_ifuncs(struct inj_session *s)
{
	struct inj_threads t;
	enum inj_status status;
	int saved;

	if (!inj_any_ifunc(s))
		return INJ_OK;
	status = inj_threads_stop(&t, s->attach.target.pid, INJ_ANY_THREAD);
	if (status != INJ_OK)
		return status;
	s->target = &t.target;
	status = inj_resolve_ifuncs(s);
	saved = errno;
	inj_threads_go(&t);
	errno = saved;
	s->target = &s->attach.target;
	return status;
}

static enum inj_status plan_wraps(struct inj_session *s)
{
	enum inj_status status = inj_modules_activate(s);

	if (status == INJ_OK)
		status = inj_resolve(s);
	if (status == INJ_OK)
		status = resolve_ifuncs(s);
	if (status == INJ_OK)
		status = inj_patch_ready(s);
	return status == INJ_OK ? inj_lead_unwinder(s) : status;
}

/* With those that modules need. */
static enum inj_status find_libraries(struct inj_session *s)
{
	enum inj_status status = read_libraries(s);
	bool came = false;

	if (status == INJ_OK)
		status = inj_load_needed(s, &came);
	return status == INJ_OK && came ? read_libraries(s) : status;
}

static enum inj_status plan(struct inj_session *s)
{
	enum inj_status status = s->opt.is_static ? inj_objects_static(s) : find_libraries(s);

	s->attach.hold = true;
	if (status == INJ_OK)
		status = plan_wraps(s);
	if (status == INJ_OK)
		status = inj_unwind_files(s);
	if (status == INJ_OK)
		status = inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
	if (status == INJ_OK && s->opt.follow)
		status = inj_exec_sites(s, true);
	if (status == INJ_OK)
		status = inj_mirrors_instrument(s);
	if (status == INJ_OK && s->opt.follow)
		status = inj_exec_sites(s, false);
	s->attach.hold = false;
	inj_edits_sort(&s->attach.held);
	return status;
}

void inj_session_leave(struct inj_session *s)
{
	struct inj_threads t;
	int saved = errno;

	if (inj_threads_stop(&t, s->attach.target.pid, INJ_ALL_THREADS) == INJ_OK) {
		(void)!inj_unload(s, &t.target);
		inj_threads_go(&t);
	}
	errno = saved;
}

enum inj_status inj_session_attach(struct inj_session *s, pid_t pid)
{
	enum inj_status status = inj_borrow_open(&s->attach.target, pid);

	if (status != INJ_OK)
		return status;
	s->attach.active = true;
	status = check_process(s, pid);
	if (status == INJ_OK)
		status = load(s, pid);
	if (status != INJ_OK)
		return status;
	status = plan(s);
	if (status != INJ_OK && status != INJ_GONE)
		inj_session_leave(s);
	return status;
}

/* ---- threads that stand where something is to be written ---- */

static const struct inj_edit *covering(const struct inj_edits *e, uint64_t addr)
{
	size_t end = search_first(i, e->n, e->v[i].addr > addr);

	return end && addr - e->v[end - 1].addr < e->v[end - 1].len ? &e->v[end - 1] : NULL;
}

/* To be written at @addr is what leads to the copy of the very instruction there. */
static bool is_window(const struct inj_session *s, const struct inj_edits *e, uint64_t addr)
{
	const struct inj_edit *edit = covering(e, addr);
	uint64_t original;

	if (!edit || edit->addr != addr)
		return false;
	original = edit->len < TRAMP_JUMP_SIZE ? 0 : inj_jump_original(s, edit->bytes, addr);
	return !original || original == addr;
}

/* A thread at @addr cannot stay there. */
static const struct inj_edit *within(const struct inj_session *s, const struct inj_edits *e, uint64_t addr)
{
	return is_window(s, e, addr) ? NULL : covering(e, addr);
}

/* Of the instruction at @addr, with what is recorded before it; 0: there is none. */
static uint64_t copy_of(const struct inj_session *s, uint64_t addr)
{
	for (uint32_t m = 0; m < s->mirrors.nmaps; m++) {
		const struct rt_codemap *map = &s->mirrors.maps->v[m];
		const struct rt_piece *pieces = inj_code_at(&s->code, map->pieces);
		uint64_t off = addr - map->object;

		if (!pieces || off < map->orig_lo || off > (uint64_t)map->orig_hi + LONGEST)
			continue;
		for (uint32_t i = 0; i < map->npieces; i++)
			if (off - pieces[i].orig < rt_piece_span(map, pieces, i))
				return map->arena + pieces[i].start + (off - pieces[i].orig);
	}
	return 0;
}

/* Which function's mirror holds @copy, an index; INJ_EDIT_NONE: none. */
static uint32_t owner_of(const struct inj_session *s, uint64_t copy)
{
	for (size_t i = 0; i < s->mirrors.n; i++)
		if (copy - s->mirrors.v[i].mirror < s->mirrors.v[i].mirror_len)
			return (uint32_t)i;
	return INJ_EDIT_NONE;
}

static bool records_memory(const struct inj_session *s)
{
	return s->opt.mirror.memory.enabled;
}

/*
 * The same in the stub that takes the place of a system call which may last for ever (see sigsites.c), for a thread at @addr that
 * is in it; 0: nothing leads to such a stub.
 */
static uint64_t call_in_stub(const struct inj_session *s, const struct inj_edits *e, uint64_t addr)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0xe9 }; /* syscall; jmp back */
	const struct inj_edit *edit = within(s, e, addr);
	uint64_t end = edit ? edit->addr + edit->len : 0, stub;
	const uint8_t *code;
	int32_t rel;

	if (!edit || addr != end - INJ_SYSCALL_LEN || edit->bytes[0] != 0xe9)
		return 0;
	memcpy(&rel, edit->bytes + 1, sizeof(rel));
	stub = edit->addr + TRAMP_JUMP_SIZE + (uint64_t)(int64_t)rel;
	code = inj_code_at(&s->code, stub);
	for (uint64_t i = 0; code && i + sizeof(call) + sizeof(rel) <= INJ_SIGSITE_STUB; i++) {
		memcpy(&rel, code + i + sizeof(call), sizeof(rel));
		if (memcmp(code + i, call, sizeof(call)) == 0 &&
		    stub + i + sizeof(call) + sizeof(rel) + (uint64_t)(int64_t)rel == end)
			return stub + i;
	}
	return 0;
}

/*
 * Blocks of which there are copies are dead code once what leads to the copies is in place, and other jumps are put there.
 * So who is in such a block goes on in the copy; 0: it can stay.  If there is no such place although it cannot stay:
 * *blocked.
 */
static uint64_t place_for(const struct inj_session *s, const struct inj_edits *e, uint64_t pc, const struct inj_edit **blocked)
{
	uint64_t copy;

	if (is_window(s, e, pc))
		return 0;
	copy = copy_of(s, pc);
	if (!copy && within(s, e, pc) && !call_in_stub(s, e, pc))
		*blocked = within(s, e, pc);
	return copy;
}

/* Where the thread itself goes on. */
static uint64_t place_of_thread(const struct inj_session *s, const struct inj_edits *e, const struct inj_thread *th,
				const struct inj_edit **blocked)
{
	uint64_t pc = inj_thread_pc(th), place = place_for(s, e, pc, blocked);

	/* a system call that is repeated, or else returns to after it */
	if (!place && !*blocked && pc != th->regs.rip && within(s, e, th->regs.rip)) {
		place = copy_of(s, pc);
		*blocked = place ? NULL : within(s, e, th->regs.rip);
	}
	return place;
}

struct stopped {
	struct inj_session *s;
	struct inj_threads *t;
	struct inj_maps maps;
	struct inj_edits *e;
	struct inj_sigframe frames[INJ_SIGFRAMES]; /* of the thread that is looked at */
	size_t nframes;
};

static void find_frames(struct stopped *p, const struct inj_thread *th)
{
	p->nframes = inj_sigframes(&p->t->target, &p->maps, th->regs.rsp, p->frames, INJ_SIGFRAMES);
	p->nframes = p->nframes > INJ_SIGFRAMES ? 0 : p->nframes;
}

/*
 * Leaves functions alone that the thread, or a place that a handler of its returns to, is in the way of.  In the middle of
 * copies that record memory accesses registers hold what only the runtime knows: a handler cannot return there.  False: it is in the
 * way of what is nobody's.
 */
static bool leave_functions(struct stopped *p, const struct inj_thread *th)
{
	const struct inj_edit *blocked = NULL;

	(void)!place_of_thread(p->s, p->e, th, &blocked);
	if (blocked && blocked->owner != INJ_EDIT_NONE)
		p->s->mirrors.v[blocked->owner].state = INJ_RECORDED_BUSY;
	else if (blocked)
		return false;
	find_frames(p, th);
	for (size_t i = 0; i < p->nframes; i++) {
		uint64_t copy = place_for(p->s, p->e, p->frames[i].rip, &blocked);
		uint32_t owner = blocked ? blocked->owner : copy && records_memory(p->s) ? owner_of(p->s, copy) : INJ_EDIT_NONE;

		if (owner != INJ_EDIT_NONE)
			p->s->mirrors.v[owner].state = INJ_RECORDED_BUSY;
		else if (blocked)
			return false;
		blocked = NULL;
	}
	return true;
}

/* Is its mirror led to? */
static bool is_used(const struct inj_session *s, uint64_t copy)
{
	uint32_t owner = owner_of(s, copy);

	return owner != INJ_EDIT_NONE && s->mirrors.v[owner].state == INJ_RECORDED_OK;
}

/* To where it goes on; the runtime makes registers, pool and stream ready for that. */
static enum inj_status enter(struct stopped *p, size_t i)
{
	const struct inj_edit *blocked = NULL;
	struct inj_thread *th = &p->t->v[i];
	uint64_t place = place_of_thread(p->s, p->e, th, &blocked), ready = 0;
	enum inj_status status;

	if (place && !is_used(p->s, place))
		return INJ_OK;
	status = inj_run_in_thread(p->s, p->t, i, p->s->rt_enter, &ready);
	if (status != INJ_OK || ready)
		return status;
	errno = EAGAIN;
	return INJ_SYSTEM;
}

/* To where a handler goes on. */
static enum inj_status move_frame(struct stopped *p, const struct inj_sigframe *frame)
{
	const struct inj_edit *ignored = NULL;
	uint64_t place = records_memory(p->s) ? 0 : place_for(p->s, p->e, frame->rip, &ignored);

	if (!place || !is_used(p->s, place))
		place = call_in_stub(p->s, p->e, frame->rip);
	return place ? inj_write(&p->t->target, frame->rip_at, &place, sizeof(place)) : INJ_OK;
}

static enum inj_status move_thread(struct stopped *p, size_t i)
{
	const struct inj_edit *ignored = NULL;
	struct inj_thread *th = &p->t->v[i];
	uint64_t place = place_of_thread(p->s, p->e, th, &ignored), pc = inj_thread_pc(th);
	enum inj_status status = INJ_OK;

	find_frames(p, th);
	for (size_t k = 0; k < p->nframes && status == INJ_OK; k++)
		status = move_frame(p, &p->frames[k]);
	if (status == INJ_OK && records_memory(p->s))
		status = enter(p, i);
	else if (status == INJ_OK && place && is_used(p->s, place))
		inj_thread_move(th, place);
	if (status == INJ_OK && inj_thread_pc(th) == pc && call_in_stub(p->s, p->e, pc))
		inj_thread_move(th, call_in_stub(p->s, p->e, pc));
	if (status == INJ_OK && inj_thread_pc(th) != pc)
		status = inj_thread_to_call(p->t, i, p->s->runtime, p->s->runtime + p->s->runtime_image.size);
	return status;
}

/* Does the edit lead into the mirror of a function that is left alone after all? */
static bool leads_to_left(const struct inj_session *s, const struct inj_edit *e)
{
	const struct inj_mirrors *m = &s->mirrors;
	uint64_t to;
	int32_t rel;

	if (e->len < 4 || (e->len > 4 && e->bytes[0] != 0xe9))
		return false;
	memcpy(&rel, e->bytes + (e->len > 4), sizeof(rel));
	to = e->addr + (e->len > 4 ? 5 : 4) + (uint64_t)(int64_t)rel;
	for (size_t i = 0; i < m->n; i++)
		if ((m->v[i].state == INJ_RECORDED_BUSY || m->v[i].state == INJ_RECORDED_CHANGED) &&
		    to - m->v[i].mirror < m->v[i].mirror_len)
			return true;
	return false;
}

static void leave_out(const struct inj_session *s, struct inj_edits *e)
{
	bool any_left = false;
	size_t kept = 0;

	for (size_t i = 0; i < s->mirrors.n; i++)
		any_left |= s->mirrors.v[i].state == INJ_RECORDED_BUSY || s->mirrors.v[i].state == INJ_RECORDED_CHANGED;
	for (size_t i = 0; i < e->n; i++) {
		const struct inj_edit *edit = &e->v[i];

		if (!edit->len || (edit->owner != INJ_EDIT_NONE && s->mirrors.v[edit->owner].state != INJ_RECORDED_OK))
			continue;
		if (!any_left || !leads_to_left(s, edit))
			e->v[kept++] = *edit;
	}
	e->n = kept;
}

static void is_changed(void *arg, const struct inj_edit *e)
{
	struct inj_session *s = arg;

	if (e->owner != INJ_EDIT_NONE) {
		s->mirrors.v[e->owner].state = INJ_RECORDED_CHANGED;
		return;
	}
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_ACTIVE && e->addr - s->wraps[i].addr < TRAMP_PATCH_MAX) {
			s->wraps[i].state = INJ_WRAP_REFUSED;
			s->wraps[i].reason = "its code has changed meanwhile";
		}
	s->attach.held.v[e - s->attach.held.v].len = 0;
}

/*
 * Functions whose code has changed since it was planned, and those that threads are in the way of, are left alone.  Code of
 * nobody's that a thread is within, to lead signal handlers to the runtime, takes but an instant: SYSTEM with EAGAIN.
 */
static enum inj_status check_threads(struct stopped *p)
{
	enum inj_status status = inj_edits_check(&p->t->target, p->e, is_changed, p->s);

	for (size_t i = 0; i < p->t->n && status == INJ_OK; i++)
		if (!p->t->v[i].gone && !leave_functions(p, &p->t->v[i])) {
			errno = EAGAIN;
			status = INJ_SYSTEM;
		}
	leave_out(p->s, p->e);
	return status;
}

static void set_bases(const struct inj_session *s, struct inj_thread *th)
{
	th->regs.gs_base = s->config.nobody;
	if (!th->regs.fs_base)
		th->regs.fs_base = s->config.pre_tls;
	th->changed = true;
}

/* All or none: with the bases that they have with us. */
static enum inj_status move_threads(struct stopped *p)
{
	struct inj_threads *t = p->t;
	struct inj_thread *was = calloc(t->n + 1, sizeof(*was));
	enum inj_status status = was ? INJ_OK : INJ_MEMORY;

	if (was)
		memcpy(was, t->v, t->n * sizeof(*was));
	for (size_t i = 0; i < t->n && status == INJ_OK; i++) {
		if (t->v[i].gone)
			continue;
		set_bases(p->s, &t->v[i]);
		status = move_thread(p, i);
		if (status == INJ_GONE && t->v[i].gone)
			status = INJ_OK;
	}
	for (size_t i = 0; i < t->n && was && status != INJ_OK; i++) {
		t->v[i].regs = was[i].regs;
		t->v[i].changed = true;
	}
	free(was);
	return status;
}

/* ---- while it stands still ---- */

/* dlopen() calls a function of the dynamic linker, which a thread may stand in the middle of. */
static enum inj_status hook_linker(struct inj_session *s, const struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (inj_thread_pc(&t->v[i]) - s->dl_debug_state - 1 < TRAMP_PATCH_MAX)
			return INJ_OK;
	return !s->opt.is_static && inj_session_wants_libraries(s) ? inj_patch_linker(s) : INJ_OK;
}

/* Nobody is moved before all else is done: a thread that is in a copy cannot be where there is none. */
static enum inj_status put_in(struct inj_session *s, struct inj_threads *t)
{
	struct stopped p = { .s = s, .t = t, .e = &s->attach.held };
	enum inj_status status = check_bases(s, t);
	int saved;

	if (status == INJ_OK)
		status = inj_maps_read(t->pid, &p.maps);
	if (status == INJ_OK)
		status = check_threads(&p);
	if (status == INJ_OK)
		status = inj_edits_apply(s->target, &s->edits, &s->attach.held);
	if (status == INJ_OK)
		status = hook_linker(s, t);
	if (status == INJ_OK && s->opt.mirror.enabled)
		status = inj_lead_handlers(s, s->target, false);
	if (status == INJ_OK)
		status = move_threads(&p);
	saved = errno;
	if (status != INJ_OK && status != INJ_GONE) {
		(void)!inj_lead_handlers(s, s->target, true);
		inj_session_undo(s);
		s->linker_hooked = false;
	}
	inj_maps_free(&p.maps);
	errno = saved;
	if (status == INJ_OK)
		inj_edits_free(&s->attach.held);
	return status;
}

static enum inj_status place(struct inj_session *s, struct inj_stop *stop)
{
	int64_t from = clock_now_ns();
	struct inj_threads t;
	enum inj_status status = inj_threads_stop(&t, s->attach.target.pid, INJ_ALL_THREADS);
	int saved;

	if (status != INJ_OK)
		return status;
	stop->threads = t.n;
	s->target = &t.target;
	status = put_in(s, &t);
	if (status != INJ_OK && status != INJ_GONE && !(status == INJ_SYSTEM && errno == EAGAIN))
		(void)!inj_unload(s, &t.target);
	saved = errno;
	inj_threads_go(&t);
	errno = saved;
	s->target = NULL;
	stop->ns = (uint64_t)(clock_now_ns() - from);
	return status;
}

enum inj_status inj_session_place(struct inj_session *s, struct inj_stop *stop)
{
	enum inj_status status = place(s, stop);

	for (int tries = 0; tries < TRIES && status == INJ_SYSTEM && errno == EAGAIN; tries++) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		status = place(s, stop);
	}
	if (status == INJ_SYSTEM && errno == EAGAIN) {
		s->opt.warn("cannot attach to process %d: a thread is within code that is to be changed; try again later",
			    (int)s->attach.target.pid);
		inj_session_leave(s);
		status = INJ_NOT_SUPPORTED;
	}
	return status;
}
