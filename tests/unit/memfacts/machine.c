// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memfacts/machine.h"

#include <string.h>

static uint64_t reg(const struct mm *m, uint8_t n)
{
	return n < MD_REGS ? m->r[n] : 0;
}

static uint64_t low(uint64_t v, unsigned int bytes)
{
	return bytes >= 8 ? v : v & ((UINT64_C(1) << 8 * bytes) - 1);
}

static int64_t sign(uint64_t v, unsigned int bytes)
{
	unsigned int gone = 64 - 8 * bytes;

	return (int64_t)(v << gone) >> gone;
}

static void set(struct mm *m, const struct md_op *op, uint64_t v)
{
	if (op->dst >= MD_FS) {
		m->failed = true;
		return;
	}
	if (op->width < 4)
		m->r[op->dst] = (m->r[op->dst] & ~low(UINT64_MAX, op->width)) | low(v, op->width);
	else
		m->r[op->dst] = low(v, op->width);
}

static uint64_t rotate(uint64_t v, unsigned int n, unsigned int bytes)
{
	for (; n; n--)
		v = low(v << 1, bytes) | v >> (8 * bytes - 1);
	return v;
}

static uint64_t reverse(uint64_t v, unsigned int bytes)
{
	uint64_t r = 0;

	for (; bytes; bytes--, v >>= 8)
		r = r << 8 | (v & 0xff);
	return r;
}

static uint64_t compute(const struct mm *m, const struct md_op *op)
{
	uint64_t a = reg(m, op->base);
	uint64_t b = op->index == MD_NONE ? (uint64_t)op->imm : reg(m, op->index);
	unsigned int count = (unsigned int)b & (op->width == 8 ? 63 : 31);

	switch (op->code) {
	case MD_LEA:
		return a + (reg(m, op->index) << op->scale) + (uint64_t)op->imm;
	case MD_SUB:
		return a - b;
	case MD_AND:
		return a & b;
	case MD_OR:
		return a | b;
	case MD_XOR:
		return a ^ b;
	case MD_MUL:
		return a * b;
	case MD_SHL:
		return a << count;
	case MD_SHR:
		return low(a, op->width) >> count;
	case MD_ROL:
		return rotate(low(a, op->width), (unsigned int)b % (8 * op->width), op->width);
	case MD_MULHU:
		return (uint64_t)((unsigned __int128)low(a, op->width) * low(b, op->width) >> 8 * op->width);
	case MD_MULHS:
		return (uint64_t)((__int128)sign(a, op->width) * sign(b, op->width) >> 8 * op->width);
	case MD_BSWAP:
		return reverse(a, op->width);
	case MD_SELECT:
		return m->conds >> op->scale & 1 ? b : a;
	default:
		return (uint64_t)(sign(a, op->width) >> count);
	}
}

static void extend(struct mm *m, const struct md_op *op)
{
	uint64_t v = reg(m, op->base);

	v = op->code == MD_SEXT ? (uint64_t)sign(v, op->width) : low(v, op->width);
	m->r[op->dst] = op->scale == 2 ? low(v, 4) : v;
}

static void add_access(struct mm *m, uint64_t addr, uint64_t size, uint8_t kind)
{
	if (m->naccesses == MM_ACCESSES)
		m->failed = true;
	else
		m->accesses[m->naccesses++] = (struct mm_access){ addr, size, kind };
}

static void string_step(struct mm *m, const struct md_op *op)
{
	uint64_t step = m->down ? -(uint64_t)op->width : op->width;
	uint64_t *rsi = &m->r[6], *rdi = &m->r[7];

	if (op->dst == MD_MOVS || op->dst == MD_LODS || op->dst == MD_CMPS)
		add_access(m, *rsi, op->width, MD_LOAD);
	if (op->dst == MD_CMPS || op->dst == MD_SCAS)
		add_access(m, *rdi, op->width, MD_LOAD);
	if (op->dst == MD_MOVS || op->dst == MD_STOS)
		add_access(m, *rdi, op->width, MD_STORE);
	if (op->dst != MD_STOS && op->dst != MD_SCAS)
		*rsi += step;
	if (op->dst != MD_LODS)
		*rdi += step;
}

static void string(struct mm *m, const struct md_op *op)
{
	uint64_t count = 1, after = 0;

	if (op->index != MD_NONE) {
		if (op->scale) {
			memcpy(&after, m->stream, 8);
			m->stream += 8;
		}
		count = m->r[1] - after;
		m->r[1] = after;
	}
	while (count-- && !m->failed)
		string_step(m, op);
}

