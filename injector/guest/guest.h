/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A C library for modules, beside that of a program which has another one or none (runtime/guest/layout.h).
 *
 *	start.c	 the GNU dynamic linker is mapped as the kernel would, and a stopped thread of the program runs it, on a stack
 *		 and with an auxiliary vector of its own: it loads the agent, which loads the modules
 *	block.c	 what is on that stack
 *	switch.c the code by which the program's threads go there and back
 *	args.c	 which arguments of a call are on the stack
 *	exits.c	 where the process ends
 *
 * Meanwhile system calls that would change what the kernel knows of the program's thread are not made: set_tid_address,
 * set_robust_list, rseq, brk.  Nor are they afterwards: nothing that would make them is called any more, and brk(), sbrk() and
 * pthread_create() are written over so that they fail; malloc() then takes memory from mmap().
 */
#ifndef SONDE_INJECTOR_GUEST_GUEST_H
#define SONDE_INJECTOR_GUEST_GUEST_H

#include "injector/patch/patch.h"

#define INJ_GUEST_LINKER "/lib64/ld-linux-x86-64.so.2" /* by the ABI */

/* Is it one of those that s->opt.guests names? */
bool inj_is_guest(const struct inj_session *s, size_t module);

/*
 * The program's thread is stopped where nothing of the program depends on its vector registers: loads the guest and s->modules that are
 * for it, if there are any; constructors run.  Their base is known then, and they are mapped.  Errors: NOT_SUPPORTED, after a
 * message: it cannot be loaded, or a module cannot; GONE; others.
 */
enum inj_status inj_guest_start(struct inj_session *s) INJ_CHECK;

/* Calls a function of a guest's module in the guest, as inj_tracee_call(); it has no arguments, and its result is nobody's. */
enum inj_status inj_guest_call(struct inj_session *s, uint64_t function) INJ_CHECK;

/* Code that takes a call to @w's wrapper; @next is where the call goes else.  *entry is its address. */
enum inj_status inj_guest_enter(struct inj_session *s, const struct inj_wrap *w, uint64_t next, uint64_t *entry) INJ_CHECK;
/* Code by which @w's wrapper calls @next. */
enum inj_status inj_guest_real(struct inj_session *s, const struct inj_wrap *w, uint64_t next, uint64_t *entry) INJ_CHECK;

/* Leads the ends of the process to the runtime, where they are found. */
enum inj_status inj_guest_exits(struct inj_session *s) INJ_CHECK;

/* ---- among these files ---- */

/* Words of stack arguments, an even number, that are handed on to @w's wrapper, and by it. */
uint64_t inj_guest_words(const struct inj_session *s, const struct inj_wrap *w);

/*
 * Writes argc, argv[], envp[] and the auxiliary vector for the linker, which is at @base, below @top; the program's environment
 * is copied, without what is meant for its own linker.  *sp is where they begin.  @entry and @phdr are the linker's.
 */
struct inj_guest_block {
	uint64_t top, base, entry, phdr;
	uint64_t nphdr;
	uint64_t room; /* bytes below top */
};
enum inj_status inj_guest_block(struct inj_session *s, const struct inj_guest_block *b, uint64_t *sp) INJ_CHECK;
/* Bytes that it takes, at most. */
uint64_t inj_guest_block_bytes(const struct inj_session *s);

#endif
