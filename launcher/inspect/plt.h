/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an ELF file's PLT entries are for ("puts@plt"), as BFD finds out. */
#ifndef SONDE_LAUNCHER_INSPECT_PLT_H
#define SONDE_LAUNCHER_INSPECT_PLT_H

#include <stdint.h>

struct plt;

/* NULL: none (or no such file, no memory). */
struct plt *plt_open(const char *path);
void plt_close(struct plt *plt);

/* The entry at @addr, or NULL; mangled. Owned by @plt, which may be NULL. */
const char *plt_at(const struct plt *plt, uint64_t addr);

#endif
