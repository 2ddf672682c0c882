/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control flow of one ELF object's functions: blocks, edges, calls, loops, and what of registers and
 * flags is live where.  Bytes and facts in, blocks out; no process, no file.
 *
 *	tramp_code_new()     one pass over all code of the object: who branches to where, which
 *	                     addresses of code are taken, which jump tables lead where
 *	tramp_flow_build()   one function's blocks, as often as wanted (the memory is used again)
 *	tramp_flow_live()    registers and flags that are read before they are written
 *	tramp_flow_loops()   dominators and natural loops
 *
 * The rule for indirect jumps: the set of places they may lead to can be too large, never too small.
 * Addresses are link-time ones.  Offsets (uint32_t) count from tramp_code_base(), the lowest address of
 * any executable byte; an object with more than 4 GiB of code is refused.
 */
#ifndef SONDE_TRAMPOLINES_FLOW_FLOW_H
#define SONDE_TRAMPOLINES_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/trampoline.h"

#define TRAMP_NONE UINT32_MAX

/* ---- facts: what the caller knows of the object; everything stays the caller's ---- */

/* Bytes of the file at their link-time addresses: code and constant data (jump tables). */
struct tramp_bytes {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len;
	bool code;		/* executable, and not a PLT */
};

enum tramp_fn_flags {
	TRAMP_FN_PART = 1,	/* not entered by calls: belongs to another function (foo.cold) */
	TRAMP_FN_FRAMED = 2,	/* has unwind information of its own: a compiler's, or careful assembly */
	TRAMP_FN_FOREIGN = 4,	/* may follow no ABI that we know (Go, OCaml, Haskell) */
	TRAMP_FN_MAYBE_PART = 8, /* nameless; the flow is to decide whether it is a part */
};

struct tramp_fn {
	uint64_t addr;
	uint64_t size;		/* not 0; up to the next function at most */
	uint32_t flags;		/* enum tramp_fn_flags */
	uint32_t parent;	/* PART: index of the function it belongs to, or TRAMP_NONE */
};

struct tramp_facts {
	const struct tramp_bytes *bytes; /* ascending, not overlapping */
	size_t nbytes;
	const struct tramp_fn *fns;	/* ascending, not overlapping */
	size_t nfns;
	const uint64_t *taken;		/* ascending: addresses of code that data or symbols hold */
	size_t ntaken;
	const uint64_t *pads;		/* ascending: landing pads of exceptions */
	size_t npads;
	/*
	 * Ascending: what does not return when called: functions, PLT entries, and for `call *slot(%rip)`
	 * the slot's address.
	 */
	const uint64_t *noreturn;
	size_t nnoreturn;
	/* Ascending: PLT entries, and slots, that most likely lead to functions of this object. */
	const uint64_t *own;
	size_t nown;
	/* Ascending: functions, PLT entries and slots of what threads wait for each other by, or begin and end with. */
	const uint64_t *sync;
	size_t nsync;
	unsigned int threads;	/* that the pass over all code may take; 0 counts as 1: the caller's */
};

/* ---- the object ---- */

struct tramp_code;

enum tramp_code_status {
	TRAMP_CODE_OK,
	TRAMP_CODE_MEMORY,
	TRAMP_CODE_TOO_BIG,
	TRAMP_CODE_EMPTY,
};

/* The facts have to stay where they are until tramp_code_free(). */
enum tramp_code_status tramp_code_new(const struct tramp_facts *facts, struct tramp_code **out)
	TRAMP_MUST_CHECK;
void tramp_code_free(struct tramp_code *code);

/* What the pass has found, as arrays without pointers: they can lie in a file. */
enum tramp_code_part {
	TRAMP_CODE_OWNER,
	TRAMP_CODE_BITS,
	TRAMP_CODE_FIRST_PART,
	TRAMP_CODE_NEXT_PART,
	TRAMP_CODE_PAGE,
	TRAMP_CODE_EXTERNAL,
	TRAMP_CODE_TABLE,
	TRAMP_CODE_PAD,
	TRAMP_CODE_SITES,
	TRAMP_CODE_PARTS
};

