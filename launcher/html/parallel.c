/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `sonde report --mpi' and `--omp' find out. */
#include "launcher/html/html.h"
#include "launcher/report/omp/omp.h"
#include "launcher/report/mpi/report-mpi.h"

#include <stdlib.h>
#include <string.h>

#include "tracefmt/json.h"

#define MOST_PAIRS 20000u
#define MOST_CALLS 5000u /* of a function and a rank */
#define MOST_PLACES 1000u

static bool want(const struct sonde_trace_thread *thread, void *arg)
{
	const struct html *h = arg;

	return report_wants(h->request->report, h->trace, thread);
}

/* ---- MPI ---- */

static int by_bytes(const void *a, const void *b)
{
	const struct report_mpi_pair *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

static int by_wait(const void *a, const void *b)
{
	const struct report_mpi_row *x = a, *y = b;
	const uint64_t v = report_mpi_waited(x), w = report_mpi_waited(y);

	return v != w ? (v < w) - (v > w) : (x->time < y->time) - (x->time > y->time);
}

static void put_calls(struct html *h, struct report_mpi *r)
{
	struct tf_buf *b = &h->json;
	const char *before = "";

	qsort(r->row, r->nrows, sizeof(*r->row), by_wait);
	tf_json_uint(b, "mpi_calls_left_out", r->nrows > MOST_CALLS ? r->nrows - MOST_CALLS : 0);
	tf_json_key(b, "mpi_calls");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < r->nrows && i < MOST_CALLS; i++) {
		const struct report_mpi_row *row = &r->row[i];

		if (!row->function || row->rank < 0)
			continue;
		tf_buf_str(b, before);
		html_put(b, "\n[", (uint64_t)row->rank);
		html_put(b, ",", html_name(h, row->function));
		html_put(b, ",", row->calls);
		html_put(b, ",", row->time);
		html_put(b, ",", row->sent);
		html_put(b, ",", row->received);
		for (int w = 0; w < MPI_WAITS; w++)
			html_put(b, ",", row->wait[w]);
		tf_buf_str(b, "]");
		before = ",";
	}
	tf_buf_str(b, "]");
}

static void put_pairs(struct html *h, struct report_mpi *r)
{
	struct tf_buf *b = &h->json;

	qsort(r->pair, r->npairs, sizeof(*r->pair), by_bytes);
	tf_json_uint(b, "mpi_pairs_left_out", r->npairs > MOST_PAIRS ? r->npairs - MOST_PAIRS : 0);
	tf_json_key(b, "mpi_pairs");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < r->npairs && i < MOST_PAIRS; i++) {
		const struct report_mpi_pair *p = &r->pair[i];

		html_put(b, i ? ",[" : "[", (uint64_t)(p->from > 0 ? p->from : 0));
		html_put(b, ",", (uint64_t)(p->to > 0 ? p->to : 0));
		html_put(b, ",", p->messages);
		html_put(b, ",", p->bytes);
		tf_buf_str(b, "]");
	}
	tf_buf_str(b, "]");
}

int html_mpi(struct html *h)
{
	const struct report_mpi_request request = { want, h };
	struct report_mpi r;
	int status;

	if (!mpi_is_there(h->trace))
		return 0;
	status = report_mpi_read(&r, h->trace, h->dir, &request);
	if (!status) {
		put_calls(h, &r);
		put_pairs(h, &r);
	}
	report_mpi_free(&r);
	return status;
}

/* ---- OpenMP ---- */

static bool has_regions(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_functions(trace); i++)
		if (strcmp(sonde_trace_function(trace, i)->name, "omp parallel") == 0)
			return true;
	return false;
}

static int by_team(const void *a, const void *b)
{
	const struct omp_row *x = a, *y = b;

	return (x->team < y->team) - (x->team > y->team);
}

static void put_place(struct html *h, const struct omp_place *p)
{
	char text[600];

	if (*p->file)
		snprintf(text, sizeof(text), "%s:%d", p->file, p->line);
	else if (*p->function)
		snprintf(text, sizeof(text), "%s", p->function);
	else
		snprintf(text, sizeof(text), "%s+0x%llx", p->path, (unsigned long long)p->offset);
	html_put_name(h, ",", text);
}

static void put_row(struct html *h, const struct omp_row *row)
{
	struct tf_buf *b = &h->json;

	html_put(b, "[", row->kind);
	put_place(h, &row->place);
	html_put_text(b, ",", row->schedule);
	html_put(b, ",", row->count);
	html_put(b, ",", row->threads);
	html_put(b, ",", row->time);
	html_put(b, ",", row->team);
	html_put(b, ",", row->work);
	for (int w = 0; w < OMP_WAITS; w++)
		html_put(b, ",", row->wait[w]);
	html_put(b, ",", row->idle);
	html_put_real(b, ",", omp_imbalance(row));
	html_put(b, ",", row->chunks);
	tf_buf_str(b, "]");
}

int html_omp(struct html *h)
{
	const struct omp_request request = { want, h };
	struct omp_report r;
	int status;

	if (!has_regions(h->trace))
		return 0;
	status = omp_read(&r, h->trace, h->dir, &request);
	if (!status) {
		qsort(r.rows.v, r.rows.n, sizeof(*r.rows.v), by_team);
		tf_json_uint(&h->json, "omp_left_out", r.rows.n > MOST_PLACES ? r.rows.n - MOST_PLACES : 0);
		tf_json_key(&h->json, "omp");
		tf_buf_str(&h->json, "[");
		for (size_t i = 0; i < r.rows.n && i < MOST_PLACES; i++) {
			tf_buf_str(&h->json, i ? ",\n" : "\n");
			put_row(h, &r.rows.v[i]);
		}
		tf_buf_str(&h->json, "]");
	}
	omp_report_free(&r);
	return status;
}
