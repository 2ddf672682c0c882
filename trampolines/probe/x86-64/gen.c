// SPDX-License-Identifier: GPL-3.0-or-later
/* The pieces of a probe: registers saved and restored, checks, the record. */

#include "tracefmt/ring.h"
#include "trampolines/probe/probe.h"
#include "trampolines/probe/x86-64/gen.h"

enum {
	RED_ZONE = 128,
	/*
	 * The first of its words to be used: the last ones.  Before a return an unwinder still looks for
	 * registers where they were popped from, up to six words before the return address.
	 */
	RED_FIRST = RED_ZONE / 8 - RT_PROBE_SAVES,
};

/* Those first that nobody looks at in a handler's backtrace. */
static const uint8_t places[] = { TRAMP_R11, TRAMP_R10, TRAMP_R9,  TRAMP_R8,  TRAMP_RDI,
				  TRAMP_RSI, TRAMP_RCX, TRAMP_RBX, TRAMP_R12, TRAMP_R13,
				  TRAMP_R14, TRAMP_R15, TRAMP_RBP, TRAMP_RDX, TRAMP_RAX };

/* A register that is dead in the program, for our own use; 0xff: none. */
static uint8_t take_dead(struct gen *g)
{
	for (size_t i = 0; i < sizeof(places); i++) {
		if (g->dead & TRAMP_REG(places[i])) {
			g->dead &= ~TRAMP_REG(places[i]);
			return places[i];
		}
	}
	return 0xff;
}

static uint8_t take_place(struct gen *g)
{
	uint8_t reg = take_dead(g);

	if (reg != 0xff)
		return (uint8_t)(RT_FROM_REG + reg);
	return (uint8_t)((g->probe->red_zone_dead ? RT_FROM_RED + RED_FIRST : RT_FROM_STACK) +
			 g->words++);
}

static void move(struct gen *g, enum asm_op op, uint8_t reg, uint8_t place)
{
	if (place >= RT_FROM_RED)
		asm_mem(&g->out, op, reg, TRAMP_RSP, -8 * (place - (int)RT_FROM_RED + 1));
	else if (place >= RT_FROM_STACK)
		asm_mem(&g->out, op, reg, TRAMP_RSP, 8 * (place - (int)RT_FROM_STACK));
	else if (op == ASM_STORE)
		asm_mov(&g->out, place - RT_FROM_REG, reg);
	else
		asm_mov(&g->out, reg, place - RT_FROM_REG);
}

static void plan_save(struct gen *g, uint8_t reg)
{
	struct rt_probe_map *map = &g->code->map;

	if (!(g->live & TRAMP_REG(reg)))
		return;
	map->save[map->n].reg = reg;
	map->save[map->n++].from = take_place(g);
}

uint8_t gen_place(const struct gen *g, uint8_t from)
{
	const struct rt_probe_map *map = &g->code->map;

	for (int i = 0; i < map->n; i++)
		if (from == RT_FROM_REG + map->save[i].reg)
			return map->save[i].from;
	return from;
}

/*
 * Registers that the program does not need any more, but a value does; and with values those that functions keep, which the runtime
 * has not saved when it looks for values in registers.
 */
static tramp_regs with_values(const struct gen *g)
{
	const struct tramp_values *values = g->probe->values;
	tramp_regs live = g->probe->live;

	if (!values || !values->n)
		return live;
	for (int i = 0; i < values->n; i++)
		if (values->v[i].from >= RT_FROM_REG && values->v[i].from < RT_FROM_STACK)
			live |= TRAMP_REG(values->v[i].from - RT_FROM_REG);
	return live | TRAMP_REG(TRAMP_RBX) | TRAMP_REG(TRAMP_RBP) | TRAMP_REG(TRAMP_R12) | TRAMP_REG(TRAMP_R13) |
	       TRAMP_REG(TRAMP_R14) | TRAMP_REG(TRAMP_R15);
}

