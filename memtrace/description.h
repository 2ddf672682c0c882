/* SPDX-License-Identifier: MIT */
/*
 * What a memory trace's words mean: descriptions of instrumented code, made once when it is
 * instrumented, and the stream of words that a thread writes while it runs.
 *
 * The reader is an abstract machine.  It has the program's general registers, as far as they are
 * known, and runs the descriptions in their order: what it can compute is not in the stream, neither
 * values (an induction variable, the stack pointer) nor control flow (the end of a loop whose bound is
 * known).  What it cannot compute (a value that came from memory, which edge a branch took that depends on
 * one) is in the stream, at the place where it is needed first.  Larus' abstract execution (1990),
 * and the program skeletons of Ketterlin and Clauss (2011), on machine code.
 *
 * Code is divided into *nodes*: straight pieces of it, at most one basic block each, or nothing
 * but values that are recorded on the entry edge of a loop.  A node's id is in the stream, a uint32_t that
 * is not 0, where the reader cannot know that it comes next.  Ids are unique in a process's trace.
 *
 * The stream is little-endian; its words are of 4 or 8 bytes, aligned to 4.
 */
#ifndef SONDE_MEMTRACE_DESCRIPTION_H
#define SONDE_MEMTRACE_DESCRIPTION_H

#include <stdint.h>

/* ---- registers of the machine ---- */

enum {
	MD_RSP = 4,		/* 0..15: the processor's numbers */
	MD_TEMP = 16,		/* 16..19: for what descriptions compute in between */
	MD_FS = 20,		/* the thread's FS base: in each chunk */
	MD_OBJECT = 21,		/* load address of the node's object: what link-time addresses are relative to */
	MD_REGS = 22,
	MD_NONE = 0xff,
};

/* ---- operations ---- */

enum md_code {
	/*
	 * Values from the stream into register dst: 8 bytes; 4 zero-extended; 4 sign-extended.
	 */
	MD_VALUE,
	MD_VALUE_U32,
	MD_VALUE_S32,

	/*
	 * Computing.  width: 1, 2, 4 or 8 bytes; a result of 4 is zero-extended, one of 1 or 2 leaves the rest of
	 * dst as it was.  b is register `index`, or imm if index is MD_NONE; a is register `base` (MD_NONE: 0).
	 */
	MD_LEA,			/* dst = base + (index << scale) + imm; each of both may be MD_NONE */
	MD_SUB, MD_AND, MD_OR, MD_XOR, MD_MUL, /* dst = a op b */
	MD_SHL, MD_SHR, MD_SAR,	/* dst = a op (b mod 32, or 64 at width 8) */
	MD_ROL,			/* dst = a rotated left by b */
	MD_MULHU, MD_MULHS,	/* dst = the upper half of the product of a and b, both unsigned, both signed */
	MD_BSWAP,		/* dst = the bytes of a in reverse order */
	MD_SELECT,		/* dst = b if condition `scale` (the processor's number) of the flags is true, else a */
	MD_SEXT,		/* dst (all 64 bits, or 32 with scale 2) = the low `width` bytes of base, sign-extended */
	MD_ZEXT,		/* likewise */

	/*
	 * Flags for later MD_SELECT and MD_IF, in this node or in one that follows: of a - b, or of a & b, at `width`;
	 * dst is one of enum md_flags.
	 */
	MD_FLAGS,

	/*
	 * An access of `width` bytes (0: of imm bytes of the last MD_SIZE before it) at
	 * base + (index << scale) + imm.  dst: enum md_kind, with MD_STACK.
	 */
	MD_ACCESS,
	MD_SIZE,		/* the next access has imm bytes */

	/*
	 * String instructions on rsi, rdi (and rcx); dst: enum md_string; width: 1, 2, 4, 8.  Without a prefix
	 * index is MD_NONE.  rep: index is rcx, whose value the machine knows: so many times.  repe and repne:
	 * index is rcx, scale is 1, and the stream holds what rcx was after it (8 bytes).  The machine's rsi,
	 * rdi and rcx are moved on.  They go down if bit 0 of register base is 1 (MD_NONE: up).
	 */
	MD_STRING,

	/*
	 * Accesses to some lanes.  dst: kind; width: bytes of a lane; imm: MD_LANES_...
	 *	MD_MASKED	at base + (index << scale) + disp, the lanes of a whole vector whose mask bit is set
	 *	MD_GATHER	the same, with (vector index of the lane << scale) in place of index
	 *	MD_PACKED	as many lanes as bits are set, one after the other
	 * In the stream, first the index vector (GATHER: lanes * index bytes), then the mask.
	 */
	MD_MASKED,
	MD_GATHER,
	MD_PACKED,

	/*
	 * The end of a node; each has exactly one, as its last operation.  Nodes are named by their place in their
	 * object's nodes[].
	 */
	MD_GOTO,		/* node imm comes next; MD_NODE_HEADER says whether its header does, too */
	MD_IF,			/* condition `scale` (the processor's number) of the flags: low 32 bits of imm, else high
				 * 32 bits of imm are the next node; likewise */
	MD_PEEK,		/* node low 32 bits of imm, which has a header, if that is the next word in the stream; else
				 * node high 32 bits of imm: from there on the next word is a header, too, and not that one */
	MD_NEXT,		/* the next node is in the stream */
	MD_CODES
};

enum md_flags { MD_FLAGS_SUB, MD_FLAGS_AND };

