// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * tramp_code_entries() has to find, in the C library or in the files named, every branch from one
 * function into the first bytes of another that decoding all functions from their starts finds. It
 * may take a few bytes for branches that are none: fewer than one for a hundred functions.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <Zydis/Zydis.h>

#include "tests/unit/flow/bytes.h"
#include "tests/unit/wrap/elf.h"
#include "trampolines/trampoline.h"

enum { COVERED = 4 + TRAMP_PATCH_MAX, ROOM = 1 << 16 };

struct state {
	const struct elf_code *code;
	struct tramp_branch *found;
	bool *confirmed;
	size_t nfound;
	size_t expected;
	size_t missed;
};

/* The function that starts last before `addr`. */
static const struct elf_function *function_before(const struct elf_code *code, uint64_t addr)
{
	size_t low = 0, high = code->nfunctions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (code->functions[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < code->nfunctions && code->functions[low].addr == addr)
		return NULL;
	return low ? &code->functions[low - 1] : NULL;
}

static void expect(struct state *s, uint64_t from, size_t length, uint64_t to)
{
	for (size_t i = 0; i < s->nfound; i++) {
		if (s->found[i].to == to && s->found[i].from - from < length) {
			s->confirmed[i] = true;
			return;
		}
	}
	printf("missed: %#" PRIx64 " to %#" PRIx64 "\n", from, to);
	s->missed++;
}

static void sweep(struct state *s, const struct elf_function *fn, const ZydisDecoder *decoder)
{
	ZydisDecodedInstruction insn;

	for (size_t at = 0; at < fn->size; at += insn.length) {
		const struct elf_function *other;
		uint64_t target;

		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, NULL, fn->code + at,
							      fn->size - at, &insn)))
			return;
		if (!insn.raw.imm[0].is_relative)
			continue;
		target = fn->addr + at + insn.length + insn.raw.imm[0].value.u;
		other = function_before(s->code, target);
		if (!other || other == fn || target - other->addr >= COVERED)
			continue;
		s->expected++;
		expect(s, fn->addr + at, insn.length, target);
	}
}

/* Into the first bytes of one function: all that lead to each place where it is entered. */
static void find_into(struct state *s, const struct tramp_code *code, const struct elf_function *fn,
		      size_t len)
{
	uint64_t entries[COVERED];
	size_t n = tramp_code_entries(code, fn->addr + 1, (len < COVERED ? len : COVERED) - 1, entries,
				      COVERED);

	for (size_t i = 0; i < n; i++) {
		const struct tramp_site *sites;
		size_t nsites = tramp_code_sites(code, entries[i], &sites);

		for (size_t k = 0; k < nsites; k++) {
			if (s->nfound == ROOM)
				errx(1, "too many branches");
			s->found[s->nfound++] = (struct tramp_branch){
				tramp_code_base(code) + sites[k].from, entries[i]
			};
		}
	}
}

static void find(struct state *s)
{
	const struct elf_code *code = s->code;
	struct bytes_range *functions = calloc(code->nfunctions + 1, sizeof(*functions));
	struct bytes_code object;

	s->found = calloc(ROOM, sizeof(*s->found));
	s->confirmed = calloc(ROOM, sizeof(*s->confirmed));
	if (!functions || !s->found || !s->confirmed)
		err(99, "branches");
	for (size_t i = 0; i < code->nfunctions; i++) {
		functions[i].addr = code->functions[i].addr;
		functions[i].size = code->functions[i].size;
	}
	bytes_code_open(&object, code->text, code->text_size, code->text_addr, functions, code->nfunctions);
	for (size_t i = 0; i < code->nfunctions; i++) {
		uint64_t end = i + 1 < code->nfunctions ? functions[i + 1].addr :
							  code->text_addr + code->text_size;

		find_into(s, object.code, &code->functions[i], end - functions[i].addr);
	}
	bytes_code_close(&object);
	free(functions);
}

/* Found, but in no instruction that decoding from a function's start finds. */
static size_t count_false(const struct state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nfound; i++) {
		const struct elf_function *fn = function_before(s->code, s->found[i].to);

		if (s->confirmed[i] || s->found[i].to - fn->addr >= COVERED)
			continue;
		printf("false: %#" PRIx64 " to %#" PRIx64 "\n", s->found[i].from, s->found[i].to);
		n++;
	}
	return n;
}

static bool check_file(const char *path)
{
	struct elf_code code;
	struct state s = { .code = &code };
	ZydisDecoder decoder;
	size_t nfalse;
	bool failed;

	elf_code_open(&code, path, true);
	find(&s);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < code.nfunctions; i++)
		sweep(&s, &code.functions[i], &decoder);
	nfalse = count_false(&s);
	printf("%s: %zu functions, %zu branches into others' first bytes, %zu missed, %zu false\n",
	       path, code.nfunctions, s.expected, s.missed, nfalse);
	failed = s.missed || s.expected == 0 || nfalse * 100 > code.nfunctions;
	free(s.found);
	free(s.confirmed);
	elf_code_close(&code);
	return failed;
}

int main(int argc, char **argv)
{
	bool failed = false;

	if (argc == 1)
		failed = check_file(elf_libc_path());
	for (int i = 1; i < argc; i++)
		failed |= check_file(argv[i]);
	return failed;
}
