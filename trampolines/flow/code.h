/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one pass over an object's code leaves for the flow of its functions. */
#ifndef SONDE_TRAMPOLINES_FLOW_CODE_H
#define SONDE_TRAMPOLINES_FLOW_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/flow/flow.h"
#include "trampolines/flow/x86-64/insn.h"

/* What is known of a function; of a part as well. */
enum flow_fn_bits {
	FLOW_FN_CALLED = 1,	/* by a direct call */
	FLOW_FN_TAKEN = 2,	/* its address is somewhere */
	FLOW_FN_JUMPS = 4,	/* indirect jumps, but for those through the GOT */
	FLOW_FN_EXITS = 8,	/* may return or jump to where we do not know */
	FLOW_FN_READS_R11 = 16,	/* a thunk, maybe */
	FLOW_FN_FLAGS = 32,	/* callers look at the flags that it returns with */
	FLOW_FN_NORETURN = 64,
	FLOW_FN_TABLES = 128,	/* it has jump tables */
	FLOW_FN_LOADS = 512,	/* it loads what could be an entry of a jump table, to jump by a register */
	FLOW_FN_RESULTS = 1024,	/* callers look at registers that hold no result by the ABI */
	FLOW_FN_OPEN = 4096,	/* it calls, or jumps to, what is not known, or holds what is no instruction */
	FLOW_FN_JOINED = 2048,	/* other functions jump to it, or fall into it */
	FLOW_FN_ODD = 256,	/* branches lead between the instructions found first, or some are none */
};

enum { FLOW_PAGE_LOG2 = 8 };

struct tramp_code {
	const struct tramp_facts *facts;
	uint64_t base, end;	/* of executable bytes */
	bool absolute;		/* not position-independent: constants may be addresses */
	bool large_model;	/* calls through registers may be direct in the compiler's mind */
	/* Bits by offset: places that control comes to */
	uint64_t *external;	/* from other functions or places unknown */
	uint64_t *table;	/* through jump tables */
	uint64_t *pad;		/* when an exception is thrown */
	uint32_t *page;		/* for each 1 << FLOW_PAGE_LOG2 bytes: the first function that ends after their start */
	uint16_t *bits;		/* enum flow_fn_bits, by function */
	uint32_t *owner;	/* the function that it is a part of, or itself */
	struct tramp_site *sites; /* ascending by `to`, then by `from` */
	size_t nsites;
	uint32_t *first_part, *next_part; /* lists of an owner's parts, ascending */
	bool borrowed;		/* the arrays are somebody else's */
};

static inline bool flow_bit(const uint64_t *map, uint64_t at)
{
	return map[at / 64] >> (at % 64) & 1;
}

static inline void flow_set_bit(uint64_t *map, uint64_t at)
{
	map[at / 64] |= UINT64_C(1) << (at % 64);
}

static inline void flow_clear_bit(uint64_t *map, uint64_t at)
{
	map[at / 64] &= ~(UINT64_C(1) << (at % 64));
}

static inline uint64_t flow_external_word(const struct tramp_code *code, uint64_t word)
{
	return code->external[word] | code->table[word] | code->pad[word];
}

static inline bool flow_is_external(const struct tramp_code *code, uint64_t at)
{
	return flow_external_word(code, at / 64) >> (at % 64) & 1;
}

/* The first such place at an offset in [at, end), or end. */
uint64_t tramp_flow_next_external(const struct tramp_code *code, uint64_t at, uint64_t end);

static inline bool flow_in_code(const struct tramp_code *code, uint64_t addr)
{
	return addr >= code->base && addr < code->end;
}

/* The offset of what a direct branch of the object leads to, which may be a PLT outside of [base, end). */
static inline bool flow_offset(const struct tramp_code *code, uint64_t addr, uint32_t *off)
{
	bool near = code->end - code->base <= INT32_MAX && addr - code->base + INT32_MAX <= UINT32_MAX;

	*off = (uint32_t)(addr - code->base);
	return near || flow_in_code(code, addr);
}