void gen_save(struct gen *g, tramp_regs regs)
{
	struct rt_probe_map *map = &g->code->map;
	bool flags = g->probe->live & TRAMP_STATUS;

	if (flags)
		regs |= TRAMP_REG(TRAMP_RAX);
	g->live = with_values(g);
	g->dead = ~(g->live | TRAMP_REG(TRAMP_RSP) | regs) & TRAMP_GPRS;
	if (regs & TRAMP_REG(TRAMP_RAX))
		plan_save(g, TRAMP_RAX);
	if (regs & TRAMP_REG(TRAMP_RDX))
		plan_save(g, TRAMP_RDX);
	map->flags_at = flags ? take_place(g) : RT_FROM_NONE;
	if (g->probe->jump.by == TRAMP_JUMP_INSN)
		g->target = g->words++;
	if (g->words && !g->probe->red_zone_dead) {
		g->below = RED_ZONE + 8 * g->words;
		asm_mem(&g->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -g->below);
		map->shifted = (uint16_t)g->out.len;
		map->stack = (uint8_t)g->below;
	}
	for (int i = 0; i < map->n; i++)
		move(g, ASM_STORE, map->save[i].reg, map->save[i].from);
	map->saved = (uint16_t)g->out.len;
	/* rax and rdx are saved, and still what they were */
	if (g->probe->jump.by == TRAMP_JUMP_INSN) {
		tramp_put_bytes(&g->out, g->probe->jump.load, g->probe->jump.load_len);
		asm_mem(&g->out, ASM_STORE, TRAMP_RDX, TRAMP_RSP, 8 * g->target);
	}
	if (flags) {
		asm_flags_to_ax(&g->out);
		move(g, ASM_STORE, TRAMP_RAX, map->flags_at);
		map->flags_saved = (uint16_t)g->out.len;
	}
	g->scratch = take_dead(g);
}

void gen_restore(struct gen *g)
{
	struct rt_probe_map *map = &g->code->map;

	g->code->back_to = (uint16_t)g->out.len;
	for (int i = 0; i < g->nskips; i++)
		asm_land(&g->out, g->skip_ref[i]);
	if (map->flags_at != RT_FROM_NONE) {
		move(g, ASM_LOAD, TRAMP_RAX, map->flags_at);
		asm_flags_from_ax(&g->out);
	}
	for (int i = 0; i < map->n; i++)
		move(g, ASM_LOAD, map->save[i].reg, map->save[i].from);
	if (g->below)
		asm_mem(&g->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, g->below);
}

void gen_slow_if(struct gen *g, enum asm_cc cc)
{
	g->code->slow_ref[g->code->nslow_refs++] = (uint16_t)asm_jcc(&g->out, cc);
}

void gen_skip_if(struct gen *g, enum asm_cc cc)
{
	g->skip_ref[g->nskips++] = (uint16_t)asm_jcc(&g->out, cc);
}

void gen_skip(struct gen *g)
{
	tramp_put_u8(&g->out, 0xe9);
	g->skip_ref[g->nskips++] = (uint16_t)g->out.len;
	tramp_put_u32(&g->out, 0);
}

uint8_t gen_dead(const struct gen *g)
{
	struct gen copy = { .dead = ~(g->probe->live | TRAMP_REG(TRAMP_RSP)) & TRAMP_GPRS };

	return take_dead(&copy);
}

static void check_off(struct gen *g, uint8_t reg)
{
	asm_mov_imm64(&g->out, reg, g->env->off);
	asm_cmp_mem(&g->out, reg, 0, 0);
	gen_skip_if(g, ASM_NE);
}

static bool acts(const struct gen *g, enum rt_act act)
{
	return g->probe->acts & RT_ACT(act);
}

/* A new thread has its parent's pool: if that records, the check of the owner finds it. */
static void check_under(struct gen *g)
{
	asm_gs_cmp0(&g->out, g->env->under);
	if (acts(g, RT_ACT_UNDER) && g->probe->kind == TRAMP_PROBE_ENTRY)
		gen_slow_if(g, ASM_E);
	else
		gen_skip_if(g, ASM_E);
}

/* Calls at the place where it began, and above it, are for the runtime to judge. */
static void check_below(struct gen *g, uint8_t reg)
{
	if (g->below)
		asm_mem(&g->out, ASM_LEA, reg, TRAMP_RSP, g->below);
	asm_gs(&g->out, ASM_CMP_LOAD, g->below ? reg : TRAMP_RSP, g->env->under);
	gen_slow_if(g, ASM_AE);
}

void gen_check_owner(struct gen *g, uint8_t reg)
{
	bool off_last = g->env->under && acts(g, RT_ACT_UNDER);

	if (g->env->under)
		check_under(g);
	if (g->env->off && !off_last)
		check_off(g, reg);
	gen_owner(g, reg);
	if (g->env->under)
		check_below(g, reg);
	if (g->env->off && off_last)
		check_off(g, reg);
}

void gen_owner(struct gen *g, uint8_t reg)
{
	asm_thread(&g->out, g->env->id, reg);
	asm_gs(&g->out, ASM_CMP_LOAD, reg, g->env->owner);
	gen_slow_if(g, ASM_NE);
}

void gen_commit(struct gen *g)
{
	g->code->map.commit = (uint16_t)g->out.len;
}