/* Bit i: lane i is accessed. */
static uint64_t take_mask(struct mm *m, const struct md_op *op, unsigned int lanes)
{
	unsigned int kind = MD_LANES_MASK(op->imm), bytes = kind == MD_MASK_VECTOR ? op->width : 1;
	uint64_t mask = 0;

	if (kind == MD_MASK_NONE)
		return UINT64_MAX;
	if (kind == MD_MASK_BITS) {
		memcpy(&mask, m->stream, 8);
		m->stream += 8;
		return mask;
	}
	for (unsigned int i = 0; i < lanes; i++)
		mask |= (uint64_t)(m->stream[(i + 1) * bytes - 1] >> 7) << i;
	m->stream += (lanes * bytes + 3) & ~3u;
	return mask;
}

static int64_t lane_index(const uint8_t *vector, unsigned int i, unsigned int bytes)
{
	uint64_t v = 0;

	memcpy(&v, vector + i * bytes, bytes);
	return sign(v, bytes);
}

static void lanes(struct mm *m, const struct md_op *op)
{
	unsigned int n = MD_LANES_COUNT(op->imm), index = MD_LANES_INDEX(op->imm), packed = 0;
	uint64_t at = reg(m, op->base) + (uint64_t)(int64_t)(int32_t)(uint32_t)op->imm, mask;
	const uint8_t *vector = m->stream;

	if (op->code == MD_GATHER)
		m->stream += n * index;
	else
		at += reg(m, op->index) << op->scale;
	mask = take_mask(m, op, n);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t off = (uint64_t)i * op->width;

		if (!(mask >> i & 1))
			continue;
		if (op->code == MD_GATHER)
			off = (uint64_t)lane_index(vector, i, index) << op->scale;
		else if (op->code == MD_PACKED)
			off = (uint64_t)packed++ * op->width;
		add_access(m, at + off, op->width, op->dst);
	}
}

static void access_one(struct mm *m, const struct md_op *op)
{
	add_access(m, reg(m, op->base) + (reg(m, op->index) << op->scale) + (uint64_t)op->imm,
		   op->width ? op->width : m->size, op->dst);
}

void mm_run(struct mm *m, const struct md_op *ops, size_t nops)
{
	for (const struct md_op *op = ops; op < ops + nops; op++) {
		switch (op->code) {
		case MD_LEA:
		case MD_SUB:
		case MD_AND:
		case MD_OR:
		case MD_XOR:
		case MD_MUL:
		case MD_SHL:
		case MD_SHR:
		case MD_SAR:
		case MD_ROL:
		case MD_MULHU:
		case MD_MULHS:
		case MD_BSWAP:
		case MD_SELECT:
			set(m, op, compute(m, op));
			break;
		case MD_SEXT:
		case MD_ZEXT:
			extend(m, op);
			break;
		case MD_SIZE:
			m->size = (uint64_t)op->imm;
			break;
		case MD_ACCESS:
			access_one(m, op);
			break;
		case MD_STRING:
			string(m, op);
			break;
		case MD_MASKED:
		case MD_GATHER:
		case MD_PACKED:
			lanes(m, op);
			break;
		default:
			m->failed = true;
		}
	}
}

static uint16_t conditions(bool cf, bool pf, bool zf, bool sf, bool of)
{
	bool yes[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };
	uint16_t set = 0;

	for (unsigned int i = 0; i < 8; i++)
		set |= (uint16_t)(1u << (2 * i + !yes[i]));
	return set;
}

uint16_t mm_conditions(const struct mm *m, const struct md_op *f)
{
	uint64_t a = low(reg(m, f->base), f->width);
	uint64_t b = low(f->index == MD_NONE ? (uint64_t)f->imm : reg(m, f->index), f->width);
	uint64_t v = low(f->dst == MD_FLAGS_SUB ? a - b : a & b, f->width);
	bool minus = f->dst == MD_FLAGS_SUB, sf = sign(v, f->width) < 0;
	bool of = minus && sign((a ^ b) & (a ^ v), f->width) < 0;

	return conditions(minus && a < b, !(__builtin_popcountll(v & 0xff) & 1), v == 0, sf, of);
}

uint16_t mm_conditions_of(uint64_t rflags)
{
	return conditions(rflags & 1, rflags >> 2 & 1, rflags >> 6 & 1, rflags >> 7 & 1,
			  rflags >> 11 & 1);
}
