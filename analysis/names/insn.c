// SPDX-License-Identifier: GPL-3.0-or-later
#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/hash.h"

static void decode(struct nm *nm, struct nm_insn *i)
{
	struct nm_file *f = nm_file_at(nm, i->insn);
	size_t n;
	const unsigned char *bytes = f ? nm_file_bytes(f, i->insn, &n) : NULL;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	if (!bytes || ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &insn, operand)))
		return;
	if (insn.meta.category == ZYDIS_CATEGORY_CALL)
		i->returns = i->insn + insn.length;
}

static size_t slot_of(const struct nm *nm, uint64_t insn)
{
	return hash_slot(i, nm->room_insns, hash_word(insn), !nm->insn[i] || nm->insn[i]->insn == insn);
}

const struct nm_insn *nm_insn(struct nm *nm, uint64_t insn)
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
