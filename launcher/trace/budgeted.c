/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/budgeted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher/common/message.h"

bool *budgeted_functions(const struct sonde_trace *trace)
{
	bool *v = NULL;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		if (!sonde_trace_rank(trace, t->rank_index)->budget)
			continue;
		if (!v)
			v = calloc(sonde_trace_functions(trace) + 1, sizeof(*v));
		for (size_t k = 0; v && k < t->ncalls; k++)
			v[t->calls[k].function->index] = true;
	}
	return v;
}

bool budgeted_sum(const struct sonde_trace *trace, struct budgeted *sum)
{
	bool *functions = budgeted_functions(trace), any = false;

	*sum = (struct budgeted){ 0 };
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_budget *b = sonde_trace_rank(trace, i)->budget;

		if (!b)
			continue;
		any = true;
		sum->overhead = b->overhead;
		sum->plain_ns += b->plain_ns;
		sum->probes_ns += b->probes_ns;
		sum->sonde_ns += b->sonde_ns;
		sum->bursts += b->nbursts;
		sum->changes += b->nchosen;
		for (size_t k = 0; k < b->nbursts; k++)
			sum->ns += b->bursts[k].end - b->bursts[k].begin;
	}
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		for (size_t k = 0; k < t->ncalls && sonde_trace_rank(trace, t->rank_index)->budget; k++)
			sum->calls += t->calls[k].calls;
	}
	for (size_t i = 0; functions && i < sonde_trace_functions(trace); i++)
		sum->functions += functions[i];
	free(functions);
	return any;
}

void budgeted_text(const struct budgeted *sum, char text[static BUDGETED_MAX])
{
	if (!sum->calls) {
		snprintf(text, BUDGETED_MAX, "all calls were recorded");
		return;
	}
	snprintf(text, BUDGETED_MAX, "%" PRIu64 " calls of %zu function%s were counted, those in %" PRIu64 " burst%s (%.3f s) recorded",
		 sum->calls, sum->functions, sum->functions == 1 ? "" : "s", sum->bursts, sum->bursts == 1 ? "" : "s",
		 (double)sum->ns / 1e9);
}

void budgeted_tell(const struct sonde_trace *trace)
{
	char text[BUDGETED_MAX];
	struct budgeted sum;

	if (!budgeted_sum(trace, &sum) || !sum.calls)
		return;
	budgeted_text(&sum, text);
	msg_info("a budget of %.4g %%: %s; their functions are marked ~", 100 * sum.overhead, text);
}
