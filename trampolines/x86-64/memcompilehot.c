// SPDX-License-Identifier: GPL-3.0-or-later
/* In our own process: what is hot is compiled by the thread that runs it. */
#include "trampolines/x86-64/memcompile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	AREA = 64 << 20,
	HOT = 16,
	QUEUED = 254,
	NEVER = 255,
	PATIENCE = 256,			/* nodes that are interpreted, while some wait to be compiled */
};

struct hot {
	struct mxe_runner runner;
	struct mxc_compiler c;
	uint8_t *heat[MXE_MODES];
	unsigned int hot;
	const struct mx_node *roots[MXC_ROOTS];	/* to be compiled, for one mode */
	unsigned int nroots;
	enum mxe_mode roots_mode;
	uint64_t since;			/* so many had been interpreted when the first of them came */
};

/* ---- memory ---- */

/* Of the area, what is written next: writable, then executable; never both. */
static bool protect(const struct mxc_compiler *c, size_t from, size_t to, int how)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	from &= ~(page - 1);
	to = (to + page - 1) & ~(page - 1);
	return mprotect(c->area + from, to - from, how) == 0;
}

static void *reserve(size_t bytes, int how)
{
	void *p = mmap(NULL, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool put(struct mxc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	if (protect(c, at, at + bytes, PROT_READ | PROT_WRITE)) {
		memcpy(c->area + at, code, bytes);
		if (protect(c, at, at + bytes, PROT_READ | PROT_EXEC))
			return true;
	}
	/* Pieces in the same page cannot be run any more. */
	mxc_discard(c);
	return false;
}

static bool need_table(struct hot *h, enum mxe_mode mode)
{
	uint64_t *table = h->c.tables[mode].headers;

	if (table)
		return true;
	if (h->c.full)
		return false;
	table = reserve(MXE_TABLE + MXE_IDS, PROT_READ | PROT_WRITE);
	if (!table) {
		h->c.full = true;
		return false;
	}
	h->heat[mode] = (uint8_t *)table + MXE_TABLE;
	h->runner.tables[mode] = table;
	mxc_use(&h->c, mode, table, h->heat[mode]);
	return true;
}

static bool prepare(struct mxe_runner *runner, enum mxe_mode mode)
{
	struct hot *h = (struct hot *)runner;

	if (!need_table(h, mode))
		return false;
	if (h->c.seen != h->c.code->objects)
		mxc_refresh(&h->c);
	runner->ids = h->c.ids;
	return true;
}

/* ---- what is hot ---- */

static void make_roots(struct hot *h)
{
	bool failed[MXC_ROOTS];
	unsigned int n = h->nroots;

	h->nroots = 0;
	mxc_compile_each(&h->c, h->roots_mode, h->roots, n, failed);
	for (unsigned int i = 0; i < n; i++)
		if (failed[i])
			h->heat[h->roots_mode][h->roots[i]->id] = NEVER;
}

/* Two calls of the system for each would be too much. */
static bool waited(const struct hot *h)
{
	return h->nroots == MXC_ROOTS || h->hot == 0 || h->runner.interpreted - h->since > PATIENCE;
}

static bool warm(struct mxe_runner *runner, enum mxe_mode mode, uint32_t id, const struct mx_node *node)
{
	struct hot *h = (struct hot *)runner;
	uint8_t *heat = &h->heat[mode][id];

	if (h->nroots && mode != h->roots_mode)
		make_roots(h);
	if (*heat < h->hot) {
		++*heat;
	} else if (*heat < QUEUED && !h->c.full) {
		if (!node)
			node = mx_find(h->c.code, id);
		*heat = node && mxc_possible(node) ? QUEUED : NEVER;
		if (*heat == QUEUED) {
			h->since = h->nroots ? h->since : runner->interpreted;
			h->roots_mode = mode;
			h->roots[h->nroots++] = node;
		}
	}
	if (!h->nroots || !waited(h))
		return false;
	make_roots(h);
	return true;
}

/* ---- beginning and end ---- */

static void release(struct mx_engine *engine)
{
	struct hot *h = (struct hot *)engine;

	for (unsigned int i = 0; i < MXE_MODES; i++)
		if (h->c.tables[i].headers)
			munmap(h->c.tables[i].headers, MXE_TABLE + MXE_IDS);
	if (h->c.area)
		munmap(h->c.area, AREA);
	mxc_end(&h->c);
	free(h);
}

static bool begin(struct hot *h, const struct mx_code *code)
{
	uint8_t *area = reserve(AREA, PROT_NONE);

	h->c.area = area;
	h->c.put = put;
	if (!area || !protect(&h->c, 0, MXC_GATES, PROT_READ | PROT_WRITE) ||
	    !mxc_begin(&h->c, code, area, (uint64_t)(uintptr_t)area, AREA))
		return false;
	h->runner.gates = h->c.gates;
	return protect(&h->c, 0, MXC_GATES, PROT_READ | PROT_EXEC);
}

bool mx_compile_wanted(void)
{
	const char *wanted = getenv("SONDE_MEM_COMPILE");

	return !wanted || strcmp(wanted, "0") != 0;
}

void mx_compile(struct mx_code *code)
{
	struct hot *h;

	if (code->engine || !mx_compile_wanted())
		return;
	h = calloc(1, sizeof(*h));
	if (!h)
		return;
	h->runner.engine = (struct mx_engine){ .run = mxe_run, .free = release };
	h->runner.prepare = prepare;
	h->runner.warm = warm;
	h->hot = HOT;
	if (begin(h, code))
		code->engine = &h->runner.engine;
	else
		release(&h->runner.engine);
}

void mx_compile_hot(struct mx_code *code, unsigned int times)
{
	struct hot *h = (struct hot *)code->engine;

	if (h)
		h->hot = times < QUEUED ? times : QUEUED - 1;
}

bool mx_compile_stats(const struct mx_code *code, struct mx_compiled *stats)
{
	const struct hot *h = (const struct hot *)code->engine;

	if (h)
		*stats = (struct mx_compiled){ .nodes = h->c.nodes, .bytes = h->c.made, .entered = h->runner.entered,
					       .interpreted = h->runner.interpreted };
	return h;
}
