// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A probe that records, rax and rdx live and no other register dead, without `under`:
 *
 *	lea  -144(%rsp), %rsp		save: beyond the red zone
 *	mov  %rax, (%rsp)
 *	mov  %rdx, 8(%rsp)
 *	movabs $off, %rdx		work: is recording off?
 *	cmpq $0, (%rdx)
 *	jne  restore
 *	mov  %fs:0, %rdx		is it our pool?
 *	cmp  %gs:owner, %rdx
 *	jne  slow
 *	mov  %gs:ptr, %rdx		is there room?
 *	cmp  %gs:room, %rdx
 *	jae  slow
 *	lea  144(%rsp), %rax
 *	mov  %rax, 8(%rdx)
 *	rdtsc
 *	shl  $20, %rax
 *	shl  $52, %rdx
 *	lea  event(%rax,%rdx), %rax
 *	mov  %gs:ptr, %rdx
 *	mov  %rax, (%rdx)		commit
 *	add  $16, %gs:ptr
 *	mov  (%rsp), %rax		restore
 *	mov  8(%rsp), %rdx
 *	lea  144(%rsp), %rsp
 *
 * and its slow path:
 *
 *	lea  -136(%rsp), %rsp
 *	call *gate(%rip)
 *	lea  136(%rsp), %rsp
 *	jmp  restore
 *	gate, descriptor
 */
#include <string.h>

#include "tracefmt/ring.h"
#include "trampolines/probe/probe.h"
#include "trampolines/probe/x86-64/gen.h"

enum {
	SLOW_BELOW = RT_PROBE_SLOW_BELOW,
	SLOW_GATE = 32,		/* offset of the gate's address in the slow path */
	SLOW_CALL_END = 14,
};

_Static_assert(SLOW_GATE + 8 - SLOW_CALL_END == RT_PROBE_DESC, "place of the descriptor");

/* Values that only the runtime can get. */
static bool needs_runtime(const struct gen *g)
{
	const struct tramp_values *values = g->probe->values;

	if (!values || !values->n)
		return false;
	for (int i = 0; i < values->n; i++)
		if (values->v[i].kind != RT_VALUE_WORD)
			return true;
	return g->env->mode != TRAMP_PROBE_RECORD;
}

static void emit_record(struct gen *g)
{
	gen_save(g, TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX));
	gen_check_owner(g, TRAMP_RDX);
	gen_record(g);
}

/* Any dead register will do, else rdx. */
static void emit_count(struct gen *g)
{
	tramp_regs dead = ~g->probe->live & TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP);
	uint8_t reg = TRAMP_RDX;

	if (g->probe->live & TRAMP_STATUS)
		reg = TRAMP_RAX;
	gen_save(g, dead && reg != TRAMP_RAX ? 0 : TRAMP_REG(reg));
	if (g->scratch != 0xff)
		reg = g->scratch;
	gen_check_owner(g, reg);
	if (g->probe->kind == TRAMP_PROBE_EXIT) {
		gen_commit(g);
		return;
	}
	asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
	asm_test(&g->out, reg);
	gen_slow_if(g, ASM_E);
	asm_inc_mem(&g->out, reg, (int32_t)(8 * g->probe->function));
	gen_commit(g);
	g->code->map.count_done = (uint16_t)g->out.len;
}

/* The flags are live, and two registers dead. */
static void add_one_without_flags(struct gen *g, uint8_t reg, uint8_t other)
{
	int32_t at = (int32_t)(8 * g->probe->function);

	g->code->map.flags_at = RT_FROM_NONE;
	asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
	asm_mem(&g->out, ASM_LOAD, other, reg, at);
	asm_mem(&g->out, ASM_LEA, other, other, 1);
	asm_far(&g->out, ASM_STORE, other, reg, at);
}

static uint8_t lowest(tramp_regs regs)
{
	return (uint8_t)__builtin_ctzll(regs);
}

/* Most of them have a register to spare, and no flags to save; and one of their function has looked whose counts they are. */
static void emit_block(struct gen *g)
{
	tramp_regs dead = ~g->probe->live & TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP);
	bool flags = g->probe->live & TRAMP_STATUS;
	uint8_t reg = dead ? lowest(dead) : TRAMP_RDX;

	if (flags && g->probe->trust == TRAMP_TRUST_COUNTS && (dead & (dead - 1))) {
		add_one_without_flags(g, reg, lowest(dead & (dead - 1)));
	} else {
		if (flags)
			reg = TRAMP_RAX;
		gen_save(g, dead && !flags ? 0 : TRAMP_REG(reg));
		if (g->probe->trust == TRAMP_TRUST_NOTHING)
			gen_owner(g, reg);
		asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
		if (g->probe->trust != TRAMP_TRUST_COUNTS) {
			asm_test(&g->out, reg);
			gen_slow_if(g, ASM_E);
		}
		asm_inc_mem(&g->out, reg, (int32_t)(8 * g->probe->function));
	}
	gen_commit(g);
	g->code->map.count_done = (uint16_t)g->out.len;
}

