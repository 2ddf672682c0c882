/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program one instruction after the other, with its threads and forked children, and tells a watcher
 * what happens in the code of the program itself and of some libraries (images).
 *
 * While a process has one thread and is outside of this code, it runs at full speed behind a *curtain*:
 * all bytes of the code are int3 in its memory.
 */
#ifndef TESTS_ORACLE_FOLLOW_H
#define TESTS_ORACLE_FOLLOW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/user.h>

#include "tests/oracle/oracle.h"

#define MAX_IMAGES 16
#define MAX_INTERRUPTED 16

struct image {
	struct object o;
	uint64_t base; /* load address - link-time address; ~0: not loaded */
};

struct space {
	int threads;
	bool curtain;
	bool begun; /* the program's first instruction was executed */
	int mem;
};

struct thread {
	pid_t tid, pid;
	pid_t as_tid, as_pid; /* whose memory and stack it borrows, after vfork(); else its own */
	struct space *space;
	struct thread *next;
	bool stopped_early; /* before its creator told of it */
	bool known;	    /* it did */
	bool stepping;	    /* the last resume executed one instruction, which stood at pc */
	bool free;	    /* ... ran behind the curtain */
	int injected;	    /* signal of the last resume */
	struct image *in;
	uint64_t pc, sp;
	enum insn insn;
	unsigned int len;
	int ninterrupted;
	uint64_t interrupted[MAX_INTERRUPTED][2]; /* pc and sp where signals came, innermost last; the watcher's */
	void *own;				  /* the watcher's; freed with the thread */
};

/* Any may be NULL. */
struct watcher {
	/* The instruction at t->pc, in the image t->in, is about to be executed with these registers. */
	void (*before)(struct thread *t, const struct user_regs_struct *r);
	/* It was (not if it faulted); control is at @pc. */
	void (*executed)(struct thread *t, uint64_t pc, uint64_t sp);
	/* Control came to @pc from code that is not watched. */
	void (*arrived)(struct thread *t, uint64_t pc, uint64_t sp);
	/* A handler begins at @pc; it interrupted the thread at t->pc. */
	void (*handler)(struct thread *t, uint64_t pc, uint64_t sp);
	/* A signal came at @pc, outside of the code. */
	void (*interrupted)(struct thread *t, uint64_t pc, uint64_t sp);
	/* The program has ended. */
	void (*end)(void);
};

extern struct image images[MAX_IMAGES]; /* [0] is the program */
extern int nimages;

/*
 * Does what the command line says, and returns the exit status: of the program, 128 + N for a signal.
 *
 *	[-o FILE] [-s SYMBOLS] [-l LIBRARY[=SYMBOLS]]... [-b] [-n STEPS] PROGRAM [ARGUMENT...]
 *
 * SYMBOLS are files to take more functions from; after STEPS instructions the program is killed.  @b: what -b sets;
 * NULL: there is none.
 */
int follow_main(const struct watcher *watcher, bool *b, int argc, char **argv);

extern FILE *out; /* FILE, or standard output */

/* NULL: in none. */
struct image *image_at(uint64_t pc);
struct function *function_at(uint64_t pc);
const char *base_name(const char *path);

#endif
