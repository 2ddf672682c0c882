// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Planning the patches of an object's functions: with where they are entered from elsewhere in the object, with what callers
 * rely on, checked by the second decoder, settled by the processor where the two differ.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/facts/known.h"
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

/* ---- an object's functions ---- */

static size_t object_of(const struct inj_session *s, const struct inj_job *job)
{
	return s->wraps[job->wraps[0]].object;
}

/* From the file's code, at the file's addresses; p->facts is given.  *@sure: it would be the same for any other process. */
static enum inj_status plan_in_file(struct inj_session *s, const struct inj_elf *file, struct inj_known_plan *p, bool *sure)
{
	struct tramp_branch branches[INJ_MAX_ENTRIES];
	const struct inj_facts *facts = &p->facts;
	struct tramp_function fn = { .addr = facts->addr,
				     .branches = branches,
				     .nbranches = facts->nentries,
				     .whole = true };
	enum tramp_status said = TRAMP_TRUNCATED;
	enum inj_status status = INJ_OK;
	uint64_t left;

	*sure = true;
	if (!tramp_keep_possible(&facts->keep, &p->refused))
		return INJ_OK;
	for (size_t i = 0; i < facts->nentries; i++)
		branches[i] = (struct tramp_branch){ .to = facts->entries[i] };
	fn.code = inj_elf_at(file, facts->addr, &left);
	if (fn.code) {
		fn.size = facts->size <= MAX_CODE ? facts->size : 0;
		fn.avail = facts->avail < fn.size + UNSIZED ? facts->avail : fn.size + UNSIZED;
		fn.avail = fn.avail < left ? fn.avail : left;
		fn.size = fn.size < left ? fn.size : left;
		status = plan(s, &fn, &p->plan, &said);
		p->ncode = (uint32_t)(fn.avail < sizeof(p->code) ? fn.avail : sizeof(p->code));
		memcpy(p->code, fn.code, p->ncode);
	}
	p->refused = said == TRAMP_OK ? NULL : tramp_reason_text(said);
	*sure = said != TRAMP_LENGTH_DIFFERS || s->tracee;
	return status;
}

/* Reads the file; @v[i].facts.addr is given, ascending. */
static enum inj_status plan_all(struct inj_session *s, struct inj_object *o, struct inj_known_plan *v, size_t n)
{
	struct inj_code_source source = {
		.path = o->path, .identity = &o->identity, .symbols = inj_object_symbols(o),
		.cache_dir = s->opt.cache_dir, .threads = s->opt.threads,
	};
	struct inj_facts *facts = calloc(n + 1, sizeof(*facts));
	struct inj_elf file = { 0 };
	enum inj_status status = facts ? INJ_OK : INJ_MEMORY;
	bool sure;

	source.file = &file;
	if (status == INJ_OK)
		status = source.symbols ? inj_elf_open(o->path, &file) : INJ_NO_FILE;
	if (status == INJ_OK) {
		inj_identity_of(&file, &o->identity);
		for (size_t i = 0; i < n; i++)
			facts[i].addr = v[i].facts.addr;
		status = inj_analyze(&source, facts, n);
	}
	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		v[i].facts = facts[i];
		status = plan_in_file(s, &file, &v[i], &sure);
		if (status == INJ_OK && sure)
			inj_known_keep_plan(o->known, &v[i]);
	}
	inj_elf_close(&file);
	free(facts);
	return status;
}

static bool all_known(struct inj_object *o, struct inj_known_plan *v, size_t n)
{
	struct inj_known *known = inj_object_known(o);
	size_t i = 0;

	while (i < n && known && inj_known_plan(known, v[i].facts.addr, &v[i]))
		i++;
	return i == n && inj_known_identity(known, o->path, &o->identity);
}

/* Where it is in this process. */
static void place(struct inj_job *job, const struct inj_known_plan *p, uint64_t base)
{
	job->plan = p->plan;
	job->plan.addr += base;
	job->plan.patch_addr += base;
	job->plan.resume += base;
	job->size = p->facts.size <= MAX_CODE ? p->facts.size : 0;
	job->avail = p->facts.avail < job->size + UNSIZED ? p->facts.avail : job->size + UNSIZED;
	job->lo = job->addr;
	job->hi = job->addr + job->avail;
	job->keep = p->facts.keep;
}

/* One that cannot be read is not as it should be, either. */
static void compare_with_memory(struct inj_session *s, struct inj_job *jobs, const struct inj_known_plan *v, size_t n)
{
	uint8_t (*now)[TRAMP_DISPLACED_MAX] = calloc(n + 1, sizeof(*now));
	struct inj_span *spans = calloc(n + 1, sizeof(*spans));
	bool read = now && spans;

	for (size_t i = 0; i < n && read; i++)
		spans[i] = (struct inj_span){ jobs[i].addr, now[i], v[i].ncode };
	read = read && inj_read_spans(s->target, spans, n) == INJ_OK;
	for (size_t i = 0; i < n; i++) {
		uint8_t one[TRAMP_DISPLACED_MAX];
		bool same = read ? memcmp(now[i], v[i].code, v[i].ncode) == 0 :
				   inj_read_some(s->target, jobs[i].addr, one, v[i].ncode) == v[i].ncode &&
					   memcmp(one, v[i].code, v[i].ncode) == 0;

		if (!v[i].refused && !same)
			refuse(s, &jobs[i], "the code in memory is not that of the file");
	}
	free(now);
	free(spans);
}

/*
 * A thread of a process that runs may be about to come to the bytes of the jump other than by the function's entry: from the
 * rest of a loop, or by returning from a call.  NULL: it cannot.
 */
static const char *entered_while_it_runs(const struct tramp_plan *plan)
{
	for (uint8_t i = 0; i < plan->ninsns; i++) {
		const struct tramp_insn *insn = &plan->insns[i];
		int64_t end = insn->offset + insn->length;

		if (tramp_op_jumps(insn->kind) && end + insn->rel > 0 && end + insn->rel < plan->patch_len)
			return "it begins with a loop that a thread may be in";
		if (tramp_op_calls(insn->kind) && end < plan->patch_len)
			return "it begins with a call that a thread may be in";
	}
	return NULL;
}

/* @jobs: those of one object, ascending by address. */
static enum inj_status plan_object(struct inj_session *s, struct inj_job *jobs, size_t n)
{
	struct inj_object *o = &s->objects[object_of(s, jobs)];
	struct inj_known_plan *v = calloc(n + 1, sizeof(*v));
	enum inj_status status = INJ_OK;

	if (!v)
		return INJ_MEMORY;
	for (size_t i = 0; i < n; i++) {
		jobs[i].addr = s->wraps[jobs[i].wraps[0]].addr;
		v[i].facts.addr = jobs[i].addr - o->base;
	}
	if (!all_known(o, v, n))
		status = plan_all(s, o, v, n);
	for (size_t i = 0; status == INJ_OK && i < n; i++) {
		place(&jobs[i], &v[i], o->base);
		if (!v[i].refused && s->attach.active)
			v[i].refused = entered_while_it_runs(&v[i].plan);
		if (v[i].refused)
			refuse(s, &jobs[i], v[i].refused);
	}
	if (status == INJ_OK)
		compare_with_memory(s, jobs, v, n);
	for (size_t i = 0; status == INJ_NO_FILE && i < n; i++)
		refuse(s, &jobs[i], "the file that it is in cannot be read");
	free(v);
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
