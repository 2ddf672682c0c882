// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Expands arbitrary words by arbitrary descriptions, in batches of different sizes, interpreted and compiled, and counts
 * them: all agree, and all come to an end.  Words, accesses and the machine lie beside pages that nobody may touch, since
 * no sanitizer looks at code that is compiled here.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memtrace/compile.h"
#include "memtrace/heap.h"
#include "memtrace/machine/state.h"
#include "tests/fuzz/memexpand_input.h"

enum { ACCESSES = 1 << 15, LIMIT = 300 };
enum { PAGE = 4096, CANARY = 0xa5, CANARIES = 64 };
enum { COMPILED_BATCH = 128 };	/* for fewer accesses the code is not entered */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Memory between two pages that cannot be touched. */
struct fence {
	uint8_t *begin, *end;
};
static struct fence machine_fence, words_fence, accesses_fence;

enum { COUNT_ALL = -1, COUNT_PLAIN = -2 };	/* in place of a batch's size */

struct result {
	struct mt_access *v;
	size_t n;
	struct mt_counts counts;
	enum mt_status status;
	bool full;
};

/* ---- fences ---- */

static void fence_make(struct fence *f, size_t bytes)
{
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	f->begin = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->begin == MAP_FAILED || mprotect(f->begin + PAGE, bytes, PROT_READ | PROT_WRITE) != 0)
		abort();
	f->begin += PAGE;
	f->end = f->begin + bytes;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* @bytes at its end, or at its beginning; on the other side are canaries. */
static void *fence_place(const struct fence *f, size_t bytes, bool low)
{
	size_t rest = (size_t)(f->end - f->begin) - bytes;

	memset(low ? f->begin + bytes : f->end - bytes - least(rest, CANARIES), CANARY, least(rest, CANARIES));
	return low ? f->begin : f->end - bytes;
}

static void fence_check(const struct fence *f, size_t bytes, bool low)
{
	size_t n = least((size_t)(f->end - f->begin) - bytes, CANARIES);
	const uint8_t *canaries = low ? f->begin + bytes : f->end - bytes - n;

	for (size_t i = 0; i < n; i++)
		if (canaries[i] != CANARY)
			abort();
}

static bool next_is_machine;

static void *alloc(void *arg, size_t bytes)
{
	if (!next_is_machine)
		return mt_heap_alloc(arg, bytes);
	if (bytes > (size_t)(machine_fence.end - machine_fence.begin))
		abort();
	next_is_machine = false;
	return memset(fence_place(&machine_fence, bytes, false), 0, bytes);
}

static void release(void *arg, void *p, size_t bytes)
{
	if ((uint8_t *)p < machine_fence.begin || (uint8_t *)p >= machine_fence.end)
		mt_heap_release(arg, p, bytes);
	else
		fence_check(&machine_fence, bytes, false);
}

static const struct mt_allocator allocator = { .alloc = alloc, .release = release };

/* ---- running ---- */

/* The next chunk. */
static uint8_t *next_chunk(struct input *in, const struct mt_machine *m, bool low, size_t *len)
{
	uint8_t buffer[INPUT_CHUNK];

	*len = input_chunk(in, m->reg, buffer);
	return *len ? memcpy(fence_place(&words_fence, *len, low), buffer, *len) : NULL;
}

static void expand(struct mt_machine *m, struct result *r, size_t batch, bool low)
{
	size_t n;

	do {
		size_t room = least(ACCESSES - r->n, batch), bytes = room * sizeof(*r->v);
		struct mt_access *v = fence_place(&accesses_fence, bytes, low);

		n = mt_next(m, v, room, &r->status);
		fence_check(&accesses_fence, bytes, low);
		if (n > room)
			abort();
		memcpy(r->v + r->n, v, n * sizeof(*v));
		r->n += n;
		r->full = r->n == ACCESSES;
	} while (n && !r->full && r->status == MT_OK);
}

/* @batch: accesses, which go to @v, or COUNT_... */
static struct result run(struct input in, struct mt_code *code, int batch, struct mt_access *v, bool low)
{
	struct result r = { .v = v };
	struct mt_machine *m;
	uint8_t *chunk;
	size_t len;

	next_is_machine = true;
	m = mt_machine_new(code);
	if (!m)
		abort();
	mt_machine_limit(m, LIMIT);
	while (r.status == MT_OK && !r.full && (chunk = next_chunk(&in, m, low, &len))) {
		r.status = mt_feed(m, chunk, len);
		if (r.status == MT_OK && batch > 0)
			expand(m, &r, (size_t)batch, low);
		else if (r.status == MT_OK)
			r.status = mt_count(m, batch == COUNT_ALL, &r.counts);
	}
	mt_machine_free(m);
	return r;
}

static void compare(const struct result *a, const struct result *b)
{
	if (a->n == b->n && a->full == b->full && (a->full || a->status == b->status) &&
	    memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0)
		return;
	fprintf(stderr, "%zu and %zu accesses, status %d and %d\n", a->n, b->n, a->status, b->status);
	abort();
}

static void compare_counted(const struct result *a, const struct result *counted)
{
	uint64_t all = 0;

	for (int i = 0; i < 4; i++)
		all += counted->counts.accesses[i];
	if (a->full || a->status != MT_OK || counted->status != MT_OK || all == a->n)
		return;
	fprintf(stderr, "%zu accesses, counted %llu\n", a->n, (unsigned long long)all);
	abort();
}

static void compare_counts(const struct result *interpreted, const struct result *compiled)
{
	if (interpreted->status == compiled->status &&
	    memcmp(&interpreted->counts, &compiled->counts, sizeof(compiled->counts)) == 0)
		return;
	fprintf(stderr, "status %d, compiled %d; %llu loads, compiled %llu\n", interpreted->status, compiled->status,
		(unsigned long long)interpreted->counts.accesses[0], (unsigned long long)compiled->counts.accesses[0]);
	abort();
}

/* Interpreted, in one batch, in others, and counted; then the same with the compiler. */
static void run_all(const struct input *in, struct mt_code *code, const uint8_t *head)
{
	static struct mt_access first[ACCESSES], later[ACCESSES];
	const int batches[] = { head[2] % 7 + 1, ACCESSES, COMPILED_BATCH + head[2] % 64 };
	bool low = head[3] & PLACE_LOW;
	struct result expected = run(*in, code, ACCESSES, first, low), all = run(*in, code, COUNT_ALL, NULL, low);
	struct result plain = run(*in, code, COUNT_PLAIN, NULL, low), r;

	compare_counted(&expected, &all);
	for (int i = 0; i < 3; i++) {
		r = run(*in, code, batches[i], later, low);
		compare(&expected, &r);
		if (i == 0) {
			mt_compile(code);
			mt_compile_hot(code, head[2] % 3);
		}
	}
	r = run(*in, code, COUNT_ALL, NULL, low);
	compare_counts(&all, &r);
	r = run(*in, code, COUNT_PLAIN, NULL, low);
	compare_counts(&plain, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data + INPUT_HEADER, .end = data + size };
	struct mt_code *code;

	if (size < INPUT_HEADER)
		return 0;
	if (!machine_fence.begin) {
		fence_make(&machine_fence, PAGE);
		fence_make(&words_fence, INPUT_CHUNK);
		fence_make(&accesses_fence, ACCESSES * sizeof(struct mt_access));
	}
	code = mt_code_new(&allocator);
	if (!code)
		abort();
	if (input_describe(&in, data) && mt_code_add(code, &in.object, in.nodes, in.ops) == MT_OK)
		run_all(&in, code, data);
	mt_code_free(code);
	return 0;
}
