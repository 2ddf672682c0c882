// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/patch/edits.h"
#include "trampolines/trampoline.h"

#define PAGE UINT64_C(4096)
#define RUN (UINT64_C(64) * PAGE) /* bytes read and written at once, at most */

_Static_assert(INJ_EDIT_MAX >= TRAMP_PATCH_MAX, "a function's entry is one edit");

static enum inj_status make_room(struct inj_edits *e, size_t more)
{
	return array_room(e->v, e->room, e->n + more) ? INJ_OK : INJ_MEMORY;
}

void inj_edit_jump(struct inj_edit *e, const uint8_t *was, uint64_t to)
{
	const uint32_t rel = (uint32_t)(to - (e->addr + TRAMP_JUMP_SIZE));

	e->owner = INJ_EDIT_NONE;
	e->len = TRAMP_JUMP_SIZE;
	e->bytes[0] = 0xe9;
	memcpy(e->bytes + 1, &rel, sizeof(rel));
	memcpy(e->was, was, TRAMP_JUMP_SIZE);
}

enum inj_status inj_edits_add(struct inj_edits *e, const struct inj_edit *edit)
{
	enum inj_status status = make_room(e, 1);

	if (status == INJ_OK)
		e->v[e->n++] = *edit;
	return status;
}

enum inj_status inj_edits_append(struct inj_edits *e, const struct inj_edits *more)
{
	enum inj_status status = make_room(e, more->n);

	if (status != INJ_OK || !more->n)
		return status;
	memcpy(e->v + e->n, more->v, more->n * sizeof(*e->v));
	e->n += more->n;
	return INJ_OK;
}

void inj_edits_free(struct inj_edits *e)
{
	free(e->v);
	*e = (struct inj_edits){ 0 };
}

static int by_address(const void *a, const void *b)
{
	const struct inj_edit *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void inj_edits_sort(struct inj_edits *batch)
{
	size_t i = 1;

	while (i < batch->n && batch->v[i - 1].addr <= batch->v[i].addr)
		i++;
	if (i < batch->n) /* most are made in order */
		qsort(batch->v, batch->n, sizeof(*batch->v), by_address);
}

/* ---- runs ---- */

/* Edits [first, end), and the pages [lo, hi) that they lie in; each page holds some. */
struct run {
	size_t first, end;
	uint64_t lo, hi;
};

/* False: its pages do not adjoin the run's, or the run would be too long. */
static bool extend(struct run *r, const struct inj_edit *e)
{
	uint64_t lo = e->addr & ~(PAGE - 1);
	uint64_t hi = ((e->addr + e->len - 1) & ~(PAGE - 1)) + PAGE;

	if (r->lo < r->hi && (lo > r->hi || hi < r->lo))
		return false;
	if (r->lo < r->hi) {
		lo = lo < r->lo ? lo : r->lo;
		hi = hi > r->hi ? hi : r->hi;
	}
	if (hi - lo > RUN)
		return false;
	r->lo = lo;
	r->hi = hi;
	return true;
}

/* The run that begins with edit @first. */
static struct run run_from(const struct inj_edits *e, size_t first)
{
	struct run r = { .first = first, .end = first };

	while (r.end < e->n && extend(&r, &e->v[r.end]))
		r.end++;
	return r;
}

/* The run that ends with edit @end - 1, and does not begin before @from. */
static struct run run_to(const struct inj_edits *e, size_t end, size_t from)
{
	struct run r = { .first = end, .end = end };

	while (r.first > from && extend(&r, &e->v[r.first - 1]))
		r.first--;
	return r;
}

/* ---- a batch ---- */

enum inj_status inj_edits_check(struct inj_target *t, const struct inj_edits *batch,
				void (*differs)(void *arg, const struct inj_edit *edit), void *arg)
{
	uint8_t *pages = malloc(RUN);
	enum inj_status status = pages ? INJ_OK : INJ_MEMORY;
	struct run r;

	for (size_t i = 0; i < batch->n && status == INJ_OK; i = r.end) {
		r = run_from(batch, i);
		status = inj_read(t, r.lo, pages, r.hi - r.lo);
		for (; i < r.end && status == INJ_OK; i++) {
			const struct inj_edit *e = &batch->v[i];

			if (memcmp(pages + (e->addr - r.lo), e->was, e->len) != 0)
				differs(arg, e);
		}
	}
	free(pages);
	return status;
}

static enum inj_status write_run(struct inj_target *t, const struct inj_edits *e, const struct run *r,
				 uint8_t *pages)
{
	enum inj_status status;

	if (r->end - r->first == 1)
		return inj_write(t, e->v[r->first].addr, e->v[r->first].bytes, e->v[r->first].len);
	status = inj_read(t, r->lo, pages, r->hi - r->lo);
	for (size_t i = r->first; i < r->end; i++)
		memcpy(pages + (e->v[i].addr - r->lo), e->v[i].bytes, e->v[i].len);
	return status == INJ_OK ? inj_write(t, r->lo, pages, r->hi - r->lo) : status;
}

static void undo_run(struct inj_target *t, const struct inj_edits *e, const struct run *r, uint8_t *pages)
{
	if (inj_read(t, r->lo, pages, r->hi - r->lo) != INJ_OK)
		return;
	for (size_t i = r->end; i-- > r->first;)
		memcpy(pages + (e->v[i].addr - r->lo), e->v[i].was, e->v[i].len);
	(void)!inj_write(t, r->lo, pages, r->hi - r->lo);
}

static void undo(struct inj_target *t, struct inj_edits *placed, size_t keep, uint8_t *pages)
{
	while (placed->n > keep) {
		struct run r = run_to(placed, placed->n, keep);

		undo_run(t, placed, &r, pages);
		placed->n = r.first;
	}
}

enum inj_status inj_edits_apply(struct inj_target *t, struct inj_edits *placed, const struct inj_edits *batch)
{
	uint8_t *pages = malloc(RUN);
	size_t keep = placed->n;
	enum inj_status status = pages ? make_room(placed, batch->n) : INJ_MEMORY;
	struct run r;

	for (size_t i = 0; i < batch->n && status == INJ_OK; i = r.end) {
		r = run_from(batch, i);
		/* first: a write that fails may have written something */
		memcpy(placed->v + placed->n, batch->v + i, (r.end - i) * sizeof(*batch->v));
		placed->n += r.end - i;
		status = write_run(t, batch, &r, pages);
	}
	if (status != INJ_OK)
		undo(t, placed, keep, pages);
	free(pages);
	return status;
}

/* ---- what is in place ---- */

void inj_edits_undo(struct inj_target *t, struct inj_edits *placed, size_t keep)
{
	uint8_t *pages = malloc(RUN);

	if (pages)
		undo(t, placed, keep, pages);
	free(pages);
}

void inj_edits_forget(struct inj_edits *placed, size_t object)
{
	size_t kept = 0;

	for (size_t i = 0; i < placed->n; i++)
		if (placed->v[i].object != object)
			placed->v[kept++] = placed->v[i];
	placed->n = kept;
}

bool inj_edits_touch(const struct inj_edits *e, uint64_t addr, uint64_t len)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].addr < addr + len && addr < e->v[i].addr + e->v[i].len)
			return true;
	return false;
}

void inj_edits_original(const struct inj_edits *placed, uint64_t addr, uint8_t *bytes, uint64_t len)
{
	for (size_t i = placed->n; i-- > 0;) {
		const struct inj_edit *e = &placed->v[i];
		uint64_t off = e->addr - addr;

		for (size_t k = 0; k < e->len; k++)
			if (off + k < len)
				bytes[off + k] = e->was[k];
	}
}
