// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/pages.h"
#include "injector/mirror/ahead.h"
#include "injector/mirror/first.h"
#include "injector/mirror/mirrors.h"
#include "injector/mirror/probeenv.h"
#include "injector/mirror/weights.h"
#include "injector/patch/session.h"
#include "tracefmt/ring.h"

/* A function's, at most: it is entered, it returns, it is left by a jump. */
#define EVENTS 3

/* What a function takes of the heap until all are instrumented, in bytes: as a stub, its events, its accesses.  That much has been seen. */
#define STUB_HEAP 300
#define EVENTS_HEAP (4 << 10)
#define MEMORY_HEAP (16 << 10)

const char *inj_recorded_reason(const struct inj_recorded *r)
{
	static const char *const text[] = {
		[INJ_RECORDED_OK] = "instrumented",
		[INJ_RECORDED_WRAPPED] = "a module wraps it",
		[INJ_RECORDED_NEVER] = "does not return like other functions",
		[INJ_RECORDED_GO] = "Go moves it between threads, and its stacks",
		[INJ_RECORDED_OURS] = "Sonde needs it for itself",
		[INJ_RECORDED_CHANGED] = "the code in memory is not that of the file",
		[INJ_RECORDED_NO_ROOM] = "no room for its copy within reach",
		[INJ_RECORDED_TOO_MANY] = "too many functions",
		[INJ_RECORDED_DAMAGED] = "what was kept of its code in the cache folder was damaged; the next recording has it",
		[INJ_RECORDED_BUSY] = "a thread was within the bytes that lead to its copy",
	};

	if (r->state == INJ_RECORDED_REFUSED)
		return tramp_mirror_text((enum tramp_mirror_status)r->refused);
	return text[r->state];
}

/* ---- one function ---- */

static struct inj_recorded *add_recorded(struct inj_mirrors *m)
{
	if (!array_room(m->v, m->room, m->n + 1))
		return NULL;
	memset(&m->v[m->n], 0, sizeof(*m->v));
	return &m->v[m->n++];
}

static enum inj_status add_edits(struct inj_work *w, const struct tramp_mirror_code *out, uint64_t base,
				 uint32_t owner)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < out->npatches && status == INJ_OK; i++) {
		const struct tramp_patch *p = &out->patches[i];
		struct inj_edit e = { .addr = base + p->off, .object = (uint32_t)w->object, .owner = owner,
				      .len = p->len };

		memcpy(e.bytes, p->bytes, p->len);
		memcpy(e.was, p->was, p->len);
		status = inj_edits_add(&w->edits, &e);
	}
	return status;
}

static bool is_wrapped(const struct inj_session *s, size_t object, uint64_t addr)
{
	uint64_t at = s->objects[object].base + addr;

	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].addr == at && (s->wraps[i].state == INJ_WRAP_ACTIVE ||
					       s->wraps[i].state == INJ_WRAP_PENDING))
			return true;
	return false;
}

/* Places that we patch for our own ends: the linker's notification function, exit() in static programs. */
static bool is_ours(const struct inj_work *w, const struct tramp_fn *fn)
{
	const struct inj_session *s = w->s;
	const struct inj_codefacts *facts = s->objects[w->object].facts;
	uint64_t at = s->objects[w->object].base + fn->addr;

	for (size_t i = 0; i < w->npatched; i++)
		if (w->patched[i] - at < fn->size)
			return true;
	for (size_t i = 0; i < facts->nsigaction; i++)
		if (facts->sigaction[i] - fn->addr < fn->size)
			return true;
	return s->dl_debug_state - at < fn->size;
}

enum inj_recorded_state inj_work_allows(const struct inj_work *w, size_t i)
{
	const struct inj_codefacts *facts = w->s->objects[w->object].facts;
	const struct tramp_fn *fn = &facts->facts.fns[i];
	const struct inj_mirrors *m = &w->s->mirrors;
	const struct inj_mirror_options *opt = &w->s->opt.mirror;

