/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/sampled.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "launcher/common/message.h"

bool sampled_sum(const struct sonde_trace *trace, struct sonde_trace_sampled *sum)
{
	*sum = (struct sonde_trace_sampled){ 0 };
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_sampled *s = sonde_trace_rank(trace, i)->sampled;

		if (!s)
			continue;
		sum->by = s->by;
		sum->burst = s->burst;
		sum->every = s->every;
		sum->overhead = s->overhead;
		sum->bursts += s->bursts;
		sum->on += s->on;
		sum->lived += s->lived;
		sum->on_units += s->on_units;
		sum->all_units += s->all_units;
		sum->visits += s->visits;
		sum->on_cpu_ns += s->on_cpu_ns;
		sum->cpu_ns += s->cpu_ns;
		sum->cost_ns += s->cost_ns;
		sum->sonde_ns += s->sonde_ns;
		sum->asked_ns += s->asked_ns;
		sum->switches += s->switches;
		sum->switch_ns += s->switch_ns;
		sum->used_ns += s->used_ns > s->cpu_ns ? s->used_ns : s->cpu_ns;
		sum->stay = s->stay ? s->stay : sum->stay;
	}
	return sum->by != NULL;
}

static const char *how(const struct sonde_trace_sampled *s)
{
	if (strcmp(s->by, "accesses") == 0)
		return "by number";
	return strcmp(s->by, "overhead") == 0 ? "by overhead" : "by time";
}

void sampled_text(const struct sonde_trace_sampled *s, char text[static SAMPLED_MAX])
{
	int n;

	if (!s->lived) {
		snprintf(text, SAMPLED_MAX, "bursts %s, how many is not known", how(s));
		return;
	}
	n = snprintf(text, SAMPLED_MAX, "%" PRIu64 " burst%s %s, ", s->bursts, s->bursts == 1 ? "" : "s", how(s));
	if (sampled_counted(s))
		n += snprintf(text + n, SAMPLED_MAX - (size_t)n, "about %.2f %% of the accesses, ",
			      100 * (double)s->on_units / (double)s->all_units);
	snprintf(text + n, SAMPLED_MAX - (size_t)n, "%.2f %% of the %stime", 100 * sampled_share(s),
		 s->cpu_ns ? "CPU " : "");
}

double sampled_share(const struct sonde_trace_sampled *s)
{
	if (s->cpu_ns)
		return (double)s->on_cpu_ns / (double)s->cpu_ns;
	return s->lived ? (double)s->on / (double)s->lived : 0;
}

double sampled_cost(const struct sonde_trace_sampled *s)
{
	double ours = (double)s->sonde_ns + (double)s->switch_ns;
	double used = (double)(s->used_ns > s->cpu_ns ? s->used_ns : s->cpu_ns);

	return used > 0 ? ((double)s->cost_ns + ours) / (used + ours) : 0;
}

void sampled_tell(const struct sonde_trace *trace)
{
	struct sonde_trace_sampled sum;
	char text[SAMPLED_MAX];

	if (!sampled_sum(trace, &sum))
		return;
	sampled_text(&sum, text);
	msg_info("memory accesses were sampled: %s", text);
}
