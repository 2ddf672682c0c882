/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for people, CSV (RFC 4180), JSON. */
#include "launcher/report/mpi/report-mpi.h"
#include "launcher/common/units.h"
#include "launcher/report/report-rows.h"
#include "launcher/report/report.h"
#include "tracefmt/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX_RANKS 16 /* a table of more would be too wide */

static const char *const waits[MPI_WAITS] = { "late_sender", "late_receiver", "barriers", "collectives" };

/* ---- order ---- */

static int by_rank_and_time(const void *a, const void *b)
{
	const struct report_mpi_row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return strcmp(x->function->name, y->function->name);
}

static int by_time(const void *a, const void *b)
{
	const struct report_mpi_row *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : strcmp(x->function->name, y->function->name);
}

static int by_ranks(const void *a, const void *b)
{
	const struct report_mpi_pair *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void sort(struct report_mpi *r)
{
	if (r->nrows)
		qsort(r->row, r->nrows, sizeof(*r->row), by_rank_and_time);
	if (r->npairs)
		qsort(r->pair, r->npairs, sizeof(*r->pair), by_ranks);
}

static void add(struct report_mpi_row *sum, const struct report_mpi_row *row)
{
	sum->calls += row->calls;
	sum->time += row->time;
	sum->sent += row->sent;
	sum->received += row->received;
	for (int w = 0; w < MPI_WAITS; w++)
		sum->wait[w] += row->wait[w];
}

/* Rows of the same function, or of the same rank, as one. Returns how many; *@out is the caller's to free. */
static size_t sums(const struct report_mpi *r, bool by_rank, struct report_mpi_row **out)
{
	struct report_mpi_row *v = report_zeroed(r->nrows + 1, sizeof(*v));
	size_t n = 0, at;

	for (size_t i = 0; i < r->nrows; i++) {
		const struct report_mpi_row *row = &r->row[i];

		for (at = by_rank && n ? n - 1 : 0; at < n && (by_rank ? v[at].rank != row->rank : v[at].function != row->function); at++)
			;
		if (at == n)
			v[n++] = (struct report_mpi_row){ .rank = row->rank, .function = row->function };
		add(&v[at], row);
	}
	if (!by_rank && n)
		qsort(v, n, sizeof(*v), by_time);
	*out = v;
	return n;
}

/* ---- text ---- */

static void put_time(uint64_t ns)
{
	char text[UNITS_MAX] = "";

	if (ns)
		units_time(ns, text);
	printf("%11s", text);
}

static void put_bytes(uint64_t bytes)
{
	char text[UNITS_MAX] = "";

	if (bytes)
		units_bytes(bytes, text);
	printf("%11s", text);
}

static void put_figures(const struct report_mpi_row *row)
{
	printf("%9" PRIu64, row->calls);
	put_time(row->time);
	put_bytes(row->sent);
	put_bytes(row->received);
	put_time(report_mpi_waited(row));
	for (int w = 0; w < MPI_WAITS; w++)
		put_time(row->wait[w]);
}

static void put_title(const char *what)
{
	printf("\n    calls       time       sent   received    waiting   late sdr.  late rcv.   barriers collectives  %s\n", what);
}

static void put_functions(const struct report_mpi *r, uint64_t limit)
{
	struct report_mpi_row *v;
	size_t n = sums(r, false, &v);

	put_title("function");
	for (size_t i = 0; i < n && i < limit; i++) {
		put_figures(&v[i]);
		fputs("  ", stdout);
		units_text(stdout, v[i].function->name, 0, true);
		putchar('\n');
	}
	if (limit < n)
		printf("%zu more (-a shows all)\n", n - (size_t)limit);
	free(v);
}

static void put_ranks(const struct report_mpi *r, uint64_t limit)
{
	struct report_mpi_row *v;
	size_t n = sums(r, true, &v);

	put_title("rank");
	for (size_t i = 0; i < n && i < limit; i++) {
		put_figures(&v[i]);
		if (v[i].rank < 0)
			puts("  none");
		else
			printf("  %d\n", v[i].rank);
	}
	if (limit < n)
		printf("%zu more (-a shows all)\n", n - (size_t)limit);
	free(v);
}

static const struct report_mpi_pair *find(const struct report_mpi *r, int from, int to)
{
	const struct report_mpi_pair key = { .from = from, .to = to };

	return r->npairs ? bsearch(&key, r->pair, r->npairs, sizeof(*r->pair), by_ranks) : NULL;
}

/* Messages above bytes. */
static void put_matrix(const struct report_mpi *r, int ranks)
{
	puts("\nmessages and bytes from the rank of the row to that of the column");
	printf("%6s", "");
	for (int to = 0; to < ranks; to++)
		printf("%11d", to);
	putchar('\n');
	for (int from = 0; from < ranks; from++) {
		printf("%6d", from);
		for (int to = 0; to < ranks; to++) {
			const struct report_mpi_pair *p = find(r, from, to);

			if (p)
				printf("%11" PRIu64, p->messages);
			else
				printf("%11s", "");
		}
		printf("\n%6s", "");
		for (int to = 0; to < ranks; to++) {
			const struct report_mpi_pair *p = find(r, from, to);

			put_bytes(p ? p->bytes : 0);
		}
		putchar('\n');
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct report_mpi_pair *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return by_ranks(a, b);
}

static void put_pairs(struct report_mpi *r, uint64_t limit)
{
	qsort(r->pair, r->npairs, sizeof(*r->pair), by_bytes);
	puts("\n   from     to  messages      bytes");
	for (size_t i = 0; i < r->npairs && i < limit; i++) {
		printf("%7d%7d%10" PRIu64, r->pair[i].from, r->pair[i].to, r->pair[i].messages);
		put_bytes(r->pair[i].bytes);
		putchar('\n');
	}
	if (limit < r->npairs)
		printf("%zu more (-a shows all)\n", r->npairs - (size_t)limit);
}

static int last_rank(const struct report_mpi *r)
{
	int last = 0;

	for (size_t i = 0; i < r->npairs; i++) {
		last = r->pair[i].from > last ? r->pair[i].from : last;
		last = r->pair[i].to > last ? r->pair[i].to : last;
	}
	return last;
}

void report_mpi_text(struct report_mpi *r, uint64_t limit)
{
	char text[UNITS_MAX];

	sort(r);
	units_bytes(r->bytes, text);
	printf("MPI         %zu ranks, %zu communicators; %" PRIu64 " messages of %s\n", r->ranks, r->communicators, r->messages, text);
	if (r->unreceived)
		printf("unmatched   %" PRIu64 " messages whose receive was not recorded, or had not ended\n", r->unreceived);
	if (r->backward) {
		units_time(r->backward_ns, text);
		printf("backward    %" PRIu64 " messages that arrive before they were sent: clocks of nodes differ by %s at least\n", r->backward,
		       text);
	}
	if (r->unknown)
		printf("left out    %" PRIu64 " operations on communicators that were made before recording began\n", r->unknown);
	if (r->lost)
		printf("missing     %" PRIu64 " events; messages may have been matched wrongly\n", r->lost);
	put_functions(r, limit);
	put_ranks(r, limit);
	if (!r->npairs)
		return;
	if (last_rank(r) < MATRIX_RANKS)
		put_matrix(r, last_rank(r) + 1);
	else
		put_pairs(r, limit);
}

/* ---- CSV and JSON ---- */

void report_mpi_csv(struct report_mpi *r, uint64_t limit)
{
	sort(r);
	fputs("kind,rank,function,to,calls,time_ns,sent,received,messages,bytes", stdout);
	for (int w = 0; w < MPI_WAITS; w++)
		printf(",%s_ns", waits[w]);
	putchar('\n');
	for (size_t i = 0; i < r->nrows && i < limit; i++) {
		const struct report_mpi_row *row = &r->row[i];

		printf("call,%d,", row->rank);
		units_csv(stdout, row->function->name);
		printf(",,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,", row->calls, row->time, row->sent, row->received);
		for (int w = 0; w < MPI_WAITS; w++)
			printf(",%" PRIu64, row->wait[w]);
		putchar('\n');
	}
	for (size_t i = 0; i < r->npairs && i < limit; i++)
		printf("messages,%d,,%d,,,,,%" PRIu64 ",%" PRIu64 ",,,,\n", r->pair[i].from, r->pair[i].to, r->pair[i].messages,
		       r->pair[i].bytes);
}

static void put_json_row(struct tf_buf *b, const struct report_mpi_row *row)
{
	char key[32];

	tf_json_begin(b, "call");
	tf_json_int(b, "rank", row->rank);
	tf_json_str(b, "function", row->function->name);
	tf_json_uint(b, "calls", row->calls);
	tf_json_uint(b, "time_ns", row->time);
	tf_json_uint(b, "sent", row->sent);
	tf_json_uint(b, "received", row->received);
	for (int w = 0; w < MPI_WAITS; w++) {
		snprintf(key, sizeof(key), "%s_ns", waits[w]);
		tf_json_uint(b, key, row->wait[w]);
	}
	tf_buf_byte(b, '}');
}

static void put_json_pair(struct tf_buf *b, const struct report_mpi_pair *p)
{
	tf_json_begin(b, "messages");
	tf_json_int(b, "from", p->from);
	tf_json_int(b, "to", p->to);
	tf_json_uint(b, "messages", p->messages);
	tf_json_uint(b, "bytes", p->bytes);
	tf_buf_byte(b, '}');
}

void report_mpi_json(struct report_mpi *r, uint64_t limit)
{
	struct tf_buf b = { 0 };

	sort(r);
	printf("{\"ranks\": %zu, \"communicators\": %zu, \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"unmatched\": %" PRIu64
	       ", \"unknown\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"backward\": %" PRIu64 ", \"backward_ns\": %" PRIu64 ", \"calls\": [",
	       r->ranks, r->communicators, r->messages, r->bytes, r->unreceived, r->unknown, r->lost, r->backward, r->backward_ns);
	for (size_t i = 0; i < r->nrows && i < limit; i++) {
		put_json_row(&b, &r->row[i]);
		units_json_item(&b, i == 0, stdout);
	}
	fputs("\n], \"matrix\": [", stdout);
	for (size_t i = 0; i < r->npairs && i < limit; i++) {
		put_json_pair(&b, &r->pair[i]);
		units_json_item(&b, i == 0, stdout);
	}
	puts("\n]}");
	tf_buf_free(&b);
}
