// SPDX-License-Identifier: MIT
/*
 * The machine's operations, one by one, with everything that can happen in between.
 */
#include "memtrace/machine/state.h"

/* ---- computing ---- */

static uint64_t low(uint64_t v, unsigned int width)
{
	return width == 8 ? v : v & ((1ull << width * 8) - 1);
}

static uint64_t extended(uint64_t v, unsigned int width)
{
	unsigned int shift = 64 - width * 8;

	return (uint64_t)((int64_t)(v << shift) >> shift);
}

static void put(uint64_t *dst, uint64_t v, unsigned int width)
{
	if (width >= 4)
		*dst = low(v, width);
	else
		*dst = (*dst & ~low(UINT64_MAX, width)) | low(v, width);
}

static uint64_t shifted(const struct mt_op *op, unsigned int code, uint64_t a, uint64_t b)
{
	unsigned int n = b & (op->width == 8 ? 63 : 31);

	switch (code) {
	case MD_SHL:
		return a << n;
	case MD_SHR:
		return low(a, op->width) >> n;
	default:
		return (uint64_t)((int64_t)extended(a, op->width) >> n);
	}
}

static uint64_t rotated(uint64_t a, uint64_t b, unsigned int width)
{
	unsigned int bits = width * 8, n = b & (bits - 1);

	a = low(a, width);
	return n ? a << n | a >> (bits - n) : a;
}

