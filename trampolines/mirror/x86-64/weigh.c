// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory accesses of a function, counted by edges between its blocks (BLOCKS with ACCESSES): what each counter says of them.
 *
 * That is so where the number of accesses is in the code.  Of string instructions that are repeated it is what is in rcx: a constant that
 * was moved there before, in the same block, as compilers do for objects of known size; else it is added to a counter of their own.
 * Not of those that end at a value, of masks and gathers, nor with several system calls in a block.
 */
#include <string.h>

#include "trampolines/memory/x86-64/emit.h"

/* What is known of rcx in a block. */
struct weigh_rcx {
	bool known;
	uint64_t value;
};

static void follow_rcx(struct weigh_rcx *rcx, const struct tramp_mem_facts *facts)
{
	const tramp_regs reg = TRAMP_REG(TRAMP_RCX);

	if (facts->kills & reg)
		rcx->known = false;
	for (unsigned int i = 0; i < facts->ncomputes; i++) {
		const struct md_op *op = &facts->computes[i];

		if (!(facts->writes[i] & reg))
			continue;
		rcx->known = op->code == MD_LEA && op->base == MD_NONE && op->index == MD_NONE && op->width >= 4;
		rcx->value = op->width == 4 ? (uint32_t)op->imm : (uint64_t)op->imm;
	}
	for (unsigned int i = 0; i < facts->nops; i++)
		if (facts->ops[i].code == MD_STRING && facts->ops[i].index != MD_NONE)
			rcx->known = false;
}

/* A string instruction that is repeated rcx times. */
static bool is_repeated(const struct tramp_mem_facts *facts)
{
	return facts->nops == 1 && facts->ops[0].code == MD_STRING && !facts->ops[0].scale;
}

static void add_sums(struct tramp_weight *weight, const struct tramp_mem_sums *sums, uint64_t times)
{
	for (unsigned int i = 0; i < TRAMP_WEIGHTS / 2; i++) {
		weight->n[i] += times * sums->accesses[i];
		weight->n[TRAMP_WEIGHTS / 2 + i] += times * sums->bytes[i];
	}
}

static bool facts_of(const struct tramp_mirror *m, const struct tramp_op *op, struct tramp_mem_facts *facts)
{
	const uint64_t addr = m->code_base + op->off;
	size_t left = 0;
	const uint8_t *bytes = tramp_code_at(m->code, addr, &left);

	return bytes && left >= op->len && tramp_mem_insn(bytes, op->len, addr, m->mem->load_addr, facts);
}

/* Adds what block i's instruction k accesses, if that is in the code; of one that is repeated nothing, and *length says what it does. */
static enum tramp_mirror_status weigh_insn(const struct tramp_mirror *m, uint32_t i, uint32_t k, struct weigh_rcx *rcx,
					   struct tramp_weight *weight, struct mir_length *length)
{
	struct tramp_mem_sums sums = { .varies = false };
	struct tramp_mem_facts facts;

	length->block = TRAMP_NONE;
	if (!facts_of(m, mir_op(m, i, k), &facts))
		return TRAMP_MIRROR_BAD_CODE;
	if (facts.unmodelled)
		return TRAMP_MIRROR_UNMODELLED;
	tramp_mem_sum(&facts, m->mem->env.stack, &sums);
	if (sums.varies && !is_repeated(&facts))
		return TRAMP_MIRROR_VARIES;
	if (sums.varies && !rcx->known) {
		*length = (struct mir_length){ .block = i, .at = k };
		add_sums(&length->weight, &sums, 1);
	} else {
		add_sums(weight, &sums, sums.varies ? rcx->value : 1);
	}
	follow_rcx(rcx, &facts);
	return TRAMP_MIRROR_OK;
}

/* From instruction @from on to the end of block i.  @lengths: are to be noted. */
static enum tramp_mirror_status weigh_from(struct tramp_mirror *m, uint32_t i, uint32_t from, struct tramp_weight *weight, bool lengths)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	struct weigh_rcx rcx = { .known = false };
	struct tramp_weight before = { { 0 } };
	struct mir_length length;
	enum tramp_mirror_status status = fb->nops ? TRAMP_MIRROR_OK : TRAMP_MIRROR_BAD_CODE;

	memset(weight, 0, sizeof(*weight));
	for (uint32_t k = 0; k < fb->nops && status == TRAMP_MIRROR_OK; k++) {
		status = weigh_insn(m, i, k, &rcx, k < from ? &before : weight, &length);
		if (status != TRAMP_MIRROR_OK || length.block == TRAMP_NONE || !lengths)
			continue;
		if (!mir_reserve(&m->lengths, m->lengths.n + 1))
			return TRAMP_MIRROR_MEMORY;
		m->lengths.v[m->lengths.n++] = length;
	}
	return status;
}

