/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory accesses by loop, and the share that misses in caches of all sizes. */
#include "launcher/html/html.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/memtrace.h"

#include <math.h>

#include "tracefmt/json.h"

#define MOST_LOOPS 1000u
#define MOST_CURVES 7u
#define SMALLEST 4u /* 2^4 lines are 1 KiB */

/* From where on no cache is large enough to help. */
static unsigned int largest(const struct memory_rows *rows)
{
	unsigned int k = MEMPROFILE_DISTANCES - 1;

	while (k > SMALLEST + 6 && !rows->total.sum.reuse[k] && !rows->total.sum.open[k])
		k--;
	return k;
}

static void put_real_or_none(struct tf_buf *b, const char *before, bool known, double v)
{
	html_put_real(b, before, known ? v : NAN);
}

static void put_loop(struct html *h, const struct memory_rows *rows, const struct memory_row *row)
{
	const struct memprofile_insn *s = &row->sum;
	struct tf_buf *b = &h->json;

	html_put_name(h, "[", row->key.name);
	html_put_name(h, ",", row->key.file ? row->key.file : "");
	html_put(b, ",", row->key.line > 0 ? (uint64_t)row->key.line : 0);
	for (int k = MEMORY_ACCESSES; k <= MEMORY_STORES; k++)
		html_put_real(b, ",", round(memory_count(rows, row, (enum memory_counted)k).value));
	html_put(b, ",", s->near);
	html_put(b, ",", s->strided);
	html_put(b, ",", s->moves - s->near - s->strided);
	html_put(b, ",", row->lines * MEMPROFILE_LINE);
	tf_buf_str(b, ",[");
	for (unsigned int i = 0; i < memory_ncaches(rows); i++) {
		const struct memory_misses m = memory_misses(rows, row, i);

		put_real_or_none(b, i ? "," : "", m.known, m.misses);
	}
	tf_buf_str(b, "]]");
}

static void put_loops(struct html *h, const struct memory_rows *rows)
{
	struct tf_buf *b = &h->json;

	tf_json_key(b, "memory_caches");
	tf_buf_str(b, "[");
	for (unsigned int i = 0; i < memory_ncaches(rows); i++)
		html_put(b, i ? "," : "", rows->about.caches.bytes[i]);
	tf_buf_str(b, "]");
	tf_json_uint(b, "memory_left_out", rows->n > MOST_LOOPS ? rows->n - MOST_LOOPS : 0);
	tf_json_key(b, "memory");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < rows->n && i < MOST_LOOPS; i++) {
		tf_buf_str(b, i ? ",\n" : "\n");
		put_loop(h, rows, rows->v[i]);
	}
	tf_buf_str(b, "]");
}

/* Of a row whose accesses were all recorded. */
static void put_curve(struct tf_buf *b, const struct memory_row *row, unsigned int end)
{
	const struct memprofile_insn *s = &row->sum;

	html_put_text(b, ",[", row->key.name);
	html_put(b, ",", memory_accesses(s));
	for (unsigned int k = SMALLEST; k <= end; k++) {
		uint64_t misses = s->first;

		for (unsigned int i = k + 1; i < MEMPROFILE_DISTANCES; i++)
			misses += s->reuse[i];
		html_put(b, k == SMALLEST ? ",[" : ",", misses);
	}
	tf_buf_str(b, "]]");
}

static void put_curves(struct tf_buf *b, const struct memory_rows *rows)
{
	const unsigned int end = largest(rows);
	const uint64_t accesses = memory_accesses(&rows->total.sum);

	tf_json_key(b, "memory_sizes");
	for (unsigned int k = SMALLEST; k <= end; k++)
		html_put(b, k == SMALLEST ? "[" : ",", (uint64_t)MEMPROFILE_LINE << k);
	tf_buf_str(b, "]");
	tf_json_key(b, "memory_curves");
	html_put(b, "[[\"all\",", accesses);
	for (unsigned int k = SMALLEST; k <= end; k++) {
		const struct memory_misses m = memory_all_misses(rows, k);

		put_real_or_none(b, k == SMALLEST ? ",[" : ",", m.known, m.percent / 100 * (double)accesses);
	}
	tf_buf_str(b, "]]");
	for (size_t i = 0; !rows->about.sampled && i < rows->n && i < MOST_CURVES; i++)
		put_curve(b, rows->v[i], end);
	tf_buf_str(b, "]");
}

int html_accesses(struct html *h)
{
	const struct memory_reading how = { .by = MEMORY_BY_LOOP, .mangled = h->request->report->mangled };
	struct memory_rows rows = { 0 };
	struct memtrace t;
	int status;

	memtrace_use(h->trace, &h->pick, &t);
	if (!t.threads)
		return 0;
	rows.about = memory_about(h->trace, NULL);
	status = memory_rows_read(&rows, &t, &how, &h->damage);
	if (!status && rows.n) {
		memory_rows_sort(&rows, "bytes");
		put_loops(h, &rows);
		put_curves(&h->json, &rows);
	}
	memory_rows_free(&rows);
	return status;
}
