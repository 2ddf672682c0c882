/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table for people: figures to the right, names last, as wide as the terminal. Where that is too
 * narrow the columns that say least go first, then names are cut in the middle.
 */
#include "base/path.h"
#include "launcher/common/table.h"
#include "launcher/common/units.h"
#include "launcher/report/report.h"
#include "launcher/trace/holds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AMOUNTS 4 /* columns of bytes; the csv has all */
#define MIN_NAME 24

struct group_table {
	const struct report *r;
	const struct report_group *g;
	struct table table;
	bool times, estimates, waits, modules; /* some line has them */
	size_t amounts[MAX_AMOUNTS], namounts; /* columns of the report that some line has */
	size_t name_width;		       /* 0: as long as it is */
};

/* ---- figures ---- */

static bool has_calls(const struct group_table *t, const struct report_line *line)
{
	return t->r->rows.row[line->row].kind == REPORT_FUNCTION &&
	       line->stats.ended.n + line->stats.unended.n > 0;
}

/* One that began before a phase has time in it. */
static bool has_time(const struct group_table *t, const struct report_line *line)
{
	return has_calls(t, line) || (t->r->phases && line->stats.total);
}

static void put_time(struct group_table *t, const char *title, unsigned int drop, bool known, uint64_t ns)
{
	char text[UNITS_MAX] = "";

	if (known)
		units_time(ns, text);
	table_cell(&t->table, title, drop, "%s", text);
}

static void put_share(struct group_table *t, const char *title, unsigned int drop, bool known, double percent)
{
	char text[UNITS_MAX] = "";

	if (known)
		units_percent(percent, text);
	table_cell(&t->table, title, drop, "%s", text);
}

/* "~1.234 s": it is estimated. */
static void put_estimate(struct group_table *t, const char *title, const struct report_line *line, uint64_t ns)
{
	char text[UNITS_MAX] = "";
	bool known = has_time(t, line);

	if (known)
		units_time(ns, text);
	table_cell(&t->table, title, 0, "%s%s", known && line->stats.estimated ? "~" : "", text);
}

static void put_times(struct group_table *t, const struct report_line *line)
{
	const struct report_stats *s = &line->stats;
	const bool timed = has_time(t, line), called = has_calls(t, line);

	put_estimate(t, "total", line, s->total);
	put_share(t, "total%", 6, timed, report_percent(s->total, t->g->whole));
	put_estimate(t, "self", line, s->self);
	put_share(t, "self%", 1, timed, report_percent(s->self, t->g->whole));
	if (t->estimates)
		put_share(t, "error", 7, timed && s->estimated && s->self, report_percent(report_error(s), s->self));
	put_time(t, "average", 0, called, report_average(s));
	put_time(t, "min", 2, called, report_min(s));
	put_time(t, "max", 5, called, report_max(s));
}

static void put_counted(struct group_table *t, const struct report_line *line, size_t counter)
{
	const char *title = counter_kinds[counter].name, *about = counter_kinds[counter].sampled ? "~" : "";
	uint64_t n = line->stats.counted[counter];
	char text[UNITS_MAX];

	if (!n) {
		table_cell(&t->table, title, 0, "%s", "");
	} else if (counter == COUNTER_TASK_CLOCK) {
		units_time(n, text);
		table_cell(&t->table, title, 0, "~%s", text);
	} else {
		table_cell(&t->table, title, 0, "%s%" PRIu64, about, n);
	}
}

static void put_amount(struct group_table *t, const struct report_line *line, size_t column)
{
	uint64_t amount = report_line_amount(t->r, t->g, line, column);
	char text[UNITS_MAX] = "";

	if (amount)
		units_bytes(amount, text);
	table_cell(&t->table, t->r->rows.columns[column], 0, "%s", text);
}

static const char *module_of(const struct group_table *t, const struct report_line *line)
{
	const struct sonde_trace_module *m = t->r->rows.row[line->row].module;

	return m ? m->name : "";
}

