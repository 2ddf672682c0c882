/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions compiled to x86-64: what the engine (compile/x86-64/compile.c) and the making of code share.
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
 *
 * The code touches nothing else, and comes back.  What it relies on for that, and who sees to it (rules: memtrace/machine/verify.h):
 *
 *	slots are those of struct mt_machine	rule 7; the others come from machine/translate.c
 *	words that are read are there	check_words(), for all of a piece and one more; r13 leaves room for MT_PIECE_BYTES
 *	so is room for accesses	check_all(), for all of a piece; r15 leaves room for MT_ACCESSES
 *	a header's id is in the table	dispatch(): ids from the stream are below m->ids
 *	so are those of nodes	rule 13; what has no code there leads out: mtc_use(), mtc_refresh()
 *	nothing goes on for ever	each piece takes words, or burns fuel: check_all().  A loop that gets fuel back gets no more than
 *		it burns: its trip count is exact, or less (loop.c)
 *	sums fit 32 bits	rule 11, and how many pieces there may be: machine/enter.c, take_iterations()
 *	trip counts fit 16 bits	COMPUTED_TRIPS (loop.c)
 *	there are flags where they are read	rule 12
 *	what is made fits its buffers	MTC_..., struct mtc_asm: else all that is made together is given up
 */
#ifndef SONDE_MEMTRACE_COMPILE_X86_64_COMPILE_H
#define SONDE_MEMTRACE_COMPILE_X86_64_COMPILE_H

#include "memtrace/compile.h"
#include "memtrace/machine/enter.h"
#include "memtrace/machine/loop.h"
#include "memtrace/compile/x86-64/asm.h"

enum {
	MTC_GATES = 512,		/* bytes of entry and exit */
	MTC_ROOTS = 32,			/* hot nodes that are compiled together */
	MTC_HEADS = 128,		/* pieces that are made together */
	MTC_FIXES = 4096,
	MTC_CONSTANTS = 8192,
	MTC_HOSTS = 6,
};

/* What a mode's code looks up. */
struct mtc_tables {
	uint64_t *headers;	/* by id; MT_IDS of them, then as many for the others; NULL: none */
	const uint8_t *heat;	/* a hint at which edge is more likely */
};

/* Makes code for one process's machines, ours or another's. */
struct mtc_compiler {
	const struct mt_code *code;
	const struct mt_object *seen;	/* newer ones are not in the tables yet */
	uint8_t *area;			/* where we write it */
	uint64_t run;			/* where that is executed */
	size_t bytes, used;		/* of it */
	size_t alignment;		/* of what is brought there at once; a power of two from 64 on */
	uint8_t *scratch;		/* where code is made */
	bool full;
	struct mt_gates gates;
	uint32_t ids;
	struct mtc_tables tables[MT_MODES];
	struct mtc_build *build;
	uint64_t nodes, made;		/* pieces, bytes */
	/* Brings code that is complete to its place in the area.  False: that cannot be. */
	bool (*put)(struct mtc_compiler *c, size_t at, const uint8_t *code, size_t bytes);
};

/* ---- the compiler (compile/x86-64/compile.c) ---- */

/* @c is zero but for put and alignment, and area is writable at least for MTC_GATES.  False: no memory.  mtc_end() in any case. */
bool mtc_begin(struct mtc_compiler *c, const struct mt_code *code, uint8_t *area, uint64_t run, size_t bytes);
void mtc_end(struct mtc_compiler *c);
/* @table has MT_TABLE bytes; to be used before anything is made for @mode. */
void mtc_use(struct mtc_compiler *c, enum mt_mode mode, uint64_t *table, const uint8_t *heat);
/* To be called when there are new objects. */
void mtc_refresh(struct mtc_compiler *c);
/* Compiles @roots, and what they lead to.  False: not all of them could be. */
bool mtc_compile(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n);
/* Those that are too much together are tried one by one; failed[i] says which cannot be.  False: the area is full. */
bool mtc_compile_each(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n,
		      bool *failed);

struct mtc_head {
	const struct mt_node *node;
	uint8_t *header, *entry;	/* after its header has been compared; otherwise */
};

/* A distance to be set: to a head, or to where code leaves for a node. */
struct mtc_fix {
	uint8_t *place;
	const struct mt_node *node;	/* NULL: a header comes next */
	bool leaves;
	bool tried;			/* a loop whose closed form has been tried: see struct mt_gates */
};

struct mtc_constant {
	uint8_t *place;
	uint32_t v[4];
};

/* A register of the processor, and what it holds. */
struct mtc_host {
	uint8_t slot;		/* MT_ZERO: nothing */
	bool dirty;
	uint32_t used;
};

