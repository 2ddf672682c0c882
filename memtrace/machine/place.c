// SPDX-License-Identifier: MIT
/*
 * Places in the middle of nodes: where a signal came in, where recording begins.
 */
#include "memtrace/machine/state.h"

enum { RCX = 1, RSI = 6, RDI = 7, STRING_REGS = 1 << RCX | 1 << RSI | 1 << RDI };

enum mt_step mt_place_find(const struct mt_code *code, struct mt_place *place, const uint8_t *words,
			   const uint8_t *end)
{
	if (place->node)
		return MT_STEP;
	if (end - words < 4)
		return MT_STALL;
	place->node = mt_find(code, mt_load4(words));
	return place->node && place->node->header ? MT_STEP : MT_ERROR;
}

/* Bytes that the operations before @op of @node take, header included. */
static uint32_t words_before(const struct mt_node *node, uint32_t op)
{
	uint32_t words = node->header ? 4 : 0;

	for (uint32_t i = 0; i < op; i++)
		words += node->ops[i].words;
	return words;
}

uint32_t mt_place_words(const struct mt_place *place)
{
	if (!place->begun)
		return place->node->words;
	return place->node->words - words_before(place->node, place->op) - place->skip;
}

/* The first operation such that all on instructions before @insn are before it. */
static uint32_t op_of(const struct mt_node *node, uint32_t insn)
{
	uint32_t op = node->nops;

	while (op > 0 && node->ops[op - 1].offset >= insn)
		op--;
	return op;
}

static bool repeated(const struct mt_op *op)
{
	return op->code == MD_STRING && op->index != MT_ZERO;
}

bool mt_place_interrupt(struct mt_machine *m)
{
	const struct mt_node *node = mt_find(m->code, m->at.node);

	m->at_node = node;
	if (!node)
		return false;
	m->stop = op_of(node, m->at.insn);
	m->stop_live = mt_live_at(node, m->stop);
	m->stop_string = UINT32_MAX;
	for (uint32_t i = m->stop; i < node->nops && node->ops[i].offset == m->at.insn; i++) {
		if (repeated(&node->ops[i])) {
			m->stop_string = i;
			m->string_live = mt_live_at(node, i) & ~STRING_REGS;
			break;
		}
	}
	return true;
}

/* That the node has written until the signal came, as far as m->words are its. */
static uint64_t words_there(const struct mt_machine *m)
{
	const struct mt_place *place = &m->place;

	return words_before(place->node, place->op) + place->skip + (uint64_t)(m->end - m->words);
}

/* Is it past the beginning of the instruction, since what the string needs has been written? */
static bool in_string(const struct mt_machine *m)
{
	const struct mt_node *node = m->at_node;

	return m->stop_string < node->nops && m->stop_string > m->stop &&
	       words_there(m) >= words_before(node, m->stop_string);
}

/*
 * Of the visits of the node, is it that in which so many words had been written?  Whether `written` counts the
 * header is all the same: with one, there is only one visit without words after it.
 */
static bool visit(const struct mt_machine *m)
{
	uint64_t words = words_there(m);

	return words == m->at.written || (m->at_node->header && words == m->at.written + 4);
}

static bool agree(const struct mt_machine *m, uint32_t regs)
{
	for (; regs; regs &= regs - 1) {
		int reg = __builtin_ctz(regs);

		if (m->reg[reg] != m->at.regs[reg])
			return false;
	}
	return true;
}

/* Can the string have come from the machine's registers to those of the interrupt? */
static bool part_of_string(const struct mt_machine *m, const struct mt_op *op)
{
	uint64_t done = m->reg[RCX] - m->at.regs[RCX], by = done * op->width;

	if (m->at.regs[RCX] > m->reg[RCX])
		return false;
	if (m->reg[op->base] & 1)
		by = -by;
	if (op->dst != MD_STOS && op->dst != MD_SCAS && m->reg[RSI] + by != m->at.regs[RSI])
		return false;
	return op->dst == MD_LODS || m->reg[RDI] + by == m->at.regs[RDI];
}

enum mt_reached mt_place_reached(const struct mt_machine *m)
{
	const struct mt_place *place = &m->place;

	if (place->node != m->at_node || (place->op != m->stop && place->op != m->stop_string) || !visit(m))
		return MT_NOT_YET;
	if (place->op == m->stop_string && agree(m, m->string_live) &&
	    part_of_string(m, &place->node->ops[place->op]))
		return MT_REACHED_STRING;
	return place->op == m->stop && !in_string(m) && agree(m, m->stop_live) ? MT_REACHED : MT_NOT_YET;
}

bool mt_place_before(const struct mt_machine *m, const struct mt_node *node)
{
	return m->words == m->end && m->at.written == 0 && node == m->at_node && node->header &&
	       m->stop == 0;
}

bool mt_place_state(struct mt_machine *m)
{
	const struct mt_node *node = mt_find(m->code, m->at.node);
	struct mt_place place = { .node = node, .begun = m->at.written || m->at.insn };
	uint32_t words;

	if (!node || m->at.written > node->words)
		return false;
	if (place.begun) {
		place.op = op_of(node, m->at.insn);
		words = words_before(node, place.op);
		if (m->at.written < words)
			return false;
		place.skip = (uint32_t)m->at.written - words;
	}
	m->place = place;
	__builtin_memcpy(m->reg, m->at.regs, sizeof(m->at.regs));
	m->flags = (struct mt_flags){ .a = m->at.flags, .raw = true };
	return true;
}
