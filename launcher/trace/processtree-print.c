/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/path.h"
#include "launcher/common/table.h"
#include "launcher/common/units.h"
#include "launcher/trace/processtree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INDENT 32u	/* columns; what is deeper is not moved further to the right */
#define MIN_COMMAND 24u /* columns of a command, however narrow the terminal is */
#define MAX_ENDED 24u	/* columns */

const char *program_name(const char *path)
{
	const char *name = path_basename(path);

	return *name ? name : "?";
}

const char *process_name(const struct process_entry *e)
{
	switch (e->kind) {
	case PROCESS_LEFT_ALONE:
		return program_name(e->exec->path);
	case PROCESS_FORKED:
		if (e->process && *e->process->comm)
			return e->process->comm;
		break;
	case PROCESS_PROGRAM:
		break;
	}
	return program_name(e->part->program);
}

/* ---- how it ended ---- */

static void killed(int signal, char text[static PROCESS_ENDING_MAX])
{
	const char *name = sigabbrev_np(signal);

	if (name)
		snprintf(text, PROCESS_ENDING_MAX, "killed by SIG%s", name);
	else
		snprintf(text, PROCESS_ENDING_MAX, "killed by signal %d", signal);
}

void program_ending(const struct sonde_trace_rank *part, char text[static PROCESS_ENDING_MAX])
{
	switch (part->ending) {
	case SONDE_TRACE_EXITED:
		snprintf(text, PROCESS_ENDING_MAX, "exit status %d", part->exit_status);
		return;
	case SONDE_TRACE_KILLED:
		killed(part->signal, text);
		return;
	case SONDE_TRACE_DETACHED:
		snprintf(text, PROCESS_ENDING_MAX, "detached, the program went on");
		return;
	case SONDE_TRACE_EXECUTED:
		snprintf(text, PROCESS_ENDING_MAX, "executed another program");
		return;
	case SONDE_TRACE_ENDED:
		snprintf(text, PROCESS_ENDING_MAX, "status not known");
		return;
	case SONDE_TRACE_UNFINISHED:
		break;
	}
	snprintf(text, PROCESS_ENDING_MAX, "not known");
}

void process_ending(const struct process_entry *e, char text[static PROCESS_ENDING_MAX])
{
	*text = '\0';
	if (e->kind == PROCESS_LEFT_ALONE)
		snprintf(text, PROCESS_ENDING_MAX, "not recorded");
	else if (e->exec)
		snprintf(text, PROCESS_ENDING_MAX, "executed %s", program_name(e->exec->path));
	else if (e->kind == PROCESS_PROGRAM)
		program_ending(e->part, text);
	else if (e->process && e->process->ended && e->process->signal)
		killed(e->process->signal, text);
	else if (e->process && e->process->ended)
		snprintf(text, PROCESS_ENDING_MAX, "exit status %d", e->process->exit_status);
}

/* ---- commands ---- */

static void put_word(FILE *out, const char *word)
{
	bool plain = *word && !strpbrk(word, " \t\n'\"\\$`*?;&|<>()");

	fprintf(out, plain ? "%s" : "'%s'", word);
}

/* For free(); NULL: no memory. */
static char *command_of(const struct process_entry *e)
{
	size_t nargs = e->kind == PROCESS_PROGRAM    ? e->part->nargs :
		       e->kind == PROCESS_LEFT_ALONE ? e->exec->nargs :
						       0;
	const char *const *args = e->kind == PROCESS_LEFT_ALONE ? e->exec->args : e->part->args;
	unsigned int indent = 2 * e->depth < MAX_INDENT ? 2 * e->depth : MAX_INDENT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%*s", (int)indent, "");
	put_word(out, process_name(e));
	for (size_t i = 1; i < nargs; i++) {
		putc(' ', out);
		put_word(out, args[i]);
	}
	if (e->kind != PROCESS_PROGRAM)
		fprintf(out, " (%s)", e->kind == PROCESS_FORKED ? "forked" : e->exec->left_alone);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* ---- the table ---- */

struct process_table {
	struct table table;
	bool ranks;
	bool calls; /* were counted, nothing was recorded */
	size_t command; /* columns of it; 0: as long as it is */
};

static void put_entry(struct process_table *p, const struct process_entry *e)
{
	char rank[16] = "", time[UNITS_MAX] = "", count[32] = "", ending[PROCESS_ENDING_MAX], *command;
	struct table *t = &p->table;

	if (e->part->rank >= 0)
		snprintf(rank, sizeof(rank), "%d", e->part->rank);
	if (e->end > e->start)
		units_time(e->end - e->start, time);
	if (e->kind != PROCESS_LEFT_ALONE)
		snprintf(count, sizeof(count), "%" PRIu64, p->calls ? e->calls : e->events);
	process_ending(e, ending);
	if (p->ranks)
		table_cell(t, "rank", 0, "%s", rank);
	table_cell(t, "process", 0, "%d", e->pid);
	table_cell(t, "time", 0, "%s", time);
	table_cell(t, p->calls ? "calls" : "events", 0, "%s", count);
	table_text(t, "ended", MAX_ENDED, ending);
	if (!table_row(t))
		return;
	command = command_of(e);
	units_text(t->out, command ? command : process_name(e), p->command, t->utf8);
	putc('\n', t->out);
	free(command);
}

void process_tree_print(const struct process_tree *tree, FILE *out, uint64_t limit, unsigned int width, bool utf8)
{
	struct process_table t = { .table = { .out = out, .utf8 = utf8 }, .ranks = tree->ranks, .calls = true };
	size_t n = tree->n < limit ? tree->n : (size_t)limit;
	bool counted = false;

	for (size_t i = 0; i < tree->n; i++) {
		counted |= tree->v[i].calls > 0;
		t.calls &= tree->v[i].events == 0;
	}
	t.calls &= counted;
	for (size_t i = 0; i < n || !i; i++) /* one at least, for the titles */
		put_entry(&t, &tree->v[i]);
	t.command = table_fit(&t.table, width, MIN_COMMAND);
	put_entry(&t, &tree->v[0]);
	fputs("program\n", out);
	for (size_t i = 0; i < n; i++)
		put_entry(&t, &tree->v[i]);
	if (n < tree->n)
		fprintf(out, "... and %zu more (--all shows them)\n", tree->n - n);
}