	if (is_wrapped(w->s, w->object, fn->addr))
		return INJ_RECORDED_WRAPPED;
	if (facts->fn[i].flags & INJ_FN_NEVER)
		return INJ_RECORDED_NEVER;
	if (facts->fn[i].flags & INJ_FN_GO)
		return INJ_RECORDED_GO;
	if (is_ours(w, fn))
		return INJ_RECORDED_OURS;
	if (w->s->next_event + EVENTS > SONDE_MAX_EVENTS ||
	    (opt->max_functions && m->next_index >= opt->max_functions))
		return INJ_RECORDED_TOO_MANY;
	return INJ_RECORDED_OK;
}

static enum inj_status refuse(struct inj_recorded *r, enum tramp_mirror_status said)
{
	if (said == TRAMP_MIRROR_MEMORY)
		return INJ_MEMORY;
	r->state = said == TRAMP_MIRROR_FAR ? INJ_RECORDED_NO_ROOM : INJ_RECORDED_REFUSED;
	r->refused = (uint8_t)said;
	return INJ_OK;
}

static enum inj_status describe(struct inj_work *w, const struct tramp_mirror *mirror)
{
	struct tramp_mem_description f;
	enum inj_status status;

	tramp_mirror_description(mirror, &f);
	status = inj_described_add(w->s, &w->described, &f);
	return status == INJ_OK ? inj_places_add(&w->places, tramp_mirror_flow(mirror)) : status;
}

static void note_span(struct inj_recorded *r, const struct tramp_mirror_code *out, uint64_t object)
{
	r->orig_lo = UINT64_MAX;
	r->orig_hi = 0;
	for (size_t i = 0; i < out->npieces; i++) {
		uint64_t end = i + 1 < out->npieces ? out->pieces[i + 1].start : out->len;
		uint64_t lo = object + out->pieces[i].orig, hi = lo + (end - out->pieces[i].start);

		r->orig_lo = lo < r->orig_lo ? lo : r->orig_lo;
		r->orig_hi = hi > r->orig_hi ? hi : r->orig_hi;
	}
}

static enum inj_status emit(struct inj_work *w, struct tramp_mirror *mirror, uint32_t owner)
{
	struct inj_recorded *r = &w->s->mirrors.v[owner];
	struct inj_chunk *c = &w->chunk;
	uint64_t base = tramp_code_base(w->code) + w->s->objects[w->object].base;
	struct tramp_mirror_code out;
	enum tramp_mirror_status said;
	enum inj_status status = inj_chunk_room(w->s, c, tramp_mirror_room(mirror));

	if (status == INJ_NO_ROOM) {
		r->state = INJ_RECORDED_NO_ROOM;
		return INJ_OK;
	}
	if (status != INJ_OK)
		return status;
	said = tramp_mirror_emit(mirror, base, c->addr + c->used, c->mem + c->used,
				 c->len - c->used, &out);
	if (said != TRAMP_MIRROR_OK)
		return refuse(r, said);
	r->mirror = c->addr + c->used;
	r->mirror_len = (uint32_t)out.len;
	note_span(r, &out, c->object);
	status = inj_chunk_add(c, &out);
	if (status == INJ_NO_ROOM) {
		r->state = INJ_RECORDED_NO_ROOM;
		return INJ_OK;
	}
	if (status == INJ_OK)
		status = add_edits(w, &out, base, owner);
	if (status == INJ_OK)
		status = inj_calls_note(&w->calls, &out, base, w->s->objects[w->object].base, owner);
	return status;
}

struct inj_recorded *inj_work_note(struct inj_work *w, size_t fn)
{
	const struct inj_codefacts *facts = w->s->objects[w->object].facts;
	struct inj_recorded *r = add_recorded(&w->s->mirrors);

	if (!r)
		return NULL;
	r->name = facts->fn[fn].name;
	r->object = w->object;
	r->file_addr = facts->facts.fns[fn].addr;
	r->size = (uint32_t)facts->facts.fns[fn].size;
	return r;
}

