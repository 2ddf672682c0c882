// SPDX-License-Identifier: GPL-3.0-or-later
/* For other processes: what they ask for is compiled into memory that is shared with them. */
#include "trampolines/x86-64/memcompile.h"

#include <stdlib.h>
#include <string.h>

#include "trampolines/memshared.h"

struct mx_server {
	struct mxc_compiler c;
	struct mxs_head *head;
	struct mxs_asks *asks;
	enum mxe_mode mode;
};

static bool put(struct mxc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	memcpy(c->area + at, code, bytes);
	return true;
}

struct mx_server *mx_serve_begin(const struct mx_code *code, void *shared, bool counts, uint64_t run)
{
	struct mx_server *s = calloc(1, sizeof(*s));
	uint8_t *at = shared;

	if (!s)
		return NULL;
	s->head = shared;
	s->asks = (struct mxs_asks *)(void *)(at + MXS_ASKS);
	s->mode = counts ? MXE_COUNT : MXE_NEXT;
	s->c.put = put;
	if (!mxc_begin(&s->c, code, at + MXS_CODE, run, MXS_CODE_BYTES)) {
		mx_serve_end(s);
		return NULL;
	}
	mxc_use(&s->c, s->mode, (uint64_t *)(void *)(at + MXS_TABLE), s->asks->heat);
	s->head->mode = s->mode;
	s->head->gates = s->c.gates;
	return s;
}

void mx_serve_end(struct mx_server *s)
{
	if (s)
		mxc_end(&s->c);
	free(s);
}

void mx_serve_objects(struct mx_server *s)
{
	mxc_refresh(&s->c);
	__atomic_store_n(&s->head->ids, s->c.ids, __ATOMIC_RELEASE);
}

/* Of those that are asked for, what can be compiled. */
static unsigned int find_roots(const struct mx_server *s, const uint32_t *ids, uint32_t n, const struct mx_node **roots)
{
	unsigned int found = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct mx_node *node = mx_find(s->c.code, ids[i]);

		if (node && mxc_possible(node))
			roots[found++] = node;
		else
			mxs_never(s->asks, ids[i]);
	}
	return found;
}

bool mx_serve(struct mx_server *s)
{
	const struct mx_node *roots[MXC_ROOTS];
	uint32_t ids[MXC_ROOTS], n;
	bool failed[MXC_ROOTS];
	unsigned int found;

	if (s->c.full || !mxs_any(s->asks))
		return false;
	n = mxs_take(s->asks, s->c.ids, ids, MXC_ROOTS);
	found = find_roots(s, ids, n, roots);
	if (!found)
		return n != 0;
	if (!mxc_compile_each(&s->c, s->mode, roots, found, failed))
		__atomic_store_n(&s->head->full, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < found; i++)
		if (failed[i])
			mxs_never(s->asks, roots[i]->id);
	return true;
}

void mx_serve_stats(const struct mx_server *s, struct mx_compiled *stats)
{
	*stats = (struct mx_compiled){ .nodes = s->c.nodes, .bytes = s->c.made };
}
