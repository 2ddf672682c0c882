/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages, for people and for other programs. */
#include "launcher/sharing/pages.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/units.h"
#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

static double percent(uint64_t n, uint64_t all)
{
	return all ? 100.0 * (double)n / (double)all : 0;
}

static void put_place(const struct pages_place *p, FILE *out)
{
	units_text(out, p->function ? p->function : "?", 0, true);
	if (p->file) {
		fputs(" at ", out);
		units_text(out, path_basename(p->file), 0, true);
		fprintf(out, ":%d", p->line);
	} else {
		fprintf(out, " at 0x%" PRIx64, p->address);
	}
}

/* Threads of one node use them more than those of the node that they are on, or threads of many nodes do. */
static const char *advice(const struct pages_row *r)
{
	if (!r->remote)
		return "nothing: only threads of the node that touched them first access them";
	if (r->nodes > 2 && 2 * r->other_accesses < r->accesses)
		return "threads of several nodes use them: spread them over the nodes (numactl --interleave, or mbind), or give each thread a part "
		       "of its own";
	if (r->first_accesses >= r->other_accesses)
		return "most accesses are local: what the other thread reads may be worth a copy of its own";
	return "let the thread that uses them most store to them first: initialize in parallel, in the same parts as the work, or allocate there";
}

static void put_row(const struct pages_rows *rows, size_t i, FILE *out)
{
	const struct pages_row *r = &rows->v[i];

	fprintf(out, "\n%3zu. %" PRIu64 " page%s of ", i + 1, r->pages, r->pages == 1 ? "" : "s");
	if (r->variable)
		units_text(out, r->variable, 0, true);
	else
		fputs("memory without a name", out);
	fprintf(out, ", from 0x%" PRIx64 " on", r->address);
	if (r->rank >= 0)
		fprintf(out, ", rank %d", r->rank);
	fprintf(out, ", process %d: %" PRIu64 " of %" PRIu64 " accesses (%.1f %%) are remote\n", r->pid, r->remote, r->accesses,
		percent(r->remote, r->accesses));
	fprintf(out, "     first touched by thread %d, node %" PRIu32 ": ", r->first_tid, r->first_node);
	put_place(&r->first, out);
	if (r->unsure)
		fprintf(out, "; of %" PRIu64 " not known for sure", r->unsure);
	putc('\n', out);
	if (r->other_tid) {
		fprintf(out, "     thread %d, node %" PRIu32 ", %" PRIu64 " accesses, most of them: ", r->other_tid, r->other_node,
			r->other_accesses);
		put_place(&r->other, out);
		putc('\n', out);
	}
	fprintf(out, "     so: %s\n", advice(r));
}

static void put_threads(const struct pages_rows *rows, FILE *out)
{
	fprintf(out, "\n%10s %10s %6s %12s %16s %16s %8s\n", "process", "thread", "node", "first touch", "accesses", "remote", "remote%");
	for (const struct pages_thread *t = rows->threads; t < rows->threads + rows->nthreads; t++)
		fprintf(out, "%10d %10d %6" PRIu32 " %12" PRIu64 " %16" PRIu64 " %16" PRIu64 " %8.1f\n", t->pid, t->tid, t->node, t->pages,
			t->accesses, t->remote, percent(t->remote, t->accesses));
}

void pages_table(const struct pages_rows *rows, uint64_t limit, FILE *out)
{
	const size_t n = rows->n < limit ? rows->n : (size_t)limit;

	fprintf(out, "pages of %" PRIu64 " bytes, each on the node of the thread that stores to it first; %" PRIu32 " node%s, those of ", rows->page,
		rows->nodes.n, rows->nodes.n == 1 ? "" : "s");
	units_text(out, rows->nodes_of, 0, true);
	fprintf(out, "\n%" PRIu64 " pages, %" PRIu64 " of %" PRIu64 " accesses (%.1f %%) are remote\n", rows->pages, rows->remote, rows->accesses,
		percent(rows->remote, rows->accesses));
	if (rows->unsure)
		fprintf(out, "of %" PRIu64 " page%s the times in the trace do not say for sure who was first\n", rows->unsure,
			rows->unsure == 1 ? "" : "s");
	put_threads(rows, out);
	for (size_t i = 0; i < n; i++)
		put_row(rows, i, out);
	if (!rows->n)
		fputs("\nno thread accesses a page of another node (--all shows all pages)\n", out);
	if (n < rows->n)
		fprintf(out, "\n... and %zu more (--limit shows them)\n", rows->n - n);
}

