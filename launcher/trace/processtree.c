/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/processtree.h"
#include "base/array.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/*
 * Whatever the metadata says, and it may be damaged, each entry is in the tree once: those that are in a circle, as a process
 * that is its own ancestor, are taken for roots.
 */

struct making {
	const struct sonde_trace *trace;
	struct process_entry *v; /* first those of parts, by part and pid; then what was left alone */
	size_t n, ofparts, room;
	uint32_t *by_pid; /* entries of parts, by rank, run, pid and start */
	uint32_t *first;  /* by entry: that of the list of those below it, at 2 * i, and of those after it, at 2 * i + 1 */
	uint32_t *next;   /* in such a list, the latest first */
	uint32_t *in_time; /* all entries, the first first */
};

/* ---- entries ---- */

static bool add(struct making *m, struct process_entry e)
{
	if (m->n > NONE / 8 || !array_room(m->v, m->room, m->n + 1))
		return false;
	e.above = e.before = e.origin = NONE;
	m->v[m->n++] = e;
	return true;
}

static bool add_process(struct making *m, size_t part, int pid, const struct sonde_trace_process *process)
{
	const struct sonde_trace_rank *rank = sonde_trace_rank(m->trace, part);
	bool first = pid && pid == rank->pid;

	return add(m, (struct process_entry){
			      .kind = first ? PROCESS_PROGRAM : PROCESS_FORKED,
			      .part = rank,
			      .process = process,
			      .pid = pid,
			      .parent = first && rank->parent ? rank->parent : process ? process->parent : 0,
			      .start = first ? rank->start : process ? process->start : 0,
			      .end = first ? rank->end : process ? process->end : 0,
		      });
}

static int compare_keys(const struct process_entry *x, size_t part, int pid)
{
	if (x->part->index != part)
		return x->part->index < part ? -1 : 1;
	return x->pid < pid ? -1 : x->pid > pid;
}

/* What is known of its process comes first. */
static int by_key(const void *a, const void *b)
{
	const struct process_entry *x = a, *y = b;
	int order = compare_keys(x, y->part->index, y->pid);

	return order ? order : !x->process - !y->process;
}

static struct process_entry *find(const struct making *m, size_t part, int pid)
{
	size_t at = search_first(i, m->ofparts, compare_keys(&m->v[i], part, pid) >= 0);

	return at < m->ofparts && compare_keys(&m->v[at], part, pid) == 0 ? &m->v[at] : NULL;
}

static void add_thread(struct making *m, const struct sonde_trace_thread *t)
{
	struct process_entry *e = find(m, t->rank_index, t->pid);

	if (e->kind == PROCESS_FORKED && t->events) {
		if (!e->start || t->first < e->start)
			e->start = t->first;
		if (!(e->process && e->process->end) && t->last > e->end)
			e->end = t->last;
	}
	e->threads++;
	e->events += t->events;
	for (size_t i = 0; i < t->ncalls; i++)
		e->calls += t->calls[i].calls;
}

/* One for each process of each part, however it is known. */
static bool add_parts(struct making *m)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_ranks(m->trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(m->trace, i);

		if (rank->pid && !rank->left_out && !add_process(m, i, rank->pid, NULL))
			return false;
	}
	for (size_t i = 0; i < sonde_trace_processes(m->trace); i++) {
		const struct sonde_trace_process *p = sonde_trace_process(m->trace, i);

		if (!add_process(m, p->rank_index, p->pid, p))
			return false;
	}
	for (size_t i = 0; i < sonde_trace_threads(m->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(m->trace, i);

		if (!add_process(m, t->rank_index, t->pid, NULL))
			return false;
	}
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_key);
	for (size_t i = 0; i < m->n; i++)
		if (!n || compare_keys(&m->v[n - 1], m->v[i].part->index, m->v[i].pid))
			m->v[n++] = m->v[i];
	m->n = m->ofparts = n;
	for (size_t i = 0; i < sonde_trace_threads(m->trace); i++)
		add_thread(m, sonde_trace_thread(m->trace, i));
	return true;
}

/* ---- which belongs to which ---- */

/* The process has an end of its own in the metadata of the program before. */
static bool add_left_alone(struct making *m, const struct sonde_trace_exec *exec, const struct process_entry *from)
{
	const struct sonde_trace_process *p = from ? from->process : NULL;

	return add(m, (struct process_entry){
			      .kind = PROCESS_LEFT_ALONE,
			      .part = sonde_trace_rank(m->trace, exec->rank_index),
			      .process = p && p->ended && p->end >= exec->time ? p : NULL,
			      .exec = exec,
			      .pid = exec->pid,
			      .parent = from ? from->parent : 0,
			      .start = exec->time,
			      .end = p && p->ended && p->end >= exec->time ? p->end : 0,
		      });
}

