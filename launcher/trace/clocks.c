// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/trace/clocks.h"

#include <stdio.h>

#include "launcher/common/units.h"

const char *clocks_kind(enum sonde_trace_clock clock)
{
	static const char *const names[] = { "first", "compared", "compared once", "set" };

	return names[clock];
}

struct clocks {
	size_t nodes;			   /* that are in the trace: highest number + 1 */
	const struct sonde_trace_rank *once, *set; /* the first of each kind */
	uint64_t error;
};

static struct clocks look(const struct sonde_trace *trace)
{
	struct clocks c = { 0 };

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(trace, i);

		c.nodes = k->node >= c.nodes ? k->node + 1 : c.nodes;
		if (k->clock == SONDE_TRACE_CLOCK_SET)
			c.set = c.set ? c.set : k;
		else if (k->clock == SONDE_TRACE_CLOCK_COMPARED_ONCE)
			c.once = c.once ? c.once : k;
		if (k->clock != SONDE_TRACE_CLOCK_SET && k->clock_error > c.error)
			c.error = k->clock_error;
	}
	return c;
}

/* A host's name comes from the trace. */
static void name_of(const struct sonde_trace_rank *k, char name[64])
{
	snprintf(name, 64, "%s", *k->host ? k->host : "an unknown host");
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || (unsigned char)*name >= 0x7f)
			*name = '?';
}

bool clocks_text(const struct sonde_trace *trace, char text[CLOCKS_MAX])
{
	const struct clocks c = look(trace);
	char error[UNITS_MAX], name[64];

	if (c.nodes < 2)
		return false;
	units_time(c.error, error);
	if (c.set || c.once)
		name_of(c.set ? c.set : c.once, name);
	if (c.set)
		snprintf(text, CLOCKS_MAX, "of %zu nodes; that of %s is taken as it was set, and how wrong it is is not known (-m mpi compares "
			 "clocks in MPI_Init and MPI_Finalize)", c.nodes, name);
	else if (c.once)
		snprintf(text, CLOCKS_MAX, "of %zu nodes, compared by messages, that of %s at one time only: times are wrong by at most %s",
			 c.nodes, name, error);
	else
		snprintf(text, CLOCKS_MAX, "of %zu nodes, compared by messages: times are wrong by at most %s", c.nodes, error);
	return true;
}
