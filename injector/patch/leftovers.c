// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What stays in a process that was left while threads were within our code, as in what a wrapper has called.
 *
 *	ring_control.left ──▶ struct record, in code memory, which the process only reads
 *	                      edits that are still in place
 *
 * Who attaches next makes of the record a session that knows just enough to take the rest out.  If threads are still within it, the
 * new recording comes beside it: nothing there records any more, and its wrappers call functions where those begin.  The process could
 * have written there all the same: what a record says is checked against what is mapped.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "injector/patch/attach.h"
#include "injector/patch/within.h"
#include "tracefmt/ring.h"

#define PAGE UINT64_C(4096)
#define RECORD_MAGIC 0x7466656c65646e53ULL /* "Sndeleft" */
#define MAX_MODULES 64
#define MAX_EDITS 4096
#define MAX_POOLS (UINT64_C(1) << 24)

struct record {
	uint64_t magic;
	uint64_t bytes; /* of this struct: it is that of the Sonde that has written it */
	uint64_t shared[INJ_SHARED];
	int64_t segment;
	uint64_t pools, npools, nobody, pre_tls, spare;
	uint64_t runtime, runtime_bytes;
	uint64_t rt_handlers, rt_mapped, rt_thunks, rt_mem_restorer;
	uint64_t led; /* handlers of signals were */
	uint64_t nmodules;
	struct {
		uint64_t base, bytes;
	} modules[MAX_MODULES];
	uint64_t nedits;
	struct inj_edit edits[];
};

/* Of one recording. */
struct inj_leftovers {
	struct inj_leftovers *next;
	struct inj_session s;
	struct inj_ranges code;
	struct rt_mapped mapped;
};

/* ---- writing ---- */

static void add_edits(struct record *r, const struct inj_session *s, bool handlers)
{
	for (size_t i = 0; i < s->edits.n && r->nedits < MAX_EDITS; i++)
		if (s->edits.v[i].needed == INJ_EDIT_BY_WRAPPERS || (handlers && s->edits.v[i].needed == INJ_EDIT_BY_HANDLERS))
			r->edits[r->nedits++] = s->edits.v[i];
}

static void add_modules(struct record *r, const struct inj_session *s)
{
	for (size_t i = 0; i < s->nmodules && r->nmodules < MAX_MODULES; i++) {
		if (!s->modules[i].ours)
			continue;
		r->modules[r->nmodules].base = s->modules[i].base;
		r->modules[r->nmodules++].bytes = s->modules[i].image.size;
	}
}

static enum inj_status put_record(struct inj_session *s, struct inj_target *t, bool handlers, uint64_t *at)
{
	size_t room = s->edits.n < MAX_EDITS ? s->edits.n : MAX_EDITS;
	struct record *r = calloc(1, sizeof(*r) + room * sizeof(*r->edits));
	enum inj_status status;

	if (!r)
		return INJ_MEMORY;
	*r = (struct record){
		.magic = RECORD_MAGIC,
		.bytes = sizeof(*r),
		.segment = s->code.shm,
		.pools = s->config.pools,
		.npools = s->config.npools,
		.nobody = s->config.nobody,
		.pre_tls = s->config.pre_tls,
		.spare = s->spare,
		.runtime = s->runtime,
		.runtime_bytes = (s->runtime_image.size + PAGE - 1) & ~(PAGE - 1),
		.rt_handlers = s->rt_handlers,
		.rt_mapped = s->rt_mapped,
		.rt_thunks = s->rt_thunks,
		.rt_mem_restorer = s->rt_mem_restorer,
		.led = s->opt.mirror.enabled,
	};
	memcpy(r->shared, s->shared, sizeof(r->shared));
	add_modules(r, s);
	add_edits(r, s, handlers);
	status = inj_code_put(&s->code, t, r, sizeof(*r) + r->nedits * sizeof(*r->edits), at);
	free(r);
	return status;
}

enum inj_status inj_leftovers_note(struct inj_session *s, struct inj_target *t, bool handlers)
{
	const uint64_t flags_at = s->config.control + offsetof(struct ring_control, flags);
	const uint64_t left_at = s->config.control + offsetof(struct ring_control, left);
	uint64_t at = 0;
	uint32_t flags = 0;
	enum inj_status status = put_record(s, t, handlers, &at);

	if (status == INJ_OK || status == INJ_NO_ROOM)
		status = inj_write(t, left_at, &at, sizeof(at));
	if (status == INJ_OK)
		status = inj_read(t, flags_at, &flags, sizeof(flags));
	flags |= RING_LEFT;
	return status == INJ_OK ? inj_write(t, flags_at, &flags, sizeof(flags)) : status;
}

