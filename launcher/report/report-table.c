/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table for people: figures to the right, names last, as wide as the terminal. Where that is too
 * narrow the columns that say least go first, then names are cut in the middle.
 */
#include "base/path.h"
#include "launcher/common/units.h"
#include "launcher/report/report.h"
#include "launcher/trace/holds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AMOUNTS 4 /* columns of bytes; the csv has all */
#define MAX_CELLS (15 + COUNTERS + MAX_AMOUNTS)
#define MIN_NAME 24
#define CELL_MAX 64

struct table;
typedef void cell_fn(const struct table *t, const struct report_line *line, size_t arg, char *text);

struct cell {
	const char *title;
	cell_fn *print;
	size_t arg;
	unsigned drop; /* the lowest goes first when there is no room; 0: never */
	size_t width;
};

struct table {
	const struct report *r;
	const struct report_group *g;
	FILE *out;
	struct cell cells[MAX_CELLS];
	size_t ncells;
	size_t module_width; /* 0: no column */
	size_t name_width;   /* 0: as long as it is */
	bool utf8;
};

/* ---- cells: their text, "" for none ---- */

static bool has_calls(const struct table *t, const struct report_line *line)
{
	return t->r->rows.row[line->row].kind == REPORT_FUNCTION &&
	       line->stats.ended.n + line->stats.unended.n > 0;
}

/* One that began before a phase has time in it. */
static bool has_time(const struct table *t, const struct report_line *line)
{
	return has_calls(t, line) || (t->r->phases && line->stats.total);
}

static void cell_calls(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	snprintf(text, CELL_MAX, "%" PRIu64, line->stats.calls);
}

#define TIME_CELL(name_, value_)                                                                   \
	static void cell_##name_(const struct table *t, const struct report_line *line, size_t arg, \
				 char *text)                                                       \
	{                                                                                          \
		const struct report_stats *s = &line->stats;                                       \
                                                                                                   \
		(void)arg;                                                                         \
		if (has_calls(t, line))                                                            \
			units_time(value_, text);                                                  \
	}

/* "~1.234 s": it is estimated. */
static void put_estimate(const struct table *t, const struct report_line *line, uint64_t ns, char *text)
{
	if (!has_time(t, line))
		return;
	if (line->stats.estimated)
		*text++ = '~';
	units_time(ns, text);
}

static void cell_total(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)arg;
	put_estimate(t, line, line->stats.total, text);
}

static void cell_self(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)arg;
	put_estimate(t, line, line->stats.self, text);
}

static void cell_error(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)arg;
	if (has_time(t, line) && line->stats.estimated && line->stats.self)
		units_percent(report_percent(report_error(&line->stats), line->stats.self), text);
}

TIME_CELL(average, report_average(s))
TIME_CELL(min, report_min(s))
TIME_CELL(max, report_max(s))

static void cell_total_share(const struct table *t, const struct report_line *line, size_t arg,
			     char *text)
{
	(void)arg;
	if (has_time(t, line))
		units_percent(report_percent(line->stats.total, t->g->whole), text);
}

static void cell_self_share(const struct table *t, const struct report_line *line, size_t arg,
			    char *text)
{
	(void)arg;
	if (has_time(t, line))
		units_percent(report_percent(line->stats.self, t->g->whole), text);
}

static void cell_counted(const struct table *t, const struct report_line *line, size_t counter, char *text)
{
	uint64_t n = line->stats.counted[counter];
	const char *about = counter_kinds[counter].sampled ? "~" : "";

	(void)t;
	if (n && counter == COUNTER_TASK_CLOCK) {
		*text++ = '~';
		units_time(n, text);
	} else if (n) {
		snprintf(text, CELL_MAX, "%s%" PRIu64, about, n);
	}
}

static void cell_blocked(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	if (line->stats.blocked)
		units_time(line->stats.blocked, text);
}

