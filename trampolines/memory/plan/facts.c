// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What each instruction accesses, needs, computes and destroys, in the form that the dataflow uses.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

enum { TIME_TEMP = MD_TEMP + 3 };

static bool is_access(const struct md_op *op)
{
	switch (op->code) {
	case MD_ACCESS:
	case MD_STRING:
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return true;
	default:
		return false;
	}
}

/* Registers and temporaries that an operation reads. */
static mp_set op_reads(const struct md_op *op)
{
	mp_set set = 0;

	if (op->base < MD_FS)
		set |= MP_BIT(op->base);
	if (op->index < MD_FS)
		set |= MP_BIT(op->index);
	if (op->code == MD_STRING)
		set |= MP_BIT(TRAMP_RSI) | MP_BIT(TRAMP_RDI);
	return set;
}

/*
 * Without the accesses that are made by rsp alone, and without what computes something for them.  The
 * registers that string instructions do not use are left to @facts->need.
 */
static void leave_out_stack(struct tramp_mem_facts *facts)
{
	struct md_op kept[TRAMP_MEM_OPS];
	mp_set wanted = 0, need = 0;
	unsigned int n = TRAMP_MEM_OPS;
	bool size = false, any = false;

	for (unsigned int i = 0; i < facts->nops; i++)
		any |= facts->ops[i].code == MD_ACCESS && facts->ops[i].dst & MD_STACK;
	for (unsigned int i = facts->nops; any && i-- > 0;) {
		const struct md_op *op = &facts->ops[i];

		if (op->code == MD_SIZE ? !size :
		    is_access(op) ? op->code == MD_ACCESS && op->dst & MD_STACK :
				    !(op->dst < MD_FS && wanted & MP_BIT(op->dst)))
			continue;
		if (is_access(op))
			size = op->code == MD_ACCESS && op->width == 0;
		else
			wanted &= ~MP_BIT(op->dst);
		wanted |= op_reads(op);
		need |= op_reads(op) & TRAMP_GPRS;
		kept[--n] = *op;
	}
	if (!any)
		return;
	facts->nops = (uint8_t)(TRAMP_MEM_OPS - n);
	memcpy(facts->ops, kept + n, facts->nops * sizeof(kept[0]));
	facts->need &= need;
}

/* Without any; what string instructions move on is not known after them. */
static void leave_out_accesses(struct tramp_mem_facts *facts)
{
	for (unsigned int i = 0; i < facts->nops; i++) {
		if (facts->ops[i].code == MD_STRING)
			facts->kills |= TRAMP_REG(TRAMP_RCX) | TRAMP_REG(TRAMP_RSI) | TRAMP_REG(TRAMP_RDI);
	}
	facts->nops = facts->nextras = 0;
	facts->need = 0;
}

/* The load of a block's code, before its first instruction and what that accesses. */
static void put_fetch(struct mp *p, const struct tramp_block *b)
{
	struct tramp_mem_facts *facts = &p->facts.v[b->op];

	memmove(facts->ops + TRAMP_MEM_FETCH, facts->ops, facts->nops * sizeof(facts->ops[0]));
	facts->ops[0] = (struct md_op){
		.code = MD_SIZE, .dst = MD_NONE, .base = MD_NONE, .index = MD_NONE, .imm = b->end - b->start,
	};
	facts->ops[1] = (struct md_op){
		.code = MD_ACCESS, .dst = p->env->fetches ? MD_FETCH : MD_LOAD, .base = MD_OBJECT, .index = MD_NONE,
		.imm = (int64_t)(tramp_code_base(p->flow->code) + b->start - p->load_addr),
	};
	facts->nops = (uint8_t)(facts->nops + TRAMP_MEM_FETCH);
}

static struct mp_compute compute_of(const struct tramp_mem_facts *facts, unsigned int i)
{
	const struct md_op *op = &facts->computes[i];
	struct mp_compute c = {
		.reads = facts->reads[i] & TRAMP_GPRS,
		.uses = op_reads(op),
		.conds = facts->conds[i],
		.writes = (facts->writes[i] & TRAMP_GPRS) | (MP_BIT(op->dst & 31) & MP_TEMPS),
	};
	bool to_32 = op->scale == 2;

	switch (op->code) {
	case MD_ZEXT:
		c.u32 = to_32 || op->width <= 4;
		c.s32 = op->width <= 2;
		break;
	case MD_SEXT:
		c.u32 = to_32;
		c.s32 = !to_32 && op->width <= 4;
		break;
	case MD_LEA:
		c.u32 = op->width == 4 || (op->base == MD_NONE && op->index == MD_NONE &&
					   (uint64_t)op->imm <= UINT32_MAX);
		break;
	default:
		c.u32 = op->width == 4;
	}
	if (op->width <= 2 && op->code != MD_ZEXT && op->code != MD_SEXT)
		c.uses |= MP_BIT(op->dst & 31);
	return c;
}

