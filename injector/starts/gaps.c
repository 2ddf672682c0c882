// SPDX-License-Identifier: GPL-3.0-or-later
/* Code between functions: padding, and what comes after it. */
#include "config.h"

#include <string.h>

#include "base/search.h"
#include "injector/starts/starts.h"
#include "trampolines/insn/x86-64/decode.h"

#define INT3 0xcc
#define NOP 0x90
#define RET 0xc3
#define ALIGNMENT 16
#define JUMP_SLOT 6	/* bytes: push or jmp *slot(%rip) */
#define PLT_MIN 16	/* bytes of an entry, but for those of .plt.got */
#define PUSH_JUMP 10	/* push $index; jmp */
#define FRAME_SIZE 4	/* push %rbp; mov %rsp,%rbp */

/* Bytes of one instruction of padding at p[0]; 0: something else. */
static size_t padding_size(const uint8_t *p, size_t left)
{
	struct tramp_decoded insn;

	if (*p == INT3 || *p == 0)
		return 1;
	if (tramp_endbr64_size(p, left) || !tramp_decode(p, left, &insn) || !insn.nop)
		return 0;
	return insn.length;
}

/*
 * An entry of a PLT, where no section says that it is one: jmp *slot, with push $index; jmp PLT after it, or after the push *slot
 * of the first entry.  0: something else.
 */
static size_t plt_size(const struct inj_cf *cf, uint64_t addr, const uint8_t *p, size_t left)
{
	size_t at;

	if (left < PLT_MIN || !inj_cf_is_plt(cf, addr))
		return 0;
	at = inj_codefacts_prefix(p, left);
	if (p[at] == 0xff && p[at + 1] == 0x35)
		at += JUMP_SLOT + inj_codefacts_prefix(p + at + JUMP_SLOT, left - at - JUMP_SLOT);
	at += JUMP_SLOT;
	if (at + PUSH_JUMP <= left && p[at] == 0x68 && p[at + 5] == 0xe9)
		at += PUSH_JUMP;
	return at <= left ? at : 0;
}

bool inj_starts_in_plt(const struct inj_cf *cf, uint64_t addr)
{
	const uint8_t *p = inj_elf_get(&cf->file, addr - JUMP_SLOT, JUMP_SLOT + 2);

	return p && p[0] == 0xff && p[1] == 0x25 && (p[JUMP_SLOT] == 0x68 || (p[JUMP_SLOT] == 0x66 && p[JUMP_SLOT + 1] == NOP));
}

uint64_t inj_starts_padding(const struct inj_cf *cf, uint64_t addr, uint64_t end)
{
	const struct tramp_bytes *code = inj_cf_code(cf, addr);
	size_t size;

	if (!code)
		return addr;
	end = end < code->addr + code->len ? end : code->addr + code->len;
	while (addr < end) {
		const uint8_t *p = code->bytes + (addr - code->addr);

		size = padding_size(p, (size_t)(end - addr));
		size = size ? size : plt_size(cf, addr, p, (size_t)(end - addr));
		if (!size)
			break;
		addr += size;
	}
	return addr < end ? addr : end;
}

static bool is_end(const struct tramp_decoded *insn)
{
	switch (insn->kind) {
	case TRAMP_OP_RET:
	case TRAMP_OP_JMP:
	case TRAMP_OP_JMP_IND:
	case TRAMP_OP_CALL: /* that does not return */
	case TRAMP_OP_STOP:
	case TRAMP_OP_TRAP:
		return true;
	default:
		return false;
	}
}

uint64_t inj_starts_orphans(const struct inj_cf *cf, uint64_t addr, uint64_t end)
{
	const struct tramp_bytes *code = inj_cf_code(cf, addr);
	bool over = false;
	uint64_t last = 0;

	if (!code || end > code->addr + code->len)
		return 0;
	while (addr < end) {
		const uint8_t *p = code->bytes + (addr - code->addr);
		size_t size = padding_size(p, (size_t)(end - addr));
		struct tramp_decoded insn;

		if (!size) {
			if (!tramp_decode(p, (size_t)(end - addr), &insn))
				return 0;
			size = insn.length;
			if (insn.disp_size && !insn.rip_relative && insn.kind != TRAMP_OP_CALL && addr + size + (uint64_t)(int64_t)insn.rel == end)
				return 0;
			over = is_end(&insn);
			last = addr + size;
		}
		addr += size;
	}
	return over && addr == end ? last : 0;
}

