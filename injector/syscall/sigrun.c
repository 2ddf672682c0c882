// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A system call in code without symbols and unwind tables (a stripped musl).  Who jumps where is not
 * known there; but a branch into the few bytes at stake holds a displacement that leads there.  So every byte is
 * tried as the start of one, instruction or not: what is no branch may make us refuse, and nothing is missed.
 */
#include "config.h"

#include <string.h>

#include "injector/facts/facts.h"
#include "injector/syscall/sigsites.h"

#define SHORT_REACH 130 /* bytes of a short branch and of its displacement */
#define MAX_RUN 96

/* The bytes that must not be entered, as addresses in the file: ]start, end[ */
struct inside {
	uint64_t start, end;
};

static bool is_inside(const struct inside *in, uint64_t addr)
{
	return addr > in->start && addr < in->end;
}

static bool is_short_branch(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

static bool has_short_branch(const struct tramp_bytes *piece, const struct inside *in)
{
	uint64_t first = in->start - piece->addr, last = in->end - piece->addr + SHORT_REACH;

	first = first > SHORT_REACH ? first - SHORT_REACH : 0;
	for (uint64_t i = first; i < last && i + 2 <= piece->len; i++)
		if (is_short_branch(piece->bytes[i]) &&
		    is_inside(in, piece->addr + i + 2 + (uint64_t)(int64_t)(int8_t)piece->bytes[i + 1]))
			return true;
	return false;
}

static bool has_near_branch(const struct tramp_bytes *piece, const struct inside *in)
{
	for (size_t i = 0; i + 4 <= piece->len; i++) {
		int32_t rel;

		memcpy(&rel, piece->bytes + i, sizeof(rel));
		if (is_inside(in, piece->addr + i + 4 + (uint64_t)(int64_t)rel))
			return true;
	}
	return false;
}

static bool may_be_entered(const struct tramp_code *code, const struct inside *in)
{
	const struct tramp_facts *facts = tramp_code_facts(code);

	for (uint64_t addr = in->start + 1; addr < in->end; addr++)
		if (tramp_code_external(code, addr))
			return true;
	for (size_t i = 0; i < facts->nbytes; i++) {
		const struct tramp_bytes *piece = &facts->bytes[i];

		if (!piece->code)
			continue;
		if (has_near_branch(piece, in))
			return true;
		if (in->start >= piece->addr && in->start - piece->addr < piece->len &&
		    has_short_branch(piece, in))
			return true;
	}
	return false;
}

/* The instructions of code[from .. at], as far as the last ones are needed; false: one cannot be moved. */
static bool take_last(const uint8_t *code, size_t from, size_t at, struct inj_sigsite *site)
{
	uint8_t lens[MAX_RUN];
	size_t n = 0, len, need = TRAMP_JUMP_SIZE - INJ_SYSCALL_LEN, back = 0;

	for (; from < at && n < MAX_RUN; from += len, n++) {
		len = tramp_insn_length(code + from, at - from);
		if (!len)
			return false;
		lens[n] = (uint8_t)len;
	}
	for (site->nops = 0; back < need; site->nops++) {
		if (from != at || !n)
			return false;
		back += lens[--n];
		if (!tramp_insn_plain(code + at - back, lens[n]))
			return false;
		memmove(site->ops + 1, site->ops, site->nops * sizeof(*site->ops));
		site->ops[0] = (struct tramp_op){ .len = lens[n], .kind = TRAMP_OP_PLAIN };
	}
	for (uint32_t i = 0, off = site->end - INJ_SYSCALL_LEN - (uint32_t)back; i < site->nops; i++) {
		site->ops[i].off = off;
		off += site->ops[i].len;
	}
	site->ops[site->nops++] = (struct tramp_op){
		.off = site->end - INJ_SYSCALL_LEN, .len = INJ_SYSCALL_LEN, .kind = TRAMP_OP_SYSCALL,
	};
	return true;
}

bool inj_sigsite_in_run(const struct tramp_code *code, uint32_t off, struct inj_sigsite *site)
{
	uint64_t addr = tramp_code_base(code) + off;
	const struct tramp_facts *facts = tramp_code_facts(code);
	struct inside in;
	size_t from, at;

	*site = (struct inj_sigsite){ .end = off + INJ_SYSCALL_LEN };
	for (size_t i = 0; i < facts->nbytes; i++) {
		const struct tramp_bytes *piece = &facts->bytes[i];

		if (!piece->code || addr < piece->addr || addr - piece->addr >= piece->len)
			continue;
		at = addr - piece->addr;
		from = inj_codefacts_sigaction(piece->bytes, 0, at);
		if (from == at || !take_last(piece->bytes, from, at, site))
			return false;
		site->off = site->ops[0].off;
		in = (struct inside){ tramp_code_base(code) + site->off,
				      tramp_code_base(code) + site->end };
		return !may_be_entered(code, &in);
	}
	return false;
}
