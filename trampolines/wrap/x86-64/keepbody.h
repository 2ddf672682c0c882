/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of an object, decoded when they are first looked at. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_KEEPBODY_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_KEEPBODY_H

#include "trampolines/wrap/keep.h"
#include "trampolines/wrap/x86-64/keepinsn.h"
#include "trampolines/wrap/x86-64/keepsites.h"

#define KEEP_NOWHERE SIZE_MAX

struct keep_region;

/* What a function elsewhere takes. */
struct keep_arity {
	uint64_t addr;
	keep_regs regs;
};

enum keep_progress { KEEP_NEW, KEEP_BUSY, KEEP_DONE };

/* One function. */
struct keep_body {
	uint64_t addr;
	uint64_t size;
	bool size_guessed;

	uint8_t scan;			/* enum keep_progress, of `open` */
	bool open;			/* calls or jumps to what is not known */

	bool decoded;
	bool variadic;
	struct keep_op *ops;		/* ascending by `at`, without gaps */
	size_t nops;
	keep_regs touched;		/* by its own instructions */

	uint8_t reach;			/* enum keep_progress, of the next two */
	bool reaches_open;		/* it or what it calls is open */
	keep_regs clobbers;		/* touched by it or by what it calls */
	bool cut;			/* more functions than a limit are called */
	size_t mark;

	struct keep_region *region;
	uint8_t flow;			/* enum keep_progress, of `region` */

	bool has_arity;			/* of the next one */
	keep_regs arity;		/* see tramp_keep_arity() */

	uint8_t rely;			/* enum keep_progress, of the next ones */
	keep_regs relied;
	bool misaligned;
	bool incomplete;
};

struct keep_code {
	const struct tramp_object *object;
	struct keep_body *bodies;	/* ascending by address, no address twice */
	size_t nbodies;
	struct keep_sites sites;	/* of all of them, once asked for */
	bool has_sites;
	size_t budget;			/* instructions that may still be decoded */
	size_t last_mark;
	size_t *queue;			/* room for the bodies of one call tree */
	unsigned int depth;
	bool no_memory;
	struct keep_arity *arities;	/* of the entries of a PLT */
	size_t narities;
};

/* False: no memory. To be closed in either case. */
bool tramp_keep_open(struct keep_code *code, const struct tramp_object *object,
		     const uint64_t *targets, size_t ntargets);
void tramp_keep_close(struct keep_code *code);

/* The index of the body that holds `addr`, or KEEP_NOWHERE. */
size_t tramp_keep_enclosing(const struct keep_code *code, uint64_t addr);

/* The same for where a branch leads: KEEP_NOWHERE also for entries of a PLT. */
size_t tramp_keep_target(const struct keep_code *code, uint64_t addr);

/* Decode it; false: too large, or no memory. */
bool tramp_keep_decode(struct keep_code *code, struct keep_body *body);

/* The index of the instruction that `addr` is a byte of, in a decoded body; or KEEP_NOWHERE. */
size_t tramp_keep_op_at(const struct keep_body *body, uint64_t addr);

/* The callers of all bodies, and of the entries of a PLT: into code->sites. False: no memory. */
bool tramp_keep_have_sites(struct keep_code *code);

/* What a function and all that it calls touch: fills clobbers, reaches_open, cut. */
void tramp_keep_reach(struct keep_code *code, struct keep_body *body);

#endif