static void cell_preempted(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	if (line->stats.preempted)
		units_time(line->stats.preempted, text);
}

static void cell_wait(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	if (line->stats.wait)
		units_time(line->stats.wait, text);
}

static void cell_amount(const struct table *t, const struct report_line *line, size_t column,
			char *text)
{
	uint64_t amount = report_line_amount(t->r, t->g, line, column);

	if (amount)
		units_bytes(amount, text);
}

static void cell_threads(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	snprintf(text, CELL_MAX, "%" PRIu32, line->stats.threads);
}

static void cell_processes(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	snprintf(text, CELL_MAX, "%" PRIu32, line->stats.processes);
}

static void cell_ranks(const struct table *t, const struct report_line *line, size_t arg, char *text)
{
	(void)t, (void)arg;
	snprintf(text, CELL_MAX, "%" PRIu32, line->stats.ranks);
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

static void put_name(const struct table *t, const struct report_line *line)
{
	const struct report_row *row = &t->r->rows.row[line->row];

	units_text(t->out, report_name(t->r, line), t->name_width, t->utf8);
	if (row->ambiguous && *row->function->path) {
		fputs(" [", t->out);
		units_text(t->out, path_basename(row->function->path), 0, t->utf8);
		putc(']', t->out);
	}
	put_notes(t->out, &line->stats);
}

static const char *module_of(const struct table *t, const struct report_line *line)
{
	const struct sonde_trace_module *m = t->r->rows.row[line->row].module;

	return m ? m->name : "";
}

/* ---- which columns, and how wide ---- */

static void add_cell(struct table *t, const char *title, cell_fn *print, size_t arg, unsigned drop)
{
	t->cells[t->ncells++] = (struct cell){ title, print, arg, drop, units_width(title) };
}

static bool any_wait(const struct report_group *g)
{
	for (size_t i = 0; i < g->nlines; i++) {
		if (g->lines[i].stats.wait)
			return true;
	}
	return false;
}

static bool any_time(const struct table *t)
{
	for (size_t i = 0; i < t->g->nlines; i++) {
		if (has_time(t, &t->g->lines[i]))
			return true;
	}
	return false;
}

static bool any_estimate(const struct report_group *g)
{
	for (size_t i = 0; i < g->nlines; i++) {
		if (g->lines[i].stats.estimated)
			return true;
	}
	return false;
}

static bool any_amount(const struct table *t, size_t column)
{
	for (size_t i = 0; i < t->g->nlines; i++) {
		if (report_line_amount(t->r, t->g, &t->g->lines[i], column))
			return true;
	}
	return false;
}

static void add_amounts(struct table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->r->rows.ncolumns && n < MAX_AMOUNTS; i++) {
		if (any_amount(t, i)) {
			add_cell(t, t->r->rows.columns[i], cell_amount, i, 0);
			n++;
		}
	}
}

static void choose_cells(struct table *t)
{
	add_cell(t, "calls", cell_calls, 0, 0);
	if (any_time(t)) {
		add_cell(t, "total", cell_total, 0, 0);
		add_cell(t, "total%", cell_total_share, 0, 6);
		add_cell(t, "self", cell_self, 0, 0);
		add_cell(t, "self%", cell_self_share, 0, 1);
		if (any_estimate(t->g))
			add_cell(t, "error", cell_error, 0, 7);
		add_cell(t, "average", cell_average, 0, 0);
		add_cell(t, "min", cell_min, 0, 2);
		add_cell(t, "max", cell_max, 0, 5);
	}
	if (any_wait(t->g))
		add_cell(t, "wait", cell_wait, 0, 0);
	for (size_t i = 0; t->r->offcpu.thread && i < COUNTERS; i++)
		if (t->r->offcpu.has[i])
			add_cell(t, counter_kinds[i].name, cell_counted, i, 0);
	if (t->r->offcpu.thread && t->r->offcpu.switches) {
		add_cell(t, "blocked", cell_blocked, 0, 0);
		add_cell(t, "preempted", cell_preempted, 0, 2);
	}
	add_amounts(t);
	if (t->g->nthreads > 1)
		add_cell(t, "threads", cell_threads, 0, 4);
	if (t->r->several_programs && t->r->request->by != REPORT_BY_PROCESS && t->g->nthreads > 1 && !t->g->thread)
		add_cell(t, "processes", cell_processes, 0, 4);
	if (t->r->nranks > 1 && t->r->request->by == REPORT_BY_FUNCTION)
		add_cell(t, "ranks", cell_ranks, 0, 3);
}

