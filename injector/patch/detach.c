// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/search.h"
#include "injector/patch/attach.h"
#include "injector/patch/within.h"
#include "injector/process/attachable.h"
#include "injector/process/sigframes.h"
#include "tracefmt/ring.h"

#define PAGE UINT64_C(4096)
#define PATIENCE_NS INT64_C(10000000000) /* for the next thread to leave our code; it may have to wait for a processor, and for us */
#define WRAPPED_NS INT64_C(500000000) /* for one that waits, and is to return to a wrapper: it may do so for ever */
#define LONGEST_NAP_NS 50000000
#define STOP_TRIES 5 /* each takes seconds */
#define RED_ZONE 128
#define SIGNALS 64
#define SIGNAL_SET 8 /* bytes of the kernel's */

/* ---- signal handlers ---- */

struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/* The index of the thunk that stands for it; RT_THUNKS: there is none left. */
static size_t find_thunk(struct rt_handlers *h, uint64_t handler)
{
	for (size_t i = 0; i < RT_THUNKS; i++) {
		if (!h->handlers[i])
			h->handlers[i] = handler;
		if (h->handlers[i] == handler)
			return i;
	}
	return RT_THUNKS;
}

/* Is what handlers return to led to the runtime where it is? */
static bool is_led(const struct inj_session *s, uint64_t restorer)
{
	for (size_t i = 0; i < RT_MAX_RESTORERS; i++)
		if (s->mirrors.maps->restorers[i] == restorer)
			return true;
	return restorer == 0;
}

/* False: it stays as it is. */
static bool lead(const struct inj_session *s, struct rt_handlers *h, struct kernel_action *a)
{
	size_t i;

	if (a->handler <= 1 || a->handler - s->rt_thunks < RT_THUNKS * RT_THUNK_BYTES)
		return false;
	i = find_thunk(h, a->handler);
	if (i == RT_THUNKS)
		return false;
	if (s->config.mem_slack && !is_led(s, a->restorer)) {
		h->restorers[i] = a->restorer;
		a->restorer = s->rt_mem_restorer;
	}
	a->handler = s->rt_thunks + i * RT_THUNK_BYTES;
	return true;
}

static bool lead_back(const struct inj_session *s, const struct rt_handlers *h, struct kernel_action *a)
{
	uint64_t i = (a->handler - s->rt_thunks) / RT_THUNK_BYTES;

	if (a->handler < s->rt_thunks || i >= RT_THUNKS || !h->handlers[i])
		return false;
	a->handler = h->handlers[i];
	if (a->restorer == s->rt_mem_restorer)
		a->restorer = h->restorers[i];
	return true;
}

static enum inj_status lead_signal(struct inj_session *s, struct inj_target *t, uint64_t sig, struct rt_handlers *h,
				   bool back)
{
	const uint64_t get[6] = { sig, 0, s->spare, SIGNAL_SET }, set[6] = { sig, s->spare, 0, SIGNAL_SET };
	struct kernel_action a;
	int64_t ignored;
	enum inj_status status = inj_syscall(t, SYS_rt_sigaction, get, &ignored);

	if (status == INJ_OK)
		status = inj_read(t, s->spare, &a, sizeof(a));
	if (status != INJ_OK || !(back ? lead_back(s, h, &a) : lead(s, h, &a)))
		return status;
	status = inj_write(t, s->spare, &a, sizeof(a));
	/* the runtime has to know the handler before a signal can come */
	if (status == INJ_OK && !back)
		status = inj_write(t, s->rt_handlers, h, sizeof(*h));
	return status == INJ_OK ? inj_syscall(t, SYS_rt_sigaction, set, &ignored) : status;
}

enum inj_status inj_lead_handlers(struct inj_session *s, struct inj_target *t, bool back)
{
	long long caught = inj_process_status(t->pid, "SigCgt", 16);
	struct rt_handlers h;
	enum inj_status status = inj_read(t, s->rt_handlers, &h, sizeof(h));

