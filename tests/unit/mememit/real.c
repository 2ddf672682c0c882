// SPDX-License-Identifier: GPL-3.0-or-later
/* Functions as compilers make them, as they are against instrumented for memory, on each rung. */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/mememit/bodies.h"
#include "tests/unit/mememit/rig.h"
#include "tests/unit/wrap/machine.h"
#include "trampolines/memory/memory.h"

enum { BODIES_MAX = 64, PAGE = 4096, ACCESSES_MIN = 15000 };

static struct body_data data;

static void reset(void *arg)
{
	uint32_t state = 12345;
	uint8_t *bytes = (uint8_t *)&data;

	(void)arg;
	for (size_t i = 0; i < sizeof(data); i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
	for (size_t i = 0; i < sizeof(data.a) / 8; i++)
		(&data.a[0][0])[i] = (&data.b[0][0])[i] = (double)(i % 17);
	for (uint32_t i = 0; i <= BODY_N; i++)
		data.rows[i] = i * 7 / 2;
	for (size_t i = 0; i < 512; i++)
		data.x[i] = data.y[i] = (float)(i % 13);
	for (int i = 0; i < BODY_N * 4; i++)
		data.values[i] = data.in[i % BODY_N] = i;
	for (size_t i = 0; i < BODY_NODES; i++) {
		data.nodes[i].next = i + 5 < BODY_NODES ? &data.nodes[i + 5] : NULL;
		data.nodes[i].left = i + 3 < BODY_NODES ? &data.nodes[i + 3] : NULL;
	}
	memcpy(data.other, data.text, 90);
	data.text[BODY_TEXT - 1] = data.other[BODY_TEXT - 1] = 0;
}

static int by_start(const void *left, const void *right)
{
	const struct body *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void run_bodies(const struct body *sorted, struct mememit_tally *tally, unsigned int rungs,
		       struct random_source *source)
{
	struct tramp_fn fns[BODIES_MAX];
	const uint8_t *start = sorted[0].start, *end = sorted[nbodies - 1].end;
	uint8_t *page = (uint8_t *)((uintptr_t)start & ~(uintptr_t)(PAGE - 1));
	uint8_t *kept = malloc((size_t)(end - start));
	struct tramp_bytes bytes = { .addr = (uint64_t)start, .bytes = kept, .len = (size_t)(end - start),
				     .code = true };
	struct tramp_facts facts = { .bytes = &bytes, .nbytes = 1, .fns = fns, .nfns = nbodies };
	struct mememit_code code = {
		.facts = &facts, .start = (uint8_t *)start, .len = (size_t)(end - start), .reset = reset,
		.data = (uint8_t *)&data, .ndata = sizeof(data), .rungs = rungs,
		.stack = random_below(source, 2), .source = source, .tally = tally,
	};

	if (!kept || mprotect(page, (size_t)(end - page), PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		err(99, "code");
	memcpy(kept, start, (size_t)(end - start));
	for (size_t i = 0; i < nbodies; i++)
		fns[i] = (struct tramp_fn){
			.addr = (uint64_t)sorted[i].start, .flags = TRAMP_FN_FRAMED,
			.size = (uint64_t)(sorted[i].end - sorted[i].start), .parent = TRAMP_NONE,
		};
	mememit_instrument(&code);
	for (size_t i = 0; i < nbodies; i++) {
		struct mememit_call call = { .entry = sorted[i].function, .abi = true };
		size_t accesses = tally->accesses, stream = tally->stream;

		call.registers[RDI] = (uint64_t)&data;
		call.registers[RSI] = 12 + random_below(source, 24);
		mememit_run(&call);
		if (getenv("MEMEMIT_VERBOSE"))
			printf("rungs %2u %-10s %7zu accesses, %.2f bytes each\n", rungs, sorted[i].name,
			       tally->accesses - accesses,
			       (double)(tally->stream - stream) / (double)(tally->accesses - accesses));
	}
	mememit_done();
	free(kept);
}

int main(void)
{
	static const unsigned int rungs[] = { 0, 1, 7, 31 };
	struct body sorted[BODIES_MAX];
	struct mememit_tally tally = { 0 };
	struct random_source source = { .state = 99 };

	memcpy(sorted, bodies, nbodies * sizeof(*bodies));
	qsort(sorted, nbodies, sizeof(*sorted), by_start);
	for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++)
		run_bodies(sorted, &tally, rungs[i], &source);
	printf("%zu functions, %zu refused; %zu runs, %zu steps, %zu accesses, %zu bytes in %zu chunks, "
	       "%zu interrupts\n", tally.functions, tally.refused, tally.runs, tally.steps, tally.accesses,
	       tally.stream, tally.chunks, tally.interrupts);
	return tally.refused || tally.accesses < ACCESSES_MIN;
}
