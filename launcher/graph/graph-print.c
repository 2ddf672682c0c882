/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/graph/graph.h"
#include "base/path.h"
#include "launcher/report/report-rows.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_INDENT 40u /* levels; deeper ones show their number instead */

void graph_put_name(const struct graph_style *s, uint32_t function)
{
	const struct sonde_trace_function *f = sonde_trace_function(s->trace, function);

	units_text(s->out, s->mangled ? f->name : f->demangled, 0, s->utf8);
	if (!s->ambiguous || !s->ambiguous[function] || !*path_basename(f->path))
		return;
	fputs(" [", s->out);
	units_text(s->out, path_basename(f->path), 0, s->utf8);
	putc(']', s->out);
}

void graph_print_title(const struct graph_style *s)
{
	fprintf(s->out, "%10s %6s %10s ", "total", "total%", "self");
	if (s->waits)
		fprintf(s->out, "%10s ", "wait");
	fprintf(s->out, "%11s  %s\n", "calls", "function");
}

static double percent(const struct graph_style *s, uint64_t ns)
{
	return s->whole ? 100.0 * (double)ns / (double)s->whole : 0;
}

void graph_print_line(struct graph_style *s, const struct graph_node *node, uint32_t function,
		      unsigned depth)
{
	char total[UNITS_MAX], self[UNITS_MAX], share[UNITS_MAX], wait[UNITS_MAX];

	units_time(node->total, total);
	units_time(node->self, self);
	units_percent(percent(s, node->total), share);
	fprintf(s->out, "%10s %6s %10s ", total, share, self);
	if (s->waits) {
		units_time(node->wait, wait);
		fprintf(s->out, "%10s ", node->wait ? wait : "");
	}
	fprintf(s->out, "%11" PRIu64 "  ", node->calls);
	if (depth > MAX_INDENT)
		fprintf(s->out, "%*s[%u] ", 2 * (int)MAX_INDENT, "", depth);
	else
		fprintf(s->out, "%*s", 2 * (int)depth, "");
	if (s->counted && s->counted[function])
		putc('~', s->out);
	graph_put_name(s, function);
	if (node->recursive)
		fprintf(s->out, "  (%" PRIu64 " recursive)", node->recursive);
}

struct child {
	const struct graph_style *style;
	const struct graph_tree *tree;
	uint32_t node;
};

static int longest_first(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	const struct graph_node *m = &x->tree->node[x->node], *n = &y->tree->node[y->node];

	if (m->total != n->total)
		return m->total < n->total ? 1 : -1;
	if (m->calls != n->calls)
		return m->calls < n->calls ? 1 : -1;
	return m->function < n->function ? -1 : m->function > n->function;
}

/* Where no time is left once what recording took is off, no path has a share: all are shown. */
static bool is_shown(const struct graph_style *s, const struct graph_node *n, uint64_t depth)
{
	return (!s->depth || depth < s->depth) &&
	       !(s->whole && s->min_percent > 0 && percent(s, n->total) < s->min_percent);
}

static size_t count_below(const struct graph_tree *t, uint32_t node)
{
	size_t n = 0;

	for (uint32_t i = t->node[node].child; i != GRAPH_NONE; i = t->node[i].next)
		n++;
	return n;
}

/* The children of @node that are shown, sorted, after list[*n]; the shortest first. */
static void add_children(struct graph_style *s, const struct graph_tree *t, uint32_t node,
			 uint64_t depth, struct child **list, size_t *n, size_t *room)
{
	size_t more = count_below(t, node), from = *n;

	report_room(*list, *room, from + more);
	for (uint32_t i = t->node[node].child; i != GRAPH_NONE; i = t->node[i].next) {
		if (is_shown(s, &t->node[i], depth))
			(*list)[(*n)++] = (struct child){ s, t, i };
		else
			s->left_out++;
	}
	qsort(*list + from, *n - from, sizeof(**list), longest_first);
	for (size_t a = from, b = *n; a + 1 < b; a++) {
		struct child swap = (*list)[a];

		(*list)[a] = (*list)[--b];
		(*list)[b] = swap;
	}
}

static unsigned depth_of(const struct graph_tree *t, uint32_t node, uint32_t top)
{
	unsigned depth = 0;

	for (; t->node[node].parent != top; node = t->node[node].parent)
		depth++;
	return depth;
}

/* Without recursion: a path may be as long as there are functions. */
void graph_print_below(struct graph_style *s, const struct graph_tree *t, uint32_t node,
		       unsigned level)
{
	struct child *list = NULL;
	size_t n = 0, room = 0;

	add_children(s, t, node, level, &list, &n, &room);
	while (n && !ferror(s->out)) {
		uint32_t at = list[--n].node;
		unsigned depth = level + depth_of(t, at, node);

		graph_print_line(s, &t->node[at], t->node[at].function, depth);
		if (s->births && t->node[at].parent == GRAPH_ROOT)
			graph_print_threads(s, at);
		putc('\n', s->out);
		add_children(s, t, at, depth + 1, &list, &n, &room);
	}
	free(list);
}

void graph_print_folded(const struct graph_style *s, const struct graph_tree *t)
{
	uint32_t *path = report_zeroed(t->n, sizeof(*path));

	for (size_t i = 1; i < t->n && !ferror(s->out); i++) {
		size_t n = 0;

		if (!t->node[i].self)
			continue;
		for (uint32_t at = (uint32_t)i; at != GRAPH_ROOT; at = t->node[at].parent)
			path[n++] = t->node[at].function;
		while (n--) {
			graph_put_name(s, path[n]);
			putc(n ? ';' : ' ', s->out);
		}
		fprintf(s->out, "%" PRIu64 "\n", t->node[i].self);
	}
	free(path);
}
