// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Planning the patches of an object's functions: with branches from elsewhere in the object, with what callers
 * rely on, checked by the second decoder, settled by the processor where the two differ.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/image/analysis.h"
#include "injector/patch/patch.h"

#define MAX_CODE (UINT64_C(1) << 20) /* of a function that is looked at for branches */
#define UNSIZED 256		     /* bytes looked at when a symbol has no size */

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

static void refuse(struct inj_session *s, const struct inj_job *job, const char *reason)
{
	for (size_t i = 0; i < job->n; i++) {
		s->wraps[job->wraps[i]].state = INJ_WRAP_REFUSED;
		s->wraps[job->wraps[i]].reason = reason;
	}
}

/* Where the function is, and what follows it up to the next one. */
static void measure(struct inj_session *s, struct inj_job *job)
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
static enum inj_status plan_function(struct inj_session *s, struct inj_job *job,
				     const struct inj_text *text, const struct tramp_branch *branches,
				     size_t nbranches)
{
	const struct tramp_object *o = &text->code;
	struct tramp_function fn = { .addr = job->addr,
				     .size = job->size,
				     .avail = job->avail,
				     .branches = branches,
				     .nbranches = nbranches,
				     .whole = true };
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

static size_t object_of(const struct inj_session *s, const struct inj_job *job)
{
	return s->wraps[job->wraps[0]].object;
}

static bool is_pending(const struct inj_session *s, const struct inj_job *job)
{
	return s->wraps[job->wraps[0]].state == INJ_WRAP_PENDING;
}

/* Facts to and from jobs; branches of all functions in one list, ascending, for the planner. */
static struct tramp_branch *use_facts(struct inj_session *s, struct inj_job *jobs,
				      const struct inj_facts *facts, size_t n, size_t *nbranches)
{
	struct tramp_branch *v = calloc(n * INJ_MAX_BRANCHES + 1, sizeof(*v));
	uint64_t base = s->objects[object_of(s, jobs)].base, last = 0;

	*nbranches = 0;
	for (size_t i = 0; v && i < n; i++) {
		const char *reason;

		jobs[i].keep = facts[i].keep;
		if (!tramp_keep_possible(&facts[i].keep, &reason))
			refuse(s, &jobs[i], reason);
		for (uint32_t k = 0; k < facts[i].nbranches; k++) {
			const struct tramp_branch *b = &facts[i].branches[k];

			/* functions that lie close together share some */
			if (b->to < last)
				continue;
			last = b->to;
			v[*nbranches].from = b->from ? base + b->from : 0;
			v[(*nbranches)++].to = base + b->to;
		}
	}
	return v;
}

static enum inj_status plan_with_facts(struct inj_session *s, struct inj_job *jobs,
				       const struct inj_facts *facts, size_t n,
				       const struct inj_text *text)
{
	size_t nbranches;
	struct tramp_branch *branches = use_facts(s, jobs, facts, n, &nbranches);
	enum inj_status status = branches ? INJ_OK : INJ_MEMORY;

	for (size_t i = 0; i < n && status == INJ_OK; i++)
		if (is_pending(s, &jobs[i]))
			status = plan_function(s, &jobs[i], text, branches, nbranches);
	free(branches);
	return status;
}

/* @jobs: those of one object, ascending by address. */
static enum inj_status plan_object(struct inj_session *s, struct inj_job *jobs, size_t n)
{
	size_t object = object_of(s, jobs);
	struct inj_facts *facts = calloc(n + 1, sizeof(*facts));
	struct inj_text text;
	enum inj_status status;

	if (!facts)
		return INJ_MEMORY;
	for (size_t i = 0; i < n; i++) {
		measure(s, &jobs[i]);
		facts[i].addr = jobs[i].addr - s->objects[object].base;
		facts[i].size = jobs[i].size;
	}
	status = inj_text_read(s, jobs[0].addr, &text);
	if (status == INJ_OK)
		status = inj_analyze(s, object, &text, facts, n);
	if (status == INJ_OK)
		status = plan_with_facts(s, jobs, facts, n, &text);
	free(facts);
	inj_text_free(&text);
	return status;
}

enum inj_status inj_plan_jobs(struct inj_session *s, struct inj_job *jobs, size_t n)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0, end; i < n && status == INJ_OK; i = end) {
		for (end = i + 1; end < n; end++)
			if (object_of(s, &jobs[end]) != object_of(s, &jobs[i]))
				break;
		status = plan_object(s, &jobs[i], end - i);
	}
	return status;
}

/* A function that no module wraps: nothing is known of its callers, and its code is its own. */
enum inj_status inj_plan_own(struct inj_session *s, struct inj_job *job)
{
	uint8_t code[UNSIZED];
	struct tramp_function fn = { .addr = job->addr, .code = code, .size = job->size };
	enum tramp_status said;
	enum inj_status status;

	fn.avail = inj_read_some(s->target, job->addr, code,
				 job->avail < sizeof(code) ? job->avail : sizeof(code));
	if (fn.size > fn.avail)
		fn.size = fn.avail;
	job->lo = job->addr;
	job->hi = job->addr + fn.avail;
	status = plan(s, &fn, &job->plan, &said);
	return status == INJ_OK && said != TRAMP_OK ? INJ_NOT_SUPPORTED : status;
}
