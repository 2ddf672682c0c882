// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Checks, and their slow paths after all copies.  With flags dead and a register to spare:
 *
 *	mov  %fs:0, %r			cmp  %gs:limit, %reg
 *	cmp  %gs:owner, %r		jae  slow
 *	jne  slow
 *
 * Where the flags are dead alone, the owner is compared in rax, which is put aside beyond the red zone meanwhile.
 * Otherwise rax and flags are put aside: into the pool, or beyond the red zone as long as the pool
 * may be another thread's.  The slow path puts them back first, so that the runtime finds the
 * program's:
 *
 *	again:	jmp  check		(where the signal shim leads who was interrupted in the next three)
 *	slow:	mov  %gs:slot1, %rax
 *		add  $0x7f, %al; sahf
 *		mov  %gs:slot0, %rax
 *	gate:	lea  -152(%rsp), %rsp
 *		call *gate(%rip)
 *		lea  152(%rsp), %rsp
 *		jmp  resume
 *		gate, descriptor
 */
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

enum {
	SLOW_GATE = 32,		/* offset of the gate's address from the lea */
	SLOW_CALL_END = 14,
	FLAGS_AT = 8,		/* from the lowered rsp */
	AL_TO_OVERFLOW = 0x7f,
};

_Static_assert(SLOW_GATE + 8 - SLOW_CALL_END == RT_MEM_DESC, "place of the descriptor");

static uint32_t here(const struct tramp_mirror *m)
{
	return (uint32_t)m->out.len;
}

static void put_branch(struct tramp_mirror *m, enum asm_cc cc, struct mem_slow *slow)
{
	slow->ref = asm_jcc(&m->out, cc);
}

static void note_slow(struct tramp_mirror *m, struct mem_slow *slow)
{
	slow->resume = here(m);
	if (mir_reserve(&m->mem->slows, m->mem->slows.n + 1))
		m->mem->slows.v[m->mem->slows.n++] = *slow;
	else
		m->lost = true;
}

/* From the state of the program to others that have to be undone. */
static void state_back(struct tramp_mirror *m, const struct mem_state *s, unsigned int flags, uint32_t start)
{
	struct mem_state state = *s;

	state.flags = (uint8_t)(s->flags | RT_MEM_BACK | flags);
	mem_state(m, &state, start);
}

/* ---- rax and flags ---- */

static void save_on_stack(struct tramp_mirror *m, const struct mem_state *s, uint32_t start)
{
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -RT_MEM_BELOW);
	state_back(m, s, RT_MEM_LOWERED, start);
	asm_mem(&m->out, ASM_STORE, TRAMP_RAX, TRAMP_RSP, 0);
	state_back(m, s, RT_MEM_LOWERED | RT_MEM_SLOT0, start);
	asm_flags_to_ax(&m->out);
	asm_mem(&m->out, ASM_STORE, TRAMP_RAX, TRAMP_RSP, FLAGS_AT);
	state_back(m, s, RT_MEM_LOWERED | RT_MEM_SLOT0 | RT_MEM_FLAGS, start);
}

static void restore_from_stack(struct tramp_mirror *m)
{
	asm_mem(&m->out, ASM_LOAD, TRAMP_RAX, TRAMP_RSP, FLAGS_AT);
	asm_flags_from_ax(&m->out);
	asm_mem(&m->out, ASM_LOAD, TRAMP_RAX, TRAMP_RSP, 0);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
}

static void save_in_slots(struct tramp_mirror *m, const struct mem_state *s, uint32_t start)
{
	const int32_t *slot = m->mem->env.slot;

	state_back(m, s, 0, start);
	asm_gs(&m->out, ASM_STORE, TRAMP_RAX, slot[0]);
	state_back(m, s, RT_MEM_SLOT0, start);
	asm_flags_to_ax(&m->out);
	asm_gs(&m->out, ASM_STORE, TRAMP_RAX, slot[1]);
	state_back(m, s, RT_MEM_SLOT0 | RT_MEM_FLAGS, start);
	if (s->reg == TRAMP_RAX)
		asm_gs(&m->out, ASM_LOAD, TRAMP_RAX, slot[0]);
}

static void restore_from_slots(struct tramp_mirror *m)
{
	asm_gs(&m->out, ASM_LOAD, TRAMP_RAX, m->mem->env.slot[1]);
	asm_flags_from_ax(&m->out);
	asm_gs(&m->out, ASM_LOAD, TRAMP_RAX, m->mem->env.slot[0]);
}

/* ---- is the pool this thread's? ---- */

uint8_t mem_dead_register(const struct tramp_mirror *m, const struct mem_node *node)
{
	uint32_t op = mir_flow_block(m, node->block)->op + node->first;
	tramp_regs live = tramp_flow_live_at(&m->flow, node->block, op) | TRAMP_REG(TRAMP_RSP);

	for (uint8_t reg = TRAMP_R11; reg != UINT8_MAX; reg--) {
		if (!(live & TRAMP_REG(reg)) && reg != MEM_CARRIER)
			return reg;
	}
	return live & TRAMP_REG(MEM_CARRIER) ? RT_MEM_NO_REG : MEM_CARRIER;
}

