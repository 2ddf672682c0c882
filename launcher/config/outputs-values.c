/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From calls: the smallest, the largest and the most frequent values of arguments and results. */
#include "launcher/config/outputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "launcher/dump/dump.h"

#define TOP 10
#define MOST_VALUES 65536 /* different ones that are counted, of an argument */

struct slot {
	uint64_t n; /* 0: free */
	uint64_t bits;
	char *text; /* NULL: a number */
};

struct row {
	const struct sonde_trace_function *f;
	const char *name;
	enum sonde_trace_type type;
	uint64_t calls, left;	/* left: whose values are not counted one by one */
	union {
		int64_t i;
		uint64_t u;
		double f;
	} least, most;
	struct slot *slots;
	size_t room, n;
};

struct rows {
	struct row *v;
	size_t n, room;
	const struct config_entry *e;
};

/* ---- adding up ---- */

static struct row *row_of(struct rows *rows, const struct sonde_trace_function *f, const struct sonde_trace_value *v)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct row *r = &rows->v[i];

		if (r->f == f && r->type == v->type && strcmp(r->name, v->name) == 0)
			return r;
	}
	if (!array_room(rows->v, rows->room, rows->n + 1))
		return NULL;
	rows->v[rows->n] = (struct row){ .f = f, .name = v->name, .type = v->type };
	return &rows->v[rows->n++];
}

static void note_bounds(struct row *r, const struct sonde_trace_value *v)
{
	bool first = r->calls == 1;

	switch (v->type) {
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		r->least.i = first || v->i < r->least.i ? v->i : r->least.i;
		r->most.i = first || v->i > r->most.i ? v->i : r->most.i;
		break;
	case SONDE_TRACE_F64:
		r->least.f = first || v->f < r->least.f ? v->f : r->least.f;
		r->most.f = first || v->f > r->most.f ? v->f : r->most.f;
		break;
	case SONDE_TRACE_STR:
		break;
	default:
		r->least.u = first || v->u < r->least.u ? v->u : r->least.u;
		r->most.u = first || v->u > r->most.u ? v->u : r->most.u;
	}
}

static uint64_t hash_of(const struct slot *s)
{
	return s->text ? hash_bytes(s->text, s->bits) : hash_word(s->bits);
}

static bool is_same(const struct slot *s, const struct slot *like)
{
	return s->bits == like->bits && (!like->text || memcmp(s->text, like->text, like->bits) == 0);
}

static struct slot *slot_of(const struct row *r, const struct slot *like)
{
	return &r->slots[hash_slot(i, r->room, hash_of(like), !r->slots[i].n || is_same(&r->slots[i], like))];
}

static bool count_value(struct row *r, const struct sonde_trace_value *v)
{
	struct slot like = { .bits = v->u, .text = v->type == SONDE_TRACE_STR ? (char *)v->str : NULL }, *s;

	if (!hash_grow(r->slots, r->room, r->n + 1, old, old->n, slot_of(r, old)))
		return false;
	s = slot_of(r, &like);
	if (s->n) {
		s->n++;
		return true;
	}
	if (r->n == MOST_VALUES) {
		r->left++;
		return true;
	}
	if (like.text) {
		like.text = malloc(v->u + 1);
		if (!like.text)
			return false;
		memcpy(like.text, v->str, v->u);
		like.text[v->u] = '\0';
	}
	*s = like;
	s->n = 1;
	r->n++;
	return true;
}

static bool take(void *arg, const struct sonde_trace_event *ev)
{
	struct rows *rows = arg;

	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];
		struct row *r;

		if (!config_wants_argument(rows->e, v->name))
			continue;
		r = row_of(rows, ev->function, v);
		if (!r)
			return false;
		r->calls++;
		note_bounds(r, v);
		if (!count_value(r, v))
			return false;
	}
	return true;
}

/* ---- printing ---- */

static void put_value(struct tf_buf *line, const struct row *r, const struct sonde_trace_value *v)
{
	struct sonde_trace_value named = *v;

	named.name = "";
	named.type = r->type;
	tf_buf_clear(line);
	dump_put_value(line, &named);
	tf_buf_byte(line, '\0');
}

/* " =value" without what comes before it. */
static const char *text_of(struct tf_buf *line, const struct row *r, uint64_t bits, const char *text)
{
	put_value(line, r, &(struct sonde_trace_value){ .u = bits, .str = text });
	return line->failed ? "?" : (const char *)line->data + strlen(" =");
}

static int by_number(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->bits < y->bits ? -1 : x->bits > y->bits;
}

static void print_row(struct row *r, uint64_t top, FILE *out)
{
	struct tf_buf line = { 0 };

	fprintf(out, "%s, %s: %" PRIu64 " values, %zu%s different", r->f->demangled, r->name, r->calls, r->n,
		r->left ? " and more" : "");
	if (r->type != SONDE_TRACE_STR) {
		fprintf(out, ", smallest %s", text_of(&line, r, r->least.u, NULL));
		fprintf(out, ", largest %s", text_of(&line, r, r->most.u, NULL));
	}
	putc('\n', out);
	qsort(r->slots, r->room, sizeof(*r->slots), by_number);
	for (size_t i = 0; i < r->room && i < top && r->slots[i].n; i++)
		fprintf(out, "%12" PRIu64 " %6.2f%%  %s\n", r->slots[i].n,
			100.0 * (double)r->slots[i].n / (double)r->calls,
			text_of(&line, r, r->slots[i].bits, r->slots[i].text));
	if (r->left)
		fprintf(out, "%12" PRIu64 " %6.2f%%  others, which came after the first %d different ones\n", r->left,
			100.0 * (double)r->left / (double)r->calls, MOST_VALUES);
	tf_buf_free(&line);
}

int config_make_values(struct config_making *m)
{
	struct rows rows = { .e = m->entry };
	struct config_calls calls;
	int status = config_calls_begin(&calls, m) ? 0 : config_no_memory();

	if (!status)
		status = config_each_call(&calls, take, &rows);
	if (!status && !rows.n)
		fputs("# no such value was recorded: no call was made, or debug information names no such argument\n",
		      m->out);
	for (size_t i = 0; i < rows.n; i++) {
		if (!status)
			print_row(&rows.v[i], m->entry->top ? m->entry->top : TOP, m->out);
		for (size_t k = 0; k < rows.v[i].room; k++)
			free(rows.v[i].slots[k].text);
		free(rows.v[i].slots);
	}
	free(rows.v);
	config_calls_end(&calls);
	return status;
}
