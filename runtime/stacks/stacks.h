/* SPDX-License-Identifier: MIT */
/*
 * Who has called: a thread's stack, by the unwind tables (.eh_frame) of the program's files, which are in its memory.  Nothing of the program
 * or of libc is called.  What a table says of a return address is kept (struct rt_rule), so that each is read but once.
 */
#ifndef SONDE_RUNTIME_STACKS_STACKS_H
#define SONDE_RUNTIME_STACKS_STACKS_H

#include <stdint.h>

#include "runtime/config.h"
#include "sonde/abi.h"

/* How the frame of whoever a return address belongs to is left, to its caller's. */
enum rt_rule_kind {
	RT_RULE_UNKNOWN,  /* by nothing that is understood here */
	RT_RULE_OUTERMOST, /* it has no caller */
	RT_RULE_SP,	  /* CFA: rsp + cfa; the return address is before the CFA */
	RT_RULE_BP,	  /* CFA: rbp + cfa */
	RT_RULE_AT_BP,	  /* CFA: the word at rbp + cfa */
};

/* Where the caller's rbp is. */
enum rt_rule_bp {
	RT_BP_SAME,   /* in rbp */
	RT_BP_CFA,    /* at CFA + 8 * bp */
	RT_BP_BP,     /* at rbp + 8 * bp */
	RT_BP_LOST,
};

/* All zero: not known. */
struct rt_rule {
	int32_t cfa;
	int16_t bp;
	uint8_t kind; /* enum rt_rule_kind */
	uint8_t from; /* enum rt_rule_bp */
};
_Static_assert(sizeof(struct rt_rule) == sizeof(uint64_t), "kept in one word");

/*
 * x86-64/cfi.c: what the file's table says of code right before @pc (DWARF 5, 6.4).  Nothing outside of the table's segment is read, whatever is in there.
 */
struct rt_rule rt_cfi_rule(const struct rt_unwind_file *file, uint64_t pc);

/*
 * Return addresses, from that of the function with frame address @frame on (where rbp, and then its return address are), as many as the user wants
 * to see, and @room of them at most.  Those that there are not are 0; where the rest is not known, one is RT_STACK_UNKNOWN.
 */
void rt_callers(uint64_t frame, uint64_t *code, uint64_t room);

extern struct sonde_api sonde_rt_api;

/* Libraries come and go, and nobody keeps the list: nothing is known from now on. */
void rt_callers_stop(void);

#endif
