/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts as a table, as a mix of instructions, as CSV (RFC 4180) and JSON lines. */
#include "launcher/blocks/counts.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "launcher/blocks/blocks.h"
#include "launcher/common/table.h"
#include "launcher/common/units.h"
#include "tracefmt/json.h"

#define CELL_MAX 64
#define NAME_MAX_WIDTH 0 /* names are not cut */

static double trips(const struct counts_row *row)
{
	return row->entries ? (double)row->count / (double)row->entries : 0;
}

/* Neither is known of a loop some of whose entries overlapped. */
static uint64_t known_trips(const struct counts_row *row, uint64_t n)
{
	return row->unknown_trips ? 0 : n;
}

/* ---- the table ---- */

static void put_number(struct table *t, const char *title, uint64_t n)
{
	table_cell(t, title, 0, "%" PRIu64, n);
}

static void put_known(struct table *t, const char *title, uint64_t n)
{
	if (n)
		put_number(t, title, n);
	else
		table_cell(t, title, 0, "-");
}

static void put_address(struct table *t, const char *title, uint64_t addr)
{
	if (addr)
		table_cell(t, title, 0, "%" PRIx64, addr);
	else
		table_cell(t, title, 0, "outside");
}

static void put_loop(struct table *t, const struct counts_row *row)
{
	put_number(t, "entries", row->entries);
	put_number(t, "iterations", row->count);
	if (row->entries)
		table_cell(t, "mean trips", 0, "%.2f", trips(row));
	else
		table_cell(t, "mean trips", 0, "-");
	put_known(t, "least", known_trips(row, row->least));
	put_known(t, "most", known_trips(row, row->most));
}

static void put_work(struct table *t, const struct counts_row *row)
{
	char bytes[UNITS_MAX];

	units_bytes(counts_bytes(row), bytes);
	put_number(t, "instructions", row->facts[FACT_INSNS]);
	put_number(t, "flops", counts_flops(row));
	table_cell(t, "memory", 0, "%s", bytes);
}

static void put_place(const struct counts_row *row, FILE *out)
{
	if (row->name[0])
		units_text(out, row->name, NAME_MAX_WIDTH, true);
	if (!row->file)
		return;
	fputs(row->name[0] ? "  " : "", out);
	units_text(out, path_basename(row->file), NAME_MAX_WIDTH, true);
	fprintf(out, ":%d", row->line);
}

static void put_row(struct table *t, enum counts_by by, const struct counts_row *row)
{
	static const char *const count[] = {
		[COUNTS_BY_FUNCTION] = "calls", [COUNTS_BY_LINE] = "count", [COUNTS_BY_BLOCK] = "count", [COUNTS_BY_EDGE] = "count",
		[COUNTS_BY_THREAD] = "blocks",
	};
	bool inner = by == COUNTS_BY_FUNCTION || by == COUNTS_BY_LOOP;

	if (by == COUNTS_BY_LOOP)
		put_loop(t, row);
	else
		put_number(t, count[by], row->count);
	if (inner)
		put_number(t, "blocks", row->blocks);
	if (by != COUNTS_BY_LINE && by != COUNTS_BY_EDGE)
		put_work(t, row);
	if (by == COUNTS_BY_LOOP)
		put_number(t, "depth", row->depth);
	if (by == COUNTS_BY_LOOP || by == COUNTS_BY_BLOCK)
		put_address(t, "address", row->addr);
	if (by == COUNTS_BY_EDGE) {
		put_address(t, "from", row->addr);
		put_address(t, "to", row->to);
	}
	if (!table_row(t))
		return;
	put_place(row, t->out);
	putc('\n', t->out);
}

void counts_print_table(const struct counts *c, const char *by, uint64_t limit, FILE *out)
{
	size_t n = c->n < limit ? c->n : (size_t)limit;
	struct table t = { .out = out };

	if (!c->n) {
		fputs("nothing was executed\n", out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_row(&t, c->o->by, &c->rows[i]);
	table_fit(&t, 0, 0);
	put_row(&t, c->o->by, &c->rows[0]);
	fprintf(out, "%s\n", by);
	for (size_t i = 0; i < n; i++)
		put_row(&t, c->o->by, &c->rows[i]);
	if (n < c->n)
		fprintf(out, "... and %zu more (--all shows them)\n", c->n - n);
}

/* ---- the mix ---- */

static void put_share(const char *what, uint64_t n, uint64_t all, FILE *out)
{
	char share[UNITS_MAX];

	units_percent(all ? 100.0 * (double)n / (double)all : 0, share);
	if (n)
		fprintf(out, "%18" PRIu64 "  %7s  %s\n", n, share, what);
}

static void put_lanes(const uint64_t *v, const char *what, uint64_t all, FILE *out)
{
	char text[CELL_MAX];

	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++) {
		snprintf(text, sizeof(text), "%s of %u bits", what, 128u << w);
		put_share(text, v[w], all, out);
	}
}

void counts_print_mix(const struct counts *c, FILE *out)
{
	const uint64_t *f = c->total.facts;
	uint64_t flops = counts_flops(&c->total), bytes = counts_bytes(&c->total);
	char text[UNITS_MAX];

	fprintf(out, "%18" PRIu64 "  blocks\n", c->total.blocks);
	put_share("instructions", f[FACT_INSNS], f[FACT_INSNS], out);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		put_share(block_classes[k], f[FACT_CLASSES + k], f[FACT_INSNS], out);
	put_lanes(f + FACT_INTS, "of them on vectors of integers,", f[FACT_INSNS], out);
	put_lanes(f + FACT_FLOATS, "of them on vectors of floating point numbers,", f[FACT_INSNS], out);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		put_share(block_kinds[k], f[FACT_ACCESSES + k], f[FACT_INSNS], out);
	units_bytes(bytes, text);
	fprintf(out, "%18s  loaded and stored\n", text);
	put_share("floating point operations", flops, flops, out);
	put_share("scalar", f[FACT_FLOPS], flops, out);
	put_lanes(f + FACT_FLOPS + 1, "vectors", flops, out);
	if (flops && bytes)
		fprintf(out, "%18.3f  flops a byte\n", (double)flops / (double)bytes);
	if (f[FACT_VARIES])
		fprintf(out, "string instructions with a repeat prefix count as one iteration, masked accesses as all lanes\n");
}

/* ---- CSV ---- */

static const char *id_of(const struct counts *c, const struct counts_row *row, uint64_t addr, char text[static CELL_MAX])
{
	text[0] = '\0';
	if (addr && c->o->by != COUNTS_BY_LINE)
		snprintf(text, CELL_MAX, "%016" PRIx64 "-%" PRIx64, row->hash, addr);
	return text;
}

static void csv_titles(FILE *out)
{
	fputs("id,to,address,to_address,count,entries,blocks,function,object,file,line,depth,instructions", out);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		fprintf(out, ",%s", block_classes[k]);
	fputs(",flops_scalar", out);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++)
		fprintf(out, ",flops_%u", 128u << w);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++)
		fprintf(out, ",ints_%u", 128u << w);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++)
		fprintf(out, ",floats_%u", 128u << w);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		fprintf(out, ",%s", block_kinds[k]);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		fprintf(out, ",%s_bytes", block_kinds[k]);
	fputs(",varies,least_trips,most_trips\n", out);
}

