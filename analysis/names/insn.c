// SPDX-License-Identifier: GPL-3.0-or-later
#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/hash.h"

/* By the numbers of DWARF. */
static int number_of(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RBP ? 6 : reg == ZYDIS_REGISTER_RSP ? 7 : -1;
}

/* Is the memory operand, implicit ones of pushes and returns included, by the register that the CFA is computed from? */
static void show_frame(struct nm_insn *i, const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand, const struct nm_rule *rule)
{
	const ZydisDecodedOperandMem *found = NULL;
	bool stores = false, hidden = false;

	for (unsigned int k = 0; k < insn->operand_count; k++) {
		const ZydisDecodedOperand *o = &operand[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		/* of two, as in "push [rsp + 8]", it is not known which an access is */
		if (found)
			return;
		found = &o->mem;
		stores = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	}
	i->below = found && number_of(found->base) == 7 && rule->reg == 6;
	if (!found || number_of(found->base) != rule->reg || found->segment == ZYDIS_REGISTER_FS || found->segment == ZYDIS_REGISTER_GS)
		return;
	i->shows_frame = true;
	i->varies = found->index != ZYDIS_REGISTER_NONE;
	i->to_cfa = rule->offset;
	if (!hidden)
		i->to_cfa -= found->disp.has_displacement ? found->disp.value : 0;
	else if (stores)
		i->to_cfa += (int64_t)insn->operand_width / 8; /* a push: below what the register was */
}

static void decode(struct nm *nm, struct nm_insn *i)
{
	struct nm_file *f = nm_file_at(nm, i->insn);
	size_t n;
	const unsigned char *bytes = f ? nm_file_bytes(f, i->insn, &n) : NULL;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	struct nm_rule rule;

	if (!bytes || ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &insn, operand)))
		return;
	if (insn.meta.category == ZYDIS_CATEGORY_CALL)
		i->returns = i->insn + insn.length;
	i->leaves = insn.meta.category == ZYDIS_CATEGORY_RET;
	if (nm_file_module(f) && nm_frame_rule(f, nm_file_address(f, i->insn), &rule))
		show_frame(i, &insn, operand, &rule);
}

static size_t slot_of(const struct nm *nm, uint64_t insn)
{
	return hash_slot(i, nm->room_insns, hash_word(insn), !nm->insn[i] || nm->insn[i]->insn == insn);
}

struct nm_insn *nm_insn(struct nm *nm, uint64_t insn)
{
	struct nm_insn *new;
	size_t slot;

	if (!hash_grow(nm->insn, nm->room_insns, nm->ninsns + 1, old, *old, &nm->insn[slot_of(nm, (*old)->insn)]))
		return NULL;
	slot = slot_of(nm, insn);
	if (nm->insn[slot])
		return nm->insn[slot];
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	new->insn = insn;
	decode(nm, new);
	nm->ninsns++;
	return nm->insn[slot] = new;
}
