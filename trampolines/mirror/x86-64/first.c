// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The stub, and what it leads to at first:
 *
 *	jmp  *word(%rip)
 * ask:	lea  -128(%rsp), %rsp		no flag is touched
 *	call *gate(%rip)		which looks for the descriptor at its return address
 *	descriptor
 * replay: ...
 */
#include <string.h>

#include "trampolines/insn/x86-64/emit.h"
#include "trampolines/mirror/first.h"

_Static_assert(RT_FIRST_DESC + sizeof(struct rt_first_desc) == RT_FIRST_REPLAY, "a stub");
_Static_assert((RT_FIRST_DESC + offsetof(struct rt_first_desc, undo)) % 8 == 0, "read while it is written");

static void add_piece(struct tramp_first_code *out, size_t start, uint8_t kind, uint64_t orig)
{
	out->pieces[out->npieces++] = (struct rt_piece){ .start = (uint32_t)start, .orig = (uint32_t)orig, .kind = kind };
}

static void note_pieces(const struct tramp_plan *plan, uint64_t object, uint64_t replay, struct tramp_first_code *out)
{
	uint64_t at = plan->patch_addr - object;

	out->npieces = 0;
	add_piece(out, 0, RT_PIECE_INSN, at);
	add_piece(out, RT_FIRST_ASK, RT_PIECE_SLOW, at);
	for (size_t i = 0; i < plan->ninsns; i++) {
		const struct tramp_insn *insn = &plan->insns[i];
		uint64_t copy = tramp_pc_to_replay(plan, replay, plan->patch_addr + insn->offset);
		bool same = insn->kind == TRAMP_OP_PLAIN || insn->kind == TRAMP_OP_RIP;

		add_piece(out, RT_FIRST_REPLAY + (copy - replay), same ? RT_PIECE_COPY : RT_PIECE_INSN, at + insn->offset);
	}
}

enum tramp_status tramp_emit_first(const struct tramp_first *f, const struct tramp_plan *plan, uint64_t object,
				   uint64_t addr, uint8_t *buf, struct tramp_first_code *out)
{
	static const uint8_t jmp[] = { 0xff, 0x25 }, call[] = { 0xff, 0x15 };
	static const uint8_t lea[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };
	static const uint8_t none[sizeof(struct rt_first_desc) - offsetof(struct rt_first_desc, pad)];
	struct tramp_out o = { .buf = buf, .room = TRAMP_FIRST_MAX, .addr = addr };
	uint64_t replay = addr + RT_FIRST_REPLAY;
	enum tramp_status status;
	size_t len;

	tramp_put_bytes(&o, jmp, sizeof(jmp));
	tramp_put_rel32(&o, f->word, 0);
	tramp_put_bytes(&o, lea, sizeof(lea));
	tramp_put_bytes(&o, call, sizeof(call));
	tramp_put_rel32(&o, f->gate, 0);
	tramp_put_u32(&o, f->index);
	tramp_put_u64(&o, f->word);
	tramp_put_bytes(&o, none, sizeof(none));
	if (o.status != TRAMP_OK)
		return o.status;
	status = tramp_emit_replay(plan, replay, buf + o.len, TRAMP_REPLAY_MAX, &len);
	if (status != TRAMP_OK)
		return status;
	note_pieces(plan, object, replay, out);
	if (plan->falls_through) {
		uint64_t back = tramp_replay_size(plan) - TRAMP_JUMP_SIZE;

		add_piece(out, RT_FIRST_REPLAY + back, RT_PIECE_INSN | RT_PIECE_RESUMABLE, plan->resume - object);
	}
	out->len = o.len + len;
	return TRAMP_OK;
}
