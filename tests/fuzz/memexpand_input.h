/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an input of fuzz_memexpand means: a description, and chunks.
 *
 * nodes (1 byte), operations (1 byte), batch (1 byte), how the description is put right and where things lie
 * (1 byte: REPAIR_..., WALK, NEAR), struct md_node and struct md_op of each, then chunks: each its length in words (1 byte),
 * kind (1 byte), depth (1 byte), another byte for what is chosen, and words; SIGNAL and STATE begin with a struct md_interrupt.
 * With WALK words and interrupts are those of a program that goes through the nodes, and are not in the input.
 */
#ifndef SONDE_TESTS_FUZZ_MEMEXPAND_INPUT_H
#define SONDE_TESTS_FUZZ_MEMEXPAND_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "memtrace/description.h"

enum { INPUT_HEADER = 4, INPUT_NODES = 16, INPUT_OPS = 128, INPUT_CHUNK = 4096, INPUT_DEPTHS = 4 };
enum { REPAIR_NODES = 1, REPAIR_SUMS = 2, REPAIR_OPS = 4, REPAIR_LOOPS = 32, PLACE_LOW = 8, LOAD_HIGH = 16 };
enum { WALK = 64, NEAR = 128 };	/* NEAR: a walk's values are close to each other */

/* Where a program is. */
struct spot {
	const struct md_node *node;	/* NULL: at a header */
	uint32_t written;		/* bytes of its words */
};

struct input {
	const uint8_t *data, *end;
	struct md_node nodes[INPUT_NODES];
	struct md_op ops[INPUT_OPS];
	struct md_object object;
	bool walks, near;
	uint32_t chunks;		/* so far */
	uint64_t upper[INPUT_NODES];	/* of a node's first words, those that are upper halves of a value */
	struct spot at, interrupted[INPUT_DEPTHS];
	uint64_t dice, edge, value;	/* edge: that values are near; value: the last */
};

/* The description, @in->data being after @head.  False: there is none. */
bool input_describe(struct input *in, const uint8_t *head);
/* The next chunk to @chunk, of INPUT_CHUNK bytes; says how many it has, 0: none.  @regs: the machine's. */
size_t input_chunk(struct input *in, const uint64_t *regs, uint8_t *chunk);

#endif
