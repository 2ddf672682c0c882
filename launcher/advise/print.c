/* SPDX-License-Identifier: GPL-3.0-or-later */
/* As text, CSV (RFC 4180) and JSON lines. */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/units.h"
#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

#define WIDTH 110 /* of a line of text, if the terminal does not say */

/* ---- text ---- */

/* "solve, loop at solve.c:12": */
static char *place_text(const struct advice_place *p)
{
	const char *function = p->function ? p->function : p->path ? path_basename(p->path) : NULL;

	if (!function && p->file)
		return advise_text("%s:%d", path_basename(p->file), p->line);
	if (p->file)
		return advise_text("%s, %s %s:%d", function, p->loop ? "loop at" : "at", path_basename(p->file), p->line);
	if (p->loop && function)
		return advise_text("%s, loop at 0x%" PRIx64, function, p->address);
	return advise_text("%s", function ? function : "the program");
}

/* Words on lines, each after @indent blanks. */
static void put_wrapped(FILE *out, const char *text, unsigned int width, unsigned int indent)
{
	unsigned int column = 0;

	while (*text) {
		const size_t n = strcspn(text, " ");
		char *word = n ? strndup(text, n) : NULL;

		if (word && column && column + 1 + n > width) {
			putc('\n', out);
			column = 0;
		}
		if (word)
			fprintf(out, "%*s", column ? 1 : (int)indent, "");
		column += column ? 1 : indent;
		if (word)
			column += (unsigned int)units_text(out, word, 0, true);
		free(word);
		text += n + strspn(text + n, " ");
	}
	putc('\n', out);
}

static void put_advice(const struct advise *a, size_t i, unsigned int width, FILE *out)
{
	const struct advice *v = &a->v[i];
	char *place = place_text(&v->place), *text, of[64], share[UNITS_MAX], alike[64] = "";

	advise_of_text(a, v->of, of);
	units_percent(100 * v->share, share);
	if (v->alike)
		snprintf(alike, sizeof(alike), " (in one of %" PRIu32 " processes)", v->alike + 1);
	fprintf(out, "%s%3zu. %s of the %s: %s\n", i ? "\n" : "", i + 1, share, of, advice_kind_word(v->kind));
	text = place ? advise_text("%s%s: %s: %s.", place, alike, v->evidence, v->todo) : NULL;
	if (text)
		put_wrapped(out, text, width, 5);
	free(text);
	free(place);
}

void advise_print_text(const struct advise *a, uint64_t limit, FILE *out)
{
	const size_t n = a->n < limit ? a->n : (size_t)limit;
	const unsigned int columns = units_terminal_width(), width = columns > 40 ? columns : WIDTH;

	for (size_t i = 0; i < n; i++)
		put_advice(a, i, width, out);
	if (!a->n)
		fprintf(out, "no advice: nothing of what was looked at has %.0f%% of the accesses, misses or time and looks as if it "
			"could be better\n", 100 * ADVISE_LEAST);
	if (n < a->n)
		fprintf(out, "\n... and %zu more (--all shows them)\n", a->n - n);
	if (*a->missing)
		fprintf(out, "\nnot looked at, since it was not recorded: %s\n", a->missing);
}

/* ---- CSV ---- */

void advise_print_csv(const struct advise *a, uint64_t limit, FILE *out)
{
	char of[64];

	fputs("rank,kind,share,of,function,file,line,loop,address,object,variable,evidence,advice\n", out);
	for (size_t i = 0; i < a->n && i < limit; i++) {
		const struct advice *v = &a->v[i];

		advise_of_text(a, v->of, of);
		fprintf(out, "%zu,%s,%.6f,", i + 1, advice_kind_word(v->kind), v->share);
		units_csv(out, of);
		putc(',', out);
		units_csv(out, v->place.function);
		putc(',', out);
		units_csv(out, v->place.file);
		fprintf(out, ",%d,%d,0x%" PRIx64 ",", v->place.line, v->place.loop, v->place.address);
		units_csv(out, v->place.path);
		putc(',', out);
		units_csv(out, v->place.variable);
		putc(',', out);
		units_csv(out, v->evidence);
		putc(',', out);
		units_csv(out, v->todo);
		putc('\n', out);
	}
}

/* ---- JSON ---- */

static void put_json(const struct advise *a, size_t i, struct tf_buf *b)
{
	const struct advice *v = &a->v[i];
	char of[64];

	advise_of_text(a, v->of, of);
	tf_json_begin(b, "advice");
	tf_json_uint(b, "rank", i + 1);
	tf_json_str(b, "kind", advice_kind_word(v->kind));
	tf_json_real(b, "share", "%.6f", v->share);
	tf_json_str(b, "of", of);
	tf_json_str(b, "function", v->place.function);
	tf_json_str(b, "file", v->place.file);
	if (v->place.line)
		tf_json_int(b, "line", v->place.line);
	tf_json_bool(b, "loop", v->place.loop);
	if (v->place.address)
		tf_json_uint(b, "address", v->place.address);
	tf_json_str(b, "object", v->place.path);
	tf_json_str(b, "variable", v->place.variable);
	tf_json_uint(b, "processes", v->alike + UINT64_C(1));
	tf_json_str(b, "evidence", v->evidence);
	tf_json_str(b, "advice", v->todo);
}

bool advise_print_json(const struct advise *a, uint64_t limit, FILE *out)
{
	struct tf_buf b = { 0 };
	bool good = true;

	for (size_t i = 0; i < a->n && i < limit && good; i++) {
		put_json(a, i, &b);
		good = units_json_end(&b, out);
	}
	tf_json_begin(&b, "summary");
	tf_json_uint(&b, "pieces", a->n);
	tf_json_uint(&b, "small", a->few);
	tf_json_str(&b, "not_recorded", a->missing);
	good = good && units_json_end(&b, out);
	tf_buf_free(&b);
	return good;
}