static int32_t place_of(const struct gen *g, uint8_t reg)
{
	return g->env->kept + 8 * reg;
}

/* One that is dead, or else put away. */
static uint8_t take_temporary(struct gen *g, tramp_regs *taken)
{
	tramp_regs dead = ~(g->probe->live | *taken) & TRAMP_GPRS, other = ~*taken & TRAMP_GPRS;
	uint8_t reg = lowest(dead ? dead : other);

	*taken |= TRAMP_REG(reg);
	if (dead)
		return reg;
	g->code->map.save[g->code->map.n].reg = reg;
	g->code->map.save[g->code->map.n++].from = (uint8_t)(RT_FROM_KEPT + reg);
	asm_gs(&g->out, ASM_STORE, reg, place_of(g, reg));
	return reg;
}

static void emit_end(struct gen *g)
{
	const struct tramp_probe *p = g->probe;
	tramp_regs taken = p->kept_all | TRAMP_REG(p->kept) | TRAMP_REG(TRAMP_RSP);
	struct rt_probe_map *map = &g->code->map;
	bool flags = p->live & TRAMP_STATUS;
	uint8_t reg = take_temporary(g, &taken), other = flags ? take_temporary(g, &taken) : 0;
	int32_t at = (int32_t)(8 * p->function);

	map->saved = (uint16_t)g->out.len;
	asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
	if (flags) {
		asm_mem(&g->out, ASM_LOAD, other, reg, at);
		asm_lea_sum(&g->out, other, other, p->kept, 0);
		asm_far(&g->out, ASM_STORE, other, reg, at);
	} else {
		asm_far(&g->out, ASM_ADD_STORE, p->kept, reg, at);
	}
	gen_commit(g);
	map->count_done = (uint16_t)g->out.len;
	for (int i = 0; i < map->n; i++)
		asm_gs(&g->out, ASM_LOAD, map->save[i].reg, place_of(g, map->save[i].reg));
	if (p->kept_saved)
		asm_gs(&g->out, ASM_LOAD, p->kept, place_of(g, p->kept));
}

/* A counter that is in a register. */
static void emit_kept(struct gen *g)
{
	const struct tramp_probe *p = g->probe;
	struct rt_probe_map *map = &g->code->map;

	map->flags_at = RT_FROM_NONE;
	map->how = p->how;
	map->kept = p->kept;
	map->by = p->by;
	map->kept_saved = p->kept_saved;
	if (p->how == RT_COUNT_END) {
		emit_end(g);
		return;
	}
	if (p->how == RT_COUNT_BEGIN && p->kept_saved)
		asm_gs(&g->out, ASM_STORE, p->kept, place_of(g, p->kept));
	if (p->how == RT_COUNT_BEGIN)
		asm_mov_imm32(&g->out, p->kept, p->by);
	else
		asm_mem(&g->out, ASM_LEA, p->kept, p->kept, p->by);
	gen_commit(g);
	map->count_done = (uint16_t)g->out.len;
}

/* ---- trips of a loop ---- */

static int32_t trips_word(const struct gen *g, enum rt_trips word)
{
	return (int32_t)(8 * (g->probe->function + (uint32_t)word));
}

/* Two registers for its work: dead ones if there are two, and no flags to save. */
static void take_two(struct gen *g, uint8_t *one, uint8_t *two)
{
	tramp_regs dead = ~g->probe->live & TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP), more = dead & (dead - 1);
	bool enough = more && !(g->probe->live & TRAMP_STATUS);

	gen_save(g, enough ? 0 : TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX));
	*one = enough ? lowest(dead) : TRAMP_RAX;
	*two = enough ? lowest(more) : TRAMP_RDX;
}

/* It should not be running. */
static void emit_enter(struct gen *g, uint8_t base)
{
	uint32_t past;

	asm_cmp_mem(&g->out, base, trips_word(g, RT_TRIPS_RUNNING), 0);
	past = asm_jcc(&g->out, ASM_E);
	asm_far(&g->out, ASM_STORE, base, base, trips_word(g, RT_TRIPS_UNKNOWN));
	asm_land(&g->out, past);
}

