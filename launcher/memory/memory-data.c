/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile for other programs: CSV as in RFC 4180, and JSON. */
#include "launcher/memory/memory.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracefmt/buffer.h"
#include "tracefmt/json.h"
#include "launcher/trace/sampled.h"

/* Nothing where it is not known. */
static void put_csv_misses(struct memory_misses m, FILE *out)
{
	if (m.known)
		fprintf(out, ",%.0f,%.4f,%.4f", m.misses, m.percent, m.error);
	else
		fputs(",,,", out);
}

static void put_csv_error(struct memory_count n, FILE *out)
{
	if (isfinite(n.error))
		fprintf(out, ",%.0f", n.error);
	else
		putc(',', out);
}

/* "f solve.c:12; main main.c:3" */
static void put_csv_callers(const char *callers, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *made = open_memstream(&text, &bytes);

	for (const char *p = callers ? callers : ""; made && *p; p++)
		fputs(*p == '\n' ? "; " : (char[]){ *p, 0 }, made);
	putc(',', out);
	if (made && fclose(made) == 0)
		units_csv(out, text);
	free(text);
}

static void put_csv(const struct memory_rows *rows, const struct memory_row *row, enum memory_by by, FILE *out)
{
	const struct memprofile_insn *s = &row->sum;
	double percent;
	struct memprofile_stride best = memprofile_dominant(s, &percent);

	units_csv(out, row->key.name);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, memory_accesses(s),
		memory_bytes(s), memory_loads(s), memory_stores(s), s->accesses[MD_PREFETCH]);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%.3f,%" PRIu64 ",%" PRIu64,
		s->moves, s->near, s->strided, s->moves - s->near - s->strided, best.by, percent,
		row->lines * MEMPROFILE_LINE, s->first);
	putc(',', out);
	units_csv(out, row->key.function);
	putc(',', out);
	units_csv(out, row->key.file);
	fprintf(out, ",%d,0x%" PRIx64 ",", row->key.line, row->key.address);
	units_csv(out, row->key.path);
	for (unsigned int k = 0; k < memory_ncaches(rows); k++)
		put_csv_misses(memory_misses(rows, row, k), out);
	if (rows->about.sampled)
		for (unsigned int k = MEMORY_ACCESSES; k <= MEMORY_STORES; k++)
			put_csv_error(memory_count(rows, row, (enum memory_counted)k), out);
	if (memory_by_name(by)) {
		fprintf(out, ",%s,%s,", row->key.kind ? row->key.kind : "", row->key.how ? row->key.how : "");
		units_csv(out, row->key.type);
	}
	if (by == MEMORY_BY_ALLOCATION)
		put_csv_callers(row->key.callers, out);
	if (rows->tagged) {
		putc(',', out);
		units_csv(out, row->expression);
	}
	putc('\n', out);
}

