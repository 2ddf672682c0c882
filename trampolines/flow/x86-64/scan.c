// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The pass over all code of an object.
 *
 * Each function is decoded from its first byte on to its last one, whether control gets there or not: so
 * nothing is missed that only a jump we do not understand leads to.  Where branches lead into the middle of
 * what was decoded, it is decoded from there as well: data between instructions cannot hide any.
 */
#include "trampolines/flow/code.h"
#include "trampolines/flow/private.h"

enum {
	PENDING_MAX = 8,
	FOLLOWED_MAX = 16,	/* instructions after a jump in which flags are looked for */
};

/* Calls whose flags nobody has overwritten yet. */
struct pending {
	uint32_t callees[PENDING_MAX];
	unsigned int n;
	tramp_regs flags;	/* of the first of them */
};

struct sweep {
	struct flow_scan *scan;
	const uint8_t *bytes;	/* at lo */
	size_t left;		/* from there on */
	uint64_t lo, hi;
	uint64_t at;		/* the instruction */
	uint64_t reach;		/* after the last one, at least hi */
	uint64_t lowest;	/* place, not decoded yet, that a branch led to since this was set */
	uint32_t fn;		/* or TRAMP_NONE: between functions */
	struct pending pending;
	uint32_t callee;	/* of the call that we are after, and what was not written since */
	tramp_regs unwritten;
	bool wrote_r11;
};

static void add_bits(struct sweep *s, uint32_t fn, uint16_t bits)
{
	if (fn != TRAMP_NONE)
		s->scan->code->bits[fn] |= bits;
}

static bool is_start(const struct tramp_code *code, uint32_t fn, uint64_t addr)
{
	return fn != TRAMP_NONE && code->facts->fns[fn].addr == addr;
}

/* ---- flags that callers look at ---- */

static void flags_are_read(struct sweep *s)
{
	for (unsigned int i = 0; i < s->pending.n; i++)
		add_bits(s, s->pending.callees[i], FLOW_FN_FLAGS);
	s->pending.n = 0;
}

static void flags_are_returned(struct sweep *s)
{
	for (unsigned int i = 0; i < s->pending.n; i++) {
		struct flow_tie tie = { .fn = s->fn, .callee = s->pending.callees[i] };

		tramp_flow_append(s->scan, &s->scan->passes, &tie, sizeof(tie));
	}
	s->pending.n = 0;
}

static void use_flags(struct sweep *s, const struct flow_insn *insn)
{
	if (s->pending.n == 0)
		return;
	if (insn->use & s->pending.flags)
		flags_are_read(s);
	s->pending.flags &= ~insn->def;
	if (s->pending.flags == 0)
		s->pending.n = 0;
}

/*
 * After a jump, as far as it takes, and into calls, most of which overwrite them at once; what is not found out counts as read.
 * @called: what returns returns to us.
 */
static void follow_flags(struct sweep *s, uint64_t to, bool called)
{
	const struct tramp_code *code = s->scan->code;
	struct flow_insn insn;
	size_t left;

	for (int i = 0; i < FOLLOWED_MAX && s->pending.n; i++) {
		const uint8_t *bytes = tramp_code_at(code, to, &left);

		if (!bytes || !tramp_flow_decode(s->scan->decoder, bytes, left, &insn))
			break;
		use_flags(s, &insn);
		called |= insn.kind == TRAMP_OP_CALL;
		if (insn.kind == TRAMP_OP_RET && s->fn != TRAMP_NONE && !called)
			flags_are_returned(s);
		if (insn.kind == TRAMP_OP_JMP || insn.kind == TRAMP_OP_CALL)
			to = tramp_flow_target(bytes, to, &insn);
		else if (insn.kind == TRAMP_OP_STOP || insn.kind == TRAMP_OP_TRAP)
			s->pending.n = 0;
		else if (insn.kind != TRAMP_OP_PLAIN && insn.kind != TRAMP_OP_RIP)
			break;
		else
			to += insn.len;
		/* other objects' functions are called by the ABI, as in note_call() */
		if (insn.kind == TRAMP_OP_CALL && !tramp_flow_is_code(code, to))
			s->pending.n = 0;
	}
	flags_are_read(s);
}

