/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where functions are called and jumped to from. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_KEEPSITES_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_KEEPSITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/wrap/keep.h"

/* Branches with 32 bits of displacement to certain addresses; `from` is the opcode's last byte. */
struct keep_sites {
	struct tramp_branch *sites;	/* ascending by `to` when sorted */
	size_t n;
	size_t room;
	uint8_t *wanted;		/* a bit for each byte of the code */
	const struct tramp_object *object;
	bool no_memory;
};

/* Whether it is an entry of a PLT: jmp *slot(%rip), perhaps behind endbr64 and a bnd prefix. */
bool tramp_keep_is_plt(const struct tramp_object *object, uint64_t addr);

/*
 * Bytes that look like branches to one of `addrs` (any order) or to a PLT, by which *sites is
 * filled. Some may be none. False: no memory. To be freed by tramp_keep_sites_free() in either case.
 */
bool tramp_keep_sites_find(struct keep_sites *sites, const struct tramp_object *object,
		     const uint64_t *addrs, size_t naddrs);
void tramp_keep_sites_free(struct keep_sites *sites);

/* The index of the first site that goes to `addr` or behind it. */
size_t tramp_keep_sites_first(const struct keep_sites *sites, uint64_t addr);

#endif