enum inj_status inj_work_function(struct inj_work *w, const struct inj_planned *p, struct tramp_mirror *mirror,
				  enum tramp_mirror_status said)
{
	bool events = p->want & TRAMP_MIRROR_ENTRY;
	struct inj_mirrors *m = &w->s->mirrors;
	struct inj_recorded *r = inj_work_note(w, p->fn);
	enum inj_status status;

	if (!r)
		return INJ_MEMORY;
	r->state = (uint8_t)inj_work_allows(w, p->fn);
	if (r->state != INJ_RECORDED_OK)
		return INJ_OK;
	if (said != TRAMP_MIRROR_OK && said != TRAMP_MIRROR_NEVER_LEAVES)
		return refuse(r, said);
	r->enter = events ? w->s->next_event : 0;
	r->leave = events ? w->s->next_event + 1 : 0;
	if (w->s->opt.mirror.mode == TRAMP_PROBE_BLOCKS && m->next_index < RING_GONE_COUNTS)
		m->next_index = RING_GONE_COUNTS;
	r->index = m->next_index;
	r->counters = tramp_mirror_counters(mirror);
	r->memory = p->want & TRAMP_MIRROR_ACCESSES && !r->counters;
	if (r->counters && m->next_index + r->counters > w->s->opt.mirror.max_functions) {
		r->state = INJ_RECORDED_TOO_MANY;
		return INJ_OK;
	}
	if (events && w->s->opt.mirror.values)
		r->values = w->s->opt.mirror.values(w->s->opt.mirror.arg, &w->s->objects[w->object], r->file_addr, r->name);
	tramp_mirror_values(mirror, r->values ? &r->values->entered : NULL,
			    r->values && r->values->returned.n ? &r->values->returned : NULL);
	tramp_mirror_number(mirror, r->enter, r->leave, r->index, m->next_node + 1);
	status = emit(w, mirror, (uint32_t)(r - m->v));
	if (status != INJ_OK || r->state != INJ_RECORDED_OK)
		return status;
	if (events) {
		w->s->next_event += r->values && r->values->returned.n ? 3 : 2;
		m->next_index++;
	}
	if (!inj_weights_keep(m, r, tramp_mirror_weights(mirror)))
		return INJ_MEMORY;
	m->next_index += r->counters;
	return r->memory ? describe(w, mirror) : INJ_OK;
}

/* ---- one object ---- */

/* False: it cannot be read, or has none. */
static bool read_code(const struct inj_session *s, struct inj_object *o)
{
	if (!o->kept && inj_object_known(o))
		o->kept = inj_object_code(s, o, s->opt.threads);
	if (!o->kept)
		return false;
	o->facts = &o->kept->facts;
	o->identity = o->kept->identity;
	inj_object_hold(o);
	return true;
}

static struct tramp_probe_env probe_env(const struct inj_session *s)
{
	struct tramp_probe_env env = inj_probe_env(s->opt.mirror.mode,
						   s->config.control + offsetof(struct ring_control, off));

	if (!s->opt.mirror.max_functions)
		env.counts = 0;
	if (s->opt.mirror.mode == TRAMP_PROBE_BLOCKS)
		env.owner = RT_POOL_TCB;
	env.under = s->opt.mirror.under ? RT_POOL_UNDER : 0;
	env.choices = s->config.control + RING_FIRST;
	env.depth = s->opt.mirror.depth != 0;
	env.calls = s->opt.mirror.calls;
	env.gate = s->rt_probe_gate;
	return env;
}