void counts_print_csv(const struct counts *c, uint64_t limit, FILE *out)
{
	char text[CELL_MAX];

	csv_titles(out);
	for (size_t i = 0; i < c->n && i < limit; i++) {
		const struct counts_row *row = &c->rows[i];

		fprintf(out, "%s,", id_of(c, row, row->addr, text));
		fprintf(out, "%s,0x%" PRIx64 ",0x%" PRIx64, id_of(c, row, row->to, text), row->addr, row->to);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->count, row->entries, row->blocks);
		units_csv(out, row->name);
		putc(',', out);
		units_csv(out, row->path);
		putc(',', out);
		units_csv(out, row->file);
		fprintf(out, ",%d,%" PRIu32, row->line, row->depth);
		for (unsigned int k = 0; k < BLOCK_FACT_NUMBERS; k++)
			fprintf(out, ",%" PRIu64, row->facts[k]);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", known_trips(row, row->least), known_trips(row, row->most));
	}
}

/* ---- JSON ---- */

static void json_number(struct tf_buf *line, const char *key, uint64_t n)
{
	if (n)
		tf_json_uint(line, key, n);
}

static void json_widths(struct tf_buf *line, const char *what, const uint64_t *v)
{
	char key[CELL_MAX];

	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++) {
		snprintf(key, sizeof(key), "%s_%u", what, 128u << w);
		json_number(line, key, v[w]);
	}
}

static void json_facts(struct tf_buf *line, const uint64_t *f)
{
	char key[CELL_MAX];

	json_number(line, "instructions", f[FACT_INSNS]);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		json_number(line, block_classes[k], f[FACT_CLASSES + k]);
	json_number(line, "flops_scalar", f[FACT_FLOPS]);
	json_widths(line, "flops", f + FACT_FLOPS + 1);
	json_widths(line, "ints", f + FACT_INTS);
	json_widths(line, "floats", f + FACT_FLOATS);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++) {
		json_number(line, block_kinds[k], f[FACT_ACCESSES + k]);
		snprintf(key, sizeof(key), "%s_bytes", block_kinds[k]);
		json_number(line, key, f[FACT_BYTES + k]);
	}
	json_number(line, "varies", f[FACT_VARIES]);
}

static void json_row(struct tf_buf *line, const struct counts *c, const struct counts_row *row, const char *by)
{
	char text[CELL_MAX];

	tf_buf_clear(line);
	tf_json_begin(line, by);
	if (id_of(c, row, row->addr, text)[0])
		tf_json_str(line, "id", text);
	if (id_of(c, row, row->to, text)[0])
		tf_json_str(line, "to", text);
	json_number(line, "address", row->addr);
	json_number(line, "to_address", row->to);
	tf_json_uint(line, "count", row->count);
	json_number(line, "entries", row->entries);
	json_number(line, "least_trips", known_trips(row, row->least));
	json_number(line, "most_trips", known_trips(row, row->most));
	json_number(line, "blocks", row->blocks);
	if (row->name[0])
		tf_json_str(line, c->o->by == COUNTS_BY_THREAD ? "thread" : "function", row->name);
	if (row->path[0])
		tf_json_str(line, "object", row->path);
	tf_json_str(line, "file", row->file);
	if (row->file)
		tf_json_int(line, "line", row->line);
	json_number(line, "depth", row->depth);
	json_facts(line, row->facts);
	tf_json_end(line);
}

bool counts_print_json(const struct counts *c, const char *by, uint64_t limit, FILE *out)
{
	struct tf_buf line = { 0 };
	bool good = true;

	for (size_t i = 0; i < c->n && i < limit && good; i++) {
		json_row(&line, c, &c->rows[i], by);
		good = !line.failed;
		if (good)
			fwrite(line.data, 1, line.size, out);
	}
	tf_buf_free(&line);
	return good;
}
