// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/insn/x86-64/decode.h"

#include <string.h>

#include "trampolines/insn/x86-64/zydis.h"

enum {
	PREFIX_OPERAND_SIZE = 0x66,
	PREFIX_ADDRESS_SIZE = 0x67,
	RM_SIB = 4,
	RM_RIP = 5,
	REG_RSP = 4,
	GROWTH_MAX = 3,		/* a displacement of 8 bits that needs 32 */
};

static bool has_prefix(const ZydisDecodedInstruction *zi, uint8_t prefix)
{
	for (int i = 0; i < zi->raw.prefix_count; i++) {
		if (zi->raw.prefixes[i].value == prefix)
			return true;
	}
	return false;
}

/*
 * 0x66 before a near branch: Intel's processors ignore it, AMD's take a 16-bit displacement and
 * truncate RIP. REX.W overrides it (the linker's TLS sequences hold 66 66 48 e8).
 */
static bool vendors_differ(const ZydisDecodedInstruction *zi)
{
	return has_prefix(zi, PREFIX_OPERAND_SIZE) && !zi->raw.rex.W;
}

/*
 * The relocated form of an indirect call pushes the return address first and jumps then. By that
 * time RSP has moved by 8, which an operand relative to RSP has to make up for.
 */
static bool call_unmovable(const ZydisDecodedInstruction *zi)
{
	bool is_rsp;

	if (zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || vendors_differ(zi))
		return true;
	if (zi->raw.modrm.mod == 3)
		return zi->raw.modrm.rm == REG_RSP && !zi->raw.rex.B;
	is_rsp = zi->raw.modrm.rm == RM_SIB && zi->raw.sib.base == REG_RSP && !zi->raw.rex.B;
	if (!is_rsp)
		return false;
	/* Below RSP, the push would overwrite what the call is to read. */
	return has_prefix(zi, PREFIX_ADDRESS_SIZE) || zi->raw.disp.value < 0 ||
	       zi->raw.disp.value > INT32_MAX - 8 ||
	       zi->length > ZYDIS_MAX_INSTRUCTION_LENGTH - GROWTH_MAX;
}

static uint8_t relative_kind(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		return TRAMP_OP_JMP;
	case ZYDIS_MNEMONIC_CALL:
		return TRAMP_OP_CALL;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return TRAMP_OP_LOOP;
	default:
		return TRAMP_OP_JCC;
	}
}

static uint8_t other_kind(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return TRAMP_OP_CALL_IND;
	case ZYDIS_MNEMONIC_JMP:
		return TRAMP_OP_JMP_IND;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_RSM:
		return TRAMP_OP_RET;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return TRAMP_OP_STOP;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		return TRAMP_OP_TRAP;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
		return TRAMP_OP_SYSCALL;
	default:
		return TRAMP_OP_PLAIN;
	}
}

uint8_t tramp_zydis_kind(const ZydisDecodedInstruction *zi)
{
	return zi->raw.imm[0].is_relative ? relative_kind(zi) : other_kind(zi);
}

uint8_t tramp_zydis_gpr(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return (uint8_t)(reg - ZYDIS_REGISTER_RAX);
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (uint8_t)(reg - ZYDIS_REGISTER_EAX);
	if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
		return (uint8_t)(reg - ZYDIS_REGISTER_AX);
	if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
		return (uint8_t)(reg - ZYDIS_REGISTER_SPL + REG_RSP);
	if (tramp_zydis_is_high(reg))
		return (uint8_t)(reg - ZYDIS_REGISTER_AH);
	if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL)
		return (uint8_t)(reg - ZYDIS_REGISTER_AL);
	return TRAMP_NO_REG;
}

static bool decode(const uint8_t *code, size_t avail, ZydisDecodedInstruction *insn, ZydisDecodedOperand *operands)
{
	ZydisDecoderContext context;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, &context, code, avail, insn)))
		return false;
	return !operands || ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, insn, operands,
								    insn->operand_count));
}

bool tramp_zydis(const uint8_t *code, size_t avail, struct tramp_zydis *z)
{
	memset(z->o, 0, 3 * sizeof(z->o[0]));
	return decode(code, avail, &z->insn, z->o);
}

/* With VEX: jkzd and jknzd of Knights Corner, by mask registers. */
static bool is_odd_branch(const ZydisDecodedInstruction *zi)
{
	return zi->mnemonic == ZYDIS_MNEMONIC_XBEGIN || zi->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

static void note_relative_branch(const ZydisDecodedInstruction *zi, struct tramp_decoded *insn)
{
	insn->disp_offset = zi->raw.imm[0].offset;
	insn->disp_size = zi->raw.imm[0].size / 8;
	insn->rel = (int32_t)zi->raw.imm[0].value.s;
	insn->unmovable = vendors_differ(zi) || is_odd_branch(zi);
}

static void note_rip_operand(const ZydisDecodedInstruction *zi, struct tramp_decoded *insn)
{
	if (!insn->modrm_offset || zi->raw.modrm.mod != 0 || zi->raw.modrm.rm != RM_RIP ||
	    zi->raw.disp.size != 32)
		return;
	insn->rip_relative = true;
	if (insn->kind == TRAMP_OP_PLAIN)
		insn->kind = TRAMP_OP_RIP;
	insn->disp_offset = zi->raw.disp.offset;
	insn->disp_size = 4;
	insn->rel = (int32_t)zi->raw.disp.value;
	/* EIP-relative: the address is cut to 32 bits, no arena can stand in for that. */
	if (has_prefix(zi, PREFIX_ADDRESS_SIZE))
		insn->unmovable = true;
}

bool tramp_decode(const uint8_t *code, size_t avail, struct tramp_decoded *insn)
{
	ZydisDecodedInstruction zi;

	memset(insn, 0, sizeof(*insn));
	if (!decode(code, avail, &zi, NULL))
		return false;
	insn->length = zi.length;
	insn->kind = tramp_zydis_kind(&zi);
	insn->nop = zi.mnemonic == ZYDIS_MNEMONIC_NOP;
	insn->modrm_offset = zi.attributes & ZYDIS_ATTRIB_HAS_MODRM ? zi.raw.modrm.offset : 0;
	if (zi.raw.imm[0].is_relative) {
		note_relative_branch(&zi, insn);
		return true;
	}
	insn->unmovable = insn->kind == TRAMP_OP_CALL_IND && call_unmovable(&zi);
	note_rip_operand(&zi, insn);
	return true;
}

size_t tramp_endbr64_size(const uint8_t *code, size_t avail)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (avail < sizeof(endbr64) || memcmp(code, endbr64, sizeof(endbr64)) != 0)
		return 0;
	return sizeof(endbr64);
}

bool tramp_is_sigreturn(const uint8_t *code, size_t avail)
{
	static const uint8_t rex_form[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t short_form[] = { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 };

	return (avail >= sizeof(rex_form) && memcmp(code, rex_form, sizeof(rex_form)) == 0) ||
	       (avail >= sizeof(short_form) && memcmp(code, short_form, sizeof(short_form)) == 0);
}

size_t tramp_insn_length(const uint8_t *code, size_t avail)
{
	struct tramp_decoded insn;

	return tramp_decode(code, avail, &insn) ? insn.length : 0;
}

size_t tramp_insn_plain(const uint8_t *code, size_t avail)
{
	struct tramp_decoded insn;

	if (!tramp_decode(code, avail, &insn) || !tramp_op_is_straight(insn.kind) || insn.unmovable ||
	    insn.disp_size)
		return 0;
	return insn.length;
}
