/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Callgrind's format from counts of blocks, or from their order: instructions, reads and writes of each function by source line, and
 * calls.  A block's costs are those of the line of its first instruction; a repeated string instruction is one, once.
 */
#include "launcher/export/callgrind.h"
#include "launcher/blocks/counts.h"
#include "launcher/common/message.h"

static bool add_row(struct callgrind *g, const struct counts_row *row)
{
	struct callgrind_line line = { .at = { row->path, row->name, row->home, row->file, row->line } };

	counts_costs(row->facts, line.costs);
	return callgrind_add(g, &line);
}

/* What was only known to have been gone on with has no calls. */
static bool add_call(struct callgrind *g, const struct counts_call *call)
{
	struct callgrind_line line = {
		.at = { call->from.path, call->from.name, call->from.home, call->from.file, call->from.line },
		.to = { call->to.path, call->to.name, call->to.home, call->to.file, call->to.line },
		.calls = call->calls,
	};

	for (unsigned int i = 0; i < COUNTS_COSTS; i++)
		line.costs[i] = call->costs[i];
	return !call->calls || callgrind_add(g, &line);
}

_Static_assert((int)CALLGRIND_INSNS == COUNTS_INSNS && (int)CALLGRIND_READS == COUNTS_READS && (int)CALLGRIND_WRITES == COUNTS_WRITES,
	       "costs");

int callgrind_blocks(struct callgrind *g, struct callgrind_options *o, const char *dir, uint64_t *damage)
{
	struct counts_options of = { .pick = o->pick, .by = COUNTS_BY_BLOCK, .mangled = o->mangled, .calls = true };
	struct counts c;
	int status = counts_read(&c, &of, dir);
	bool good = true;

	if (status)
		return status;
	for (size_t i = 0; i < c.n && good; i++)
		good = add_row(g, &c.rows[i]);
	for (size_t i = 0; i < c.ncalls && good; i++)
		good = add_call(g, &c.calls[i]);
	g->events |= 1u << CALLGRIND_INSNS | 1u << CALLGRIND_READS | 1u << CALLGRIND_WRITES;
	*damage += c.damage;
	counts_free(&c);
	if (!good)
		msg_error("no memory");
	return good ? 0 : EXIT_USAGE;
}
