/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions' calls were counted when, and when all were recorded. */
#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

#define LINE_ITEMS 512u

static void put_line(struct tf_writer *w, uint64_t tsc, const struct tf_chosen *v, size_t n, bool counted)
{
	struct tf_buf *line = &w->line;
	bool any = false;
	uint32_t id;

	tf_json_begin(line, "chosen");
	tf_json_uint(line, "tsc", tsc);
	tf_json_bool(line, "counted", counted);
	tf_json_key(line, "list");
	tf_buf_byte(line, '[');
	for (size_t i = 0; i < n; i++) {
		if (v[i].counted != counted || !tf_probes_function(w, v[i].count, &id))
			continue;
		if (any)
			tf_buf_byte(line, ',');
		tf_json_number(line, id);
		any = true;
	}
	tf_buf_byte(line, ']');
	tf_json_end(line);
	if (any)
		tf_writer_line(w);
	else
		tf_buf_clear(line);
}

enum sonde_trace_status tf_writer_chosen(struct tf_writer *w, uint64_t tsc, const struct tf_chosen *v, size_t n)
{
	tf_probes_tell_chosen(w, v, n);
	for (size_t i = 0; i < n; i += LINE_ITEMS) {
		size_t k = n - i < LINE_ITEMS ? n - i : LINE_ITEMS;

		put_line(w, tsc, v + i, k, true);
		put_line(w, tsc, v + i, k, false);
	}
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_bursts(struct tf_writer *w, const struct tf_burst *v, size_t n)
{
	struct tf_buf *line = &w->line;

	if (!n)
		return SONDE_TRACE_OK;
	tf_json_begin(line, "bursts");
	tf_json_key(line, "list");
	for (size_t i = 0; i < n; i++) {
		tf_buf_byte(line, i ? ',' : '[');
		tf_buf_byte(line, '[');
		tf_json_number(line, v[i].tsc);
		tf_buf_byte(line, ',');
		tf_json_number(line, v[i].ticks);
		tf_buf_byte(line, ']');
	}
	tf_buf_byte(line, ']');
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_budget(struct tf_writer *w, const struct tf_budget *b)
{
	struct tf_buf *line = &w->line;

	tf_json_begin(line, "budget");
	tf_json_uint(line, "overhead", (uint64_t)(b->share * 1e6 + 0.5));
	tf_json_uint(line, "plain", b->plain_ns);
	tf_json_uint(line, "probes", b->probes_ns);
	tf_json_uint(line, "sonde", b->sonde_ns);
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

void tf_writer_tally(struct tf_writer *w, uint64_t *tally)
{
	w->tally = tally;
}

void tf_thread_tally(struct tf_thread *t)
{
	const struct tf_batch *b = &t->enc.batch;

	for (uint32_t i = t->tallied; i < b->n; i++)
		t->w->tally[TF_CODE_ID(b->code[i])]++;
	t->tallied = b->n;
}
