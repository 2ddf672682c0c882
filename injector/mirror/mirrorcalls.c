// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Calls from one mirrored function to another one of the same object.  A call stays where it is, for the return address
 * that it leaves on the stack, but goes straight to where the called function's window leads: a jump less for
 * each call, and a line of the original code less in the caches.
 *
 * So do calls by way of the procedure linkage table, if its slot cannot change any more: it has been bound
 * when the object was loaded, and is in memory that has been made read-only since (full RELRO).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "injector/process/maps.h"
#include "injector/mirror/first.h"
#include "injector/patch/session.h"
#include "trampolines/insn/x86-64/decode.h"
#include "base/array.h"

enum {
	JUMP = 0xe9, JUMP_SIZE = 5,
	SHORT = 0xeb, SHORT_SIZE = 2,
	REL = 4,	/* bytes of a displacement */
	STUBS_LOG = 10, STUBS = 1 << STUBS_LOG,
};

void inj_calls_free(struct inj_calls *c)
{
	free(c->v);
	*c = (struct inj_calls){ 0 };
}

enum inj_status inj_calls_note(struct inj_calls *c, const struct tramp_mirror_code *out, uint64_t base,
			       uint64_t load, uint32_t owner)
{
	if (!array_room(c->v, c->room, c->n + out->ncalls))
		return INJ_MEMORY;
	for (size_t i = 0; i < out->ncalls; i++)
		c->v[c->n++] = (struct inj_call){
			.at = base + out->calls[i].off, .to = load + out->calls[i].target, .owner = owner,
		};
	return INJ_OK;
}

/* The number of edits below @addr. */
static size_t below(const struct inj_edits *e, uint64_t addr)
{
	return search_first(i, e->n, e->v[i].addr >= addr);
}

static const struct inj_edit *edit_at(const struct inj_edits *e, uint64_t addr)
{
	size_t i = below(e, addr);

	return i < e->n && e->v[i].addr == addr ? &e->v[i] : NULL;
}

static uint64_t jumps_to(const struct inj_edit *e)
{
	int32_t rel;

	if (!e || e->len < JUMP_SIZE || e->bytes[0] != JUMP)
		return 0;
	memcpy(&rel, e->bytes + 1, sizeof(rel));
	return e->addr + JUMP_SIZE + (uint64_t)(int64_t)rel;
}

/* Where a window leads, be it by a slot; 0: nowhere. */
static uint64_t leads_to(const struct inj_edits *e, const struct inj_edit *window)
{
	if (window->bytes[0] == SHORT)
		window = edit_at(e, window->addr + SHORT_SIZE + (uint64_t)(int64_t)(int8_t)window->bytes[1]);
	return jumps_to(window);
}

/* What a stub of the procedure linkage table leads to; 0: it may change, or is none. */
struct stub {
	uint64_t at, to;
};

struct lead {
	struct inj_work *w;
	struct inj_session *s;
	const struct tramp_code *code;
	const struct inj_edits *edits;
	struct inj_edits calls;
	struct stub stubs[STUBS];	/* that were looked at last */
	uint64_t load;
	uint32_t caller;
};

/* At @addr in the program. */
static const uint8_t *code_at(const struct lead *l, uint64_t addr, size_t *left)
{
	*left = 0;
	return tramp_code_at(l->code, addr - l->load, left);
}

/* ---- the procedure linkage table ---- */

