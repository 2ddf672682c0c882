// SPDX-License-Identifier: MIT
/*
 * Whole nodes at once, with nothing checked between their operations: what nearly all of the time goes into.
 */
#include "trampolines/memexpandloop.h"

/* ---- making ---- */

static bool flags_op(const struct mx_op *op, struct mx_op *at)
{
	*at = *op;
	at->code = op->dst == MD_FLAGS_SUB ? MX_FAST_SUB_FLAGS : MX_FAST_AND_FLAGS;
	at->scale = (uint8_t)(64 - op->width * 8);
	if (op->index != MX_ZERO)
		at->imm = 0;
	return true;
}

static uint8_t computing(const struct mx_op *op)
{
	if (op->code == MD_LEA && op->width == 8)
		return op->index == MX_ZERO ? MX_FAST_ADD : MX_FAST_LEA;
	if (op->code == MD_LEA && op->width == 4 && op->index == MX_ZERO)
		return MX_FAST_ADD4;
	return MX_FAST_COMPUTE;
}

static uint8_t fast_code(const struct mx_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return (uint8_t)(MX_FAST_VALUE + op->code - MD_VALUE);
	case MD_ACCESS:
		return op->index == MX_ZERO ? MX_FAST_ACCESS : MX_FAST_ACCESS_INDEX;
	case MD_GOTO:
		return MX_FAST_GOTO;
	case MD_NEXT:
		return MX_FAST_NEXT;
	case MD_IF:
		return (uint8_t)(MX_FAST_IF + (op->scale >> 1));
	}
	return computing(op);
}

static void fast_op(const struct mx_op *op, struct mx_op *at)
{
	if (op->code == MD_FLAGS) {
		flags_op(op, at);
		return;
	}
	*at = *op;
	at->code = fast_code(op);
	if (at->code == MX_FAST_COMPUTE)
		at->lanes = op->code;
	if (op->code == MD_IF && op->scale & 1) {
		at->target = op->other;
		at->other = op->target;
	}
}

/* False: too much for a packed sum. */
static bool sum(struct mx_node *node, const struct mx_op *op)
{
	unsigned int kind = op->kind & MD_KIND, shift = kind * MX_PACKED_BITS;

	if (kind > MD_MODIFY || op->size > MX_PACKED_MAX)
		return false;
	for (int i = 0; i < 2; i++) {
		if (i && op->kind & MD_STACK)
			break;
		node->sums[i][0] += 1ull << shift;
		node->sums[i][1] += (uint64_t)op->size << shift;
	}
	return (node->sums[0][0] >> shift & ~(~0ull << MX_PACKED_BITS)) <= MX_PACKED_MAX &&
	       (node->sums[0][1] >> shift & ~(~0ull << MX_PACKED_BITS)) <= MX_PACKED_MAX;
}

size_t mx_fast_make(struct mx_node *node, struct mx_op *at)
{
	struct mx_op *fast = at, *lean = at + node->nops + 1;

	if (node->varies)
		return 0;
	node->lean = lean;
	for (uint32_t i = 0; i <= node->nops; i++) {
		fast_op(&node->ops[i], &fast[i]);
		if (node->ops[i].code != MD_ACCESS)
			*lean++ = fast[i];
		else if (!sum(node, &node->ops[i]))
			return 0;
	}
	node->fast = fast;
	return (size_t)(lean - at);
}

/* ---- running ---- */

static void flush(struct mx_counts *counts, uint64_t sums[2])
{
	const uint64_t mask = ~(~0ull << MX_PACKED_BITS);

	for (unsigned int kind = MD_LOAD; kind <= MD_MODIFY; kind++) {
		counts->accesses[kind] += sums[0] >> kind * MX_PACKED_BITS & mask;
		counts->bytes[kind] += sums[1] >> kind * MX_PACKED_BITS & mask;
	}
	sums[0] = sums[1] = 0;
}

static inline bool holds(const struct mx_flags *f, unsigned int half)
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
		return mx_condition(f, half * 2);
	}
}

static inline bool condition(const struct mx_flags *f, unsigned int half)
{
	if (__builtin_expect(f->raw, 0))
		return mx_condition(f, half * 2);
	return holds(f, half);
}

static inline struct mx_access *put(struct mx_access *v, const struct mx_op *op, uint64_t addr)
{
	v->addr = addr;
	__builtin_memcpy(&v->size, &op->size, 8);
	v->insn = op->insn;
	return v + 1;
}
_Static_assert(offsetof(struct mx_access, size) + 8 == offsetof(struct mx_access, insn) &&
	       offsetof(struct mx_op, size) + 8 == offsetof(struct mx_op, imm), "put");

struct state {
	const struct mx_node *node;	/* that comes next; NULL: a header does */
	const uint8_t *words;
	struct mx_access *v;
};

