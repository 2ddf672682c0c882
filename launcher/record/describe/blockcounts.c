// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/record/describe/blockcounts.h"

#include <stdlib.h>

#include "launcher/blocks/blockfacts.h"
#include "launcher/common/message.h"
#include "memtrace/pack/blocks.h"
#include "trampolines/mirror/mirror.h"

_Static_assert(BLOCK_FACT_NUMBERS + 2 <= MT_BLOCK_FACTS, "facts of blocks");

#define BATCH 64

/* One object, while its functions are described: its control flow is found once more, as it was. */
struct description {
	const struct inj_session *s;
	struct tf_writer *w;
	const struct tramp_code *code;
	struct tramp_mirror *mirror;
	struct mt_block_function batch[BATCH]; /* not written yet */
	size_t n;
	bool failed;
};

/* Of a trace of blocks it is not known here. */
static bool was_executed(const struct inj_recorded *r, const uint64_t *sums, size_t n)
{
	bool any = !sums && r->memory;

	for (size_t i = r->index; sums && i < n && i < r->index + (size_t)r->counters; i++)
		any |= sums[i] != 0;
	return any;
}

static uint32_t index_of(uint32_t i)
{
	return i == TRAMP_NONE ? MT_NO_BLOCK : i;
}

static void put_block(struct mt_block *to, const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	struct block_facts facts = block_facts(flow, i);

	to->addr = tramp_code_base(flow->code) + b->start;
	to->size = b->end - b->start;
	to->loop = index_of(b->loop);
	block_facts_put(&facts, to->facts);
	to->facts[BLOCK_FACT_NUMBERS] = b->ends;
	to->facts[BLOCK_FACT_NUMBERS + 1] = b->target_addr;
}

/* @counted: else no edge has a counter. */
static void fill(struct mt_block_function *f, const struct tramp_mirror *m, uint32_t first, bool counted)
{
	const struct tramp_flow *flow = tramp_mirror_flow(m);
	struct tramp_mirror_trips trips;
	struct tramp_mirror_edge e;

	for (uint32_t i = 0; i < f->nblocks; i++)
		put_block(&f->blocks[i], flow, i);
	for (uint32_t i = 0; i < f->nedges && tramp_mirror_edge(m, i, &e); i++)
		f->edges[i] = (struct mt_block_edge){
			.from = index_of(e.edge.from), .to = index_of(e.edge.to),
			.counter = e.edge.counter == TRAMP_NONE || !counted ? MT_NO_BLOCK : first + e.edge.counter,
			.at = index_of(e.at), .before = tramp_code_base(flow->code) + e.before,
		};
	for (uint32_t i = 0; i < f->nloops; i++)
		f->loops[i] = (struct mt_block_loop){ flow->loops[i].head, index_of(flow->loops[i].parent), MT_NO_BLOCK };
	for (size_t i = 0; counted && tramp_mirror_trips(m, i, &trips); i++)
		f->loops[trips.loop].trips = first + trips.counter;
}

static void free_function(struct mt_block_function *f)
{
	free(f->blocks);
	free(f->edges);
	free(f->loops);
}

static void write_batch(struct description *d)
{
	if (d->n && mt_write_blocks(d->w, d->batch, d->n) != SONDE_TRACE_OK)
		d->failed = true;
	while (d->n)
		free_function(&d->batch[--d->n]);
}

/* As it was when it was instrumented: a jump may have stood at its entry, which leaves other places for windows. */
static bool plan_again(struct description *d, struct tramp_mirror_request *req)
{
	struct tramp_mirror_plan plan;

	if (tramp_mirror_plan(d->mirror, req, &plan) == TRAMP_MIRROR_OK)
		return true;
	req->want |= TRAMP_MIRROR_LED;
	return tramp_mirror_plan(d->mirror, req, &plan) == TRAMP_MIRROR_OK;
}

static bool add_function(struct description *d, const struct inj_recorded *r)
{
	struct tramp_mirror_request req = { .fn = tramp_code_function(d->code, r->file_addr), .want = TRAMP_MIRROR_BLOCKS };
	struct mt_block_function f = { .object = (uint32_t)r->object, .addr = r->file_addr };
	const struct tramp_flow *flow = tramp_mirror_flow(d->mirror);
	struct tramp_mirror_edge e;

	req.want |= d->s->opt.mirror.trips ? TRAMP_MIRROR_TRIPS : 0;
	if (req.fn == TRAMP_NONE || !plan_again(d, &req) ||
	    (r->counters && tramp_mirror_counters(d->mirror) != r->counters))
		return false;
	f.nblocks = flow->nblocks;
	while (tramp_mirror_edge(d->mirror, f.nedges, &e))
		f.nedges++;
	f.nloops = flow->nloops;
	f.unsure = flow->flags & (TRAMP_FLOW_UNSURE | TRAMP_FLOW_BAD_CODE | TRAMP_FLOW_OVERLAP);
	f.blocks = calloc(f.nblocks + (size_t)1, sizeof(*f.blocks));
	f.edges = calloc(f.nedges + (size_t)1, sizeof(*f.edges));
	f.loops = calloc(f.nloops + (size_t)1, sizeof(*f.loops));
	if (!f.blocks || !f.edges || !f.loops) {
		free_function(&f);
		return false;
	}
	fill(&f, d->mirror, r->index, r->counters);
	d->batch[d->n++] = f;
	if (d->n == BATCH)
		write_batch(d);
	return true;
}

static void end_object(struct description *d)
{
	tramp_mirror_free(d->mirror);
	d->mirror = NULL;
}

/* Functions of one object are together. */
static bool enter_object(struct description *d, const struct inj_recorded *r, size_t *object)
{
	struct inj_kept *kept = d->s->objects[r->object].kept;

	if (*object == r->object)
		return d->mirror != NULL;
	*object = r->object;
	end_object(d);
	if (!kept || !inj_kept_check(kept))
		return false;
	d->code = kept->code;
	/* what its code would be is of no interest */
	d->mirror = tramp_mirror_new(d->code, &(struct tramp_probe_env){ .mode = TRAMP_PROBE_BLOCKS }, NULL);
	return d->mirror != NULL;
}

void blockcounts_finish(const struct inj_session *s, struct tf_writer *w, const uint64_t *sums, size_t n)
{
	struct description d = { .s = s, .w = w };
	size_t object = SIZE_MAX;

	for (size_t i = 0; i < s->mirrors.n; i++) {
		const struct inj_recorded *r = &s->mirrors.v[i];

		if (r->state != INJ_RECORDED_OK || !was_executed(r, sums, n))
			continue;
		if (!enter_object(&d, r, &object) || !add_function(&d, r))
			d.failed = true;
	}
	write_batch(&d);
	if (d.failed)
		msg_error("some functions whose blocks were counted could not be described");
	end_object(&d);
}