	for (uint64_t sig = 1; sig <= SIGNALS && status == INJ_OK; sig++)
		if ((unsigned long long)caught >> (sig - 1) & 1)
			status = lead_signal(s, t, sig, &h, back);
	return status;
}

/* ---- jumps to copies ---- */

/* Of the instruction that the piece of a copy stands for. */
static uint64_t original_of(const struct inj_session *s, const struct rt_codemap *map, uint32_t off)
{
	const struct rt_piece *pieces = inj_code_at(&s->code, map->pieces);
	uint32_t end = pieces ? (uint32_t)search_first(i, map->npieces, pieces[i].start > off) : 0;
	const struct rt_piece *p = end ? &pieces[end - 1] : NULL;

	if (!p)
		return 0;
	return map->object + p->orig + ((p->kind & ~RT_PIECE_RESUMABLE) == RT_PIECE_COPY ? off - p->start : 0);
}

uint64_t inj_jump_original(const struct inj_session *s, const uint8_t *code, uint64_t at)
{
	int32_t rel;
	uint64_t to;

	if (code[0] != 0xe9)
		return 0;
	memcpy(&rel, code + 1, sizeof(rel));
	to = at + TRAMP_JUMP_SIZE + (uint64_t)(int64_t)rel;
	for (uint32_t i = 0; i < s->mirrors.nmaps; i++) {
		const struct rt_codemap *map = &s->mirrors.maps->v[i];

		if (to - map->arena < map->arena_end - map->arena)
			return original_of(s, map, (uint32_t)(to - map->arena));
	}
	return 0;
}

static bool in_copy(const struct inj_session *s, uint64_t pc)
{
	for (uint32_t i = 0; i < s->mirrors.nmaps; i++)
		if (pc - s->mirrors.maps->v[i].arena < s->mirrors.maps->v[i].arena_end - s->mirrors.maps->v[i].arena)
			return true;
	return false;
}

/* Where a thread at @pc is to go on when the jumps are not there any more; 0: at @pc. */
static uint64_t without_jump(const struct inj_session *s, struct inj_target *t, uint64_t pc)
{
	uint8_t code[TRAMP_JUMP_SIZE];
	uint64_t to;

	if (in_copy(s, pc) || inj_read_some(t, pc, code, sizeof(code)) != sizeof(code))
		return 0;
	to = inj_jump_original(s, code, pc);
	return to == pc ? 0 : to;
}

/* ---- what is ours ---- */

bool inj_session_is_in(const struct inj_session *s, pid_t pid)
{
	struct inj_maps maps;
	bool is = false;

	if (inj_maps_read(pid, &maps) != INJ_OK)
		return false;
	for (size_t i = 0; i < maps.n && !is; i++)
		is = inj_is_shared(s, &maps.v[i]);
	inj_maps_free(&maps);
	return is;
}

/* ---- unmapping ---- */

static enum inj_status unmap_shared(const struct inj_session *s, struct inj_target *t)
{
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(t->pid, &maps);

	for (size_t i = 0; status == INJ_OK && i < maps.n; i++)
		if (inj_is_shared(s, &maps.v[i]))
			status = inj_munmap(t, maps.v[i].start, maps.v[i].end - maps.v[i].start);
	inj_maps_free(&maps);
	return status;
}

bool inj_may_unmap(const struct inj_session *s, const struct inj_maps *maps, uint64_t addr, uint64_t bytes)
{
	bool any = false;

	if (addr % PAGE || addr + bytes < addr)
		return false;
	for (size_t i = 0; i < maps->n; i++) {
		const struct inj_map *m = &maps->v[i];

		if (m->start >= addr + bytes || m->end <= addr)
			continue;
		any = true;
		if ((m->path[0] || m->shared || m->executable) && !inj_is_shared(s, m))
			return false;
	}
	return any;
}

/* What the runtime has mapped; the program could have written there. */
static enum inj_status unmap_mapped(const struct inj_session *s, struct inj_target *t)
{
	struct rt_mapped *m = malloc(sizeof(*m));
	struct inj_maps maps = { 0 };
	enum inj_status status = m ? inj_read(t, s->rt_mapped, m, sizeof(*m)) : INJ_MEMORY;

