/* SPDX-License-Identifier: MIT */
/* What the program's signal handlers see of a place in an arena, and how it goes on from there after them. */
#ifndef SONDE_RUNTIME_ORIGIN_H
#define SONDE_RUNTIME_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

#include "trampolines/mirror/codemap.h"

/*
 * The last of @n ascending pieces, of @size bytes each and beginning with their `start`, that does not start after
 * @offset; NULL: none.
 */
__attribute__((visibility("hidden"))) const void *rt_find_from(uint64_t pieces, uint32_t n, size_t size,
								uint32_t offset);

/* The map and the piece of it that hold @addr; NULL: not in an arena. */
__attribute__((visibility("hidden"))) const struct rt_codemap *rt_find_map(uint64_t addr);
__attribute__((visibility("hidden"))) const struct rt_piece *rt_find_piece(const struct rt_codemap *map,
									    uint64_t addr);

/* Do handlers that return to @restorer come to us? */
__attribute__((visibility("hidden"))) int rt_is_led(uint64_t restorer);

/*
 * @regs: those of a signal's frame as the kernel made it.  If the PC is in an arena, and it can go on from
 * there afterwards, it becomes that of the original instruction.
 */
__attribute__((visibility("hidden"))) void rt_show_origin(uint64_t *regs);

/*
 * Where to go on instead of at @addr of the original: there if what leads to its copy begins there, or nothing has a copy of
 * it; else in the copy.
 */
__attribute__((visibility("hidden"))) uint64_t rt_way_on(uint64_t addr);

#endif