enum md_kind {
	MD_LOAD, MD_STORE, MD_MODIFY,
	MD_PREFETCH,		/* prefetches, clflush, clwb: of the whole 64-byte line that holds the address */
	MD_FETCH,		/* no access: a block of so many bytes of code is executed, beside accesses; never counted */
	MD_TIME,		/* no access: the address is the TSC at the instruction; never counted */
	MD_REPEAT,		/* no access, and in no description: what follows an access with MD_REPEATED */
	MD_KIND = 7,		/* mask of the above */
	MD_STACK = 8,		/* push, pop, call, ret, enter, leave: by rsp, not by an operand */
	MD_REPEATED = 16,	/* in no description: mt_machine_repeats() */
};

enum md_string { MD_MOVS, MD_STOS, MD_LODS, MD_CMPS, MD_SCAS };

/* imm of MD_MASKED, MD_GATHER, MD_PACKED: disp in the low 32 bits (signed), then */
#define MD_LANES_COUNT(imm) ((unsigned int)((uint64_t)(imm) >> 32 & 0xff))
#define MD_LANES_INDEX(imm) ((unsigned int)((uint64_t)(imm) >> 40 & 0xf)) /* bytes of an index: 4, 8 */
#define MD_LANES_MASK(imm) ((unsigned int)((uint64_t)(imm) >> 44 & 0xf))
enum md_mask {
	MD_MASK_NONE,		/* all lanes; nothing in the stream */
	MD_MASK_VECTOR,		/* lanes * width bytes: the highest bit of each lane */
	MD_MASK_BITS,		/* 8 bytes: bit i for lane i */
	MD_MASK_BYTES,		/* lanes bytes (maskmovdqu): the highest bit of each; padded to 4 */
};

struct md_op {
	uint8_t code;		/* enum md_code */
	uint8_t dst;
	uint8_t base, index;
	uint8_t scale;		/* 0..3, and what is said above */
	uint8_t width;
	uint16_t insn;		/* the instruction's offset from its node's `start` */
	int64_t imm;
};
_Static_assert(sizeof(struct md_op) == 16, "md_op");

struct md_node {
	uint32_t op, nops;	/* ops[op .. op + nops) of its object's description */
	uint32_t start;		/* offset in the object (from its lowest address of code) of the first instruction */
	uint16_t bytes;		/* that it adds to the stream, header included */
	uint8_t flags;		/* enum md_node_flags */
	uint8_t accesses;	/* MD_ACCESSes in it, those of strings and lanes not; 255: more */
};
_Static_assert(sizeof(struct md_node) == 16, "md_node");

enum md_node_flags {
	MD_NODE_HEADER = 1,	/* its id is in the stream each time, before its values */
	MD_NODE_VARIES = 2,	/* has strings or lanes: how many accesses it makes is not known */
};

/* One instrumented object: what is in the program (in-process analysis) and in the trace. */
struct md_object {
	uint64_t base;		/* address in the program of offset 0 */
	uint64_t load;		/* its load address: MD_OBJECT */
	uint32_t first;		/* id of nodes[0] */
	uint32_t nnodes;
	uint32_t nops;
	uint32_t number;	/* of the object in the trace */
	uint64_t nodes;		/* struct md_node[nnodes]: address, or offset in the trace's description */
	uint64_t ops;		/* struct md_op[nops] */
};

/* ---- chunks ---- */

/*
 * A thread's stream is cut into chunks, between two nodes where nothing else is said; each begins
 * with its head.  The machine goes on from one chunk to the next.
 */
enum md_chunk_kind {
	MD_CHUNK_START = 1,	/* a thread's first, or recording was off: the machine knows nothing */
	MD_CHUNK_MORE,		/* the buffer was full */
	/*
	 * A signal handler, or something else that the code does not say, came in between at an instruction
	 * (regs, at).  The chunk before ends with what the node had written until then; the machine runs
	 * up to the place where its registers, as far as it knows them, are these.  Then it knows nothing,
	 * until the chunk that RESUMEs, of the same depth.
	 */
	MD_CHUNK_SIGNAL,
	MD_CHUNK_RESUME,	/* back from a handler, to where the machine was interrupted */
	MD_CHUNK_END,		/* nothing follows: the thread is done, or recording goes off; empty */
	/*
	 * Recording begins, or begins again, somewhere: what follows its head (as in SIGNAL) says where, and what is in
	 * all registers.  If `written` is 0 and insn that of the node's start, the node's first word, which may be
	 * its header, comes next; else the machine goes on after the node's operations on instructions before insn and
	 * after those that took the first `written` bytes of its words, which are not in the stream.
	 */
	MD_CHUNK_STATE,
};

struct md_chunk {
	uint32_t kind;		/* enum md_chunk_kind; never 0 */
	uint32_t depth;		/* SIGNAL, RESUME: of handlers in each other, from 1 on; END: 0 if recording goes off */
	uint64_t fs;		/* FS base; END, if not 0 and at most 2^27: so many words may be missing since they are zero, in
				 * bytes, and 1 */
	uint64_t tsc;
	uint64_t head;		/* bytes of this, what follows included */
};

/* Follows in SIGNAL and STATE. */
struct md_interrupt {
	uint64_t regs[16];	/* the program's, by the processor's numbers */
	uint64_t flags;		/* STATE: rflags */
	uint32_t node;		/* that it was in */
	uint32_t insn;		/* offset of the instruction from the node's start that is to come next */
	uint64_t written;	/* bytes of that node's values that stand before this chunk */
};

#endif
