// SPDX-License-Identifier: MIT
/*
 * Where a thread works that hands its memory accesses to modules: a stack, since the program's may be almost full,
 * or a small one for signals; memory for the machine; and what was in the vector registers.
 *
 *	nothing │ stack │ struct rt_work, vector registers │ the machine's memory
 */
#include "runtime/memory/analysis.h"
#include "runtime/x86-64/sys.h"

#define PROT_NONE 0
#define ADVISE_DONTFORK 10

#define PAGE UINT64_C(4096)
#define GUARD PAGE
#define STACK (UINT64_C(256) << 10)
#define ARENA (UINT64_C(512) << 10)

#define LEAST_VECTORS 576 /* bytes of what xsave always writes */

uint64_t rt_pages_get(uint64_t bytes)
{
	return rt_map(bytes);
}

void rt_pages_drop(uint64_t at, uint64_t bytes)
{
	rt_unmap(at, bytes);
}

/* ---- the processor ---- */

static void cpuid(uint32_t leaf, uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	__asm__ volatile("cpuid" : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d) : "0"(leaf), "2"(0));
}

#define HAS_OSXSAVE (1u << 27)

int rt_has_xsave(void)
{
	uint32_t a, b, c, d;

	cpuid(1, &a, &b, &c, &d);
	return (c & HAS_OSXSAVE) != 0;
}

/* Bytes of all that the system has switched on. */
uint64_t rt_vector_bytes(void)
{
	uint32_t a, b, c, d;

	if (!rt_has_xsave())
		return LEAST_VECTORS;
	cpuid(13, &a, &b, &c, &d);
	return b > LEAST_VECTORS ? b : LEAST_VECTORS;
}

/* ---- making it ---- */

static struct rt_work *make(void)
{
	uint64_t own = (sizeof(struct rt_work) + rt_vector_bytes() + PAGE - 1) & ~(PAGE - 1);
	uint64_t bytes = GUARD + STACK + own + ARENA, at = rt_map(bytes);
	struct rt_work *w = (struct rt_work *)(at + GUARD + STACK);

	if (!at)
		return NULL;
	if (sys3(__NR_mprotect, at, GUARD, PROT_NONE) < 0 || sys3(__NR_madvise, at, bytes, ADVISE_DONTFORK) < 0) {
		rt_unmap(at, bytes);
		return NULL;
	}
	w->stack = (uint64_t)w;
	w->xsave = rt_has_xsave();
	w->arena = (uint64_t)w + own;
	w->arena_end = w->arena + ARENA;
	return w;
}

struct rt_work *rt_work_get(struct rt_thread *t)
{
	if (!t->mem_work)
		t->mem_work = (uint64_t)make();
	return (struct rt_work *)t->mem_work;
}

RT_HIDDEN void rt_on_stack(void (*what)(struct rt_work *), struct rt_work *w, uint64_t top, void *vectors,
			   int xsave);

void rt_work_call(struct rt_work *w, void (*what)(struct rt_work *))
{
	rt_on_stack(what, w, w->stack, w->vectors, w->xsave);
}
