// SPDX-License-Identifier: MIT
/*
 * Whole nodes at once, with nothing checked between their operations: what nearly all of the time goes into.
 */
#include "memtrace/machine/fast.h"
#include "memtrace/machine/loop.h"

/* ---- making ---- */

static bool flags_op(const struct mt_op *op, struct mt_op *at)
{
	*at = *op;
	at->code = op->dst == MD_FLAGS_SUB ? MT_FAST_SUB_FLAGS : MT_FAST_AND_FLAGS;
	at->scale = (uint8_t)(64 - op->width * 8);
	if (op->index != MT_ZERO)
		at->imm = 0;
	return true;
}

static uint8_t computing(const struct mt_op *op)
{
	if (op->code == MD_LEA && op->width == 8)
		return op->index == MT_ZERO ? MT_FAST_ADD : MT_FAST_LEA;
	if (op->code == MD_LEA && op->width == 4 && op->index == MT_ZERO)
		return MT_FAST_ADD4;
	return MT_FAST_COMPUTE;
}

static uint8_t fast_code(const struct mt_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return (uint8_t)(MT_FAST_VALUE + op->code - MD_VALUE);
	case MD_ACCESS:
		return op->index == MT_ZERO ? MT_FAST_ACCESS : MT_FAST_ACCESS_INDEX;
	case MD_GOTO:
		return MT_FAST_GOTO;
	case MD_PEEK:
		return MT_FAST_PEEK;
	case MD_NEXT:
		return MT_FAST_NEXT;
	case MD_IF:
		return (uint8_t)(MT_FAST_IF + (op->scale >> 1));
	}
	return computing(op);
}

static void fast_op(const struct mt_op *op, struct mt_op *at)
{
	if (op->code == MD_FLAGS) {
		flags_op(op, at);
		return;
	}
	*at = *op;
	at->code = fast_code(op);
	if (at->code == MT_FAST_COMPUTE)
		at->lanes = op->code;
	if (op->code == MD_IF && op->scale & 1) {
		at->target = op->other;
		at->other = op->target;
	}
}

static uint64_t packed(uint64_t sums, unsigned int kind)
{
	return sums >> kind * MT_PACKED_BITS & ~(~0ull << MT_PACKED_BITS);
}

/* False: too much for a packed sum. */
static bool sum(struct mt_node *node, const struct mt_op *op)
{
	unsigned int kind = op->kind & MD_KIND, shift = kind * MT_PACKED_BITS;
	uint64_t n, bytes;

	if (kind == MD_FETCH || kind == MD_TIME)
		return true;
	if (kind > MD_MODIFY || op->size > MT_PACKED_MAX)
		return false;
	for (int i = 0; i < 2; i++) {
		if (i && op->kind & MD_STACK)
			break;
		node->sums[i][0] += 1ull << shift;
		node->sums[i][1] += (uint64_t)op->size << shift;
	}
	n = packed(node->sums[0][0], kind);
	bytes = packed(node->sums[0][1], kind);
	while (node->weight * MT_PACKED_MAX < n || node->weight * MT_PACKED_MAX < bytes)
		node->weight++;
	return node->weight <= MT_WEIGHT_MAX;
}

/* Accesses one after the other are taken together. */
static void group(struct mt_op *op, uint32_t nops)
{
	for (uint32_t i = 0; i < nops;) {
		uint32_t n = 0;

		while (n < 4 && i + n < nops && op[i + n].code <= MT_FAST_ACCESS_INDEX)
			n++;
		if (n > 1)
			op[i].code = (uint8_t)(MT_FAST_ACCESS_2 + n - 2);
		i += n ? n : 1;
	}
}

size_t mt_fast_make(struct mt_node *node, struct mt_op *at)
{
	struct mt_op *fast = at, *lean = at + node->nops + 1;

	if (node->varies)
		return 0;
	node->lean = lean;
	node->weight = 1;
	for (uint32_t i = 0; i <= node->nops; i++) {
		fast_op(&node->ops[i], &fast[i]);
		if (node->ops[i].code != MD_ACCESS)
			*lean++ = fast[i];
		else if (!sum(node, &node->ops[i]))
			return 0;
	}
	group(fast, node->nops);
	node->fast = fast;
	return (size_t)(lean - at);
}

/* ---- running ---- */

static void flush(struct mt_counts *counts, uint64_t sums[2])
{
	for (unsigned int kind = MD_LOAD; kind <= MD_MODIFY; kind++) {
		counts->accesses[kind] += packed(sums[0], kind);
		counts->bytes[kind] += packed(sums[1], kind);
	}
	sums[0] = sums[1] = 0;
}

