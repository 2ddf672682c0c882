// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The engine: memory for code and tables, what is hot, and the way into the code and out of it.
 */
#include "trampolines/x86-64/memcompile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	AREA = 64 << 20,
	ROOM = 256 << 10,		/* for what is made together */
	TABLES = 2 * MXC_GOTOS + MXC_IDS,	/* bytes of a mode's: two tables, heat */
	THUNK = 512,
	ALIGNMENT = 64,
	HOT = 16,
	QUEUED = 254,
	NEVER = 255,
	PATIENCE = 256,			/* nodes that are interpreted, while some wait to be compiled */
	BATCH = 4 * MXC_ACCESSES,	/* for less it is not worth while */
	PIECES = 1 << 16,		/* until a sum of 32 bits may be full */
};

/* What goes into the code and comes out of it: offsets are known to make_thunk(). */
struct io {
	const uint8_t *words, *words_end;
	uint8_t *v, *v_end;
	uint64_t fuel;
	uint8_t **tables;
	uint32_t sums[2][4];
};
_Static_assert(offsetof(struct io, words_end) == 8 && offsetof(struct io, v) == 16 && offsetof(struct io, v_end) == 24 &&
	       offsetof(struct io, fuel) == 32 && offsetof(struct io, tables) == 40 && offsetof(struct io, sums) == 48,
	       "struct io");

/* Returns the node that comes next, + 1 if it is a loop that goes around; 0: a header does. */
typedef uintptr_t enter_fn(void *registers, const void *code, struct io *io);

/* ---- ways in and out ---- */

static struct mxc_mem io_mem(size_t offset)
{
	return (struct mxc_mem){ .base = MXC_RDX, .index = MXC_NONE, .disp = (int32_t)offset };
}

/* enter_fn; as many pushes as leave the stack aligned. */
static void make_enter(struct mxc_asm *a)
{
	static const uint8_t push[] = {
		0x53,				/* push %rbx */
		0x55,				/* push %rbp */
		0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, /* push %r12 ... %r15 */
		0x52,				/* push %rdx */
	};

	for (size_t i = 0; i < sizeof(push); i++)
		mxc_u8(a, push[i]);
	mxc_mov(a, MXC_RBX, MXC_RDI);
	mxc_load(a, MXC_R12, io_mem(offsetof(struct io, words)));
	mxc_load(a, MXC_R13, io_mem(offsetof(struct io, words_end)));
	mxc_load(a, MXC_R14, io_mem(offsetof(struct io, v)));
	mxc_load(a, MXC_R15, io_mem(offsetof(struct io, v_end)));
	mxc_load(a, MXC_R11, io_mem(offsetof(struct io, fuel)));
	mxc_load(a, MXC_R10, io_mem(offsetof(struct io, tables)));
	mxc_rm(a, 2, 0x0fef, 1, 1);		/* pxor */
	mxc_rm(a, 2, 0x0fef, 2, 2);
	mxc_rm(a, 4, 0xff, 4, MXC_RSI);		/* jmp *%rsi */
}

static void make_leave(struct mxc_asm *a)
{
	static const uint8_t pop[] = {
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
	};

	mxc_u8(a, 0x5a);			/* pop %rdx */
	mxc_store(a, io_mem(offsetof(struct io, words)), MXC_R12);
	mxc_store(a, io_mem(offsetof(struct io, v)), MXC_R14);
	mxc_store(a, io_mem(offsetof(struct io, fuel)), MXC_R11);
	mxc_rm_mem(a, 4, 0x0f11, 1, io_mem(offsetof(struct io, sums[0])));
	mxc_rm_mem(a, 4, 0x0f11, 2, io_mem(offsetof(struct io, sums[1])));
	for (size_t i = 0; i < sizeof(pop); i++)
		mxc_u8(a, pop[i]);
}

static void make_thunk(struct mxc_engine *e)
{
	struct mxc_asm a = { .at = e->area, .end = e->area + THUNK };

	make_enter(&a);
	e->leave_header = a.at;
	mxc_imm(&a, MXC_RAX, 0);
	e->leave = a.at;
	make_leave(&a);
	e->used = (size_t)(a.at - e->area);
}

/* ---- memory ---- */

/* Of the area, what is written next: writable, then executable; never both. */
static bool protect(struct mxc_engine *e, size_t from, size_t to, int how)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	from &= ~(page - 1);
	to = (to + page - 1) & ~(page - 1);
	return mprotect(e->area + from, to - from, how) == 0;
}

