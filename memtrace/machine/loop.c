// SPDX-License-Identifier: MIT
/*
 * Finds loops that can be computed, when their description is added.
 */
#include "memtrace/machine/loop.h"

struct maker {
	const struct mt_node *node;
	struct mt_column *columns;
	struct mt_form reg[MT_SLOTS];	/* as it is now */
	uint32_t written, read;		/* read: as it was at the beginning */
	uint8_t nvalues, value[MT_VALUES];	/* enum md_code */
	uint16_t offset[MT_VALUES], words;
	bool compared;
	struct mt_loop loop;		/* without its columns */
};

/* ---- sums ---- */

static struct mt_form constant(uint64_t imm)
{
	return (struct mt_form){ .imm = imm };
}

static struct mt_form symbol(uint8_t sym)
{
	return (struct mt_form){ .n = 1, .sym = { sym }, .times = { 1 } };
}

static bool add_term(struct mt_form *f, uint8_t sym, uint64_t times)
{
	unsigned int i = 0;

	while (i < f->n && f->sym[i] != sym)
		i++;
	if (i == f->n) {
		if (i == MT_TERMS)
			return false;
		f->sym[f->n] = sym;
		f->times[f->n++] = 0;
	}
	f->times[i] += times;
	if (f->times[i] == 0) {
		f->n--;
		f->sym[i] = f->sym[f->n];
		f->times[i] = f->times[f->n];
	}
	return true;
}

static bool add(struct mt_form *f, const struct mt_form *g, uint64_t times)
{
	f->imm += g->imm * times;
	for (unsigned int i = 0; i < g->n; i++) {
		if (!add_term(f, g->sym[i], g->times[i] * times))
			return false;
	}
	return true;
}

static bool is_symbol(const struct mt_form *f)
{
	return f->n == 1 && f->times[0] == 1 && f->imm == 0;
}

static bool is_value(uint8_t sym)
{
	return sym >= MT_SYM_VALUE;
}

static bool has_value(const struct mt_form *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (is_value(f->sym[i]))
			return true;
	}
	return false;
}

/* ---- operations ---- */

static const struct mt_form *get(struct maker *k, uint8_t slot)
{
	if (slot < MT_ZERO && !(k->written >> slot & 1))
		k->read |= 1u << slot;
	return &k->reg[slot];
}

/* Is it that already? */
static bool is_cut(const struct maker *k, const struct mt_form *f, uint8_t bits, bool sign)
{
	uint8_t sym = f->sym[0];

	if (!is_symbol(f))
		return false;
	if (is_value(sym))
		return bits >= 32 && k->value[sym - MT_SYM_VALUE] == (sign ? MD_VALUE_S32 : MD_VALUE_U32);
	return sym >= MT_SYM_CUT && k->loop.cuts[sym - MT_SYM_CUT].sign == sign &&
	       k->loop.cuts[sym - MT_SYM_CUT].bits <= bits;
}

static bool cut(struct maker *k, struct mt_form *f, uint8_t bits, bool sign)
{
	if (bits == 64 || is_cut(k, f, bits, sign))
		return true;
	if (has_value(f) || k->loop.ncuts == MT_CUTS)
		return false;
	k->loop.cuts[k->loop.ncuts] = (struct mt_cut){ .form = *f, .bits = bits, .sign = sign };
	*f = symbol((uint8_t)(MT_SYM_CUT + k->loop.ncuts++));
	return true;
}

static bool put(struct maker *k, uint8_t dst, const struct mt_form *f)
{
	k->written |= 1u << dst;
	k->reg[dst] = *f;
	return true;
}

static bool sum(struct maker *k, const struct mt_op *op, struct mt_form *f)
{
	*f = constant((uint64_t)op->imm);
	return add(f, get(k, op->base), 1) && add(f, get(k, op->index), 1ull << op->scale);
}

