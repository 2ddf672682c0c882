// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Probes that look before they record, at the function's count and the shadow stack: see runtime/probe.h.
 * After the checks of `off` and of the pool's owner there is, at an entry,
 *
 *	mov  %gs:counts, %rdx		has it been called often enough?
 *	test %rdx, %rdx
 *	je   slow
 *	cmpq $calls, function(%rdx)
 *	jae  restore
 *	mov  %gs:shadow, %rdx		is the innermost open call still there?
 *	cmp  %rsp, -8(%rdx)
 *	jbe  slow
 *	cmp  %gs:shadow_end, %rdx	is it deep enough?
 *	jae  restore
 *	mov  %rsp, 8(%rdx)
 *	...				record
 *	add  $16, %gs:shadow
 *	mov  %gs:counts, %rdx
 *	incq function(%rdx)
 *
 * and at an exit, which is recorded if the entry was:
 *
 *	mov  %gs:shadow, %rdx
 *	cmp  %rsp, -8(%rdx)
 *	jb   slow			left without an exit
 *	jne  restore
 *	...				record
 *	add  $-16, %gs:shadow
 *
 * TIMED: an entry goes to the shadow stack only, with its time.  An exit takes it off again if it
 * came soon; if not, or if the entry is in the ring already, the runtime writes what is due.
 */
#include "trampolines/probe/x86-64/gen.h"

enum { ENTRY_BYTES = 16, WORD = 0, FRAME = 8 };

/* cmp <frame address>, -8(%rdx); clobbers rax */
static void compare_top(struct gen *g)
{
	if (g->below)
		gen_frame(g);
	asm_mem(&g->out, ASM_CMP_STORE, g->below ? TRAMP_RAX : TRAMP_RSP, TRAMP_RDX,
		FRAME - ENTRY_BYTES);
}

static int32_t count_offset(const struct gen *g)
{
	return (int32_t)(8 * g->probe->function);
}

static void check_calls(struct gen *g)
{
	uint64_t calls = g->env->calls;

	asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->counts);
	asm_test(&g->out, TRAMP_RDX);
	gen_slow_if(g, ASM_E);
	if (calls <= INT32_MAX) {
		asm_cmp_mem(&g->out, TRAMP_RDX, count_offset(g), (int32_t)calls);
	} else {
		asm_mov_imm64(&g->out, TRAMP_RAX, calls);
		asm_mem(&g->out, ASM_CMP_STORE, TRAMP_RAX, TRAMP_RDX, count_offset(g));
	}
	gen_skip_if(g, ASM_AE);
}

static void step_shadow(struct gen *g, int8_t by)
{
	asm_gs_add(&g->out, g->env->shadow, by);
	g->code->map.shadow_step = by;
	g->code->map.shadow_done = (uint16_t)g->out.len;
}

/* After the commit. */
static void count_call(struct gen *g)
{
	asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->counts);
	asm_inc_mem(&g->out, TRAMP_RDX, count_offset(g));
	g->code->map.count_done = (uint16_t)g->out.len;
}

/* What lies after the top of the shadow stack is nobody's, and may be written at any time. */
static void enter(struct gen *g)
{
	if (g->env->calls)
		check_calls(g);
	asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->shadow);
	compare_top(g);
	gen_slow_if(g, ASM_BE);
	asm_gs(&g->out, ASM_CMP_LOAD, TRAMP_RDX, g->env->shadow_end);
	if (g->env->depth)
		gen_skip_if(g, ASM_AE);
	else
		gen_slow_if(g, ASM_AE);
	asm_mem(&g->out, ASM_STORE, g->below ? TRAMP_RAX : TRAMP_RSP, TRAMP_RDX, FRAME);
	if (g->env->mode == TRAMP_PROBE_TIMED) {
		gen_first_word(g);
		asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->shadow);
		asm_mem(&g->out, ASM_STORE, TRAMP_RAX, TRAMP_RDX, WORD);
		step_shadow(g, ENTRY_BYTES);
		gen_commit(g);
	} else {
		gen_record(g);
		step_shadow(g, ENTRY_BYTES);
	}
	if (g->env->calls)
		count_call(g);
}

static void leave_short(struct gen *g)
{
	gen_first_word(g);
	asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->shadow);
	asm_cmp_mem(&g->out, TRAMP_RDX, WORD - ENTRY_BYTES, 0);
	gen_slow_if(g, ASM_E);
	asm_mem(&g->out, ASM_SUB_LOAD, TRAMP_RAX, TRAMP_RDX, WORD - ENTRY_BYTES);
	asm_gs(&g->out, ASM_CMP_LOAD, TRAMP_RAX, g->env->time);
	gen_slow_if(g, ASM_AE);
	step_shadow(g, -ENTRY_BYTES);
	gen_commit(g);
}

static void leave(struct gen *g)
{
	asm_gs(&g->out, ASM_LOAD, TRAMP_RDX, g->env->shadow);
	compare_top(g);
	gen_slow_if(g, ASM_B);
	gen_skip_if(g, ASM_NE);
	if (g->env->mode == TRAMP_PROBE_TIMED) {
		leave_short(g);
		return;
	}
	gen_record(g);
	step_shadow(g, -ENTRY_BYTES);
}

void gen_filter(struct gen *g)
{
	gen_save(g, TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX));
	gen_check_owner(g, TRAMP_RDX);
	if (g->probe->kind == TRAMP_PROBE_ENTRY)
		enter(g);
	else
		leave(g);
}
