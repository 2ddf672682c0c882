// SPDX-License-Identifier: GPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memcompile_pair.h"
#include "memtrace/compile.h"

enum { MOST = 20000 };

struct mcp_seen mcp_seen;

/* What came of a chunk. */
struct step {
	size_t n;		/* accesses until then */
	enum mt_status status;
	struct mt_counts counts;
};

struct outcome {
	struct mt_access *v;
	struct step *steps;
	size_t n, nsteps;
	bool full;
};

/* ---- memory that ends where nobody may go beyond ---- */

enum { PAGE = 4096, FENCED = 1 << 20 };

static uint8_t *fenced(size_t bytes, uint8_t **end)
{
	uint8_t *p;

	assert_true(bytes <= FENCED);
	if (!*end) {
		p = mmap(NULL, FENCED + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(p != MAP_FAILED);
		assert_int_equal(mprotect(p + FENCED, PAGE, PROT_NONE), 0);
		*end = p + FENCED;
	}
	return *end - bytes;
}

static uint8_t *chunk_end, *accesses_end;

/* ---- running ---- */

static struct mt_machine *machine(struct mt_code *code)
{
	struct mt_machine *m = mt_machine_new(code);

	assert_non_null(m);
	mt_machine_limit(m, MCP_LIMIT);
	return m;
}

static void expand(struct mt_machine *m, struct outcome *o, enum mt_status *status, size_t batch)
{
	struct mt_access *v = (struct mt_access *)(void *)fenced(batch * sizeof(*v), &accesses_end);
	size_t n;

	do {
		n = mt_next(m, v, batch, status);
		memcpy(o->v + o->n, v, n * sizeof(*v));
		o->n += n;
		o->full = o->n + batch > MOST;
	} while (n && !o->full && *status == MT_OK);
}

static enum mt_status feed(struct mt_machine *m, const struct mxt_chunk *c)
{
	uint8_t *copy = fenced(c->len, &chunk_end);

	if (c->len)
		memcpy(copy, c->data, c->len);
	return mt_feed(m, copy, c->len);
}

/* When a chunk has been taken, nobody looks at it again. */
static void taken(const struct mxt_chunk *c)
{
	memset(chunk_end - c->len, 0xa5, c->len);
}

/* @batch 0: counts. */
static struct outcome run(struct mt_code *code, const struct mxt_chunk *chunks, size_t n, size_t batch, int stack)
{
	struct mt_machine *m = machine(code);
	struct outcome o = { .v = calloc(MOST, sizeof(*o.v)), .steps = calloc(n + 1, sizeof(*o.steps)) };

	assert_non_null(o.v);
	assert_non_null(o.steps);
	for (size_t i = 0; i < n && !o.full; i++) {
		struct step *s = &o.steps[o.nsteps];

		*s = i ? s[-1] : *s;
		s->status = feed(m, &chunks[i]);
		if (s->status == MT_OK && batch)
			expand(m, &o, &s->status, batch);
		else if (s->status == MT_OK)
			s->status = mt_count(m, stack, &s->counts);
		s->n = o.n;
		o.nsteps += !o.full;
		taken(&chunks[i]);
	}
	mt_machine_free(m);
	return o;
}

static void drop(struct outcome *o)
{
	free(o->v);
	free(o->steps);
}

/* ---- comparing ---- */

static void same_counts(const struct mt_counts *a, const struct mt_counts *b, size_t chunk)
{
	for (int k = 0; k < 4; k++)
		if (a->accesses[k] != b->accesses[k] || a->bytes[k] != b->bytes[k])
			fail_msg("chunk %zu, kind %d: %llu accesses, %llu bytes; compiled %llu, %llu", chunk, k,
				 (unsigned long long)a->accesses[k], (unsigned long long)a->bytes[k],
				 (unsigned long long)b->accesses[k], (unsigned long long)b->bytes[k]);
}

static void same_steps(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->nsteps, b->nsteps);
	for (size_t i = 0; i < a->nsteps; i++) {
		const struct step *s = &a->steps[i], *t = &b->steps[i];

		if (s->n != t->n || s->status != t->status)
			fail_msg("chunk %zu: %zu accesses and status %d, compiled %zu and %d", i, s->n, s->status, t->n,
				 t->status);
		same_counts(&s->counts, &t->counts, i);
		mcp_seen.errors += s->status != MT_OK;
	}
}