static bool difference(struct maker *k, const struct mt_op *op, struct mt_form *f)
{
	*f = *get(k, op->base);
	if (op->index == MT_ZERO) {
		f->imm -= (uint64_t)op->imm;
		return true;
	}
	return add(f, get(k, op->index), UINT64_MAX);
}

static bool product(struct maker *k, const struct mt_op *op, struct mt_form *f)
{
	unsigned int n = op->imm & (op->width == 8 ? 63 : 31);

	*f = constant(0);
	return op->index == MT_ZERO &&
	       add(f, get(k, op->base), op->code == MD_SHL ? 1ull << n : (uint64_t)op->imm);
}

static bool extension(struct maker *k, const struct mt_op *op)
{
	struct mt_form f = *get(k, op->base);

	return cut(k, &f, (uint8_t)(op->width * 8), op->code == MD_SEXT) &&
	       (op->scale != 2 || cut(k, &f, 32, false)) && put(k, op->dst, &f);
}

static bool computing(struct maker *k, const struct mt_op *op)
{
	struct mt_form f;
	bool simple;

	switch (op->code) {
	case MD_SEXT:
	case MD_ZEXT:
		return extension(k, op);
	case MD_LEA:
		simple = sum(k, op, &f);
		break;
	case MD_SUB:
		simple = difference(k, op, &f);
		break;
	case MD_MUL:
	case MD_SHL:
		simple = product(k, op, &f);
		break;
	default:
		return false;
	}
	return simple && op->width >= 4 && cut(k, &f, (uint8_t)(op->width * 8), false) && put(k, op->dst, &f);
}

static bool value(struct maker *k, const struct mt_op *op)
{
	struct mt_form f = symbol((uint8_t)(MT_SYM_VALUE + k->nvalues));

	if (k->nvalues == MT_VALUES)
		return false;
	k->value[k->nvalues] = op->code;
	k->offset[k->nvalues++] = k->words;
	k->words = (uint16_t)(k->words + op->words);
	return put(k, op->dst, &f);
}

static bool comparison(struct maker *k, const struct mt_op *op)
{
	k->loop.a = *get(k, op->base);
	k->loop.b = op->index == MT_ZERO ? constant((uint64_t)op->imm) : *get(k, op->index);
	k->loop.shift = (uint8_t)(64 - op->width * 8);
	k->compared = true;
	if (op->dst == MD_FLAGS_AND) {
		if (op->base != op->index)
			return false;
		k->loop.b = constant(0);
	}
	return !has_value(&k->loop.a) && !has_value(&k->loop.b);
}

static bool access(struct maker *k, const struct mt_op *op)
{
	struct mt_column *c = &k->columns[k->loop.ncolumns++];

	*c = (struct mt_column){ .value = MD_CODES, .op = op };
	k->loop.ordered |= (op->kind & MD_KIND) > MD_PREFETCH;
	if (!sum(k, op, &c->form))
		return false;
	for (unsigned int i = 0; i < c->form.n; i++) {
		uint8_t v = (uint8_t)(c->form.sym[i] - MT_SYM_VALUE);

		if (!is_value(c->form.sym[i]))
			continue;
		c->value = k->value[v];
		c->offset = k->offset[v];
		c->times = c->form.times[i];
		k->loop.nvalued++;
		add_term(&c->form, c->form.sym[i], -c->times);
		break;
	}
	return !has_value(&c->form);
}

static bool operations(struct maker *k)
{
	for (uint32_t i = 0; i < k->node->nops; i++) {
		const struct mt_op *op = &k->node->ops[i];
		bool simple;

		switch (op->code) {
		case MD_VALUE:
		case MD_VALUE_U32:
		case MD_VALUE_S32:
			simple = value(k, op);
			break;
		case MD_FLAGS:
			simple = comparison(k, op);
			break;
		case MD_ACCESS:
			simple = access(k, op);
			break;
		default:
			simple = computing(k, op);
		}
		if (!simple)
			return false;
	}
	return k->compared;
}