/* What is in @trips becomes the most, or the least. */
static void emit_most_and_least(struct gen *g, uint8_t base, uint8_t trips)
{
	uint32_t past, none;

	asm_mem(&g->out, ASM_CMP_LOAD, trips, base, trips_word(g, RT_TRIPS_MOST));
	past = asm_jcc(&g->out, ASM_BE);
	asm_mem(&g->out, ASM_STORE, trips, base, trips_word(g, RT_TRIPS_MOST));
	asm_land(&g->out, past);
	asm_cmp_mem(&g->out, base, trips_word(g, RT_TRIPS_LEAST), 0);
	none = asm_jcc(&g->out, ASM_E);
	asm_mem(&g->out, ASM_CMP_LOAD, trips, base, trips_word(g, RT_TRIPS_LEAST));
	past = asm_jcc(&g->out, ASM_AE);
	asm_land(&g->out, none);
	asm_far(&g->out, ASM_STORE, trips, base, trips_word(g, RT_TRIPS_LEAST));
	asm_land(&g->out, past);
}

static void emit_left(struct gen *g, uint8_t base, uint8_t trips)
{
	uint32_t past;

	asm_mem(&g->out, ASM_LOAD, trips, base, trips_word(g, RT_TRIPS_RUNNING));
	asm_test(&g->out, trips);
	past = asm_jcc(&g->out, ASM_E);
	emit_most_and_least(g, base, trips);
	asm_mov_imm32(&g->out, trips, 0);
	asm_far(&g->out, ASM_STORE, trips, base, trips_word(g, RT_TRIPS_RUNNING));
	asm_land(&g->out, past);
}

/*
 * Until all is done nothing that it starts from has changed, so the runtime does it if a signal arrives.  The last 4 bytes of that
 * are the offset of one of the words: ENTER: UNKNOWN, LEFT: RUNNING, LEFT_KEPT: LEAST.
 */
static void emit_trips(struct gen *g)
{
	const struct tramp_probe *p = g->probe;
	struct rt_probe_map *map = &g->code->map;
	uint8_t base, trips;

	map->how = p->how;
	map->kept = p->kept;
	map->kept_saved = p->kept_saved;
	take_two(g, &base, &trips);
	asm_gs(&g->out, ASM_LOAD, base, g->env->counts);
	if (p->how == RT_COUNT_ENTER)
		emit_enter(g, base);
	else if (p->how == RT_COUNT_LEFT)
		emit_left(g, base, trips);
	else
		emit_most_and_least(g, base, p->kept);
	gen_commit(g);
	map->count_done = (uint16_t)g->out.len;
	gen_restore(g);
	if (p->kept_saved)
		asm_gs(&g->out, ASM_LOAD, p->kept, place_of(g, p->kept));
}

/* It saves nothing, since the slow path keeps everything; a signal there begins it anew. */
static void emit_switch(struct gen *g)
{
	g->code->slow_ref[g->code->nslow_refs++] = (uint16_t)(g->out.len + 1);
	tramp_put_u8(&g->out, 0xe9);
	tramp_put_u32(&g->out, 0);
	g->code->map.flags_at = RT_FROM_NONE;
	gen_commit(g);
}

static uint8_t kind_of(const struct tramp_probe *probe)
{
	static const uint8_t exits[] = {
		[TRAMP_JUMP_NONE] = RT_PROBE_EXIT,
		[TRAMP_JUMP_TO] = RT_PROBE_EXIT_TO,
		[TRAMP_JUMP_BY] = RT_PROBE_EXIT_BY,
		[TRAMP_JUMP_INSN] = RT_PROBE_EXIT_AT,
	};

	return probe->kind == TRAMP_PROBE_ENTRY ? RT_PROBE_ENTRY : exits[probe->jump.by];
}

static void emit_slow(struct gen *g)
{
	struct tramp_probe_code *code = g->code;
	struct tramp_out out = { .buf = code->slow, .room = sizeof(code->slow) };
	struct rt_probe_desc desc = {
		.event = g->probe->event,
		.function = g->probe->function,
		.kind = kind_of(g->probe),
		.mode = (uint8_t)g->env->mode,
		.acts = g->probe->acts,
		.above = (uint16_t)(g->below + SLOW_BELOW),
		.target = g->probe->jump.address,
	};

	desc.nvalues = g->probe->values ? g->probe->values->n : 0;
	if (desc.kind == RT_PROBE_EXIT_AT)
		desc.target = SLOW_BELOW + 8u * g->target;

	asm_mem(&out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -SLOW_BELOW);
	tramp_put_bytes(&out, "\xff\x15", 2);
	tramp_put_rel32(&out, SLOW_GATE, 0);
	asm_mem(&out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, SLOW_BELOW);
	tramp_put_u8(&out, 0xe9);
	code->slow_back = (uint16_t)out.len;
	tramp_put_u32(&out, 0);
	tramp_put_pad(&out, SLOW_GATE);
	tramp_put_u64(&out, g->env->gate);
	tramp_put_bytes(&out, &desc, sizeof(desc));
	for (int i = 0; i < desc.nvalues; i++) {
		struct rt_probe_value value = g->probe->values->v[i];

		value.from = gen_place(g, value.from);
		tramp_put_bytes(&out, &value, sizeof(value));
	}
	code->slow_len = out.len;
	if (out.status != TRAMP_OK)
		g->out.status = out.status;
}

