// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "injector/facts/analysis.h"

/* The function that starts at an address, or NULL. */
static const struct tramp_fn *function_at(const struct tramp_facts *facts, uint64_t addr)
{
	size_t at = search_first(i, facts->nfns, facts->fns[i].addr >= addr);

	return at < facts->nfns && facts->fns[at].addr == addr ? &facts->fns[at] : NULL;
}

static void measure(const struct tramp_code *code, struct inj_facts *f)
{
	const struct tramp_facts *facts = tramp_code_facts(code);
	const struct tramp_fn *fn = function_at(facts, f->addr);
	size_t left = 0;

	if (!tramp_code_at(code, f->addr, &left))
		left = 0;
	f->size = fn ? fn->size : 0;
	f->avail = left;
	if (fn && fn + 1 < facts->fns + facts->nfns && fn[1].addr - fn->addr < left)
		f->avail = fn[1].addr - fn->addr;
	f->nentries = (uint32_t)tramp_code_entries(code, f->addr, TRAMP_DISPLACED_MAX + 4, f->entries,
						   INJ_MAX_ENTRIES);
}

bool inj_analyze_code(const struct tramp_code *code, struct inj_facts *facts, size_t n)
{
	uint64_t *targets = calloc(n + 1, sizeof(*targets));
	struct tramp_keep *keeps = calloc(n + 1, sizeof(*keeps));
	bool done = targets && keeps;

	for (size_t i = 0; done && i < n; i++) {
		measure(code, &facts[i]);
		targets[i] = facts[i].addr;
	}
	done = done && tramp_keep_analyze(code, targets, n, keeps);
	for (size_t i = 0; done && i < n; i++)
		facts[i].keep = keeps[i];
	free(targets);
	free(keeps);
	return done;
}

static enum inj_status analyze(const struct inj_code_source *source, struct inj_facts *facts, size_t n)
{
	struct inj_codefacts code_facts;
	struct tramp_code *code;
	enum inj_status status = inj_codefacts_read(source->path, source->symbols, &code_facts);

	if (status != INJ_OK)
		return status == INJ_MEMORY ? status : INJ_NO_FILE;
	code_facts.facts.threads = source->threads;
	switch (tramp_code_new(&code_facts.facts, &code)) {
	case TRAMP_CODE_OK:
		status = inj_analyze_code(code, facts, n) ? INJ_OK : INJ_MEMORY;
		break;
	case TRAMP_CODE_MEMORY:
		status = INJ_MEMORY;
		break;
	default:
		status = INJ_NO_FILE;
	}
	tramp_code_free(code);
	inj_codefacts_free(&code_facts);
	return status;
}

enum inj_status inj_analyze(const struct inj_code_source *source, struct inj_facts *facts, size_t n)
{
	struct inj_code_key key = { 0 };
	enum inj_status status;

	if (source->cache_dir)
		key = inj_code_key(source);
	if (inj_cache_load(source->cache_dir, source->path, &key, facts, n))
		return INJ_OK;
	status = analyze(source, facts, n);
	if (status == INJ_OK)
		inj_cache_store(source->cache_dir, source->path, &key, facts, n);
	return status;
}
