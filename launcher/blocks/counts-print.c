/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts as a table, as a mix of instructions, as CSV (RFC 4180) and JSON lines. */
#include "launcher/blocks/counts.h"

#include <inttypes.h>
#include <string.h>

#include "launcher/blocks/blocks.h"
#include "launcher/common/units.h"
#include "tracefmt/json.h"

#define CELL_MAX 64
#define NAME_MAX_WIDTH 0 /* names are not cut */

struct column {
	const char *title;
	unsigned int of;	/* bit 1 << enum counts_by: tables that have it */
	void (*put)(const struct counts_row *row, char text[static CELL_MAX]);
};

#define OF(by) (1u << COUNTS_BY_##by)

static void put_number(uint64_t n, char *text)
{
	snprintf(text, CELL_MAX, "%" PRIu64, n);
}

static void put_count(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(row->count, text);
}

static void put_entries(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(row->entries, text);
}

static double trips(const struct counts_row *row)
{
	return row->entries ? (double)row->count / (double)row->entries : 0;
}

static void put_trips(const struct counts_row *row, char text[static CELL_MAX])
{
	if (row->entries)
		snprintf(text, CELL_MAX, "%.2f", trips(row));
	else
		strcpy(text, "-");
}

/* Neither is known of a loop some of whose entries overlapped. */
static uint64_t known_trips(const struct counts_row *row, uint64_t n)
{
	return row->unknown_trips ? 0 : n;
}

static void put_known(uint64_t n, char *text)
{
	if (n)
		put_number(n, text);
	else
		strcpy(text, "-");
}

static void put_least(const struct counts_row *row, char text[static CELL_MAX])
{
	put_known(known_trips(row, row->least), text);
}

static void put_most(const struct counts_row *row, char text[static CELL_MAX])
{
	put_known(known_trips(row, row->most), text);
}

static void put_blocks(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(row->blocks, text);
}

static void put_insns(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(row->facts[FACT_INSNS], text);
}

static void put_flops(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(counts_flops(row), text);
}

static void put_bytes(const struct counts_row *row, char text[static CELL_MAX])
{
	units_bytes(counts_bytes(row), text);
}

static void put_depth(const struct counts_row *row, char text[static CELL_MAX])
{
	put_number(row->depth, text);
}

static void put_address(uint64_t addr, char *text)
{
	if (addr)
		snprintf(text, CELL_MAX, "%" PRIx64, addr);
	else
		strcpy(text, "outside");
}

static void put_from(const struct counts_row *row, char text[static CELL_MAX])
{
	put_address(row->addr, text);
}

static void put_to(const struct counts_row *row, char text[static CELL_MAX])
{
	put_address(row->to, text);
}

static const struct column columns[] = {
	{ "calls", OF(FUNCTION), put_count },
	{ "entries", OF(LOOP), put_entries },
	{ "iterations", OF(LOOP), put_count },
	{ "mean trips", OF(LOOP), put_trips },
	{ "least", OF(LOOP), put_least },
	{ "most", OF(LOOP), put_most },
	{ "count", OF(LINE) | OF(BLOCK) | OF(EDGE), put_count },
	{ "blocks", OF(THREAD), put_count },
	{ "blocks", OF(FUNCTION) | OF(LOOP), put_blocks },
	{ "instructions", OF(FUNCTION) | OF(LOOP) | OF(BLOCK) | OF(THREAD), put_insns },
	{ "flops", OF(FUNCTION) | OF(LOOP) | OF(BLOCK) | OF(THREAD), put_flops },
	{ "memory", OF(FUNCTION) | OF(LOOP) | OF(BLOCK) | OF(THREAD), put_bytes },
	{ "depth", OF(LOOP), put_depth },
	{ "address", OF(LOOP) | OF(BLOCK), put_from },
	{ "from", OF(EDGE), put_from },
	{ "to", OF(EDGE), put_to },
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* ---- the table ---- */

struct table {
	const struct counts *c;
	int width[COLUMNS];
};

static bool has(const struct table *t, size_t column)
{
	return columns[column].of >> t->c->o->by & 1;
}

static void measure(struct table *t, size_t n)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < COLUMNS; k++) {
		t->width[k] = (int)strlen(columns[k].title);
		for (size_t i = 0; i < n && has(t, k); i++) {
			columns[k].put(&t->c->rows[i], text);
			if ((int)strlen(text) > t->width[k])
				t->width[k] = (int)strlen(text);
		}
	}
}

static void put_place(const struct counts_row *row, FILE *out)
{
	const char *slash = row->file ? strrchr(row->file, '/') : NULL;

	if (row->name[0])
		units_text(out, row->name, NAME_MAX_WIDTH, true);
	if (!row->file)
		return;
	fputs(row->name[0] ? "  " : "", out);
	units_text(out, slash ? slash + 1 : row->file, NAME_MAX_WIDTH, true);
	fprintf(out, ":%d", row->line);
}

static void put_row(const struct table *t, const struct counts_row *row, FILE *out)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < COLUMNS; k++) {
		if (!has(t, k))
			continue;
		columns[k].put(row, text);
		fprintf(out, "%*s  ", t->width[k], text);
	}
	put_place(row, out);
	putc('\n', out);
}

void counts_print_table(const struct counts *c, const char *by, uint64_t limit, FILE *out)
{
	size_t n = c->n < limit ? c->n : (size_t)limit;
	struct table t = { .c = c };

	if (!c->n) {
		fputs("nothing was executed\n", out);
		return;
	}
	measure(&t, n);
	for (size_t k = 0; k < COLUMNS; k++)
		if (has(&t, k))
			fprintf(out, "%*s  ", t.width[k], columns[k].title);
	fprintf(out, "%s\n", by);
	for (size_t i = 0; i < n; i++)
		put_row(&t, &c->rows[i], out);
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