struct tramp_code_arrays {
	const void *at[TRAMP_CODE_PARTS];
	size_t bytes[TRAMP_CODE_PARTS];
	bool large_model;
};

/* They are the object's. */
void tramp_code_arrays(const struct tramp_code *code, struct tramp_code_arrays *arrays);

/*
 * The object out of them, and out of the facts that it was made of; both have to stay where they are.  Of the arrays only their
 * sizes are looked at, and OWNER; the functions lie within the code.  Errors: MEMORY; TOO_BIG, EMPTY: they are not of these facts.
 */
enum tramp_code_status tramp_code_from(const struct tramp_facts *facts, const struct tramp_code_arrays *arrays,
				       struct tramp_code **out) TRAMP_MUST_CHECK;

/* Can all else be done with them as well?  To be asked before anything but OWNER is used, where others can have written them. */
bool tramp_code_sound(const struct tramp_code *code) TRAMP_MUST_CHECK;

uint64_t tramp_code_base(const struct tramp_code *code);
const struct tramp_facts *tramp_code_facts(const struct tramp_code *code);

/* The file's bytes at @addr, *left of them; NULL: none. */
const uint8_t *tramp_code_at(const struct tramp_code *code, uint64_t addr, size_t *left);

/* Function @fn, or the one that it is a part of: index. */
uint32_t tramp_code_owner(const struct tramp_code *code, uint32_t fn);

/* Index of the function that holds @addr, parts resolved to their function; TRAMP_NONE. */
uint32_t tramp_code_function(const struct tramp_code *code, uint64_t addr);

/* A direct call, a direct jump out of a function or between functions, or what falls into the next function. */
struct tramp_site {
	uint32_t to;		/* offset; in a PLT, too, which may be below the base: then it wraps */
	uint32_t from;		/* of the instruction */
};

/* Those that lead to @addr: *sites, that many, ascending by `from`. */
size_t tramp_code_sites(const struct tramp_code *code, uint64_t addr, const struct tramp_site **sites);

/*
 * The places in [@addr, @addr + @len) that control may come to from elsewhere than the function's own bytes (its parts
 * are elsewhere): at most @room of them, ascending, into entries[].  Returns how many.
 */
size_t tramp_code_entries(const struct tramp_code *code, uint64_t addr, size_t len, uint64_t *entries,
			  size_t room);

/* May control come to @addr by other ways than the branches and calls of its own function? */
bool tramp_code_external(const struct tramp_code *code, uint64_t addr);

/* Does the object's code load the address of function @fn, that no data or symbol holds?  Most likely it is for others to call. */
bool tramp_code_passed(const struct tramp_code *code, uint32_t fn);

/* Is a call, or a jump out of the function, to @addr (through the GOT: the slot) one of facts->sync? */
bool tramp_code_syncs(const struct tramp_code *code, uint64_t addr);

/* ---- one function ---- */

/*
 * Registers: bits 0..15 = rax rcx rdx rbx rsp rbp rsi rdi r8..r15, then flags; from TRAMP_XMM on bits 0 to 127 of
 * xmm0..15, from TRAMP_UPPER on what AVX adds to each, TRAMP_HIGH_VECTORS: any of xmm16..31, from TRAMP_K on the masks
 * k0..7.  x87 and MMX registers are not among them.
 */