	if (status == INJ_OK)
		status = inj_maps_read(t->pid, &maps);
	for (uint64_t i = 0; status == INJ_OK && i < m->n && i < RT_MAPPED; i++)
		if (m->v[i].bytes && inj_may_unmap(s, &maps, m->v[i].addr, m->v[i].bytes))
			(void)!inj_munmap(t, m->v[i].addr, m->v[i].bytes);
	inj_maps_free(&maps);
	free(m);
	return status;
}

/* Its variables are private memory in the midst of what is shared. */
static enum inj_status unmap_image(struct inj_target *t, uint64_t base, uint64_t bytes)
{
	return inj_munmap(t, base, (bytes + PAGE - 1) & ~(PAGE - 1));
}

enum inj_status inj_unload(struct inj_session *s, struct inj_target *t)
{
	enum inj_status status = s->rt_mapped ? unmap_mapped(s, t) : INJ_OK;

	if (status == INJ_OK && s->config.nobody)
		status = inj_munmap(t, s->config.pools, (s->config.npools + 2) * PAGE);
	if (status == INJ_OK && s->runtime)
		status = unmap_image(t, s->runtime, s->runtime_image.size);
	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++)
		if (s->modules[i].ours)
			status = unmap_image(t, s->modules[i].base, s->modules[i].image.size);
	return status == INJ_OK ? unmap_shared(s, t) : status;
}

/* ---- threads ---- */

static void to_context(const struct user_regs_struct *r, ucontext_t *uc)
{
	greg_t *g = uc->uc_mcontext.gregs;

	memset(uc, 0, sizeof(*uc));
#define PUT(index, name) g[index] = (greg_t)r->name
	PUT(REG_R8, r8), PUT(REG_R9, r9), PUT(REG_R10, r10), PUT(REG_R11, r11), PUT(REG_R12, r12), PUT(REG_R13, r13);
	PUT(REG_R14, r14), PUT(REG_R15, r15), PUT(REG_RDI, rdi), PUT(REG_RSI, rsi), PUT(REG_RBP, rbp), PUT(REG_RBX, rbx);
	PUT(REG_RDX, rdx), PUT(REG_RAX, rax), PUT(REG_RCX, rcx), PUT(REG_RSP, rsp), PUT(REG_EFL, eflags);
#undef PUT
}

static void from_context(const ucontext_t *uc, struct user_regs_struct *r)
{
	const greg_t *g = uc->uc_mcontext.gregs;

#define GET(index, name) r->name = (unsigned long long)g[index]
	GET(REG_R8, r8), GET(REG_R9, r9), GET(REG_R10, r10), GET(REG_R11, r11), GET(REG_R12, r12), GET(REG_R13, r13);
	GET(REG_R14, r14), GET(REG_R15, r15), GET(REG_RDI, rdi), GET(REG_RSI, rsi), GET(REG_RBP, rbp), GET(REG_RBX, rbx);
	GET(REG_RDX, rdx), GET(REG_RAX, rax), GET(REG_RCX, rcx), GET(REG_RSP, rsp), GET(REG_EFL, eflags);
#undef GET
}

#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + SIGNAL_SET)
_Static_assert(offsetof(ucontext_t, uc_sigmask) == 296, "as runtime/x86-64/sigthunks.S has it");

/* As the thread is to go on by itself if we are killed meanwhile: a system call that is to be repeated is made anew. */
static enum inj_status go_on_alone(const struct inj_thread *th, ucontext_t *uc)
{
	uint64_t mask = th->mask;

	if (!th->borrowed && ptrace(PTRACE_GETSIGMASK, th->tid, (void *)sizeof(mask), &mask) < 0)
		return errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)inj_thread_pc(th);
	if (inj_thread_repeats(th))
		uc->uc_mcontext.gregs[REG_RAX] = (greg_t)th->regs.orig_rax;
	return INJ_OK;
}

