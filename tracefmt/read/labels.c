/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define MOST 1024u /* TF_MAX_LABELS */

struct label {
	int64_t value;
	const char *name;
};

struct sonde_trace_labels {
	size_t n;
	struct label v[]; /* ascending */
};

static int by_value(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

enum sonde_trace_status tf_labels_read(struct tf_arena *arena, const json_t *list,
				       const char *(*name_of)(void *arg, const json_t *name), void *arg,
				       const struct sonde_trace_labels **out)
{
	size_t n = json_array_size(list);
	struct sonde_trace_labels *labels;

	if (!n || n > MOST)
		return SONDE_TRACE_E_CORRUPT;
	labels = tf_arena_alloc(arena, sizeof *labels + n * sizeof *labels->v);
	if (!labels)
		return SONDE_TRACE_E_NOMEM;
	labels->n = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i), *value = json_array_get(pair, 0);
		const char *name = name_of(arg, json_array_get(pair, 1));

		if (!json_is_integer(value) || !name)
			return SONDE_TRACE_E_CORRUPT;
		labels->v[i].value = json_integer_value(value);
		labels->v[i].name = tf_arena_strdup(arena, name);
		if (!labels->v[i].name)
			return SONDE_TRACE_E_NOMEM;
	}
	qsort(labels->v, n, sizeof *labels->v, by_value);
	*out = labels;
	return SONDE_TRACE_OK;
}

void tf_labels_put(struct tf_buf *text, const struct sonde_trace_labels *labels, int64_t value)
{
	size_t at = search_first(i, labels->n, labels->v[i].value >= value);
	char number[24];

	if (at < labels->n && labels->v[at].value == value) {
		tf_buf_str(text, labels->v[at].name);
		return;
	}
	snprintf(number, sizeof number, "%" PRId64, value);
	tf_buf_str(text, number);
}
