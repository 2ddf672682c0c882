// SPDX-License-Identifier: GPL-3.0-or-later
/* The ranges of a function, the instructions in them, and memory for what is made of those. */
#include "trampolines/flow/private.h"

#include <stdlib.h>

void *tramp_flow_reserve(struct flow_buffer *buffer, size_t n, size_t size)
{
	size_t need = n * size + 1, bytes = buffer->bytes ? buffer->bytes : 1024;
	void *items;

	if (need <= buffer->bytes)
		return buffer->items;
	while (bytes < need)
		bytes *= 2;
	items = realloc(buffer->items, bytes);
	if (!items)
		return NULL;
	buffer->items = items;
	buffer->bytes = bytes;
	return items;
}

struct flow_range *tramp_flow_range(const struct flow_priv *p, uint64_t addr)
{
	for (size_t i = 0; i < p->nranges; i++) {
		if (addr - p->ranges[i].addr < p->ranges[i].len)
			return &p->ranges[i];
	}
	return NULL;
}

bool tramp_flow_insn_at(const struct tramp_flow *flow, uint32_t off, struct flow_insn *insn,
			const uint8_t **bytes)
{
	uint64_t addr = flow_addr(flow, off);
	const struct flow_range *r = tramp_flow_range(flow_priv(flow), addr);

	if (!r)
		return false;
	*bytes = r->bytes + (addr - r->addr);
	return tramp_flow_decode(flow_priv(flow)->decoder, *bytes, r->left - (size_t)(addr - r->addr),
				 insn);
}