/* The process that a part began with, if it is not @e. */
static uint32_t first_of(const struct making *m, size_t part, const struct process_entry *e)
{
	const struct process_entry *first = find(m, part, sonde_trace_rank(m->trace, part)->pid);

	return first && first != e ? (uint32_t)(first - m->v) : NONE;
}

/*
 * What a process executed comes after what it was.  Where the program knows no such process, as of a child of a child that had
 * no events, it is below the program all the same.
 */
static bool add_execs(struct making *m)
{
	for (size_t i = 0; i < sonde_trace_execs(m->trace); i++) {
		const struct sonde_trace_exec *exec = sonde_trace_exec(m->trace, i);
		struct process_entry *from = find(m, exec->rank_index, exec->pid);
		uint32_t before = from ? (uint32_t)(from - m->v) : NONE;
		struct process_entry *to;

		if (from) {
			from->exec = exec;
			from->end = exec->time;
		}
		if (!exec->program && !*exec->left_alone)
			continue; /* recorded, but not in this trace */
		if (!exec->program && !add_left_alone(m, exec, from)) /* moves entries */
			return false;
		to = exec->program ? find(m, exec->program->index, exec->pid) : &m->v[m->n - 1];
		if (to && (uint32_t)(to - m->v) != before)
			to->before = before;
		if (to && !from)
			to->origin = first_of(m, exec->rank_index, to);
	}
	return true;
}

static int compare_group(const struct process_entry *x, const struct process_entry *y)
{
	if (x->part->rank != y->part->rank)
		return x->part->rank < y->part->rank ? -1 : 1;
	return (x->part->run > y->part->run) - (x->part->run < y->part->run);
}

static int by_pid(const void *a, const void *b, void *arg)
{
	const struct making *m = arg;
	const struct process_entry *x = &m->v[*(const uint32_t *)a], *y = &m->v[*(const uint32_t *)b];
	int order = compare_group(x, y);

	if (order)
		return order;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The last program that process @pid had become when @e began, or its first. */
static uint32_t find_parent(const struct making *m, const struct process_entry *e, int pid)
{
	size_t low = 0, high = m->ofparts;
	struct process_entry like = *e;
	uint32_t found = NONE;

	like.pid = pid;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct process_entry *x = &m->v[m->by_pid[middle]];
		int order = compare_group(x, &like);

		if (!order)
			order = x->pid < pid ? -1 : x->pid > pid;
		if (!order)
			found = m->by_pid[middle];
		if (order < 0 || (!order && x->start <= e->start))
			low = middle + 1;
		else
			high = middle;
	}
	/* that at @low - 1 is the last one that began in time, if it is the process at all */
	if (low && m->v[m->by_pid[low - 1]].pid == pid && compare_group(&m->v[m->by_pid[low - 1]], &like) == 0)
		return m->by_pid[low - 1];
	return found;
}

static bool find_parents(struct making *m)
{
	m->by_pid = calloc(m->ofparts + 1, sizeof(*m->by_pid));
	if (!m->by_pid)
		return false;
	for (size_t i = 0; i < m->ofparts; i++)
		m->by_pid[i] = (uint32_t)i;
	qsort_r(m->by_pid, m->ofparts, sizeof(*m->by_pid), by_pid, m);
	for (size_t i = 0; i < m->ofparts; i++) {
		struct process_entry *e = &m->v[i];
		const struct process_entry *same = find(m, e->part->index, e->parent);
		uint32_t parent = NONE;

		if (e->parent > 0 && e->kind == PROCESS_FORKED && same)
			parent = (uint32_t)(same - m->v);
		else if (e->parent > 0)
			parent = find_parent(m, e, e->parent);
		e->above = parent == i ? NONE : parent;
	}
	return true;
}

/* A child that only lived to execute a program. */
static bool is_hidden(const struct process_entry *e)
{
	return e->kind == PROCESS_FORKED && !e->events && !e->calls && e->exec &&
	       (e->exec->program || *e->exec->left_alone);
}

/* ---- the order ---- */

