/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comma-separated values as in RFC 4180, lines ending in a line feed: ns and bytes as they are. */
#include "launcher/report/report.h"
#include "launcher/common/units.h"

#include <inttypes.h>

static void put_titles(const struct report *r, FILE *out)
{
	if (r->request->by != REPORT_BY_FUNCTION)
		fputs("rank,", out);
	if (r->request->by == REPORT_BY_THREAD)
		fputs("pid,tid,thread,program,", out);
	if (r->request->by == REPORT_BY_PROCESS)
		fputs("pid,program,", out);
	fputs("function,module,kind,calls,total_ns,total_percent,self_ns,self_percent,average_ns,min_ns,"
	      "max_ns,wait_ns,threads,processes,ranks,unwound,open,orphaned,symbol,path,estimated,error_ns,blocked_ns,preempted_ns",
	      out);
	for (size_t i = 0; i < COUNTERS; i++)
		if (r->offcpu.thread && r->offcpu.has[i])
			fprintf(out, ",%s", counter_kinds[i].name);
	for (size_t i = 0; i < r->rows.ncolumns; i++) {
		putc(',', out);
		units_csv(out, r->rows.columns[i]);
	}
	putc('\n', out);
}

static void put_times(const struct report_group *g, const struct report_stats *s, FILE *out)
{
	fprintf(out, ",%" PRIu64 ",%.3f,%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		s->total, report_percent(s->total, g->whole), s->self,
		report_percent(s->self, g->whole), report_average(s), report_min(s), report_max(s),
		s->wait);
}

static void put_group(const struct report *r, const struct report_group *g, FILE *out)
{
	if (r->request->by != REPORT_BY_FUNCTION)
		fprintf(out, "%d,", g->rank);
	if (g->thread) {
		fprintf(out, "%d,%d,", g->thread->pid, g->thread->tid);
		units_csv(out, g->thread->comm);
		putc(',', out);
	} else if (g->program) {
		fprintf(out, "%d,", g->pid);
	}
	if (g->program) {
		units_csv(out, program_name(g->program->program));
		putc(',', out);
	}
}

static void put_line(const struct report *r, const struct report_group *g,
		     const struct report_line *line, FILE *out)
{
	static const char *const kinds[] = { "function", "point", "counter" };
	const struct report_row *row = &r->rows.row[line->row];
	const struct report_stats *s = &line->stats;

	put_group(r, g, out);
	units_csv(out, report_name(r, line));
	putc(',', out);
	units_csv(out, row->module ? row->module->name : "");
	fprintf(out, ",%s,%" PRIu64, kinds[row->kind], s->calls);
	if (row->kind == REPORT_FUNCTION)
		put_times(g, s, out);
	else
		fputs(",,,,,,,,", out);
	fprintf(out, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", s->threads,
		s->processes, s->ranks, s->unwound, s->open, s->orphans);
	units_csv(out, row->function ? row->function->name : "");
	putc(',', out);
	units_csv(out, row->function ? row->function->path : "");
	fprintf(out, ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64, s->estimated, report_error(s), s->blocked, s->preempted);
	for (size_t i = 0; i < COUNTERS; i++)
		if (r->offcpu.thread && r->offcpu.has[i])
			fprintf(out, ",%" PRIu64, s->counted[i]);
	for (size_t i = 0; i < r->rows.ncolumns; i++)
		fprintf(out, ",%" PRIu64, report_line_amount(r, g, line, i));
	putc('\n', out);
}

void report_print_csv(const struct report *r, FILE *out)
{
	put_titles(r, out);
	for (size_t i = 0; i < r->ngroups; i++) {
		for (size_t k = 0; k < r->groups[i].nlines; k++)
			put_line(r, &r->groups[i], &r->groups[i].lines[k], out);
	}
}
