// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Planning the patches of an object's functions: with where they are entered from elsewhere in the object, with what callers
 * rely on, checked by the second decoder, settled by the processor where the two differ.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/facts/analysis.h"
#include "injector/mirror/planners.h"
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

static void refuse(struct inj_session *s, const struct inj_job *job, const char *reason)
{
	for (size_t i = 0; i < job->n; i++) {
		s->wraps[job->wraps[i]].state = INJ_WRAP_REFUSED;
		s->wraps[job->wraps[i]].reason = reason;
	}
}

/* Where the function is, and what follows it up to the next one. */
static void measure(struct inj_job *job, const struct inj_facts *facts)
{
	job->size = facts->size <= MAX_CODE ? facts->size : 0;
	job->avail = facts->avail < job->size + UNSIZED ? facts->avail : job->size + UNSIZED;
	job->lo = job->addr;
	job->hi = job->addr + job->avail;
	job->keep = facts->keep;
}

static bool as_in_memory(struct inj_session *s, const struct tramp_function *fn)
{
	uint8_t now[TRAMP_DISPLACED_MAX];
	size_t n = fn->avail < sizeof(now) ? fn->avail : sizeof(now);

	return inj_read_some(s->target, fn->addr, now, n) == n && memcmp(now, fn->code, n) == 0;
}

/* Plans from the file's code; a refusal goes to the wraps. */
static enum inj_status plan_function(struct inj_session *s, struct inj_job *job, uint64_t base,
				     const struct inj_elf *file, const struct inj_facts *facts)
{
	struct tramp_branch branches[INJ_MAX_ENTRIES];
	struct tramp_function fn = { .addr = job->addr,
				     .size = job->size,
				     .avail = job->avail,
				     .branches = branches,
				     .nbranches = facts->nentries,
				     .whole = true };
	enum tramp_status said = TRAMP_TRUNCATED;
	enum inj_status status = INJ_OK;
	uint64_t left;

	for (size_t i = 0; i < facts->nentries; i++)
		branches[i] = (struct tramp_branch){ .to = base + facts->entries[i] };
	fn.code = inj_elf_at(file, facts->addr, &left);
	if (fn.code) {
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

static enum inj_status plan_with_facts(struct inj_session *s, struct inj_job *jobs, size_t n,
				       const struct inj_elf *file, const struct inj_facts *facts)
{
	uint64_t base = s->objects[object_of(s, jobs)].base;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		const char *reason;

		measure(&jobs[i], &facts[i]);
		if (tramp_keep_possible(&facts[i].keep, &reason))
			status = plan_function(s, &jobs[i], base, file, &facts[i]);
		else
			refuse(s, &jobs[i], reason);
	}
	return status;
}

/* @jobs: those of one object, ascending by address. */
static enum inj_status plan_object(struct inj_session *s, struct inj_job *jobs, size_t n)
{
	struct inj_object *o = &s->objects[object_of(s, jobs)];
	struct inj_code_source source = {
		.path = o->path, .identity = &o->identity, .symbols = inj_object_symbols(o),
		.cache_dir = s->opt.cache_dir, .threads = inj_processors(),
	};
	struct inj_facts *facts = calloc(n + 1, sizeof(*facts));
	struct inj_elf file = { 0 };
	enum inj_status status;

	if (!facts)
		return INJ_MEMORY;
	for (size_t i = 0; i < n; i++) {
		jobs[i].addr = s->wraps[jobs[i].wraps[0]].addr;
		facts[i].addr = jobs[i].addr - o->base;
	}
	source.file = &file;
	status = source.symbols ? inj_elf_open(o->path, &file) : INJ_NO_FILE;
	if (status == INJ_OK) {
		inj_identity_of(&file, &o->identity);
		status = inj_analyze(&source, facts, n);
	}
	if (status == INJ_OK)
		status = plan_with_facts(s, jobs, n, &file, facts);
	for (size_t i = 0; status == INJ_NO_FILE && i < n; i++)
		refuse(s, &jobs[i], "the file that it is in cannot be read");
	inj_elf_close(&file);
	free(facts);
	return status == INJ_NO_FILE ? INJ_OK : status;
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