/* An exit edge in the middle of a piece: what is to be done there is written after the piece. */
struct mtc_exit {
	uint8_t *place;		/* of the distance of the jump */
	const struct mt_node *node, *from;
	uint32_t at_word, at_access, burnt;	/* as they are there */
	bool fresh;
	uint32_t sums[2][4];
	struct mtc_host hosts[MTC_HOSTS];
};

struct mtc_build {
	struct mtc_asm a;
	uint64_t away;			/* code is made elsewhere than where it will be run, so much further on */
	const struct mtc_compiler *of;
	enum mt_mode mode;
	bool failed;
	struct mtc_head heads[MTC_HEADS];
	struct mtc_fix fixes[MTC_FIXES];
	struct mtc_constant constants[MTC_CONSTANTS];
	uint32_t nheads, nfixes, nconstants;

	/* The piece that is being made. */
	bool keeps_flags;		/* its object's nodes read those that others have set */
	uint8_t *body;			/* of a loop: where its back edge leads */
	const struct mt_node *path[MT_PIECE_NODES];
	uint32_t npath, weight;
	uint32_t words, accesses;	/* since its check */
	uint32_t at_word, at_access;	/* since the pointers were moved on */
	bool fresh;			/* fuel is new, */
	uint32_t burnt;			/* ... and so much has been burnt since */
	uint32_t sums[2][4];		/* not added yet */
	struct mtc_host hosts[MTC_HOSTS];
	uint32_t clock;
	struct mtc_exit exits[MT_PIECE_NODES];
	uint32_t nexits;
};

/* ---- pieces (compile/x86-64/piece.c) ---- */

/* Makes pieces for @roots, and for what they lead to.  False: no room, or too much. */
bool mtc_make(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n);
/* The code is where it will be: sets its places in the tables. */
void mtc_publish(struct mtc_compiler *c);

/* ---- what is not known yet (fix.c) ---- */

/* @place is the distance to a constant of 16 bytes. */
void mtc_constant(struct mtc_build *b, uint8_t *place, const uint32_t v[4]);
/* Puts all constants where the code ends, which is aligned. */
void mtc_put_constants(struct mtc_build *b);
/* @place is the distance of a jump to @node's piece, which will be made, or to where code leaves for it. */
void mtc_fix(struct mtc_build *b, uint8_t *place, const struct mt_node *node, bool leaves);

/* ---- loops (loop.c) ---- */

/*
 * The entry of a loop, whose jump is at @place, from elsewhere than its own end: to b->body for its last iteration, if the
 * others can be computed here, or for all if they are few; else out, where they can be computed.
 */
void mtc_enter_loop(struct mtc_build *b, uint8_t *place, const struct mt_node *node);

/* ---- operations (compile/x86-64/op.c) ---- */

/* Adds what an access counts in this mode. */
void mtc_add(const struct mtc_build *b, const struct mt_op *op, uint32_t sums[2][4]);
/* Brings a condition that @node's end reads into the processor's flags. */
void mtc_condition(struct mtc_build *b, const struct mt_node *node);
/* One operation of @node, but not its end. */
void mtc_op(struct mtc_build *b, const struct mt_node *node, uint32_t op);

/* ---- registers (compile/x86-64/regs.c); flags stay ---- */

/* The register that holds it.  It stays there while two more are asked for. */
uint8_t mtc_get(struct mtc_build *b, uint8_t slot);
/* ... to be written as a whole, or in part. */
uint8_t mtc_set(struct mtc_build *b, uint8_t slot);
uint8_t mtc_change(struct mtc_build *b, uint8_t slot);
/* MTC_NONE for MT_ZERO. */
uint8_t mtc_get_or_none(struct mtc_build *b, uint8_t slot);
/* Copies it. */
void mtc_get_to(struct mtc_build *b, uint8_t reg, uint8_t slot);
/* The second operand, copied; in its own register, or rcx. */
void mtc_operand_to(struct mtc_build *b, uint8_t reg, const struct mt_op *op);
uint8_t mtc_operand(struct mtc_build *b, const struct mt_op *op);
/* rax is the result. */
void mtc_put(struct mtc_build *b, const struct mt_op *op);
/* What the processor's registers hold alone goes to memory. */
void mtc_flush(struct mtc_build *b);
void mtc_forget(struct mtc_build *b);
struct mtc_mem mtc_slot(uint8_t slot);

#define MTC_MACHINE(field) \
	((int32_t)offsetof(struct mt_machine, field) - (int32_t)offsetof(struct mt_machine, reg) - 128)

static inline struct mtc_mem mtc_machine(int32_t disp)
{
	return (struct mtc_mem){ .base = MTC_RBX, .index = MTC_NONE, .disp = disp };
}

#endif