struct tramp_mem_env inj_work_memory(const struct inj_session *s)
{
	return (struct tramp_mem_env){
		.id = TRAMP_ID_FS_ZERO,
		.owner = RT_POOL_TCB,
		.ptr = RT_POOL_MEM_PTR,
		.limit = RT_POOL_MEM_LIMIT,
		.park = RT_POOL_MEM_PARK,
		.slot = { RT_POOL_MEM_SLOT, RT_POOL_MEM_SLOT + 8, RT_POOL_MEM_SLOT + 16 },
		.gate = s->rt_mem_gate,
		.slack = INJ_MEM_SLACK,
		.stack = s->opt.mirror.memory.stack,
		.blocks = s->opt.mirror.memory.blocks,
		.fetches = s->opt.mirror.memory.fetches,
		.times = s->opt.mirror.memory.times,
		.rungs = s->opt.mirror.memory.rungs,
		.sampled = s->opt.mirror.memory.sampled,
		.off = RT_POOL_MEM_OFF,
		.count = s->opt.mirror.memory.count,
		.left = RT_POOL_MEM_LEFT,
	};
}

static uint8_t acts_of(const struct inj_marks *marks, size_t i)
{
	uint8_t acts = 0;

	for (int act = 0; act < RT_ACTS; act++)
		acts |= marks->acts[act][i] ? (uint8_t)RT_ACT(act) : 0;
	return acts;
}

static uint32_t want_of(const struct inj_mirror_options *opt, const struct inj_marks *marks, size_t i)
{
	uint8_t acts = acts_of(marks, i);
	bool events = marks->events[i] || acts;
	uint32_t want = events ? TRAMP_MIRROR_ENTRY : 0;

	if (events && (opt->mode != TRAMP_PROBE_COUNT || acts & RT_ACT(RT_ACT_UNDER)))
		want |= TRAMP_MIRROR_EXIT;
	if (events && !marks->memory[i] && opt->mode == TRAMP_PROBE_CHOSEN)
		want |= TRAMP_MIRROR_AHEAD;
	if (marks->blocks[i])
		return TRAMP_MIRROR_BLOCKS | (opt->trips ? TRAMP_MIRROR_TRIPS : 0);
	if (marks->memory[i] && opt->memory.counted)
		want |= TRAMP_MIRROR_BLOCKS;
	return marks->memory[i] ? want | TRAMP_MIRROR_ACCESSES : want;
}

static bool new_marks(struct inj_marks *m, size_t n)
{
	bool *all = calloc((3 + RT_ACTS) * n + 1, sizeof(*all));

	if (!all)
		return false;
	*m = (struct inj_marks){ .events = all, .memory = all + n, .blocks = all + 2 * n };
	for (size_t act = 0; act < RT_ACTS; act++)
		m->acts[act] = all + (3 + act) * n;
	return true;
}

/* Those that are wanted; parts go with their function.  NULL: no memory. */
static struct inj_planned *list_functions(const struct inj_work *w, size_t *n)
{
	const struct inj_mirror_options *opt = &w->s->opt.mirror;
	struct inj_object *o = &w->s->objects[w->object];
	const struct tramp_facts *facts = &o->facts->facts;
	struct inj_planned *fns = calloc(facts->nfns + 1, sizeof(*fns));
	struct inj_marks marks;
	bool done;

	*n = 0;
	if (!fns || !new_marks(&marks, facts->nfns)) {
		free(fns);
		return NULL;
	}
	w->s->mirrors.code += o->facts->code;
	w->s->mirrors.uncovered += o->facts->uncovered;
	w->s->mirrors.guessed += o->facts->guessed;
	done = opt->mark(opt->arg, o, &marks);
	for (size_t i = 0; i < facts->nfns && done; i++) {
		uint32_t want = want_of(opt, &marks, i);

		if (want && tramp_code_owner(w->code, (uint32_t)i) == i)
			fns[(*n)++] = (struct inj_planned){ .fn = (uint32_t)i, .want = want, .acts = acts_of(&marks, i) };
	}
	free(marks.events);
	if (done)
		return fns;
	free(fns);
	return NULL;
}

/* @share: of the object. */
static void say_progress(const struct inj_session *s, size_t object, double share)
{
	const struct inj_mirror_options *opt = &s->opt.mirror;

	if (opt->progress)
		opt->progress(opt->arg, INJ_AHEAD_SHARE +
						(1 - INJ_AHEAD_SHARE) * ((double)object + share) / (double)s->nobjects);
}

