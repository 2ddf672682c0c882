// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Putting the patches in.  First everything is planned and the code that nobody reaches yet is
 * written into arenas; then modules learn where the originals are; last the functions' entries are
 * overwritten.  An error at any point takes out what was put in.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/session.h"
#include "injector/text.h"
#include "trampolines/keep.h"

#define MAX_CODE (UINT64_C(1) << 20) /* of a function that is looked at for branches */
#define UNSIZED 256		     /* bytes looked at when a symbol has no size */

struct job {
	struct tramp_plan plan;
	const size_t *wraps; /* indices, all of one function, in module order */
	size_t n;
	uint64_t addr, size, avail; /* of the function; see struct tramp_function */
	uint64_t lo, hi;
	struct tramp_keep keep;
};

/* ---- planning ---- */

static enum inj_status plan_with_lengths(struct inj_session *s, struct tramp_function *fn,
					 struct tramp_plan *plan, enum tramp_status *said)
{
	uint8_t lengths[TRAMP_INSNS_MAX + 1];
	uint8_t window[64] = { 0 }; /* longer than what the processor may ask for */
	size_t n = 0;
	enum inj_status status;

	memcpy(window, fn->code, fn->avail < sizeof(window) ? fn->avail : sizeof(window));
	if (!s->tracee) {
		*said = TRAMP_LENGTH_DIFFERS;
		return INJ_OK;
	}
	status = inj_step_lengths(s, window, TRAMP_JUMP_SIZE + 4, lengths,
				  sizeof(lengths), &n);
	if (status != INJ_OK)
		return status;
	fn->lengths = lengths;
	fn->nlengths = n;
	*said = n ? tramp_plan_entry(fn, plan) : TRAMP_UNDECODABLE;
	return INJ_OK;
}

static enum inj_status plan(struct inj_session *s, struct tramp_function *fn,
			    struct tramp_plan *out, enum tramp_status *said)
{
	size_t offset;

	*said = tramp_plan_entry(fn, out);
	if (*said != TRAMP_OK)
		return INJ_OK;
	if (!s->checker)
		s->checker = tramp_checker_new();
	if (!s->checker)
		return INJ_MEMORY;
	if (tramp_check_boundaries(s->checker, out, &offset) == TRAMP_AGREE)
		return INJ_OK;
	return plan_with_lengths(s, fn, out, said);
}

static const struct inj_symbol *symbol_of(struct inj_session *s, const struct inj_wrap *w,
					  uint64_t addr)
{
	struct inj_object *o = &s->objects[w->object];
	struct inj_symtab *tab = inj_object_symbols(o);

	return tab ? inj_symtab_at(tab, addr - o->base) : NULL;
}

static void refuse(struct inj_session *s, const struct job *job, const char *reason)
{
	for (size_t i = 0; i < job->n; i++) {
		s->wraps[job->wraps[i]].state = INJ_WRAP_REFUSED;
		s->wraps[job->wraps[i]].reason = reason;
	}
}

/* Where the function is, and what follows it up to the next one. */
static void measure(struct inj_session *s, struct job *job)
{
	const struct inj_wrap *w = &s->wraps[job->wraps[0]];
	const struct inj_symbol *sym = symbol_of(s, w, w->addr);

	job->addr = w->addr;
	job->size = sym ? sym->size : inj_unwind_size(s, &s->objects[w->object], w->addr);
	if (job->size > MAX_CODE)
		job->size = 0;
	job->avail = sym ? sym->avail : UNSIZED;
	if (job->avail < job->size || job->avail > job->size + UNSIZED)
		job->avail = job->size + UNSIZED;
	if (!sym && job->size)
		job->avail = (job->size + 15) & ~UINT64_C(15); /* what follows is not known */
	job->lo = job->addr;
	job->hi = job->addr + job->avail;
}

static bool as_in_memory(struct inj_session *s, const struct tramp_function *fn)
{
	uint8_t now[TRAMP_DISPLACED_MAX];
	size_t n = fn->avail < sizeof(now) ? fn->avail : sizeof(now);

	return inj_read_some(s->target, fn->addr, now, n) == n && memcmp(now, fn->code, n) == 0;
}

