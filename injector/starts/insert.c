// SPDX-License-Identifier: GPL-3.0-or-later
/* What was found, among the functions that are known. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "injector/starts/starts.h"

/*
 * Where musl looks whether a thread is to be cancelled before it waits in a system call, as it knows by the addresses
 * (src/thread/x86_64/syscall_cp.s): mov (%rdi),%eax; test %eax,%eax; jnz; mov %rdi,%r11.
 */
static bool is_cancelled_by_address(const struct inj_cf *cf, uint64_t addr)
{
	const uint8_t *p = inj_elf_get(&cf->file, addr, 16);

	return p && p[0] == 0x8b && p[1] == 0x07 && p[2] == 0x85 && p[3] == 0xc0 &&
	       ((p[4] == 0x75 && memcmp(p + 6, "\x49\x89\xfb", 3) == 0) ||
		(p[4] == 0x0f && p[5] == 0x85 && memcmp(p + 10, "\x49\x89\xfb", 3) == 0));
}

static uint32_t flags_of(const struct inj_cf *cf, const struct inj_start *start)
{
	bool never = inj_cf_never(cf, start->addr, start->size) || is_cancelled_by_address(cf, start->addr);

	return start->by | (start->certain ? 0 : INJ_FN_GUESSED) | (never ? INJ_FN_NEVER : 0);
}

struct merged {
	struct tramp_fn *fns;
	struct inj_fn *info;
	uint32_t *moved;	/* by known function: its new index */
	size_t n;
};

static void put_known(struct merged *m, const struct inj_cf *cf, size_t k)
{
	m->moved[k] = (uint32_t)m->n;
	m->fns[m->n] = cf->fns[k];
	m->info[m->n++] = cf->info[k];
}

static void put_start(struct merged *m, const struct inj_cf *cf, const struct inj_start *start, char *name)
{
	m->fns[m->n] = (struct tramp_fn){
		.addr = start->addr,
		.size = start->size,
		.flags = start->inside ? TRAMP_FN_PART : start->part && !start->certain ? TRAMP_FN_MAYBE_PART : 0,
		.parent = TRAMP_NONE,
	};
	m->info[m->n++] = (struct inj_fn){ inj_cf_write_name(name, start->addr), flags_of(cf, start) };
}

/* The function that starts at @addr; TRAMP_NONE: none does. */
static uint32_t index_of(const struct merged *m, uint64_t addr)
{
	size_t at = search_first(i, m->n, m->fns[i].addr >= addr);

	return at < m->n && m->fns[at].addr == addr ? (uint32_t)at : TRAMP_NONE;
}

static void merge(struct merged *m, struct inj_cf *cf, const struct inj_start *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		while (k < cf->nfns && cf->fns[k].addr < v[i].addr)
			put_known(m, cf, k++);
		put_start(m, cf, &v[i], cf->found[i]);
	}
	while (k < cf->nfns)
		put_known(m, cf, k++);
	for (size_t i = 0; i < m->n; i++)
		if (m->fns[i].parent < cf->nfns)
			m->fns[i].parent = m->moved[m->fns[i].parent];
	for (size_t i = 0; i < n; i++)
		if (v[i].inside)
			m->fns[index_of(m, v[i].addr)].parent = index_of(m, v[i].owner);
}

static enum inj_status insert(struct inj_cf *cf, const struct inj_start *v, size_t n)
{
	struct merged m = {
		.fns = calloc(cf->nfns + n + 1, sizeof(*m.fns)),
		.info = calloc(cf->nfns + n + 1, sizeof(*m.info)),
		.moved = calloc(cf->nfns + 1, sizeof(*m.moved)),
	};

	cf->found = calloc(n + 1, sizeof(*cf->found));
	if (!m.fns || !m.info || !m.moved || !cf->found) {
		free(m.fns);
		free(m.info);
		free(m.moved);
		return INJ_MEMORY;
	}
	merge(&m, cf, v, n);
	free(m.moved);
	free(cf->fns);
	free(cf->info);
	cf->fns = m.fns;
	cf->info = m.info;
	cf->nfns = m.n;
	return INJ_OK;
}

enum inj_status inj_starts_insert(struct inj_cf *cf)
{
	struct inj_start *v;
	size_t n;
	enum inj_status status;

	if (!inj_starts_find(cf, &v, &n))
		return INJ_MEMORY;
	status = n ? insert(cf, v, n) : INJ_OK;
	free(v);
	return status;
}

void inj_starts_coverage(struct inj_cf *cf)
{
	cf->code = cf->uncovered = inj_starts_uncovered(cf);
	cf->guessed = 0;
	for (size_t i = 0; i < cf->nfns; i++) {
		bool part = cf->fns[i].flags & (TRAMP_FN_PART | TRAMP_FN_MAYBE_PART);

		cf->code += cf->fns[i].size;
		cf->guessed += cf->info[i].flags & INJ_FN_GUESSED && !part ? cf->fns[i].size : 0;
	}
}