/* ---- reading ---- */

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_within(uint64_t addr, uint64_t bytes, uint64_t lo, uint64_t size)
{
	return bytes <= size && addr - lo <= size - bytes;
}

/* *at: where it was.  False: there is none. */
static bool read_record(struct inj_target *t, const struct inj_maps *maps, uint64_t control, struct record *r, uint64_t *at)
{
	struct ring_control c;
	const struct inj_map *m;

	if (inj_read(t, control, &c, sizeof(c)) != INJ_OK || c.magic != RING_MAGIC || !(c.flags & RING_LEFT))
		return false;
	*at = c.left;
	m = inj_maps_find(maps, c.left);
	return m && m->executable && !m->writable && (starts(m->path, "/memfd:sonde-code") || starts(m->path, "/SYSV")) &&
	       m->end - c.left >= sizeof(*r) && inj_read(t, c.left, r, sizeof(*r)) == INJ_OK && r->magic == RECORD_MAGIC &&
	       r->bytes == sizeof(*r) && r->nmodules <= MAX_MODULES && r->nedits <= MAX_EDITS;
}

static bool reads(struct inj_target *t, uint64_t addr, const uint8_t *bytes, size_t len)
{
	uint8_t code[INJ_EDIT_MAX];

	return inj_read_some(t, addr, code, len) == len && memcmp(code, bytes, len) == 0;
}

/* One that is not, with another jump in its place, has been led on by a later recording, and is needed as long as that is there. */
static bool is_covered(struct inj_target *t, const struct inj_edit *e)
{
	return e->needed == INJ_EDIT_BY_WRAPPERS && reads(t, e->addr, e->bytes, 1) && !reads(t, e->addr, e->bytes, e->len);
}

/* An edit that is not in place any more is done with. */
static bool is_in_place(struct inj_target *t, const struct inj_maps *maps, const struct inj_edit *e)
{
	const struct inj_map *m = inj_maps_find(maps, e->addr);

	return e->needed && e->len && e->len <= INJ_EDIT_MAX && m && m->executable &&
	       (reads(t, e->addr, e->bytes, e->len) || is_covered(t, e));
}

static enum inj_status revive_edits(struct inj_session *s, struct inj_target *t, const struct inj_maps *maps, uint64_t at, size_t n)
{
	struct inj_edit e;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		status = inj_read(t, at + i * sizeof(e), &e, sizeof(e));
		if (status == INJ_OK && is_in_place(t, maps, &e))
			status = inj_edits_add(&s->edits, &e);
	}
	return status;
}

static enum inj_status revive_modules(struct inj_session *s, const struct record *r)
{
	s->modules = calloc(r->nmodules + 1, sizeof(*s->modules));
	if (!s->modules)
		return INJ_MEMORY;
	for (s->nmodules = 0; s->nmodules < r->nmodules; s->nmodules++)
		s->modules[s->nmodules] = (struct inj_module){
			.ours = true,
			.base = r->modules[s->nmodules].base,
			.image.size = r->modules[s->nmodules].bytes,
		};
	return INJ_OK;
}

static void revive(struct inj_session *s, const struct record *r)
{
	s->code.fd = -1;
	s->code.shm = (int)r->segment;
	memcpy(s->shared, r->shared, sizeof(s->shared));
	s->config.pools = r->pools;
	s->config.npools = r->npools;
	s->config.nobody = r->nobody;
	s->config.pre_tls = r->pre_tls;
	s->spare = r->spare;
	s->runtime = r->runtime;
	s->runtime_image.size = r->runtime_bytes;
	s->rt_handlers = r->rt_handlers;
	s->rt_mapped = r->rt_mapped;
	s->rt_thunks = r->rt_thunks;
	s->rt_mem_restorer = r->rt_mem_restorer;
	s->opt.mirror.enabled = r->led;
}

/* Could a session have written the record? */
static bool is_likely(const struct inj_session *s, const struct inj_maps *maps)
{
	uint64_t pools = (s->config.npools + 2) * PAGE;
	bool likely = s->config.npools < MAX_POOLS && s->config.nobody &&
		      is_within(s->config.nobody, PAGE, s->config.pools, pools) &&
		      is_within(s->spare, INJ_SPARE, s->config.pools, pools) &&
		      is_within(s->rt_handlers, sizeof(struct rt_handlers), s->runtime, s->runtime_image.size) &&
		      is_within(s->rt_mapped, sizeof(struct rt_mapped), s->runtime, s->runtime_image.size) &&
		      inj_may_unmap(s, maps, s->config.pools, pools) &&
		      inj_may_unmap(s, maps, s->runtime, s->runtime_image.size);

	for (size_t i = 0; i < s->nmodules && likely; i++)
		likely = inj_may_unmap(s, maps, s->modules[i].base, s->modules[i].image.size);
	return likely;
}