static void *reserve(size_t bytes, int how)
{
	void *p = mmap(NULL, bytes, how, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* All that newer ids lead to, until they are compiled, is the way out. */
static void fill(struct mxc_engine *e, struct mxc_tables *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		t->headers[i] = e->leave_header;
		t->headers[i + MXC_IDS] = e->leave;
	}
}

static bool need_tables(struct mxc_engine *e, enum mxc_mode mode)
{
	struct mxc_tables *t = &e->tables[mode];

	if (t->headers)
		return true;
	if (e->full)
		return false;
	t->headers = reserve(TABLES, PROT_READ | PROT_WRITE);
	if (!t->headers) {
		e->full = true;
		return false;
	}
	t->heat = (uint8_t *)(t->headers + 2 * (size_t)MXC_IDS);
	fill(e, t, 0, e->ids);
	return true;
}

/* All of it is made again as it is needed. */
static void discard(struct mxc_engine *e)
{
	e->nroots = 0;
	for (unsigned int i = 0; i < MXC_MODES; i++) {
		if (!e->tables[i].headers)
			continue;
		fill(e, &e->tables[i], 0, e->ids);
		memset(e->tables[i].heat, 0, e->ids);
	}
}

/* Takes notice of new objects. */
static void refresh(struct mxc_engine *e)
{
	const struct mx_object *newest = e->code->objects;
	uint32_t ids = e->ids;
	bool flags = e->flags;

	for (const struct mx_object *o = newest; o && o != e->seen; o = o->next) {
		uint64_t end = (uint64_t)o->first + o->nnodes;

		if (end <= MXC_IDS && end > ids)
			ids = (uint32_t)end;
		flags |= o->reads_flags;
	}
	e->seen = newest;
	for (unsigned int i = 0; i < MXC_MODES; i++)
		if (e->tables[i].headers)
			fill(e, &e->tables[i], e->ids, ids);
	e->ids = ids;
	if (flags && !e->flags) {
		e->flags = true;
		discard(e);
	}
}

/* ---- compiling ---- */

static bool put(struct mxc_engine *e, const uint8_t *code, size_t bytes)
{
	size_t to = e->used + bytes;

	if (!protect(e, e->used, to, PROT_READ | PROT_WRITE))
		return false;
	memcpy(e->area + e->used, code, bytes);
	return protect(e, e->used, to, PROT_READ | PROT_EXEC);
}

static bool make(struct mxc_engine *e, enum mxc_mode mode, const struct mx_node *const *roots, unsigned int n)
{
	struct mxc_build *b = e->build;
	uint8_t *code = e->scratch + e->used % ALIGNMENT;
	size_t bytes;

	b->a = (struct mxc_asm){ .at = code, .end = e->scratch + ROOM };
	b->away = e->area + e->used - code;
	if (!mxc_make(e, mode, roots, n))
		return false;
	if (!b->nheads)
		return true;	/* they have been made meanwhile */
	bytes = (size_t)(b->a.at - code);
	if (e->used + bytes > AREA) {
		e->full = true;
		return false;
	}
	if (!put(e, code, bytes)) {
		/* Pieces in the same page cannot be run any more. */
		discard(e);
		e->full = true;
		return false;
	}
	mxc_publish(e);
	e->used += bytes;
	e->stats.nodes += b->nheads;
	e->stats.bytes += bytes;
	return true;
}

/* Those that are too much together are tried one by one. */
static void make_roots(struct mxc_engine *e)
{
	uint8_t *heat = e->tables[e->roots_mode].heat;
	unsigned int n = e->nroots;

	e->nroots = 0;
	if (e->full || make(e, e->roots_mode, e->roots, n))
		return;
	for (unsigned int i = 0; i < n && !e->full; i++)
		if (n == 1 || !make(e, e->roots_mode, &e->roots[i], 1))
			heat[e->roots[i]->id] = NEVER;
}

/* Two calls of the system for each would be too much. */
static bool waited(const struct mxc_engine *e)
{
	return e->nroots == MXC_ROOTS || e->hot == 0 || e->stats.interpreted - e->since > PATIENCE;
}

/* Counts how often it comes; compiles it if it is time.  Says whether anything was compiled. */
static bool warm(struct mxc_engine *e, enum mxc_mode mode, uint32_t id, const struct mx_node *node)
{
	uint8_t *heat = &e->tables[mode].heat[id];

	if (e->nroots && mode != e->roots_mode)
		make_roots(e);
	if (*heat < e->hot) {
		++*heat;
	} else if (*heat < QUEUED && !e->full) {
		if (!node)
			node = mx_find(e->code, id);
		*heat = node && mxc_possible(node) ? QUEUED : NEVER;
		if (*heat == QUEUED) {
			e->since = e->nroots ? e->since : e->stats.interpreted;
			e->roots_mode = mode;
			e->roots[e->nroots++] = node;
		}
	}
	if (!e->nroots || !waited(e))
		return false;
	make_roots(e);
	return true;
}

/* ---- running ---- */

/* Where the code goes on from; NULL: nowhere. */
static const uint8_t *find(struct mxc_engine *e, enum mxc_mode mode, struct mx_machine *m, struct mx_fast_state *s)
{
	const struct mx_node *node = s->node;
	const uint8_t *out = node ? e->leave : e->leave_header;
	uint8_t **table = e->tables[mode].headers;
	size_t at;

	if (s->reserve ? m->end - s->words < 4 : !node)
		return NULL;
	at = node ? node->id : mx_load4(s->words);
	if (at >= e->ids || (node && node->loop && node != s->tried))
		return NULL;
	if (node)
		table += MXC_IDS;
	if (table[at] == out && !warm(e, mode, (uint32_t)at, node))
		return NULL;
	if (table[at] == out)
		return NULL;
	return table[at] + (node && node->loop ? MXC_BODY : 0);
}

static void add_sums(struct mx_counts *counts, const struct io *io)
{
	for (unsigned int kind = 0; kind < 4; kind++) {
		counts->accesses[kind] += io->sums[0][kind];
		counts->bytes[kind] += io->sums[1][kind];
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Says whether it got anywhere. */
static bool enter(struct mxc_engine *e, enum mxc_mode mode, struct mx_machine *m, struct mx_sink *sink,
		  struct mx_fast_state *s, const uint8_t *code)
{
	static const uint32_t none;	/* no id */
	struct mx_fast_state before = *s;
	struct io io = { .words = s->words, .fuel = s->fuel, .tables = e->tables[mode].headers };
	enter_fn *enter_code;
	uintptr_t next;

	if (s->reserve)
		io.words_end = s->words + least((size_t)(m->end - s->words), PIECES * 4) - 4 - MXC_WORDS;
	else
		io.words = (const uint8_t *)&none;
	if (mode == MXC_NEXT) {
		io.v = (uint8_t *)s->v;
		io.v_end = (uint8_t *)(sink->end - MXC_ACCESSES);
	} else {
		io.v = (uint8_t *)(uintptr_t)PIECES;
	}
	memcpy(&enter_code, &e->area, sizeof(enter_code));
	next = enter_code((uint8_t *)m->reg + 128, code, &io);
	s->node = (const struct mx_node *)(next & ~(uintptr_t)1);
	s->tried = next & 1 ? s->node : NULL;
	s->fuel = io.fuel;
	if (s->reserve)
		s->words = io.words;
	if (mode == MXC_NEXT)
		s->v = (struct mx_access *)io.v;
	else
		add_sums(sink->counts, &io);
	e->stats.entered++;
	return s->node != before.node || s->words != before.words || s->fuel != before.fuel;
}

static void run(struct mx_engine *engine, struct mx_machine *m, struct mx_sink *sink, struct mx_fast_state *s)
{
	struct mxc_engine *e = (struct mxc_engine *)engine;
	enum mxc_mode mode = !sink->counts ? MXC_NEXT : sink->stack ? MXC_COUNT : MXC_COUNT_PLAIN;

	if (m->limit < MXC_LIMIT || (mode == MXC_NEXT && sink->end - s->v < BATCH) || !need_tables(e, mode)) {
		mx_fast_turns(m, sink, s, UINT64_MAX);
		return;
	}
	if (e->seen != e->code->objects)
		refresh(e);
	m->ids = e->ids;
	while (!s->stopped) {
		const uint8_t *code = find(e, mode, m, s);
		bool further = code && enter(e, mode, m, sink, s, code);

		if (mode == MXC_NEXT && sink->end - s->v < MXC_ACCESSES) {
			sink->enough = true;
			return;
		}
		if (further)
			continue;
		mx_fast_turns(m, sink, s, 1);
		e->stats.interpreted++;
	}
}

/* ---- beginning and end ---- */

static void release(struct mx_engine *engine)
{
	struct mxc_engine *e = (struct mxc_engine *)engine;

	for (unsigned int i = 0; i < MXC_MODES; i++)
		if (e->tables[i].headers)
			munmap(e->tables[i].headers, TABLES);
	if (e->area)
		munmap(e->area, AREA);
	free(e->scratch);
	free(e->build);
	free(e);
}

static bool prepare(struct mxc_engine *e)
{
	e->build = malloc(sizeof(*e->build));
	e->scratch = aligned_alloc(ALIGNMENT, ROOM);
	e->area = reserve(AREA, PROT_NONE);
	if (!e->build || !e->scratch || !e->area || !protect(e, 0, THUNK, PROT_READ | PROT_WRITE))
		return false;
	make_thunk(e);
	return protect(e, 0, THUNK, PROT_READ | PROT_EXEC);
}

void mx_compile(struct mx_code *code)
{
	const char *wanted = getenv("SONDE_MEM_COMPILE");
	struct mxc_engine *e;

	if (code->engine || (wanted && strcmp(wanted, "0") == 0))
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->engine = (struct mx_engine){ .run = run, .free = release };
	e->code = code;
	e->hot = HOT;
	e->ids = 1;
	if (prepare(e))
		code->engine = &e->engine;
	else
		release(&e->engine);
}

void mx_compile_hot(struct mx_code *code, unsigned int times)
{
	struct mxc_engine *e = (struct mxc_engine *)code->engine;

	if (e)
		e->hot = times < QUEUED ? times : QUEUED - 1;
}

bool mx_compile_stats(const struct mx_code *code, struct mx_compiled *stats)
{
	const struct mxc_engine *e = (const struct mxc_engine *)code->engine;

	if (e)
		*stats = e->stats;
	return e;
}