void memory_print_csv(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
{
	fputs("name,accesses,bytes,loads,stores,prefetches,moves,sequential,strided,random,stride,stride_percent,"
	      "footprint_bytes,first_touches,function,file,line,address,object", out);
	for (unsigned int k = 1; k <= memory_ncaches(rows); k++)
		fprintf(out, ",L%u_misses,L%u_percent,L%u_percent_error", k, k, k);
	if (rows->about.sampled)
		fputs(",accesses_error,bytes_error,loads_error,stores_error", out);
	if (memory_by_name(by))
		fputs(",kind,named_by,type", out);
	if (by == MEMORY_BY_ALLOCATION)
		fputs(",callers", out);
	if (rows->tagged)
		fputs(",expression", out);
	putc('\n', out);
	for (size_t i = 0; i < rows->n && i < limit; i++)
		put_csv(rows, rows->v[i], by, out);
}

/* ---- JSON ---- */

static void put_strides(struct tf_buf *b, const struct memprofile_insn *s)
{
	char text[64];
	bool any = false;

	tf_json_key(b, "strides");
	tf_buf_byte(b, '[');
	for (unsigned int k = 0; k < MEMPROFILE_STRIDES; k++) {
		if (!s->strides[k].n)
			continue;
		snprintf(text, sizeof text, "%s[%" PRId64 ",%" PRIu64 "]", any ? "," : "", s->strides[k].by,
			 s->strides[k].n);
		tf_buf_str(b, text);
		any = true;
	}
	tf_buf_byte(b, ']');
}

static void put_distances(struct tf_buf *b, const char *key, const uint64_t *v)
{
	unsigned int n = MEMPROFILE_DISTANCES;

	while (n && !v[n - 1])
		n--;
	tf_json_key(b, key);
	tf_buf_byte(b, '[');
	for (unsigned int k = 0; k < n; k++) {
		if (k)
			tf_buf_byte(b, ',');
		tf_json_number(b, v[k]);
	}
	tf_buf_byte(b, ']');
}

static void put_real(struct tf_buf *b, const char *key, double v)
{
	tf_json_real(b, key, "%.6g", v);
}

/* Without misses where they are not known. */
static void put_misses(struct tf_buf *b, const struct memory_rows *rows, const struct memory_row *row)
{
	tf_json_key(b, "caches");
	tf_buf_byte(b, '[');
	for (unsigned int k = 0; k < memory_ncaches(rows); k++) {
		struct memory_misses m = memory_misses(rows, row, k);
		char text[32];

		snprintf(text, sizeof text, "%s{\"name\":\"L%u\"", k ? "," : "", k + 1);
		tf_buf_str(b, text);
		tf_json_uint(b, "bytes", rows->about.caches.bytes[k]);
		if (m.known) {
			put_real(b, "misses", m.misses);
			put_real(b, "percent", m.percent);
			put_real(b, "percent_error", m.error);
		}
		tf_buf_byte(b, '}');
	}
	tf_buf_byte(b, ']');
}

static void put_errors(struct tf_buf *b, const struct memory_rows *rows, const struct memory_row *row)
{
	static const char *const keys[] = { "accesses_error", "bytes_error", "loads_error", "stores_error" };

	for (unsigned int k = MEMORY_ACCESSES; k <= MEMORY_STORES; k++) {
		struct memory_count n = memory_count(rows, row, (enum memory_counted)k);

		if (isfinite(n.error))
			put_real(b, keys[k], n.error);
	}
}

static void put_sampling(struct tf_buf *b, const struct sonde_trace_sampled *s)
{
	tf_json_str(b, "sampled_by", s->by);
	tf_json_uint(b, "bursts", s->bursts);
	if (s->lived)
		put_real(b, s->cpu_ns ? "cpu_share" : "time_share", sampled_share(s));
	if (s->all_units)
		put_real(b, "access_share", (double)s->on_units / (double)s->all_units);
}

static void put_callers(struct tf_buf *b, const char *callers)
{
	size_t n;

	tf_json_key(b, "callers");
	tf_buf_byte(b, '[');
	for (const char *p = callers; *p; p += n + (p[n] == '\n')) {
		if (p > callers)
			tf_buf_byte(b, ',');
		n = strcspn(p, "\n");
		tf_json_quoted_n(b, p, n);
	}
	tf_buf_byte(b, ']');
}

static void put_place(struct tf_buf *b, const struct memory_row *row, enum memory_by by)
{
	tf_json_str(b, "name", row->key.name);
	tf_json_str(b, "function", row->key.function);
	tf_json_str(b, "file", row->key.file);
	if (row->key.line)
		tf_json_int(b, "line", row->key.line);
	if (by == MEMORY_BY_LOOP)
		tf_json_uint(b, "depth", row->key.depth);
	if (row->key.address)
		tf_json_hex(b, "address", row->key.address);
	tf_json_str(b, "object", row->key.path);
	tf_json_str(b, "expression", row->expression);
	if (!memory_by_name(by))
		return;
	tf_json_str(b, "kind", row->key.kind);
	tf_json_str(b, "named_by", row->key.how);
	tf_json_str(b, "type", row->key.type);
	if (row->key.callers)
		put_callers(b, row->key.callers);
}

static void put_json(struct tf_buf *b, const struct memory_rows *rows, const char *type, const struct memory_row *row,
		     enum memory_by by)
{
	const struct memprofile_insn *s = &row->sum;

	tf_buf_clear(b);
	tf_json_begin(b, type);
	put_place(b, row, by);
	tf_json_uint(b, "accesses", memory_accesses(s));
	tf_json_uint(b, "bytes", memory_bytes(s));
	tf_json_uint(b, "loads", memory_loads(s));
	tf_json_uint(b, "stores", memory_stores(s));
	tf_json_uint(b, "prefetches", s->accesses[MD_PREFETCH]);
	tf_json_uint(b, "moves", s->moves);
	tf_json_uint(b, "sequential", s->near);
	tf_json_uint(b, "strided", s->strided);
	tf_json_uint(b, "random", s->moves - s->near - s->strided);
	put_strides(b, s);
	tf_json_uint(b, "footprint", row->lines * MEMPROFILE_LINE);
	tf_json_uint(b, "first", s->first);
	put_distances(b, "reuse", s->reuse);
	put_misses(b, rows, row);
	if (!rows->about.sampled)
		return;
	put_distances(b, "open", s->open);
	put_errors(b, rows, row);
}

bool memory_print_json(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
{
	static const char *const types[] = { "function", "loop", "line", "block", "instruction", "variable", "field", "allocation", "type" };
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t i = 0; i <= rows->n && good; i++) {
		if (i < rows->n && i >= limit)
			continue;
		put_json(&b, rows, i < rows->n ? types[by] : "total", i < rows->n ? rows->v[i] : &rows->total, by);
		if (i == rows->n)
			tf_json_uint(&b, "sampled", rows->looked_at);
		if (i == rows->n && rows->about.sampled)
			put_sampling(&b, &rows->about.how);
		if (i == rows->n && memory_by_name(by))
			memory_json_named(&b, &rows->named);
		good = units_json_end(&b, out);
	}
	tf_buf_free(&b);
	return good;
}
