/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For people: a few lines of text for each. */
#include "launcher/sharing/sharing.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/units.h"

static void put_name(const struct sharing_side *s, FILE *out)
{
	if (s->variable)
		units_text(out, s->variable, 0, true);
	else
		fprintf(out, "memory at 0x%" PRIx64, s->data);
}

static void put_side(const struct sharing_side *s, FILE *out)
{
	const char *what = !s->use.stores ? "loads" : s->use.stores < s->use.accesses || (s->use.reads && s->use.writes) ? "loads and stores" : "stores";

	fprintf(out, "     thread %d, %" PRIu64 " %s: ", s->use.tid, s->use.accesses, what);
	put_name(s, out);
	fputs(", in ", out);
	units_text(out, s->function ? s->function : "?", 0, true);
	if (s->file) {
		fputs(" at ", out);
		units_text(out, path_basename(s->file), 0, true);
		fprintf(out, ":%d", s->line);
	} else {
		fprintf(out, " at 0x%" PRIx64, s->address);
	}
	putc('\n', out);
}

static void put_range(const struct cache_bounds *b, uint64_t times, FILE *out)
{
	if (b->least == b->most)
		fprintf(out, "%" PRIu64, b->least * times);
	else
		fprintf(out, "%" PRIu64 " to %" PRIu64, b->least * times, b->most * times);
}

static void put_row(const struct sharing_rows *rows, size_t i, FILE *out)
{
	const struct sharing_row *r = &rows->v[i];
	const struct sh_line *l = &r->line;

	fprintf(out, "\n%3zu. %s sharing%s: ", i + 1, sharing_class_word(l->class), l->handed ? ", handed over" : "");
	put_name(&r->side[0], out);
	if (l->class != SH_TRUE) {
		fputs(" and ", out);
		put_name(&r->side[1], out);
	}
	fprintf(out, "\n     line 0x%" PRIx64, sharing_moves_original(rows->moves, l->address));
	if (r->lines > 1)
		fprintf(out, " and %" PRIu64 " more like it", r->lines - 1);
	if (r->rank >= 0)
		fprintf(out, ", rank %d", r->rank);
	fprintf(out, ", process %d: ", l->pid);
	put_range(&l->transfers, 1, out);
	fprintf(out, " transfers for %" PRIu64 " accesses, %" PRIu64 " of them stores, by %" PRIu32 " threads", l->accesses, l->stores,
		l->threads);
	if (rows->latency) {
		fputs("; ", out);
		put_range(&l->transfers, rows->latency, out);
		fputs(" cycles", out);
	}
	fputs("\n     bytes: ", out);
	units_text(out, r->threads, 0, true);
	putc('\n', out);
	put_side(&r->side[0], out);
	put_side(&r->side[1], out);
	fputs("     so: ", out);
	units_text(out, r->advice, 0, true);
	putc('\n', out);
}

static void put_moves(const struct sharing_moves *moves, FILE *out)
{
	const char *between = "";

	for (size_t i = 0; i < moves->pads.n; i++, between = ", and ") {
		fputs(between, out);
		units_text(out, moves->pads.v[i].name, 0, true);
		fprintf(out, " were padded to %" PRIu64 " bytes", moves->pads.v[i].align);
	}
	for (size_t i = 0; i < moves->layouts.n; i++, between = ", and ") {
		const struct nm_change *c = &moves->layouts.v[i];

		fprintf(out, "%s%s", between, c->what == NM_SOA ? "arrays of " : "");
		units_text(out, c->type, 0, true);
		if (c->what == NM_SOA) {
			fputs(" were structures of arrays", out);
			continue;
		}
		putc('.', out);
		units_text(out, c->member, 0, true);
		fputs(" were in arrays of their own", out);
	}
}

static void put_saved(const struct sharing_rows *rows, const struct sharing_what_if *what, FILE *out)
{
	const struct cache_bounds *a = &what->before.transfers, *b = &rows->sum.transfers;

	fputs("if ", out);
	put_moves(what->moves, out);
	fputs(": ", out);
	put_range(b, 1, out);
	fputs(" transfers in all, in place of ", out);
	put_range(a, 1, out);
	if (a->most > b->most) {
		fprintf(out, "; up to %" PRIu64 " are saved", a->most - b->most);
		if (rows->latency)
			fprintf(out, ", %" PRIu64 " cycles", (a->most - b->most) * rows->latency);
	} else if (a->most < b->most) {
		fprintf(out, "; up to %" PRIu64 " more", b->most - a->most);
	}
	fputs("\nwhat would be left:\n", out);
}

void sharing_table(const struct sharing_rows *rows, const struct sharing_what_if *what, uint64_t limit, FILE *out)
{
	const size_t n = rows->n < limit ? rows->n : (size_t)limit;

	fprintf(out, "lines of %u bytes that threads take from each other, if each has a core of its own; at least and at most, since\n"
		"the times in the trace do not say the order of all accesses\n", rows->bytes);
	if (rows->latency) {
		fputs("cycles: a transfer takes ", out);
		fprintf(out, "%" PRIu64 ", as what is in the last cache of ", rows->latency);
		units_text(out, rows->system, 0, true);
		putc('\n', out);
	}
	if (what && sharing_moves_any(what->moves))
		put_saved(rows, what, out);
	for (size_t i = 0; i < n; i++)
		put_row(rows, i, out);
	if (!rows->n && !rows->sum.lines)
		fputs("\nno line is accessed by several threads, one of which stores to it\n", out);
	else if (!rows->n)
		fputs("\nno line goes to and fro\n", out);
	if (n < rows->n)
		fprintf(out, "\n... and %zu more (--limit shows them)\n", rows->n - n);
	if (!rows->all && rows->sum.handed)
		fprintf(out, "\n%" PRIu64 " line%s handed over, from thread to thread less than once in %u stores (--all shows them)\n",
			rows->sum.handed, rows->sum.handed == 1 ? " is" : "s are", SH_HANDED);
	if (!rows->all && rows->few)
		fprintf(out, "%s%" PRIu64 " shared line%s fewer than %" PRIu64 " transfers (--min, --all)\n", rows->sum.handed ? "" : "\n",
			rows->few, rows->few == 1 ? " has" : "s have", rows->least);
}
