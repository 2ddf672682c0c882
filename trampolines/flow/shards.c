// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The pass over all code, by several threads: each takes functions that lie together, and notes what it finds
 * in maps and lists of its own.  Maps are united, lists concatenated in the order of the code, so
 * that the result does not depend on the number of threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trampolines/flow/code.h"

enum {
	SHARDS_MAX = 4,
	SHARD_BYTES = 256 << 10,	/* of code, that are worth a thread */
};

struct shard {
	struct flow_scan scan;
	struct tramp_code code;		/* the object, with maps of its own */
	uint32_t first, end;		/* functions */
	bool running;
	pthread_t thread;
};

static size_t words_of(const struct tramp_code *code)
{
	return (code->end - code->base) / 64 + 1;
}

static void *run(void *arg)
{
	struct shard *s = arg;

	tramp_flow_scan_part(&s->scan, s->first, s->end);
	return NULL;
}

/* The functions that begin in the k-th of n parts of the code. */
static uint32_t border(const struct tramp_code *code, size_t k, size_t n)
{
	const struct tramp_facts *facts = code->facts;
	uint64_t at = code->base + (code->end - code->base) / n * k;

	if (k == 0 || k == n)
		return k ? (uint32_t)facts->nfns : 0;
	return (uint32_t)search_first(i, facts->nfns, facts->fns[i].addr >= at);
}

static bool prepare(struct shard *s, const struct tramp_code *code)
{
	size_t words = words_of(code);

	s->code = *code;
	s->code.external = calloc(words, sizeof(uint64_t));
	s->code.bits = calloc(code->facts->nfns + 1, sizeof(uint16_t));
	s->scan.code = &s->code;
	s->scan.decoder = tramp_flow_decoder_new();
	s->scan.starts = calloc(words, sizeof(uint64_t));
	s->scan.wanted = calloc(words, sizeof(uint64_t));
	return s->code.external && s->code.bits && s->scan.decoder && s->scan.starts &&
	       s->scan.wanted;
}

static void release(struct shard *s)
{
	free(s->code.external);
	free(s->code.bits);
	free(s->scan.decoder);
	free(s->scan.starts);
	free(s->scan.wanted);
	free(s->scan.crosses.items);
	free(s->scan.sites.items);
	free(s->scan.bases.items);
	free(s->scan.ends.items);
	free(s->scan.passes.items);
}

/* Signals are for the threads that know what to do with them. */
static void start(struct shard *s)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->running = pthread_create(&s->thread, NULL, run, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void unite(uint64_t *map, const uint64_t *more, size_t words)
{
	for (size_t i = 0; i < words; i++)
		map[i] |= more[i];
}

static void put_behind(struct flow_scan *scan, struct flow_list *list, const struct flow_list *more,
		       size_t size)
{
	for (size_t i = 0; i < more->n; i++)
		tramp_flow_append(scan, list, (const char *)more->items + i * size, size);
}

static void merge(struct flow_scan *scan, struct shard *s)
{
	size_t words = words_of(scan->code);

	unite(scan->code->external, s->code.external, words);
	unite(scan->starts, s->scan.starts, words);
	unite(scan->wanted, s->scan.wanted, words);
	for (size_t i = 0; i < scan->code->facts->nfns; i++)
		scan->code->bits[i] |= s->code.bits[i];
	scan->code->large_model |= s->code.large_model;
	put_behind(scan, &scan->crosses, &s->scan.crosses, sizeof(struct flow_cross));
	put_behind(scan, &scan->sites, &s->scan.sites, sizeof(struct tramp_site));
	put_behind(scan, &scan->bases, &s->scan.bases, sizeof(struct flow_base));
	put_behind(scan, &scan->ends, &s->scan.ends, sizeof(struct flow_tie));
	put_behind(scan, &scan->passes, &s->scan.passes, sizeof(struct flow_tie));
	scan->no_memory |= s->scan.no_memory;
}

static size_t shards_worth(const struct tramp_code *code)
{
	size_t n = (code->end - code->base) / SHARD_BYTES;

	n = n < code->facts->threads ? n : code->facts->threads;
	return n < SHARDS_MAX ? n : SHARDS_MAX;
}

/* The first part is this thread's own, without maps to be united; so are those that get no thread. */
void tramp_flow_scan(struct flow_scan *scan)
{
	struct shard shards[SHARDS_MAX] = { 0 };
	size_t n = shards_worth(scan->code);

	n = n ? n : 1;
	for (size_t k = 1; k < n; k++) {
		struct shard *s = &shards[k];

		s->first = border(scan->code, k, n);
		s->end = border(scan->code, k + 1, n);
		if (prepare(s, scan->code))
			start(s);
	}
	tramp_flow_scan_part(scan, 0, border(scan->code, 1, n));
	for (size_t k = 1; k < n; k++) {
		struct shard *s = &shards[k];

		if (s->running) {
			pthread_join(s->thread, NULL);
			merge(scan, s);
		} else {
			tramp_flow_scan_part(scan, s->first, s->end);
		}
		release(s);
	}
}
