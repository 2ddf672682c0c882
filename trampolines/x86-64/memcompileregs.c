// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Registers of the machine in registers of the processor, within a piece of code.
 */
#include "trampolines/x86-64/memcompile.h"

static const uint8_t host_reg[MXC_HOSTS] = { MXC_RDX, MXC_RSI, MXC_RDI, MXC_R8, MXC_R9, MXC_RBP };

struct mxc_mem mxc_slot(uint8_t slot)
{
	return mxc_machine(slot * 8 - 128);
}

static void clean(struct mxc_build *b, unsigned int i)
{
	if (b->hosts[i].dirty)
		mxc_store(&b->a, mxc_slot(b->hosts[i].slot), host_reg[i]);
	b->hosts[i].dirty = false;
}

void mxc_flush(struct mxc_build *b)
{
	for (unsigned int i = 0; i < MXC_HOSTS; i++)
		clean(b, i);
}

void mxc_forget(struct mxc_build *b)
{
	for (unsigned int i = 0; i < MXC_HOSTS; i++)
		b->hosts[i] = (struct mxc_host){ .slot = MX_ZERO };
	b->clock = 0;
}

/* A place for the slot; that which was not used for the longest time, if there is none. */
static unsigned int find_host(struct mxc_build *b, uint8_t slot, bool *found)
{
	unsigned int oldest = 0;

	for (unsigned int i = 0; i < MXC_HOSTS; i++) {
		*found = b->hosts[i].slot == slot;
		if (*found)
			return i;
		if (b->hosts[i].used < b->hosts[oldest].used)
			oldest = i;
	}
	clean(b, oldest);
	return oldest;
}

static uint8_t take(struct mxc_build *b, uint8_t slot, bool load, bool dirty)
{
	bool found;
	unsigned int i = find_host(b, slot, &found);

	if (load && !found)
		mxc_load(&b->a, host_reg[i], mxc_slot(slot));
	b->hosts[i].slot = slot;
	b->hosts[i].dirty |= dirty;
	b->hosts[i].used = ++b->clock;
	return host_reg[i];
}

uint8_t mxc_get(struct mxc_build *b, uint8_t slot)
{
	return take(b, slot, true, false);
}

uint8_t mxc_set(struct mxc_build *b, uint8_t slot)
{
	return take(b, slot, false, true);
}

uint8_t mxc_change(struct mxc_build *b, uint8_t slot)
{
	return take(b, slot, true, true);
}

uint8_t mxc_get_or_none(struct mxc_build *b, uint8_t slot)
{
	return slot == MX_ZERO ? (uint8_t)MXC_NONE : mxc_get(b, slot);
}

void mxc_get_to(struct mxc_build *b, uint8_t reg, uint8_t slot)
{
	if (slot == MX_ZERO)
		mxc_imm(&b->a, reg, 0);
	else
		mxc_mov(&b->a, reg, mxc_get(b, slot));
}

void mxc_operand_to(struct mxc_build *b, uint8_t reg, const struct mx_op *op)
{
	if (op->index == MX_ZERO)
		mxc_imm(&b->a, reg, (uint64_t)op->imm);
	else
		mxc_get_to(b, reg, op->index);
}

uint8_t mxc_operand(struct mxc_build *b, const struct mx_op *op)
{
	if (op->index != MX_ZERO)
		return mxc_get(b, op->index);
	mxc_imm(&b->a, MXC_RCX, (uint64_t)op->imm);
	return MXC_RCX;
}

void mxc_put(struct mxc_build *b, const struct mx_op *op)
{
	if (op->width >= 4)
		mxc_rm(&b->a, op->width, 0x8b, mxc_set(b, op->dst), MXC_RAX);
	else
		mxc_rm(&b->a, op->width, op->width == 1 ? 0x8a : 0x8b, mxc_change(b, op->dst), MXC_RAX);
}
