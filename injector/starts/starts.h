/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that neither a symbol nor an unwind table speaks of: where they start, on what evidence, and how sure that is.
 *
 * What is written down as an address of code (by calls and jumps, by instructions that load it, by data) is supposed to be a
 * start.  The flow of the object (trampolines/flow/flow.h) with all of these as functions says what each comes to: where it
 * ends, what it calls, whether it leaves the stack as it was.  From the entry point, and from what symbols and tables say, the
 * certain ones lead to further certain ones; what is found not to be a start is taken out; what code is left between functions
 * is looked at for more.  All this is repeated until nothing changes.
 */
#ifndef SONDE_INJECTOR_STARTS_STARTS_H
#define SONDE_INJECTOR_STARTS_STARTS_H

#include "injector/facts/facts-int.h"

struct inj_start {
	uint64_t addr;
	uint64_t size;		/* of what control gets to, padding left out */
	uint32_t by;		/* enum inj_fn_flags: INJ_FN_BY_... */
	bool certain;
	bool part;		/* only jumps lead to it: whether it is a part of another function the flow is to decide */
	bool inside;		/* it is a part, if only for what it does */
	uint64_t owner;		/* where a function starts that jumps to it; 0: not known */
	/* private */
	bool fresh;		/* added in this round */
	bool dead;		/* no start */
	uint8_t deaths;		/* how many times that was found */
	bool revived;		/* was dead, and is called: to be looked at in the next round */
	bool called;		/* by code that is certain to be executed */
	bool likely;		/* called by code that may be some */
	bool fallen;		/* what comes before it runs into it */
	bool deep;		/* jumped to with the stack elsewhere than at an entry */
	bool bounded;		/* what comes before it is over, and ends where this starts, padding left out */
	bool padded;		/* there is padding */
	bool orphans;		/* it is bounded, but for code that nothing leads to, as what catches exceptions without their tables */
	bool label;		/* a branch of what comes before it leads to it */
	bool unsure;		/* where what comes before it ends is not sure */
	bool lone;		/* all jumps to it come from one function */
	bool jumped, cond;	/* to it, with the stack as at an entry; by a conditional jump */
	uint32_t jumper;	/* the last one, as an index into all functions of the round */
	uint32_t shape;		/* enum tramp_shape_flags */
	uint64_t limit;		/* the next start, or the end of the code */
	uint64_t end;		/* see struct tramp_shape */
	size_t edge, nedges;	/* its leaves */
};

/*
 * Ascending; none lies in one of cf->fns.  None at all where symbols and tables cover next to all code, and in files made
 * by Go.  False: no memory.
 */
bool inj_starts_find(struct inj_cf *cf, struct inj_start **starts, size_t *n) INJ_CHECK;

/* insert.c: finds them, and puts them among cf->fns and cf->info.  Errors: MEMORY. */
enum inj_status inj_starts_insert(struct inj_cf *cf) INJ_CHECK;

/* insert.c: fills cf->code, cf->uncovered and cf->guessed; see struct inj_codefacts. */
void inj_starts_coverage(struct inj_cf *cf);

/* ---- between the files here ---- */

struct inj_edge {
	uint64_t to;
	uint8_t ends;		/* enum tramp_end */
	bool flat, deep;
};

struct inj_starts {
	struct inj_cf *cf;
	struct inj_start *v;
	size_t n, room, settled; /* the first `settled` ones ascend */
	struct tramp_code *code; /* of this round */
	struct tramp_facts facts;
	struct tramp_fn *fns;	/* known ones and starts */
	uint32_t *of;		/* by function: the start, or TRAMP_NONE: known */
	uint32_t *fn;		/* by start: the function */
	uint32_t *moved;	/* by known function: its index in fns */
	struct inj_edge *edges;	/* of starts, one after the other */
	size_t nedges, edge_room;
	struct inj_addrs noreturn;
	uint64_t *reached;	/* by offset: bytes that control comes to from a start, in this round */
	uint64_t size;		/* of all code: offsets are below */
	bool aligned;		/* functions begin at multiples of 16 */
	bool coarse;		/* gaps are left out */
	bool strict;		/* no more are to be supposed: what is not bounded is none */
	bool failed;		/* no memory */
};

/* Supposes that something starts at @addr; false: it cannot, or did already, with one more evidence now. */
bool inj_starts_add(struct inj_starts *s, uint64_t addr, uint32_t by, bool part);

/* Is it a direct call, a jump?  Else control runs on, through padding. */
bool inj_starts_is_call(const struct inj_starts *s, const struct tramp_site *site);
bool inj_starts_is_jump(const struct inj_starts *s, const struct tramp_site *site);

/* The start at @addr, or NULL; of those that were there when the round began. */
struct inj_start *inj_starts_at(const struct inj_starts *s, uint64_t addr);

/* judge.c: which starts are certain, and which are none.  Returns whether any was taken out. */
bool inj_starts_judge(struct inj_starts *s);

/* gaps.c: supposes starts in code that is still nobody's.  Returns whether there are any. */
bool inj_starts_gaps(struct inj_starts *s);

/* vtables.c: supposes what tables of virtual functions hold.  False: no memory. */
bool inj_starts_virtual(struct inj_starts *s) INJ_CHECK;

/*
 * data.c: may there be data among what is taken for code?  After a coarse search, takes out of cf->bytes what is data.  False:
 * no memory.
 */
bool inj_starts_may_hold_data(const struct inj_cf *cf);
bool inj_starts_data(struct inj_starts *s) INJ_CHECK;

/* What a slot of the GOT first holds: where its PLT's entry goes on, after the jump through it, by push $index or padding. */
bool inj_starts_in_plt(const struct inj_cf *cf, uint64_t addr);

/* The first byte from @addr on that is no padding, or @end. */
uint64_t inj_starts_padding(const struct inj_cf *cf, uint64_t addr, uint64_t end);

/*
 * Code that nothing leads to, in [@addr, @end): 0: it does not end there as functions do, or a branch of it leads there.  Else where its last
 * instruction ends, after which is padding.
 */
uint64_t inj_starts_orphans(const struct inj_cf *cf, uint64_t addr, uint64_t end);

/* Does the code there begin with endbr64, or by putting something on the stack? */
bool inj_starts_like_entry(const struct inj_cf *cf, uint64_t addr);

/* mov %rax, REGISTER, after an endbr64: what catches an exception begins so, and no function. */
bool inj_starts_like_pad(const struct inj_cf *cf, uint64_t addr);

/* What the code there begins with, after an endbr64: push or sub of %rsp; push %rbp; mov %rsp,%rbp.  Labels and parts do not. */
enum inj_prologue { INJ_PROLOGUE_NONE, INJ_PROLOGUE_STACK, INJ_PROLOGUE_FRAME };
enum inj_prologue inj_starts_prologue(const struct inj_cf *cf, uint64_t addr);

/* Bytes of code, but for padding, that belong to none of cf->fns. */
uint64_t inj_starts_uncovered(const struct inj_cf *cf);

#endif