static int by_time(const void *a, const void *b, void *arg)
{
	const struct making *m = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct process_entry *x = &m->v[i], *y = &m->v[k];
	int order = compare_group(x, y);

	if (order)
		return order;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Where the entry hangs: the place of its list in m->first, or NONE. */
static uint32_t list_of(const struct making *m, uint32_t i)
{
	const struct process_entry *e = &m->v[i];

	if (e->before != NONE && !is_hidden(&m->v[e->before]))
		return 2 * e->before + 1;
	if (e->before != NONE && m->v[e->before].above != NONE)
		return 2 * m->v[e->before].above;
	if (e->above != NONE)
		return 2 * e->above;
	return e->origin != NONE ? 2 * e->origin : NONE;
}

static bool link_all(struct making *m)
{
	m->first = calloc(2 * m->n + 2, sizeof(*m->first));
	m->next = calloc(m->n + 1, sizeof(*m->next));
	m->in_time = calloc(m->n + 1, sizeof(*m->in_time));
	if (!m->first || !m->next || !m->in_time)
		return false;
	memset(m->first, 0xff, 2 * m->n * sizeof(*m->first));
	for (size_t i = 0; i < m->n; i++)
		m->in_time[i] = (uint32_t)i;
	qsort_r(m->in_time, m->n, sizeof(*m->in_time), by_time, m);
	for (size_t i = 0; i < m->n; i++) {
		uint32_t e = m->in_time[i], list = list_of(m, e);

		if (list == NONE)
			continue;
		m->next[e] = m->first[list];
		m->first[list] = e;
	}
	return true;
}

/* With all below it. The stack holds an entry once at most: each is in one list. */
static void take(struct making *m, uint32_t root, bool *taken, uint32_t *stack, struct process_tree *tree)
{
	size_t n = 0;

	m->v[root].depth = 0;
	taken[root] = true;
	stack[n++] = root;
	while (n) {
		uint32_t e = stack[--n];

		if (!is_hidden(&m->v[e]))
			tree->v[tree->n++] = m->v[e];
		for (int below = 0; below < 2; below++) {
			for (uint32_t k = m->first[2 * e + !below]; k != NONE; k = m->next[k]) {
				if (taken[k])
					continue;
				taken[k] = true;
				m->v[k].depth = m->v[e].depth + (unsigned int)below;
				stack[n++] = k;
			}
		}
	}
}

static bool order(struct making *m, struct process_tree *tree)
{
	bool *taken = calloc(m->n + 1, sizeof(*taken));
	uint32_t *stack = calloc(m->n + 1, sizeof(*stack));

	tree->v = calloc(m->n + 1, sizeof(*tree->v));
	for (int circles = 0; taken && stack && tree->v && circles < 2; circles++) {
		for (size_t i = 0; i < m->n; i++) {
			uint32_t e = m->in_time[i];

			if (!taken[e] && (circles || list_of(m, e) == NONE))
				take(m, e, taken, stack, tree);
		}
	}
	bool good = taken && stack && tree->v;
	free(taken);
	free(stack);
	return good;
}

/* ---- all of it ---- */

static void keep_rank(struct process_tree *tree, uint64_t rank)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->n; i++) {
		int is = tree->v[i].part->rank;

		if (rank == PROCESS_ANY_RANK || (is >= 0 && (uint64_t)is == rank))
			tree->v[n++] = tree->v[i];
	}
	tree->n = n;
}

static int by_process(const void *a, const void *b)
{
	const struct process_entry *x = *(const struct process_entry *const *)a;
	const struct process_entry *y = *(const struct process_entry *const *)b;
	int order = compare_group(x, y);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static bool count(struct process_tree *tree)
{
	const struct process_entry **v = calloc(tree->n + 1, sizeof(*v));

	for (size_t i = 0; v && i < tree->n; i++) {
		v[i] = &tree->v[i];
		tree->programs += v[i]->kind == PROCESS_PROGRAM;
		tree->ranks |= v[i]->part->rank >= 0;
	}
	if (v)
		qsort(v, tree->n, sizeof(*v), by_process);
	for (size_t i = 0; v && i < tree->n; i++)
		tree->processes += !i || by_process(&v[i - 1], &v[i]) != 0;
	free(v);
	return v != NULL;
}

bool process_tree_make(const struct sonde_trace *trace, uint64_t rank, struct process_tree *tree)
{
	struct making m = { .trace = trace };

	*tree = (struct process_tree){ 0 };
	bool good = add_parts(&m) && add_execs(&m) && find_parents(&m) && link_all(&m) && order(&m, tree);
	if (good) {
		keep_rank(tree, rank);
		good = count(tree);
	}
	if (!good)
		process_tree_free(tree);
	free(m.v);
	free(m.by_pid);
	free(m.first);
	free(m.next);
	free(m.in_time);
	return good;
}

void process_tree_free(struct process_tree *tree)
{
	free(tree->v);
	*tree = (struct process_tree){ 0 };
}

bool process_several_programs(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		if (sonde_trace_rank(trace, i)->number)
			return sonde_trace_ranks(trace) > 1;
	return false;
}

bool process_tree_is_worth(const struct sonde_trace *trace)
{
	return process_several_programs(trace) || sonde_trace_execs(trace) > 0;
}
