// SPDX-License-Identifier: GPL-3.0-or-later
/* In our own process: what is hot is compiled by the thread that runs it. */
#include "memtrace/compile/x86-64/compile.h"

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
	struct mt_runner runner;
	struct mtc_compiler c;
	uint8_t *heat[MT_MODES];
	unsigned int hot;
	const struct mt_node *roots[MTC_ROOTS];	/* to be compiled, for one mode */
	unsigned int nroots;
	enum mt_mode roots_mode;
	uint64_t since;			/* so many had been interpreted when the first of them came */
};

/* ---- memory ---- */

/* Of the area, what is written next: writable, then executable; never both. */
static bool protect(const struct mtc_compiler *c, size_t from, size_t to, int how)
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

static bool put(struct mtc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	if (protect(c, at, at + bytes, PROT_READ | PROT_WRITE)) {
		memcpy(c->area + at, code, bytes);
		if (protect(c, at, at + bytes, PROT_READ | PROT_EXEC))
			return true;
	}
	/* Pieces in the same page cannot be run any more. */
	mtc_discard(c);
	return false;
}

static bool need_table(struct hot *h, enum mt_mode mode)
{
	uint64_t *table = h->c.tables[mode].headers;

	if (table)
		return true;
	if (h->c.full)
		return false;
	table = reserve(MT_TABLE + MT_IDS, PROT_READ | PROT_WRITE);
	if (!table) {
		h->c.full = true;
		return false;
	}
	h->heat[mode] = (uint8_t *)table + MT_TABLE;
	h->runner.tables[mode] = table;
	mtc_use(&h->c, mode, table, h->heat[mode]);
	return true;
}

static bool prepare(struct mt_runner *runner, enum mt_mode mode)
{
	struct hot *h = (struct hot *)runner;

	if (!need_table(h, mode))
		return false;
	if (h->c.seen != h->c.code->objects)
		mtc_refresh(&h->c);
	runner->ids = h->c.ids;
	return true;
}

/* ---- what is hot ---- */

static void make_roots(struct hot *h)
{
	bool failed[MTC_ROOTS];
	unsigned int n = h->nroots;

	h->nroots = 0;
	mtc_compile_each(&h->c, h->roots_mode, h->roots, n, failed);
	for (unsigned int i = 0; i < n; i++)
		if (failed[i])
			h->heat[h->roots_mode][h->roots[i]->id] = NEVER;
}

/* Two calls of the system for each would be too much. */
static bool waited(const struct hot *h)
{
	return h->nroots == MTC_ROOTS || h->hot == 0 || h->runner.interpreted - h->since > PATIENCE;
}

static bool warm(struct mt_runner *runner, enum mt_mode mode, uint32_t id, const struct mt_node *node)
{
	struct hot *h = (struct hot *)runner;
	uint8_t *heat = &h->heat[mode][id];

	if (h->nroots && mode != h->roots_mode)
		make_roots(h);
	if (*heat < h->hot) {
		++*heat;
	} else if (*heat < QUEUED && !h->c.full) {
		if (!node)
			node = mt_find(h->c.code, id);
		*heat = node && node->compiles ? QUEUED : NEVER;
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

static void release(struct mt_engine *engine)
{
	struct hot *h = (struct hot *)engine;

	for (unsigned int i = 0; i < MT_MODES; i++)
		if (h->c.tables[i].headers)
			munmap(h->c.tables[i].headers, MT_TABLE + MT_IDS);
	if (h->c.area)
		munmap(h->c.area, AREA);
	mtc_end(&h->c);
	free(h);
}

static bool begin(struct hot *h, const struct mt_code *code)
{
	uint8_t *area = reserve(AREA, PROT_NONE);

	h->c.area = area;
	h->c.put = put;
	if (!area || !protect(&h->c, 0, MTC_GATES, PROT_READ | PROT_WRITE) ||
	    !mtc_begin(&h->c, code, area, (uint64_t)(uintptr_t)area, AREA))
		return false;
	h->runner.gates = h->c.gates;
	return protect(&h->c, 0, MTC_GATES, PROT_READ | PROT_EXEC);
}

bool mt_compile_wanted(void)
{
	const char *wanted = getenv("SONDE_MEM_COMPILE");

	return !wanted || strcmp(wanted, "0") != 0;
}

void mt_compile(struct mt_code *code)
{
	struct hot *h;

	if (code->engine || !mt_compile_wanted())
		return;
	h = calloc(1, sizeof(*h));
	if (!h)
		return;
	h->runner.engine = (struct mt_engine){ .run = mt_run, .free = release };
	h->runner.prepare = prepare;
	h->runner.warm = warm;
	h->hot = HOT;
	if (begin(h, code))
		code->engine = &h->runner.engine;
	else
		release(&h->runner.engine);
}

void mt_compile_hot(struct mt_code *code, unsigned int times)
{
	struct hot *h = (struct hot *)code->engine;

	if (h)
		h->hot = times < QUEUED ? times : QUEUED - 1;
}

bool mt_compile_stats(const struct mt_code *code, struct mt_compiled *stats)
{
	const struct hot *h = (const struct hot *)code->engine;

	if (h)
		*stats = (struct mt_compiled){ .nodes = h->c.nodes, .bytes = h->c.made, .entered = h->runner.entered,
					       .interpreted = h->runner.interpreted };
	return h;
}
