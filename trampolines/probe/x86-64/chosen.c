// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Probes that record or count, as a byte of their function says (tracefmt/ring.h, enum ring_choice).  With a register that is dead,
 * r11 here, an entry is
 *
 *	movabs $choice, %r11
 *	cmpq $0, off - choice(%r11)	is recording off?
 *	jne  end
 *	cmpb $0, (%r11)
 *	je   record
 *	mov  %fs:0, %r11		is it our pool?
 *	cmp  %gs:owner, %r11
 *	jne  record			which sees it again, and takes the slow path
 *	mov  %gs:counts, %r11
 *	test %r11, %r11
 *	je   record
 *	incq function(%r11)
 *	jmp  end
 * record:
 *	...				save, checks
 *	lea  -1(%rsp), %rax
 *	mov  %rax, %gs:watch		and watch_far
 *	...				record, restore
 * end:
 *
 * and an exit:
 *
 *	cmp  %rsp, %gs:watch		exits below it, or at it, are not recorded ...
 *	jb   record
 *	cmp  %rsp, %gs:watch_far	... unless they are so far below that it may be another stack
 *	jb   end
 * record:
 *	...				save, checks, record
 *	mov  %rsp, %gs:watch		and watch_far
 *	...				restore
 * end:
 *
 * Where the flags are live, or an entry has no dead register, registers are saved first.  `watch` is set before an entry is
 * recorded, and after an exit: in between it is too low, which costs no more than an exit that is recorded without need.
 */
#include <stddef.h>

#include "tracefmt/ring.h"
#include "trampolines/probe/x86-64/gen.h"

static void save(struct gen *g)
{
	gen_save(g, TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX));
}

/* Ends the probe; @early: nothing is saved. */
static void skip_if(struct gen *g, bool early, enum asm_cc cc)
{
	if (early)
		gen_end_if(g, cc);
	else
		gen_skip_if(g, cc);
}

/* rax = @watch.  A signal may come between: then it is too low, or what is taken for near is less. */
static void set_watch(struct gen *g)
{
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RAX, -(int32_t)RING_WATCH);
	asm_gs(&g->out, ASM_STORE, TRAMP_RAX, g->env->watch_far);
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RAX, RING_WATCH);
	asm_gs(&g->out, ASM_STORE, TRAMP_RAX, g->env->watch);
}

static void enter(struct gen *g)
{
	uint64_t choice = g->env->choices + g->probe->function;
	uint8_t reg = g->probe->live & TRAMP_STATUS ? 0xff : gen_dead(g);
	bool early = reg != 0xff;
	uint32_t record[3];

	if (!early) {
		save(g);
		reg = TRAMP_RDX;
	}
	asm_mov_imm64(&g->out, reg, choice);
	if (g->env->off) {
		asm_cmp_mem(&g->out, reg, (int32_t)(g->env->off - choice), 0);
		skip_if(g, early, ASM_NE);
	}
	asm_cmp_byte(&g->out, reg, RING_CHOICE_RECORD);
	record[0] = asm_jcc(&g->out, ASM_E);
	asm_thread(&g->out, g->env->id, reg);
	asm_gs(&g->out, ASM_CMP_LOAD, reg, g->env->owner);
	record[1] = asm_jcc(&g->out, ASM_NE);
	asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
	asm_test(&g->out, reg);
	record[2] = asm_jcc(&g->out, ASM_E);
	asm_inc_mem(&g->out, reg, (int32_t)(8 * g->probe->function));
	g->code->map.count_first = 1;
	g->code->map.count_done = (uint16_t)g->out.len;
	gen_jump(g, early);
	for (size_t i = 0; i < sizeof(record) / sizeof(record[0]); i++)
		asm_land(&g->out, record[i]);
	if (early)
		save(g);
	gen_owner(g, TRAMP_RDX);
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RSP, g->below - 1);
	set_watch(g);
	gen_record(g);
}

/* The pool may be another thread's as yet, or nobody's: then `watch` is far away, or 0. */
static void leave(struct gen *g)
{
	bool early = !(g->probe->live & TRAMP_STATUS);
	uint8_t frame = TRAMP_RSP;
	uint32_t record;

	if (!early) {
		save(g);
		gen_frame(g);
		frame = TRAMP_RAX;
	}
	asm_gs(&g->out, ASM_CMP_STORE, frame, g->env->watch);
	record = asm_jcc(&g->out, ASM_B);
	asm_gs(&g->out, ASM_CMP_STORE, frame, g->env->watch_far);
	skip_if(g, early, ASM_B);
	asm_land(&g->out, record);
	if (early)
		save(g);
	gen_check_owner(g, TRAMP_RDX);
	gen_record(g);
	gen_frame(g);
	set_watch(g);
}

void gen_chosen(struct gen *g)
{
	if (g->probe->kind == TRAMP_PROBE_ENTRY)
		enter(g);
	else
		leave(g);
}