static void free_one(struct inj_leftovers *l)
{
	free(l->s.modules);
	inj_edits_free(&l->s.edits);
	free(l->code.v);
	free(l);
}

void inj_leftovers_free(struct inj_leftovers *l)
{
	for (struct inj_leftovers *next; l; l = next) {
		next = l->next;
		free_one(l);
	}
}

/* *@l: NULL: there is none at @control, or it cannot be what we have left. */
static enum inj_status read_one(struct inj_threads *t, const struct inj_maps *maps, uint64_t control, struct inj_leftovers **out)
{
	struct record *r = malloc(sizeof(*r));
	struct inj_leftovers *l = calloc(1, sizeof(*l));
	enum inj_status status = r && l ? INJ_OK : INJ_MEMORY;
	uint64_t at;

	*out = NULL;
	if (status == INJ_OK && !read_record(&t->target, maps, control, r, &at))
		status = INJ_NOT_SUPPORTED;
	if (status == INJ_OK) {
		revive(&l->s, r);
		status = revive_modules(&l->s, r);
	}
	if (status == INJ_OK)
		status = revive_edits(&l->s, &t->target, maps, at + sizeof(*r), r->nedits);
	if (status == INJ_OK && !is_likely(&l->s, maps))
		status = INJ_NOT_SUPPORTED;
	if (status == INJ_OK)
		status = inj_our_code(&l->s, t->pid, &l->code);
	if (status == INJ_OK)
		status = inj_read(&t->target, l->s.rt_mapped, &l->mapped, sizeof(l->mapped));
	free(r);
	if (status == INJ_OK)
		*out = l;
	else if (l)
		free_one(l);
	return status;
}

static enum inj_status read_all(struct inj_session *s, struct inj_threads *t)
{
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(t->pid, &maps);

	for (size_t i = 0; status == INJ_OK && i < maps.n; i++) {
		struct inj_leftovers *l;

		if (!starts(maps.v[i].path, "/memfd:sonde-rings") || maps.v[i].offset)
			continue;
		status = read_one(t, &maps, maps.v[i].start, &l);
		if (status == INJ_NOT_SUPPORTED)
			s->opt.warn("cannot attach to process %d: an earlier recording has left memory there that cannot be taken over",
				    (int)t->pid);
		if (status != INJ_OK)
			break;
		l->next = s->attach.left;
		s->attach.left = l;
	}
	inj_maps_free(&maps);
	return status;
}

/* ---- taking out ---- */

/* *@stays: threads wait in what its wrappers have called, or a later one that stays needs it. */
static enum inj_status remove_one(struct inj_leftovers *l, struct inj_leftovers *all, struct inj_threads *t, bool *stays)
{
	struct inj_rest rest = { 0 };
	enum inj_status status;

	for (size_t i = 0; i < l->s.edits.n; i++)
		if (is_covered(&t->target, &l->s.edits.v[i])) {
			*stays = true;
			return INJ_OK;
		}
	l->s.attach.left = all;
	status = inj_take_out(&l->s, t, false, &rest);
	*stays = rest.n;
	if (status == INJ_OK && (rest.within || rest.handlers)) {
		errno = EAGAIN;
		status = INJ_SYSTEM;
	}
	return status;
}

enum inj_status inj_leftovers_find(struct inj_session *s, struct inj_threads *t)
{
	struct inj_leftovers **at;
	enum inj_status status;
	bool stays;

	inj_leftovers_free(s->attach.left);
	s->attach.left = NULL;
	status = read_all(s, t);
	for (at = &s->attach.left; *at && status == INJ_OK;) {
		struct inj_leftovers *l = *at;

		status = remove_one(l, s->attach.left, t, &stays);
		if (status != INJ_OK || stays) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free_one(l);
		at = &s->attach.left; /* what it has covered may go now */
	}
	return status;
}

/* ---- what stays ---- */

bool inj_leftovers_have_base(const struct inj_leftovers *l, uint64_t gs)
{
	for (; l; l = l->next)
		if (inj_is_our_base(&l->s, &l->mapped, gs))
			return true;
	return false;
}

uint64_t inj_leftovers_base(const struct inj_leftovers *l, struct inj_target *t, const struct inj_thread *th)
{
	struct inj_maps maps;
	uint64_t base = 0;

	if (!l || inj_maps_read(t->pid, &maps) != INJ_OK)
		return 0;
	for (; l && !base; l = l->next)
		if (l->code.n && (inj_holds(&l->code, inj_thread_pc(th)) || inj_wrapper_called(t, &maps, &l->code, th)))
			base = l->s.config.nobody;
	inj_maps_free(&maps);
	return base;
}
