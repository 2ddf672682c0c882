/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One JSON object (RFC 8259): ns and bytes as they are.  doc/sonde-report.1 lists the members. */
#include "launcher/trace/clocks.h"
#include "launcher/report/report.h"
#include "launcher/trace/sampled.h"

#include <inttypes.h>

/* ---- strings ---- */

/* Length of the UTF-8 sequence at @s, or 0 if there is none (cut off, overlong, a surrogate). */
static size_t sequence(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
		   s[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void put_character(FILE *out, const unsigned char *s, size_t n)
{
	if (n == 0)
		fputs("\\ufffd", out);
	else if (*s == '"' || *s == '\\')
		fprintf(out, "\\%c", *s);
	else if (*s < ' ')
		fprintf(out, "\\u%04x", *s);
	else
		fwrite(s, 1, n, out);
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', out);
	while (*s) {
		size_t n = sequence(s);

		put_character(out, s, n);
		s += n ? n : 1;
	}
	putc('"', out);
}

static void put_member(FILE *out, const char *name, const char *value)
{
	fprintf(out, ", \"%s\": ", name);
	put_string(out, value);
}

static void put_number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, ", \"%s\": %" PRIu64, name, value);
}

/* ---- the run ---- */

static void put_arguments(FILE *out, const char *const *args, size_t n)
{
	fputs(", \"arguments\": [", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		put_string(out, args[i]);
	}
	putc(']', out);
}

static void put_sampled(FILE *out, const struct sonde_trace_sampled *s)
{
	fputs(", \"sampled\": {\"by\": ", out);
	put_string(out, s->by);
	if (s->every) {
		put_number(out, "burst", s->burst);
		put_number(out, "every", s->every);
	}
	put_number(out, "bursts", s->bursts);
	if (s->lived)
		fprintf(out, ", \"%s\": %.6g", s->cpu_ns ? "cpu_share" : "time_share", sampled_share(s));
	if (s->all_units)
		fprintf(out, ", \"access_share\": %.6g", (double)s->on_units / (double)s->all_units);
	if (s->overhead > 0)
		fprintf(out, ", \"allowed_cost\": %.6g", s->overhead);
	if (s->cost_ns)
		fprintf(out, ", \"cost\": %.6g", sampled_cost(s));
	putc('}', out);
}

static void put_rank(FILE *out, const struct sonde_trace_rank *k)
{
	char ending[PROCESS_ENDING_MAX];

	program_ending(k, ending);
	fprintf(out, "{\"rank\": %d, \"run\": %d", k->rank, k->run);
	if (k->pid)
		fprintf(out, ", \"pid\": %d", k->pid);
	fprintf(out, ", \"number\": %d", k->number);
	put_member(out, "program", k->program);
	put_arguments(out, k->args, k->nargs);
	put_member(out, "host", k->host);
	put_member(out, "sonde", k->version);
	put_number(out, "started_unix_ns", k->start_real_ns);
	put_number(out, "start_ns", k->start);
	put_number(out, "end_ns", k->end);
	put_number(out, "node", k->node);
	put_member(out, "clock", clocks_kind(k->clock));
	if (k->clock_error != UINT64_MAX)
		put_number(out, "clock_error_ns", k->clock_error);
	put_member(out, "ending", ending);
	if (k->ending == SONDE_TRACE_EXITED)
		fprintf(out, ", \"exit_status\": %d", k->exit_status);
	if (k->ending == SONDE_TRACE_KILLED)
		fprintf(out, ", \"signal\": %d", k->signal);
	if (k->sampled)
		put_sampled(out, k->sampled);
	putc('}', out);
}

static void put_ranks(FILE *out, const struct sonde_trace *trace)
{
	fputs(",\n\"runs\": [", out);
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_rank(out, sonde_trace_rank(trace, i));
	}
	fputs("\n]", out);
}

/* ---- the processes, in the order of the tree ---- */

static void put_ended(FILE *out, const struct process_entry *e)
{
	const struct sonde_trace_process *p = e->process;
	bool exited = p && p->ended && !p->signal, killed = p && p->ended && p->signal;
	char ending[PROCESS_ENDING_MAX];
	int status = exited ? p->exit_status : 0, signal = killed ? p->signal : 0;

	process_ending(e, ending);
	put_member(out, "ending", ending);
	if (e->kind == PROCESS_PROGRAM && !e->exec) {
		exited = e->part->ending == SONDE_TRACE_EXITED;
		killed = e->part->ending == SONDE_TRACE_KILLED;
		status = e->part->exit_status;
		signal = e->part->signal;
	}
	if (exited)
		fprintf(out, ", \"exit_status\": %d", status);
	if (killed)
		fprintf(out, ", \"signal\": %d", signal);
}

