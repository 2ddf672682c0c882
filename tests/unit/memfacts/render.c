// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memfacts/render.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
	"r13", "r14", "r15", "t0", "t1", "t2", "t3", "fs", "object",
};

struct out {
	char *text;
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->text + o->len, RENDER_MAX - o->len, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < RENDER_MAX - o->len)
		o->len += (size_t)n;
}

static const char *name(uint8_t reg)
{
	return reg == MD_NONE ? "0" : reg < MD_REGS ? names[reg] : "?";
}

static void put_sum(struct out *o, const struct md_op *op, uint8_t index, int64_t disp)
{
	bool some = op->base != MD_NONE || index != MD_NONE;

	if (op->base != MD_NONE)
		put(o, "%s%s", name(op->base), index != MD_NONE ? "+" : "");
	if (index != MD_NONE)
		put(o, op->scale ? "%s*%u" : "%s", name(index), 1u << op->scale);
	if (disp || !some)
		put(o, some ? "%+" PRId64 : "%" PRId64, disp);
}

static void put_kind(struct out *o, uint8_t kind, uint64_t bytes)
{
	put(o, "%c%" PRIu64 "%s", "LSMP"[kind & MD_KIND], bytes, kind & MD_STACK ? "!" : "");
}

static void put_lanes(struct out *o, const struct md_op *op)
{
	static const char *const masks[] = { "none", "vector", "bits", "bytes" };

	put(o, "%s ", op->code == MD_GATHER ? "gather" :
		      op->code == MD_PACKED ? "packed" : "masked");
	put_kind(o, op->dst, op->width);
	put(o, "x%u ", MD_LANES_COUNT(op->imm));
	if (op->code == MD_GATHER)
		put(o, "index%u*%u ", MD_LANES_INDEX(op->imm), 1u << op->scale);
	put(o, "%s [", masks[MD_LANES_MASK(op->imm) & 3]);
	put_sum(o, op, op->index, (int32_t)(uint32_t)op->imm);
	put(o, "]");
}

static void put_string(struct out *o, const struct md_op *op)
{
	static const char *const strings[] = { "movs", "stos", "lods", "cmps", "scas" };

	put(o, "%s%s%u", op->index == MD_NONE ? "" : op->scale ? "until " : "rep ",
	    strings[op->dst], op->width);
}

static void put_selection(struct out *o, const struct md_op *op)
{
	put(o, "if%u:", op->scale);
	if (op->index != MD_NONE)
		put(o, "%s", name(op->index));
	else
		put(o, "%" PRId64, op->imm);
	put(o, ":%s", name(op->base));
}

static void put_computing(struct out *o, const struct md_op *op)
{
	static const char *const signs[] = { [MD_SUB] = "-", [MD_AND] = "&", [MD_OR] = "|",
					     [MD_XOR] = "^", [MD_MUL] = "*", [MD_SHL] = "<<",
					     [MD_SHR] = ">>", [MD_SAR] = ">>>",
					     [MD_ROL] = "<<<", [MD_MULHU] = "*^",
					     [MD_MULHS] = "*s^" };

	put(o, "%s.%u=", name(op->dst), op->width);
	if (op->code == MD_LEA)
		put_sum(o, op, op->index, op->imm);
	else if (op->code == MD_BSWAP)
		put(o, "bswap(%s)", name(op->base));
	else if (op->code == MD_SELECT)
		put_selection(o, op);
	else if (op->code == MD_SEXT || op->code == MD_ZEXT)
		put(o, "%s%s(%s)", op->code == MD_SEXT ? "sext" : "zext", op->scale ? "32" : "",
		    name(op->base));
	else if (op->index != MD_NONE)
		put(o, "%s%s%s", name(op->base), signs[op->code], name(op->index));
	else
		put(o, "%s%s%" PRId64, name(op->base), signs[op->code], op->imm);
}

static void put_op(struct out *o, const struct md_op *op, const struct md_op *before)
{
	switch (op->code) {
	case MD_SIZE:
		return;
	case MD_ACCESS:
		put_kind(o, op->dst, op->width ? op->width : (uint64_t)before->imm);
		put(o, " [");
		put_sum(o, op, op->index, op->imm);
		put(o, "]");
		break;
	case MD_STRING:
		put_string(o, op);
		break;
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		put_lanes(o, op);
		break;
	default:
		put_computing(o, op);
	}
	put(o, "; ");
}

static void put_extras(struct out *o, const struct tramp_mem_facts *f)
{
	static const char *const what[] = { "xmm", "ymm", "zmm", "low", "k", "after", "mm" };

	for (int i = 0; i < f->nextras; i++)
		put(o, "%s%u:%u; ", what[f->extras[i].what], f->extras[i].reg, f->extras[i].bytes);
}

static void put_kills(struct out *o, const struct tramp_mem_facts *f)
{
	for (int r = 0; r < 16; r++) {
		if (f->kills >> r & 1)
			put(o, "%s%s%s ", names[r], f->narrow_u32 >> r & 1 ? ".u" : "",
			    f->narrow_s32 >> r & 1 ? ".s" : "");
	}
}

static void put_flags(struct out *o, const struct tramp_mem_facts *f)
{
	if (f->flags_effect != TRAMP_FLAGS_KNOWN) {
		put(o, "%s", f->flags_effect == TRAMP_FLAGS_KEPT ? "kept" : "unknown");
		return;
	}
	put(o, "%s%u(%s,", f->flags.dst == MD_FLAGS_SUB ? "sub" : "and", f->flags.width,
	    name(f->flags.base));
	if (f->flags.index == MD_NONE)
		put(o, "%" PRId64, f->flags.imm);
	else
		put(o, "%s", name(f->flags.index));
	put(o, ")%s %04x", f->flags_after ? " after" : "", f->flags_valid);
}

void render_facts(const struct tramp_mem_facts *f, char text[RENDER_MAX])
{
	struct out o = { .text = text };

	text[0] = '\0';
	if (f->unmodelled) {
		put(&o, "unmodelled");
		return;
	}
	for (int i = 0; i < f->nops; i++)
		put_op(&o, &f->ops[i], i ? &f->ops[i - 1] : &f->ops[i]);
	put_extras(&o, f);
	put(&o, "| ");
	for (int i = 0; i < f->ncomputes; i++)
		put_op(&o, &f->computes[i], NULL);
	put(&o, "| ");
	put_kills(&o, f);
	put(&o, "| ");
	put_flags(&o, f);
}