static void add_pending(struct sweep *s, uint32_t callee)
{
	if (s->pending.n == PENDING_MAX)
		follow_flags(s, s->scan->code->facts->fns[callee].addr, true);
	s->pending.callees[s->pending.n++] = callee;
	s->pending.flags = TRAMP_STATUS;
}

/* ---- who goes where ---- */

static void cross(struct sweep *s, uint64_t to)
{
	struct flow_cross c = { .from = s->fn, .to = (uint32_t)(to - s->scan->code->base) };

	tramp_flow_append(s->scan, &s->scan->crosses, &c, sizeof(c));
}

/* Also to a PLT. */
static void note_site(struct sweep *s, uint64_t to)
{
	uint64_t base = s->scan->code->base;
	struct tramp_site site = { .from = (uint32_t)(s->at - base) };

	if (flow_offset(s->scan->code, to, &site.to))
		tramp_flow_append(s->scan, &s->scan->sites, &site, sizeof(site));
}

static void note_end(struct sweep *s, uint64_t callee)
{
	struct tramp_code *code = s->scan->code;
	uint32_t piece = tramp_flow_piece(code, callee);
	struct flow_tie tie = { .fn = s->fn, .callee = piece };

	if (s->fn == TRAMP_NONE || tramp_flow_listed(code->facts->noreturn,
						     code->facts->nnoreturn, callee))
		return;
	if (is_start(code, piece, callee))
		tramp_flow_append(s->scan, &s->scan->ends, &tie, sizeof(tie));
	else
		add_bits(s, s->fn, FLOW_FN_EXITS);
}

static void note_tail(struct sweep *s, uint64_t to)
{
	struct tramp_code *code = s->scan->code;
	uint32_t piece = tramp_flow_piece(code, to);
	struct flow_tie tie = { .fn = s->fn, .callee = piece };

	note_end(s, to);
	note_site(s, to);
	if (!tramp_flow_is_code(code, to))
		add_bits(s, s->fn, FLOW_FN_OPEN);
	if (s->fn != TRAMP_NONE && piece != TRAMP_NONE)
		tramp_flow_append(s->scan, &s->scan->passes, &tie, sizeof(tie));
	if (tramp_flow_is_code(code, to))
		cross(s, to);
}

static void note_branch(struct sweep *s, uint64_t to, uint8_t kind)
{
	if (to >= s->lo && to < s->hi) {
		flow_set_bit(s->scan->wanted, to - s->scan->code->base);
		if (to < s->lowest && !flow_bit(s->scan->starts, to - s->scan->code->base))
			s->lowest = to;
		if (s->fn == TRAMP_NONE) {
			note_site(s, to);
			cross(s, to);
		}
	} else {
		note_tail(s, to);
	}
	if (s->pending.n == 0)
		return;
	if (kind == TRAMP_OP_JMP)
		follow_flags(s, to, false);
	else		/* loop and its kin: rare after calls */
		flags_are_read(s);
}

static void note_call(struct sweep *s, uint64_t to)
{
	struct tramp_code *code = s->scan->code;
	uint32_t piece = tramp_flow_piece(code, to);

	note_site(s, to);
	if (!tramp_flow_is_code(code, to)) {
		add_bits(s, s->fn, FLOW_FN_OPEN);
		s->pending.n = 0;
		return;
	}
	if (is_start(code, piece, to)) {
		add_bits(s, piece, FLOW_FN_CALLED);
		add_pending(s, piece);
		return;
	}
	flow_set_bit(code->external, to - code->base);
	if (piece != TRAMP_NONE) {
		add_bits(s, piece, FLOW_FN_CALLED);
		add_pending(s, piece);
	}
}

