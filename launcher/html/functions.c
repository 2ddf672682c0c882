/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of `sonde report': of the run, of each function, and of each thread. */
#include "launcher/html/html.h"

#include <stdlib.h>

#include "tracefmt/json.h"

#define MOST_ROWS 3000u
#define MOST_SHARES 40000u /* of a function and a thread */
#define MOST_BARS 4000u	   /* threads */
#define MOST_COLUMNS 4u	   /* of bytes */

/* ---- the run ---- */

static void put_command(struct tf_buf *b, const struct sonde_trace_rank *rank)
{
	struct tf_buf text = { 0 };

	for (size_t i = 0; i < rank->nargs; i++) {
		tf_buf_str(&text, i ? " " : "");
		tf_buf_str(&text, rank->args[i]);
	}
	tf_buf_byte(&text, 0);
	if (!text.failed && text.size > 1000)
		text.data[1000] = 0;
	tf_json_str(b, "command", text.failed ? rank->program : (const char *)text.data);
	tf_buf_free(&text);
}

static void put_run(struct tf_buf *b, const struct report *r)
{
	const struct sonde_trace_rank *first = sonde_trace_rank(r->trace, 0);
	char ending[PROCESS_ENDING_MAX];
	uint64_t end = 0;

	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++)
		end = sonde_trace_rank(r->trace, i)->end > end ? sonde_trace_rank(r->trace, i)->end : end;
	for (size_t i = 0; i < sonde_trace_threads(r->trace); i++)
		end = sonde_trace_thread(r->trace, i)->last > end ? sonde_trace_thread(r->trace, i)->last : end;
	program_ending(first, ending);
	tf_json_str(b, "program", first->program);
	put_command(b, first);
	tf_json_str(b, "host", first->host);
	tf_json_str(b, "sonde", first->version);
	tf_json_str(b, "ending", ending);
	tf_json_uint(b, "started_ms", first->start_real_ns / 1000000);
	tf_json_uint(b, "end", end);
	tf_json_uint(b, "ranks", r->nranks);
	tf_json_uint(b, "threads", r->nthreads);
	tf_json_uint(b, "events", r->events);
	tf_json_uint(b, "recording", r->spent.taken);
	tf_json_uint(b, "recording_waited", r->spent.taken ? r->spent.waited : 0);
	tf_json_key(b, "problems");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < r->nproblems && i < 100; i++)
		html_put_text(b, i ? "," : "", r->problems[i].text);
	tf_buf_str(b, "]");
}

/* ---- functions ---- */

static void put_bytes(struct tf_buf *b, const struct report *r, const struct report_group *g, const struct report_line *line)
{
	for (size_t column = 0; column < r->rows.ncolumns && column < MOST_COLUMNS; column++)
		html_put(b, ",", report_line_amount(r, g, line, column));
}

static void put_line(struct html *h, const struct report *r, const struct report_group *g, const struct report_line *line)
{
	const struct report_row *row = &r->rows.row[line->row];
	struct tf_buf *b = &h->json;

	html_put(b, "[", row->kind == REPORT_FUNCTION ? html_name(h, row->function) : names_find(&h->names, report_name(r, line)));
	html_put(b, ",", names_find(&h->names, row->module ? row->module->name : ""));
	html_put(b, ",", names_find(&h->names, row->function ? row->function->path : ""));
	html_put(b, ",", row->kind);
	html_put(b, ",", line->stats.calls);
	html_put(b, ",", line->stats.total);
	html_put(b, ",", line->stats.self);
	html_put(b, ",", report_average(&line->stats));
	html_put(b, ",", report_min(&line->stats));
	html_put(b, ",", report_max(&line->stats));
	html_put(b, ",", line->stats.wait);
	html_put(b, ",", line->stats.threads);
	put_bytes(b, r, g, line);
	tf_buf_str(b, "]");
}

static void put_functions(struct html *h, const struct report *r)
{
	const struct report_group *g = r->ngroups ? &r->groups[0] : NULL;
	struct tf_buf *b = &h->json;
	size_t n = g ? g->nlines : 0;

	tf_json_uint(b, "whole", g ? g->whole : 0);
	tf_json_key(b, "byte_columns");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < r->rows.ncolumns && i < MOST_COLUMNS; i++)
		html_put_text(b, i ? "," : "", r->rows.columns[i]);
	tf_buf_str(b, "]");
	tf_json_uint(b, "functions_left_out", n > MOST_ROWS ? n - MOST_ROWS : 0);
	tf_json_key(b, "functions");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < n && i < MOST_ROWS; i++) {
		tf_buf_str(b, i ? ",\n" : "\n");
		put_line(h, r, g, &g->lines[i]);
	}
	tf_buf_str(b, "]");
}

/* ---- threads ---- */

/* [row, self time] of the functions that took most. */
static void put_shares(struct html *h, const struct report *r, const struct report_group *g, size_t most)
{
	struct tf_buf *b = &h->json;
	const char *before = "";

	tf_buf_str(b, ",[");
	for (size_t i = 0; i < g->nlines && i < most; i++) {
		const struct report_row *row = &r->rows.row[g->lines[i].row];

		if (row->kind != REPORT_FUNCTION)
			continue;
		tf_buf_str(b, before);
		html_put(b, "[", html_name(h, row->function));
		html_put(b, ",", names_find(&h->names, row->module ? row->module->name : ""));
		html_put(b, ",", g->lines[i].stats.self);
		tf_buf_str(b, "]");
		before = ",";
	}
	tf_buf_str(b, "]");
}

static void put_bar(struct html *h, const struct report *r, const struct report_group *g, size_t most)
{
	struct tf_buf *b = &h->json;
	uint64_t apart = 0;

	for (size_t i = 0; i < r->rows.nclasses; i++)
		apart += r->rows.classes[i].apart ? g->class_time[i] : 0;
	tf_buf_str(b, g->rank < 0 ? "[-" : "[");
	tf_json_number(b, (uint64_t)abs(g->rank));
	html_put(b, ",", (uint64_t)g->thread->pid);
	html_put(b, ",", (uint64_t)g->thread->tid);
	html_put_name(h, ",", g->thread->comm);
	html_put(b, ",", g->whole);
	html_put(b, ",", g->wait);
	html_put(b, ",", apart);
	put_shares(h, r, g, most);
	tf_buf_str(b, "]");
}

static int put_threads(struct html *h)
{
	struct report_request q = *h->request->report;
	struct report r;
	int status;

	q.by = REPORT_BY_THREAD;
	q.sort = REPORT_SORT_SELF;
	status = report_make(&r, h->trace, h->dir, &q);
	if (!status) {
		tf_json_uint(&h->json, "bars_left_out", r.ngroups > MOST_BARS ? r.ngroups - MOST_BARS : 0);
		tf_json_key(&h->json, "bars");
		tf_buf_str(&h->json, "[");
		for (size_t i = 0; i < r.ngroups && i < MOST_BARS; i++) {
			tf_buf_str(&h->json, i ? ",\n" : "\n");
			put_bar(h, &r, &r.groups[i], MOST_SHARES / (r.ngroups < MOST_BARS ? r.ngroups : MOST_BARS));
		}
		tf_buf_str(&h->json, "]");
	}
	report_free(&r);
	return status;
}

int html_functions(struct html *h)
{
	struct report r;
	int status = report_make(&r, h->trace, h->dir, h->request->report);
	bool several = r.nthreads > 1;

	if (!status) {
		put_run(&h->json, &r);
		put_functions(h, &r);
		h->incomplete = report_is_damaged(&r);
	}
	report_free(&r);
	return !status && several ? put_threads(h) : status;
}
