// SPDX-License-Identifier: MIT
/* What modules call in the program's threads: see struct sonde_memory_api in sonde/abi.h. */
#include "runtime/memory/analysis.h"

#define DATA_ALIGN 64u

static struct rt_work *own_work(void)
{
	return (struct rt_work *)rt_current()->mem_work;
}

static struct rt_member *member_of(struct sonde_thread *thread)
{
	return (struct rt_member *)thread;
}

/* ---- data ---- */

/*
 * There is no room for it where the collector sees it.  The module gets some memory to come to an end with; then all
 * is done again, by the collector, who has as much as is wanted.
 */
static void *give_scratch(struct rt_work *w, struct rt_member *m, uint64_t bytes)
{
	w->refused = 1;
	m->scratch = rt_pages_get(bytes);
	m->scratch_bytes = m->scratch ? bytes : 0;
	return (void *)m->scratch;
}

static void *give_data(struct sonde_thread *thread, uint64_t bytes)
{
	struct rt_work *w = own_work();
	struct rt_member *m = member_of(thread);
	struct ring_results *r = &w->shared->now;
	uint64_t at = (r->used + DATA_ALIGN - 1) & ~(uint64_t)(DATA_ALIGN - 1);
	size_t i = (size_t)(m - w->members);

	if (bytes == 0)
		bytes = 1;
	if (at > sizeof(r->data) || bytes > sizeof(r->data) - at)
		return give_scratch(w, m, bytes);
	r->part[i].at = (uint32_t)at;
	r->part[i].bytes = (uint32_t)bytes;
	r->used = (uint32_t)(at + bytes);
	/* a chunk that was refused may have been there before */
	__builtin_memset(&r->data[at], 0, bytes);
	return &r->data[at];
}

/* ---- sums ---- */

static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The index of the module's sum, or how many there are. */
static uint32_t find_sum(struct rt_work *w, uint32_t module, const char *name)
{
	const struct ring_results *r = &w->shared->now;

	for (uint32_t i = 0; i < r->nsums && i < RING_ANALYSIS_SUMS; i++) {
		if (r->sums[i].module != module)
			continue;
		if (w->names[i] == name || same(r->sums[i].name, name))
			return i;
	}
	return r->nsums;
}

/* 0: no room. */
static int new_sum(struct ring_results *r, uint32_t module, const char *name)
{
	struct ring_sum *sum = &r->sums[r->nsums];
	size_t length = 0;

	if (r->nsums >= RING_ANALYSIS_SUMS)
		return 0;
	while (name[length])
		length++;
	if (length >= sizeof(sum->name))
		return 0;
	__builtin_memcpy(sum->name, name, length + 1);
	sum->module = module;
	sum->n = 0;
	r->nsums++;
	return 1;
}

static void add_sum(struct sonde_thread *thread, const char *name, uint64_t n)
{
	struct rt_work *w = own_work();
	uint32_t module = (uint32_t)(member_of(thread) - w->members), i = find_sum(w, module, name);

	if (i >= w->shared->now.nsums && !new_sum(&w->shared->now, module, name)) {
		w->refused = 1;
		return;
	}
	w->names[i] = name;
	w->shared->now.sums[i].n += n;
}

static const struct sonde_memory_api api = {
	.version = SONDE_ABI_VERSION,
	.data = give_data,
	.add = add_sum,
};

/* ---- threads, as modules know them ---- */

/* Where a sum is differs from ring to ring. */
static void forget_names(struct rt_work *w, struct ring_analysis *shared)
{
	if (w->shared == shared)
		return;
	for (uint32_t i = 0; i < RING_ANALYSIS_SUMS; i++)
		w->names[i] = NULL;
}

void rt_members_begin(struct rt_work *w)
{
	struct ring_analysis *shared = rt_analysis_of(w->of);

	forget_names(w, shared);
	w->shared = shared;
	for (uint64_t i = 0; i < sonde_rt_config.nanalyzers; i++) {
		struct ring_results *r = &shared->now;

		w->members[i] = (struct rt_member){ .thread = {
			.api = &api, .name = shared->name, .pid = w->of->pid, .tid = w->of->tid,
			.data = r->part[i].bytes ? &r->data[r->part[i].at] : NULL,
		} };
	}
}

void rt_members_end(struct rt_work *w)
{
	for (uint64_t i = 0; i < sonde_rt_config.nanalyzers; i++)
		if (w->members[i].scratch)
			rt_pages_drop(w->members[i].scratch, w->members[i].scratch_bytes);
}
