// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <string.h>

#include "base/array.h"
#include "injector/facts/facts.h"
#include "injector/mirror/weights.h"
#include "injector/mirror/work.h"
#include "injector/patch/session.h"
#include "tracefmt/ring.h"

bool inj_weights_keep(struct inj_mirrors *m, const struct inj_recorded *r, const struct tramp_weight *weights)
{
	if (!weights)
		return true;
	if (!array_room(m->weights, m->room_weights, r->index + (size_t)r->counters))
		return false;
	memcpy(m->weights + r->index, weights, r->counters * sizeof(*weights));
	return true;
}

void inj_weights_sum(const struct inj_session *s, const uint64_t *counts, size_t n, struct tramp_weight *sum)
{
	const struct inj_mirrors *m = &s->mirrors;

	n = n < m->next_index ? n : m->next_index;
	for (size_t i = RING_GONE_COUNTS; i < n; i++)
		if (counts[i])
			tramp_weight_add(sum, &m->weights[i], counts[i]);
}

/* The function that is counted whose code, or a part of it, holds link-time address @addr.  NULL: none. */
static const struct inj_recorded *counted_at(const struct inj_session *s, size_t object, uint64_t addr)
{
	const struct tramp_code *code = s->objects[object].kept ? s->objects[object].kept->code : NULL;
	const struct tramp_facts *facts = code ? tramp_code_facts(code) : NULL;

	for (uint32_t i = 0; facts && i < facts->nfns; i++) {
		const struct tramp_fn *owner = &facts->fns[tramp_code_owner(code, i)];

		if (addr - facts->fns[i].addr >= facts->fns[i].size)
			continue;
		for (size_t k = 0; k < s->mirrors.n; k++) {
			const struct inj_recorded *r = &s->mirrors.v[k];

			if (r->object == object && r->file_addr == owner->addr && r->counters)
				return r;
		}
	}
	return NULL;
}

/* As it was when it was instrumented: a jump may have stood at its entry, which leaves other places for windows. */
static bool plan_again(struct tramp_mirror *m, const struct tramp_code *code, const struct inj_recorded *r)
{
	struct tramp_mirror_request req = {
		.fn = tramp_code_function(code, r->file_addr), .want = TRAMP_MIRROR_BLOCKS | TRAMP_MIRROR_ACCESSES,
	};
	struct tramp_mirror_plan unused;

	if (req.fn == TRAMP_NONE)
		return false;
	if (tramp_mirror_plan(m, &req, &unused) == TRAMP_MIRROR_OK && tramp_mirror_counters(m) == r->counters)
		return true;
	req.want |= TRAMP_MIRROR_LED;
	return tramp_mirror_plan(m, &req, &unused) == TRAMP_MIRROR_OK && tramp_mirror_counters(m) == r->counters;
}

bool inj_weights_left(const struct inj_session *s, size_t object, uint64_t addr, int64_t net, struct tramp_weight *sum)
{
	const struct inj_recorded *r = counted_at(s, object, addr);
	const struct tramp_code *code = r ? s->objects[object].kept->code : NULL;
	struct tramp_mem_env memory = inj_work_memory(s);
	struct tramp_weight w;
	struct tramp_mirror *m;
	bool good;

	if (!r)
		return true;
	m = tramp_mirror_new(code, &(struct tramp_probe_env){ .mode = TRAMP_PROBE_BLOCKS }, NULL);
	if (m)
		tramp_mirror_memory(m, &memory, 0);
	good = m && plan_again(m, code, r) && tramp_mirror_left(m, (uint32_t)(addr - tramp_code_base(code)), &w);
	if (good)
		tramp_weight_add(sum, &w, (uint64_t)net);
	tramp_mirror_free(m);
	return good;
}