/* Plans from the object's code; a refusal goes to the wraps. */
static enum inj_status plan_function(struct inj_session *s, struct job *job,
				     const struct inj_text *text, const struct tramp_branch *branches,
				     size_t nbranches)
{
	const struct tramp_object *o = &text->code;
	struct tramp_function fn = { .addr = job->addr,
				     .size = job->size,
				     .avail = job->avail,
				     .branches = branches,
				     .nbranches = nbranches };
	enum tramp_status said = TRAMP_TRUNCATED;
	enum inj_status status = INJ_OK;

	if (job->addr >= o->addr && job->addr - o->addr < o->len) {
		uint64_t left = o->addr + o->len - job->addr;

		fn.code = o->code + (job->addr - o->addr);
		fn.avail = fn.avail < left ? fn.avail : left;
		fn.size = fn.size < left ? fn.size : left;
		status = plan(s, &fn, &job->plan, &said);
	}
	if (said != TRAMP_OK)
		refuse(s, job, tramp_reason_text(said));
	else if (!as_in_memory(s, &fn))
		refuse(s, job, "the code in memory is not that of the file");
	return status;
}

/* ---- an object's functions ---- */

static size_t object_of(const struct inj_session *s, const struct job *job)
{
	return s->wraps[job->wraps[0]].object;
}

static bool is_pending(const struct inj_session *s, const struct job *job)
{
	return s->wraps[job->wraps[0]].state == INJ_WRAP_PENDING;
}

/* Branches from elsewhere into what the patches of these functions (ascending) may cover. */
static struct tramp_branch *find_branches(const struct inj_text *text, const struct job *jobs,
					  size_t n, size_t *found)
{
	struct tramp_range *ranges = calloc(n + 1, sizeof(*ranges));
	const struct tramp_object *o = &text->code;
	struct tramp_branch *v = NULL;
	size_t room = 0;

	*found = 0;
	for (size_t i = 0; ranges && i < n; i++)
		ranges[i] = (struct tramp_range){ jobs[i].addr, jobs[i].size };
	while (ranges) {
		*found = tramp_find_branches(o->code, o->len, o->addr, ranges, n, v, room);
		if (v && *found <= room)
			break;
		free(v);
		room = *found + 16;
		v = calloc(room, sizeof(*v));
		if (!v)
			break;
	}
	free(ranges);
	return v;
}

/* What callers rely on; takes out the functions that cannot be wrapped without harm to them. */
static enum inj_status keep_registers(struct inj_session *s, const struct inj_text *text,
				      struct job *jobs, size_t n)
{
	uint64_t *targets = calloc(n + 1, sizeof(*targets));
	struct tramp_keep *keeps = calloc(n + 1, sizeof(*keeps));
	bool done = targets && keeps;
	const char *reason;

	for (size_t i = 0; i < n && done; i++)
		targets[i] = jobs[i].addr;
	done = done && tramp_keep_analyze(&text->code, targets, n, keeps);
	for (size_t i = 0; i < n && done; i++) {
		jobs[i].keep = keeps[i];
		if (is_pending(s, &jobs[i]) && !tramp_keep_possible(&keeps[i], &reason))
			refuse(s, &jobs[i], reason);
	}
	free(targets);
	free(keeps);
	return done ? INJ_OK : INJ_MEMORY;
}

/* @jobs: those of one object, ascending by address. */
static enum inj_status plan_object(struct inj_session *s, struct job *jobs, size_t n)
{
	struct tramp_branch *branches;
	struct inj_text text;
	size_t nbranches;
	enum inj_status status;

	for (size_t i = 0; i < n; i++)
		measure(s, &jobs[i]);
	status = inj_text_read(s, object_of(s, jobs), jobs[0].addr, &text);
	if (status != INJ_OK)
		return status;
	branches = find_branches(&text, jobs, n, &nbranches);
	if (!branches)
		status = INJ_MEMORY;
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = plan_function(s, &jobs[i], &text, branches, nbranches);
	if (status == INJ_OK)
		status = keep_registers(s, &text, jobs, n);
	free(branches);
	inj_text_free(&text);
	return status;
}

/* ---- emission ---- */

struct spot {
	uint64_t addr;
	uint8_t *mem;
	uint64_t len;
};

