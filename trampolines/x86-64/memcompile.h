/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions compiled to x86-64: what the engine (memcompile.c) and the making of code share.
 *
 * A *piece* of code begins at a node and goes on over the nodes that are known to follow, as far as they need no
 * check of their own: a piece looks once, at its beginning, whether there are words, room for accesses, and fuel for all of it.
 * If not, or if something comes next that is not compiled, it leaves with the place; the interpreter does what is to be
 * done there.  What the machine knows is in memory between pieces, at rbx, and in the processor's registers within them.
 *
 *	rbx	the machine's registers, the first 16 below it
 *	r10	addresses of pieces by their node's id, for headers in the stream; further on, for all others
 *	r11	fuel
 *	r12	the stream's next word
 *	r13	a piece may begin up to here, if it takes words
 *	r14	the next access; if accesses are counted: how many pieces without words may still begin
 *	r15	a piece may begin up to here
 *	xmm1, 2	accesses and bytes, each by kind in 32 bits
 *	rax, rcx, xmm0, 3	for what an operation needs; the others hold registers of the machine
 */
#ifndef SONDE_TRAMPOLINES_X86_64_MEMCOMPILE_H
#define SONDE_TRAMPOLINES_X86_64_MEMCOMPILE_H

#include "trampolines/memcompile.h"
#include "trampolines/memexpandenter.h"
#include "trampolines/memexpandloop.h"
#include "trampolines/x86-64/memcompileasm.h"

enum {
	MXC_GATES = 512,		/* bytes of the ways in and out */
	MXC_PATH = 16,			/* nodes of a piece */
	MXC_ROOTS = 32,			/* hot nodes that are compiled together */
	MXC_HEADS = 128,		/* pieces that are made together */
	MXC_FIXES = 4096,
	MXC_CONSTANTS = 8192,
	MXC_HOSTS = 6,
	MXC_TURNS = 32,			/* a loop of so many is run, */
	MXC_COMPUTED = INT16_MAX,	/* ... of so many is computed in the code, where it is only counted */
};

/* What a mode's code looks up. */
struct mxc_tables {
	uint64_t *headers;	/* by id; MXE_IDS of them, and as many for the others behind them; NULL: none */
	const uint8_t *heat;	/* a hint at which way is more likely */
};

/* Makes code for one process's machines, ours or another's. */
struct mxc_compiler {
	const struct mx_code *code;
	const struct mx_object *seen;	/* newer ones are not in the tables yet */
	uint8_t *area;			/* where we write it */
	uint64_t run;			/* where that is executed */
	size_t bytes, used;		/* of it */
	uint8_t *scratch;		/* where code is made */
	bool full;
	struct mxe_gates gates;
	uint32_t ids;
	struct mxc_tables tables[MXE_MODES];
	struct mxc_build *build;
	uint64_t nodes, made;		/* pieces, bytes */
	/* Brings code that is complete to its place in the area.  False: that cannot be. */
	bool (*put)(struct mxc_compiler *c, size_t at, const uint8_t *code, size_t bytes);
};

/* ---- the compiler (memcompile.c) ---- */

/* @c is zero but for put, and area is writable at least for MXC_GATES.  False: no memory.  mxc_end() in any case. */
bool mxc_begin(struct mxc_compiler *c, const struct mx_code *code, uint8_t *area, uint64_t run, size_t bytes);
void mxc_end(struct mxc_compiler *c);
/* @table has MXE_TABLE bytes; to be used before anything is made for @mode. */
void mxc_use(struct mxc_compiler *c, enum mxe_mode mode, uint64_t *table, const uint8_t *heat);
/* All leads out again. */
void mxc_discard(struct mxc_compiler *c);
/* Takes notice of new objects. */
void mxc_refresh(struct mxc_compiler *c);
/* Compiles @roots, and what they lead to.  False: not all of them could be. */
bool mxc_compile(struct mxc_compiler *c, enum mxe_mode mode, const struct mx_node *const *roots, unsigned int n);
/* Those that are too much together are tried one by one; failed[i] says which cannot be.  False: the area is full. */
bool mxc_compile_each(struct mxc_compiler *c, enum mxe_mode mode, const struct mx_node *const *roots, unsigned int n,
		      bool *failed);

struct mxc_head {
	const struct mx_node *node;
	uint8_t *header, *entry;	/* behind a header; otherwise */
};

/* A distance to be set: to a head, or to where code leaves for a node. */
struct mxc_fix {
	uint8_t *place;
	const struct mx_node *node;	/* NULL: a header comes next */
	bool leaves;
	bool around;			/* from a loop to its beginning: the node's address + 1 */
};

struct mxc_constant {
	uint8_t *place;
	uint32_t v[4];
};

/* A register of the processor, and what it holds. */
struct mxc_host {
	uint8_t slot;		/* MX_ZERO: nothing */
	bool dirty;
	uint32_t used;
};

/* A way out of the middle of a piece: what is to be done there is written behind it. */
struct mxc_out {
	uint8_t *place;		/* of the distance of the jump */
	const struct mx_node *node, *from;
	uint32_t at_word, at_access, burnt;	/* as they are there */
	bool fresh;
	uint32_t sums[2][4];
	struct mxc_host hosts[MXC_HOSTS];
};

struct mxc_build {
	struct mxc_asm a;
	uint64_t away;			/* code is made elsewhere than where it will be run, so much further on */
	const struct mxc_compiler *of;
	enum mxe_mode mode;
	bool failed;
	struct mxc_head heads[MXC_HEADS];
	struct mxc_fix fixes[MXC_FIXES];
	struct mxc_constant constants[MXC_CONSTANTS];
	uint32_t nheads, nfixes, nconstants;

