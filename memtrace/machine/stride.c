// SPDX-License-Identifier: MIT
/*
 * Computes loops of one node: their trip counts, and all of their addresses.
 */
#include "memtrace/machine/loop.h"

#define FOREVER UINT64_MAX
/* No program gets there. */
#define ENDLESS (1ull << 44)

static uint64_t eval(const struct mt_form *f, const uint64_t *sym)
{
	uint64_t v = f->imm;

	for (unsigned int i = 0; i < f->n; i++)
		v += f->times[i] * sym[f->sym[i]];
	return v;
}

static uint64_t eval_stride(const struct mt_form *f, const uint64_t *sym)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < f->n; i++)
		v += f->times[i] * sym[f->sym[i]];
	return v;
}

static uint64_t over(uint64_t a, uint64_t b)
{
	return b & (b - 1) ? a / b : a >> __builtin_ctzll(b);
}

/* How many of x, x + s, x + 2s, ... come one after the other that are in [lo, hi], before one is not. */
static uint64_t within(uint64_t lo, uint64_t hi, uint64_t x, uint64_t s)
{
	uint64_t n;

	if (lo > hi || x < lo || x > hi)
		return 0;
	if (s == 0)
		return FOREVER;
	n = (int64_t)s > 0 ? over(hi - x, s) : over(x - lo, -s);
	return n == FOREVER ? FOREVER - 1 : n + 1;
}

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a * 3 ^ 2;		/* right in 5 bits */

	for (int i = 0; i < 4; i++)
		x *= 2 - a * x;
	return x;
}

/* The least n with d + n * s = 0 modulo 2^64. */
static uint64_t meets(uint64_t d, uint64_t s)
{
	unsigned int zeros;
	uint64_t odd;

	if (d == 0)
		return 0;
	if (s == 0)
		return FOREVER;
	if (s >> 63) {
		d = -d;
		s = -s;
	}
	zeros = (unsigned int)__builtin_ctzll(s);
	if (d & ((1ull << zeros) - 1))
		return FOREVER;
	odd = s >> zeros;
	return (-d >> zeros) * (odd == 1 ? 1 : inverse(odd)) & (~0ull >> zeros);
}

/* a < b as long as yes, or a >= b as long as not; one of both stays as it is. */
static uint64_t below(bool yes, uint64_t a, uint64_t sa, uint64_t b, uint64_t sb)
{
	if (sb == 0)
		return yes ? (b ? within(0, b - 1, a, sa) : 0) : within(b, UINT64_MAX, a, sa);
	if (sa == 0 && yes)
		return a == UINT64_MAX ? 0 : within(a + 1, UINT64_MAX, b, sb);
	return sa == 0 ? within(0, a, b, sb) : 0;
}

/* How often the condition is sure to say to go on, one time after the other. */
static uint64_t trips(unsigned int half, bool yes, uint64_t a, uint64_t sa, uint64_t b, uint64_t sb)
{
	const uint64_t sign = 1ull << 63;
	uint64_t d = a - b, s = sa - sb;

	switch (half) {
	case 1:
		return below(yes, a, sa, b, sb);
	case 2:
		if (!yes)
			return meets(d, s);
		return d ? 0 : s ? 1 : FOREVER;
	case 3:
		return below(!yes, b, sb, a, sa);
	case 4:
		return yes ? within(sign, UINT64_MAX, d, s) : within(0, sign - 1, d, s);
	case 6:
		return below(yes, a ^ sign, sa, b ^ sign, sb);
	case 7:
		return below(!yes, b ^ sign, sb, a ^ sign, sa);
	default:
		return 0;
	}
}