static enum inj_status get_spot(struct inj_session *s, const struct job *job, uint64_t len,
				struct spot *spot)
{
	spot->len = len;
	return inj_code_alloc(&s->code, s->target, job->lo, job->hi, len, &spot->addr, &spot->mem);
}

static enum inj_status emit_replay(struct inj_session *s, const struct job *job, uint64_t *replay)
{
	struct spot spot;
	size_t len;
	enum inj_status status = get_spot(s, job, tramp_replay_size(&job->plan), &spot);

	if (status != INJ_OK)
		return status;
	*replay = spot.addr;
	return tramp_emit_replay(&job->plan, spot.addr, spot.mem, spot.len, &len) == TRAMP_OK ?
		       INJ_OK :
		       INJ_NO_ROOM;
}

/* A descriptor and a stub for one wrapper; *entry is where the stub begins. */
static enum inj_status emit_stub(struct inj_session *s, const struct job *job, uint64_t wrapper,
				 uint64_t replay, uint64_t *entry)
{
	struct rt_stub_desc desc = { .wrapper = wrapper, .replay = replay };
	struct tramp_stub stub = { .wrapper = wrapper,
				   .gate = s->rt_gate,
				   .owner_offset = SONDE_POOL_OWNER,
				   .id = TRAMP_ID_FS_ZERO };
	struct spot spot;
	size_t len;
	enum inj_status status = get_spot(s, job, TRAMP_STUB_MAX + sizeof(desc), &spot);

	if (status != INJ_OK)
		return status;
	stub.desc = spot.addr + TRAMP_STUB_MAX;
	memcpy(spot.mem + TRAMP_STUB_MAX, &desc, sizeof(desc));
	*entry = spot.addr;
	return tramp_emit_stub(&stub, spot.addr, spot.mem, TRAMP_STUB_MAX, &len) == TRAMP_OK ?
		       INJ_OK :
		       INJ_NO_ROOM;
}

/* Between the first stub and its wrapper, when callers rely on more than the ABI promises. */
static enum inj_status emit_keeper(struct inj_session *s, const struct job *job, uint64_t *wrapper)
{
	struct spot spot;
	size_t len;
	enum inj_status status;

	if (!tramp_keep_needed(&job->keep))
		return INJ_OK;
	status = get_spot(s, job, tramp_keeper_size(&job->keep), &spot);
	if (status != INJ_OK)
		return status;
	if (tramp_emit_keeper(&job->keep, *wrapper, spot.addr, spot.mem, spot.len, &len) !=
	    TRAMP_OK)
		return INJ_NO_ROOM;
	*wrapper = spot.addr;
	return INJ_OK;
}

/* ---- writing ---- */

static enum inj_status write_patch(struct inj_session *s, const struct tramp_plan *p,
				   size_t object, uint64_t to)
{
	struct inj_patch *v = realloc(s->patches, (s->npatches + 1) * sizeof(*v));
	uint8_t bytes[TRAMP_PATCH_MAX + 1];
	enum inj_status status;

	if (!v)
		return INJ_MEMORY;
	s->patches = v;
	if (tramp_emit_patch(p, to, bytes) != TRAMP_OK)
		return INJ_NO_ROOM;
	status = inj_write(s->target, p->patch_addr, bytes, p->patch_len);
	if (status != INJ_OK)
		return status;
	v[s->npatches].addr = p->patch_addr;
	v[s->npatches].object = object;
	v[s->npatches].len = p->patch_len;
	memcpy(v[s->npatches].original, p->original, p->patch_len);
	s->npatches++;
	return INJ_OK;
}

void inj_patch_undo(struct inj_session *s, size_t keep)
{
	while (s->npatches > keep) {
		const struct inj_patch *p = &s->patches[--s->npatches];

		(void)!inj_write(s->target, p->addr, p->original, p->len);
	}
}

/* Wrappers of several modules form a chain, in the order of the modules; its end is the replay code. */
static enum inj_status emit_chain(struct inj_session *s, const struct job *job, uint64_t *first)
{
	uint64_t replay, next;
	enum inj_status status = emit_replay(s, job, &replay);

