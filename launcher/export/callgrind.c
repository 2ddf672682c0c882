/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The format of Callgrind's profiles, as KCachegrind and callgrind_annotate read it: for each function its own time, and for each
 * function that it calls how often and how long.  Source: "Callgrind Format Specification" in Valgrind's manual.
 */
#include "launcher/export/export.h"
#include "launcher/graph/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/report-rows.h"

/* Calls of one function by another, or, where @callee is GRAPH_NONE, a function's own time. */
struct edge {
	uint32_t caller, callee;
	uint64_t calls, ns;
};

static int by_caller(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	/* the function itself first */
	if (x->callee + 1 != y->callee + 1)
		return x->callee + 1 < y->callee + 1 ? -1 : 1;
	return 0;
}

/* Of all nodes, sorted, equal ones added up. */
static struct edge *edges_of(const struct graph_tree *tree, size_t *n)
{
	struct edge *v = report_zeroed(2 * tree->n + 1, sizeof(*v));
	size_t all = 0;

	for (size_t i = 1; i < tree->n; i++) {
		const struct graph_node *node = &tree->node[i];

		v[all++] = (struct edge){ .caller = node->function, .callee = GRAPH_NONE, .ns = node->self };
		if (node->parent != GRAPH_ROOT)
			v[all++] = (struct edge){ .caller = tree->node[node->parent].function, .callee = node->function,
						  .calls = node->calls - node->recursive, .ns = node->total };
	}
	qsort(v, all, sizeof(*v), by_caller);
	*n = 0;
	for (size_t i = 0; i < all; i++) {
		if (*n && by_caller(&v[*n - 1], &v[i]) == 0) {
			v[*n - 1].calls += v[i].calls;
			v[*n - 1].ns += v[i].ns;
		} else {
			v[(*n)++] = v[i];
		}
	}
	return v;
}

void export_callgrind_text(FILE *out, const char *before, const char *text)
{
	fputs(before, out);
	for (; *text; text++)
		putc((unsigned char)*text < ' ' ? '?' : *text, out);
}

void export_callgrind_command(const struct sonde_trace_rank *first, FILE *out)
{
	if (!first || !first->nargs)
		return;
	fprintf(out, "cmd:");
	for (size_t i = 0; i < first->nargs; i++)
		export_callgrind_text(out, " ", first->args[i]);
	putc('\n', out);
}

/* The name stands where its number comes first. */
static void put_name(const struct export *x, const char *key, uint32_t number, const char *name, bool first)
{
	fprintf(x->out, "%s=(%" PRIu32 ")", key, number + 1);
	if (first)
		export_callgrind_text(x->out, " ", name);
	putc('\n', x->out);
}

static void put_function(const struct export *x, bool *named, const char *object, const char *key, uint32_t function)
{
	const struct sonde_trace_function *f = sonde_trace_function(x->trace, function);

	fprintf(x->out, "%s=%s\n", object, f && *f->path ? f->path : "???");
	put_name(x, key, function, export_name(x, f), !named[function]);
	named[function] = true;
}

void export_callgrind(const struct export *x, const struct graph_tree *tree)
{
	bool *named = report_zeroed(sonde_trace_functions(x->trace) + 1, sizeof(*named));
	const struct sonde_trace_rank *first = sonde_trace_rank(x->trace, 0);
	size_t n;
	struct edge *v = edges_of(tree, &n);

	fprintf(x->out, "# callgrind format\nversion: 1\ncreator: sonde\n");
	export_callgrind_command(first, x->out);
	fprintf(x->out, "positions: line\nevent: ns : Time in ns\nevents: ns\nsummary: %" PRIu64 "\n\nfl=(1) ???\n", tree->node[GRAPH_ROOT].total);
	for (size_t i = 0; i < n && !ferror(x->out); i++) {
		if (v[i].callee == GRAPH_NONE) {
			putc('\n', x->out);
			put_function(x, named, "ob", "fn", v[i].caller);
			fprintf(x->out, "0 %" PRIu64 "\n", v[i].ns);
		} else {
			put_function(x, named, "cob", "cfn", v[i].callee);
			fprintf(x->out, "calls=%" PRIu64 " 0\n0 %" PRIu64 "\n", v[i].calls, v[i].ns);
		}
	}
	free(v);
	free(named);
}