static uint64_t extended(uint64_t v, unsigned int bits)
{
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

/* Sets a cut's symbol; in so many iterations it does not wrap around. */
static uint64_t set_cut(struct mt_machine *m, const struct mt_cut *c, unsigned int sym)
{
	uint64_t half = 1ull << (c->bits - 1), v = eval(&c->form, m->reg), s = eval_stride(&c->form, m->stride);
	uint64_t low = v & (half * 2 - 1);

	s = extended(s, c->bits);
	m->stride[sym] = s;
	m->reg[sym] = c->sign ? extended(v, c->bits) : low;
	return within(0, half * 2 - 1, c->sign ? low ^ half : low, s);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * A narrow register is, at the second iteration and later, what a cut was in the one before: so it has to be like one at
 * the first.
 */
static bool fits(const struct mt_machine *m, const struct mt_induction *g)
{
	uint64_t v = m->reg[g->reg];

	return !g->narrow || (!(v >> 32) && !((v + m->stride[g->reg]) >> 32));
}

/* Sets all symbols; says in how many iterations they are what they are said to be. */
static uint64_t set_symbols(struct mt_machine *m, const struct mt_loop *loop)
{
	uint64_t n = FOREVER;

	for (unsigned int i = 0; i < loop->ninductions; i++) {
		const struct mt_induction *g = &loop->inductions[i];
		uint64_t by = eval(&g->by, m->reg);

		m->stride[g->reg] = g->narrow ? extended(by, 32) : by;
		if (!fits(m, g))
			n = 0;
	}
	for (unsigned int i = 0; i < loop->ncuts; i++)
		n = least(n, set_cut(m, &loop->cuts[i], MT_SYM_CUT + i));
	return n;
}

static void clear_strides(struct mt_machine *m, const struct mt_loop *loop, uint64_t n)
{
	for (unsigned int i = 0; i < loop->ninductions; i++) {
		uint8_t reg = loop->inductions[i].reg;

		m->reg[reg] += n * m->stride[reg];
		m->stride[reg] = 0;
	}
}

/* One access of all iterations: every @gap places in @v. */
static inline __attribute__((always_inline)) void
fill(struct mt_access *v, size_t gap, uint64_t n, const struct mt_column *c, uint64_t at, uint64_t by,
     const uint8_t *words, size_t step, uint8_t value)
{
	const uint64_t insn = c->op->insn, times = c->times;
	uint64_t meta;

	__builtin_memcpy(&meta, &c->op->size, 8);
	for (; n; n--) {
		uint64_t x = 0;

		if (value == MD_VALUE)
			x = mt_load8(words);
		else if (value == MD_VALUE_U32)
			x = mt_load4(words);
		else if (value == MD_VALUE_S32)
			x = (uint64_t)(int64_t)(int32_t)mt_load4(words);
		v->addr = at + x * times;
		__builtin_memcpy(&v->size, &meta, 8);
		v->insn = insn;
		v += gap;
		at += by;
		if (value != MD_CODES)
			words += step;
	}
}

static void fill_column(struct mt_access *v, size_t gap, uint64_t n, const struct mt_column *c,
			const struct mt_machine *m, const uint8_t *words, size_t step)
{
	uint64_t at = eval(&c->form, m->reg), by = eval_stride(&c->form, m->stride);

	switch (c->value) {
	case MD_VALUE:
		fill(v, gap, n, c, at, by, words + c->offset, step, MD_VALUE);
		break;
	case MD_VALUE_U32:
		fill(v, gap, n, c, at, by, words + c->offset, step, MD_VALUE_U32);
		break;
	case MD_VALUE_S32:
		fill(v, gap, n, c, at, by, words + c->offset, step, MD_VALUE_S32);
		break;
	default:
		fill(v, gap, n, c, at, by, NULL, 0, MD_CODES);
	}
}

/* A column without a value, as one access that is repeated. */
static struct mt_access *repeat_column(struct mt_access *v, uint64_t n, const struct mt_column *c, const struct mt_machine *m)
{
	v[0] = (struct mt_access){ .addr = eval(&c->form, m->reg), .size = c->op->size, .kind = c->op->kind | MD_REPEATED, .insn = c->op->insn };
	v[1] = (struct mt_access){ .addr = eval_stride(&c->form, m->stride), .size = (uint32_t)n, .kind = MD_REPEAT, .insn = c->op->insn };
	return v + 2;
}

static struct mt_access *fill_repeats(struct mt_access *v, uint64_t n, const struct mt_machine *m, const struct mt_loop *loop, const uint8_t *words)
{
	for (uint32_t i = 0; i < loop->ncolumns; i++) {
		const struct mt_column *c = &loop->columns[i];

		if (c->value == MD_CODES) {
			v = repeat_column(v, n, c, m);
			continue;
		}
		fill_column(v, 1, n, c, m, words, loop->words);
		v += n;
	}
	return v;
}

static struct mt_access *fill_all(struct mt_access *v, uint64_t n, const struct mt_machine *m, const struct mt_loop *loop, const uint8_t *words)
{
	for (uint32_t i = 0; i < loop->ncolumns; i++)
		fill_column(v + i, loop->ncolumns, n, &loop->columns[i], m, words, loop->words);
	return v + n * loop->ncolumns;
}

/*
 * How many iterations there is room for as repeats; 0: not even for one, or there are to be none.  Only what is proven to come to its end may be handed
 * out as a whole.
 */
static size_t repeats_fit(const struct mt_machine *m, const struct mt_loop *loop, size_t room)
{
	const size_t fixed = 2 * (size_t)(loop->ncolumns - loop->nvalued);

	if (!m->repeats || m->phase != MT_WORDS || loop->ordered || room < fixed + 2 * loop->nvalued)
		return 0;
	return loop->nvalued ? least((room - fixed) / loop->nvalued, UINT32_MAX) : UINT32_MAX;
}

uint64_t mt_loop_run(struct mt_machine *m, const struct mt_loop *loop, size_t max, const uint8_t *words,
		     struct mt_access **v, const struct mt_access *end)
{
	const size_t room = v ? (size_t)(end - *v) : 0, repeats = v ? repeats_fit(m, loop, room) : 0;
	uint64_t n = set_symbols(m, loop);
	unsigned int shift = loop->shift;

	if (v && loop->ncolumns)
		max = least(max, repeats ? repeats : room / loop->ncolumns);
	if (n)
		n = least(n, trips(loop->half, loop->yes, eval(&loop->a, m->reg) << shift,
				   eval_stride(&loop->a, m->stride) << shift,
				   eval(&loop->b, m->reg) << shift,
				   eval_stride(&loop->b, m->stride) << shift));
	if (n >= ENDLESS && max == SIZE_MAX) {
		clear_strides(m, loop, 0);
		return UINT64_MAX;
	}
	n = least(n, max);
	if (v && n)
		*v = (repeats && n > 2 ? fill_repeats : fill_all)(*v, n, m, loop, words);
	clear_strides(m, loop, n);
	return n;
}

void mt_loop_count(struct mt_counts *counts, const struct mt_node *node, bool stack, uint64_t n)
{
	const uint64_t mask = ~(~0ull << MT_PACKED_BITS);

	for (unsigned int kind = MD_LOAD; kind <= MD_MODIFY; kind++) {
		counts->accesses[kind] += (node->sums[!stack][0] >> kind * MT_PACKED_BITS & mask) * n;
		counts->bytes[kind] += (node->sums[!stack][1] >> kind * MT_PACKED_BITS & mask) * n;
	}
}

size_t mt_loop_near(const struct mt_machine *m, const struct mt_loop *loop)
{
	size_t max = SIZE_MAX - 1;
	bool tells = false;

	for (unsigned int i = 0; i < loop->ninductions; i++) {
		const struct mt_induction *g = &loop->inductions[i];
		uint64_t by = eval(&g->by, m->reg), n;

		if (g->reg >= 16 || !(m->stop_live >> g->reg & 1))
			continue;
		n = meets(m->reg[g->reg] - m->at.regs[g->reg], g->narrow ? extended(by, 32) : by);
		/* Within the iteration it may have grown already. */
		max = least(max, n == FOREVER ? n : n > 2 ? n - 2 : 0);
		tells = true;
	}
	return tells ? max : 0;	/* no register tells iterations apart: it may be this one */
}
