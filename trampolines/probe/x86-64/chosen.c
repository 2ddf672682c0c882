// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Probes that record or count, as a byte of their function says (tracefmt/ring.h, enum ring_choice).  Most calls are counted, of
 * many functions; so what counts is short, jumps nowhere, and is not interspersed with what records, which is apart.  Only that
 * looks whether recording is off: then no call is to be counted.  With a register that is dead, r11 here, an entry is
 *
 *	movabs $choice, %r11
 *	cmpb $0, (%r11)
 *	je   record
 *	mov  %fs:0, %r11		is it our pool?
 *	cmp  %gs:owner, %r11
 *	jne  record			which sees it again, and takes the slow path
 *	mov  %gs:counts, %r11
 *	test %r11, %r11
 *	je   record
 *	incq function(%r11)
 * end:
 *	...
 * record:
 *	...				save, checks
 *	lea  -1(%rsp), %rax
 *	mov  %rax, %gs:watch		and watch_far
 *	...				record, restore
 *	jmp  end
 *
 * and an exit:
 *
 *	cmp  %rsp, %gs:watch		exits below it, or at it, are not recorded ...
 *	jb   record
 *	cmp  %rsp, %gs:watch_far	... unless they are so far below that it may be another stack
 *	jae  record
 * end:
 *	...
 * record:
 *	...				save, checks, record
 *	mov  %rsp, %gs:watch		and watch_far
 *	...				restore
 *	jmp  end
 *
 * Where the flags are live, or an entry has no dead register, registers are saved first, and all stands in one place.  `watch` is
 * set before an entry is recorded, and after an exit: in between it is too low, which costs no more than an exit that is
 * recorded without need.
 */
#include <stddef.h>

#include "tracefmt/ring.h"
#include "trampolines/probe/x86-64/gen.h"

static void save(struct gen *g)
{
	gen_save(g, TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX));
}

bool gen_is_apart(const struct gen *g)
{
	if (g->probe->live & TRAMP_STATUS)
		return false;
	return g->probe->kind == TRAMP_PROBE_EXIT || gen_dead(g) != 0xff;
}

/* rax = @watch.  A signal may come between: then it is too low, or what is taken for near is less. */
static void set_watch(struct gen *g)
{
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RAX, -(int32_t)RING_WATCH);
	asm_gs(&g->out, ASM_STORE, TRAMP_RAX, g->env->watch_far);
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RAX, RING_WATCH);
	asm_gs(&g->out, ASM_STORE, TRAMP_RAX, g->env->watch);
}

/* What jumps from where it counts to where it records; in one place, that comes next. */
struct ways {
	uint32_t ref[3];
	int n;
};

static void record_if(struct gen *g, struct ways *w, bool apart, enum asm_cc cc)
{
	if (apart)
		gen_slow_if(g, cc);
	else
		w->ref[w->n++] = asm_jcc(&g->out, cc);
}

static void count(struct gen *g, struct ways *w, uint8_t reg, bool apart)
{
	uint64_t choice = g->env->choices + g->probe->function;

	asm_mov_imm64(&g->out, reg, choice);
	asm_cmp_byte(&g->out, reg, RING_CHOICE_RECORD);
	record_if(g, w, apart, ASM_E);
	asm_thread(&g->out, g->env->id, reg);
	asm_gs(&g->out, ASM_CMP_LOAD, reg, g->env->owner);
	record_if(g, w, apart, ASM_NE);
	asm_gs(&g->out, ASM_LOAD, reg, g->env->counts);
	asm_test(&g->out, reg);
	record_if(g, w, apart, ASM_E);
	asm_inc_mem(&g->out, reg, (int32_t)(8 * g->probe->function));
}

/* Below `watch`, and not far: to the probe's end, or else to what records. */
static void compare(struct gen *g, uint8_t frame, bool apart)
{
	struct ways w = { .n = 0 };

	asm_gs(&g->out, ASM_CMP_STORE, frame, g->env->watch);
	record_if(g, &w, apart, ASM_B);
	asm_gs(&g->out, ASM_CMP_STORE, frame, g->env->watch_far);
	if (apart) {
		gen_slow_if(g, ASM_AE);
		return;
	}
	gen_skip_if(g, ASM_B);
	asm_land(&g->out, w.ref[0]);
}

static void record_enter(struct gen *g)
{
	gen_check_owner(g, TRAMP_RDX);
	asm_mem(&g->out, ASM_LEA, TRAMP_RAX, TRAMP_RSP, g->below - 1);
	set_watch(g);
	gen_record(g);
}

/* The pool may be another thread's as yet, or nobody's: then `watch` is far away, or 0. */
static void record_leave(struct gen *g)
{
	gen_check_owner(g, TRAMP_RDX);
	gen_record(g);
	gen_frame(g);
	set_watch(g);
}

static void in_one_place(struct gen *g)
{
	struct ways w = { .n = 0 };

	save(g);
	if (g->probe->kind == TRAMP_PROBE_EXIT) {
		gen_frame(g);
		compare(g, TRAMP_RAX, false);
		record_leave(g);
		return;
	}
	count(g, &w, TRAMP_RDX, false);
	g->code->map.count_first = 1;
	g->code->map.count_done = (uint16_t)g->out.len;
	gen_skip(g);
	for (int i = 0; i < w.n; i++)
		asm_land(&g->out, w.ref[i]);
	record_enter(g);
}

void gen_chosen(struct gen *g)
{
	struct ways w = { .n = 0 };

	if (!gen_is_apart(g)) {
		in_one_place(g);
		return;
	}
	g->code->map.flags_at = RT_FROM_NONE;
	if (g->probe->kind == TRAMP_PROBE_ENTRY)
		count(g, &w, gen_dead(g), true);
	else
		compare(g, TRAMP_RSP, true);
	gen_commit(g);
}

void gen_chosen_apart(struct gen *g)
{
	save(g);
	if (g->probe->kind == TRAMP_PROBE_ENTRY)
		record_enter(g);
	else
		record_leave(g);
}
