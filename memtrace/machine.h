/* SPDX-License-Identifier: MIT */
/*
 * From a thread's stream of words (memtrace/description.h) to its accesses, in the order of the program.
 *
 * Freestanding: it also runs inside the traced program.  Streams and descriptions may come from a damaged
 * file: everything is checked, nothing outside of them is touched, and it always comes to an end.
 */
#ifndef SONDE_MEMTRACE_MACHINE_H
#define SONDE_MEMTRACE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "memtrace/description.h"

/* mt_next() hands out times (MD_TIME) among accesses; what takes accesses leaves them out. */
struct mt_access {
	uint64_t addr;
	uint32_t size;		/* bytes */
	uint8_t kind;		/* enum md_kind, with MD_STACK */
	uint8_t pad[3];
	uint64_t insn;		/* address of the instruction in the program */
};

/*
 * Descriptions, ready for use: checked, and in a form that is fast to run.  Made by mt_code_add() from a
 * description that may be damaged.  Objects are added as they are loaded; ids never collide.
 */
struct mt_code;
struct mt_allocator {
	void *(*alloc)(void *arg, size_t bytes); /* zeroed; NULL: none */
	void (*release)(void *arg, void *p, size_t bytes);
	void *arg;
};

enum mt_status {
	MT_OK,
	MT_MEMORY,
	MT_BAD_CODE,		/* a description contradicts itself */
	MT_BAD_STREAM,		/* words that do not fit the descriptions: the machine has to be started anew */
};

struct mt_code *mt_code_new(const struct mt_allocator *allocator);
/* Descriptions that are added from now on may have MD_FETCH, which mt_next() hands out as well; else they are bad. */
void mt_code_fetches(struct mt_code *code);
void mt_code_free(struct mt_code *code);
/* @nodes, @ops stay the caller's and may go when this returns. */
enum mt_status mt_code_add(struct mt_code *code, const struct md_object *object,
			   const struct md_node *nodes, const struct md_op *ops);

struct mt_machine;
struct mt_machine *mt_machine_new(struct mt_code *code);
void mt_machine_free(struct mt_machine *m);

/*
 * So many nodes (2^32 by default) may follow each other without a word and an access; mt_count():
 * 256 times as many without a word.  More than that is taken for damage.
 */
void mt_machine_limit(struct mt_machine *m, uint64_t nodes);

/*
 * From now on mt_next() may hand out what an instruction accesses in a loop as one access with MD_REPEATED, which an MD_REPEAT follows at once: `size`
 * accesses in all, each `addr` bytes after the one before it.  For those who do not ask in which order different instructions access memory.
 */
void mt_machine_repeats(struct mt_machine *m);

/*
 * Gives the machine the thread's next chunk, @bytes with its head.  What the chunks so far do not prove to
 * have happened is not handed out yet: mt_next() says 0 when there is nothing more.  All of the
 * chunk before has to have been taken; the chunk has to stay until it is.
 */
enum mt_status mt_feed(struct mt_machine *m, const void *chunk, size_t bytes);

/* The next accesses, up to @max; 0: feed more, or *status is an error, which comes after all accesses before it. */
size_t mt_next(struct mt_machine *m, struct mt_access *v, size_t max, enum mt_status *status);

/*
 * The instruction of the access before those that mt_next() returned last: in the same signal handler, or outside of any.  0: there is
 * none, or it is not known.  They are all of one handler.
 */
uint64_t mt_before(const struct mt_machine *m);

/*
 * In place of mt_next(): how many accesses there are up to the end of what was fed, by kind (enum md_kind
 * without MD_STACK); loops whose count is known are not run through.  @stack: count those with MD_STACK.
 */
struct mt_counts {
	uint64_t accesses[4];
	uint64_t bytes[4];
};
enum mt_status mt_count(struct mt_machine *m, int stack, struct mt_counts *counts);

#endif