	/* The piece under way. */
	bool keeps_flags;		/* its object's nodes read those that others have set */
	uint8_t *body;			/* of a loop: where it goes around */
	const struct mx_node *path[MXC_PATH];
	uint32_t npath;
	uint32_t words, accesses;	/* since its check */
	uint32_t at_word, at_access;	/* since the pointers were moved on */
	bool fresh;			/* fuel is new, */
	uint32_t burnt;			/* ... and so much has been burnt since */
	uint32_t sums[2][4];		/* not added yet */
	struct mxc_host hosts[MXC_HOSTS];
	uint32_t clock;
	struct mxc_out outs[MXC_PATH];
	uint32_t nouts;
};

/* ---- pieces (memcompilepiece.c) ---- */

/* Can it be in a piece? */
bool mxc_possible(const struct mx_node *node);
/* Makes pieces for @roots, and for what they lead to.  False: no room, or too much. */
bool mxc_make(struct mxc_compiler *c, enum mxe_mode mode, const struct mx_node *const *roots, unsigned int n);
/* The code is where it will be: sets its places in the tables. */
void mxc_publish(struct mxc_compiler *c);
void mxc_constant(struct mxc_build *b, uint8_t *place, const uint32_t v[4]);
/* @place is the distance of a jump to @node's piece, which will be made, or to where code leaves for it. */
void mxc_fix(struct mxc_build *b, uint8_t *place, const struct mx_node *node, bool leaves);

/* ---- loops (memcompileloop.c) ---- */

/*
 * The way into a loop, whose jump is at @place, from elsewhere than its own end: to b->body for its last turn, if the others can be
 * computed here, or for all if it comes around a few times only; else out, where they can be computed.
 */
void mxc_enter_loop(struct mxc_build *b, uint8_t *place, const struct mx_node *node);
/* dst = src * by */
void mxc_times(struct mxc_build *b, uint8_t dst, uint8_t src, int32_t by);

/* ---- how often they come around (memcompileturns.c); registers of the machine are in memory ---- */

/* A loop that compares two forms, which come closer by the same in each turn. */
struct mxc_turns {
	struct mx_form from, to;	/* from - to is not less than 0, as long as it goes around */
	bool from_b;			/* from is the loop's b, to its a */
	bool both;			/* ... change */
	unsigned int width;
	uint64_t by;
};

bool mxc_find_turns(const struct mx_loop *loop, struct mxc_turns *t);
/* Can mxc_count_turns() tell? */
bool mxc_turns_exact(const struct mx_loop *loop, const struct mxc_turns *t);
/* rax = turns but the last, as mx_loop_run() says.  Leaves if they are more than @most, or that cannot be said. */
void mxc_count_turns(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node, uint32_t most);
/* Leaves if they are likely to be more than MXC_TURNS. */
void mxc_few_turns(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node);

/* ---- operations (memcompileop.c) ---- */

/* Adds what an access counts in this mode. */
void mxc_add(const struct mxc_build *b, const struct mx_op *op, uint32_t sums[2][4]);
/* One operation of @node, but not its end. */
void mxc_op(struct mxc_build *b, const struct mx_node *node, uint32_t op);
bool mxc_op_possible(const struct mx_op *op);

/* ---- flags (memcompileflags.c) ---- */

enum mxc_flags_use {
	MXC_FLAGS_UNUSED,
	MXC_FLAGS_DIRECT,	/* they stay in the processor until they are read */
	MXC_FLAGS_STORED,
};
/* Of MD_FLAGS @op, within its node. */
enum mxc_flags_use mxc_flags_use(const struct mx_node *node, uint32_t op);
void mxc_flags(struct mxc_build *b, const struct mx_node *node, uint32_t op);
void mxc_select(struct mxc_build *b, const struct mx_node *node, uint32_t op);
/* Brings a condition that @node's end reads into the processor's flags. */
void mxc_condition(struct mxc_build *b, const struct mx_node *node);

/* ---- registers (memcompileregs.c); flags stay ---- */

/* The register that holds it.  It stays there while two more are asked for. */
uint8_t mxc_get(struct mxc_build *b, uint8_t slot);
/* ... to be written as a whole, or in part. */
uint8_t mxc_set(struct mxc_build *b, uint8_t slot);
uint8_t mxc_change(struct mxc_build *b, uint8_t slot);
/* MXC_NONE for MX_ZERO. */
uint8_t mxc_get_or_none(struct mxc_build *b, uint8_t slot);
/* Copies it. */
void mxc_get_to(struct mxc_build *b, uint8_t reg, uint8_t slot);
/* The second operand, copied; in its own register, or rcx. */
void mxc_operand_to(struct mxc_build *b, uint8_t reg, const struct mx_op *op);
uint8_t mxc_operand(struct mxc_build *b, const struct mx_op *op);
/* rax is the result. */
void mxc_put(struct mxc_build *b, const struct mx_op *op);
/* What the processor's registers hold alone goes to memory. */
void mxc_flush(struct mxc_build *b);
void mxc_forget(struct mxc_build *b);
struct mxc_mem mxc_slot(uint8_t slot);

#define MXC_MACHINE(field) \
	((int32_t)offsetof(struct mx_machine, field) - (int32_t)offsetof(struct mx_machine, reg) - 128)

static inline struct mxc_mem mxc_machine(int32_t disp)
{
	return (struct mxc_mem){ .base = MXC_RBX, .index = MXC_NONE, .disp = disp };
}

#endif
