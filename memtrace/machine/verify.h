/* SPDX-License-Identifier: MIT */
/*
 * The verifier.  What a trace file says of code is run by a machine and compiled to the processor's instructions: all of it
 * passes here before.  What these rules promise is checked nowhere else, and nobody relies on more than they promise.
 *
 * Objects, before they are translated (mt_verify()):
 *
 *	 1  ids are first ... first + nnodes - 1, from 1 to 2^32 - 1, and no other object's
 *	 2  each node has at least one operation, all of them lie in the object's, and all nodes' together are not more than
 *	    the object's: what is made of a description is in proportion to it
 *	 3  the last operation of a node, and no other, is goto, if, peek or next
 *	 4  successors are nodes of the same object; the first one of peek has a header
 *	 5  a node takes at most 65535 bytes of the stream, as many as its operations and header add up to; its flags and
 *	    its accesses are what its operations say
 *	 6  an access without a width has a size, from 1 on, earlier in its node
 *	 7  operations are known; they write registers 0 to 19, never the FS base or the load address; they read registers
 *	    0 to 21, or none
 *	 8  widths of what is computed, and of elements of strings and lanes, are 1, 2, 4 or 8; scales of addresses are 0 to 3;
 *	    conditions are 0 to 15; kinds of accesses are known
 *	 9  strings repeat by rcx or not at all, and the register of their direction is not one that they change
 *	10  lanes are 1 to 64, masks are known, indices have 4 or 8 bytes
 *
 * Nodes, translated, before they are compiled (mt_verify_compiled()):
 *
 *	11  no strings, no lanes; all accesses are loads, stores and modifications; of each of these a node has at most
 *	    MT_WEIGHT_MAX * MT_PACKED_MAX, of as many bytes together, and of none more than MT_PACKED_MAX bytes: sums over a
 *	    batch of pieces of code fit 32 bits
 *	12  conditions are of flags that are set earlier in the same node, and not of parity
 *	13  at most MT_COMPILED_OPS operations, and an id below MT_IDS
 *
 * What is left is a matter of the stream, which nobody knows beforehand.  So whoever runs a node looks whether its words
 * are there, and one more, and room for its accesses; and each node without words burns fuel, so that all comes to an end.
 */
#ifndef SONDE_MEMTRACE_MACHINE_VERIFY_H
#define SONDE_MEMTRACE_MACHINE_VERIFY_H

#include "memtrace/machine/code.h"

enum { MT_COMPILED_OPS = 4096 };

/* Rules 1 to 10. */
bool mt_verify(const struct mt_code *code, const struct md_object *object, const struct md_node *nodes,
	       const struct md_op *ops);

/* Rules 11 to 13.  @node, which passed, is complete but for `compiles`. */
bool mt_verify_compiled(const struct mt_node *node);

/* Bytes of the stream that a valid @op takes. */
uint32_t mt_op_words(const struct md_op *op);

static inline bool mt_is_lanes(const struct md_op *op)
{
	return op->code >= MD_MASKED && op->code <= MD_PACKED;
}

#endif
