// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "injector/facts/analysis.h"
#include "injector/mirror/first.h"
#include "injector/mirror/probeenv.h"
#include "injector/patch/session.h"
#include "trampolines/mirror/first.h"

#define WORDS_BYTES (UINT64_C(1) << 20) /* that are mapped at once */
#define REACH ((UINT64_C(1) << 31) - (UINT64_C(1) << 24))
#define JUMP 0xe9
#define COMPARED 16 /* bytes of a copy by which it is known that a process has it mapped */
#define NEAR 512    /* bytes between edits that are written with them */
#define PAGE UINT64_C(4096)

#define MAX_EXPECTED 4096 /* functions; if none of them is called, the start takes a quarter of a second longer */
#define REST 64

/* Copies take so many times the original; reserved, and mostly never used. */
#define EVENTS_TIMES 4
#define MEMORY_TIMES 16

/* ---- memory for words ---- */

static bool is_near(uint64_t at, uint64_t bytes, uint64_t lo, uint64_t hi)
{
	return (at + bytes <= lo || at + bytes - lo < REACH) && (hi <= at || hi - at < REACH);
}

static enum inj_status map_words(struct inj_session *s, uint64_t lo, uint64_t hi, uint64_t bytes)
{
	struct inj_mirrors *m = &s->mirrors;
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(s->target->pid, &maps);
	uint64_t len = bytes > WORDS_BYTES ? (bytes + PAGE - 1) & ~(PAGE - 1) : WORDS_BYTES, at, got;

	if (status != INJ_OK)
		return status;
	at = inj_maps_gap(&maps, lo, hi, len);
	inj_maps_free(&maps);
	if (!at)
		return INJ_NO_ROOM;
	if (!array_room(m->words, m->room_words, m->nwords + 1))
		return INJ_MEMORY;
	status = inj_mmap(s->target, at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0,
			  &got);
	if (status != INJ_OK)
		return status;
	m->words[m->nwords++] = (struct inj_words){ .addr = got, .len = len };
	return INJ_OK;
}

static enum inj_status alloc_words(struct inj_session *s, uint64_t lo, uint64_t hi, uint64_t bytes, uint64_t *addr)
{
	struct inj_mirrors *m = &s->mirrors;
	enum inj_status status = INJ_OK;
	size_t i = 0;

	while (i < m->nwords &&
	       (m->words[i].len - m->words[i].used < bytes || !is_near(m->words[i].addr, m->words[i].len, lo, hi)))
		i++;
	if (i == m->nwords)
		status = map_words(s, lo, hi, bytes);
	if (status != INJ_OK)
		return status;
	*addr = m->words[i].addr + m->words[i].used;
	m->words[i].used += bytes;
	return INJ_OK;
}

/* ---- at the start ---- */

/* All else was looked at when its file was. */
static bool plan_entry(const struct inj_work *w, const struct tramp_fn *fn, struct tramp_plan *plan)
{
	struct tramp_function f = { .addr = w->s->objects[w->object].base + fn->addr, .size = fn->size, .avail = fn->size,
				    .scanned = true };
	size_t left;

	f.code = tramp_code_at(w->code, fn->addr, &left);
	return f.code && left >= fn->size && tramp_plan_entry(&f, plan) == TRAMP_OK &&
	       plan->patch_addr + TRAMP_JUMP_SIZE <= f.addr + f.size;
}

static enum inj_status add_entry(struct inj_work *w, const struct tramp_plan *plan, uint32_t index, uint64_t stub)
{
	struct inj_edit e = { .addr = plan->patch_addr, .object = (uint32_t)w->object };

	inj_edit_jump(&e, plan->original, stub);
	e.owner = index | INJ_FIRST_OWNER;
	return inj_edits_add(&w->edits, &e);
}