/* ---- addresses that instructions hold ---- */

static void note_base(struct sweep *s, uint64_t addr, enum flow_base_kind kind)
{
	struct flow_base base = { .addr = addr, .fn = s->fn, .kind = kind };

	if (s->fn != TRAMP_NONE)
		tramp_flow_append(s->scan, &s->scan->bases, &base, sizeof(base));
}

static void note_address(struct sweep *s, uint64_t addr)
{
	struct tramp_code *code = s->scan->code;
	uint32_t piece;

	if (flow_in_code(code, addr)) {
		piece = tramp_flow_piece(code, addr);
		if (is_start(code, piece, addr))
			add_bits(s, piece, FLOW_FN_TAKEN);
		else if (piece != TRAMP_NONE)
			note_base(s, addr, FLOW_BASE_LABEL);
		flow_set_bit(code->external, addr - code->base);
	}
	if (tramp_flow_table_like(code, addr))
		note_base(s, addr, FLOW_BASE_TABLE);
	else if (tramp_flow_offsets_like(code, addr))
		note_base(s, addr, FLOW_BASE_OFFSETS);
}

static void note_immediate(struct sweep *s, const uint8_t *at, const struct flow_insn *insn)
{
	struct tramp_code *code = s->scan->code;
	uint64_t value = (uint64_t)tramp_flow_field(at, insn->imm_at, insn->imm_len);

	if (insn->imm_len < 8 && !code->absolute)
		return;
	if (insn->imm_len == 8 && is_start(code, tramp_flow_piece(code, value), value))
		code->large_model = true;
	note_address(s, value);
}

static void note_addresses(struct sweep *s, const uint8_t *at, uint64_t addr,
			   const struct flow_insn *insn)
{
	if (insn->shape == FLOW_LEA && insn->rip)
		note_address(s, tramp_flow_target(at, addr, insn));
	else if (insn->shape == FLOW_MOV_IMM || (insn->shape == FLOW_PUSH && insn->imm_len == 4))
		note_immediate(s, at, insn);
	else if (insn->scale >= 4 && insn->disp_len == 4 && s->scan->code->absolute)
		note_address(s, (uint64_t)tramp_flow_field(at, insn->disp_at, insn->disp_len));
}

/* ---- the sweep ---- */

/* 4 bytes that are extended or indexed; in data without an index, 8. */
static bool may_load_entry(const struct flow_insn *insn)
{
	switch (insn->shape) {
	case FLOW_LOAD_SHORT:
	case FLOW_LOAD:
		return insn->index != TRAMP_NO_REG;
	case FLOW_EXTEND:
		return insn->memory;
	default:
		return insn->kind == TRAMP_OP_JMP_IND && insn->index != TRAMP_NO_REG;
	}
}

static void note_r11(struct sweep *s, const struct flow_insn *insn)
{
	if (s->wrote_r11)
		return;
	if (insn->use & TRAMP_REG(TRAMP_R11) && insn->kind != TRAMP_OP_SYSCALL)
		add_bits(s, s->fn, FLOW_FN_READS_R11);
	s->wrote_r11 = insn->def & TRAMP_REG(TRAMP_R11);
}

/*
 * Assembly returns values in registers of its own choice: OpenSSL's big numbers are in r8 to r15.  Callers that
 * do so look at them at once, or hand them on to the next of their kind.
 */
static void note_results(struct sweep *s, const struct flow_insn *insn)
{
	if (insn->use & s->unwritten)
		add_bits(s, s->callee, FLOW_FN_RESULTS);
	s->unwritten &= ~(insn->use | insn->def);
	if (insn->kind != TRAMP_OP_PLAIN && insn->kind != TRAMP_OP_RIP)
		s->unwritten = 0;
}

static void begin_results(struct sweep *s, uint64_t callee)
{
	s->callee = tramp_flow_piece(s->scan->code, callee);
	s->unwritten = is_start(s->scan->code, s->callee, callee) ? FLOW_FREE_GPRS : 0;
}

