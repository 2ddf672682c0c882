/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions of archives are in linked code: bytes and files of signatures in, names out.  It does not matter where starts
 * of functions come from: what is between them is searched as well, and what is found says where functions are that it calls.
 *
 * A unit of signatures is in the code where all its bytes are that no reference covers.  Whether it is really the one that was
 * linked there is decided by:
 *
 *	its size	by chance, or by being written alike, there are few equal bytes
 *	who calls it	a unit that is known to be there has references, and a linker has made addresses of names
 *	what it calls	the same the other way round; a unit that disagrees with what is known is another one
 *	its place	a linker puts what it takes from an archive beside each other
 *
 * Of units that are equal, and of those that are too small and that nothing else speaks for, the names are said to be unsure.
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGMATCH_H
#define SONDE_INJECTOR_SIGNATURES_SIGMATCH_H

#include "injector/signatures/sigread.h"

/* Code; ascending, not overlapping. */
struct inj_sig_piece {
	uint64_t addr;
	const uint8_t *bytes;
	uint64_t len;
};

/* A function that is known to start there; ascending. */
struct inj_sig_start {
	uint64_t addr;
	uint64_t size;		/* 0: not known */
};

/* A name that is known otherwise, of code or data. */
struct inj_sig_known {
	uint64_t addr;
	const char *name;
};

/* A slot of a PLT's entry whose address the resolver of an IFUNC says; ascending by slot. */
struct inj_sig_slot {
	uint64_t slot, resolver;
};

struct inj_sig_code {
	const struct inj_sig_piece *pieces;
	size_t npieces;
	const struct inj_sig_start *starts;
	size_t nstarts;
	const struct inj_sig_known *known;
	size_t nknown;
	const struct inj_sig_slot *slots;
	size_t nslots;
};

struct inj_sig_found {
	uint64_t addr;
	uint64_t size;		/* 0: not known */
	const char *name;	/* lives as the file does */
	uint32_t flags;		/* enum sig_name_flags */
	uint32_t file;
};

struct inj_sig_result {
	struct inj_sig_found *found; /* ascending by address; several names of one function stand beside each other, the nicest first */
	size_t nfound;
	struct inj_sig_found *unsure; /* likewise, the nicest name of each unit that it may be */
	size_t nunsure;
};

/* False: no memory; then there is nothing to free. */
bool inj_sig_match(const struct inj_sig_file *files, size_t nfiles, const struct inj_sig_code *code, struct inj_sig_result *r)
	__attribute__((warn_unused_result));
void inj_sig_result_free(struct inj_sig_result *r);

#endif