static bool leaves(uint8_t kind)
{
	return kind != TRAMP_OP_PLAIN && kind != TRAMP_OP_RIP;
}

/* Jumps that name nothing else than flags, or that the pointer is at home for. */
static bool names_nothing(uint8_t kind)
{
	return leaves(kind) && kind != TRAMP_OP_LOOP;
}

static mp_set named_by(const struct tramp_op *op, const struct tramp_mem_facts *facts)
{
	mp_set set = facts->need;

	if (!names_nothing(op->kind))
		set |= op->use | op->def;
	for (unsigned int i = 0; i < facts->nextras; i++) {
		if (facts->extras[i].what == TRAMP_STORE_GPR_AFTER)
			set |= TRAMP_REG(facts->extras[i].reg);
		if (facts->extras[i].what == TRAMP_STORE_TIME)
			set |= TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX);
	}
	return set & TRAMP_GPRS;
}

static void condense(const struct tramp_op *op, const struct tramp_mem_facts *facts,
		     struct mp_insn *i)
{
	memset(i, 0, sizeof(*i));
	i->need = (uint16_t)facts->need;
	i->kills = (uint16_t)facts->kills;
	i->u32 = facts->narrow_u32;
	i->s32 = facts->narrow_s32;
	i->named = (uint16_t)named_by(op, facts);
	i->leaves = leaves(op->kind);
	i->cuts = op->kind == TRAMP_OP_SYSCALL || op->kind == TRAMP_OP_TRAP;
	i->flags_effect = facts->flags_effect;
	if (facts->flags_effect == TRAMP_FLAGS_KNOWN) {
		i->flags_reads = facts->flags_reads & TRAMP_GPRS;
		i->flags_uses = op_reads(&facts->flags);
		i->flags_conds = facts->flags_conds;
		i->flags_valid = facts->flags_valid;
		i->flags_after = facts->flags_after;
	}
	i->ncomputes = facts->ncomputes;
	for (unsigned int k = 0; k < facts->ncomputes; k++)
		i->computes[k] = compute_of(facts, k);
	for (unsigned int k = 0; k < facts->nextras; k++)
		i->extra_bytes = (uint8_t)(i->extra_bytes + facts->extras[k].bytes);
}

/* ---- times ---- */

/* Before an instruction; its extras hold no more than a string's, or lanes', which are no instructions for this. */
static void put_time(struct mp *p, uint32_t op)
{
	struct tramp_mem_facts *facts = &p->facts.v[op];

	if (facts->nextras)
		return;
	facts->extras[facts->nextras++] = (struct tramp_mem_extra){ .what = TRAMP_STORE_TIME, .bytes = 8 };
	memmove(facts->ops + TRAMP_MEM_TIME, facts->ops, facts->nops * sizeof(facts->ops[0]));
	facts->ops[0] = (struct md_op){ .code = MD_VALUE, .dst = TIME_TEMP, .base = MD_NONE, .index = MD_NONE };
	facts->ops[1] = (struct md_op){
		.code = MD_ACCESS, .dst = MD_TIME, .base = TIME_TEMP, .index = MD_NONE, .width = 8,
	};
	facts->nops = (uint8_t)(facts->nops + TRAMP_MEM_TIME);
}

/* Does the block end with a call, or a jump out of the function, to where threads wait? */
static bool syncs(const struct mp *p, const struct tramp_block *b)
{
	const struct tramp_op *op = &p->flow->ops[b->op + b->nops - 1];
	const uint64_t addr = tramp_code_base(p->flow->code) + op->off;
	int32_t distance;
	size_t left;
	const uint8_t *bytes = tramp_code_at(p->flow->code, addr, &left);

	if ((op->kind != TRAMP_OP_CALL && op->kind != TRAMP_OP_CALL_IND && b->ends != TRAMP_END_TAIL &&
	     b->ends != TRAMP_END_TAIL_IND) || op->disp_len != sizeof(distance) || !bytes || left < op->len)
		return false;
	memcpy(&distance, bytes + op->disp_at, sizeof(distance));
	return tramp_code_syncs(p->flow->code, addr + op->len + (uint64_t)(int64_t)distance);
}