static void note_flow(struct sweep *s, const uint8_t *at, uint64_t addr,
		      const struct flow_insn *insn)
{
	switch (insn->kind) {
	case TRAMP_OP_JMP:
	case TRAMP_OP_JCC:
	case TRAMP_OP_LOOP:
		note_branch(s, tramp_flow_target(at, addr, insn), insn->kind);
		break;
	case TRAMP_OP_CALL:
		note_call(s, tramp_flow_target(at, addr, insn));
		begin_results(s, tramp_flow_target(at, addr, insn));
		break;
	case TRAMP_OP_CALL_IND:
		add_bits(s, s->fn, FLOW_FN_OPEN);
		break;
	case TRAMP_OP_JMP_IND:
		add_bits(s, s->fn, FLOW_FN_EXITS | (insn->rip ? FLOW_FN_OPEN : FLOW_FN_JUMPS));
		flags_are_read(s);
		break;
	case TRAMP_OP_RET:
		add_bits(s, s->fn, FLOW_FN_EXITS);
		if (s->fn != TRAMP_NONE)
			flags_are_returned(s);
		break;
	case TRAMP_OP_STOP:
	case TRAMP_OP_TRAP:
		s->pending.n = 0;
		break;
	default:
		break;
	}
}

static void note_insn(struct sweep *s, const uint8_t *at, uint64_t addr,
		      const struct flow_insn *insn)
{
	use_flags(s, insn);
	note_results(s, insn);
	note_flow(s, at, addr, insn);
	note_addresses(s, at, addr, insn);
	note_r11(s, insn);
	if (may_load_entry(insn))
		add_bits(s, s->fn, FLOW_FN_LOADS);
}

/* Into the next function, maybe through padding. */
static void fall_through(struct sweep *s, uint64_t to)
{
	const struct tramp_facts *facts = s->scan->code->facts;

	if (tramp_flow_piece(s->scan->code, to) == TRAMP_NONE && s->fn + 1 < facts->nfns)
		to = facts->fns[s->fn + 1].addr;
	if (tramp_flow_piece(s->scan->code, to) == TRAMP_NONE)
		return;
	cross(s, to);
	note_site(s, to);
}

/* What comes after the last instruction. */
static void note_fall(struct sweep *s, const uint8_t *at, uint64_t addr,
		      const struct flow_insn *insn)
{
	if (s->fn == TRAMP_NONE || !tramp_op_goes_on(insn->kind) || insn->kind == TRAMP_OP_TRAP)
		return;
	flags_are_read(s);
	if (insn->kind == TRAMP_OP_CALL) {
		note_end(s, tramp_flow_target(at, addr, insn));
	} else if (insn->kind == TRAMP_OP_CALL_IND && insn->rip) {
		note_end(s, tramp_flow_target(at, addr, insn));
	} else {
		add_bits(s, s->fn, FLOW_FN_EXITS);
		fall_through(s, addr + insn->len);
	}
}

/* From `addr` on until the end, or until what was decoded before. */
static void sweep_from(struct sweep *s, uint64_t addr)
{
	uint64_t *starts = s->scan->starts, base = s->scan->code->base;
	struct flow_insn insn;

	while (addr < s->hi && !flow_bit(starts, addr - base)) {
		const uint8_t *at = s->bytes + (addr - s->lo);

		size_t left = s->left - (size_t)(addr - s->lo);

		s->at = addr;
		if (!tramp_flow_decode(s->scan->decoder, at, left, &insn)) {
			add_bits(s, s->fn, FLOW_FN_ODD | FLOW_FN_OPEN);
			addr++;
			continue;
		}
		flow_set_bit(starts, addr - base);
		note_insn(s, at, addr, &insn);
		if (addr + insn.len >= s->hi)
			note_fall(s, at, addr, &insn);
		addr += insn.len;
		s->reach = addr > s->reach ? addr : s->reach;
	}
	flags_are_read(s);
}