/* *@made: it waits. */
static enum inj_status make_stub(struct inj_work *w, const struct inj_planned *p, const struct tramp_plan *plan,
				 uint64_t words, bool *made)
{
	struct inj_mirrors *m = &w->s->mirrors;
	struct inj_chunk *c = &w->stubs;
	struct tramp_first f = { .gate = words, .index = (uint32_t)m->nfirst };
	struct tramp_mirror_code code = { 0 };
	struct tramp_first_code out;
	enum inj_status status = inj_chunk_room(w->s, c, TRAMP_FIRST_MAX);
	uint64_t stub = c->addr + c->used;

	f.word = words + 8 * (1 + w->nfirst);
	*made = false;
	if (status != INJ_OK || !array_room(m->first, m->room_first, m->nfirst + 1))
		return status == INJ_NO_ROOM ? INJ_OK : status == INJ_OK ? INJ_MEMORY : status;
	if (tramp_emit_first(&f, plan, c->object, stub, c->mem + c->used, &out) != TRAMP_OK)
		return INJ_OK;
	code.len = out.len;
	code.pieces = out.pieces;
	code.npieces = out.npieces;
	status = inj_chunk_add(c, &code);
	if (status == INJ_OK)
		status = add_entry(w, plan, f.index, stub);
	if (status != INJ_OK)
		return status;
	m->first[m->nfirst++] = (struct inj_first){
		.work = w, .planned = *p, .addr = tramp_code_facts(w->code)->fns[p->fn].addr, .entry = plan->patch_addr,
		.stub = stub, .word = f.word,
	};
	w->nfirst++;
	m->nwaiting++;
	*made = true;
	return INJ_OK;
}

static enum inj_status write_words(struct inj_work *w, uint64_t words)
{
	uint64_t *v = calloc(w->nfirst + 1, sizeof(*v));
	enum inj_status status;

	if (!v)
		return INJ_MEMORY;
	v[0] = w->s->rt_first;
	for (size_t i = 0; i < w->nfirst; i++)
		v[1 + i] = w->s->mirrors.first[w->first + i].stub + RT_FIRST_ASK;
	status = inj_write(w->s->target, words, v, (w->nfirst + 1) * sizeof(*v));
	free(v);
	return status;
}

/* Who asks IFUNCs, or lets a static program run to main(), is ourselves, while nobody answers. */
static bool can_wait(const struct inj_work *w)
{
	const struct inj_session *s = w->s;

	if (!s->opt.mirror.first || s->attach.active || s->opt.for_perf || s->opt.know_all || s->no_linker_stop ||
	    s->objects[w->object].is_linker || (s->opt.is_static && s->nmodules))
		return false;
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].ifunc)
			return false;
	return true;
}

/*
 * Was it called in earlier recordings of the program?  To do many at the start takes less than half of what it takes to have
 * them asked for one by one.  One in REST waits all the same, by turns, so that what is not called any more is forgotten.
 */
static bool is_expected(struct inj_work *w, uint32_t fn)
{
	struct inj_mirrors *m = &w->s->mirrors;
	uint32_t counters = w->s->opt.mirror.max_functions; /* which are for those that are called */
	bool expected = w->called && m->nexpected < MAX_EXPECTED && (!counters || m->next_index < counters / 2) &&
			inj_called_before(w->called, fn) && (fn + m->turn) % REST;

	m->nexpected += expected;
	return expected;
}

static bool may_wait(struct inj_work *w, const struct inj_planned *p, struct tramp_plan *plan)
{
	const struct inj_kept *kept = w->s->objects[w->object].kept;
	const struct inj_codefacts *facts = &kept->facts;

	/* what switches recording is to do so whoever is not there */
	return !p->acts && kept->waits[p->fn] && inj_work_allows(w, p->fn) == INJ_RECORDED_OK &&
	       !(facts->fn[p->fn].flags & INJ_FN_IFUNC_RESOLVER) && plan_entry(w, &facts->facts.fns[p->fn], plan);
}

static enum inj_status choose(struct inj_work *w, struct inj_planned *fns, size_t *n, uint64_t words)
{
	enum inj_status status = INJ_OK;
	struct tramp_plan plan;
	size_t kept = 0;

