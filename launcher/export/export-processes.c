/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/trace/processtree.h"

#define FIRST_FREE_ID (1 << 22) /* Linux gives no greater pids */

struct member {
	const struct sonde_trace_thread *thread;
	const struct sonde_trace_rank *part;
};

static int compare(const struct member *x, const struct member *y)
{
	if (x->thread->pid != y->thread->pid)
		return x->thread->pid < y->thread->pid ? -1 : 1;
	if (x->part->rank != y->part->rank)
		return x->part->rank < y->part->rank ? -1 : 1;
	if (x->part->run != y->part->run)
		return x->part->run < y->part->run ? -1 : 1;
	return strcmp(x->part->host, y->part->host);
}

static int by_process(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = compare(x, y);

	if (order)
		return order;
	return x->thread->index < y->thread->index ? -1 : x->thread->index > y->thread->index;
}

/* Of @n threads of one process: of each program that it was, in order. */
static char *name_of(const struct member *m, size_t n)
{
	struct tf_buf b = { 0 };
	char text[32];

	if (m->part->rank >= 0) {
		snprintf(text, sizeof(text), "rank %d ", m->part->rank);
		tf_buf_str(&b, text);
	}
	for (size_t i = 0; i < n; i++) {
		if (i && m[i].part == m[i - 1].part)
			continue;
		tf_buf_str(&b, i ? ", " : "");
		tf_buf_str(&b, program_name(m[i].part->program));
	}
	snprintf(text, sizeof(text), " %d", m->thread->pid);
	tf_buf_str(&b, text);
	tf_buf_byte(&b, 0);
	if (b.failed) {
		tf_buf_free(&b);
		return NULL;
	}
	return (char *)b.data;
}

bool export_processes(struct export *x)
{
	size_t n = sonde_trace_threads(x->trace), end;
	struct member *m = calloc(n + 1, sizeof(*m));
	int next = FIRST_FREE_ID;
	bool good = true;

	x->process = calloc(n + 1, sizeof(*x->process));
	x->of = calloc(n + 1, sizeof(*x->of));
	good = m && x->process && x->of;
	for (size_t i = 0; good && i < n; i++) {
		m[i].thread = sonde_trace_thread(x->trace, i);
		m[i].part = sonde_trace_rank(x->trace, m[i].thread->rank_index);
	}
	if (good)
		qsort(m, n, sizeof(*m), by_process);
	for (size_t i = 0; good && i < n; i = end) {
		struct export_process *p = &x->process[x->nprocesses++];

		for (end = i; end < n && compare(&m[i], &m[end]) == 0; end++)
			x->of[m[end].thread->index] = p;
		p->first = m[i].thread->index;
		p->id = i && m[i - 1].thread->pid == m[i].thread->pid ? next++ : m[i].thread->pid;
		p->name = name_of(&m[i], end - i);
		good = p->name;
	}
	free(m);
	return good;
}

const char *export_host(const struct export *x, const struct export_process *p)
{
	return sonde_trace_rank(x->trace, sonde_trace_thread(x->trace, p->first)->rank_index)->host;
}

void export_processes_free(struct export *x)
{
	for (size_t i = 0; i < x->nprocesses; i++)
		free(x->process[i].name);
	free(x->process);
	free(x->of);
}