/* The product's upper half; of 128 bits, in pieces of 32. */
static uint64_t upper_half(uint64_t a, uint64_t b, unsigned int width)
{
	uint64_t low_part, middle, other;

	a = low(a, width);
	b = low(b, width);
	if (width < 8)
		return a * b >> width * 8;
	low_part = (uint32_t)a * (b & UINT32_MAX);
	middle = (a >> 32) * (b & UINT32_MAX) + (low_part >> 32);
	other = (a & UINT32_MAX) * (b >> 32) + (uint32_t)middle;
	return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

/* That of signed numbers is less by what their signs, taken for ones, have added. */
static uint64_t signed_upper_half(uint64_t a, uint64_t b, unsigned int width)
{
	uint64_t v = upper_half(a, b, width), sign = 1ull << (width * 8 - 1);

	return v - (a & sign ? b : 0) - (b & sign ? a : 0);
}

static uint64_t reversed(uint64_t a, unsigned int width)
{
	return __builtin_bswap64(a) >> (64 - width * 8);
}

static void extend(uint64_t *reg, const struct mt_op *op, unsigned int code)
{
	uint64_t v = reg[op->base];

	v = code == MD_SEXT ? extended(v, op->width) : low(v, op->width);
	reg[op->dst] = op->scale == 2 ? (uint32_t)v : v;
}

static uint64_t address(const uint64_t *reg, const struct mt_op *op)
{
	return reg[op->base] + (reg[op->index] << op->scale) + (uint64_t)op->imm;
}

static uint64_t operand(const uint64_t *reg, const struct mt_op *op)
{
	return op->index == MT_ZERO ? (uint64_t)op->imm : reg[op->index];
}

void mt_compute(uint64_t *reg, const struct mt_flags *flags, const struct mt_op *op, unsigned int code)
{
	uint64_t a = reg[op->base], b = operand(reg, op), v;

	switch (code) {
	case MD_LEA:
		v = address(reg, op);
		break;
	case MD_SUB:
		v = a - b;
		break;
	case MD_AND:
		v = a & b;
		break;
	case MD_OR:
		v = a | b;
		break;
	case MD_XOR:
		v = a ^ b;
		break;
	case MD_MUL:
		v = a * b;
		break;
	case MD_ROL:
		v = rotated(a, b, op->width);
		break;
	case MD_MULHU:
		v = upper_half(a, b, op->width);
		break;
	case MD_MULHS:
		v = signed_upper_half(a, b, op->width);
		break;
	case MD_BSWAP:
		v = reversed(a, op->width);
		break;
	case MD_SELECT:
		v = mt_condition(flags, op->scale) ? b : a;
		break;
	case MD_SEXT:
	case MD_ZEXT:
		extend(reg, op, code);
		return;
	default:
		v = shifted(op, code, a, b);
	}
	put(&reg[op->dst], v, op->width);
}

/* ---- flags ---- */

static void set_flags(struct mt_flags *flags, const uint64_t *reg, const struct mt_op *op)
{
	uint64_t a = reg[op->base], b = operand(reg, op);
	unsigned int shift = 64 - op->width * 8u;

	if (op->dst == MD_FLAGS_AND) {
		a &= b;
		b = 0;
	}
	*flags = (struct mt_flags){ .a = a << shift, .b = b << shift, .shift = (uint8_t)shift };
}

static bool raw_condition(uint64_t rflags, unsigned int cc)
{
	bool carry = rflags & 1, parity = rflags >> 2 & 1, zero = rflags >> 6 & 1;
	bool sign = rflags >> 7 & 1, overflow = rflags >> 11 & 1;

	switch (cc >> 1) {
	case 0:
		return overflow;
	case 1:
		return carry;
	case 2:
		return zero;
	case 3:
		return carry || zero;
	case 4:
		return sign;
	case 5:
		return parity;
	case 6:
		return sign != overflow;
	default:
		return zero || sign != overflow;
	}
}

static bool compared(const struct mt_flags *f, unsigned int cc)
{
	uint64_t d = f->a - f->b;

	switch (cc >> 1) {
	case 0:
		return ((f->a ^ f->b) & (f->a ^ d)) >> 63;
	case 1:
		return f->a < f->b;
	case 2:
		return d == 0;
	case 3:
		return f->a <= f->b;
	case 4:
		return d >> 63;
	case 5:
		d = d >> f->shift & 0xff;
		d ^= d >> 4;
		return ~(0x6996u >> (d & 15)) & 1;
	case 6:
		return (int64_t)f->a < (int64_t)f->b;
	default:
		return (int64_t)f->a <= (int64_t)f->b;
	}
}

bool mt_condition(const struct mt_flags *flags, unsigned int cc)
{
	bool yes = flags->raw ? raw_condition(flags->a, cc) : compared(flags, cc);

	return yes != (cc & 1);
}

/* ---- accesses ---- */

static bool emit_more(struct mt_sink *sink, uint64_t addr, uint32_t size, uint8_t kind, uint64_t insn, uint64_t times)
{
	if (sink->counts) {
		if (kind != MD_FETCH && kind != MD_TIME && (sink->stack || !(kind & MD_STACK))) {
			sink->counts->accesses[kind & MD_KIND] += times;
			sink->counts->bytes[kind & MD_KIND] += size * times;
		}
		return true;
	}
	if (sink->v == sink->end)
		return false;
	*sink->v++ = (struct mt_access){ .addr = addr, .size = size, .kind = kind, .insn = insn };
	return true;
}

static bool emit(struct mt_sink *sink, uint64_t addr, uint32_t size, uint8_t kind, uint64_t insn)
{
	return emit_more(sink, addr, size, kind, insn, 1);
}

/* ---- strings ---- */

/* The accesses of one element, at @reg's rsi and rdi; all are of `times` elements when they are counted. */
struct element {
	uint8_t n;
	struct {
		uint8_t reg, kind;
	} v[2];
};

static const struct element elements[] = {
	[MD_MOVS] = { 2, { { 6, MD_LOAD }, { 7, MD_STORE } } },
	[MD_STOS] = { 1, { { 7, MD_STORE } } },
	[MD_LODS] = { 1, { { 6, MD_LOAD } } },
	[MD_CMPS] = { 2, { { 6, MD_LOAD }, { 7, MD_LOAD } } },
	[MD_SCAS] = { 1, { { 7, MD_LOAD } } },
};

static bool emit_element(struct mt_machine *m, struct mt_sink *sink, const struct mt_op *op, uint64_t times)
{
	const struct element *e = &elements[op->dst];

	for (; m->place.done < e->n; m->place.done++) {
		unsigned int i = m->place.done;

		if (!emit_more(sink, m->reg[e->v[i].reg], op->width, e->v[i].kind, op->insn, times))
			return false;
	}
	m->place.done = 0;
	return true;
}

static void move_on(struct mt_machine *m, const struct mt_op *op, uint64_t times)
{
	const struct element *e = &elements[op->dst];
	uint64_t by = op->width * times;

	if (m->reg[op->base] & 1)
		by = -by;
	for (unsigned int i = 0; i < e->n; i++)
		m->reg[e->v[i].reg] += by;
}

static enum mt_step repeat(struct mt_machine *m, struct mt_sink *sink, const struct mt_op *op, uint64_t until)
{
	uint64_t *left = &m->reg[1];

	while (*left != until) {
		uint64_t times = sink->counts ? *left - until : 1;

		if (!emit_element(m, sink, op, times))
			return MT_FULL;
		move_on(m, op, times);
		*left -= times;
	}
	return MT_STEP;
}

static enum mt_step string(struct mt_machine *m, struct mt_sink *sink, const struct mt_op *op)
{
	uint64_t until = 0;

	if (op->index == MT_ZERO) {
		if (!emit_element(m, sink, op, 1))
			return MT_FULL;
		move_on(m, op, 1);
		return MT_STEP;
	}
	if (op->words) {
		until = mt_load8(m->words);
		if (until > m->reg[1])
			return MT_ERROR;
	}
	return repeat(m, sink, op, until);
}

/* ---- lanes ---- */

static bool lane_set(const struct mt_op *op, const uint8_t *mask, unsigned int lane)
{
	switch (op->lanes & 15) {
	case MD_MASK_VECTOR:
		return mask[lane * op->width + op->width - 1u] >> 7;
	case MD_MASK_BITS:
		return mask[lane >> 3] >> (lane & 7) & 1;
	case MD_MASK_BYTES:
		return mask[lane] >> 7;
	}
	return true;
}

static uint64_t lane_index(const struct mt_op *op, const uint8_t *vector, unsigned int lane)
{
	if (op->lanes >> 4 == 8)
		return mt_load8(vector + lane * 8);
	return (uint64_t)(int64_t)(int32_t)mt_load4(vector + lane * 4);
}

static uint32_t vector_bytes(const struct mt_op *op)
{
	return op->code == MD_GATHER ? op->dst * (uint32_t)(op->lanes >> 4) : 0;
}

static enum mt_step lanes(struct mt_machine *m, struct mt_sink *sink, const struct mt_op *op)
{
	const uint8_t *vector = m->words, *mask = m->words + vector_bytes(op);
	uint64_t base = m->reg[op->base] + (uint64_t)op->imm, at;
	unsigned int packed = 0;

	if (op->code != MD_GATHER)
		base += m->reg[op->index] << op->scale;
	for (unsigned int lane = 0; lane < op->dst; lane++) {
		if (!lane_set(op, mask, lane))
			continue;
		if (op->code == MD_GATHER)
			at = base + (lane_index(op, vector, lane) << op->scale);
		else
			at = base + op->width * (op->code == MD_PACKED ? packed : lane);
		packed++;
		if (lane < m->place.done)
			continue;
		if (!emit(sink, at, op->size, op->kind, op->insn)) {
			m->place.done = lane;
			return MT_FULL;
		}
	}
	m->place.done = 0;
	return MT_STEP;
}

/* ---- all ---- */

static void value(struct mt_machine *m, const struct mt_op *op)
{
	uint64_t *dst = &m->reg[op->dst];

	if (op->code == MD_VALUE)
		*dst = mt_load8(m->words);
	else if (op->code == MD_VALUE_U32)
		*dst = mt_load4(m->words);
	else
		*dst = (uint64_t)(int64_t)(int32_t)mt_load4(m->words);
}

static enum mt_step run_op(struct mt_machine *m, struct mt_sink *sink, const struct mt_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		value(m, op);
		return MT_STEP;
	case MD_FLAGS:
		set_flags(&m->flags, m->reg, op);
		return MT_STEP;
	case MD_ACCESS:
		return emit(sink, address(m->reg, op), op->size, op->kind, op->insn) ? MT_STEP : MT_FULL;
	case MD_STRING:
		return string(m, sink, op);
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return lanes(m, sink, op);
	}
	mt_compute(m->reg, &m->flags, op, op->code);
	return MT_STEP;
}

