// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Registers of the machine in registers of the processor, within a piece of code.
 */
#include "memtrace/compile/x86-64/compile.h"

static const uint8_t host_reg[MTC_HOSTS] = { MTC_RDX, MTC_RSI, MTC_RDI, MTC_R8, MTC_R9, MTC_RBP };

struct mtc_mem mtc_slot(uint8_t slot)
{
	return mtc_machine(slot * 8 - 128);
}

static void clean(struct mtc_build *b, unsigned int i)
{
	if (b->hosts[i].dirty)
		mtc_store(&b->a, mtc_slot(b->hosts[i].slot), host_reg[i]);
	b->hosts[i].dirty = false;
}

void mtc_flush(struct mtc_build *b)
{
	for (unsigned int i = 0; i < MTC_HOSTS; i++)
		clean(b, i);
}

void mtc_forget(struct mtc_build *b)
{
	for (unsigned int i = 0; i < MTC_HOSTS; i++)
		b->hosts[i] = (struct mtc_host){ .slot = MT_ZERO };
	b->clock = 0;
}

/* A place for the slot; that which was not used for the longest time, if there is none. */
static unsigned int find_host(struct mtc_build *b, uint8_t slot, bool *found)
{
	unsigned int oldest = 0;

	for (unsigned int i = 0; i < MTC_HOSTS; i++) {
		*found = b->hosts[i].slot == slot;
		if (*found)
			return i;
		if (b->hosts[i].used < b->hosts[oldest].used)
			oldest = i;
	}
	clean(b, oldest);
	return oldest;
}

static uint8_t take(struct mtc_build *b, uint8_t slot, bool load, bool dirty)
{
	bool found;
	unsigned int i = find_host(b, slot, &found);

	if (load && !found)
		mtc_load(&b->a, host_reg[i], mtc_slot(slot));
	b->hosts[i].slot = slot;
	b->hosts[i].dirty |= dirty;
	b->hosts[i].used = ++b->clock;
	return host_reg[i];
}

uint8_t mtc_get(struct mtc_build *b, uint8_t slot)
{
	return take(b, slot, true, false);
}

uint8_t mtc_set(struct mtc_build *b, uint8_t slot)
{
	return take(b, slot, false, true);
}

uint8_t mtc_change(struct mtc_build *b, uint8_t slot)
{
	return take(b, slot, true, true);
}

uint8_t mtc_get_or_none(struct mtc_build *b, uint8_t slot)
{
	return slot == MT_ZERO ? (uint8_t)MTC_NONE : mtc_get(b, slot);
}

void mtc_get_to(struct mtc_build *b, uint8_t reg, uint8_t slot)
{
	if (slot == MT_ZERO)
		mtc_imm(&b->a, reg, 0);
	else
		mtc_mov(&b->a, reg, mtc_get(b, slot));
}

void mtc_operand_to(struct mtc_build *b, uint8_t reg, const struct mt_op *op)
{
	if (op->index == MT_ZERO)
		mtc_imm(&b->a, reg, (uint64_t)op->imm);
	else
		mtc_get_to(b, reg, op->index);
}

uint8_t mtc_operand(struct mtc_build *b, const struct mt_op *op)
{
	if (op->index != MT_ZERO)
		return mtc_get(b, op->index);
	mtc_imm(&b->a, MTC_RCX, (uint64_t)op->imm);
	return MTC_RCX;
}

void mtc_put(struct mtc_build *b, const struct mt_op *op)
{
	if (op->width >= 4)
		mtc_rm(&b->a, op->width, 0x8b, mtc_set(b, op->dst), MTC_RAX);
	else
		mtc_rm(&b->a, op->width, op->width == 1 ? 0x8a : 0x8b, mtc_change(b, op->dst), MTC_RAX);
}