static inline bool holds(const struct mt_flags *f, unsigned int half)
{
	switch (half) {
	case 1:
		return f->a < f->b;
	case 2:
		return f->a == f->b;
	case 3:
		return f->a <= f->b;
	case 6:
		return (int64_t)f->a < (int64_t)f->b;
	case 7:
		return (int64_t)f->a <= (int64_t)f->b;
	default:
		return mt_condition(f, half * 2);
	}
}

static inline bool condition(const struct mt_flags *f, unsigned int half)
{
	if (__builtin_expect(f->raw, 0))
		return mt_condition(f, half * 2);
	return holds(f, half);
}

static inline void put(struct mt_access *v, const struct mt_op *op, uint64_t addr)
{
	v->addr = addr;
	__builtin_memcpy(&v->size, &op->size, 8);
	v->insn = op->insn;
}
_Static_assert(offsetof(struct mt_access, size) + 8 == offsetof(struct mt_access, insn) &&
	       offsetof(struct mt_op, size) + 8 == offsetof(struct mt_op, imm), "put");

/* Of the loop at s->node, as many iterations as are known to be followed by another.  False: it has no end. */
static bool run_loop(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s, size_t left)
{
	const struct mt_node *node = s->node;
	size_t room = SIZE_MAX;
	uint64_t n;

	if (node->words)
		room = (left - 4) / node->words;
	n = mt_loop_run(m, node->loop, room, s->words, sink->counts ? NULL : &s->v, sink->end);
	if (n == UINT64_MAX)
		return false;
	if (sink->counts)
		mt_loop_count(sink->counts, node, sink->stack, n);
	s->words += n * node->words;
	return true;
}

/* Can the node be run as a whole? */
static inline bool whole(const struct mt_sink *sink, const struct mt_fast_state *s, const struct mt_node *node,
			 size_t left)
{
	if (!node->fast)
		return false;
	if (s->reserve ? left < node->words + 4u : node->words || node->peeks)
		return false;
	return sink->counts || (size_t)(sink->end - s->v) >= node->accesses;
}

/* What is to be done before a node.  False: it cannot be run here. */
static inline bool enter(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s,
			 const struct mt_node *node)
{
	if (node->words)
		s->fuel = m->limit;
	else if (s->fuel == 0)
		return false;
	else
		s->fuel--;
	if (node->header) {
		if (mt_load4(s->words) != node->id)
			return false;
		s->words += 4;
	}
	if (sink->counts) {
		s->summed += node->weight;
		if (s->summed > MT_PACKED_WEIGHT) {
			flush(sink->counts, s->sums);
			s->summed = node->weight;
		}
		s->sums[0] += node->sums[!sink->stack][0];
		s->sums[1] += node->sums[!sink->stack][1];
	}
	return true;
}

enum choice { STOP, AGAIN, RUN };

/* The node that comes next: s->node, or by its header. */
static inline enum choice choose(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s,
				 const struct mt_node **chosen)
{
	size_t left = (size_t)(m->end - s->words);
	const struct mt_node *node = s->node;

	if (!node) {
		if (!s->reserve || left < 8)
			return STOP;
		node = mt_fast_find(m->code, &s->object, mt_load4(s->words));
		if (!node || !node->header)
			return STOP;
	}
	if (!whole(sink, s, node, left) || node == s->avoid)
		return STOP;
	if (node->loop && node != s->tried) {
		s->tried = s->node = node;
		if (run_loop(m, sink, s, left))
			return AGAIN;
		s->fuel = 0;
		m->refills = MT_REFILLS;
		return STOP;
	}
	if (node != s->tried)
		s->tried = NULL;
	*chosen = node;
	return enter(m, sink, s, node) ? RUN : STOP;
}

/*
 * Node by node.  Long, since all of it shares what is in the processor's registers, and each operation jumps to the
 * next one's code itself, which is better predicted than one place that jumps to all.
 */
