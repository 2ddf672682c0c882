/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an ELF file says of its code, for the control flow of trampolines/flow/flow.h: its bytes, all of its
 * functions (symbols, separate debug file, unwind tables), addresses of code that data holds (relocations;
 * without them every word and every jump table's entry that could be one), landing pads, functions that do
 * not return.  From the file alone, so `sonde list` sees what `sonde record` sees.
 */
#ifndef SONDE_INJECTOR_FACTS_FACTS_H
#define SONDE_INJECTOR_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/image/identity.h"
#include "injector/image/symbols.h"
#include "injector/status.h"
#include "trampolines/flow/flow.h"

#define INJ_COVERAGE_SHARE 10 /* if more than one in so many bytes of code belongs to no function, users are warned */

enum inj_fn_flags {
	INJ_FN_SYMBOL = 1,	/* has a name of its own; else it is known from the unwind table */
	INJ_FN_GLOBAL = 2,
	INJ_FN_IFUNC_RESOLVER = 4,
	INJ_FN_DEBUG = 8,	/* the name comes from a separate debug file */
	INJ_FN_NEVER = 16,	/* known by name or bytes not to survive: __restore_rt, vfork, ... */
	INJ_FN_GO = 32,		/* compiled by Go: moves between threads, its stacks between addresses */
	INJ_FN_GUESSED = 64,	/* may be no function: what speaks for it is not enough */

	/* Why it is one; see starts.h for all but the first two. */
	INJ_FN_BY_FRAME = 0x100,	/* an entry of the unwind table */
	INJ_FN_BY_ENTRY = 0x200,	/* the program's entry point, or what the loader calls */
	INJ_FN_BY_CALL = 0x400,	/* a direct call */
	INJ_FN_BY_JUMP = 0x800,	/* jumps of other functions, with the stack as it was at their entry */
	INJ_FN_BY_DATA = 0x1000,	/* data holds its address */
	INJ_FN_BY_CODE = 0x2000,	/* an instruction loads its address */
	INJ_FN_BY_GAP = 0x4000,	/* between functions, after padding, like the beginning of one */
	INJ_FN_BY_VTABLE = 0x8000,	/* a table of virtual functions holds its address */
};

/* Beside facts.fns[], index by index. */
struct inj_fn {
	const char *name;	/* mangled; without a symbol "sub_ADDR" with the address in the file */
	uint32_t flags;
};

struct inj_codefacts {
	struct tramp_facts facts;
	struct inj_fn *fn;	/* facts.nfns of them */
	uint64_t text_lo, text_hi; /* link-time bounds of executable bytes */
	uint64_t code;		/* bytes, padding between functions left out */
	uint64_t uncovered, guessed; /* those of them that are in no function; in guessed ones only */
	/* `syscall` instructions that may be rt_sigaction: eax was set to 13 before it, or by a caller. */
	const uint64_t *sigaction;
	size_t nsigaction;
	bool go;		/* made by Go */
	bool no_relocations;	/* taken addresses are guessed from data words */
	void *priv;
};

/*
 * @tab: the file's symbols (INJ_SYMTAB_DEBUG_FILE or not, as the caller wants), which have to live as long as
 * *out.  Errors: NO_FILE, MEMORY, NOT_SUPPORTED (no code).  Never trusts the file: sizes and offsets are
 * checked; what is damaged is left out.
 */
enum inj_status inj_codefacts_read(const char *path, const struct inj_symtab *tab,
				   struct inj_codefacts *out) INJ_CHECK;
void inj_codefacts_free(struct inj_codefacts *facts);

#define INJ_EVIDENCE_MAX 128
/* Why a function is one: "symbol, called"; and whether that is certain. */
void inj_fn_evidence(const struct inj_fn *fn, char text[static INJ_EVIDENCE_MAX]);
static inline bool inj_fn_is_certain(const struct inj_fn *fn)
{
	return !(fn->flags & INJ_FN_GUESSED);
}

/* Of the file that all this is from; where in it such bytes are; the name of its debug file, "" if it says none. */
void inj_codefacts_identity(const struct inj_codefacts *facts, struct inj_identity *id);
uint64_t inj_codefacts_offset(const struct inj_codefacts *facts, const uint8_t *bytes);
void inj_codefacts_link(const struct inj_codefacts *facts, char *name, size_t size);

/*
 * facts-calls.c: where in code[from .. at] the instruction is that sets eax to 13 for the `syscall` at
 * code[at]; `at`: nowhere.
 */
size_t inj_codefacts_sigaction(const uint8_t *code, size_t from, size_t at);

/* Is mov %rcx, %r10 right before the `syscall` at code[at], in code[from .. at]?  Such is the common end of a C library's system calls. */
#define INJ_COMMON_END_MOV 3 /* bytes */
bool inj_codefacts_common_end(const uint8_t *code, size_t from, size_t at);

/* facts-slots.c: bytes of [endbr64] [bnd] at code[0], before the jump of a PLT's entry. */
size_t inj_codefacts_prefix(const uint8_t *code, size_t left);

#endif