/* rax = the frame address */
void gen_frame(struct gen *g)
{
	if (g->below)
		asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RSP, g->below);
	else
		asm_mov(&g->out, TRAMP_RAX, TRAMP_RSP);
}

/* rax = the frame address, with the mark of a jump: see tracefmt/ring.h. */
static void jump_frame(struct gen *g)
{
	const struct tramp_jump *jump = &g->probe->jump;

	switch (jump->by) {
	case TRAMP_JUMP_INSN:
		asm_mem(&g->out, ASM_LOAD, TRAMP_RAX, TRAMP_RSP, 8 * g->target);
		break;
	case TRAMP_JUMP_BY:
		asm_mov_imm64(&g->out, TRAMP_RAX, jump->address);
		asm_mem(&g->out, ASM_LOAD, TRAMP_RAX, TRAMP_RAX, 0);
		break;
	default:
		asm_mov_imm64(&g->out, TRAMP_RAX, RING_JUMP_TARGET(jump->address));
	}
	if (jump->by != TRAMP_JUMP_TO) {
		asm_shr(&g->out, TRAMP_RAX, RING_JUMP_ALIGN);
		asm_shl(&g->out, TRAMP_RAX, RING_JUMP_SHIFT);
	}
	asm_lea_sum(&g->out, TRAMP_RAX, TRAMP_RSP, TRAMP_RAX, g->below + (int)RING_JUMP);
}

/* rax = the record's first word; clobbers rdx. */
void gen_first_word(struct gen *g)
{
	asm_rdtsc(&g->out);
	asm_shl(&g->out, TRAMP_RAX, 20);
	asm_shl(&g->out, TRAMP_RDX, 52);
	asm_lea_sum(&g->out, TRAMP_RAX, TRAMP_RAX, TRAMP_RDX, (int32_t)g->probe->event);
}

static void put_value(struct gen *g, const struct rt_probe_value *value, uint8_t p, int32_t at)
{
	uint8_t from = gen_place(g, value->from), reg = TRAMP_RAX;

	switch (from) {
	case RT_FROM_VECTOR ... RT_FROM_VECTOR + 15:
		asm_store_vector(&g->out, from - RT_FROM_VECTOR, p, at);
		return;
	case RT_FROM_FRAME:
		asm_mem(&g->out, ASM_LOAD, reg, TRAMP_RSP, g->below + value->offset);
		break;
	case RT_FROM_CONST:
		asm_mov_imm32(&g->out, reg, value->offset);
		break;
	case RT_FROM_REG ... RT_FROM_STACK - 1:
		reg = from - RT_FROM_REG;
		break;
	default:
		move(g, ASM_LOAD, reg, from);
	}
	asm_mem(&g->out, ASM_STORE, reg, p, at);
}

static void put_values(struct gen *g, uint8_t p)
{
	const struct tramp_values *values = g->probe->values;

	for (int i = 0; i < g->code->map.words; i++)
		put_value(g, &values->v[i], p, RT_PROBE_RECORD_BYTES + 8 * i);
}

/*
 * Up to the commit.  The first word is written last: the collector may look at any time.  The
 * pointer stays in a dead register, or is loaded anew after rdtsc.
 */
void gen_record(struct gen *g)
{
	uint8_t p = g->scratch != 0xff ? g->scratch : TRAMP_RDX;

	g->code->map.words = g->probe->values ? g->probe->values->n : 0;
	asm_gs(&g->out, ASM_LOAD, p, g->env->ptr);
	if (g->code->map.words)
		asm_mem(&g->out, ASM_LEA, TRAMP_RAX, p, 8 * g->code->map.words);
	asm_gs(&g->out, ASM_CMP_LOAD, g->code->map.words ? TRAMP_RAX : p, g->env->room);
	gen_slow_if(g, ASM_AE);
	put_values(g, p);
	if (g->probe->jump.by != TRAMP_JUMP_NONE)
		jump_frame(g);
	else if (g->below)
		gen_frame(g);
	asm_mem(&g->out, ASM_STORE, g->below || g->probe->jump.by != TRAMP_JUMP_NONE ? TRAMP_RAX : TRAMP_RSP, p, 8);
	gen_first_word(g);
	if (p == TRAMP_RDX)
		asm_gs(&g->out, ASM_LOAD, p, g->env->ptr);
	asm_mem(&g->out, ASM_STORE, TRAMP_RAX, p, 0);
	gen_commit(g);
	asm_gs_add(&g->out, g->env->ptr, (int8_t)(RT_PROBE_RECORD_BYTES + 8 * g->code->map.words));
	g->code->map.ptr_reg = p;
	g->code->map.ptr_done = (uint16_t)g->out.len;
}
