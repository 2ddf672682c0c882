// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <string.h>
#include <xxhash.h>

#include "injector/signatures/sigmask.h"

#ifndef R_X86_64_CODE_4_GOTPCRELX
#define R_X86_64_CODE_4_GOTPCRELX 43
#endif
#define R_X86_64_GNU_VTINHERIT 250
#define R_X86_64_GNU_VTENTRY 251

/* What the types cover that are not in sequences: bytes before the value, and of it. */
static const struct rule {
	uint8_t type, before, len, kind;
} rules[] = {
	{ R_X86_64_64, 0, 8, SIG_REF_OPAQUE }, /* of position-independent code the value is not there */
	{ R_X86_64_PC32, 0, 4, SIG_REF_RELATIVE },
	{ R_X86_64_PLT32, 0, 4, SIG_REF_RELATIVE },
	{ R_X86_64_32, 0, 4, SIG_REF_ABSOLUTE },
	{ R_X86_64_32S, 0, 4, SIG_REF_ABSOLUTE },
	{ R_X86_64_16, 0, 2, SIG_REF_OPAQUE },
	{ R_X86_64_PC16, 0, 2, SIG_REF_OPAQUE },
	{ R_X86_64_8, 0, 1, SIG_REF_OPAQUE },
	{ R_X86_64_PC8, 0, 1, SIG_REF_OPAQUE },
	{ R_X86_64_GOT32, 0, 4, SIG_REF_OPAQUE },
	{ R_X86_64_DTPOFF32, 0, 4, SIG_REF_OPAQUE }, /* becomes TPOFF32 */
	{ R_X86_64_TPOFF32, 0, 4, SIG_REF_OPAQUE },
	{ R_X86_64_DTPOFF64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_TPOFF64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_PC64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_GOTOFF64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_GOTPC32, 0, 4, SIG_REF_OPAQUE },
	{ R_X86_64_GOT64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_GOTPCREL64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_GOTPC64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_GOTPLT64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_PLTOFF64, 0, 8, SIG_REF_OPAQUE },
	{ R_X86_64_SIZE32, 0, 4, SIG_REF_OPAQUE },
	{ R_X86_64_SIZE64, 0, 8, SIG_REF_OPAQUE },
	/* op, modrm: call and jmp become direct with a prefix or a nop, mov a lea or mov of a constant, others with a constant */
	{ R_X86_64_GOTPCRELX, 2, 6, SIG_REF_GOT },
	{ R_X86_64_REX_GOTPCRELX, 3, 7, SIG_REF_GOT },
	{ R_X86_64_CODE_4_GOTPCRELX, 4, 8, SIG_REF_GOT },
	{ R_X86_64_GOTTPOFF, 3, 7, SIG_REF_OPAQUE },	     /* rex, mov or add, modrm: a constant's */
	{ R_X86_64_GOTPC32_TLSDESC, 3, 7, SIG_REF_OPAQUE },  /* lea becomes mov */
	{ R_X86_64_TLSDESC_CALL, 0, 2, SIG_REF_OPAQUE },     /* call *(%rax) becomes a nop */
	{ R_X86_64_TLSGD, 4, 16, SIG_REF_OPAQUE },	     /* 66 48 8d 3d VALUE, then eight bytes that are a call */
};

static const struct rule *find_rule(uint32_t type)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

static bool cover(struct sig_ref *ref, uint64_t at, size_t len, const struct rule *rule)
{
	if (at < rule->before || at - rule->before > len || rule->len > len - (at - rule->before))
		return false;
	*ref = (struct sig_ref){ .start = (uint32_t)(at - rule->before), .len = rule->len, .at = (uint32_t)at,
				 .kind = rule->kind, .symbol = SIG_NONE };
	return true;
}

/* 48 8d 3d VALUE, then a call: e8 and four bytes, or ff 15 and four; becomes one instruction of the same length. */
static bool cover_local_dynamic(struct sig_ref *ref, const uint8_t *code, size_t len, uint64_t at)
{
	bool indirect = at + 4 < len && code[at + 4] == 0xff;

	return cover(ref, at, len, &(struct rule){ 0, 3, indirect ? 13 : 12, SIG_REF_OPAQUE });
}

/* Without X linkers change only mov, and older ones did so whatever its prefix. */
static bool cover_got(struct sig_ref *ref, const uint8_t *code, size_t len, uint64_t at)
{
	if (at >= 3 && at < len && code[at - 2] == 0x8b && (code[at - 3] & 0xf0) == 0x40)
		return cover(ref, at, len, &(struct rule){ 0, 3, 7, SIG_REF_GOT });
	if (at >= 2 && at < len && code[at - 2] == 0x8b)
		return cover(ref, at, len, &(struct rule){ 0, 2, 6, SIG_REF_GOT });
	return cover(ref, at, len, &(struct rule){ 0, 0, 4, SIG_REF_OPAQUE });
}

