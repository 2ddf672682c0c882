/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/ambiguous.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	const struct sonde_trace_function *x = *(const struct sonde_trace_function *const *)a;
	const struct sonde_trace_function *y = *(const struct sonde_trace_function *const *)b;

	return strcmp(x->demangled, y->demangled);
}

/* Equal names stand together after sorting. */
bool *ambiguous_functions(const struct sonde_trace *trace)
{
	size_t n = sonde_trace_functions(trace);
	const struct sonde_trace_function **order = calloc(n + 1, sizeof(*order));
	bool *ambiguous = calloc(n + 1, sizeof(*ambiguous));

	if (!order || !ambiguous) {
		free(order);
		free(ambiguous);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = sonde_trace_function(trace, i);
	qsort(order, n, sizeof(*order), by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(order[i - 1]->demangled, order[i]->demangled) == 0)
			ambiguous[order[i - 1]->index] = ambiguous[order[i]->index] = true;
	free(order);
	return ambiguous;
}
