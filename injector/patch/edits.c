// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/patch/edits.h"

#define PAGE UINT64_C(4096)
#define RUN (UINT64_C(64) * PAGE) /* bytes read and written at once, at most */

enum inj_status inj_edits_add(struct inj_edits *e, const struct inj_edit *edit)
{
	if (e->n == e->room) {
		size_t room = e->room ? 2 * e->room : 256;
		struct inj_edit *v = realloc(e->v, room * sizeof(*v));

		if (!v)
			return INJ_MEMORY;
		e->v = v;
		e->room = room;
	}
	e->v[e->n++] = *edit;
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

void inj_edits_sort(struct inj_edits *e)
{
	qsort(e->v, e->n, sizeof(*e->v), by_address);
}

/* Neighbouring pages that edits [first, end) lie in; every page of it holds some. */
struct run {
	size_t first, end;
	uint64_t lo, hi;
};

static uint64_t last_byte(const struct inj_edit *e)
{
	return e->addr + e->len - 1;
}

static struct run next_run(const struct inj_edits *e, size_t first)
{
	struct run r = { .first = first, .end = first + 1 };

	r.lo = e->v[first].addr & ~(PAGE - 1);
	r.hi = (last_byte(&e->v[first]) & ~(PAGE - 1)) + PAGE;
	for (; r.end < e->n; r.end++) {
		uint64_t end = (last_byte(&e->v[r.end]) & ~(PAGE - 1)) + PAGE;

		if (e->v[r.end].addr > r.hi || end - r.lo > RUN)
			break;
		r.hi = end > r.hi ? end : r.hi;
	}
	return r;
}

enum inj_status inj_edits_check(struct inj_target *t, const struct inj_edits *e, size_t from,
				void (*differs)(void *arg, const struct inj_edit *edit), void *arg)
{
	uint8_t *page = malloc(RUN);
	enum inj_status status = page ? INJ_OK : INJ_MEMORY;
	struct run r;

	for (size_t i = from; i < e->n && status == INJ_OK; i = r.end) {
		r = next_run(e, i);
		status = inj_read(t, r.lo, page, r.hi - r.lo);
		for (; i < r.end && status == INJ_OK; i++)
			if (memcmp(page + (e->v[i].addr - r.lo), e->v[i].was, e->v[i].len) != 0)
				differs(arg, &e->v[i]);
	}
	free(page);
	return status;
}

static enum inj_status write_edits(struct inj_target *t, const struct inj_edits *e, size_t from,
				   size_t *end, bool undo)
{
	uint8_t *page = malloc(RUN);
	enum inj_status status = page ? INJ_OK : INJ_MEMORY;
	struct run r;

	for (*end = from; *end < e->n && status == INJ_OK; *end = r.end) {
		r = next_run(e, *end);
		status = inj_read(t, r.lo, page, r.hi - r.lo);
		for (size_t i = r.first; i < r.end; i++)
			memcpy(page + (e->v[i].addr - r.lo), undo ? e->v[i].was : e->v[i].bytes,
			       e->v[i].len);
		if (status == INJ_OK)
			status = inj_write(t, r.lo, page, r.hi - r.lo);
	}
	free(page);
	return status;
}

enum inj_status inj_edits_apply(struct inj_target *t, const struct inj_edits *e, size_t from)
{
	size_t end;
	enum inj_status status = write_edits(t, e, from, &end, false);

	if (status != INJ_OK && status != INJ_GONE) {
		struct inj_edits done = { .v = e->v, .n = end };

		inj_edits_undo(t, &done, from);
	}
	return status;
}

void inj_edits_undo(struct inj_target *t, const struct inj_edits *e, size_t from)
{
	size_t end;

	(void)!write_edits(t, e, from, &end, true);
}