static void put_cells(struct group_table *t, const struct report_line *line)
{
	const struct report_stats *s = &line->stats;
	const struct report *r = t->r;

	table_cell(&t->table, "calls", 0, "%" PRIu64, s->calls);
	if (t->times)
		put_times(t, line);
	if (t->waits)
		put_time(t, "wait", 0, s->wait, s->wait);
	for (size_t i = 0; r->offcpu.thread && i < COUNTERS; i++)
		if (r->offcpu.has[i])
			put_counted(t, line, i);
	if (r->offcpu.thread && r->offcpu.switches) {
		put_time(t, "blocked", 0, s->blocked, s->blocked);
		put_time(t, "preempted", 2, s->preempted, s->preempted);
	}
	for (size_t i = 0; i < t->namounts; i++)
		put_amount(t, line, t->amounts[i]);
	if (t->g->nthreads > 1)
		table_cell(&t->table, "threads", 4, "%" PRIu32, s->threads);
	if (r->several_programs && r->request->by != REPORT_BY_PROCESS && t->g->nthreads > 1 && !t->g->thread)
		table_cell(&t->table, "processes", 4, "%" PRIu32, s->processes);
	if (r->nranks > 1 && r->request->by == REPORT_BY_FUNCTION)
		table_cell(&t->table, "ranks", 3, "%" PRIu32, s->ranks);
	if (t->modules)
		table_text(&t->table, "module", 0, module_of(t, line));
}

/* ---- names ---- */

static void add_note(char *text, size_t size, uint64_t n, const char *what)
{
	size_t at = strlen(text);

	if (n)
		snprintf(text + at, size - at, "%s%" PRIu64 " %s", at ? ", " : "", n, what);
}

static void put_notes(FILE *out, const struct report_stats *s)
{
	char notes[128] = "";

	add_note(notes, sizeof(notes), s->unwound, "unwound");
	add_note(notes, sizeof(notes), s->open, "open");
	add_note(notes, sizeof(notes), s->orphans, "orphaned");
	if (*notes)
		fprintf(out, "  (%s)", notes);
}

static void put_name(const struct group_table *t, const struct report_line *line)
{
	const struct report_row *row = &t->r->rows.row[line->row];
	FILE *out = t->table.out;

	units_text(out, report_name(t->r, line), t->name_width, t->table.utf8);
	if (row->ambiguous && *row->function->path) {
		fputs(" [", out);
		units_text(out, path_basename(row->function->path), 0, t->table.utf8);
		putc(']', out);
	}
	put_notes(out, &line->stats);
}

/* ---- all lines ---- */

static bool any_amount(const struct group_table *t, size_t column)
{
	for (size_t i = 0; i < t->g->nlines; i++) {
		if (report_line_amount(t->r, t->g, &t->g->lines[i], column))
			return true;
	}
	return false;
}

static void choose_columns(struct group_table *t)
{
	for (size_t i = 0; i < t->g->nlines; i++) {
		const struct report_line *line = &t->g->lines[i];

		t->times |= has_time(t, line);
		t->estimates |= line->stats.estimated;
		t->waits |= line->stats.wait > 0;
		t->modules |= *module_of(t, line) != '\0';
	}
	for (size_t i = 0; i < t->r->rows.ncolumns && t->namounts < MAX_AMOUNTS; i++)
		if (any_amount(t, i))
			t->amounts[t->namounts++] = i;
}

static void put_lines(struct group_table *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		put_cells(t, &t->g->lines[i]);
		if (!table_row(&t->table))
			continue;
		put_name(t, &t->g->lines[i]);
		putc('\n', t->table.out);
	}
}

