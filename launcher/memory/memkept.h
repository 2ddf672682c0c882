/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile that was made is kept in the rank's folder (launcher/common/kept.h), so that it need not be made again.  It follows from
 * the contents of the streams, the descriptions and the metadata, which threads, the options and the version of what makes it.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMKEPT_H
#define SONDE_LAUNCHER_MEMORY_MEMKEPT_H

#include <stdint.h>

#include "launcher/common/kept.h"
#include "launcher/memory/profile/memprofile.h"
#include "launcher/memory/memtrace.h"

/* Reads all files that the profile of the chosen threads of @rank is made of. */
void memkept_key(const struct memtrace *t, const struct sonde_trace_rank *rank, const struct mt_read *read,
		 const struct memprofile_options *o, struct kept_key *key);

/* NULL: there is none, it cannot be read, or it is not one of the key. */
struct memprofile *memkept_load(const char *dir, const struct kept_key *key, const struct memprofile_options *o);

void memkept_save(const char *dir, const struct kept_key *key, struct memprofile *p);

/*
 * The file's contents; memkept_pack(): for free(), NULL: no memory.  Whatever they are, memkept_unpack() returns NULL, or
 * a profile that can be worked with.
 */
void *memkept_pack(const struct kept_key *key, struct memprofile *p, size_t *bytes);
struct memprofile *memkept_unpack(const void *data, size_t bytes, const struct kept_key *key,
				  const struct memprofile_options *o);

#endif