enum inj_status inj_run_in_thread(const struct inj_session *s, struct inj_threads *t, size_t i, uint64_t function, uint64_t *said)
{
	struct inj_thread *th = &t->v[i];
	uint64_t at = (th->regs.rsp - RED_ZONE - 1024) & ~UINT64_C(15);
	enum inj_status status;
	ucontext_t uc;

	to_context(&th->regs, &uc);
	status = go_on_alone(th, &uc);
	if (status == INJ_OK)
		status = inj_write(&t->target, at, &uc, CONTEXT_BYTES);
	if (status == INJ_OK)
		status = inj_thread_run(t, i, function, at, s->rt_departed, th->regs.rsp - at);
	if (status == INJ_OK)
		status = inj_read(&t->target, at, &uc, CONTEXT_BYTES);
	if (status == INJ_OK)
		status = inj_read(&t->target, at - sizeof(*said), said, sizeof(*said));
	if (status != INJ_OK)
		return status;
	if (inj_thread_repeats(th))
		uc.uc_mcontext.gregs[REG_RAX] = (greg_t)th->regs.rax;
	inj_thread_move(th, (uint64_t)uc.uc_mcontext.gregs[REG_RIP]);
	from_context(&uc, &th->regs);
	return INJ_OK;
}

/* Has the thread, which is in a copy, go on in the original. */
static enum inj_status depart(const struct inj_session *s, struct inj_threads *t, size_t i)
{
	uint64_t ignored;

	return inj_run_in_thread(s, t, i, s->rt_depart, &ignored);
}

bool inj_is_our_base(const struct inj_session *s, const struct rt_mapped *mapped, uint64_t gs)
{
	bool is = gs - s->config.pools < (s->config.npools + 2) * PAGE;

	for (uint64_t i = 0; i < mapped->n && i < RT_MAPPED; i++)
		is |= gs - mapped->v[i].addr < mapped->v[i].bytes;
	return is;
}

/* One that is within what an earlier recording has left needs one of that. */
static void give_bases_back(const struct inj_session *s, struct inj_target *t, struct inj_thread *th, const struct rt_mapped *mapped)
{
	if (inj_is_our_base(s, mapped, th->regs.gs_base))
		th->regs.gs_base = inj_leftovers_base(s->attach.left, t, th);
	if (th->regs.fs_base && th->regs.fs_base == s->config.pre_tls)
		th->regs.fs_base = 0;
	th->changed = true;
}

/* Threads that stand on jumps which are about to go, and handlers that return there. */
static enum inj_status move_off_jumps(const struct inj_session *s, struct inj_threads *t)
{
	struct inj_sigframe frames[INJ_SIGFRAMES];
	struct inj_maps maps = { 0 };
	enum inj_status status = inj_maps_read(t->pid, &maps);

	for (size_t i = 0; i < t->n && status == INJ_OK; i++) {
		struct inj_thread *th = &t->v[i];
		uint64_t to = th->gone ? 0 : without_jump(s, &t->target, inj_thread_pc(th));
		size_t n = th->gone ? 0 : inj_sigframes(&t->target, &maps, th->regs.rsp, frames, INJ_SIGFRAMES);

		if (to)
			inj_thread_move(th, to);
		for (size_t k = 0; n <= INJ_SIGFRAMES && k < n && status == INJ_OK; k++) {
			to = without_jump(s, &t->target, frames[k].rip);
			if (to)
				status = inj_write(&t->target, frames[k].rip_at, &to, sizeof(to));
		}
	}
	inj_maps_free(&maps);
	return status;
}

/*
 * Where a system call in a stub (see sigsites.c) goes on in the original: with nothing of ours on the stack, it may last for ever.
 * 0: the thread is not in one.
 */
static uint64_t after_call(const struct inj_session *s, struct inj_target *t, const struct inj_ranges *ours, const struct inj_thread *th)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0xe9 }; /* syscall; jmp back */
	uint64_t at = th->regs.rip - 2, back;
	uint8_t code[2 + TRAMP_JUMP_SIZE];
	int32_t rel;

	if (!inj_holds(ours, at) || in_copy(s, at) || inj_read_some(t, at, code, sizeof(code)) != sizeof(code) ||
	    memcmp(code, call, sizeof(call)) != 0)
		return 0;
	memcpy(&rel, code + sizeof(call), sizeof(rel));
	back = at + sizeof(code) + (uint64_t)(int64_t)rel;
	return inj_holds(ours, back) ? 0 : back;
}

