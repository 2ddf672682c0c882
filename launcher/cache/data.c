/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For other programs: CSV as in RFC 4180, a line for each row, system and level; and JSON. */
#include "launcher/cache/cache.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <math.h>

#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

void cache_csv_place(const struct cache_row *row, FILE *out)
{
	units_csv(out, row->key.function);
	putc(',', out);
	units_csv(out, row->key.file);
	fprintf(out, ",%d,0x%" PRIx64 ",", row->key.line, row->key.address);
	units_csv(out, row->key.path);
}

void cache_csv_end(const struct cache_rows *rows, const struct cache_row *row, FILE *out)
{
	if (rows->accessed) {
		fprintf(out, ",%s,%s,", row->key.kind ? row->key.kind : "", row->key.how ? row->key.how : "");
		units_csv(out, row->key.type);
	}
	putc('\n', out);
}

static void put_csv(const struct cache_rows *rows, size_t s, const struct cache_row *row, unsigned int k, FILE *out)
{
	const struct cache_system *system = &rows->systems->v[s];
	const struct cache_count *count = &row->counts[s][k];

	units_csv(out, rows->systems->v[s].name);
	putc(',', out);
	units_csv(out, rows->systems->v[s].level[k].name);
	putc(',', out);
	units_csv(out, row->key.name);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->sum.accesses,
		row->sum.loads, row->sum.stores, count->hits, count->misses, count->written);
	cache_csv_place(row, out);
	if (rows->classified && k < system->ncaches)
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, count->compulsory, count->capacity,
			count->misses - count->compulsory - count->capacity);
	else
		fputs(",,,", out);
	if (!k && cache_has_latencies(system))
		fprintf(out, ",%" PRIu64, cache_cycles(row, rows->systems, s));
	else
		putc(',', out);
	if (cache_is_coherent(system, k))
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, count->invalidated, count->upgrades, count->transfers);
	else
		fputs(",,,", out);
	if (system->level[k].prefetch)
		fprintf(out, ",%" PRIu64, count->prefetched);
	else
		putc(',', out);
	if (row->insns)
		fprintf(out, ",%" PRIu64, row->insns);
	else
		putc(',', out);
	cache_csv_end(rows, row, out);
}

void cache_print_csv(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out)
{
	fputs("system,level,name,accesses,loads,stores,hits,misses,written,function,file,line,address,object,"
	      "compulsory,capacity,conflict,cycles,invalidated,upgrades,transfers,prefetched,instructions", out);
	fputs(rows->accessed ? CACHE_CSV_ACCESSED "\n" : "\n", out);
	for (size_t s = 0; s < rows->systems->n; s++) {
		cache_rows_sort(rows, s, key);
		for (size_t i = 0; i < rows->n && i < limit; i++)
			for (unsigned int k = 0; k < cache_levels(&rows->systems->v[s]); k++)
				put_csv(rows, s, rows->v[i], k, out);
	}
}

/* ---- JSON ---- */

/* A member of an object in a list, which has no commas yet. */
static void begin_item(struct tf_buf *b, unsigned int k, const char *name)
{
	tf_buf_str(b, k ? ",{\"name\":" : "{\"name\":");
	tf_json_quoted(b, name);
}

static void put_level(struct tf_buf *b, const struct cache_level *l, bool tlb, unsigned int k)
{
	char policy[CACHE_POLICY_MAX];

	cache_policy_name(l, policy);
	begin_item(b, k, l->name);
	tf_json_str(b, "kind", tlb ? "tlb" : "cache");
	tf_json_uint(b, tlb ? "entries" : "bytes", tlb ? l->lines : l->lines * l->line);
	tf_json_uint(b, "ways", l->ways);
	tf_json_uint(b, tlb ? "page" : "line", l->line);
	tf_json_str(b, "policy", policy);
	tf_json_str(b, "write", l->through ? "through" : "back");
	tf_json_str(b, "holds", cache_holds_name(l->holds));
	if (l->prefetch)
		tf_json_str(b, "prefetch", cache_prefetch_name(l->prefetch));
	if (l->latency != CACHE_NO_LATENCY)
		tf_json_uint(b, "latency", l->latency);
	if (l->shared)
		tf_json_uint(b, "shared", l->shared);
	tf_buf_byte(b, '}');
}

