/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has to be known of functions that are to be wrapped, beyond their own bytes: where they end, where they are
 * entered from elsewhere, and what their callers rely on.  To find it, the flow of the whole object is looked at
 * (trampolines/flow/flow.h), which for a large library takes longer than everything else at start-up; and it is the same
 * each time.  So it is kept in a folder of the user's, a file for each ELF file.
 */
#ifndef SONDE_INJECTOR_FACTS_ANALYSIS_H
#define SONDE_INJECTOR_FACTS_ANALYSIS_H

#include "injector/facts/facts.h"
#include "injector/image/elffile.h"
#include "injector/image/identity.h"
#include "injector/image/symbols.h"
#include "trampolines/wrap/keep.h"

#define INJ_ANALYSIS 7 /* of what is kept in files: to be counted up when something else is found out */
#define INJ_MAX_ENTRIES 6 /* of one function; with more it is refused anyway */

/* One function's; addresses are the file's.  Also the record in a cache file. */
struct inj_facts {
	uint64_t addr;
	uint64_t size;		/* 0: no function is known to start there */
	uint64_t avail;		/* up to the next function, or the end of the code */
	struct tramp_keep keep;
	uint32_t nentries;
	uint64_t entries[INJ_MAX_ENTRIES]; /* see tramp_code_entries(); the first ones, ascending */
};

/* An ELF file whose code is looked at. */
struct inj_code_source {
	const char *path;
	const struct inj_elf *file;
	const struct inj_identity *identity;
	struct inj_symtab *symbols;
	const char *cache_dir;	/* NULL: nothing is remembered */
	unsigned int threads;	/* that looking at it may take */
};

/*
 * facts[i].addr is given, ascending; the rest is filled in, from the cache or else from the file.
 * Errors: NO_FILE (its code cannot be read), MEMORY.
 */
enum inj_status inj_analyze(const struct inj_code_source *source, struct inj_facts *facts, size_t n) INJ_CHECK;

/* The same without a cache, for an object that is looked at already.  False: no memory. */
bool inj_analyze_code(const struct tramp_code *code, struct inj_facts *facts, size_t n) INJ_CHECK;

/*
 * cache.c: which code it is that facts are of.  strip and patchelf keep the build-id, so it is not enough; @symbols
 * stands for all that tells where functions are, whichever file that comes from.
 */
struct inj_code_key {
	struct inj_identity identity;
	uint64_t symbols;
};

struct inj_code_key inj_code_key(const struct inj_code_source *source);

/*
 * False when it is not there, damaged, of another version or other code, or not for all @n; then facts[] are as
 * before.
 */
bool inj_cache_load(const char *folder, const char *path, const struct inj_code_key *key,
		    struct inj_facts *facts, size_t n);
/* Adds them to what is there already.  Failures are nobody's concern: it is a cache. */
void inj_cache_store(const char *folder, const char *path, const struct inj_code_key *key,
		     const struct inj_facts *facts, size_t n);

#endif
