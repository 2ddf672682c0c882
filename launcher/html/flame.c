/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The call paths that took most, each after what it begins with. */
#include "launcher/html/html.h"
#include "launcher/graph/graph.h"

#include <stdlib.h>

#include "tracefmt/json.h"

#define MOST_PATHS UINT64_C(1000000) /* that are counted */
#define MOST_SHOWN 15000u

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* The least total time of what is shown. */
static uint64_t least_total(const struct graph_tree *t)
{
	uint64_t *total = report_zeroed(t->n, sizeof(*total)), least;

	for (size_t i = 0; i < t->n; i++)
		total[i] = t->node[i].total;
	qsort(total, t->n, sizeof(*total), by_time);
	least = t->n > MOST_SHOWN ? total[MOST_SHOWN] + 1 : 0;
	free(total);
	return least;
}

/* What is shorter has no longer calls below: a node that is shown has its parent shown, which was made before it. */
static void put(struct html *h, const struct graph_tree *t)
{
	struct tf_buf *b = &h->json;
	uint32_t *number = report_zeroed(t->n, sizeof(*number)), n = 1;
	uint64_t least = least_total(t), left_out = 0;

	tf_json_key(b, "flame");
	html_put(b, "[[0,0,0,", t->node[GRAPH_ROOT].total);
	tf_buf_str(b, ",0,0]");
	for (size_t i = 1; i < t->n; i++) {
		const struct graph_node *node = &t->node[i];
		bool rooted = node->parent == GRAPH_ROOT || number[node->parent];

		if (!rooted || node->total < least || !node->calls) {
			left_out++;
			continue;
		}
		number[i] = n++;
		html_put(b, ",\n[", number[node->parent]);
		html_put(b, ",", html_name(h, sonde_trace_function(h->trace, node->function)));
		html_put(b, ",", node->calls);
		html_put(b, ",", node->total);
		html_put(b, ",", node->self);
		html_put(b, ",", node->wait);
		tf_buf_str(b, "]");
	}
	tf_buf_str(b, "]");
	tf_json_uint(b, "paths_left_out", left_out);
	free(number);
}

int html_flame(struct html *h)
{
	struct graph_reader g = { .trace = h->trace, .pick = &h->pick, .raw = h->request->report->raw, .paths = MOST_PATHS,
				  .damage = h->damage };
	int status;

	pick_reading(&h->pick, false, &g.reading);
	status = graph_read(&g);
	reading_end(&g.reading);
	if (!status)
		put(h, &g.tree);
	h->damage = g.damage;
	graph_reader_end(&g);
	return status;
}