	next = replay;
	for (size_t i = job->n; i-- > 0 && status == INJ_OK;) {
		const struct inj_wrap *w = &s->wraps[job->wraps[i]];
		uint64_t wrapper = w->wrapper;

		status = inj_write(s->target, w->real, &next, sizeof(next));
		if (status == INJ_OK && i == 0)
			status = emit_keeper(s, job, &wrapper);
		if (status == INJ_OK)
			status = emit_stub(s, job, wrapper, replay, &next);
	}
	*first = next;
	return status;
}

static enum inj_status run_jobs(struct inj_session *s, struct job *jobs, size_t n)
{
	uint64_t *first = calloc(n + 1, sizeof(*first));
	size_t keep = s->npatches;
	enum inj_status status = first ? INJ_OK : INJ_MEMORY;

	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = emit_chain(s, &jobs[i], &first[i]);
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = write_patch(s, &jobs[i].plan, s->wraps[jobs[i].wraps[0]].object,
				     first[i]);
	if (status != INJ_OK)
		inj_patch_undo(s, keep);
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		for (size_t k = 0; k < jobs[i].n; k++)
			s->wraps[jobs[i].wraps[k]].state = INJ_WRAP_ACTIVE;
	free(first);
	return status;
}

/* One job for each function; @wraps: indices, in the order of addresses. */
static size_t make_jobs(const struct inj_session *s, const size_t *wraps, size_t n,
			struct job *jobs)
{
	size_t njobs = 0;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (s->wraps[wraps[end]].addr != s->wraps[wraps[i]].addr)
				break;
		jobs[njobs++] = (struct job){ .wraps = &wraps[i], .n = end - i };
	}
	return njobs;
}

enum inj_status inj_patch_pending(struct inj_session *s, const size_t *wraps, size_t n)
{
	struct job *jobs = calloc(n + 1, sizeof(*jobs));
	enum inj_status status = jobs ? INJ_OK : INJ_MEMORY;
	size_t njobs = jobs ? make_jobs(s, wraps, n, jobs) : 0, kept = 0;

	/* an object's functions stand beside each other, being in order of address */
	for (size_t i = 0, end; i < njobs && status == INJ_OK; i = end) {
		for (end = i + 1; end < njobs; end++)
			if (object_of(s, &jobs[end]) != object_of(s, &jobs[i]))
				break;
		status = plan_object(s, &jobs[i], end - i);
	}
	for (size_t i = 0; i < njobs; i++)
		if (is_pending(s, &jobs[i]))
			jobs[kept++] = jobs[i];
	if (status == INJ_OK)
		status = run_jobs(s, jobs, kept);
	free(jobs);
	return status;
}

/* The linker's notification function: a call of the runtime's, without a gate. */
enum inj_status inj_patch_linker(struct inj_session *s)
{
	uint8_t code[64];
	struct tramp_function fn = { .addr = s->dl_debug_state, .code = code };
	struct user_regs_struct regs;
	enum tramp_status said;
	struct job job = { .n = 0 };
	struct spot spot;
	size_t len;
	enum inj_status status;

	if (!s->dl_debug_state || s->linker_hooked)
		return INJ_OK;
	fn.avail = inj_read_some(s->target, fn.addr, code, 16);
	fn.size = 1; /* a bare return in every C library; padding follows */
	status = plan(s, &fn, &job.plan, &said);
	if (status != INJ_OK || said != TRAMP_OK)
		return status;
	job.lo = fn.addr;
	job.hi = fn.addr + fn.avail;
	status = emit_replay(s, &job, &s->config.real_dl_debug_state);
	if (status == INJ_OK)
		status = get_spot(s, &job, TRAMP_JUMP_STUB_MAX, &spot);
	if (status == INJ_OK &&
	    tramp_emit_jump(spot.addr, s->rt_dl_state, spot.mem, spot.len, &len) != TRAMP_OK)
		status = INJ_NO_ROOM;
	if (status == INJ_OK)
		status = inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
	if (status == INJ_OK)
		status = write_patch(s, &job.plan, SIZE_MAX, spot.addr);
	if (status != INJ_OK)
		return status;
	s->linker_hooked = true;
	/* the program stands on the very function that has just been patched */
	status = inj_tracee_regs(s->tracee, &regs);
	if (status == INJ_OK && regs.rip == fn.addr) {
		regs.rip = s->config.real_dl_debug_state;
		status = inj_tracee_set_regs(s->tracee, &regs);
	}
	return status;
}
