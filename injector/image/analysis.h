/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has to be known of functions beyond their own bytes: branches from elsewhere in the object to their
 * first instructions, and what their callers rely on.  To find it, all of the object's code is
 * looked at, which for a large library takes longer than everything else at start-up; and it is the
 * same each time.  So it is kept in a folder of the user's, a file for each ELF file, known by device,
 * inode, size and time of change; a file that is none of ours or of another version is not used.
 */
#ifndef SONDE_INJECTOR_IMAGE_ANALYSIS_H
#define SONDE_INJECTOR_IMAGE_ANALYSIS_H

#include "injector/image/text.h"
#include "trampolines/wrap/keep.h"

#define INJ_MAX_BRANCHES 6 /* of one function; with more it is not cached, and refused anyway */

/* One function's; addresses are the file's.  Also the record in a cache file. */
struct inj_facts {
	uint64_t addr;
	uint64_t size;
	struct tramp_keep keep;
	uint32_t nbranches;
	struct tramp_branch branches[INJ_MAX_BRANCHES];
};

/* facts[i].addr and .size are given, ascending; the rest is filled in.  @base: the load address. */
enum inj_status inj_analyze(struct inj_session *s, size_t object, const struct inj_text *text,
			    struct inj_facts *facts, size_t n) INJ_CHECK;

/* cache.c: false when it is not there, or not for all @n; then facts[] are as before. */
bool inj_cache_load(const struct inj_session *s, const char *path, struct inj_facts *facts,
		    size_t n);
/* Adds them to what is there already.  Failures are nobody's concern: it is a cache. */
void inj_cache_store(const struct inj_session *s, const char *path, const struct inj_facts *facts,
		     size_t n);

#endif