static bool next_word(const struct mt_machine *m, uint32_t *word)
{
	const uint8_t *at = m->words, *end = m->end;

	if (at == end && m->phase == MT_CARRY && m->after == MT_WORDS) {
		at = m->chunk;
		end = m->chunk_end;
	}
	if (end - at < 4)
		return false;
	*word = mt_load4(at);
	return true;
}

/* Is its header the next word, or interrupted before that was written?  Where no word follows, there is none of it. */
static bool comes_next(const struct mt_machine *m, const struct mt_node *node)
{
	uint32_t word;

	return next_word(m, &word) ? word == node->id : m->phase == MT_INTERRUPT && mt_place_before(m, node);
}

static void leave(struct mt_machine *m, const struct mt_op *end)
{
	const struct mt_node *next = NULL;

	if (end->code == MD_GOTO)
		next = end->target;
	else if (end->code == MD_IF)
		next = mt_condition(&m->flags, end->scale) ? end->target : end->other;
	else if (end->code == MD_PEEK)
		next = comes_next(m, end->target) ? end->target : end->other;
	m->place = (struct mt_place){ .node = next };
	m->proven = false;
}

/* The words that @op takes: are there as many? */
static bool words_missing(struct mt_machine *m, const struct mt_op *op, bool *skip)
{
	*skip = op->words && m->place.skip;
	if (!*skip)
		return (size_t)(m->end - m->words) < op->words;
	if (m->place.skip < op->words)
		return true;
	m->place.skip -= op->words;
	return false;
}

/* MT_STEP: this is not the place. */
static enum mt_step interrupted(struct mt_machine *m, struct mt_sink *sink)
{
	const struct mt_op *op = &m->place.node->ops[m->place.op];
	enum mt_step step;

	switch (mt_place_reached(m)) {
	case MT_REACHED:
		return MT_THERE;
	case MT_REACHED_STRING:
		step = repeat(m, sink, op, m->at.regs[1]);
		return step == MT_STEP ? MT_THERE : step;
	default:
		return MT_STEP;
	}
}

enum mt_step mt_run_ops(struct mt_machine *m, struct mt_sink *sink)
{
	const struct mt_node *node = m->place.node;
	enum mt_step step = MT_STEP;
	bool skip;

	for (; m->place.op < node->nops; m->place.op++) {
		const struct mt_op *op = &node->ops[m->place.op];

		if (m->phase == MT_INTERRUPT)
			step = interrupted(m, sink);
		if (step != MT_STEP)
			return step;
		if (words_missing(m, op, &skip))
			return MT_ERROR;
		if (skip)
			continue;
		step = run_op(m, sink, op);
		if (step != MT_STEP)
			return step;
		m->words += op->words;
	}
	if (m->phase == MT_INTERRUPT)
		step = interrupted(m, sink);
	if (step == MT_STEP)
		leave(m, mt_end(node));
	return step;
}
