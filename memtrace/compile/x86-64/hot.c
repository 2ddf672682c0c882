// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * In our own process: what is hot is compiled by the thread that finds it so, while others run what there is already: no page that has
 * code in it is written to again.
 */
#include "memtrace/compile/x86-64/compile.h"

#include <pthread.h>
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
	unsigned int hot;
	const struct mt_object *ready[MT_MODES]; /* up to this one it has been prepared; NULL: it has not been */
	uint8_t *heat[MT_MODES];
	uint32_t waited;		/* nodes that were interpreted since the first of roots came */
	pthread_mutex_t lock;		/* for what follows, and to change what is above */
	struct mtc_compiler c;
	const struct mt_node *roots[MTC_ROOTS];	/* to be compiled, for one mode */
	unsigned int nroots;
	enum mt_mode roots_mode;
};

/* ---- memory ---- */

/* Of the area, what is written next, whole pages: writable, then executable; never both. */
static bool protect(const struct mtc_compiler *c, size_t from, size_t to, int how)
{
	to = (to + c->alignment - 1) & ~(c->alignment - 1);
	return mprotect(c->area + from, to - from, how) == 0;
}

static void *reserve(size_t bytes, int how)
{
	void *p = mmap(NULL, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool put(struct mtc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	if (!protect(c, at, at + bytes, PROT_READ | PROT_WRITE))
		return false;
	memcpy(c->area + at, code, bytes);
	return protect(c, at, at + bytes, PROT_READ | PROT_EXEC);
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

/* With the lock. */
static bool make_ready(struct hot *h, enum mt_mode mode)
{
	if (!need_table(h, mode))
		return false;
	if (h->c.seen != h->c.code->objects)
		mtc_refresh(&h->c);
	h->runner.ids = h->c.ids;
	__atomic_store_n(&h->ready[mode], h->c.seen, __ATOMIC_RELEASE);
	return true;
}

/* New objects come while nobody runs any. */
static bool prepare(struct mt_runner *runner, enum mt_mode mode)
{
	struct hot *h = (struct hot *)runner;
	const struct mt_object *ready = __atomic_load_n(&h->ready[mode], __ATOMIC_ACQUIRE);
	bool done = ready && ready == h->c.code->objects;

	if (!done) {
		pthread_mutex_lock(&h->lock);
		done = make_ready(h, mode);
		pthread_mutex_unlock(&h->lock);
	}
	return done;
}

/* ---- what is hot ---- */

/* Of those that are counted by several at once, some are not. */
static void set_heat(uint8_t *heat, unsigned int to)
{
	__atomic_store_n(heat, (uint8_t)to, __ATOMIC_RELAXED);
}

/* With the lock. */
static void make_roots(struct hot *h)
{
	bool failed[MTC_ROOTS];
	unsigned int n = h->nroots;

	__atomic_store_n(&h->nroots, 0, __ATOMIC_RELAXED);
	mtc_compile_each(&h->c, h->roots_mode, h->roots, n, failed);
	for (unsigned int i = 0; i < n; i++)
		if (failed[i])
			set_heat(&h->heat[h->roots_mode][h->roots[i]->id], NEVER);
}

/* Two calls of the system for each would be too much. */
static bool waited(struct hot *h)
{
	return h->nroots == MTC_ROOTS || h->hot == 0 || __atomic_add_fetch(&h->waited, 1, __ATOMIC_RELAXED) > PATIENCE;
}

/* With the lock: a node that has just become hot; others may have said so, too. */
static void add_root(struct hot *h, enum mt_mode mode, uint32_t id, const struct mt_node *node)
{
	uint8_t *heat = &h->heat[mode][id];

	if (h->nroots && mode != h->roots_mode)
		make_roots(h);
	if (__atomic_load_n(heat, __ATOMIC_RELAXED) >= QUEUED || h->c.full)
		return;
	if (!node)
		node = mt_find(h->c.code, id);
	set_heat(heat, node && node->compiles ? QUEUED : NEVER);
	if (!node || !node->compiles)
		return;
	if (!h->nroots)
		__atomic_store_n(&h->waited, 0, __ATOMIC_RELAXED);
	h->roots_mode = mode;
	h->roots[h->nroots] = node;
	__atomic_store_n(&h->nroots, h->nroots + 1, __ATOMIC_RELAXED);
}

/* Some may be compiled now: the node with which we came, perhaps. */
static bool make_hot(struct hot *h, enum mt_mode mode, uint32_t id, const struct mt_node *node, bool is_hot)
{
	bool made;

	pthread_mutex_lock(&h->lock);
	if (is_hot)
		add_root(h, mode, id, node);
	made = h->nroots && waited(h);
	if (made)
		make_roots(h);
	pthread_mutex_unlock(&h->lock);
	return made;
}

static bool warm(struct mt_runner *runner, enum mt_mode mode, uint32_t id, const struct mt_node *node)
{
	struct hot *h = (struct hot *)runner;
	uint8_t *heat = &h->heat[mode][id], was = __atomic_load_n(heat, __ATOMIC_RELAXED);
	bool is_hot = was >= h->hot && was < QUEUED && !__atomic_load_n(&h->c.full, __ATOMIC_RELAXED);

	if (was < h->hot)
		set_heat(heat, was + 1);
	if (is_hot || (__atomic_load_n(&h->nroots, __ATOMIC_RELAXED) && waited(h)))
		return make_hot(h, mode, id, node, is_hot);
	return false;
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
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static bool begin(struct hot *h, const struct mt_code *code)
{
	uint8_t *area = reserve(AREA, PROT_NONE);

	h->c.area = area;
	h->c.put = put;
	h->c.alignment = (size_t)sysconf(_SC_PAGESIZE);
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
	pthread_mutex_init(&h->lock, NULL);
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
