/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile that was made is kept in the rank's folder, so that it need not be made again: in one of a few files
 * memory-profile.N, which may be deleted at any time.  It is taken only if all that it follows from is the same: the
 * contents of the streams, the descriptions and the metadata, which threads, the options and the version of what makes
 * it.  Where it cannot be written, nothing is kept.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMKEPT_H
#define SONDE_LAUNCHER_MEMORY_MEMKEPT_H

#include <stdint.h>

#include "launcher/memory/memprofile.h"
#include "launcher/memory/memtrace.h"

struct memkept_key {
	uint64_t word[2]; /* 0: something could not be read, nothing can be kept */
};

/* Reads all files that the profile of the chosen threads of @rank is made of. */
void memkept_key(const struct memtrace *t, const struct sonde_trace_rank *rank, const struct mt_read *read,
		 const struct memprofile_options *o, struct memkept_key *key);

/* NULL: there is none, it cannot be read, or it is not one of the key. */
struct memprofile *memkept_load(const char *dir, const struct memkept_key *key, const struct memprofile_options *o);

/* Replaces the file as a whole; mode 0600. */
void memkept_save(const char *dir, const struct memkept_key *key, struct memprofile *p);

/*
 * The file's contents; memkept_pack(): for free(), NULL: no memory.  Whatever they are, memkept_unpack() returns NULL, or
 * a profile that can be worked with.
 */
void *memkept_pack(const struct memkept_key *key, struct memprofile *p, size_t *bytes);
struct memprofile *memkept_unpack(const void *data, size_t bytes, const struct memkept_key *key,
				  const struct memprofile_options *o);

#endif