static bool in_range(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	if (probe->values && (probe->values->n > RT_VALUES || probe->jump.by != TRAMP_JUMP_NONE))
		return false;
	if (env->mode == TRAMP_PROBE_COUNT && probe->kind == TRAMP_PROBE_EXIT && !probe->acts)
		return false;
	return probe->event < 1u << 20 && probe->function < INT32_MAX / 8;
}

static void end(struct gen *g)
{
	if (g->probe->how == RT_COUNT_ONE)
		gen_restore(g);
	g->code->len = g->out.len;
	g->code->map.length = (uint16_t)g->out.len;
}

/* What records, before the slow path that belongs to it; then back to the end of what counts. */
static void emit_apart(struct gen *g)
{
	struct tramp_probe_code *code = g->code, apart;
	struct gen a = { .env = g->env, .probe = g->probe, .code = &apart };
	struct tramp_out out = { .buf = code->slow, .room = sizeof(code->slow) };

	memset(&apart, 0, sizeof(apart));
	a.out = (struct tramp_out){ .buf = apart.code, .room = sizeof(apart.code) };
	gen_chosen_apart(&a);
	end(&a);
	emit_slow(&a);
	if (tramp_probe_place(&apart, 0, apart.len + TRAMP_PROBE_BACK) != TRAMP_OK)
		a.out.status = TRAMP_FAR;
	tramp_put_bytes(&out, apart.code, apart.len);
	tramp_put_u8(&out, 0xe9);
	code->slow_back = (uint16_t)out.len;
	code->back_to = (uint16_t)code->len;
	tramp_put_u32(&out, 0);
	tramp_put_bytes(&out, apart.slow, apart.slow_len);
	code->slow_len = out.len;
	code->apart = apart.map;
	if (g->out.status == TRAMP_OK)
		g->out.status = a.out.status != TRAMP_OK ? a.out.status : out.status;
}

enum tramp_status tramp_probe_emit(const struct tramp_probe_env *env, const struct tramp_probe *probe,
				   struct tramp_probe_code *code)
{
	struct gen g = { .env = env, .probe = probe, .code = code };

	memset(code, 0, sizeof(*code));
	if (!in_range(env, probe))
		return TRAMP_NO_ROOM;
	g.out = (struct tramp_out){ .buf = code->code, .room = sizeof(code->code) };
	if (probe->acts & RT_ACT_ENTRIES || needs_runtime(&g))
		emit_switch(&g);
	else if (env->mode == TRAMP_PROBE_RECORD)
		emit_record(&g);
	else if (env->mode == TRAMP_PROBE_COUNT)
		emit_count(&g);
	else if (env->mode == TRAMP_PROBE_BLOCKS && probe->how >= RT_COUNT_ENTER)
		emit_trips(&g);
	else if (env->mode == TRAMP_PROBE_BLOCKS && probe->how != RT_COUNT_ONE)
		emit_kept(&g);
	else if (env->mode == TRAMP_PROBE_BLOCKS)
		emit_block(&g);
	else if (env->mode == TRAMP_PROBE_CHOSEN)
		gen_chosen(&g);
	else
		gen_filter(&g);
	end(&g);
	if (env->mode == TRAMP_PROBE_CHOSEN && !(probe->acts & RT_ACT_ENTRIES) && !needs_runtime(&g) && gen_is_apart(&g))
		emit_apart(&g);
	else if (code->nslow_refs)
		emit_slow(&g);
	return g.out.status;
}

static enum tramp_status put_rel32(uint8_t *at, uint64_t end, uint64_t target)
{
	uint32_t rel = (uint32_t)(target - end);

	if (!tramp_reaches(end, target))
		return TRAMP_FAR;
	memcpy(at, &rel, sizeof(rel));
	return TRAMP_OK;
}

enum tramp_status tramp_probe_place(struct tramp_probe_code *code, uint64_t addr, uint64_t slow_addr)
{
	enum tramp_status status;

	for (int i = 0; i < code->nslow_refs; i++) {
		uint16_t at = code->slow_ref[i];

		status = put_rel32(code->code + at, addr + at + 4, slow_addr);
		if (status != TRAMP_OK)
			return status;
	}
	return put_rel32(code->slow + code->slow_back, slow_addr + code->slow_back + 4,
			 addr + code->back_to);
}