static void compare_owner(struct tramp_mirror *m, uint8_t reg)
{
	asm_thread(&m->out, m->mem->env.id, reg);
	asm_gs(&m->out, ASM_CMP_LOAD, reg, m->mem->env.owner);
}

/* No register is dead, but the flags are, which nothing changes while rax is put back. */
static void compare_with_rax(struct tramp_mirror *m, const struct mem_state *s, uint32_t start)
{
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -RT_MEM_BELOW);
	state_back(m, s, RT_MEM_LOWERED, start);
	asm_mem(&m->out, ASM_STORE, TRAMP_RAX, TRAMP_RSP, 0);
	state_back(m, s, RT_MEM_LOWERED | RT_MEM_SLOT0, start);
	compare_owner(m, TRAMP_RAX);
	asm_mem(&m->out, ASM_LOAD, TRAMP_RAX, TRAMP_RSP, 0);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
	state_back(m, s, 0, start);
}

void mem_put_owner_check(struct tramp_mirror *m, uint32_t n, uint32_t start)
{
	const struct mem_node *node = mem_node(m, n);
	struct mem_state s = { .node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG };
	struct mem_slow slow = {
		.start = start, .node = n, .orig = s.orig, .reg = RT_MEM_NO_REG,
		.undo = MEM_UNDO_NOTHING,
	};
	uint8_t reg = node->parked || mem_guesses(m, n) ? mem_dead_register(m, node) : node->reg;

	if (node->owner_flags) {
		slow.undo = MEM_UNDO_STACK;
		save_on_stack(m, &s, start);
		compare_owner(m, TRAMP_RAX);
		put_branch(m, ASM_NE, &slow);
		restore_from_stack(m);
		state_back(m, &s, 0, here(m));
	} else {
		if (reg != RT_MEM_NO_REG)
			compare_owner(m, reg);
		else
			compare_with_rax(m, &s, start);
		put_branch(m, ASM_NE, &slow);
	}
	note_slow(m, &slow);
}

/* ---- is there room? ---- */

void mem_put_check(struct tramp_mirror *m, const struct mem_state *s, bool flags_live)
{
	struct mem_slow slow = {
		.start = here(m), .node = s->node, .orig = s->orig, .reg = s->reg, .flags = s->flags,
		.written = s->written, .undo = flags_live ? MEM_UNDO_SLOTS : MEM_UNDO_NOTHING,
		.insn = (uint16_t)(s->orig - m->mem->plan.md[s->node].start),
	};

	if (flags_live)
		save_in_slots(m, s, slow.start);
	else
		state_back(m, s, 0, slow.start);
	asm_gs(&m->out, ASM_CMP_LOAD, s->reg, m->mem->env.limit);
	put_branch(m, ASM_AE, &slow);
	if (flags_live)
		restore_from_slots(m);
	note_slow(m, &slow);
}

/*
 * rax and rdx are put aside, into slots 0 and 2; flags stay as they are.
 *
 *	mov  %rax, %gs:slot0		mov  %eax, at(%reg)
 *	mov  %rdx, %gs:slot2		mov  %edx, at+4(%reg)
 *	rdtsc				mov  %gs:slot0, %rax
 *					mov  %gs:slot2, %rdx
 */
void mem_put_time(struct tramp_mirror *m, struct mem_state *s, uint16_t at)
{
	const int32_t *slot = m->mem->env.slot;
	const uint32_t start = here(m);

	state_back(m, s, 0, start);
	asm_gs(&m->out, ASM_STORE, TRAMP_RAX, slot[0]);
	state_back(m, s, RT_MEM_SLOT0, start);
	asm_gs(&m->out, ASM_STORE, TRAMP_RDX, slot[2]);
	state_back(m, s, RT_MEM_SLOT0 | RT_MEM_SLOT2, start);
	tramp_put_bytes(&m->out, "\x0f\x31", 2);
	mem_put_store(&m->out, TRAMP_RAX, s->reg, at, false);
	mem_put_store(&m->out, TRAMP_RDX, s->reg, at + 4, false);
	asm_gs(&m->out, ASM_LOAD, TRAMP_RAX, slot[0]);
	asm_gs(&m->out, ASM_LOAD, TRAMP_RDX, slot[2]);
	s->written = (uint16_t)(at + 8);
	state_back(m, s, 0, here(m));
}

void mem_put_less(struct tramp_mirror *m, uint32_t weight)
{
	if (weight)
		asm_gs_sub32(&m->out, m->mem->env.left, (int32_t)weight);
	else
		asm_gs_cmp0(&m->out, m->mem->env.left);
}

/*
 * Is it time to stop?  The flags are dead.
 *
 *	subq $weight, %gs:left
 *	js   slow
 */
void mem_put_count(struct tramp_mirror *m, const struct mem_state *s, uint32_t weight)
{
	struct mem_slow slow = {
		.start = here(m), .node = s->node, .orig = s->orig, .reg = s->reg, .flags = s->flags,
		.undo = MEM_UNDO_NOTHING, .counts = true,
		.insn = (uint16_t)(s->orig - m->mem->plan.md[s->node].start),
	};

	state_back(m, s, 0, slow.start);
	mem_put_less(m, weight);
	put_branch(m, ASM_S, &slow);
	mem_state(m, s, 0);
	note_slow(m, &slow);
}

