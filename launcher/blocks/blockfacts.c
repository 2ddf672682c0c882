/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/blocks/blockfacts.h"

#include "trampolines/memory/memory.h"

void block_add_accesses(struct block_facts *b, const struct tramp_mem_facts *facts)
{
	struct tramp_mem_sums sums = { .varies = b->varies };

	tramp_mem_sum(facts, true, &sums);
	for (unsigned int kind = 0; kind < BLOCK_KINDS; kind++) {
		b->accesses[kind] += (uint32_t)sums.accesses[kind];
		b->bytes[kind] += sums.bytes[kind];
	}
	b->varies = sums.varies;
}

static void add_work(struct block_facts *b, const struct tramp_work *w)
{
	b->classes[w->class]++;
	if (w->flops && (w->scalar || !w->width))
		b->flops_scalar += w->flops;
	else if (w->flops)
		b->flops_packed[w->width - 1] += w->flops;
	if (w->width && w->of_floats)
		b->floats[w->width - 1]++;
	else if (w->width)
		b->ints[w->width - 1]++;
}

struct block_facts block_facts(const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *block = &flow->blocks[i];
	uint64_t base = tramp_code_base(flow->code);
	struct block_facts b = { .insns = block->nops };

	for (uint32_t k = block->op; k < block->op + block->nops; k++) {
		struct tramp_mem_facts memory;
		struct tramp_work work;
		size_t left = 0;
		const uint8_t *code = tramp_code_at(flow->code, base + flow->ops[k].off, &left);

		if (code && tramp_work(code, left, &work))
			add_work(&b, &work);
		if (code && tramp_mem_insn(code, left, base + flow->ops[k].off, base, &memory))
			block_add_accesses(&b, &memory);
	}
	return b;
}

/* ---- as numbers ---- */

_Static_assert(2 + TRAMP_CLASSES + 1 + 3 * TRAMP_WIDTHS + 2 * BLOCK_KINDS == BLOCK_FACT_NUMBERS, "in a trace they are what they are");

void block_facts_put(const struct block_facts *b, uint64_t *v)
{
#define PUT_ALL(field)                                                                   \
	for (size_t i = 0; i < sizeof(b->field) / sizeof(b->field[0]); i++) \
		*v++ = b->field[i]
	*v++ = b->insns;
	PUT_ALL(classes);
	*v++ = b->flops_scalar;
	PUT_ALL(flops_packed);
	PUT_ALL(ints);
	PUT_ALL(floats);
	PUT_ALL(accesses);
	PUT_ALL(bytes);
	*v++ = b->varies;
#undef PUT_ALL
}
