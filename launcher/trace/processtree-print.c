/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/path.h"
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

enum { RANK, PID, TIME, COUNT, ENDED, COLUMNS };

struct table {
	FILE *out;
	bool calls; /* were counted, nothing was recorded */
	bool utf8;
	size_t width[COLUMNS]; /* 0: no column */
	size_t command;	       /* 0: as long as it is */
};

static void cell(const struct table *t, const struct process_entry *e, int column, char text[static PROCESS_ENDING_MAX])
{
	*text = '\0';
	switch (column) {
	case RANK:
		if (e->part->rank >= 0)
			snprintf(text, PROCESS_ENDING_MAX, "%d", e->part->rank);
		break;
	case PID:
		snprintf(text, PROCESS_ENDING_MAX, "%d", e->pid);
		break;
	case TIME:
		if (e->end > e->start)
			units_time(e->end - e->start, text);
		break;
	case COUNT:
		if (e->kind != PROCESS_LEFT_ALONE)
			snprintf(text, PROCESS_ENDING_MAX, "%" PRIu64, t->calls ? e->calls : e->events);
		break;
	case ENDED:
		process_ending(e, text);
		break;
	}
}

static const char *title(const struct table *t, int column)
{
	static const char *const titles[] = { "rank", "process", "time", "events", "ended" };

	return column == COUNT && t->calls ? "calls" : titles[column];
}

static void measure(struct table *t, const struct process_tree *tree, size_t n)
{
	char text[PROCESS_ENDING_MAX];

	for (int c = 0; c < COLUMNS; c++) {
		if (c == RANK && !tree->ranks)
			continue;
		t->width[c] = units_width(title(t, c));
		for (size_t i = 0; i < n; i++) {
			cell(t, &tree->v[i], c, text);
			if (units_width(text) > t->width[c])
				t->width[c] = units_width(text);
		}
		if (c == ENDED && t->width[c] > MAX_ENDED)
			t->width[c] = MAX_ENDED;
	}
}

static void put_cell(const struct table *t, int column, const char *text)
{
	size_t width;

	if (!t->width[column])
		return;
	if (column != ENDED)
		fprintf(t->out, "%*s", (int)(t->width[column] - units_width(text)), "");
	width = units_text(t->out, text, t->width[column], t->utf8);
	fprintf(t->out, "%*s", column == ENDED ? (int)(t->width[column] - width) + 2 : 2, "");
}

static void put_entry(const struct table *t, const struct process_entry *e)
{
	char text[PROCESS_ENDING_MAX], *command = command_of(e);

	for (int c = 0; c < COLUMNS; c++) {
		cell(t, e, c, text);
		put_cell(t, c, text);
	}
	units_text(t->out, command ? command : process_name(e), t->command, t->utf8);
	putc('\n', t->out);
	free(command);
}

void process_tree_print(const struct process_tree *tree, FILE *out, uint64_t limit, unsigned int width, bool utf8)
{
	struct table t = { .out = out, .calls = true, .utf8 = utf8 };
	size_t n = tree->n < limit ? tree->n : (size_t)limit, used = 0;
	bool counted = false;

	for (size_t i = 0; i < tree->n; i++) {
		counted |= tree->v[i].calls > 0;
		t.calls &= tree->v[i].events == 0;
	}
	t.calls &= counted;
	measure(&t, tree, n);
	for (int c = 0; c < COLUMNS; c++)
		used += t.width[c] ? t.width[c] + 2 : 0;
	if (width)
		t.command = used + MIN_COMMAND > width ? MIN_COMMAND : width - used;
	for (int c = 0; c < COLUMNS; c++)
		put_cell(&t, c, title(&t, c));
	fputs("program\n", out);
	for (size_t i = 0; i < n; i++)
		put_entry(&t, &tree->v[i]);
	if (n < tree->n)
		fprintf(out, "... and %zu more (--all shows them)\n", tree->n - n);
}