typedef uint64_t tramp_regs;
#define TRAMP_REG(n) (UINT64_C(1) << (n))
enum {
	TRAMP_RAX, TRAMP_RCX, TRAMP_RDX, TRAMP_RBX, TRAMP_RSP, TRAMP_RBP, TRAMP_RSI, TRAMP_RDI,
	TRAMP_R8, TRAMP_R9, TRAMP_R10, TRAMP_R11, TRAMP_R12, TRAMP_R13, TRAMP_R14, TRAMP_R15,
	TRAMP_CF, TRAMP_PF, TRAMP_AF, TRAMP_ZF, TRAMP_SF, TRAMP_OF, TRAMP_DF,
	TRAMP_XMM,
	TRAMP_UPPER = TRAMP_XMM + 16,
	TRAMP_HIGH_VECTORS = TRAMP_UPPER + 16,
	TRAMP_K,
};
#define TRAMP_GPRS UINT64_C(0xffff)
#define TRAMP_STATUS (UINT64_C(0x3f) << 16) /* the six flags that arithmetic sets */
#define TRAMP_XMMS (UINT64_C(0xffff) << TRAMP_XMM)
#define TRAMP_UPPERS (UINT64_C(0xffff) << TRAMP_UPPER)
#define TRAMP_MASKS (UINT64_C(0xff) << TRAMP_K)
#define TRAMP_VECTORS (TRAMP_XMMS | TRAMP_UPPERS | TRAMP_REG(TRAMP_HIGH_VECTORS) | TRAMP_MASKS)
#define TRAMP_ALL_REGS UINT64_MAX

struct tramp_op {
	uint32_t off;		/* of the instruction */
	uint8_t len;
	uint8_t kind;		/* enum tramp_op_kind */
	uint8_t disp_at;	/* offset within it of what is relative to RIP; 0: nothing */
	uint8_t disp_len;	/* 1 or 4 */
	tramp_regs use;		/* read; partly written registers count as read */
	tramp_regs def;		/* written whole (32-bit writes are), or undefined by it */
};

enum tramp_end {
	TRAMP_END_FALL,		/* into `next` */
	TRAMP_END_JMP,		/* to `target` */
	TRAMP_END_JCC,		/* to `target` or into `next`; JCC and LOOP.  In BAD_CODE without
				 * `next` at the function's very end; TAIL_JCC likewise */
	TRAMP_END_CALL,		/* the call is the last instruction; returns into `next` */
	TRAMP_END_NORETURN,	/* a call that does not return, or the last instruction: no `next` */
	TRAMP_END_SWITCH,	/* indirect jump within the function: targets are EXTERNAL blocks */
	TRAMP_END_RET,
	TRAMP_END_TAIL,		/* jmp to another function: target_addr */
	TRAMP_END_TAIL_JCC,	/* conditional jump to another function: target_addr, or `next` */
	TRAMP_END_TAIL_IND,	/* indirect jump out of the function */
	TRAMP_END_TAIL_FALL,	/* falls into the next function: target_addr */
	TRAMP_END_UNSURE,	/* indirect jump that may be either of SWITCH and TAIL_IND */
	TRAMP_END_STOP,		/* ud2 and the like, int3 at the end; also bytes that are no instruction
				 * follow */
};

static inline bool tramp_end_is_conditional(enum tramp_end end)
{
	return end == TRAMP_END_JCC || end == TRAMP_END_TAIL_JCC;
}

/* An indirect jump that leads, or may lead, to blocks of its function. */
static inline bool tramp_end_is_switch(enum tramp_end end)
{
	return end == TRAMP_END_SWITCH || end == TRAMP_END_UNSURE;
}

enum tramp_block_flags {
	TRAMP_BLOCK_ENTRY = 1,	/* the function's first */
	TRAMP_BLOCK_EXTERNAL = 2, /* control may come from elsewhere: address taken, jump table,
				   * landing pad, branch from another function */
	TRAMP_BLOCK_RETURN = 4,	/* a call returns here */
	TRAMP_BLOCK_PAD = 8,	/* landing pad */
	TRAMP_BLOCK_TABLE = 16,	/* target of a jump table */
};