	w->first = w->s->mirrors.nfirst;
	for (size_t i = 0; i < *n && status == INJ_OK; i++) {
		bool made = false;

		if (may_wait(w, &fns[i], &plan) && !is_expected(w, fns[i].fn))
			status = make_stub(w, &fns[i], &plan, words, &made);
		if (!made)
			fns[kept++] = fns[i];
	}
	*n = kept;
	return status == INJ_OK ? write_words(w, words) : status;
}

/* Where the kernel does not know that, threads do without. */
static void register_barriers(struct inj_session *s)
{
	int64_t ignored;

	(void)!inj_syscall(s->target, SYS_membarrier,
			   (const uint64_t[6]){ MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE }, &ignored);
	(void)!inj_syscall(s->target, SYS_membarrier, (const uint64_t[6]){ MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED },
			   &ignored);
}

static void read_called(struct inj_work *w)
{
	const struct inj_session_options *opt = &w->s->opt;
	const struct inj_kept *kept = w->s->objects[w->object].kept;
	struct inj_mirrors *m = &w->s->mirrors;

	if (!m->called) {
		m->called = inj_called_open(opt->cache_dir, opt->elf_path);
		m->turn = (uint32_t)clock_now_ns();
	}
	w->called = inj_called_of(m->called, inj_kept_key(kept), (uint32_t)kept->facts.facts.nfns);
}

/* For the next recording: of those that waited. */
static void note_called(const struct inj_work *w)
{
	const struct inj_first *v = w->s->mirrors.first + w->first;

	for (size_t i = 0; w->called && i < w->nfirst; i++)
		inj_called_note(w->called, v[i].planned.fn, v[i].state != INJ_FIRST_WAITS);
}

enum inj_status inj_first_choose(struct inj_work *w, struct inj_planned *fns, size_t *n)
{
	struct inj_mirrors *m = &w->s->mirrors;
	bool whole = w->s->opt.mirror.memory.enabled || w->s->opt.mirror.mode == TRAMP_PROBE_BLOCKS;
	uint64_t times = whole ? MEMORY_TIMES : EVENTS_TIMES, words;
	enum inj_status status;

	if (!*n || !can_wait(w))
		return INJ_OK;
	status = inj_code_reserve(&w->s->code, w->s->target, w->chunk.lo, w->chunk.hi,
				  times * (w->chunk.hi - w->chunk.lo) + WORDS_BYTES);
	if (status == INJ_OK)
		status = alloc_words(w->s, w->chunk.lo, w->chunk.hi, 8 * (*n + 1), &words);
	if (status != INJ_OK)
		return status == INJ_NO_ROOM || status == INJ_REMOTE ? INJ_OK : status;
	if (!array_room(m->works, m->room_works, m->nworks + 1))
		return INJ_MEMORY;
	read_called(w);
	if (!m->nworks)
		register_barriers(w->s);
	m->works[m->nworks++] = w;
	w->waits = true;
	status = choose(w, fns, n, words);
	return status == INJ_OK ? inj_chunk_close(w->s, &w->stubs) : status;
}

void inj_first_changed(struct inj_session *s, uint32_t owner)
{
	struct inj_first *f = &s->mirrors.first[owner];
	struct inj_recorded *r;

	if (f->state != INJ_FIRST_WAITS)
		return;
	f->state = INJ_FIRST_LEFT;
	s->mirrors.nwaiting--;
	r = inj_work_note(f->work, f->planned.fn);
	if (r)
		r->state = INJ_RECORDED_CHANGED;
}

/* Of all those at the start, a few are left. */
enum inj_status inj_first_begin(struct inj_work *w)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < w->edits.n && status == INJ_OK; i++)
		if (!(w->edits.v[i].owner & INJ_FIRST_OWNER))
			status = inj_edits_add(&w->entries, &w->edits.v[i]);
	inj_edits_free(&w->edits);
	inj_calls_free(&w->calls);
	return status;
}