static enum inj_status mirror_list(struct inj_work *w, const struct tramp_probe_env *env,
				   const struct inj_planned *fns, size_t n)
{
	struct tramp_mem_env memory = inj_work_memory(w->s);
	struct inj_planners *p = inj_planners_new(w->code, env, &memory, w->mirror, fns, n);
	enum inj_status status = p ? INJ_OK : INJ_MEMORY;

	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		enum tramp_mirror_status said;
		struct tramp_mirror *mirror = inj_planners_next(p, &said);

		status = inj_work_function(w, &fns[i], mirror, said);
		say_progress(w->s, w->object, (double)i / (double)n);
	}
	inj_planners_free(p);
	return status;
}

static enum inj_status leave_damaged(struct inj_work *w, const struct inj_planned *fns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct inj_recorded *r = inj_work_note(w, fns[i].fn);

		if (!r)
			return INJ_MEMORY;
		r->state = INJ_RECORDED_DAMAGED;
	}
	return INJ_OK;
}

static enum inj_status mirror_functions(struct inj_work *w, const struct tramp_probe_env *env)
{
	size_t n;
	struct inj_planned *fns = list_functions(w, &n);
	enum inj_status status;

	pages_make_heap(n * STUB_HEAP);
	status = fns ? inj_first_choose(w, fns, &n) : INJ_MEMORY;
	pages_make_heap(n * (w->s->opt.mirror.memory.enabled ? MEMORY_HEAP : EVENTS_HEAP));
	if (status == INJ_OK && n)
		status = inj_kept_check(w->s->objects[w->object].kept) ? mirror_list(w, env, fns, n) :
									   leave_damaged(w, fns, n);
	free(fns);
	if (status == INJ_OK)
		status = inj_described_keep(w->s, &w->described);
	if (status == INJ_OK)
		status = inj_places_keep(&w->s->mirrors, &w->places, w->code);
	return status == INJ_OK ? inj_chunk_close(w->s, &w->chunk) : status;
}

static enum inj_status mirror_code(struct inj_work *w, bool wanted)
{
	const struct inj_codefacts *facts = w->s->objects[w->object].facts;
	struct tramp_probe_env env = probe_env(w->s);
	enum inj_status status;

	w->described = (struct inj_described){ .object = w->object, .code_base = tramp_code_base(w->code) };
	w->places.object = w->object;
	if (!w->s->checker)
		w->s->checker = tramp_checker_new();
	w->mirror = w->s->checker ? tramp_mirror_new(w->code, &env, w->s->checker) : NULL;
	w->chunk.mirror = w->stubs.mirror = w->mirror;
	w->chunk.object = w->stubs.object = tramp_code_base(w->code) + w->s->objects[w->object].base;
	status = w->mirror ? INJ_OK : INJ_MEMORY;
	if (status == INJ_OK && wanted)
		status = mirror_functions(w, &env);
	if (status == INJ_OK && facts->nsigaction && !inj_kept_check(w->s->objects[w->object].kept))
		w->s->mirrors.unled += (uint32_t)facts->nsigaction;
	else if (status == INJ_OK)
		status = inj_mirror_sigactions(w->s, w->object, w->code, &w->edits);
	if (status == INJ_OK)
		status = inj_mirror_restorers(w->s, w->object, w->code, &w->edits);
	return status;
}

void inj_work_free(struct inj_work *w)
{
	inj_chunk_free(&w->chunk);
	inj_chunk_free(&w->stubs);
	free(w->described.nodes);
	free(w->described.ops);
	inj_places_free(&w->places);
	tramp_mirror_free(w->mirror);
	free(w->patched);
	inj_calls_free(&w->calls);
	inj_edits_free(&w->edits);
	inj_edits_free(&w->entries);
	free(w);
}