static void put_process(FILE *out, const struct process_entry *e)
{
	static const char *const kinds[] = { "program", "forked", "not recorded" };

	fprintf(out, "{\"rank\": %d, \"run\": %d, \"pid\": %d", e->part->rank, e->part->run, e->pid);
	if (e->parent)
		fprintf(out, ", \"parent\": %d", e->parent);
	if (e->kind != PROCESS_LEFT_ALONE)
		fprintf(out, ", \"number\": %d", e->part->number);
	put_member(out, "kind", kinds[e->kind]);
	put_member(out, "name", process_name(e));
	if (e->kind == PROCESS_LEFT_ALONE) {
		put_member(out, "program", e->exec->path);
		put_arguments(out, e->exec->args, e->exec->nargs);
		put_member(out, "reason", e->exec->left_alone);
	} else {
		put_member(out, "program", e->part->program);
	}
	if (e->kind == PROCESS_PROGRAM)
		put_arguments(out, e->part->args, e->part->nargs);
	put_number(out, "start_ns", e->start);
	if (e->end)
		put_number(out, "end_ns", e->end);
	if (e->kind != PROCESS_LEFT_ALONE) {
		put_number(out, "threads", e->threads);
		put_number(out, "events", e->events);
		put_number(out, "calls_counted", e->calls);
	}
	if (e->exec && e->kind != PROCESS_LEFT_ALONE)
		put_member(out, "executed", e->exec->path);
	put_ended(out, e);
	putc('}', out);
}

static void put_processes(FILE *out, const struct process_tree *tree)
{
	fputs(",\n\"processes\": [", out);
	for (size_t i = 0; i < tree->n; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_process(out, &tree->v[i]);
	}
	fputs("\n]", out);
}

static void put_problems(FILE *out, const struct report *r)
{
	fputs(",\n\"problems\": [", out);
	for (size_t i = 0; i < r->nproblems; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_string(out, r->problems[i].text);
	}
	fputs("]", out);
}

static void put_over_ranks(FILE *out, const struct report *r, const struct report_over_ranks *t)
{
	put_number(out, "average_ns", t->sum / r->nranks);
	put_number(out, "min_ns", t->min);
	fprintf(out, ", \"min_rank\": %d", t->min_rank);
	put_number(out, "max_ns", t->max);
	fprintf(out, ", \"max_rank\": %d}", t->max_rank);
}

static void put_modules(FILE *out, const struct report *r)
{
	fputs(",\n\"modules_over_ranks\": [", out);
	for (size_t i = 0; i < r->nmodules; i++) {
		const struct report_module_time *m = &r->modules[i];

		fputs(i ? ",\n  {\"module\": " : "\n  {\"module\": ", out);
		put_string(out, m->module ? m->module->name : "");
		put_over_ranks(out, r, &m->time);
	}
	fputs("]", out);
}

/* All classes that some rank spent time in. */
static void put_waits(FILE *out, const struct report *r)
{
	const char *before = "\n  ";

	fputs(",\n\"waiting_over_ranks\": [", out);
	for (size_t i = 0; r->nranks > 1 && i < r->rows.nclasses; i++) {
		const struct report_class *c = &r->rows.classes[i];

		if (!r->class_time[i].max)
			continue;
		fprintf(out, "%s{\"class\": ", before);
		put_string(out, c->name);
		fprintf(out, ", \"apart\": %s", c->apart ? "true" : "false");
		put_over_ranks(out, r, &r->class_time[i]);
		before = ",\n  ";
	}
	fputs("]", out);
}

/* ---- the figures ---- */

static void put_counted(FILE *out, const struct report *r, const struct report_stats *s)
{
	const char *before = ", \"counters\": {";

	for (size_t i = 0; r->offcpu.thread && i < COUNTERS; i++) {
		if (!r->offcpu.has[i])
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, before, counter_kinds[i].name, s->counted[i]);
		before = ", ";
	}
	if (!before[2])
		putc('}', out);
}

static void put_times(FILE *out, const struct report *r, const struct report_group *g, const struct report_stats *s)
{
	put_number(out, "total_ns", s->total);
	fprintf(out, ", \"total_percent\": %.3f", report_percent(s->total, g->whole));
	put_number(out, "self_ns", s->self);
	fprintf(out, ", \"self_percent\": %.3f", report_percent(s->self, g->whole));
	put_number(out, "average_ns", report_average(s));
	put_number(out, "min_ns", report_min(s));
	put_number(out, "max_ns", report_max(s));
	put_number(out, "wait_ns", s->wait);
	put_number(out, "blocked_ns", s->blocked);
	put_number(out, "preempted_ns", s->preempted);
	put_counted(out, r, s);
	put_number(out, "unwound", s->unwound);
	put_number(out, "open", s->open);
	put_number(out, "orphaned", s->orphans);
	if (s->estimated)
		put_number(out, "error_ns", report_error(s));
}

