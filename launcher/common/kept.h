/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was computed from a trace is kept in its folder, in one of a few files NAME.N, which may be deleted at any time.  It is taken
 * only if all that it follows from is the same, which a key says.  Where it cannot be written, nothing is kept.
 */
#ifndef SONDE_LAUNCHER_COMMON_KEPT_H
#define SONDE_LAUNCHER_COMMON_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

struct kept_key {
	uint64_t word[2]; /* 0: something could not be read, nothing can be kept */
};

/* Adds a file's contents; false: they cannot be read. */
bool kept_hash_file(XXH3_state_t *state, const char *path) __attribute__((warn_unused_result));
bool kept_hash_in(XXH3_state_t *state, const char *dir, const char *name) __attribute__((warn_unused_result));

/* For free(); NULL: there is no such file in @dir, or it cannot be read. */
void *kept_read(const char *dir, const char *name, const struct kept_key *key, size_t *bytes);

/* Replaces the file as a whole; mode 0600. */
void kept_write(const char *dir, const char *name, const struct kept_key *key, const void *data, size_t bytes);

#endif