static bool has_one_call(const struct tramp_mirror *m, uint32_t i)
{
	unsigned int n = 0;

	for (uint32_t k = 0; k < mir_flow_block(m, i)->nops; k++)
		n += mir_op(m, i, k)->kind == TRAMP_OP_SYSCALL;
	return n <= 1;
}

/* In m->weights: of blocks, after their system calls, of ways. */
enum tramp_mirror_status mir_weigh_blocks(struct tramp_mirror *m)
{
	const size_t n = m->flow.nblocks;
	enum tramp_mirror_status status = TRAMP_MIRROR_OK;
	bool makes_calls = false;

	m->lengths.n = 0;
	if (!m->mem || !mir_reserve(&m->weights, 3 * n + 1))
		return TRAMP_MIRROR_MEMORY;
	for (uint32_t i = 0; i < n && status == TRAMP_MIRROR_OK; i++) {
		uint32_t after = tramp_count_after(&m->flow, i);

		makes_calls |= after != 0;
		if (!has_one_call(m, i))
			return TRAMP_MIRROR_VARIES;
		status = weigh_from(m, i, 0, &m->weights.v[i], true);
		if (after && status == TRAMP_MIRROR_OK)
			status = weigh_from(m, i, after, &m->weights.v[n + i], false);
	}
	/* counters of edges ask then whose they are, which these cannot */
	return status == TRAMP_MIRROR_OK && m->lengths.n && makes_calls ? TRAMP_MIRROR_VARIES : status;
}

enum tramp_mirror_status mir_weigh_counters(struct tramp_mirror *m)
{
	const size_t n = m->flow.nblocks;
	struct tramp_weight *blocks = m->weights.v;

	if (!mir_reserve(&m->weighed, m->counts.ncounters + m->lengths.n + 1) || !mir_reserve(&m->work, 4 * (n + 1)))
		return TRAMP_MIRROR_MEMORY;
	tramp_count_weigh(&m->counts, (uint32_t)n, blocks, blocks + n, m->weighed.v, blocks + 2 * n, m->work.v);
	for (size_t k = 0; k < m->lengths.n; k++)
		m->weighed.v[m->counts.ncounters + k] = m->lengths.v[k].weight;
	return TRAMP_MIRROR_OK;
}

const struct tramp_weight *tramp_mirror_weights(const struct tramp_mirror *m)
{
	return m->planned && m->weighs && mir_wants(m, TRAMP_MIRROR_BLOCKS) ? m->weighed.v : NULL;
}

static uint32_t block_at(const struct tramp_mirror *m, uint32_t off)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++)
		if (off - mir_flow_block(m, i)->start < mir_flow_block(m, i)->end - mir_flow_block(m, i)->start)
			return i;
	return TRAMP_NONE;
}

bool tramp_mirror_left(struct tramp_mirror *m, uint32_t off, struct tramp_weight *weight)
{
	const uint32_t i = tramp_mirror_weights(m) ? block_at(m, off) : TRAMP_NONE;
	struct tramp_weight rest;
	struct tramp_mirror_edge e;
	uint32_t k = 0;

	if (i == TRAMP_NONE)
		return false;
	while (k < mir_flow_block(m, i)->nops && mir_off(m, i, k) < off)
		k++;
	if (weigh_from(m, i, k, &rest, false) != TRAMP_MIRROR_OK)
		return false;
	*weight = m->weights.v[2 * (size_t)m->flow.nblocks + i];
	tramp_weight_add(weight, &rest, TRAMP_WEIGHT_LESS);
	for (size_t n = 0; tramp_mirror_edge(m, n, &e); n++) {
		if (e.edge.counter == TRAMP_NONE || e.at != i)
			continue;
		/* come into, and not counted yet; or counted, and not left by it */
		if (e.edge.to == i && e.before > off)
			tramp_weight_add(weight, &m->weighed.v[e.edge.counter], 1);
		if (e.edge.from == i && e.before <= off)
			tramp_weight_add(weight, &m->weighed.v[e.edge.counter], TRAMP_WEIGHT_LESS);
	}
	return true;
}
