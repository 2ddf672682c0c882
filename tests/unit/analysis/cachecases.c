// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/analysis/cachereference.h"

#include <string.h>

#define MAX_SETS 64
#define POLICIES (CACHE_QLRU + 1)

static uint64_t state = 88172645463325252;

uint64_t any(uint64_t below)
{
	return cache_random(&state) % below;
}

uint64_t farthest = UINT64_MAX / 2;

struct mt_access any_access(void)
{
	static const uint8_t kinds[] = { MD_LOAD, MD_LOAD, MD_LOAD, MD_STORE, MD_MODIFY };
	static const uint32_t sizes[] = { 1, 4, 8, 8, 16, 32, 64, 300 };
	uint64_t addr = any(4) ? 0x10000 + any(4096) : any(8) ? 0x10000 + any(40000) : any(2) ? any(8) << 20 : any(farthest);

	return (struct mt_access){ .addr = addr, .size = sizes[any(8)], .kind = kinds[any(5)], .insn = 100 + any(5) };
}

struct cache_level level(uint64_t sets, uint64_t ways, uint64_t line, enum cache_policy policy, bool through)
{
	return (struct cache_level){ .lines = sets * ways, .ways = ways, .line = line, .policy = policy, .seed = 7,
				     .through = through, .qlru = { .hit3 = 1, .hit2 = 1, .insert = 1 } };
}

struct cache_system any_system(void)
{
	struct cache_system s = { .ncaches = 1 + (unsigned int)any(4) };
	uint64_t line = UINT64_C(8) << any(5);

	for (unsigned int k = 0; k < s.ncaches; k++) {
		enum cache_policy policy = (enum cache_policy)any(POLICIES);
		uint64_t ways = policy == CACHE_TREE_PLRU ? UINT64_C(1) << any(7) :
				policy == CACHE_QLRU ? 2 + any(31) : 1 + any(MAX_WAYS / (1 + any(8)));
		uint64_t sets = any(2) ? UINT64_C(1) << any(7) : 1 + any(MAX_SETS);
		struct cache_level *l = &s.level[k];

		line <<= any(2);
		*l = level(sets, ways, line, policy, any(3) == 0);
		if (!k)
			continue;
		l->holds = (enum cache_holds)any(3);
		if (l->holds == CACHE_EXCLUSIVE && (l[-1].through || l->through || l[-1].line != line))
			l->holds = CACHE_ANY;
	}
	return s;
}

void sum_up(const struct cache_sim *sim, size_t system, struct cache_count *sums)
{
	struct cache_insn insn;

	memset(sums, 0, CACHE_LEVELS * sizeof(*sums));
	for (size_t i = 0; cache_sim_insn(sim, i, &insn); i++) {
		struct cache_count v[CACHE_LEVELS];

		cache_sim_counts(sim, i, system, v);
		for (unsigned int k = 0; k < CACHE_LEVELS; k++) {
			sums[k].hits += v[k].hits;
			sums[k].misses += v[k].misses;
			sums[k].written += v[k].written;
			sums[k].prefetched += v[k].prefetched;
			sums[k].compulsory += v[k].compulsory;
			sums[k].capacity += v[k].capacity;
			sums[k].invalidated += v[k].invalidated;
			sums[k].upgrades += v[k].upgrades;
			sums[k].transfers += v[k].transfers;
		}
	}
}