/* ---- induction variables ---- */

/* Without cuts at 32 bits, which make no difference to what is cut at 32 bits itself. */
static bool uncut(const struct maker *k, struct mt_form *f)
{
	for (int depth = 0; f->n && depth < MT_CUTS; depth++) {
		struct mt_form g = constant(f->imm);
		bool cuts = false;

		for (unsigned int i = 0; i < f->n; i++) {
			bool is = f->sym[i] >= MT_SYM_CUT && f->sym[i] < MT_SYM_VALUE;
			const struct mt_cut *c = is ? &k->loop.cuts[f->sym[i] - MT_SYM_CUT] : NULL;
			struct mt_form s = symbol(f->sym[i]);

			if (c && c->bits != 32)
				return false;
			cuts |= is;
			if (!add(&g, c ? &c->form : &s, f->times[i]))
				return false;
		}
		*f = g;
		if (!cuts)
			return true;
	}
	return f->n == 0;
}

static bool invariant(const struct maker *k, const struct mt_form *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		if (f->sym[i] >= MT_SLOTS || k->written >> f->sym[i] & 1)
			return false;
	}
	return true;
}

static bool find_induction(struct maker *k, uint8_t reg)
{
	struct mt_induction *g = &k->loop.inductions[k->loop.ninductions];
	struct mt_form f = k->reg[reg];
	bool is = is_symbol(&f) && f.sym[0] >= MT_SYM_CUT && f.sym[0] < MT_SYM_VALUE;

	if (k->loop.ninductions == MT_INDUCTIONS)
		return false;
	g->narrow = is && k->loop.cuts[f.sym[0] - MT_SYM_CUT].bits == 32 &&
		    !k->loop.cuts[f.sym[0] - MT_SYM_CUT].sign;
	if (g->narrow && !uncut(k, &f))
		return false;
	if (!add_term(&f, reg, UINT64_MAX))
		return false;
	g->by = f;
	g->reg = reg;
	k->loop.ninductions++;
	return invariant(k, &f);
}

static bool find_inductions(struct maker *k)
{
	for (uint32_t regs = k->read & k->written; regs; regs &= regs - 1) {
		if (!find_induction(k, (uint8_t)__builtin_ctz(regs)))
			return false;
	}
	return true;
}

/* ---- making ---- */

static bool analyse(struct maker *k)
{
	const struct mt_op *end = mt_end(k->node);

	for (uint8_t r = 0; r < MT_ZERO; r++)
		k->reg[r] = symbol(r);
	k->loop.half = end->scale >> 1;
	k->loop.yes = (end->target == k->node) != (end->scale & 1);
	return operations(k) && find_inductions(k);
}

static bool candidate(const struct mt_node *node)
{
	const struct mt_op *end = mt_end(node);

	return node->fast && !node->header && end->code == MD_IF && end->target != end->other &&
	       (end->target == node || end->other == node) && node->accesses <= 64;
}

bool mt_loop_make(const struct mt_code *code, struct mt_node *node)
{
	struct mt_column columns[64];
	struct maker k = { .node = node, .columns = columns };
	struct mt_loop *loop;
	size_t bytes;

	if (!candidate(node) || !analyse(&k))
		return true;
	bytes = sizeof(*loop) + k.loop.ncolumns * sizeof(*columns);
	loop = mt_alloc(code, bytes);
	if (!loop)
		return false;
	*loop = k.loop;
	loop->bytes = bytes;
	loop->words = k.words;
	__builtin_memcpy(loop->columns, columns, k.loop.ncolumns * sizeof(*columns));
	node->loop = loop;
	return true;
}

void mt_loop_free(const struct mt_code *code, struct mt_node *node)
{
	if (node->loop)
		mt_release(code, (void *)(uintptr_t)node->loop, node->loop->bytes);
}