/* [endbr64] [bnd] jmp *slot(%rip).  0: it is something else. */
static uint64_t slot_of(const struct lead *l, uint64_t stub)
{
	size_t left, at;
	const uint8_t *bytes = code_at(l, stub, &left);
	int32_t rel;

	at = inj_codefacts_prefix(bytes, left);
	if (at + 2 + REL > left || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	memcpy(&rel, bytes + at + 2, sizeof(rel));
	return stub + at + 2 + REL + (uint64_t)(int64_t)rel;
}

static bool is_constant(struct lead *l, uint64_t slot)
{
	struct inj_maps *maps = &l->s->code.maps;
	const struct inj_map *m;

	if (!maps->n && inj_maps_read(l->s->target->pid, maps) != INJ_OK)
		return false;
	m = inj_maps_find(maps, slot);
	return m && m->readable && !m->writable;
}

static uint64_t stub_leads_to(struct lead *l, uint64_t stub)
{
	struct stub *known = &l->stubs[stub * UINT64_C(0x9e3779b97f4a7c15) >> (64 - STUBS_LOG)];
	uint64_t slot, to = 0;

	if (known->at == stub)
		return known->to;
	slot = slot_of(l, stub);
	if (slot && (!is_constant(l, slot) || inj_read(l->s->target, slot, &to, sizeof(to)) != INJ_OK))
		to = 0;
	*known = (struct stub){ .at = stub, .to = to };
	return to;
}

/* ---- calls ---- */

/* Where the window leads that is at the entry of the function that begins at @to; 0: there is none. */
static uint64_t entry_leads_to(const struct lead *l, const struct inj_edits *edits, uint64_t to)
{
	const struct inj_edit *e = edit_at(edits, to);

	if (!e) {
		size_t left;
		const uint8_t *bytes = code_at(l, to, &left);

		e = edit_at(edits, to + tramp_endbr64_size(bytes, left));
	}
	if (!e || e->owner >= l->s->mirrors.n || l->s->mirrors.v[e->owner].file_addr + l->load != to)
		return 0;
	return leads_to(edits, e);
}

static uint64_t way_to(const struct lead *l, uint64_t to, const struct inj_first **first)
{
	uint64_t way;

	*first = inj_first_at(l->w, to);
	if (*first)
		return (*first)->stub;
	way = entry_leads_to(l, l->edits, to);
	return way ? way : entry_leads_to(l, &l->w->entries, to);
}

static bool is_free(const struct inj_edits *e, uint64_t addr)
{
	size_t end = below(e, addr + REL);

	return !end || e->v[end - 1].addr + e->v[end - 1].len <= addr;
}

static enum inj_status lead_call(struct lead *l, const struct inj_call *c)
{
	struct inj_edit e = { .addr = c->at, .owner = c->owner, .len = REL };
	uint32_t was = (uint32_t)(c->to - (c->at + REL));
	const struct inj_first *first;
	uint64_t to = way_to(l, c->to, &first);
	enum inj_status status = INJ_OK;
	int64_t rel;

	if (!to)
		to = way_to(l, stub_leads_to(l, c->to), &first);
	rel = (int64_t)(to - (c->at + REL));
	if (!to || rel != (int32_t)rel || l->s->mirrors.v[c->owner].state != INJ_RECORDED_OK ||
	    !is_free(l->edits, c->at))
		return INJ_OK;
	e.object = (uint32_t)l->s->mirrors.v[c->owner].object;
	memcpy(e.was, &was, REL);
	memcpy(e.bytes, &rel, REL);
	if (first)
		status = inj_straight_note(&l->s->mirrors, &(struct inj_site){
			.at = c->at, .caller = l->caller, .callee = (uint32_t)(first - l->s->mirrors.first) });
	return status == INJ_OK ? inj_edits_add(&l->calls, &e) : status;
}

/* Calls that are not what they are thought to be stay so. */
static void leave_out(void *arg, const struct inj_edit *e)
{
	struct inj_edits *calls = arg;

	calls->v[e - calls->v].len = 0;
}

enum inj_status inj_calls_lead(struct inj_work *w, struct inj_edits *edits, uint32_t caller)
{
	struct lead l = {
		.w = w, .s = w->s, .code = w->code, .edits = edits, .load = w->s->objects[w->object].base,
		.caller = caller,
	};
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < w->calls.n && status == INJ_OK; i++)
		status = lead_call(&l, &w->calls.v[i]);
	inj_edits_sort(&l.calls);
	if (status == INJ_OK)
		status = inj_edits_check(w->s->target, &l.calls, leave_out, &l.calls);
	for (size_t i = 0; i < l.calls.n && status == INJ_OK; i++)
		if (l.calls.v[i].len)
			status = inj_edits_add(edits, &l.calls.v[i]);
	inj_edits_free(&l.calls);
	inj_edits_sort(edits);
	return status;
}
