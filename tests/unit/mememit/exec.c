// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Random functions, as they are against instrumented for memory.  Arguments: the first seed, and
 * how many.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "tests/unit/mememit/mix.h"
#include "tests/unit/mememit/rig.h"
#include "tests/unit/wrap/machine.h"
#include "trampolines/memory/memory.h"
#include "tests/unit/part.h"

enum { PROGRAMS = 40, RUNS = 4, FUEL = 60, IMAGE = RANDOM_CODE + MIX_DATA, ACCESSES_MIN = 20000 };

static struct random_code code;
static uint8_t *image;

static void reset(void *arg)
{
	uint8_t *data = image + RANDOM_CODE;

	(void)arg;
	memcpy(data, code.image + RANDOM_CODE, RANDOM_DATA);
	for (uint32_t i = 1; i < RANDOM_TABLES / 8; i++)
		data[8 * i] = (uint8_t)(37 * i);
	*(uint32_t *)data = FUEL;
}

static bool has_fsgsbase(void)
{
	return getauxval(AT_HWCAP2) & 2;
}

static unsigned int any_rungs(struct random_source *source)
{
	static const unsigned int rungs[] = {
		0, TRAMP_MEM_CHAINS, TRAMP_MEM_CHAINS | TRAMP_MEM_RESIDENT,
		TRAMP_MEM_CHAINS | TRAMP_MEM_RESIDENT | TRAMP_MEM_KNOWN,
		TRAMP_MEM_ALL & ~TRAMP_MEM_PATHS, TRAMP_MEM_ALL, TRAMP_MEM_ALL,
	};

	if (getenv("MEMEMIT_RUNGS"))
		return (unsigned int)strtoul(getenv("MEMEMIT_RUNGS"), NULL, 0);
	return rungs[random_below(source, sizeof(rungs) / sizeof(rungs[0]))];
}

static void run_any(struct random_source *source)
{
	struct mememit_call call = {
		.entry = image + code.start[random_below(source, RANDOM_FUNCTIONS)], .abi = true,
	};

	for (int i = 0; i < NREGISTERS; i++)
		call.registers[i] = random_below(source, 256) * 0x1234567u;
	call.registers[RAX] = random_below(source, 6);
	call.registers[R15] = (uint64_t)image + RANDOM_CODE;
	mememit_run(&call);
}

static void run_program(unsigned long seed, struct mememit_tally *tally)
{
	struct random_source source = { .state = seed * 0x9e3779b97f4a7c15ull | 1 };
	struct tramp_fn fns[RANDOM_FUNCTIONS];
	uint64_t base = (uint64_t)image;
	struct tramp_bytes bytes[2] = {
		{ .addr = base, .bytes = code.image, .len = RANDOM_CODE, .code = true },
		{ .addr = base + RANDOM_CODE, .bytes = code.image + RANDOM_CODE, .len = RANDOM_DATA },
	};
	struct tramp_facts facts = { .bytes = bytes, .nbytes = 2, .fns = fns, .nfns = RANDOM_FUNCTIONS };
	struct mememit_code mem = {
		.facts = &facts, .start = image, .len = RANDOM_CODE, .reset = reset,
		.data = image + RANDOM_CODE, .ndata = RANDOM_DATA, .source = &source, .tally = tally,
	};
	uint32_t framed;

	random_generate(&code, &source);
	framed = random_below(&source, 4) ? TRAMP_FN_FRAMED : 0;
	for (int i = 0; i < RANDOM_FUNCTIONS; i++)
		fns[i] = (struct tramp_fn){
			.addr = base + code.start[i], .size = code.size[i], .flags = framed,
			.parent = TRAMP_NONE,
		};
	memcpy(image, code.image, RANDOM_CODE + RANDOM_DATA);
	mem.rungs = any_rungs(&source);
	mem.stack = random_below(&source, 2);
	mem.fsbase = has_fsgsbase() && random_below(&source, 2);
	mememit_instrument(&mem);
	for (int i = 0; i < RUNS; i++)
		run_any(&source);
	mememit_done();
}

/* ---- functions of all kinds of instructions ---- */

static uint8_t mix_data[MIX_DATA];

static void reset_mix(void *arg)
{
	uint8_t *data = image + RANDOM_CODE;

	memcpy(data, arg, MIX_DATA);
}

static void fill_mix(struct random_source *source, uint64_t data)
{
	for (size_t i = 0; i < MIX_DATA; i++)
		mix_data[i] = (uint8_t)random_below(source, 256);
	for (size_t i = 0; i < MIX_POINTERS; i++) {
		uint64_t p = data + MIX_DATA / 2 + 8 * random_below(source, 256);

		memcpy(mix_data + 8 * i, &p, 8);
	}
}

static void run_mix(unsigned long seed, struct mememit_tally *tally)
{
	struct random_source source = { .state = seed * 0x9e3779b97f4a7c15ull | 1 };
	uint64_t base = (uint64_t)image;
	struct tramp_bytes bytes = { .addr = base, .bytes = code.image, .len = RANDOM_CODE, .code = true };
	struct tramp_fn fn = { .addr = base, .flags = TRAMP_FN_FRAMED, .parent = TRAMP_NONE };
	struct tramp_facts facts = { .bytes = &bytes, .nbytes = 1, .fns = &fn, .nfns = 1 };
	struct mememit_code mem = {
		.facts = &facts, .start = image, .len = RANDOM_CODE, .reset = reset_mix, .arg = mix_data,
		.data = image + RANDOM_CODE, .ndata = MIX_DATA, .source = &source, .tally = tally,
	};
	struct mememit_call call = { .entry = image, .abi = true };

	memset(image, 0xcc, RANDOM_CODE);
	fill_mix(&source, base + RANDOM_CODE);
	fn.size = mix_generate(image, RANDOM_CODE, base + RANDOM_CODE, &source);
	memcpy(code.image, image, RANDOM_CODE);
	mem.rungs = any_rungs(&source);
	mem.stack = random_below(&source, 2);
	mem.fsbase = has_fsgsbase() && random_below(&source, 2);
	mememit_instrument(&mem);
	for (int i = 0; i < NREGISTERS; i++)
		call.registers[i] = random_below(&source, 256) * 0x1234567u;
	call.registers[R15] = base + RANDOM_CODE;
	for (int i = 0; i < RUNS; i++)
		mememit_run(&call);
	mememit_done();
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : PART_OF(PROGRAMS);
	struct mememit_tally tally = { 0 };

	image = mmap(NULL, IMAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		err(99, "mmap");
	for (unsigned long seed = first; seed < first + n; seed++) {
		if (getenv("MIRROR_SEEDS"))
			fprintf(stderr, "seed %lu\n", seed);
		run_program(seed, &tally);
		run_mix(seed, &tally);
	}
	printf("%zu functions, %zu refused; %zu runs, %zu steps, %zu accesses, %zu bytes in %zu chunks, "
	       "%zu foreign pools, %zu interrupts, %zu events, %zu bursts, %zu times; %.2f bytes of mirror a byte, %.2f s a million blocks\n",
	       tally.functions, tally.refused, tally.runs, tally.steps, tally.accesses, tally.stream,
	       tally.chunks, tally.owners, tally.interrupts, tally.events, tally.bursts, tally.times, (double)tally.mirrored / (double)tally.original,
	       (double)tally.nanoseconds / (double)tally.blocks / 1e3);
	return n >= PROGRAMS && (tally.accesses < ACCESSES_MIN || !tally.events || !tally.times || 4 * tally.refused > tally.functions);
}
