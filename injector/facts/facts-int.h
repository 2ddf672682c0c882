/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that make up injector/facts/facts.h share. */
#ifndef SONDE_INJECTOR_FACTS_FACTS_INT_H
#define SONDE_INJECTOR_FACTS_FACTS_INT_H

#include "injector/facts/facts.h"
#include "injector/image/elffile.h"

/* Addresses, in any order and more than once, until inj_addrs_sort().  `failed`: no memory. */
struct inj_addrs {
	uint64_t *v;
	size_t n, room;
	bool failed;
};
void inj_addrs_add(struct inj_addrs *addrs, uint64_t addr);
void inj_addrs_sort(struct inj_addrs *addrs);
void inj_addrs_free(struct inj_addrs *addrs);
bool inj_addrs_has(const struct inj_addrs *sorted, uint64_t addr);

/* All that is known while the facts are put together. */
struct inj_cf {
	struct inj_elf file;
	const struct inj_symtab *tab;
	struct inj_elf_symbols symtab, dynsym;
	uint64_t rseq, rseq_size; /* descriptors of restartable sequences; linux/rseq.h */
	struct tramp_bytes *bytes;
	size_t nbytes;
	uint64_t lo, hi;	/* bounds of code */
	uint8_t *marks;		/* a bit for each byte of lo..hi: taken, later pads */
	struct inj_fde *fdes;	/* ascending, starts once */
	size_t nfdes;
	struct tramp_fn *fns;
	struct inj_fn *info;
	size_t nfns;
	char (*nameless)[24];	/* sub_ADDR */
	char (*found)[24];	/* likewise, of injector/starts/ */
	struct inj_addrs taken, pads, noreturn, own, sync, sigaction;
	struct inj_addrs never;	/* addresses of code whose functions are to be left alone */
	struct inj_addrs pointers; /* addresses of code that data holds: relocated, or words of a pointer's size */
	struct inj_addrs held;	/* room for injector/starts/vtables.c: places, and what relocations put there, alternately */
	uint64_t code, uncovered, guessed; /* see struct inj_codefacts */
	unsigned int threads;	/* that passes over all code may take */
	bool words;		/* addresses may lie in words without relocation */
	bool go;		/* all of it is code made by Go */
	bool ghc, ocaml;
};

/* ---- facts-bytes.c ---- */

/* Errors: MEMORY, NOT_SUPPORTED (no code, or spread over 4 GiB or more). */
enum inj_status inj_cf_bytes(struct inj_cf *cf) INJ_CHECK;

/*
 * Of the piece of code @i, only [@before, @after), which is not empty, is code after all, and the rest is data; once for each segment of a
 * file without sections.  Returns how many pieces there are more.  What was found out by the code that there was is to be found out again.
 */
size_t inj_cf_is_data(struct inj_cf *cf, size_t i, uint64_t before, uint64_t after);

/* The piece of code that holds @addr; NULL: none. */
const struct tramp_bytes *inj_cf_code(const struct inj_cf *cf, uint64_t addr);

/* Notes @addr if it is one of code; the marks become an ascending list and are wiped. */
void inj_cf_mark(struct inj_cf *cf, uint64_t addr);
void inj_cf_collect(struct inj_cf *cf, struct inj_addrs *out);

/* ---- facts-frames.c, facts-pads.c ---- */
enum inj_status inj_cf_frames(struct inj_cf *cf) INJ_CHECK;
const struct inj_fde *inj_cf_fde(const struct inj_cf *cf, uint64_t addr); /* that holds @addr */
void inj_cf_pads(struct inj_cf *cf);

/* ---- facts-functions.c, facts-parts.c ---- */
enum inj_status inj_cf_functions(struct inj_cf *cf) INJ_CHECK;
enum inj_status inj_cf_parts(struct inj_cf *cf) INJ_CHECK;
size_t inj_cf_function(const struct inj_cf *cf, uint64_t addr);	/* index; nfns: none */
bool inj_cf_is_plt(const struct inj_cf *cf, uint64_t addr); /* an entry of a PLT */
bool inj_cf_never(const struct inj_cf *cf, uint64_t addr, uint64_t size); /* by its bytes, or by cf->never: not to be touched */
char *inj_cf_write_name(char *name, uint64_t addr); /* sub_ADDR into name[24]; returns it */

/* ---- facts-taken.c, facts-slots.c, facts-calls.c ---- */
void inj_cf_taken(struct inj_cf *cf); /* may be called again */
void inj_cf_slots(struct inj_cf *cf);
void inj_cf_sigaction(struct inj_cf *cf);

/* The relocation tables: calls @each for every entry with an addend. */
void inj_cf_relocations(struct inj_cf *cf, void (*each)(struct inj_cf *, const Elf64_Rela *));

/* ---- facts-names.c ---- */
enum inj_name_facts {
	INJ_NAME_NORETURN = 1,
	INJ_NAME_NEVER = 2,
	INJ_NAME_SYSCALL = 4,	/* makes the system call that it is told */
	INJ_NAME_FOREIGN = 8,	/* code of another language's own convention */
	INJ_NAME_SYNC = 16,	/* threads wait for each other in it, or begin, or end */
};
uint32_t inj_cf_name(const char *name);

/* How a part's name continues its function's; NULL: no part.  *sure: never called. */
const char *inj_cf_part_suffix(const char *name, bool *sure);

#endif