const struct inj_first *inj_first_at(const struct inj_work *w, uint64_t addr)
{
	const struct inj_first *v = w->s->mirrors.first + w->first;
	uint64_t at = addr - w->s->objects[w->object].base;
	size_t i = search_first(i, w->nfirst, v[i].addr >= at);

	return w->waits && i < w->nfirst && v[i].addr == at && (v[i].state != INJ_FIRST_LEFT || v[i].copy) ? &v[i] :
															NULL;
}

/* ---- the first call ---- */

/* The generator that kept the shapes of probes now plans, too. */
static void make_ready(struct inj_work *w)
{
	struct tramp_mem_env memory = inj_work_memory(w->s);

	if (w->ready)
		return;
	w->damaged = !inj_kept_check(w->s->objects[w->object].kept);
	tramp_mirror_memory(w->mirror, &memory, 0);
	w->chunk.shown = true;
	w->ready = true;
}

static bool touches(const struct inj_edit *e, uint64_t entry)
{
	return e->addr < entry + TRAMP_JUMP_SIZE && entry < e->addr + e->len;
}

static uint64_t jumps_to(const struct inj_edit *e)
{
	int32_t rel;

	memcpy(&rel, e->bytes + 1, sizeof(rel));
	return e->addr + TRAMP_JUMP_SIZE + (uint64_t)(int64_t)rel;
}

/* The entry's window becomes what its word says.  False: something else of the copy's stands there. */
static bool take_entry(struct inj_first *f, struct inj_edits *edits)
{
	size_t kept = 0;

	f->copy = f->stub + RT_FIRST_REPLAY;
	for (size_t i = 0; i < edits->n; i++) {
		const struct inj_edit *e = &edits->v[i];

		if (e->addr == f->entry && e->len == TRAMP_JUMP_SIZE && e->bytes[0] == JUMP)
			f->copy = jumps_to(e);
		else if (touches(e, f->entry))
			return false;
		else
			edits->v[kept++] = *e;
	}
	edits->n = kept;
	return true;
}

static size_t undo_bytes(const struct inj_edits *edits)
{
	size_t bytes = sizeof(struct rt_first_undo);

	for (size_t i = 0; i < edits->n; i++)
		bytes += sizeof(struct rt_first_undo) + 2 * edits->v[i].len;
	return bytes;
}

/* For threads that cannot be told any more whether all of the body has been written. */
static enum inj_status tell_undo(struct inj_session *s, const struct inj_first *f)
{
	uint64_t addr, *desc = inj_code_at(&s->code, f->stub + RT_FIRST_DESC + offsetof(struct rt_first_desc, undo));
	uint8_t *at = NULL;
	enum inj_status status = inj_code_alloc(&s->code, s->target, 0, 0, undo_bytes(&f->edits), &addr, &at);

	if (status != INJ_OK || !f->edits.n)
		return status;
	for (size_t i = 0; i < f->edits.n; i++) {
		const struct inj_edit *e = &f->edits.v[i];
		struct rt_first_undo *u = (struct rt_first_undo *)at;

		u->addr = e->addr;
		u->len = e->len;
		memcpy(u->bytes, e->was, e->len);
		memcpy(u->bytes + e->len, e->bytes, e->len);
		at += sizeof(*u) + 2 * e->len;
	}
	((struct rt_first_undo *)at)->len = 0;
	__atomic_store_n(desc, addr, __ATOMIC_RELEASE);
	return INJ_OK;
}

static enum inj_status take_edits(struct inj_work *w, struct inj_first *f, struct inj_recorded *r)
{
	enum inj_status status;