/* Most libraries' names do not contain it, which takes less to find out than to look at all of their symbols. */
static bool defines(const struct inj_elf_symbols *table, const char *name)
{
	if (!table->n || !memmem(table->names, table->names_len, name, strlen(name) + 1))
		return false;
	for (size_t i = 0; i < table->n; i++) {
		const Elf64_Sym sym = inj_elf_symbol(table, i);

		if (sym.st_shndx != SHN_UNDEF && strcmp(inj_elf_symbol_name(table, &sym), name) == 0)
			return true;
	}
	return false;
}

/* Libraries through which others set signal handlers, or that do not say what they are; the program itself may do so in its own way. */
static bool sets_handlers(const struct inj_object *o)
{
	struct inj_elf_symbols tables[2];
	struct inj_elf file;
	bool sets;

	if (o->is_main || !inj_elf_may_define(o->path, "sigaction") || inj_elf_open(o->path, &file) != INJ_OK)
		return o->is_main;
	tables[0] = inj_elf_dynsym(&file);
	tables[1] = inj_elf_symtab(&file);
	sets = (!tables[0].n && !tables[1].n) || defines(&tables[0], "sigaction") || defines(&tables[1], "sigaction");
	inj_elf_close(&file);
	return sets;
}

bool inj_mirrors_want(struct inj_session *s, const struct inj_object *o)
{
	return s->opt.mirror.enabled && !o->is_module && s->opt.mirror.want_object(s->opt.mirror.arg, o);
}

static void is_changed(void *arg, const struct inj_edit *e)
{
	struct inj_session *s = arg;

	if (e->owner == INJ_EDIT_NONE)
		return;
	if (e->owner & INJ_FIRST_OWNER)
		inj_first_changed(s, e->owner & ~INJ_FIRST_OWNER);
	else
		s->mirrors.v[e->owner].state = INJ_RECORDED_CHANGED;
}

static bool stays(const struct inj_mirrors *m, const struct inj_edit *e)
{
	if (e->owner == INJ_EDIT_NONE)
		return true;
	if (e->owner & INJ_FIRST_OWNER)
		return m->first[e->owner & ~INJ_FIRST_OWNER].state == INJ_FIRST_WAITS;
	return m->v[e->owner].state == INJ_RECORDED_OK;
}

/* Without what belongs to functions whose code is not what it is thought to be. */
static enum inj_status check_edits(struct inj_work *w)
{
	struct inj_mirrors *m = &w->s->mirrors;
	enum inj_status status;
	size_t kept = 0;

	inj_edits_sort(&w->edits);
	status = inj_edits_check(w->s->target, &w->edits, is_changed, w->s);
	for (size_t i = 0; i < w->edits.n; i++)
		if (stays(m, &w->edits.v[i]))
			w->edits.v[kept++] = w->edits.v[i];
	w->edits.n = kept;
	return status;
}

static enum inj_status apply_edits(struct inj_work *w)
{
	enum inj_status status = check_edits(w);

	if (status == INJ_OK)
		status = inj_calls_lead(w, &w->edits, INJ_SITE_STARTED);
	if (status == INJ_OK && w->s->attach.hold)
		return inj_edits_append(&w->s->attach.held, &w->edits);
	return status == INJ_OK ? inj_edits_apply(w->s->target, &w->s->edits, &w->edits) : status;
}

static bool note_edits(struct inj_work *w, const struct inj_edits *e, size_t n)
{
	uint64_t len = w->chunk.hi - w->chunk.lo;

	for (size_t i = 0; i < n; i++) {
		if (e->v[i].addr - w->chunk.lo >= len)
			continue;
		if (!array_room(w->patched, w->room_patched, w->npatched + 1))
			return false;
		w->patched[w->npatched++] = e->v[i].addr;
	}
	return true;
}

/* What is, and what is to be: of the @before edits that were there before those of all objects' functions. */
static enum inj_status note_patched(struct inj_work *w, size_t before)
{
	const struct inj_edits *held = &w->s->attach.held;

	return note_edits(w, &w->s->edits, before) && note_edits(w, held, held->n) ? INJ_OK : INJ_MEMORY;
}