bool inj_sig_mask(uint32_t type, const uint8_t *code, size_t len, uint64_t at, struct sig_ref *ref)
{
	const struct rule *rule;

	*ref = (struct sig_ref){ .symbol = SIG_NONE };
	switch (type) {
	case R_X86_64_NONE:
	case R_X86_64_GNU_VTINHERIT:
	case R_X86_64_GNU_VTENTRY:
		return true;
	case R_X86_64_TLSLD:
		return cover_local_dynamic(ref, code, len, at);
	case R_X86_64_GOTPCREL:
		return cover_got(ref, code, len, at);
	default:
		rule = find_rule(type);
		return rule && cover(ref, at, len, rule);
	}
}

/* ---- linked code ---- */

static uint32_t word_at(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

static uint64_t relative(const uint8_t *code, uint64_t addr)
{
	return addr + (uint64_t)(int64_t)(int32_t)word_at(code);
}

/* call *VALUE or jmp *VALUE, or what has become of it: op is its second byte but one before the value. */
static bool got_branch(const uint8_t *p, uint64_t addr, uint64_t *target)
{
	bool suffix = p[0] == 0xe8 || p[0] == 0xe9, prefix = p[0] == 0x67 && p[1] == 0xe8;

	if (suffix)	/* e8 VALUE 90, e9 VALUE 90 */
		*target = relative(p + 1, addr + 5);
	else if (prefix) /* 67 e8 VALUE */
		*target = relative(p + 2, addr + 6);
	return suffix || prefix;
}

/* mov VALUE, %reg as lea VALUE(%rip), or with a constant; the others as their form with a constant. */
static bool got_load(const uint8_t *value, uint64_t addr, uint64_t *target)
{
	uint8_t op = value[-2], modrm = value[-1];

	if (op == 0x8d && (modrm & 0xc7) == 0x05)
		*target = relative(value, addr + 4);
	else if ((op == 0xc7 || op == 0xf7 || op == 0x81) && (modrm & 0xc0) == 0xc0)
		*target = (uint64_t)(int64_t)(int32_t)word_at(value);
	else
		return false;
	return true;
}

static bool is_branch(const uint8_t *value, uint32_t at)
{
	return (at >= 1 && (value[-1] == 0xe8 || value[-1] == 0xe9)) || (at >= 2 && value[-2] == 0x0f && (value[-1] & 0xf0) == 0x80);
}

bool inj_sig_target(const struct sig_ref *ref, const uint8_t *code, uint64_t addr, uint64_t *target, bool *branch)
{
	const uint8_t *value = code + ref->at;

	*branch = false;
	switch (ref->kind) {
	case SIG_REF_RELATIVE:
		*branch = is_branch(value, ref->at);
		*target = relative(value, addr + ref->at) - (uint64_t)ref->addend;
		return true;
	case SIG_REF_ABSOLUTE:
		*target = (uint64_t)(int64_t)(int32_t)word_at(value) - (uint64_t)ref->addend;
		return true;
	case SIG_REF_GOT:
		if (ref->len == 6 && got_branch(value - 2, addr + ref->start, target))
			return *branch = true;
		return got_load(value, addr + ref->at, target);
	default:
		return false;
	}
}

bool inj_sig_is_plt(const uint8_t *code, uint64_t left, uint64_t addr, uint64_t *slot)
{
	static const uint8_t endbr[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = left >= 4 && memcmp(code, endbr, sizeof(endbr)) == 0 ? 4 : 0;

	if (left > at && code[at] == 0xf2) /* bnd */
		at++;
	if (left < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	*slot = relative(code + at + 2, addr + at + 6);
	return true;
}

/* ---- bytes as numbers ---- */

uint8_t inj_sig_prefix(uint32_t fixed)
{
	return fixed >= 32 ? 32 : fixed >= 16 ? 16 : fixed >= 8 ? 8 : fixed >= 4 ? 4 : 0;
}

uint32_t inj_sig_key(const uint8_t *code, uint8_t prefix, uint32_t first_len)
{
	uint64_t h = prefix ? XXH3_64bits(code, prefix) : XXH3_64bits(&first_len, sizeof(first_len));

	return (uint32_t)(h >> 32);
}

uint64_t inj_sig_hash(const uint8_t *code, uint32_t len, const struct sig_ref *refs, size_t nrefs, uint8_t *room)
{
	memcpy(room, code, len);
	for (size_t i = 0; i < nrefs; i++)
		memset(room + refs[i].start, 0, refs[i].len);
	return XXH3_64bits_withSeed(room, len, len);
}