static void run(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s)
{
	/* Distances, which need no relocation. */
#define TO(label) [MT_FAST_##label] = (int32_t)((char *)&&label - (char *)&&ACCESS)
	static const int32_t code[MT_FAST_CODES] = {
		TO(ACCESS), TO(ACCESS_INDEX), TO(ACCESS_2), TO(ACCESS_3), TO(ACCESS_4), TO(VALUE), TO(VALUE_U32),
		TO(VALUE_S32), TO(ADD), TO(LEA), TO(ADD4), TO(COMPUTE), TO(SUB_FLAGS), TO(AND_FLAGS), TO(GOTO),
		TO(PEEK), TO(NEXT), TO(IF_O), TO(IF_B), TO(IF_E), TO(IF_BE), TO(IF_S), TO(IF_P), TO(IF_L), TO(IF_LE),
	};
#define GO goto *((char *)&&ACCESS + code[op->code])
#define GO_ON op++; GO
#define INDEXED(op) (reg[(op)->base] + (reg[(op)->index] << (op)->scale) + (uint64_t)(op)->imm)
#define PUT(i) put(v + (i), op + (i), INDEXED(op + (i)))
	struct mt_flags *flags = &m->flags;
	uint64_t *reg = m->reg;
	const struct mt_node *node;
	const struct mt_op *op;
	const uint8_t *words;
	struct mt_access *v;

next:
	if (s->left-- == 0)
		return;
	switch (choose(m, sink, s, &node)) {
	case STOP:
		s->stopped = true;
		return;
	case AGAIN:
		goto next;
	default:
		break;
	}
	op = sink->counts ? node->lean : node->fast;
	words = s->words;
	v = s->v;
	GO;
ACCESS:
	put(v, op, reg[op->base] + (uint64_t)op->imm);
	v++;
	GO_ON;
ACCESS_INDEX:
	PUT(0);
	v++;
	GO_ON;
ACCESS_2:
	PUT(0);
	PUT(1);
	v += 2;
	op += 2;
	GO;
ACCESS_3:
	PUT(0);
	PUT(1);
	PUT(2);
	v += 3;
	op += 3;
	GO;
ACCESS_4:
	PUT(0);
	PUT(1);
	PUT(2);
	PUT(3);
	v += 4;
	op += 4;
	GO;
VALUE:
	reg[op->dst] = mt_load8(words);
	words += 8;
	GO_ON;
VALUE_U32:
	reg[op->dst] = mt_load4(words);
	words += 4;
	GO_ON;
VALUE_S32:
	reg[op->dst] = (uint64_t)(int64_t)(int32_t)mt_load4(words);
	words += 4;
	GO_ON;
ADD:
	reg[op->dst] = reg[op->base] + (uint64_t)op->imm;
	GO_ON;
LEA:
	reg[op->dst] = INDEXED(op);
	GO_ON;
ADD4:
	reg[op->dst] = (uint32_t)(reg[op->base] + (uint64_t)op->imm);
	GO_ON;
COMPUTE:
	mt_compute(reg, flags, op, op->lanes);
	GO_ON;
SUB_FLAGS:
	*flags = (struct mt_flags){
		.a = reg[op->base] << op->scale,
		.b = (reg[op->index] + (uint64_t)op->imm) << op->scale,
		.shift = op->scale,
	};
	GO_ON;
AND_FLAGS:
	*flags = (struct mt_flags){
		.a = (reg[op->base] & (reg[op->index] + (uint64_t)op->imm)) << op->scale,
		.shift = op->scale,
	};
	GO_ON;
/* A branch, which is predicted; a conditional move would have to wait for the flags. */
#define IF(name, half) \
IF_##name: \
	if (!condition(flags, half)) \
		goto other; \
	goto target
	IF(O, 0);
	IF(B, 1);
	IF(E, 2);
	IF(BE, 3);
	IF(S, 4);
	IF(P, 5);
	IF(L, 6);
	IF(LE, 7);
PEEK:
	if (mt_load4(words) == op->target->id)
		goto target;
	goto other;
NEXT:
	s->node = NULL;
	goto out;
other:
	__asm__ volatile("");
	s->node = op->other;
	goto out;
GOTO:
target:
	s->node = op->target;
out:
	s->words = words;
	s->v = v;
	goto next;
#undef IF
#undef PUT
#undef INDEXED
#undef GO_ON
#undef GO
#undef TO
}

void mt_fast_nodes(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s, uint64_t max)
{
	s->left = max;
	run(m, sink, s);
}

void mt_run_fast(struct mt_machine *m, struct mt_sink *sink)
{
	struct mt_engine *engine = m->engine;
	struct mt_fast_state s = {
		.node = m->place.node, .words = m->words, .v = sink->v, .fuel = m->fuel,
		.reserve = m->phase == MT_WORDS,
		.avoid = m->phase == MT_INTERRUPT ? m->at_node : NULL,
	};

	if (engine && !s.avoid)
		engine->run(engine, m, sink, &s);
	else
		mt_fast_nodes(m, sink, &s, UINT64_MAX);
	if (sink->counts)
		flush(sink->counts, s.sums);
	m->fuel = s.fuel;
	m->place.node = s.node;
	m->words = s.words;
	sink->v = s.v;
}
