// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Putting the patches in.  First everything is planned and the code that nobody reaches yet is
 * written into arenas; then modules learn where the originals are; last the functions' entries are
 * overwritten, all of them or none.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/guest/guest.h"
#include "injector/patch/patch.h"
#include "runtime/probe.h"
#include "tracefmt/ring.h"

/* ---- emission ---- */

struct spot {
	uint64_t addr;
	uint8_t *mem;
	uint64_t len;
};

static enum inj_status get_spot(struct inj_session *s, const struct inj_job *job, uint64_t len,
				struct spot *spot)
{
	spot->len = len;
	return inj_code_alloc(&s->code, s->target, job->lo, job->hi, len, &spot->addr, &spot->mem);
}

static enum inj_status emit_replay(struct inj_session *s, const struct inj_job *job, uint64_t *replay)
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
static enum inj_status emit_stub(struct inj_session *s, const struct inj_job *job, uint64_t wrapper,
				 uint64_t replay, uint64_t *entry)
{
	struct rt_stub_desc desc = { .wrapper = wrapper, .replay = replay };
	struct tramp_stub stub = { .wrapper = wrapper,
				   .gate = s->rt_gate,
				   .off = s->config.control + offsetof(struct ring_control, off),
				   .under = s->opt.mirror.under ? RT_POOL_UNDER : 0,
				   .replay = replay,
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
static enum inj_status emit_keeper(struct inj_session *s, const struct inj_job *job, uint64_t *wrapper)
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
	s->wraps[job->wraps[0]].keeper_depth = (uint32_t)tramp_keeper_depth(&job->keep);
	return INJ_OK;
}

/* ---- writing ---- */

static enum inj_status add_patch(struct inj_edits *batch, const struct tramp_plan *p, uint32_t object, uint64_t to)
{
	struct inj_edit e = { .addr = p->patch_addr, .object = object, .owner = INJ_EDIT_NONE, .len = p->patch_len };

	if (tramp_emit_patch(p, to, e.bytes) != TRAMP_OK)
		return INJ_NO_ROOM;
	memcpy(e.was, p->original, p->patch_len);
	return inj_edits_add(batch, &e);
}

/* Where the originals of wrappers are, for their modules: gathered, and written at once. */
struct reals {
	struct inj_span *spans;
	uint64_t *values;
	size_t n;
};

static void add_real(struct reals *r, uint64_t real, uint64_t value)
{
	r->values[r->n] = value;
	r->spans[r->n] = (struct inj_span){ real, &r->values[r->n], sizeof(value) };
	r->n++;
}

/* Wrappers of several modules form a chain, in the order of the modules; its end is the replay code. */
static enum inj_status emit_chain(struct inj_session *s, const struct inj_job *job, struct reals *reals, uint64_t *first)
{
	uint64_t replay, next;
	enum inj_status status = emit_replay(s, job, &replay);

	next = replay;
	for (size_t i = job->n; i-- > 0 && status == INJ_OK;) {
		const struct inj_wrap *w = &s->wraps[job->wraps[i]];
		uint64_t wrapper = w->wrapper, real = next;

		if (inj_is_guest(s, w->module))
			status = inj_guest_real(s, w, next, &real);
		if (inj_is_guest(s, w->module) && status == INJ_OK)
			status = inj_guest_enter(s, w, next, &wrapper);
		add_real(reals, w->real, real);
		if (i == 0 && status == INJ_OK)
			status = emit_keeper(s, job, &wrapper);
		if (status == INJ_OK)
			status = emit_stub(s, job, wrapper, replay, &next);
	}
	*first = next;
	return status;
}

/* The batch, or what is to be written later. */
static enum inj_status put_in(struct inj_session *s, const struct inj_edits *batch)
{
	return s->attach.hold ? inj_edits_append(&s->attach.held, batch) : inj_edits_apply(s->target, &s->edits, batch);
}

static enum inj_status run_jobs(struct inj_session *s, struct inj_job *jobs, size_t n)
{
	uint64_t *first = calloc(n + 1, sizeof(*first));
	struct reals reals = { .spans = calloc(s->nwraps + 1, sizeof(*reals.spans)),
			       .values = calloc(s->nwraps + 1, sizeof(*reals.values)) };
	struct inj_edits batch = { 0 };
	enum inj_status status = first && reals.spans && reals.values ? INJ_OK : INJ_MEMORY;

	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = emit_chain(s, &jobs[i], &reals, &first[i]);
	if (status == INJ_OK)
		status = inj_write_spans(s->target, reals.spans, reals.n);
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = add_patch(&batch, &jobs[i].plan, (uint32_t)s->wraps[jobs[i].wraps[0]].object, first[i]);
	if (status == INJ_OK)
		status = put_in(s, &batch);
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		for (size_t k = 0; k < jobs[i].n; k++)
			s->wraps[jobs[i].wraps[k]].state = INJ_WRAP_ACTIVE;
	inj_edits_free(&batch);
	free(first);
	free(reals.spans);
	free(reals.values);
	return status;
}

/* One job for each function; @wraps: indices, in the order of addresses. */
static size_t make_jobs(const struct inj_session *s, const size_t *wraps, size_t n,
			struct inj_job *jobs)
{
	size_t njobs = 0;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (s->wraps[wraps[end]].addr != s->wraps[wraps[i]].addr)
				break;
		jobs[njobs++] = (struct inj_job){ .wraps = &wraps[i], .n = end - i };
	}
	return njobs;
}

enum inj_status inj_patch_pending(struct inj_session *s, const size_t *wraps, size_t n)
{
	struct inj_job *jobs = calloc(n + 1, sizeof(*jobs));
	enum inj_status status = jobs ? INJ_OK : INJ_MEMORY;
	size_t njobs = jobs ? make_jobs(s, wraps, n, jobs) : 0, kept = 0;

	if (status == INJ_OK)
		status = inj_plan_jobs(s, jobs, njobs);
	for (size_t i = 0; i < njobs; i++)
		if (s->wraps[jobs[i].wraps[0]].state == INJ_WRAP_PENDING)
			jobs[kept++] = jobs[i];
	if (status == INJ_OK)
		status = run_jobs(s, jobs, kept);
	free(jobs);
	return status;
}

enum inj_status inj_patch_own(struct inj_session *s, uint64_t addr, uint64_t size, uint64_t avail,
			      uint64_t target, uint64_t *replay, enum inj_edit_needed needed)
{
	struct inj_job job = { .addr = addr, .size = size, .avail = avail };
	struct inj_edits batch = { 0 };
	struct spot spot;
	size_t len;
	enum inj_status status = inj_plan_own(s, &job);

	if (status == INJ_OK)
		status = emit_replay(s, &job, replay);
	if (status == INJ_OK)
		status = get_spot(s, &job, TRAMP_JUMP_STUB_MAX, &spot);
	if (status == INJ_OK &&
	    tramp_emit_jump(spot.addr, target, spot.mem, spot.len, &len) != TRAMP_OK)
		status = INJ_NO_ROOM;
	/* the runtime has to know where to continue before control gets there */
	if (status == INJ_OK)
		status = inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
	/* neither the program nor its dynamic linker is ever unloaded */
	if (status == INJ_OK)
		status = add_patch(&batch, &job.plan, INJ_EDIT_NONE, spot.addr);
	if (status == INJ_OK)
		batch.v[0].needed = (uint8_t)needed;
	if (status == INJ_OK)
		status = put_in(s, &batch);
	inj_edits_free(&batch);
	return status;
}
