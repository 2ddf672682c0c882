/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tags as text, CSV (RFC 4180) and JSON lines. */
#include "launcher/tags/tags.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracefmt/json.h"

enum { NOTE_MAX = 64 };

/* ---- text ---- */

static const char *printed; /* the function of the last row */

static void begin_text(const char *path)
{
	(void)path;
	printed = NULL;
}

static void put_what(const struct tag *t)
{
	const char *kind = tags_kind_text(t->fact.kind);

	if (*kind) {
		fputs(kind, stdout);
		if (*t->expr)
			putchar(' ');
	}
	units_text(stdout, t->expr, 0, true);
	/* of a[i] that the variable is a need not be said */
	if (*t->variable && strncmp(t->expr, t->variable, strlen(t->variable)) != 0) {
		fputs(" of ", stdout);
		units_text(stdout, t->variable, 0, true);
	}
	if (*t->type) {
		fputs(": ", stdout);
		units_text(stdout, t->type, 0, true);
	}
}

static void put_loop(const struct tags_fact *f)
{
	if (f->depth)
		printf("; loop at line %" PRIu32 ", depth %" PRIu32, f->loop, f->depth);
	if (f->flags & TAGS_VECTORIZED)
		fputs("; vectorized", stdout);
	if (f->flags & TAGS_IFCONVERTED)
		printf("; if-converted (branch at line %" PRIu32 ")", f->branch);
}

static void row_text(const struct tags_row *r, struct tf_buf *line)
{
	const char *slash;
	char place[NOTE_MAX] = "";

	(void)line;
	if (!printed || strcmp(printed, r->function) != 0) {
		printf("%s%s:\n", printed ? "\n" : "", r->function);
		printed = r->function;
	}
	if (r->tag && r->tag->fact.line) {
		slash = strrchr(r->tag->file, '/');
		snprintf(place, sizeof(place), "%.40s:%" PRIu32, slash ? slash + 1 : r->tag->file, r->tag->fact.line);
	}
	printf("  %8" PRIx64 "  %-20s %-6s %4" PRIu64 "  ", r->addr, place, r->access, r->size);
	if (r->tag) {
		put_what(r->tag);
		put_loop(&r->tag->fact);
	} else {
		fputs("(no tag)", stdout);
	}
	putchar('\n');
}

static void put_share(uint64_t part, uint64_t of)
{
	char text[UNITS_MAX];

	units_percent(of ? 100.0 * (double)part / (double)of : 0, text);
	fputs(text, stdout);
}

static void end_text(const struct tags_sums *s)
{
	printf("%s%" PRIu64 " of %" PRIu64 " instructions that access memory have tags (", printed ? "\n" : "", s->tagged, s->insns);
	put_share(s->tagged, s->insns);
	printf("), of their bytes ");
	put_share(s->tagged_bytes, s->bytes);
	printf("; without %" PRIu64 " pushes, pops, calls and returns\n", s->stack);
}

const struct tags_form tags_text = { begin_text, row_text, end_text };

/* ---- CSV ---- */

static void begin_csv(const char *path)
{
	(void)path;
	puts("address,function,file,line,access,size,kind,expression,variable,type,source_function,loop,depth,branch,vectorized,"
	     "if_converted");
}

static void end_nothing(const struct tags_sums *s)
{
	(void)s;
}

static void csv_field(const char *text)
{
	units_csv(stdout, *text ? text : NULL);
	putchar(',');
}

static void csv_number(uint64_t n)
{
	if (n)
		printf("%" PRIu64, n);
	putchar(',');
}

static void row_csv(const struct tags_row *r, struct tf_buf *line)
{
	const struct tag *t = r->tag;

	(void)line;
	printf("0x%" PRIx64 ",", r->addr);
	csv_field(r->function);
	csv_field(t ? t->file : "");
	csv_number(t ? t->fact.line : 0);
	csv_field(r->access);
	csv_number(r->size);
	csv_field(!t ? "none" : t->fact.kind == TAGS_VARIABLE ? "variable" : tags_kind_text(t->fact.kind));
	csv_field(t ? t->expr : "");
	csv_field(t ? t->variable : "");
	csv_field(t ? t->type : "");
	csv_field(t ? t->function : "");
	csv_number(t ? t->fact.loop : 0);
	csv_number(t ? t->fact.depth : 0);
	csv_number(t ? t->fact.branch : 0);
	printf("%d,%d\n", t && t->fact.flags & TAGS_VECTORIZED, t && t->fact.flags & TAGS_IFCONVERTED);
}

const struct tags_form tags_csv = { begin_csv, row_csv, end_nothing };

/* ---- JSON ---- */

static void json_text(struct tf_buf *line, const char *key, const char *text)
{
	if (*text)
		tf_json_str(line, key, text);
}

static void json_number(struct tf_buf *line, const char *key, uint64_t n)
{
	if (n)
		tf_json_uint(line, key, n);
}

static void json_tag(struct tf_buf *line, const struct tag *t)
{
	json_text(line, "file", t->file);
	json_number(line, "line", t->fact.line);
	tf_json_str(line, "kind", t->fact.kind == TAGS_VARIABLE ? "variable" : tags_kind_text(t->fact.kind));
	json_text(line, "expression", t->expr);
	json_text(line, "variable", t->variable);
	json_text(line, "value_type", t->type);
	json_text(line, "source_function", t->function);
	json_number(line, "loop", t->fact.loop);
	json_number(line, "depth", t->fact.depth);
	json_number(line, "branch", t->fact.branch);
	tf_json_bool(line, "vectorized", t->fact.flags & TAGS_VECTORIZED);
	tf_json_bool(line, "if_converted", t->fact.flags & TAGS_IFCONVERTED);
}

static void begin_json(const char *path)
{
	(void)path;
}

static void row_json(const struct tags_row *r, struct tf_buf *line)
{
	tf_buf_clear(line);
	tf_json_begin(line, "access");
	tf_json_uint(line, "address", r->addr);
	tf_json_str(line, "function", r->function);
	tf_json_str(line, "access", r->access);
	json_number(line, "size", r->size);
	if (r->tag)
		json_tag(line, r->tag);
	else
		tf_json_str(line, "kind", "none");
	tf_json_end(line);
	if (!line->failed)
		fwrite(line->data, 1, line->size, stdout);
}

const struct tags_form tags_json = { begin_json, row_json, end_nothing };