/* The originals of such calls are in place again: those that are to be repeated are repeated there. */
static enum inj_status move_out_of_calls(const struct inj_session *s, struct inj_threads *t)
{
	struct inj_ranges ours = { 0 };
	enum inj_status status = inj_our_code(s, t->pid, &ours);

	for (size_t i = 0; i < t->n && status == INJ_OK; i++) {
		uint64_t back = t->v[i].gone ? 0 : after_call(s, &t->target, &ours, &t->v[i]);

		if (!back)
			continue;
		t->v[i].regs.rip = back;
		t->v[i].changed = true;
	}
	free(ours.v);
	return status;
}

/* Has threads that are in copies go on in the original. */
static enum inj_status move_out(struct inj_session *s, struct inj_threads *t, struct inj_rest *rest)
{
	struct inj_ranges ours = { 0 };
	struct inj_maps maps = { 0 };
	enum inj_status status = inj_our_code(s, t->pid, &ours);

	if (status == INJ_OK)
		status = inj_maps_read(t->pid, &maps);
	for (size_t i = 0; i < t->n && status == INJ_OK; i++) {
		struct inj_thread *th = &t->v[i];
		bool handlers, is_in;

		if (!th->gone && in_copy(s, inj_thread_pc(th)))
			(void)!depart(s, t, i); /* where it is tells whether it could */
		if (th->gone)
			continue;
		handlers = inj_handler_returns(&t->target, &maps, &ours, th);
		is_in = inj_holds(&ours, inj_thread_pc(th)) && !after_call(s, &t->target, &ours, th);
		rest->handlers += handlers;
		rest->within += is_in;
		rest->who[i] = handlers || is_in || (s->nmodules && inj_wrapper_called(&t->target, &maps, &ours, th));
		rest->n += rest->who[i];
		rest->running += rest->who[i] && !inj_thread_repeats(th);
	}
	inj_maps_free(&maps);
	free(ours.v);
	return status;
}

/* Another process's are to be undone as well, so the session's list stays. */
static enum inj_status undo(const struct inj_session *s, struct inj_target *t, enum inj_edit_needed needed)
{
	struct inj_edits edits = { 0 };
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->edits.n && status == INJ_OK; i++)
		if (s->edits.v[i].needed == needed)
			status = inj_edits_add(&edits, &s->edits.v[i]);
	if (status == INJ_OK)
		inj_edits_undo(t, &edits, 0);
	inj_edits_free(&edits);
	return status;
}

/* Nobody is in our code any more, nor returns to it. */
static enum inj_status take_out(struct inj_session *s, struct inj_threads *t)
{
	struct rt_mapped *mapped = malloc(sizeof(*mapped));
	enum inj_status status = mapped ? undo(s, &t->target, INJ_EDIT_BY_HANDLERS) : INJ_MEMORY;

	if (status == INJ_OK)
		status = undo(s, &t->target, INJ_EDIT_BY_WRAPPERS);
	if (status == INJ_OK)
		status = move_out_of_calls(s, t);
	if (status == INJ_OK && s->opt.mirror.enabled)
		status = inj_lead_handlers(s, &t->target, true);
	if (status == INJ_OK)
		status = inj_read(&t->target, s->rt_mapped, mapped, sizeof(*mapped));
	if (status == INJ_OK)
		status = inj_unload(s, &t->target);
	for (size_t i = 0; i < t->n && status == INJ_OK; i++)
		if (!t->v[i].gone)
			give_bases_back(s, &t->target, &t->v[i], mapped);
	free(mapped);
	return status;
}

/* Those who stay need memory and bases, and handlers what they return to. */
static enum inj_status leave_rest(struct inj_session *s, struct inj_threads *t, const struct inj_rest *rest)
{
	struct rt_mapped *mapped = malloc(sizeof(*mapped));
	enum inj_status status = mapped ? inj_read(&t->target, s->rt_mapped, mapped, sizeof(*mapped)) : INJ_MEMORY;