/* What is loaded again is new, and what was copied for it before stays as it is: somebody may still be in there. */
static bool is_full(struct inj_session *s, const struct inj_object *o)
{
	struct inj_mirrors *m = &s->mirrors;

	if (m->nmaps < RT_MAX_CODEMAPS)
		return false;
	if (!m->full)
		s->opt.warn("%s and what is loaded after it is not recorded: there is no room for more copies of code; choose less with "
			    "-F, -N or --libs", o->file);
	m->full = true;
	return true;
}

static enum inj_status mirror_object(struct inj_session *s, size_t object, size_t before)
{
	struct inj_object *o = &s->objects[object];
	struct inj_work *w;
	bool wanted = inj_mirrors_want(s, o) && !is_full(s, o);
	enum inj_status status;

	if (!wanted && !sets_handlers(o))
		return INJ_OK;
	if (!read_code(s, o) || (!wanted && !o->facts->nsigaction))
		return INJ_OK;
	w = calloc(1, sizeof(*w));
	if (!w)
		return INJ_MEMORY;
	w->s = s;
	w->object = object;
	w->code = o->kept->code;
	w->chunk.lo = w->stubs.lo = o->base + o->facts->text_lo;
	w->chunk.hi = w->stubs.hi = o->base + o->facts->text_hi;
	status = note_patched(w, before);
	if (status == INJ_OK)
		status = mirror_code(w, wanted);
	if (status == INJ_OK)
		status = apply_edits(w);
	inj_kept_rest(o->kept);
	if (w->waits)
		return status == INJ_OK ? inj_first_begin(w) : status;
	inj_work_free(w);
	return status;
}

/* ---- all ---- */

static enum inj_status make_maps(struct inj_session *s)
{
	struct inj_mirrors *m = &s->mirrors;
	enum inj_status status;
	uint8_t *mem;

	if (m->maps)
		return INJ_OK;
	status = inj_code_alloc_pages(&s->code, s->target, sizeof(*m->maps), &m->maps_addr, &mem);
	if (status != INJ_OK)
		return status;
	m->maps = (struct rt_codemaps *)(void *)mem;
	s->config.codemaps = m->maps_addr;
	s->config.probe_mode = s->opt.mirror.mode;
	s->config.probe_depth = s->opt.mirror.depth;
	s->config.probe_calls = s->opt.mirror.calls;
	s->config.probe_time = s->opt.mirror.min_ticks;
	s->config.probe_under = s->opt.mirror.under;
	s->config.mem_slack = s->opt.mirror.memory.enabled ? INJ_MEM_SLACK : 0;
	s->config.parked = s->config.mem_slack || s->config.probe_mode == RT_PROBE_BLOCKS;
	return inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
}

enum inj_status inj_mirrors_instrument(struct inj_session *s)
{
	size_t before = s->edits.n;
	enum inj_status status;

	/* handlers must not find the guest's FS base */
	if (!s->opt.mirror.enabled && !s->config.guest_tcb)
		return INJ_OK;
	inj_maps_free(&s->code.maps); /* of before */
	status = make_maps(s);
	if (status == INJ_OK)
		inj_look_ahead(s);
	for (size_t i = 0; i < s->nobjects && status == INJ_OK; i++) {
		struct inj_object *o = &s->objects[i];

		if (o->mirrored || !o->path[0])
			continue;
		o->mirrored = true;
		say_progress(s, i, 0);
		status = mirror_object(s, i, before);
	}
	inj_maps_free(&s->code.maps);
	return status;
}

void inj_mirrors_free(struct inj_session *s)
{
	inj_first_free(s);
	for (size_t i = 0; i < s->mirrors.ndescribed; i++) {
		free(s->mirrors.described[i].nodes);
		free(s->mirrors.described[i].ops);
	}
	for (size_t i = 0; i < s->mirrors.nplaces; i++)
		inj_places_free(&s->mirrors.places[i]);
	free(s->mirrors.weights);
	free(s->mirrors.described);
	free(s->mirrors.places);
	free(s->mirrors.v);
	memset(&s->mirrors, 0, sizeof(s->mirrors));
}