struct tramp_block {
	uint32_t start, end;	/* offsets, end after the last instruction */
	uint32_t op, nops;	/* its instructions: flow->ops[op .. op + nops) */
	uint8_t ends;		/* enum tramp_end */
	uint8_t flags;
	uint16_t loop_depth;	/* after tramp_flow_loops(): 0 = in no loop */
	uint32_t target, next;	/* blocks, or TRAMP_NONE */
	uint64_t target_addr;	/* TAIL, TAIL_JCC, TAIL_FALL; of a direct call: what is called; else 0 */
	tramp_regs live_in, live_out; /* after tramp_flow_live() */
	uint32_t idom;		/* after tramp_flow_loops(): block, TRAMP_NONE for roots */
	uint32_t loop;		/* innermost loop, index into flow->loops, or TRAMP_NONE */
};

struct tramp_loop {
	uint32_t head;		/* block */
	uint32_t parent;	/* enclosing loop or TRAMP_NONE */
	uint32_t nblocks;
};

enum tramp_flow_flags {
	TRAMP_FLOW_UNSURE = 1,	/* an indirect jump whose targets could not be found */
	TRAMP_FLOW_BAD_CODE = 2, /* control runs into bytes that are no instruction */
	TRAMP_FLOW_OVERLAP = 4,	/* control enters instructions at other places than their start */
	TRAMP_FLOW_IRREDUCIBLE = 8, /* a cycle with several entries (set by tramp_flow_loops()) */
};

/* All zero at first; used again and again; freed by tramp_flow_free(). */
struct tramp_flow {
	const struct tramp_code *code;
	uint32_t fn;		/* index into facts->fns */
	uint32_t flags;		/* enum tramp_flow_flags */
	struct tramp_block *blocks; /* ascending by start; of all parts; blocks[entry] is the entry */
	uint32_t nblocks;
	uint32_t entry;
	struct tramp_op *ops;	/* ascending by off */
	uint32_t nops;
	struct tramp_loop *loops;
	uint32_t nloops;
	tramp_regs clobbers;	/* registers that the function's own instructions write, and if it
				 * calls anything outside of the object (or unknown): all that the
				 * ABI lets a function change */
	void *priv;
};

/*
 * The blocks of a part belong to the function that it is a part of: @fn may be either.  A MAYBE_PART is a part
 * if no direct call leads to it, nothing but jump tables holds its address, and all jumps to any of its bytes
 * come from one function and that function's parts.  Where control runs through nops after the function into
 * the next one, these are a block, too.
 *
 * Only what can be reached (from the entry, EXTERNAL places, landing pads) is in blocks.  Block ids
 * (indices) are the same in every run on the same file.  Errors: MEMORY.
 */
enum tramp_code_status tramp_flow_build(struct tramp_flow *flow, const struct tramp_code *code,
					uint32_t fn) TRAMP_MUST_CHECK;
void tramp_flow_free(struct tramp_flow *flow);

/*
 * Does control come to function @fn, which is no part, by its first instruction only, and to its parts from itself alone?  What
 * jumps through tables, lands after exceptions, or returns from calls has come in before.  @flow is for looking at it.
 */
bool tramp_code_one_entry(const struct tramp_code *code, uint32_t fn, struct tramp_flow *flow) TRAMP_MUST_CHECK;

/* ---- what functions there are ---- */

enum tramp_shape_flags {
	TRAMP_SHAPE_RETURNS = 1,	/* by ret, or by a jump to where is not known */
	TRAMP_SHAPE_UNBALANCED = 2,	/* a ret with the stack elsewhere than it was at the entry */
	TRAMP_SHAPE_READS = 4,		/* its first block uses flags, or registers that functions keep, of before */
	TRAMP_SHAPE_UNSURE = 8,		/* an indirect jump whose targets could not be found */
	TRAMP_SHAPE_BAD = 16,		/* it runs into bytes that are no instruction */
	TRAMP_SHAPE_CUT = 32,		/* more leaves than there is room for */
	TRAMP_SHAPE_ABOVE = 128,	/* its first block uses the stack above its return address */
	TRAMP_SHAPE_SWITCHES = 256,	/* it has indirect jumps, other than through the GOT or at its very end */
	TRAMP_SHAPE_PROLOGUE = 64,	/* it begins with endbr64, or by putting something on the stack */
};