static void put_group_title(const struct report *r, const struct report_group *g, FILE *out)
{
	char whole[UNITS_MAX];

	if (r->request->by == REPORT_BY_FUNCTION)
		return;
	if (g->rank >= 0)
		fprintf(out, "rank %d%s", g->rank, g->program ? ", " : "");
	if (g->thread) {
		fprintf(out, "thread %d.%d ", g->thread->pid, g->thread->tid);
		units_text(out, g->thread->comm, 0, true);
	} else if (g->program) {
		fprintf(out, "process %d ", g->pid);
	}
	if (g->program && (!g->thread || r->several_programs)) {
		fputs(g->thread ? " of " : "", out);
		units_text(out, program_name(g->program->program), 0, true);
	}
	if (!g->program && g->rank < 0)
		fputs("no rank", out);
	units_time(g->whole, whole);
	fprintf(out, ": %s, %" PRIu64 " event%s", whole, g->events, g->events == 1 ? "" : "s");
	report_print_waits_in_title(r, g, out);
	putc('\n', out);
}

static const char *why_none(const struct report *r, char *text, size_t size)
{
	if (r->shown)
		return "nothing that matches";
	holds_no_calls(r->trace, text, size);
	return text;
}

static void put_group(const struct report *r, const struct report_group *g, FILE *out, unsigned width,
		      bool utf8)
{
	struct group_table t = { .r = r, .g = g, .table = { .out = out, .utf8 = utf8 } };

	putc('\n', out);
	put_group_title(r, g, out);
	if (!g->nlines) {
		char text[256];

		if (!g->left_out)
			fprintf(out, "%s\n", why_none(r, text, sizeof(text)));
		return;
	}
	choose_columns(&t);
	put_lines(&t, g->nlines);
	t.name_width = table_fit(&t.table, width, MIN_NAME);
	put_lines(&t, 1);
	fputs("function\n", out);
	put_lines(&t, g->nlines);
	if (g->left_out)
		fprintf(out, "... and %zu more (--all shows them)\n", g->left_out);
}

/* ---- what the notes mean ---- */

static void explain(const struct report *r, FILE *out)
{
	struct report_stats any = { 0 };

	for (size_t i = 0; i < r->ngroups; i++) {
		for (size_t k = 0; k < r->groups[i].nlines; k++) {
			any.unwound |= r->groups[i].lines[k].stats.unwound;
			any.open |= r->groups[i].lines[k].stats.open;
			any.orphans |= r->groups[i].lines[k].stats.orphans;
			any.estimated |= r->groups[i].lines[k].stats.estimated;
		}
	}
	if (any.unwound | any.open | any.orphans | any.estimated)
		putc('\n', out);
	if (any.unwound)
		fputs("unwound: left by longjmp or an exception; counted up to the next event\n", out);
	if (any.open)
		fputs("open: no return was recorded; counted up to the thread's last event, or its process's end while it waits\n",
		      out);
	if (any.estimated)
		fputs("~: estimated from bursts; error: of self, two standard deviations. average, min, max: of recorded calls\n", out);
	if (any.orphans)
		fputs("orphaned: only the return was recorded; no time is known\n", out);
}

static bool is_empty(const struct report *r)
{
	for (size_t i = 0; i < r->ngroups; i++)
		if (r->groups[i].nlines || r->groups[i].left_out)
			return false;
	return true;
}

void report_print_text(const struct report *r, FILE *out, unsigned width, bool utf8)
{
	struct holds_texts texts;
	char text[256];

	if (r->several_programs) {
		process_tree_print(&r->processes, out, r->request->limit, width, utf8);
		putc('\n', out);
	}
	report_print_head(r, out);
	for (size_t i = 0; i < r->ngroups; i++)
		put_group(r, &r->groups[i], out, width, utf8);
	if (!r->ngroups)
		fprintf(out, "\n%s\n", why_none(r, text, sizeof(text)));
	explain(r, out);
	holds_texts(r->trace, &texts);
	if (texts.n && !r->shown) {
		putc('\n', out);
		holds_print_texts(&texts, is_empty(r), out);
	}
	holds_texts_free(&texts);
}