	if (status == INJ_OK && !rest->handlers)
		status = undo(s, &t->target, INJ_EDIT_BY_HANDLERS);
	if (status == INJ_OK && !rest->handlers)
		status = move_out_of_calls(s, t);
	if (status == INJ_OK && s->opt.mirror.enabled)
		status = inj_lead_handlers(s, &t->target, true);
	for (size_t i = 0; i < t->n && status == INJ_OK && !rest->handlers; i++)
		if (!t->v[i].gone && !rest->who[i])
			give_bases_back(s, &t->target, &t->v[i], mapped);
	free(mapped);
	if (status == INJ_OK)
		status = inj_modules_silence(s, &t->target);
	return status == INJ_OK ? inj_leftovers_note(s, &t->target, rest->handlers) : status;
}

enum inj_status inj_take_out(struct inj_session *s, struct inj_threads *t, bool last, struct inj_rest *rest)
{
	enum inj_status status;

	*rest = (struct inj_rest){ .who = calloc(t->n + 1, sizeof(*rest->who)) };
	status = rest->who ? move_out(s, t, rest) : INJ_MEMORY;
	if (status == INJ_OK && !rest->n)
		status = take_out(s, t);
	else if (status == INJ_OK && last)
		status = leave_rest(s, t, rest);
	free(rest->who);
	rest->who = NULL;
	return status;
}

/*
 * Functions are as they were from the first time on, so nobody comes to a copy or wrapper any more.  All else stays until all threads
 * have left: handlers that have interrupted a copy return to it by way of the runtime, which needs their GS bases.
 */
static enum inj_status try(struct inj_session *s, struct inj_threads *t, bool first, bool last, struct inj_rest *rest)
{
	enum inj_status status = first ? move_off_jumps(s, t) : INJ_OK;

	*rest = (struct inj_rest){ 0 };
	if (status == INJ_OK && first)
		status = undo(s, &t->target, INJ_EDIT_BY_NOBODY);
	return status == INJ_OK ? inj_take_out(s, t, last, rest) : status;
}

/* One that waits in the kernel, as for a child of vfork(), may not do so for long. */
static enum inj_status stop_threads(struct inj_threads *t, pid_t pid, int64_t *from)
{
	enum inj_status status = INJ_OK;

	for (int tries = 0; tries < STOP_TRIES; tries++) {
		*from = clock_now_ns();
		status = inj_threads_stop(t, pid, INJ_ALL_THREADS);
		if (status != INJ_SYSTEM || errno != ETIMEDOUT)
			break;
	}
	return status;
}

enum inj_status inj_session_detach(struct inj_session *s, pid_t pid, struct inj_stop *stop, size_t *left)
{
	int64_t began = clock_now_ns();
	size_t fewest = SIZE_MAX;
	long nap = 1000000;

	*stop = (struct inj_stop){ 0 };
	*left = 0;
	for (bool first = true, last = false;; first = false) {
		int64_t from;
		uint64_t ns;
		struct inj_threads t;
		struct inj_rest rest;
		enum inj_status status = stop_threads(&t, pid, &from);
		int saved;

		if (status != INJ_OK)
			return status;
		stop->threads = t.n;
		status = try(s, &t, first, last, &rest);
		saved = errno;
		inj_threads_go(&t);
		errno = saved;
		ns = (uint64_t)(clock_now_ns() - from);
		stop->ns = ns > stop->ns ? ns : stop->ns;
		*left = rest.n;
		if (status != INJ_OK || !rest.n || last)
			return status;
		if (rest.n < fewest)
			began = clock_now_ns();
		fewest = rest.n < fewest ? rest.n : fewest;
		last = clock_now_ns() - began > (rest.within || rest.handlers || rest.running ? PATIENCE_NS : WRAPPED_NS);
		nanosleep(&(struct timespec){ .tv_nsec = nap }, NULL);
		nap = nap < LONGEST_NAP_NS ? 2 * nap : nap;
	}
}