/* What no function is like, but parts and labels are. */
#define TRAMP_SHAPE_OF_PART (TRAMP_SHAPE_UNBALANCED | TRAMP_SHAPE_READS | TRAMP_SHAPE_BAD)

/* A place where control goes out of it by an address in the code: a direct call, a jump, or into what comes next. */
struct tramp_leave {
	uint64_t from, to;	/* to: 0: an indirect call */
	uint8_t ends;		/* enum tramp_end: CALL, NORETURN, TAIL, TAIL_JCC, TAIL_FALL */
	bool flat;		/* the stack is as at the entry */
	bool deep;		/* it is known not to be */
};

enum { TRAMP_SHAPE_LEAVES = 8192 };

struct tramp_shape {
	uint64_t end;		/* after the last instruction within the function's bytes that control comes to from the entry */
	uint32_t flags;		/* enum tramp_shape_flags */
	uint32_t nleaves;
	uint64_t *reached;	/* the caller's map, may be NULL: the bit of each byte's offset that control comes to is set */
	struct tramp_leave leaves[TRAMP_SHAPE_LEAVES];
};

/*
 * What the code comes to that control gets to from the function's entry, or through its jump tables, after tramp_flow_build():
 * for a function whose end is only supposed. A call with nothing but padding after it counts as one that does not return.
 * False: no memory.
 */
bool tramp_flow_shape(const struct tramp_flow *flow, struct tramp_shape *shape) TRAMP_MUST_CHECK;

/*
 * From now on @flow is built by the thread that builds @with: they share what is remembered of instructions,
 * which is @with's.  False: no memory; then @flow can only be freed.
 */
bool tramp_flow_share(struct tramp_flow *flow, struct tramp_flow *with) TRAMP_MUST_CHECK;

/*
 * Live registers at the start and end of all blocks.
 *
 * What is trusted.  At a call: a FRAMED, not FOREIGN function's calls read the argument registers
 * (rdi rsi rdx rcx r8 r9 rax r10, vectors 0 to 7) and callee-saved ones, and destroy what the ABI lets them destroy
 * only if they go out of the object; else calls read everything.  At exits (RET, TAIL*): everything
 * is live, but for registers that the ABI gives away, that hold no result (rcx rsi rdi r8 r9 r10 r11,
 * masks and vectors but the first two, and, at RET, the status flags), and that the function clobbers (flow->clobbers): compilers let callers
 * in the same file rely on what a function does not touch.  r11 is dead as well if the function clobbers one of those, and no
 * direct call, and no jump of another function, leads to it; not at TAIL_IND.  At TAIL* argument registers are live.
 * SWITCH: live is what is live at any possible target; UNSURE: everything.
 * Registers that the function puts on the stack and takes from there again count as not destroyed by it.
 * Calls and jumps to functions of the object that are not FRAMED, or that read r11 first, read that as well.
 * Status flags are live at exits if a direct call of the function in this object is followed by code
 * that reads flags before it sets them (or that of a function which leaves by a jump to this one), or if the
 * function is not FRAMED or FOREIGN.
 */
void tramp_flow_live(struct tramp_flow *flow);

/* Live before instruction @op (index into flow->ops) of block @block; after tramp_flow_live(). */
tramp_regs tramp_flow_live_at(const struct tramp_flow *flow, uint32_t block, uint32_t op);

/* Dominators, natural loops, loop depths.  Errors: MEMORY. */
enum tramp_code_status tramp_flow_loops(struct tramp_flow *flow) TRAMP_MUST_CHECK;

/* Is @block, which may be TRAMP_NONE, in loop @loop, or in one within it?  After tramp_flow_loops(). */
bool tramp_flow_in_loop(const struct tramp_flow *flow, uint32_t block, uint32_t loop);

#endif
