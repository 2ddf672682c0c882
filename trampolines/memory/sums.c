// SPDX-License-Identifier: GPL-3.0-or-later
/* How many accesses an instruction makes, as far as its bytes say that. */
#include "trampolines/memory/memory.h"

enum { KINDS = sizeof(((struct tramp_mem_sums *)0)->accesses) / sizeof(uint64_t) };

static void add_access(struct tramp_mem_sums *s, unsigned int kind, uint64_t n, uint64_t bytes)
{
	kind &= MD_KIND;
	if (kind >= KINDS)
		return;
	s->accesses[kind] += n;
	s->bytes[kind] += n * bytes;
}

static void add_string(struct tramp_mem_sums *s, const struct md_op *op)
{
	bool loads = op->dst != MD_STOS, stores = op->dst == MD_MOVS || op->dst == MD_STOS;

	if (loads)
		add_access(s, MD_LOAD, op->dst == MD_CMPS ? 2 : 1, op->width);
	if (stores)
		add_access(s, MD_STORE, 1, op->width);
	s->varies |= op->index != MD_NONE;
}

void tramp_mem_sum(const struct tramp_mem_facts *facts, bool stack, struct tramp_mem_sums *s)
{
	uint64_t size = 0;

	for (unsigned int i = 0; i < facts->nops; i++) {
		const struct md_op *op = &facts->ops[i];

		switch (op->code) {
		case MD_SIZE:
			size = (uint64_t)op->imm;
			break;
		case MD_ACCESS:
			if (stack || !(op->dst & MD_STACK))
				add_access(s, op->dst, 1, op->width ? op->width : size);
			break;
		case MD_STRING:
			add_string(s, op);
			break;
		case MD_MASKED:
		case MD_GATHER:
		case MD_PACKED:
			add_access(s, op->dst, MD_LANES_COUNT(op->imm), op->width);
			s->varies |= MD_LANES_MASK(op->imm) != MD_MASK_NONE;
			break;
		default:
			break;
		}
	}
}
