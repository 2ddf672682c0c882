// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The facts of instructions against the processor: instructions of the C library (or of the files
 * named) and random ones run with random registers.
 *
 *  - What the facts compute is what the processor computes; other registers are left alone or said
 *    to be lost.
 *  - Flags are kept, or the conditions are what is said.
 *  - Accesses are where and as long as said: next to a guard page, the instruction faults if and
 *    only if one of the accesses that are said touches the guard; in read-only memory, if and only
 *    if one is said to write.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/memfacts/trial.h"
#include "tests/unit/wrap/elf.h"
#include "trampolines/trampoline.h"

enum {
	INSN_MAX = 15, RANDOM_INSNS = 100000, RANDOM_VECTORS = 200000, SEEN_LOG2 = 20,
	RUNS_MIN = 100000, COMPUTED_MIN = 20000, FAULTS_MIN = 20000, LANES_MIN = 1000,
};

static bool seen(const uint8_t *bytes, size_t len)
{
	static uint64_t table[1 << SEEN_LOG2];
	uint64_t key = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		key = (key ^ bytes[i]) * 0x100000001b3;
	key |= 1;
	for (uint64_t i = key >> (64 - SEEN_LOG2);; i = (i + 1) % (1 << SEEN_LOG2)) {
		if (table[i] == key)
			return true;
		if (!table[i]) {
			table[i] = key;
			return false;
		}
	}
}

static void try_function(struct trials *test, const struct elf_function *fn)
{
	size_t len;

	for (size_t at = 0; at < fn->size; at += len) {
		len = tramp_insn_length(fn->code + at, fn->avail - at);
		if (!len)
			return;
		if (!seen(fn->code + at, len))
			try_insn(test, fn->code + at, len);
	}
}

static void try_file(struct trials *test, const char *path)
{
	struct elf_code code;

	elf_code_open(&code, path, true);
	for (size_t i = 0; i < code.nfunctions; i++)
		try_function(test, &code.functions[i]);
	elf_code_close(&code);
}

/* Bytes that begin as instructions do: prefixes, escapes. */
static void random_bytes(uint8_t *b)
{
	static const uint8_t first[] = { 0x48, 0x4c, 0x41, 0x66, 0xf2, 0xf3, 0x0f, 0x0f,
					 0xd9, 0xdd, 0xf0, 0x67, 0x64 };
	size_t at = 0;

	for (size_t i = 0; i < INSN_MAX; i++)
		b[i] = (uint8_t)random();
	while (at < 3 && random() % 3)
		b[at++] = first[(size_t)random() % sizeof(first)];
}

/*
 * VEX and EVEX; half of them with the opcodes of gathers, scatters, masked moves, expansion and
 * the like.
 */
static void random_vector_insn(uint8_t *b)
{
	static const uint8_t lanes[] = {
		0x90, 0x91, 0x92, 0x93, 0xa0, 0xa1, 0xa2, 0xa3, 0x2c, 0x2d,
		0x2e, 0x2f, 0x8c, 0x8e, 0x88, 0x89, 0x8a, 0x8b, 0x62, 0x63,
	};
	bool evex = random() % 3, some = random() % 2;
	size_t at = 0;

	for (size_t i = 0; i < INSN_MAX; i++)
		b[i] = (uint8_t)random();
	if (random() % 16 == 0)
		b[at++] = random() % 2 ? 0x67 : 0x64;
	b[at] = evex ? 0x62 : 0xc4;
	b[at + 1] = (uint8_t)((b[at + 1] & 0xe0) | (some ? 2 : 1 + random() % 3));
	if (evex) {
		b[at + 1] |= 0x10;
		b[at + 2] |= 4;
		b[at + 3] |= 8;
	}
	if (some) {
		b[at + 2] = (uint8_t)((b[at + 2] & 0x84) |
				      (evex ? 0x7d : 0x79 ^ (random() & 0x78)));
		b[at + 3 + evex] = lanes[(size_t)random() % sizeof(lanes)];
		b[at + 4 + evex] = (uint8_t)((b[at + 4 + evex] & 0xbf) | (random() % 2 ? 4 : 0));
	}
}

static void try_random(struct trials *test, size_t n, void (*fill)(uint8_t *))
{
	uint8_t b[INSN_MAX];

	for (size_t i = 0; i < n; i++) {
		fill(b);
		try_insn(test, b, sizeof(b));
	}
}

static void want(struct trials *test, const char *what, size_t is, size_t least)
{
	if (is >= least)
		return;
	printf("only %zu %s\n", is, what);
	test->wrong++;
}

int main(int argc, char **argv)
{
	static struct trials test;

	setlinebuf(stdout);
	rig_open(&test.rig);
	try_random(&test, RANDOM_INSNS, random_bytes);
	try_random(&test, RANDOM_VECTORS, random_vector_insn);
	for (int i = 1; i < argc; i++)
		try_file(&test, argv[i]);
	if (argc == 1)
		try_file(&test, elf_libc_path());
	printf("%zu runs: %zu computed, %zu with known flags, %zu faulted, %zu of lanes; %zu other "
	       "signals, %zu not placed; %zu wrong\n",
	       test.runs, test.computed, test.flags, test.faults, test.lanes, test.others,
	       test.skipped, test.wrong);
	want(&test, "runs", test.runs, RUNS_MIN);
	want(&test, "that computed", test.computed, COMPUTED_MIN);
	want(&test, "faults", test.faults, FAULTS_MIN);
	if (__builtin_cpu_supports("avx512bw"))
		want(&test, "of lanes", test.lanes, LANES_MIN);
	return test.wrong != 0;
}
