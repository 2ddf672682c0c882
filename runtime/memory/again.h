/* SPDX-License-Identifier: MIT */
/* Where what was interrupted before an instruction goes on: with the first of the words that are stored for it. */
#ifndef SONDE_RUNTIME_MEMORY_AGAIN_H
#define SONDE_RUNTIME_MEMORY_AGAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "trampolines/mirror/codemap.h"

/* Does @p store words for the instruction that @of begins with? */
static inline bool rt_mem_stores_for(const struct rt_mem_piece *p, const struct rt_mem_piece *of)
{
	const int may_differ = RT_MEM_RUN | RT_MEM_BACK | RT_MEM_MOVED;

	return p->node == of->node && p->insn == of->insn && p->reg == of->reg && p->back == 0 &&
	       !(p->flags & RT_MEM_MOVED) && ((p->flags ^ of->flags) & ~may_differ) == 0;
}

/*
 * The thread was interrupted @into bytes after the start of @p, one of the ascending @pieces; not PLAIN, nor in the middle
 * of what goes BACK.  Where the words for the instruction that comes next are stored, or its copy is if it has none; not
 * before a probe, which has recorded.  @p: right there.
 */
static inline const struct rt_mem_piece *rt_mem_first_of(const struct rt_mem_piece *pieces, const struct rt_mem_piece *p,
							  uint64_t into)
{
	const struct rt_mem_piece *of = p;

	if (p->back || (p->flags & RT_MEM_RUN && into))
		return p;
	while (p > pieces && rt_mem_stores_for(p - 1, of))
		p--;
	return p;
}

#endif