bool inj_starts_like_entry(const struct inj_cf *cf, uint64_t addr)
{
	static const struct {
		uint8_t len, bytes[4], mask; /* of the last byte */
	} forms[] = {
		{ 1, { 0x50 }, 0xf8 },		     /* push %rax .. %rdi */
		{ 2, { 0x41, 0x50 }, 0xf8 },	     /* push %r8 .. %r15 */
		{ 3, { 0x48, 0x83, 0xec }, 0xff },   /* sub $imm8, %rsp */
		{ 3, { 0x48, 0x81, 0xec }, 0xff },   /* sub $imm32, %rsp */
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfa }, 0xff }, /* endbr64 */
	};
	uint64_t left;
	const uint8_t *p = inj_elf_at(&cf->file, addr, &left);

	for (size_t i = 0; p && i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t last = forms[i].len - 1u;

		if (left > last && memcmp(p, forms[i].bytes, last) == 0 && (p[last] & forms[i].mask) == forms[i].bytes[last])
			return true;
	}
	return false;
}

bool inj_starts_like_pad(const struct inj_cf *cf, uint64_t addr)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(&cf->file, addr, &left);
	size_t at = p ? tramp_endbr64_size(p, left) : 0;

	return p && left - at >= 3 && (p[at] == 0x48 || p[at] == 0x49) && p[at + 1] == 0x89 && (p[at + 2] & 0xf8) == 0xc0;
}

enum inj_prologue inj_starts_prologue(const struct inj_cf *cf, uint64_t addr)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(&cf->file, addr, &left);
	size_t at = p ? tramp_endbr64_size(p, left) : 0;

	if (!p || left - at < FRAME_SIZE)
		return INJ_PROLOGUE_NONE;
	p += at;
	if (p[0] == 0x55 && (memcmp(p + 1, "\x48\x89\xe5", 3) == 0 || memcmp(p + 1, "\x48\x8b\xec", 3) == 0))
		return INJ_PROLOGUE_FRAME;
	if ((p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50) || (p[0] == 0x48 && (p[1] == 0x83 || p[1] == 0x81) && p[2] == 0xec))
		return INJ_PROLOGUE_STACK;
	return INJ_PROLOGUE_NONE;
}

/* Calls @each for every stretch of code that no known function has, padding at its beginning left out. */
static void each_gap(const struct inj_cf *cf, void (*each)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	size_t k = 0;

	for (size_t i = 0; i < cf->nbytes; i++) {
		const struct tramp_bytes *code = &cf->bytes[i];
		uint64_t at = code->addr, end = code->addr + code->len;

		if (!code->code)
			continue;
		while (at < end) {
			uint64_t to;

			while (k < cf->nfns && cf->fns[k].addr + cf->fns[k].size <= at)
				k++;
			to = k < cf->nfns && cf->fns[k].addr < end ? cf->fns[k].addr : end;
			if (to > at)
				at = inj_starts_padding(cf, at, to);
			if (at < to)
				each(arg, at, to);
			at = to < end ? to + cf->fns[k].size : end;
		}
	}
}

static void count(void *arg, uint64_t from, uint64_t to)
{
	*(uint64_t *)arg += to - from;
}

uint64_t inj_starts_uncovered(const struct inj_cf *cf)
{
	uint64_t bytes = 0;

	each_gap(cf, count, &bytes);
	return bytes;
}

/* After what may be padding, or the end of a function. */
static bool is_after_end(const struct tramp_bytes *code, uint64_t addr)
{
	uint8_t before = code->bytes[addr - 1 - code->addr];

	return before == RET || before == INT3 || before == NOP || before == 0;
}

/* In [from, to), places that are aligned and begin like functions: those that are none are found out. */
static void suppose_all(struct inj_starts *s, uint64_t from, uint64_t to)
{
	const struct tramp_bytes *code = inj_cf_code(s->cf, from);

	for (uint64_t at = (from + ALIGNMENT) / ALIGNMENT * ALIGNMENT; at < to; at += ALIGNMENT)
		if (is_after_end(code, at) && inj_starts_like_entry(s->cf, at))
			inj_starts_add(s, at, INJ_FN_BY_GAP, false);
}

/* What is after the starts that lie in [from, to), up to the next one each.  Adding may move all starts: these are copies. */
static void suppose(void *arg, uint64_t from, uint64_t to)
{
	struct inj_starts *s = arg;
	uint64_t first = to;

	for (size_t i = search_first(k, s->settled, s->v[k].addr >= from); i < s->settled && s->v[i].addr < to; i++) {
		const struct inj_start start = s->v[i];
		uint64_t at;

		if (start.dead)
			continue;
		first = start.addr < first ? start.addr : first;
		at = inj_starts_padding(s->cf, start.end, start.limit);
		if (at < start.limit) {
			inj_starts_add(s, at, INJ_FN_BY_GAP, false);
			suppose_all(s, at, start.limit);
		}
	}
	if (first > from) {
		inj_starts_add(s, from, INJ_FN_BY_GAP, false);
		suppose_all(s, from, first);
	}
}

bool inj_starts_gaps(struct inj_starts *s)
{
	size_t n = s->n;

	each_gap(s->cf, suppose, s);
	return s->n > n;
}