static inline uint64_t flow_address(const struct tramp_code *code, uint32_t off)
{
	return off < code->end - code->base ? code->base + off : code->base + (uint64_t)(int32_t)off;
}

/* Is it the object's own code, not a PLT? */
bool tramp_flow_is_code(const struct tramp_code *code, uint64_t addr);

/* The function or part that holds an address: index, or TRAMP_NONE. */
uint32_t tramp_flow_piece(const struct tramp_code *code, uint64_t addr);

/* The bytes that hold an address, or NULL. */
const struct tramp_bytes *tramp_flow_bytes(const struct tramp_code *code, uint64_t addr);

/* Is `addr` in a list that ascends? */
bool tramp_flow_listed(const uint64_t *list, size_t n, uint64_t addr);

/* Does a call (direct: `addr` is the callee; through the GOT: the slot) never return? */
bool tramp_flow_noreturn(const struct tramp_code *code, uint64_t addr);

/* Its bounds, from the facts. */
enum tramp_code_status tramp_flow_bounds(struct tramp_code *code);

/* ---- the pass (flow/code.c, flow/x86-64/scan.c, flow/shards.c, flow/x86-64/table.c, flow/parts.c) ---- */

/* Control goes from function `from` (TRAMP_NONE: from no function) to a place in another. */
struct flow_cross {
	uint32_t from;
	uint32_t to;		/* offset */
};

/* An address that a function loads. */
enum flow_base_kind {
	FLOW_BASE_TABLE,	/* may be a jump table's */
	FLOW_BASE_OFFSETS,	/* or of one with distances from a label, which is not to be seen from it */
	FLOW_BASE_LABEL,	/* a place in code that is no function's start */
};

struct flow_base {
	uint64_t addr;
	uint32_t fn;
	uint32_t kind;		/* enum flow_base_kind */
};

/* `fn` returns only if `callee` does. */
struct flow_tie {
	uint32_t fn;
	uint32_t callee;
};

struct flow_list {
	void *items;
	size_t n, room;
};

struct flow_scan {
	struct tramp_code *code;
	struct flow_decoder *decoder;
	uint64_t *starts;	/* bits by offset: instructions found */
	uint64_t *wanted;	/* likewise: branches lead here */
	struct flow_list crosses; /* struct flow_cross */
	struct flow_list sites;	/* struct tramp_site */
	struct flow_list bases;	/* struct flow_base, by address when sorted */
	struct flow_list ends;	/* struct flow_tie: how functions without other exits end */
	struct flow_list passes; /* struct flow_tie: fn's callers see the flags of callee */
	bool no_memory;
};

void tramp_flow_append(struct flow_scan *scan, struct flow_list *list, const void *item, size_t size);

/* All instructions of the object. */
void tramp_flow_scan(struct flow_scan *scan);

/* Those of functions [first, end), and between them up to the next one. */
void tramp_flow_scan_part(struct flow_scan *scan, uint32_t first, uint32_t end);

/* Those after one more place. */
void tramp_flow_scan_at(struct flow_scan *scan, uint64_t addr);

/* Reads the jump tables; their entries are added to the crosses, and to code->table. */
void tramp_flow_tables(struct flow_scan *scan);

/* Could a jump table be at `addr`? */
bool tramp_flow_table_like(const struct tramp_code *code, uint64_t addr);

/* ... in data, of distances from somewhere else? */
bool tramp_flow_offsets_like(const struct tramp_code *code, uint64_t addr);

/* Makes code->sites of the list: sorts it. */
void tramp_flow_sites(struct flow_scan *scan);

/* Fills code->owner: from the facts alone. */
void tramp_flow_known_parts(struct tramp_code *code);

/* Whose part each function is: from crosses, too. */
void tramp_flow_parts(struct flow_scan *scan);

#endif
