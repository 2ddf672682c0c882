// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/injector/codefacts_support.h"

#include <string.h>

size_t function_with(const struct inj_codefacts *f, uint64_t addr)
{
	size_t lo = 0, hi = f->facts.nfns;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->facts.fns[mid].addr + f->facts.fns[mid].size <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->facts.nfns && f->facts.fns[lo].addr <= addr ? lo : f->facts.nfns;
}

bool has_address(const uint64_t *sorted, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sorted[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && sorted[lo] == addr;
}

/* Is all of it code of one piece? */
static bool is_code(const struct inj_codefacts *f, uint64_t addr, uint64_t size)
{
	for (size_t i = 0; i < f->facts.nbytes; i++) {
		const struct tramp_bytes *b = &f->facts.bytes[i];

		if (b->code && addr >= b->addr && addr - b->addr < b->len)
			return size <= b->len - (addr - b->addr);
	}
	return false;
}

static void check_bytes(const struct inj_codefacts *f)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < f->facts.nbytes; i++) {
		const struct tramp_bytes *b = &f->facts.bytes[i];

		REQUIRE(b->len && b->bytes);
		REQUIRE(i == 0 || b[-1].addr + b[-1].len <= b->addr);
		REQUIRE(!b->code || (b->addr >= f->text_lo && b->addr + b->len <= f->text_hi));
		sum += b->bytes[0] + b->bytes[b->len - 1]; /* can be read */
	}
	REQUIRE(sum < UINT32_MAX);
	REQUIRE(f->text_lo < f->text_hi);
}

static void check_functions(const struct inj_codefacts *f)
{
	for (size_t i = 0; i < f->facts.nfns; i++) {
		const struct tramp_fn *fn = &f->facts.fns[i];

		REQUIRE(fn->size && is_code(f, fn->addr, fn->size));
		REQUIRE(i == 0 || fn[-1].addr + fn[-1].size <= fn->addr);
		REQUIRE(fn->parent == TRAMP_NONE || fn->parent < f->facts.nfns);
		REQUIRE(fn->parent != i);
		REQUIRE(f->fn[i].name && f->fn[i].name[0]);
		REQUIRE((f->fn[i].flags & INJ_FN_SYMBOL) ||
			strncmp(f->fn[i].name, "sub_", 4) == 0);
	}
}

static void check_list(const struct inj_codefacts *f, const uint64_t *v, size_t n, bool code)
{
	for (size_t i = 0; i < n; i++) {
		REQUIRE(i == 0 || v[i - 1] < v[i]);
		REQUIRE(!code || is_code(f, v[i], 1));
	}
}

void check_facts(const struct inj_codefacts *f)
{
	check_bytes(f);
	check_functions(f);
	check_list(f, f->facts.taken, f->facts.ntaken, true);
	check_list(f, f->facts.pads, f->facts.npads, true);
	check_list(f, f->facts.noreturn, f->facts.nnoreturn, false);
	check_list(f, f->facts.own, f->facts.nown, false);
	check_list(f, f->sigaction, f->nsigaction, true);
	for (size_t i = 0; i < f->nsigaction; i++)
		REQUIRE(is_code(f, f->sigaction[i], 2));
}