/* ---- for programs ---- */

static void csv_place(const struct pages_place *p, FILE *out)
{
	putc(',', out);
	units_csv(out, p->function);
	putc(',', out);
	units_csv(out, p->file);
	fprintf(out, ",%d", p->line);
}

void pages_csv(const struct pages_rows *rows, uint64_t limit, FILE *out)
{
	fputs("process,address,pages,unsure,variable,accesses,remote,first_thread,first_node,first_function,first_file,first_line,other_thread,"
	      "other_node,other_accesses,other_function,other_file,other_line,advice\n", out);
	for (size_t i = 0; i < rows->n && i < limit; i++) {
		const struct pages_row *r = &rows->v[i];

		fprintf(out, "%d,0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",", r->pid, r->address, r->pages, r->unsure);
		units_csv(out, r->variable);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d,%" PRIu32, r->accesses, r->remote, r->first_tid, r->first_node);
		csv_place(&r->first, out);
		if (r->other_tid)
			fprintf(out, ",%d,%" PRIu32 ",%" PRIu64, r->other_tid, r->other_node, r->other_accesses);
		else
			fputs(",,,", out);
		csv_place(&r->other, out);
		putc(',', out);
		units_csv(out, advice(r));
		putc('\n', out);
	}
}

static void json_place(struct tf_buf *b, const char *key, int tid, uint32_t node, uint64_t accesses, const struct pages_place *p)
{
	tf_json_key(b, key);
	tf_buf_str(b, "{\"thread\":");
	tf_json_number(b, (uint64_t)tid);
	tf_json_uint(b, "node", node);
	tf_json_uint(b, "accesses", accesses);
	tf_json_str(b, "function", p->function);
	tf_json_str(b, "file", p->file);
	if (p->line)
		tf_json_int(b, "line", p->line);
	tf_buf_byte(b, '}');
}

static bool json_row(struct tf_buf *b, const struct pages_row *r, FILE *out)
{
	tf_json_begin(b, "pages");
	if (r->rank >= 0)
		tf_json_int(b, "rank", r->rank);
	tf_json_int(b, "process", r->pid);
	tf_json_hex(b, "address", r->address);
	tf_json_uint(b, "pages", r->pages);
	tf_json_uint(b, "unsure", r->unsure);
	tf_json_str(b, "variable", r->variable);
	tf_json_uint(b, "accesses", r->accesses);
	tf_json_uint(b, "remote", r->remote);
	json_place(b, "first", r->first_tid, r->first_node, r->first_accesses, &r->first);
	if (r->other_tid)
		json_place(b, "other", r->other_tid, r->other_node, r->other_accesses, &r->other);
	tf_json_str(b, "advice", advice(r));
	return units_json_end(b, out);
}

static bool json_thread(struct tf_buf *b, const struct pages_thread *t, FILE *out)
{
	tf_json_begin(b, "thread");
	if (t->rank >= 0)
		tf_json_int(b, "rank", t->rank);
	tf_json_int(b, "process", t->pid);
	tf_json_int(b, "thread", t->tid);
	tf_json_uint(b, "node", t->node);
	tf_json_uint(b, "first_touch", t->pages);
	tf_json_uint(b, "accesses", t->accesses);
	tf_json_uint(b, "remote", t->remote);
	return units_json_end(b, out);
}

bool pages_json(const struct pages_rows *rows, uint64_t limit, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t i = 0; good && i < rows->n && i < limit; i++)
		good = json_row(&b, &rows->v[i], out);
	for (size_t i = 0; good && i < rows->nthreads; i++)
		good = json_thread(&b, &rows->threads[i], out);
	if (good) {
		tf_json_begin(&b, "total");
		tf_json_uint(&b, "page_bytes", rows->page);
		tf_json_uint(&b, "nodes", rows->nodes.n);
		tf_json_uint(&b, "pages", rows->pages);
		tf_json_uint(&b, "unsure", rows->unsure);
		tf_json_uint(&b, "accesses", rows->accesses);
		tf_json_uint(&b, "remote", rows->remote);
		good = units_json_end(&b, out);
	}
	tf_buf_free(&b);
	return good;
}