/* ---- slow paths ---- */

static void put_jump(struct tramp_mirror *m, uint32_t to)
{
	tramp_put_u8(&m->out, 0xe9);
	tramp_put_u32(&m->out, to - (here(m) + 4));
}

/* Before the entry, a jump back to the check for a thread that is interrupted while all is put back. */
static void put_undo(struct tramp_mirror *m, const struct mem_slow *slow, const struct mem_state *s)
{
	uint32_t again = here(m);

	put_jump(m, slow->start);
	if (slow->undo == MEM_UNDO_STACK) {
		state_back(m, s, RT_MEM_LOWERED | RT_MEM_SLOT0 | RT_MEM_FLAGS, again);
		restore_from_stack(m);
	} else {
		state_back(m, s, RT_MEM_SLOT0 | RT_MEM_FLAGS, again);
		restore_from_slots(m);
	}
}

static void put_gate(struct tramp_mirror *m, const struct mem_slow *slow, const struct mem_state *s)
{
	struct rt_mem_desc desc = {
		.node = m->req.node + slow->node, .insn = slow->insn, .written = slow->written,
		.above = RT_MEM_BELOW, .reg = slow->reg,
		.flags = (uint8_t)(slow->flags | (slow->counts ? RT_MEM_COUNTS : 0) |
				   (slow->lands ? RT_MEM_LANDS : 0)),
	};
	uint32_t lea = here(m);

	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -RT_MEM_BELOW);
	if (slow->lands)
		mem_plain_state(m, RT_MEM_BACK | RT_MEM_LOWERED, lea);
	else
		state_back(m, s, RT_MEM_LOWERED, lea);
	tramp_put_bytes(&m->out, "\xff\x15", 2);
	tramp_put_rel32(&m->out, m->out.addr + lea + SLOW_GATE, 0);
	if (slow->lands)
		state_back(m, s, RT_MEM_LOWERED, slow->resume);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
	mem_state(m, s, 0);
	put_jump(m, slow->resume);
	tramp_put_pad(&m->out, lea + SLOW_GATE);
	tramp_put_u64(&m->out, m->mem->env.gate);
	tramp_put_bytes(&m->out, &desc, sizeof(desc));
}

/*
 * Where the runtime returns to instead if recording goes off:
 *
 *	again:	jmp  plain		(where the signal shim leads who was interrupted in the next)
 *	leave:	lea  152(%rsp), %rsp
 *		jmp  plain
 */
static void put_leave(struct tramp_mirror *m, const struct mem_slow *slow)
{
	uint32_t again = here(m), plain = mem_plain_at(m, slow->node, slow->orig);

	mem_plain_state(m, 0, 0);
	put_jump(m, plain);
	mem_plain_state(m, RT_MEM_BACK | RT_MEM_LOWERED, again);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
	mem_plain_state(m, 0, 0);
	put_jump(m, plain);
}

static void put_slow_path(struct tramp_mirror *m, const struct mem_slow *slow)
{
	struct mem_state s = {
		.node = slow->node, .orig = slow->orig, .written = slow->written, .reg = slow->reg,
		.flags = slow->flags,
	};
	uint32_t at, rel;

	mem_state(m, &s, 0);
	at = here(m);
	if (slow->undo != MEM_UNDO_NOTHING) {
		put_undo(m, slow, &s);
		at += 5;
		mem_state(m, &s, 0);
	}
	put_gate(m, slow, &s);
	if (m->mem->env.sampled && (slow->reg != RT_MEM_NO_REG || slow->counts))
		put_leave(m, slow);
	rel = at - (slow->ref + 4);
	if (m->out.status == TRAMP_OK)
		memcpy(m->out.buf + slow->ref, &rel, sizeof(rel));
}

/*
 * In the plain copy, up to the call; after it recording is on, and a thread that is interrupted goes on at `enter`.
 *
 *	enter:	jmp  entry
 *	landing: gate, descriptor; leave
 */
void mem_put_landing(struct tramp_mirror *m, uint32_t i, uint32_t enter)
{
	uint32_t n = m->mem->plan.entry[i];
	struct mem_state s = { .node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG };
	struct mem_slow slow = {
		.resume = enter, .node = n, .orig = s.orig, .reg = RT_MEM_NO_REG,
		.insn = (uint16_t)(s.orig - m->mem->plan.md[n].start), .lands = true,
	};

	mem_plain_state(m, 0, 0);
	mir_piece(m, RT_PIECE_SLOW, s.orig, false);
	put_gate(m, &slow, &s);
	put_leave(m, &slow);
}

void mir_mem_emit_slow_paths(struct tramp_mirror *m)
{
	m->mem->in_slow = true;
	for (size_t k = 0; k < m->mem->slows.n && m->out.status == TRAMP_OK; k++)
		put_slow_path(m, &m->mem->slows.v[k]);
	mem_put_misses(m);
	m->mem->in_slow = false;
}