	inj_edits_sort(&w->edits);
	if (!take_entry(f, &w->edits)) {
		r->state = INJ_RECORDED_REFUSED;
		r->refused = TRAMP_MIRROR_ENTRY_SHORT;
		return INJ_OK;
	}
	f->sites = (uint32_t)w->s->mirrors.nsites;
	status = inj_calls_lead(w, &w->edits, (uint32_t)(f - w->s->mirrors.first));
	f->nsites = (uint32_t)w->s->mirrors.nsites - f->sites;
	f->edits = w->edits;
	w->edits = (struct inj_edits){ 0 };
	f->len = r->mirror_len < COMPARED ? (uint8_t)r->mirror_len : COMPARED;
	if (status == INJ_OK)
		status = tell_undo(w->s, f);
	if (status == INJ_NO_ROOM)
		r->state = INJ_RECORDED_NO_ROOM;
	return status == INJ_NO_ROOM ? INJ_OK : status;
}

static enum inj_status leave_damaged(struct inj_work *w, struct inj_first *f)
{
	struct inj_recorded *r = inj_work_note(w, f->planned.fn);

	f->state = INJ_FIRST_LEFT;
	w->s->mirrors.nwaiting--;
	if (!r)
		return INJ_MEMORY;
	r->state = INJ_RECORDED_DAMAGED;
	return INJ_OK;
}

static enum inj_status make_copy(struct inj_work *w, struct inj_first *f)
{
	struct inj_mirrors *m = &w->s->mirrors;
	struct tramp_mirror_request req = {
		.fn = f->planned.fn, .want = f->planned.want | TRAMP_MIRROR_LED, .acts = f->planned.acts,
	};
	enum tramp_mirror_status said;
	struct tramp_mirror_plan unused;
	enum inj_status status;
	struct inj_recorded *r;

	make_ready(w);
	m->news = true;
	if (w->damaged)
		return leave_damaged(w, f);
	said = tramp_mirror_plan(w->mirror, &req, &unused);
	status = inj_work_function(w, &f->planned, w->mirror, said);
	if (status != INJ_OK)
		return status;
	r = &m->v[m->n - 1];
	f->recorded = (uint32_t)(m->n - 1);
	if (r->state == INJ_RECORDED_OK)
		status = take_edits(w, f, r);
	f->state = status == INJ_OK && r->state == INJ_RECORDED_OK ? INJ_FIRST_COPIED : INJ_FIRST_LEFT;
	inj_edits_free(&w->edits);
	inj_calls_free(&w->calls);
	m->nwaiting--;
	return status;
}

/* Is it mapped there?  What was mapped after a child was forked is not. */
static bool has_copy(struct inj_session *s, struct inj_target *t, const struct inj_first *f)
{
	const void *ours = inj_code_at(&s->code, f->copy);
	uint8_t theirs[COMPARED];

	return ours && inj_read_some(t, f->copy, theirs, f->len) == f->len && memcmp(ours, theirs, f->len) == 0;
}

/* Edits [first, end) that are written at once, within a page. */
struct stretch {
	size_t first, end;
	uint64_t lo, hi;
};

static struct stretch stretch_from(const struct inj_edits *e, size_t first)
{
	struct stretch s = { first, first, e->v[first].addr, e->v[first].addr };

	do {
		s.hi = e->v[s.end].addr + e->v[s.end].len;
		s.end++;
	} while (s.end < e->n && e->v[s.end].addr - s.hi < NEAR &&
		 (e->v[s.end].addr + e->v[s.end].len - 1) / PAGE == s.lo / PAGE);
	return s;
}

/* Forked while another process of the program had this written, it may have some of it, byte by byte. */
static bool fits(const struct inj_edit *e, const uint8_t *bytes)
{
	for (size_t i = 0; i < e->len; i++)
		if (bytes[i] != e->was[i] && bytes[i] != e->bytes[i])
			return false;
	return true;
}

/* @check: is it what is to be written over?  Else writes it. */
static enum inj_status go_over(struct inj_target *t, const struct inj_edits *e, bool check, bool *good)
{
	uint8_t bytes[PAGE + INJ_EDIT_MAX];
	enum inj_status status = INJ_OK;
	struct stretch s;

