// SPDX-License-Identifier: MIT
/* From chunks of a thread's memory stream to batches for modules. */
#include "runtime/memory/batches.h"

_Static_assert(sizeof(struct sonde_access_word) == sizeof(struct mt_access) &&
		       offsetof(struct sonde_access_word, address) == offsetof(struct mt_access, addr) &&
		       offsetof(struct sonde_access_word, size) == offsetof(struct mt_access, size) &&
		       offsetof(struct sonde_access_word, kind) == offsetof(struct mt_access, kind) &&
		       offsetof(struct sonde_access_word, instruction) ==
			       offsetof(struct mt_access, insn),
	       "modules are given the machine's accesses as they are");
_Static_assert((int)SONDE_STORE == (int)MD_STORE && (int)SONDE_MODIFY == (int)MD_MODIFY &&
		       (int)SONDE_PREFETCH == (int)MD_PREFETCH &&
		       SONDE_ACCESS_KIND == (int)MD_KIND && SONDE_ACCESS_STACK == (int)MD_STACK &&
		       sizeof(struct sonde_counts) == sizeof(struct mt_counts),
	       "kinds are the machine's");
_Static_assert(SONDE_ACCESS_KINDS == 4, "of struct mt_counts");

enum { LEAST_NODES = 1 << 20 };

/* mt_machine_limit(): without a word; and without an access, if these are not only counted. */
#define NODES (UINT64_C(1) << 32)

void batch_want(struct batch_wants *wants, const struct sonde_module *module)
{
	for (const struct sonde_memory_hook *const *h = module->memory_begin; h < module->memory_end; h++) {
		wants->accesses |= (*h)->batch != NULL;
		wants->counts |= (*h)->counts != NULL;
	}
}

void batch_hooks(const struct sonde_module *m, struct sonde_thread *thread, const struct sonde_batch *all)
{
	for (const struct sonde_memory_hook *const *h = m->memory_begin; h < m->memory_end; h++) {
		struct sonde_batch batch = *all;

		batch.thread = thread;
		if ((*h)->batch && all->next)
			(*h)->batch(&batch);
		if ((*h)->counts)
			(*h)->counts(&batch);
	}
}

/* ---- batches ---- */

static void count(struct sonde_counts *counts, const struct mt_access *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned int kind = v[i].kind & MD_KIND;

		if (kind >= SONDE_ACCESS_KINDS)
			continue;
		counts->accesses[kind]++;
		counts->bytes[kind] += v[i].size;
	}
}

static bool give_some(struct batcher *b, const struct mt_access *v, size_t n)
{
	struct sonde_batch batch = {
		.next = (const struct sonde_access_word *)(const void *)v,
		.end = (const struct sonde_access_word *)(const void *)(v + n),
	};

	if (b->wants.counts)
		count(&batch.counts, v, n);
	return !n || b->give(b, &batch);
}

/* What is between two times is a batch. */
static bool give_accesses(struct batcher *b, enum mt_status *status)
{
	const struct mt_access *v = b->v, *at = v, *end = v + mt_next(b->machine, b->v, b->size, status);

	if (at == end)
		return false;
	for (; at < end; at++) {
		if (at->kind != MD_TIME)
			continue;
		if (!give_some(b, v, (size_t)(at - v)))
			return false;
		v = at + 1;
		if (at->addr < b->time)
			continue;
		b->time = at->addr;
		b->exact = true;
	}
	return give_some(b, v, (size_t)(end - v));
}

static enum mt_status give_counts(struct batcher *b)
{
	struct sonde_batch batch = { 0 };
	struct mt_counts counts = { 0 };
	enum mt_status status = mt_count(b->machine, 1, &counts);

	__builtin_memcpy(&batch.counts, &counts, sizeof(batch.counts));
	b->give(b, &batch);
	return status;
}

/* ---- chunks ---- */

/*
 * After the last words comes what needs none, until some would be needed.  A thread that was stopped in a loop that
 * is computed, by another one's exit(), would never come to an end: more than this no processor does in @ticks.
 * Returns how many batches there may be.
 */
static uint64_t bound(struct batcher *b, uint64_t ticks)
{
	uint64_t nodes = b->wants.accesses ? 4 * ticks : ticks / 64;

	mt_machine_limit(b->machine, nodes < LEAST_NODES ? LEAST_NODES : nodes);
	return 16 * ticks / b->size + 1;
}

enum mt_status batch_chunk(struct batcher *b, const void *chunk, size_t bytes)
{
	struct md_chunk head = { 0 };
	uint64_t most = UINT64_MAX;
	enum mt_status status;

	if (bytes >= sizeof(head))
		__builtin_memcpy(&head, chunk, sizeof(head));
	if (head.kind == MD_CHUNK_END)
		most = bound(b, head.tsc > b->tsc ? head.tsc - b->tsc : 0);
	else
		mt_machine_limit(b->machine, NODES);
	b->tsc = b->time = head.tsc;
	b->exact = false;
	status = mt_feed(b->machine, chunk, bytes);
	if (status != MT_OK)
		return status;
	if (!b->wants.accesses)
		return b->wants.counts ? give_counts(b) : MT_OK;
	while (most-- && give_accesses(b, &status))
		;
	return status;
}