static bool put_system(struct tf_buf *b, const struct cache_system *s, FILE *out)
{
	tf_json_begin(b, "system");
	tf_json_str(b, "name", s->name);
	tf_json_str(b, "about", s->about);
	tf_json_str(b, "source", s->source);
	if (s->cores)
		tf_json_uint(b, "cores", s->cores);
	if (s->memory != CACHE_NO_LATENCY)
		tf_json_uint(b, "memory_latency", s->memory);
	if (s->walk != CACHE_NO_LATENCY)
		tf_json_uint(b, "walk_latency", s->walk);
	tf_json_key(b, "levels");
	tf_buf_byte(b, '[');
	for (unsigned int k = 0; k < cache_levels(s); k++)
		put_level(b, &s->level[k], k >= s->ncaches, k);
	tf_buf_byte(b, ']');
	return units_json_end(b, out);
}

void cache_json_place(struct tf_buf *b, const struct cache_row *row)
{
	tf_json_str(b, "name", row->key.name);
	tf_json_str(b, "function", row->key.function);
	tf_json_str(b, "file", row->key.file);
	if (row->key.line)
		tf_json_int(b, "line", row->key.line);
	if (row->key.address)
		tf_json_hex(b, "address", row->key.address);
	tf_json_str(b, "object", row->key.path);
	tf_json_str(b, "kind", row->key.kind);
	tf_json_str(b, "named_by", row->key.how);
	tf_json_str(b, "type", row->key.type);
}

static void put_classes(struct tf_buf *b, const struct cache_count *count)
{
	tf_json_uint(b, "compulsory", count->compulsory);
	tf_json_uint(b, "capacity", count->capacity);
	tf_json_uint(b, "conflict", count->misses - count->compulsory - count->capacity);
}

static void put_coherence(struct tf_buf *b, const struct cache_count *count)
{
	tf_json_uint(b, "invalidated", count->invalidated);
	tf_json_uint(b, "upgrades", count->upgrades);
	tf_json_uint(b, "transfers", count->transfers);
}

static bool put_json(struct tf_buf *b, const struct cache_rows *rows, size_t s, const struct cache_row *row,
		     const char *type, FILE *out)
{
	const struct cache_system *system = &rows->systems->v[s];

	tf_json_begin(b, type);
	tf_json_str(b, "system", system->name);
	cache_json_place(b, row);
	tf_json_uint(b, "accesses", row->sum.accesses);
	tf_json_uint(b, "loads", row->sum.loads);
	tf_json_uint(b, "stores", row->sum.stores);
	if (row == &rows->total && rows->accessed)
		memory_json_named(b, &rows->named);
	if (row->insns)
		tf_json_uint(b, "instructions", row->insns);
	if (cache_has_latencies(system))
		tf_json_uint(b, "cycles", cache_cycles(row, rows->systems, s));
	tf_json_key(b, "levels");
	tf_buf_byte(b, '[');
	for (unsigned int k = 0; k < cache_levels(system); k++) {
		begin_item(b, k, system->level[k].name);
		tf_json_uint(b, "hits", row->counts[s][k].hits);
		tf_json_uint(b, "misses", row->counts[s][k].misses);
		tf_json_uint(b, "written", row->counts[s][k].written);
		if (system->level[k].prefetch)
			tf_json_uint(b, "prefetched", row->counts[s][k].prefetched);
		if (row == &rows->total && rows->groups && isfinite(cache_rows_error(rows, s, k)))
			tf_json_real(b, "error_percent", "%.4f", cache_rows_error(rows, s, k));
		if (rows->classified && k < system->ncaches)
			put_classes(b, &row->counts[s][k]);
		if (cache_is_coherent(system, k))
			put_coherence(b, &row->counts[s][k]);
		tf_buf_byte(b, '}');
	}
	tf_buf_byte(b, ']');
	return units_json_end(b, out);
}

bool cache_list_json(const struct cache_systems *list, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t s = 0; good && s < list->n; s++)
		good = put_system(&b, &list->v[s], out);
	tf_buf_free(&b);
	return good;
}

bool cache_print_json(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t s = 0; good && s < rows->systems->n; s++) {
		cache_rows_sort(rows, s, key);
		good = put_system(&b, &rows->systems->v[s], out);
		for (size_t i = 0; good && i < rows->n && i < limit; i++)
			good = put_json(&b, rows, s, rows->v[i], by, out);
		good = good && put_json(&b, rows, s, &rows->total, "total", out);
	}
	tf_buf_free(&b);
	return good;
}