	*good = true;
	for (size_t i = 0; i < e->n && status == INJ_OK && *good; i = s.end) {
		s = stretch_from(e, i);
		status = inj_read(t, s.lo, bytes, s.hi - s.lo);
		for (; i < s.end && status == INJ_OK; i++) {
			if (check)
				*good &= fits(&e->v[i], bytes + (e->v[i].addr - s.lo));
			memcpy(bytes + (e->v[i].addr - s.lo), e->v[i].bytes, e->v[i].len);
		}
		if (!check && status == INJ_OK)
			status = inj_write(t, s.lo, bytes, s.hi - s.lo);
	}
	return status;
}

static enum inj_status lead(struct inj_target *t, struct inj_first *f, bool (*begin)(void *arg), void *arg, uint64_t *to)
{
	enum inj_status status;
	uint64_t word;
	bool good;

	status = go_over(t, &f->edits, true, &good);
	if (status == INJ_OK && !good)
		return INJ_NO_ROOM;
	if (status != INJ_OK || !begin(arg))
		return status;
	status = inj_read(t, f->word, &word, sizeof(word));
	if (status == INJ_OK && word != f->stub + RT_FIRST_ASK)
		return INJ_NO_ROOM;
	if (status != INJ_OK)
		return status;
	status = go_over(t, &f->edits, false, &good);
	if (status == INJ_OK)
		*to = f->copy;
	return status;
}

enum inj_status inj_first_call(struct inj_session *s, struct inj_target *t, uint32_t index, bool alone,
			       bool (*begin)(void *arg), void *arg, uint64_t *to)
{
	struct inj_first *f;
	enum inj_status status = INJ_OK;

	*to = 0;
	if (index >= s->mirrors.nfirst)
		return INJ_OK;
	f = &s->mirrors.first[index];
	s->target = t;
	if (f->state == INJ_FIRST_WAITS && f->work)
		status = make_copy(f->work, f);
	if (status == INJ_OK && f->state != INJ_FIRST_LEFT)
		status = f->work && has_copy(s, t, f) ? lead(t, f, begin, arg, to) : INJ_NO_ROOM;
	/* what does not become straight goes by the stub */
	if (status == INJ_OK && *to && alone)
		(void)!inj_straighten(s, t, f);
	s->target = NULL;
	return status;
}

enum inj_status inj_first_keep(struct inj_session *s)
{
	struct inj_mirrors *m = &s->mirrors;
	enum inj_status status = INJ_OK;

	if (!m->news)
		return INJ_OK;
	m->news = false;
	for (size_t i = 0; i < m->nworks && status == INJ_OK; i++) {
		status = inj_described_keep(s, &m->works[i]->described);
		if (status == INJ_OK)
			status = inj_places_keep(m, &m->works[i]->places, m->works[i]->code);
	}
	return status;
}

static void forget(struct inj_mirrors *m, struct inj_work *w)
{
	note_called(w);
	for (size_t i = w->first; i < w->first + w->nfirst; i++) {
		m->first[i].work = NULL;
		inj_edits_free(&m->first[i].edits);
	}
	inj_work_free(w);
}

enum inj_status inj_first_forget(struct inj_session *s, size_t object)
{
	struct inj_mirrors *m = &s->mirrors;
	enum inj_status status = inj_first_keep(s);
	size_t kept = 0;

	inj_maps_free(&s->code.maps);
	for (size_t i = 0; i < m->nworks; i++)
		if (m->works[i]->object == object)
			forget(m, m->works[i]);
		else
			m->works[kept++] = m->works[i];
	m->nworks = kept;
	return status;
}

void inj_first_free(struct inj_session *s)
{
	struct inj_mirrors *m = &s->mirrors;

	for (size_t i = 0; i < m->nworks; i++)
		forget(m, m->works[i]);
	inj_called_close(m->called);
	free(m->first);
	free(m->sites);
	free(m->works);
	free(m->words);
}