/* The first branch target at which no instruction starts. */
static uint64_t first_missed(const struct sweep *s, uint64_t addr)
{
	const uint64_t *starts = s->scan->starts, *wanted = s->scan->wanted;
	uint64_t base = s->scan->code->base, at = addr - base, end = s->hi - base;

	while (at < end) {
		uint64_t word = (wanted[at / 64] & ~starts[at / 64]) >> (at % 64);

		if (word) {
			at += (uint64_t)__builtin_ctzll(word);
			break;
		}
		at = (at / 64 + 1) * 64;
	}
	return (at < end ? at : end) + base;
}

/* A target that is no instruction at all is passed over. */
static void sweep_again(struct sweep *s)
{
	uint64_t addr = s->lo;

	while ((addr = first_missed(s, addr)) < s->hi) {
		add_bits(s, s->fn, FLOW_FN_ODD);
		s->lowest = addr + 1;
		sweep_from(s, addr);
		addr = s->lowest;
	}
}

static bool open_sweep(struct sweep *s)
{
	const struct tramp_bytes *b = tramp_flow_bytes(s->scan->code, s->lo);

	if (!b || !b->code || s->lo >= s->hi)
		return false;
	s->bytes = b->bytes + (s->lo - b->addr);
	s->left = b->len - (size_t)(s->lo - b->addr);
	if (s->left < s->hi - s->lo)
		s->hi = s->lo + s->left;
	return true;
}

/* Returns where what comes next begins: after the last instruction, if that goes beyond `hi`. */
static uint64_t sweep_range(struct flow_scan *scan, uint64_t lo, uint64_t hi, uint32_t fn)
{
	struct sweep s = { .scan = scan, .fn = fn, .lo = lo, .hi = hi, .reach = hi };

	if (!open_sweep(&s))
		return hi;
	sweep_from(&s, lo);
	sweep_again(&s);
	return s.reach;
}

void tramp_flow_scan_at(struct flow_scan *scan, uint64_t addr)
{
	uint32_t piece = tramp_flow_piece(scan->code, addr);
	struct sweep s = { .scan = scan, .fn = piece, .lo = addr, .hi = addr + 1 };

	if (piece != TRAMP_NONE) {
		s.lo = scan->code->facts->fns[piece].addr;
		s.hi = s.lo + scan->code->facts->fns[piece].size;
	}
	if (!open_sweep(&s) || addr >= s.hi)
		return;
	sweep_from(&s, addr);
	sweep_again(&s);
}

static void sweep_gaps(struct flow_scan *scan, uint64_t lo, uint64_t hi)
{
	const struct tramp_facts *facts = scan->code->facts;

	for (size_t i = 0; i < facts->nbytes; i++) {
		const struct tramp_bytes *b = &facts->bytes[i];
		uint64_t from = b->addr > lo ? b->addr : lo;
		uint64_t to = b->addr + b->len < hi ? b->addr + b->len : hi;

		if (b->code && from < to)
			sweep_range(scan, from, to, TRAMP_NONE);
	}
}

/* Up to the next function, or the end. */
static uint64_t end_before(const struct flow_scan *scan, uint32_t fn)
{
	const struct tramp_facts *facts = scan->code->facts;

	return fn < facts->nfns ? facts->fns[fn].addr : scan->code->end;
}

void tramp_flow_scan_part(struct flow_scan *scan, uint32_t first, uint32_t end)
{
	const struct tramp_facts *facts = scan->code->facts;
	uint64_t done = first ? end_before(scan, first) : scan->code->base;

	for (uint32_t i = first; i < end && !scan->no_memory; i++) {
		const struct tramp_fn *fn = &facts->fns[i];

		if (done < fn->addr)
			sweep_gaps(scan, done, fn->addr);
		done = sweep_range(scan, fn->addr, fn->addr + fn->size, i);
	}
	sweep_gaps(scan, done, end_before(scan, end));
}