static void put_times_of(struct mp *p, uint32_t block, bool passed)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	const uint32_t last = b->op + b->nops - 1;

	if (passed && b->flags & TRAMP_BLOCK_ENTRY)
		put_time(p, b->op);
	for (uint32_t k = b->op; k <= last; k++) {
		if (!p->facts.v[k].atomic)
			continue;
		put_time(p, k);
		if (k < last)
			put_time(p, k + 1);
		else if (b->next != TRAMP_NONE)
			put_time(p, p->flow->blocks[b->next].op);
	}
	if (syncs(p, b)) {
		put_time(p, last);
		if (b->ends == TRAMP_END_CALL && b->next != TRAMP_NONE)
			put_time(p, p->flow->blocks[b->next].op);
	} else if (passed && (b->ends == TRAMP_END_RET || b->ends == TRAMP_END_TAIL)) {
		put_time(p, last);
	}
}

/* Before fetches, so that a block's comes first; instructions are condensed again. */
static void put_times(struct mp *p)
{
	const struct tramp_facts *facts = tramp_code_facts(p->flow->code);
	const bool passed = facts->nsync && tramp_code_passed(p->flow->code, p->flow->fn);

	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		put_times_of(p, i, passed);
	for (uint32_t k = 0; k < p->flow->nops; k++)
		if (p->facts.v[k].nextras)
			condense(&p->flow->ops[k], &p->facts.v[k], &p->insns.v[k]);
}

static bool fails(struct mp *p, enum tramp_mirror_status status)
{
	p->status = status;
	return false;
}

/* ---- instructions that were seen before: most come again and again ---- */

struct mp_seen {
	uint64_t bytes[2];	/* zeros after it */
	struct tramp_mem_facts facts;
};

static bool is_direct(uint8_t kind)
{
	return kind == TRAMP_OP_JMP || kind == TRAMP_OP_JCC || kind == TRAMP_OP_CALL;
}

/* Where branches lead to does not matter.  NULL: it depends on where it is, or there is no memory. */
static struct mp_seen *place_of(struct mp *p, const struct tramp_op *op, const uint8_t *code, uint64_t bytes[2])
{
	uint8_t copy[16] = { 0 };

	if (op->disp_at && !is_direct(op->kind))
		return NULL;
	if (!p->seen)
		p->seen = calloc(MP_SEEN, sizeof(*p->seen));
	if (!p->seen)
		return NULL;
	memcpy(copy, code, op->disp_at ? op->disp_at : op->len);
	copy[15] = op->len;
	memcpy(bytes, copy, sizeof(copy));
	return &p->seen[((bytes[0] ^ bytes[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % MP_SEEN];
}

static bool look_at(struct mp *p, const struct tramp_op *op, struct tramp_mem_facts *facts)
{
	uint64_t addr = tramp_code_base(p->flow->code) + op->off, bytes[2];
	size_t left = 0;
	const uint8_t *code = tramp_code_at(p->flow->code, addr, &left);
	struct mp_seen *seen;

	if (!code || left < op->len)
		return false;
	seen = place_of(p, op, code, bytes);
	if (seen && seen->bytes[0] == bytes[0] && seen->bytes[1] == bytes[1]) {
		*facts = seen->facts;
		return true;
	}
	if (!tramp_mem_insn(code, op->len, addr, p->load_addr, facts))
		return false;
	if (seen)
		*seen = (struct mp_seen){ { bytes[0], bytes[1] }, *facts };
	return true;
}

static bool read_insn(struct mp *p, uint32_t k)
{
	const struct tramp_op *op = &p->flow->ops[k];
	struct tramp_mem_facts *facts = &p->facts.v[k];

	if (!look_at(p, op, facts))
		return fails(p, TRAMP_MIRROR_BAD_CODE);
	if (facts->unmodelled && !p->env->blocks)
		return fails(p, TRAMP_MIRROR_UNMODELLED);
	if (p->env->blocks)
		leave_out_accesses(facts);
	else if (!p->env->stack)
		leave_out_stack(facts);
	condense(op, facts, &p->insns.v[k]);
	return true;
}

bool mp_read_facts(struct mp *p)
{
	if (!mp_reserve(p, &p->facts, p->flow->nops) || !mp_reserve(p, &p->insns, p->flow->nops))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (p->flow->blocks[i].nops == 0)
			return fails(p, TRAMP_MIRROR_BAD_CODE);
	}
	for (uint32_t k = 0; k < p->flow->nops; k++) {
		if (!read_insn(p, k))
			return false;
	}
	if (p->env->times && !p->env->blocks)
		put_times(p);
	for (uint32_t i = 0; (p->env->blocks || p->env->fetches) && i < p->flow->nblocks; i++)
		put_fetch(p, &p->flow->blocks[i]);
	return true;
}
