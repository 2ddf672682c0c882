// SPDX-License-Identifier: GPL-3.0-or-later
/* For other processes: what they ask for is compiled into memory that is shared with them. */
#include "memtrace/compile/x86-64/compile.h"

#include <stdlib.h>
#include <string.h>

#include "memtrace/shared.h"

struct mt_server {
	struct mtc_compiler c;
	struct mt_head *head;
	struct mt_asks *asks;
	enum mt_mode mode;
};

static bool put(struct mtc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	memcpy(c->area + at, code, bytes);
	return true;
}

struct mt_server *mt_serve_begin(const struct mt_code *code, void *shared, bool counts, uint64_t run)
{
	struct mt_server *s = calloc(1, sizeof(*s));
	uint8_t *at = shared;

	if (!s)
		return NULL;
	s->head = shared;
	s->asks = (struct mt_asks *)(void *)(at + MT_ASKS);
	s->mode = counts ? MT_COUNT : MT_NEXT;
	s->c.put = put;
	s->c.alignment = 64;
	if (!mtc_begin(&s->c, code, at + MT_CODE, run, MT_CODE_BYTES)) {
		mt_serve_end(s);
		return NULL;
	}
	mtc_use(&s->c, s->mode, (uint64_t *)(void *)(at + MT_SHARED_TABLE), s->asks->heat);
	s->head->mode = s->mode;
	s->head->gates = s->c.gates;
	return s;
}

void mt_serve_end(struct mt_server *s)
{
	if (s)
		mtc_end(&s->c);
	free(s);
}

void mt_serve_objects(struct mt_server *s)
{
	mtc_refresh(&s->c);
	__atomic_store_n(&s->head->ids, s->c.ids, __ATOMIC_RELEASE);
}

/* Of those that are asked for, what can be compiled. */
static unsigned int find_roots(const struct mt_server *s, const uint32_t *ids, uint32_t n, const struct mt_node **roots)
{
	unsigned int found = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct mt_node *node = mt_find(s->c.code, ids[i]);

		if (node && node->compiles)
			roots[found++] = node;
		else
			mt_never(s->asks, ids[i]);
	}
	return found;
}

bool mt_serve(struct mt_server *s)
{
	const struct mt_node *roots[MTC_ROOTS];
	uint32_t ids[MTC_ROOTS], n;
	bool failed[MTC_ROOTS];
	unsigned int found;

	if (s->c.full || !mt_any(s->asks))
		return false;
	n = mt_take(s->asks, s->c.ids, ids, MTC_ROOTS);
	found = find_roots(s, ids, n, roots);
	if (!found)
		return n != 0;
	if (!mtc_compile_each(&s->c, s->mode, roots, found, failed))
		__atomic_store_n(&s->head->full, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < found; i++)
		if (failed[i])
			mt_never(s->asks, roots[i]->id);
	return true;
}

void mt_serve_stats(const struct mt_server *s, struct mt_compiled *stats)
{
	*stats = (struct mt_compiled){ .nodes = s->c.nodes, .bytes = s->c.made };
}
