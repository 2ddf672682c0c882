/* SPDX-License-Identifier: MIT */
/*
 * From a thread's stream of words (trampolines/memdesc.h) to its accesses, in the order of the program.
 *
 * Freestanding: it also runs inside the traced program.  Streams and descriptions may come from a damaged
 * file: everything is checked, nothing outside of them is touched, and it always comes to an end.
 */
#ifndef SONDE_TRAMPOLINES_MEMEXPAND_H
#define SONDE_TRAMPOLINES_MEMEXPAND_H

#include <stddef.h>
#include <stdint.h>

#include "trampolines/memdesc.h"

struct mx_access {
	uint64_t addr;
	uint32_t size;		/* bytes */
	uint8_t kind;		/* enum md_kind, with MD_STACK */
	uint8_t pad[3];
	uint64_t insn;		/* address of the instruction in the program */
};

/*
 * Descriptions, ready for use: checked, and in a form that is fast to run.  Made by mx_code_add() from a
 * description that may be damaged.  Objects are added as they are loaded; ids never collide.
 */
struct mx_code;
struct mx_allocator {
	void *(*alloc)(void *arg, size_t bytes); /* zeroed; NULL: none */
	void (*release)(void *arg, void *p, size_t bytes);
	void *arg;
};

enum mx_status {
	MX_OK,
	MX_MEMORY,
	MX_BAD_CODE,		/* a description contradicts itself */
	MX_BAD_STREAM,		/* words that do not fit the descriptions: the machine has to be started anew */
};

struct mx_code *mx_code_new(const struct mx_allocator *allocator);
void mx_code_free(struct mx_code *code);
/* @nodes, @ops stay the caller's and may go when this returns. */
enum mx_status mx_code_add(struct mx_code *code, const struct md_object *object,
			   const struct md_node *nodes, const struct md_op *ops);

struct mx_machine;
struct mx_machine *mx_machine_new(struct mx_code *code);
void mx_machine_free(struct mx_machine *m);

/*
 * So many nodes (2^32 by default) may follow each other without a word and an access; mx_count():
 * 256 times as many without a word.  More than that is taken for damage.
 */
void mx_machine_limit(struct mx_machine *m, uint64_t nodes);

/*
 * Gives the machine the thread's next chunk, @bytes with its head.  What the chunks so far do not prove to
 * have happened is not handed out yet: mx_next() says 0 when there is nothing more.  All of the
 * chunk before has to have been taken; the chunk has to stay until it is.
 */
enum mx_status mx_feed(struct mx_machine *m, const void *chunk, size_t bytes);

/* The next accesses, up to @max; 0: feed more, or *status is an error. */
size_t mx_next(struct mx_machine *m, struct mx_access *v, size_t max, enum mx_status *status);

/*
 * In place of mx_next(): how many accesses there are up to the end of what was fed, by kind (enum md_kind
 * without MD_STACK); loops whose count is known are not run through.  @stack: count those with MD_STACK.
 */
struct mx_counts {
	uint64_t accesses[4];
	uint64_t bytes[4];
};
enum mx_status mx_count(struct mx_machine *m, int stack, struct mx_counts *counts);

#endif
