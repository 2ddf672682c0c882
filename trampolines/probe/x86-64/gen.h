/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A probe under construction: shared by the files that emit probes. */
#ifndef SONDE_TRAMPOLINES_PROBE_X86_64_GEN_H
#define SONDE_TRAMPOLINES_PROBE_X86_64_GEN_H

#include "trampolines/probe/probe.h"
#include "trampolines/insn/x86-64/asm.h"

struct gen {
	const struct tramp_probe_env *env;
	const struct tramp_probe *probe;
	struct tramp_probe_code *code;
	struct tramp_out out;
	tramp_regs live;	/* where the probe stands, for the program or for its values */
	tramp_regs dead;	/* registers that are still to be had */
	uint8_t words;		/* saved on the stack */
	uint8_t target;		/* of them: TRAMP_JUMP_INSN's target */
	uint8_t scratch;	/* a dead register, neither rax nor rdx; 0xff: none */
	uint16_t skip_ref[5];	/* rel32s that lead to where the probe restores */
	uint8_t nskips;
	int below;		/* rsp is so far below the frame address */
};

/* probe/x86-64/gen.c */
/* From here on rax and rdx are free to use, or the one that @regs names, and the flags. */
void gen_save(struct gen *g, tramp_regs regs);
/* Where a value is that was at @from when the probe began, RT_FROM_...: elsewhere if gen_save() has put it away. */
uint8_t gen_place(const struct gen *g, uint8_t from);
void gen_restore(struct gen *g);
void gen_slow_if(struct gen *g, enum asm_cc cc);
void gen_skip_if(struct gen *g, enum asm_cc cc);
/* To where the probe restores. */
void gen_skip(struct gen *g);
/* A register that is dead in the program, not taken; 0xff: none. */
uint8_t gen_dead(const struct gen *g);
void gen_check_owner(struct gen *g, uint8_t reg);
/* The same, but not whether recording is off. */
void gen_owner(struct gen *g, uint8_t reg);
void gen_commit(struct gen *g);
void gen_frame(struct gen *g);
void gen_first_word(struct gen *g);
void gen_record(struct gen *g);

/* probe/x86-64/filter.c */
void gen_filter(struct gen *g);

/* probe/x86-64/chosen.c */
void gen_chosen(struct gen *g);
/* Is what records apart?  Then gen_chosen() emits what counts, and gen_chosen_apart() the rest. */
bool gen_is_apart(const struct gen *g);
void gen_chosen_apart(struct gen *g);

#endif