/* The operations of one node; its words and the room in v have been looked at. */
static inline __attribute__((always_inline)) void
run_node(struct mx_machine *m, struct state *s, const struct mx_op *op)
{
	uint64_t *reg = m->reg;
	const uint8_t *words = s->words;
	struct mx_access *v = s->v;

	for (;; op++) {
		switch (op->code) {
		case MX_FAST_ACCESS:
			v = put(v, op, reg[op->base] + (uint64_t)op->imm);
			break;
		case MX_FAST_ACCESS_INDEX:
			v = put(v, op, reg[op->base] + (reg[op->index] << op->scale) + (uint64_t)op->imm);
			break;
		case MX_FAST_VALUE:
			reg[op->dst] = mx_load8(words);
			words += 8;
			break;
		case MX_FAST_VALUE_U32:
			reg[op->dst] = mx_load4(words);
			words += 4;
			break;
		case MX_FAST_VALUE_S32:
			reg[op->dst] = (uint64_t)(int64_t)(int32_t)mx_load4(words);
			words += 4;
			break;
		case MX_FAST_ADD:
			reg[op->dst] = reg[op->base] + (uint64_t)op->imm;
			break;
		case MX_FAST_LEA:
			reg[op->dst] = reg[op->base] + (reg[op->index] << op->scale) + (uint64_t)op->imm;
			break;
		case MX_FAST_ADD4:
			reg[op->dst] = (uint32_t)(reg[op->base] + (uint64_t)op->imm);
			break;
		case MX_FAST_COMPUTE:
			mx_compute(reg, op, op->lanes);
			break;
		case MX_FAST_SUB_FLAGS:
			m->flags.a = reg[op->base] << op->scale;
			m->flags.b = (reg[op->index] + (uint64_t)op->imm) << op->scale;
			m->flags.shift = op->scale;
			m->flags.raw = false;
			break;
		case MX_FAST_AND_FLAGS:
			m->flags.a = (reg[op->base] & (reg[op->index] + (uint64_t)op->imm)) << op->scale;
			m->flags.b = 0;
			m->flags.shift = op->scale;
			m->flags.raw = false;
			break;
		case MX_FAST_GOTO:
			s->node = op->target;
			goto out;
		case MX_FAST_NEXT:
			s->node = NULL;
			goto out;
#define IF(half) \
		case MX_FAST_IF + half: \
			s->node = condition(&m->flags, half) ? op->target : op->other; \
			goto out
		IF(0);
		IF(1);
		IF(2);
		IF(3);
		IF(4);
		IF(5);
		IF(6);
		IF(7);
#undef IF
		default:
			__builtin_unreachable();
		}
	}
out:
	s->words = words;
	s->v = v;
}

static inline const struct mx_node *
find(const struct mx_code *code, const struct mx_object **last, uint32_t id)
{
	const struct mx_object *object = *last;

	if (object && id - object->first < object->nnodes)
		return &object->nodes[id - object->first];
	for (object = __atomic_load_n(&code->objects, __ATOMIC_ACQUIRE); object; object = object->next) {
		if (id - object->first < object->nnodes) {
			*last = object;
			return &object->nodes[id - object->first];
		}
	}
	return NULL;
}

/* Of the loop at s->node, as many iterations as are known to be followed by another.  False: it has no end. */
static bool run_loop(struct mx_machine *m, struct mx_sink *sink, struct state *s, size_t left)
{
	const struct mx_node *node = s->node;
	size_t room = SIZE_MAX;
	uint64_t n;

	if (node->words && left < node->words + 4u)
		return true;
	if (node->words)
		room = (left - 4) / node->words;
	if (!sink->counts && node->accesses) {
		size_t fit = (size_t)(sink->end - s->v) / node->accesses;

		room = fit < room ? fit : room;
	}
	n = mx_loop_run(m, node->loop, room, s->words, sink->counts ? NULL : s->v);
	if (n == UINT64_MAX)
		return false;
	if (sink->counts)
		mx_loop_count(sink->counts, node, sink->stack, n);
	else
		s->v += n * node->accesses;
	s->words += n * node->words;
	return true;
}

static inline __attribute__((always_inline)) void
run(struct mx_machine *m, struct mx_sink *sink, const bool counting)
{
	struct state s = { m->place.node, m->words, sink->v };
	const bool reserve = m->phase == MX_WORDS;
	const struct mx_object *object = NULL;
	const struct mx_node *avoid = m->phase == MX_INTERRUPT ? m->at_node : NULL, *tried = NULL;
	uint64_t sums[2] = { 0, 0 }, fuel = m->fuel;
	unsigned int summed = 0;

	for (;;) {
		size_t left = (size_t)(m->end - s.words);
		const struct mx_node *node = s.node;

		if (!node) {
			if (!reserve || left < 8)
				break;
			node = find(m->code, &object, mx_load4(s.words));
			if (!node || !node->header)
				break;
		}
		if (!node->fast || node == avoid)
			break;
		if (node->words ? !reserve || left < node->words + 4u : (reserve && left < 4))
			break;
		if (!counting && (size_t)(sink->end - s.v) < node->accesses)
			break;
		if (node->loop && node != tried) {
			tried = s.node = node;
			if (run_loop(m, sink, &s, reserve ? left : 0))
				continue;
			fuel = 0;
			m->refills = MX_REFILLS;
			break;
		}
		if (node != tried)
			tried = NULL;
		if (node->words)
			fuel = m->limit;
		else if (fuel == 0)
			break;
		else
			fuel--;
		if (node->header) {
			if (mx_load4(s.words) != node->id)
				break;
			s.words += 4;
		}
		if (counting) {
			sums[0] += node->sums[!sink->stack][0];
			sums[1] += node->sums[!sink->stack][1];
			if (++summed == MX_PACKED_NODES) {
				flush(sink->counts, sums);
				summed = 0;
			}
		}
		run_node(m, &s, counting ? node->lean : node->fast);
	}
	if (counting)
		flush(sink->counts, sums);
	m->fuel = fuel;
	m->place.node = s.node;
	m->words = s.words;
	sink->v = s.v;
}

void mx_run_fast(struct mx_machine *m, struct mx_sink *sink)
{
	if (sink->counts)
		run(m, sink, true);
	else
		run(m, sink, false);
}