static void measure(struct table *t)
{
	char text[CELL_MAX];

	for (size_t i = 0; i < t->g->nlines; i++) {
		const struct report_line *line = &t->g->lines[i];

		for (size_t k = 0; k < t->ncells; k++) {
			struct cell *c = &t->cells[k];
			text[0] = '\0';
			c->print(t, line, c->arg, text);
			if (strlen(text) > c->width)
				c->width = strlen(text);
		}
		if (units_width(module_of(t, line)) > t->module_width)
			t->module_width = units_width(module_of(t, line));
	}
	if (t->module_width && t->module_width < strlen("module"))
		t->module_width = strlen("module");
}

static size_t figures_width(const struct table *t)
{
	size_t width = t->module_width ? t->module_width + 2 : 0;

	for (size_t i = 0; i < t->ncells; i++)
		width += t->cells[i].width + 2;
	return width;
}

static bool drop_cell(struct table *t)
{
	size_t least = t->ncells;

	for (size_t i = 0; i < t->ncells; i++) {
		if (t->cells[i].drop &&
		    (least == t->ncells || t->cells[i].drop < t->cells[least].drop))
			least = i;
	}
	if (least == t->ncells)
		return false;
	t->ncells--;
	memmove(&t->cells[least], &t->cells[least + 1], (t->ncells - least) * sizeof(t->cells[0]));
	return true;
}

static void fit(struct table *t, size_t width)
{
	if (!width)
		return;
	while (figures_width(t) + MIN_NAME > width && drop_cell(t))
		;
	t->name_width = figures_width(t) + MIN_NAME > width ? MIN_NAME : width - figures_width(t);
}

/* ---- output ---- */

static void put_title(const struct table *t)
{
	for (size_t i = 0; i < t->ncells; i++) {
		const struct cell *c = &t->cells[i];

		fprintf(t->out, "%*s", (int)(c->width - units_width(c->title)), "");
		units_text(t->out, c->title, 0, t->utf8);
		fputs("  ", t->out);
	}
	if (t->module_width)
		fprintf(t->out, "%-*s  ", (int)t->module_width, "module");
	fputs("function\n", t->out);
}

static void put_line(const struct table *t, const struct report_line *line)
{
	char text[CELL_MAX];

	for (size_t i = 0; i < t->ncells; i++) {
		const struct cell *c = &t->cells[i];

		text[0] = '\0';
		c->print(t, line, c->arg, text);
		fprintf(t->out, "%*s  ", (int)c->width, text);
	}
	if (t->module_width) {
		size_t used = units_text(t->out, module_of(t, line), 0, t->utf8);

		fprintf(t->out, "%*s", (int)(t->module_width - used) + 2, "");
	}
	put_name(t, line);
	putc('\n', t->out);
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
	struct table t = { .r = r, .g = g, .out = out, .utf8 = utf8 };

	putc('\n', out);
	put_group_title(r, g, out);
	if (!g->nlines) {
		char text[256];

		if (!g->left_out)
			fprintf(out, "%s\n", why_none(r, text, sizeof(text)));
		return;
	}
	choose_cells(&t);
	measure(&t);
	fit(&t, width);
	put_title(&t);
	for (size_t i = 0; i < g->nlines; i++)
		put_line(&t, &g->lines[i]);
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
