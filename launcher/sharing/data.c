/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For other programs: CSV as in RFC 4180, and JSON. */
#include "launcher/sharing/sharing.h"

#include <inttypes.h>

#include "launcher/common/units.h"
#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

static void csv_side(const struct sharing_side *s, FILE *out)
{
	putc(',', out);
	units_csv(out, s->variable);
	fprintf(out, ",%d,", s->use.tid);
	units_csv(out, s->function);
	putc(',', out);
	units_csv(out, s->file);
	fprintf(out, ",%d,0x%" PRIx64 ",", s->line, s->address);
	units_csv(out, s->object);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",0x%" PRIx64 ",0x%" PRIx64, s->use.accesses, s->use.stores, s->use.reads, s->use.writes);
}

void sharing_csv(const struct sharing_rows *rows, uint64_t limit, FILE *out)
{
	static const char side[] = ",variable_%c,thread_%c,function_%c,file_%c,line_%c,address_%c,object_%c,accesses_%c,stores_%c,reads_%c,"
				   "writes_%c";

	fputs("process,address,lines,class,handed,threads,accesses,stores,transfers_least,transfers_most,invalidated_least,invalidated_most,"
	      "cycles_least,cycles_most", out);
	for (char c = 'a'; c <= 'b'; c++)
		for (const char *p = side; *p; p++) {
			if (p[0] == '%' && p[1] == 'c')
				putc(c, out);
			else if (p == side || p[-1] != '%' || *p != 'c')
				putc(*p, out);
		}
	fputs(",bytes,advice\n", out);
	for (size_t i = 0; i < rows->n && i < limit; i++) {
		const struct sharing_row *r = &rows->v[i];
		const struct sh_line *l = &r->line;

		fprintf(out, "%d,0x%" PRIx64 ",%" PRIu64 ",%s,%d,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
			l->pid, sharing_moves_original(rows->moves, l->address), r->lines, sharing_class_word(l->class), l->handed, l->threads,
			l->accesses, l->stores, l->transfers.least, l->transfers.most, l->invalidated.least, l->invalidated.most);
		if (rows->latency)
			fprintf(out, ",%" PRIu64 ",%" PRIu64, l->transfers.least * rows->latency, l->transfers.most * rows->latency);
		else
			fputs(",,", out);
		csv_side(&r->side[0], out);
		csv_side(&r->side[1], out);
		putc(',', out);
		units_csv(out, r->threads);
		putc(',', out);
		units_csv(out, r->advice);
		putc('\n', out);
	}
}

/* ---- JSON ---- */

static void json_side(struct tf_buf *b, const struct sharing_side *s, bool first)
{
	tf_buf_str(b, first ? "{\"thread\":" : ",{\"thread\":");
	tf_json_number(b, (uint64_t)s->use.tid);
	tf_json_str(b, "variable", s->variable);
	tf_json_str(b, "function", s->function);
	tf_json_str(b, "file", s->file);
	if (s->line)
		tf_json_int(b, "line", s->line);
	tf_json_hex(b, "address", s->address);
	tf_json_str(b, "object", s->object);
	tf_json_uint(b, "accesses", s->use.accesses);
	tf_json_uint(b, "stores", s->use.stores);
	tf_json_hex(b, "reads", s->use.reads);
	tf_json_hex(b, "writes", s->use.writes);
	tf_buf_byte(b, '}');
}

static void json_bounds(struct tf_buf *b, const char *least, const char *most, const struct cache_bounds *bounds, uint64_t times)
{
	tf_json_uint(b, least, bounds->least * times);
	tf_json_uint(b, most, bounds->most * times);
}

static bool json_row(struct tf_buf *b, const struct sharing_rows *rows, const struct sharing_row *r, FILE *out)
{
	const struct sh_line *l = &r->line;

	tf_json_begin(b, "line");
	if (r->rank >= 0)
		tf_json_int(b, "rank", r->rank);
	tf_json_int(b, "process", l->pid);
	tf_json_hex(b, "address", sharing_moves_original(rows->moves, l->address));
	tf_json_uint(b, "lines", r->lines);
	tf_json_str(b, "class", sharing_class_word(l->class));
	tf_json_uint(b, "handed", l->handed);
	tf_json_uint(b, "threads", l->threads);
	tf_json_uint(b, "accesses", l->accesses);
	tf_json_uint(b, "stores", l->stores);
	json_bounds(b, "transfers_least", "transfers_most", &l->transfers, 1);
	json_bounds(b, "invalidated_least", "invalidated_most", &l->invalidated, 1);
	if (rows->latency)
		json_bounds(b, "cycles_least", "cycles_most", &l->transfers, rows->latency);
	tf_json_str(b, "bytes", r->threads);
	tf_json_key(b, "pair");
	tf_buf_byte(b, '[');
	json_side(b, &r->side[0], true);
	json_side(b, &r->side[1], false);
	tf_buf_byte(b, ']');
	tf_json_str(b, "advice", r->advice);
	return units_json_end(b, out);
}

static bool json_total(struct tf_buf *b, const struct sharing_rows *rows, const struct sharing_what_if *what, FILE *out)
{
	tf_json_begin(b, "total");
	tf_json_uint(b, "line_bytes", rows->bytes);
	tf_json_uint(b, "lines", rows->sum.lines);
	tf_json_uint(b, "handed", rows->sum.handed);
	json_bounds(b, "transfers_least", "transfers_most", &rows->sum.transfers, 1);
	if (sharing_moves_any(what->moves))
		json_bounds(b, "before_transfers_least", "before_transfers_most", &what->before.transfers, 1);
	return units_json_end(b, out);
}

bool sharing_json(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t i = 0; good && i < rows->n && i < limit; i++)
		good = json_row(&b, rows, &rows->v[i], out);
	good = good && json_total(&b, rows, what, out);
	tf_buf_free(&b);
	return good;
}
