/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that caches of cores take from each other, and bounds of how often, for nobody knows the order of all accesses. */
#include "launcher/cache/cache.h"
#include "base/array.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tracefmt/buffer.h"
#include "launcher/common/units.h"
#include "tracefmt/json.h"

void cache_lines_free(struct cache_lines *l)
{
	cache_order_free(l->order);
	free(l->v);
}

bool cache_lines_begin(struct cache_lines *l)
{
	l->order = cache_order_new();
	return l->order;
}

static bool take(struct cache_lines *l, unsigned int cache, const struct cache_times *times, const struct mt_access *v)
{
	const unsigned int shift = (unsigned int)__builtin_ctzll(l->system->level[0].line);
	const uint64_t end = v->addr + v->size - 1, last = (end < v->addr ? UINT64_MAX : end) >> shift;

	for (uint64_t line = v->addr >> shift; line <= last; line++)
		if (!cache_order_take(l->order, cache, line, (v->kind & MD_KIND) != MD_LOAD, times->from, times->to))
			return false;
	return true;
}

bool cache_lines_take(struct cache_lines *l, size_t thread, const struct cache_times *times, const struct mt_access *v, size_t n,
		      bool stack)
{
	const unsigned int cache = cache_core_of(l->system, thread) / (unsigned int)l->system->level[0].shared;

	for (size_t i = 0; i < n; i++) {
		if ((v[i].kind & MD_KIND) == MD_PREFETCH || !v[i].size || (v[i].kind & MD_STACK && !stack))
			continue;
		if (!take(l, cache, times, &v[i]))
			return false;
	}
	return true;
}

bool cache_lines_end(struct cache_lines *l, int pid)
{
	struct cache_order_line line;
	bool good = true;

	for (size_t i = 0; good && l->order && cache_order_line(l->order, i, &line); i++) {
		good = array_room(l->v, l->room, l->n + 1);
		if (good)
			l->v[l->n++] = (struct cache_line){ .pid = pid, .line = line };
	}
	cache_order_free(l->order);
	l->order = NULL;
	return good;
}

/* ---- output ---- */

static int compare(const void *a, const void *b)
{
	const struct cache_line *x = a, *y = b;
	const uint64_t p = x->line.invalidated.most, q = y->line.invalidated.most;

	if (p != q)
		return p < q ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->line.line < y->line.line ? -1 : x->line.line > y->line.line;
}

static void sort(struct cache_lines *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(l->v[0]), compare);
}

static uint64_t address(const struct cache_lines *l, const struct cache_line *line)
{
	return line->line.line * l->system->level[0].line;
}

static unsigned int caches(const struct cache_line *line)
{
	return (unsigned int)__builtin_popcountll(line->line.caches);
}

void cache_lines_table(struct cache_lines *l, uint64_t limit, FILE *out)
{
	const size_t n = l->n < limit ? l->n : (size_t)limit;

	sort(l);
	fprintf(out, "how often %u cores took lines of %" PRIu64 " bytes from each other's first caches, at least and at most:\n"
		"the times in the trace do not say the order of all accesses; no line leaves for lack of room\n\n",
		l->system->cores, l->system->level[0].line);
	fprintf(out, "%14s %12s  %14s %12s  %12s %12s  %6s  %-18s  %s\n", "invalidations:", "at most", "transfers:", "at most",
		"accesses", "stores", "caches", "address", "process");
	for (size_t i = 0; i < n; i++) {
		const struct cache_order_line *v = &l->v[i].line;

		fprintf(out, "%14" PRIu64 " %12" PRIu64 "  %14" PRIu64 " %12" PRIu64 "  %12" PRIu64 " %12" PRIu64 "  %6u  0x%-16" PRIx64
			"  %d\n", v->invalidated.least, v->invalidated.most, v->transfers.least, v->transfers.most, v->accesses,
			v->stores, caches(&l->v[i]), address(l, &l->v[i]), l->v[i].pid);
	}
	if (n < l->n)
		fprintf(out, "... and %zu more (--all shows them)\n", l->n - n);
	if (!l->n)
		fputs("no line was accessed by several, one of which stored to it\n", out);
}

void cache_lines_csv(struct cache_lines *l, uint64_t limit, FILE *out)
{
	sort(l);
	fputs("process,address,caches,accesses,stores,invalidated_least,invalidated_most,transfers_least,transfers_most\n", out);
	for (size_t i = 0; i < l->n && i < limit; i++) {
		const struct cache_order_line *v = &l->v[i].line;

		fprintf(out, "%d,0x%" PRIx64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", l->v[i].pid,
			address(l, &l->v[i]), caches(&l->v[i]), v->accesses, v->stores, v->invalidated.least, v->invalidated.most,
			v->transfers.least, v->transfers.most);
	}
}

bool cache_lines_json(struct cache_lines *l, uint64_t limit, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	sort(l);
	for (size_t i = 0; good && i < l->n && i < limit; i++) {
		const struct cache_order_line *v = &l->v[i].line;

		tf_json_begin(&b, "line");
		tf_json_int(&b, "process", l->v[i].pid);
		tf_json_hex(&b, "address", address(l, &l->v[i]));
		tf_json_uint(&b, "caches", caches(&l->v[i]));
		tf_json_uint(&b, "accesses", v->accesses);
		tf_json_uint(&b, "stores", v->stores);
		tf_json_uint(&b, "invalidated_least", v->invalidated.least);
		tf_json_uint(&b, "invalidated_most", v->invalidated.most);
		tf_json_uint(&b, "transfers_least", v->transfers.least);
		tf_json_uint(&b, "transfers_most", v->transfers.most);
		good = units_json_end(&b, out);
	}
	tf_buf_free(&b);
	return good;
}
