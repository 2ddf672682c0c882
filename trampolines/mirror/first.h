/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What leads to a function that is instrumented when it is first called.
 *
 *	original            arena                               the process's own memory
 *	┌──────────┐        ┌────────────────────────────────┐  ┌───────────────┐
 *	│ jmp ─────┼───────▶│ stub:   jmp *word ─────────────┼─▶│ word: ask     │ at first
 *	│ ...      │        │ ask:    call the runtime       │  │       copy    │ instrumented
 *	│          │◀───────┼─ replay: displaced, jmp to rest│  │       replay  │ runs as it is, for good
 *	└──────────┘        └────────────────────────────────┘  └───────────────┘
 *
 * Nobody is in the function's body as long as the word says `ask`: so that may be written over meanwhile.  The jump at its
 * entry and the stub are never changed any more, the word alone is.
 */
#ifndef SONDE_TRAMPOLINES_MIRROR_FIRST_H
#define SONDE_TRAMPOLINES_MIRROR_FIRST_H

#include <stddef.h>
#include <stdint.h>

#include "trampolines/mirror/codemap.h"
#include "trampolines/trampoline.h"

#define TRAMP_FIRST_MAX (RT_FIRST_REPLAY + TRAMP_REPLAY_MAX)

struct tramp_first {
	uint64_t word;	/* its address, within 2 GiB of the code */
	uint64_t gate;	/* address of 8 bytes with that of the runtime's gate, likewise */
	uint32_t index;	/* what the runtime asks for */
};

struct tramp_first_code {
	size_t len;
	struct rt_piece pieces[TRAMP_INSNS_MAX + 3]; /* start counts from buf[0] */
	size_t npieces;
};

/*
 * The code for @addr, of a function whose entry is planned as for a wrapper; pieces' offsets of the original count from @object.
 * @buf has room for TRAMP_FIRST_MAX bytes.  Error: FAR.
 */
enum tramp_status tramp_emit_first(const struct tramp_first *f, const struct tramp_plan *plan, uint64_t object,
				   uint64_t addr, uint8_t *buf, struct tramp_first_code *out) TRAMP_MUST_CHECK;

#endif
