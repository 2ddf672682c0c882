// SPDX-License-Identifier: GPL-3.0-or-later
/* Tables that say where the stream's pointer is at each byte of the mirror. */
#include "base/search.h"
#include "trampolines/memory/x86-64/emit.h"

uint32_t mem_orig(const struct tramp_mirror *m, uint32_t n, uint32_t k)
{
	const struct mem_node *node = mem_node(m, n);

	return mir_off(m, node->block, node->first + k);
}

static bool continues(const struct rt_mem_piece *last, const struct rt_mem_piece *piece)
{
	return (piece->flags & RT_MEM_RUN) && last->node == piece->node && last->reg == piece->reg &&
	       last->flags == piece->flags && last->written == piece->written &&
	       (uint32_t)(piece->insn - last->insn) == piece->start - last->start;
}

static void add(struct tramp_mirror *m, const struct rt_mem_piece *piece)
{
	struct mir_mem *mem = m->mem;
	struct rt_mem_piece *last = mem->pieces.n ? &mem->pieces.v[mem->pieces.n - 1] : NULL;

	if (last && last->start == piece->start) {
		mem->pieces.n--;
		last = mem->pieces.n ? last - 1 : NULL;
	}
	if (last && continues(last, piece))
		return;
	if (!mir_reserve(&mem->pieces, mem->pieces.n + 1))
		m->lost = true;
	else
		mem->pieces.v[mem->pieces.n++] = *piece;
}

static struct rt_mem_piece piece_of(const struct tramp_mirror *m, const struct mem_state *s, uint32_t at)
{
	return (struct rt_mem_piece){
		.start = at,
		.node = m->req.node + s->node,
		.insn = (uint16_t)(s->orig - m->mem->plan.md[s->node].start),
		.written = s->written,
		.reg = s->reg,
		.flags = s->flags,
	};
}

void mem_state_at(struct tramp_mirror *m, const struct mem_state *s, uint32_t at)
{
	struct rt_mem_piece piece = piece_of(m, s, at);

	add(m, &piece);
}

static void plain_state(struct tramp_mirror *m, unsigned int flags, uint8_t reg, uint32_t start)
{
	struct rt_mem_piece piece = {
		.start = (uint32_t)m->out.len, .reg = reg, .flags = (uint8_t)(RT_MEM_PLAIN | flags),
	};

	if (flags & RT_MEM_BACK)
		piece.back = (uint16_t)(piece.start - start);
	add(m, &piece);
}

void mem_plain_state(struct tramp_mirror *m, unsigned int flags, uint32_t start)
{
	plain_state(m, flags, RT_MEM_NO_REG, start);
}

void mem_plain_saved(struct tramp_mirror *m, uint8_t reg, uint32_t start)
{
	plain_state(m, RT_MEM_BACK | RT_MEM_LOWERED | RT_MEM_SLOT0, reg, start);
}

void mir_mem_apart(struct tramp_mirror *m, uint32_t at)
{
	const struct rt_mem_piece *v = m->mem->pieces.v;
	size_t n = search_first(i, m->mem->pieces.n, v[i].start > at);
	struct rt_mem_piece piece = n ? v[n - 1] : (struct rt_mem_piece){ .reg = RT_MEM_NO_REG, .flags = RT_MEM_PLAIN };

	if (piece.flags & RT_MEM_RUN)
		piece.insn = (uint16_t)(piece.insn + at - piece.start);
	piece.flags &= (uint8_t)~(RT_MEM_RUN | RT_MEM_BACK);
	piece.back = 1;
	piece.start = (uint32_t)m->out.len;
	add(m, &piece);
}

void mem_state(struct tramp_mirror *m, const struct mem_state *s, uint32_t start)
{
	struct rt_mem_piece piece = piece_of(m, s, (uint32_t)m->out.len);

	if (s->flags & RT_MEM_BACK)
		piece.back = (uint16_t)(piece.start - start);
	add(m, &piece);
	if (s->flags & RT_MEM_BACK || !(s->flags & RT_MEM_RUN))
		mir_piece(m, m->mem->in_slow ? RT_PIECE_SLOW : RT_PIECE_INSN, s->orig, false);
}
