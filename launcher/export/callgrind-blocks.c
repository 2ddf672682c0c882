/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Callgrind's format from counts of blocks: instructions, reads and writes of each function by source line, without calls, whose own
 * costs are all that is known.  A block's costs are those of the line of its first instruction; a repeated string instruction is one, once.
 */
#include "launcher/export/export.h"
#include "launcher/blocks/counts.h"
#include "launcher/common/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* What stands together in the file. */
static int by_function(const void *left, const void *right)
{
	const struct counts_row *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	order = order ? order : strcmp(a->name, b->name);
	order = order ? order : compare(a->file, b->file);
	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static void put_costs(const struct counts_row *row, int64_t line, FILE *out)
{
	const uint64_t *n = row->facts + FACT_ACCESSES;

	if (line >= 0)
		fprintf(out, "%" PRId64 " ", line);
	fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", row->facts[FACT_INSNS], n[MD_LOAD] + n[MD_MODIFY], n[MD_STORE] + n[MD_MODIFY]);
}

static void put_rows(const struct counts *c, FILE *out)
{
	const struct counts_row *last = NULL;

	for (size_t i = 0; i < c->n && !ferror(out); i++) {
		const struct counts_row *row = &c->rows[i];
		bool function = !last || strcmp(last->path, row->path) != 0 || strcmp(last->name, row->name) != 0;

		if (function) {
			export_callgrind_text(out, "\nob=", *row->path ? row->path : "???");
			export_callgrind_text(out, "\nfl=", row->file ? row->file : "???");
			export_callgrind_text(out, "\nfn=", row->name);
			putc('\n', out);
		} else if (compare(last->file, row->file) != 0) {
			export_callgrind_text(out, "fi=", row->file ? row->file : "???");
			putc('\n', out);
		}
		put_costs(row, row->file ? row->line : 0, out);
		last = row;
	}
}

int export_callgrind_blocks(const char *dir, const struct pick *pick, bool mangled, const char *output)
{
	struct counts_options o = { .pick = *pick, .by = COUNTS_BY_BLOCK, .mangled = mangled };
	struct export_output out;
	struct counts c;
	int status = counts_read(&c, &o, dir);

	if (status)
		return status;
	if (!export_output_open(&out, output)) {
		counts_free(&c);
		return EXIT_USAGE;
	}
	if (c.n)
		qsort(c.rows, c.n, sizeof(*c.rows), by_function);
	fprintf(out.f, "# callgrind format\nversion: 1\ncreator: sonde\n");
	export_callgrind_command(sonde_trace_rank(c.trace, 0), out.f);
	fprintf(out.f, "positions: line\nevent: Ir : Instructions\nevent: Dr : Reads\nevent: Dw : Writes\nevents: Ir Dr Dw\nsummary: ");
	put_costs(&c.total, -1, out.f);
	put_rows(&c, out.f);
	status = export_output_close(&out, true) && !c.damage ? 0 : EXIT_USAGE;
	counts_free(&c);
	return status;
}
