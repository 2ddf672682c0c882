// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/image/analysis.h"

/* Branches from elsewhere into what the patches of these functions may cover. */
static struct tramp_branch *find_branches(const struct inj_text *text,
					  const struct tramp_range *ranges, size_t n, size_t *found)
{
	const struct tramp_object *o = &text->code;
	struct tramp_branch *v = calloc(n + 16, sizeof(*v));
	size_t room = n + 16;

	*found = 0;
	while (v) {
		*found = tramp_find_branches(o->code, o->len, o->addr, ranges, n, v, room);
		if (*found <= room)
			break;
		free(v);
		room = *found + 16;
		v = calloc(room, sizeof(*v));
	}
	return v;
}

/* Those that concern one function; their number may be more than are kept. */
static void give_branches(struct inj_facts *f, uint64_t base, const struct tramp_branch *v, size_t n)
{
	f->nbranches = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t to = v[i].to - base;

		if (to < f->addr || to - f->addr >= TRAMP_DISPLACED_MAX)
			continue;
		if (f->nbranches < INJ_MAX_BRANCHES) {
			f->branches[f->nbranches].from = v[i].from ? v[i].from - base : 0;
			f->branches[f->nbranches].to = to;
		}
		f->nbranches++;
	}
	/* more than enough to refuse it: keep the first ones */
	if (f->nbranches > INJ_MAX_BRANCHES)
		f->nbranches = INJ_MAX_BRANCHES;
}

static enum inj_status analyze(struct inj_session *s, size_t object, const struct inj_text *text,
			       struct inj_facts *facts, size_t n)
{
	uint64_t base = s->objects[object].base;
	struct tramp_range *ranges = calloc(n + 1, sizeof(*ranges));
	uint64_t *targets = calloc(n + 1, sizeof(*targets));
	struct tramp_keep *keeps = calloc(n + 1, sizeof(*keeps));
	struct tramp_branch *branches = NULL;
	struct tramp_object code = text->code;
	size_t nbranches = 0;
	bool done = ranges && targets && keeps;

	for (size_t i = 0; done && i < n; i++) {
		targets[i] = base + facts[i].addr;
		ranges[i] = (struct tramp_range){ targets[i], facts[i].size };
	}
	if (done)
		branches = find_branches(text, ranges, n, &nbranches);
	code.functions = inj_text_functions(s, object, &code.nfunctions);
	done = branches && code.functions && tramp_keep_analyze(&code, targets, n, keeps);
	for (size_t i = 0; done && i < n; i++) {
		facts[i].keep = keeps[i];
		give_branches(&facts[i], base, branches, nbranches);
	}
	free((void *)(uintptr_t)code.functions);
	free(branches);
	free(ranges);
	free(targets);
	free(keeps);
	return done ? INJ_OK : INJ_MEMORY;
}

enum inj_status inj_analyze(struct inj_session *s, size_t object, const struct inj_text *text,
			    struct inj_facts *facts, size_t n)
{
	const char *path = s->objects[object].path;
	enum inj_status status;

	/* what is not the file's own code (relocated, deleted) is not the cache's either */
	if (text->from_file && inj_cache_load(s, path, facts, n))
		return INJ_OK;
	status = analyze(s, object, text, facts, n);
	if (status == INJ_OK && text->from_file)
		inj_cache_store(s, path, facts, n);
	return status;
}