static void put_amounts(FILE *out, const struct report *r, const struct report_group *g,
			const struct report_line *line)
{
	const struct report_slot *slots = r->rows.slots;
	size_t at = line->amounts;

	fputs(", \"bytes\": {", out);
	for (uint32_t k = r->rows.row[line->row].slots; k != REPORT_NO_SLOT; k = slots[k].next, at++) {
		fputs(at > line->amounts ? ", " : "", out);
		put_string(out, r->rows.columns[slots[k].column]);
		fprintf(out, ": %" PRIu64, g->amounts[at]);
	}
	putc('}', out);
}

static void put_line(FILE *out, const struct report *r, const struct report_group *g,
		     const struct report_line *line)
{
	static const char *const kinds[] = { "function", "point", "counter" };
	const struct report_row *row = &r->rows.row[line->row];

	fputs("{\"function\": ", out);
	put_string(out, report_name(r, line));
	put_member(out, "module", row->module ? row->module->name : "");
	put_member(out, "kind", kinds[row->kind]);
	put_number(out, "calls", line->stats.calls);
	if (row->kind == REPORT_FUNCTION)
		put_times(out, r, g, &line->stats);
	put_number(out, "threads", line->stats.threads);
	put_number(out, "processes", line->stats.processes);
	put_number(out, "ranks", line->stats.ranks);
	if (row->slots != REPORT_NO_SLOT)
		put_amounts(out, r, g, line);
	put_member(out, "symbol", row->function ? row->function->name : "");
	put_member(out, "path", row->function ? row->function->path : "");
	putc('}', out);
}

/* One object with the time of each class, of those that wait or of the others. */
static void put_classes(FILE *out, const struct report *r, const struct report_group *g, bool apart,
			const char *name)
{
	const char *before = "";

	fprintf(out, ", \"%s\": {", name);
	for (size_t i = 0; i < r->rows.nclasses; i++) {
		if (r->rows.classes[i].apart != apart || !g->class_time[i])
			continue;
		fputs(before, out);
		put_string(out, r->rows.classes[i].name);
		fprintf(out, ": %" PRIu64, g->class_time[i]);
		before = ", ";
	}
	putc('}', out);
}

static void put_group(FILE *out, const struct report *r, const struct report_group *g)
{
	putc('{', out);
	if (r->request->by != REPORT_BY_FUNCTION)
		fprintf(out, "\"rank\": %d, ", g->rank);
	if (g->thread) {
		fprintf(out, "\"pid\": %d, \"tid\": %d, \"thread\": ", g->thread->pid,
			g->thread->tid);
		put_string(out, g->thread->comm);
		fputs(", ", out);
	} else if (g->program) {
		fprintf(out, "\"pid\": %d, ", g->pid);
	}
	if (g->program) {
		fprintf(out, "\"number\": %d, \"program\": ", g->program->number);
		put_string(out, g->program->program);
		fputs(", ", out);
	}
	fprintf(out, "\"time_ns\": %" PRIu64, g->whole);
	put_number(out, "wait_ns", g->wait);
	put_classes(out, r, g, false, "waiting_ns");
	put_classes(out, r, g, true, "apart_ns");
	put_number(out, "threads", g->nthreads);
	put_number(out, "events", g->events);
	put_number(out, "left_out", g->left_out);
	fputs(", \"functions\": [", out);
	for (size_t i = 0; i < g->nlines; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		put_line(out, r, g, &g->lines[i]);
	}
	fputs("]}", out);
}

void report_print_json(const struct report *r, FILE *out)
{
	fputs("{\"trace\": ", out);
	put_string(out, r->dir);
	put_number(out, "ranks", r->nranks);
	put_number(out, "threads", r->nthreads);
	put_number(out, "events", r->events);
	put_ranks(out, r->trace);
	put_processes(out, &r->processes);
	put_number(out, "recording_ns", r->spent.taken);
	put_number(out, "recording_wait_ns", r->spent.taken ? r->spent.waited : 0);
	put_problems(out, r);
	put_modules(out, r);
	put_waits(out, r);
	fputs(",\n\"tables\": [", out);
	for (size_t i = 0; i < r->ngroups; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		put_group(out, r, &r->groups[i]);
	}
	fputs("\n]}\n", out);
}