static void same(const struct outcome *a, const struct outcome *b)
{
	size_t n = a->n < b->n ? a->n : b->n;

	for (size_t i = 0; i < n; i++) {
		if (memcmp(&a->v[i], &b->v[i], sizeof(*a->v)) != 0)
			fail_msg("access %zu: %#llx by %#llx, compiled %#llx by %#llx", i,
				 (unsigned long long)a->v[i].addr, (unsigned long long)a->v[i].insn,
				 (unsigned long long)b->v[i].addr, (unsigned long long)b->v[i].insn);
	}
	if (!a->full && !b->full)
		same_steps(a, b);
	mcp_seen.accesses += a->n;
}

struct mcp_pair mcp_codes(const struct mxt_description *d)
{
	struct mcp_pair p;

	mxt_compiled = false;
	p.interpreted = mxt_code(d);
	p.reader = mxt_code(d);
	p.served = served_begin(p.reader, mxt_code(d), mxd_roll(2));
	mxt_compiled = true;
	p.compiled = mxt_code(d);
	mt_compile_hot(p.compiled, mxd_roll(3));
	return p;
}

void mcp_free(struct mcp_pair *p)
{
	struct mt_compiled stats;

	assert_true(mt_compile_stats(p->compiled, &stats));
	mcp_seen.entered += stats.entered;
	mcp_seen.served += p->served->runner.entered;
	mt_code_free(p->interpreted);
	mt_code_free(p->compiled);
	mt_code_free(p->reader);
	served_end(p->served);
}

void mcp_compare(const struct mcp_pair *p, struct mt_code *with, const struct mxt_chunk *chunks, size_t n, size_t batch,
		 int stack)
{
	struct outcome a = run(p->interpreted, chunks, n, batch, stack), b = run(with, chunks, n, batch, stack);

	same(&a, &b);
	drop(&a);
	drop(&b);
	mcp_seen.streams++;
}

void mcp_compare_all(const struct mcp_pair *p, const struct mxt_chunk *chunks, size_t n)
{
	static const size_t batches[] = { 128, 131, 200, 1000, 4096 };

	size_t batch = batches[mxd_roll(sizeof(batches) / sizeof(batches[0]))];

	mcp_compare(p, p->compiled, chunks, n, batch, 0);
	mcp_compare(p, p->compiled, chunks, n, 0, (int)mxd_roll(2));
	mcp_compare(p, p->reader, chunks, n, p->served->counts ? 0 : batch, 1);
}

void mcp_compare_cut(const struct mcp_pair *p, const struct mxt_program *of, size_t which, size_t len)
{
	const struct md_chunk head = { .kind = MD_CHUNK_MORE, .head = sizeof(head) };
	struct mxt_chunk *chunks = calloc(of->nchunks + 1, sizeof(*chunks));
	size_t rest = of->chunks[which].len - len;
	uint8_t *more = malloc(sizeof(head) + rest);

	assert_non_null(chunks);
	assert_non_null(more);
	memcpy(chunks, of->chunks, (which + 1) * sizeof(*chunks));
	memcpy(chunks + which + 2, of->chunks + which + 1, (of->nchunks - which - 1) * sizeof(*chunks));
	memcpy(more, &head, sizeof(head));
	memcpy(more + sizeof(head), of->chunks[which].data + len, rest);
	chunks[which].len = len;
	chunks[which + 1] = (struct mxt_chunk){ .data = more, .len = sizeof(head) + rest };
	mcp_compare_all(p, chunks, of->nchunks + 1);
	mcp_compare_all(p, chunks, which + 1);	/* truncated */
	free(more);
	free(chunks);
}
