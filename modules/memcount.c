// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory accesses, counted by kind in each thread.  None is kept.
 */
#include <sonde/module.h>

SONDE_MODULE("memcount", "memory accesses, counted by thread and kind");

static const char *const kinds[SONDE_ACCESS_KINDS] = { "loads", "stores", "modifies", "prefetches" };
static const char *const amounts[SONDE_ACCESS_KINDS] = {
	"loaded bytes", "stored bytes", "modified bytes", "prefetched bytes",
};

SONDE_ON_MEMORY_COUNTS(batch)
{
	struct sonde_thread *thread = sonde_batch_thread(batch);
	const struct sonde_counts *n = sonde_batch_counts(batch);
	struct sonde_counts *sum = sonde_thread_data(thread, sizeof(*sum));

	for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++) {
		if (!n->accesses[kind])
			continue;
		sonde_thread_add(thread, kinds[kind], n->accesses[kind]);
		sonde_thread_add(thread, amounts[kind], n->bytes[kind]);
		if (!sum)
			continue;
		sum->accesses[kind] += n->accesses[kind];
		sum->bytes[kind] += n->bytes[kind];
	}
}

SONDE_ON_MEMORY_MERGE(into, from)
{
	struct sonde_counts *to = into->data;
	const struct sonde_counts *n = from->data;

	for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++) {
		to->accesses[kind] += n->accesses[kind];
		to->bytes[kind] += n->bytes[kind];
	}
}

/* ---- the table ---- */

typedef unsigned long long number;

static void print_counts(struct sonde_end *end, const struct sonde_counts *n)
{
	uint64_t accesses = 0, bytes = 0;

	for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++) {
		sonde_print(end, " %13llu", (number)n->accesses[kind]);
		accesses += n->accesses[kind];
		bytes += n->bytes[kind];
	}
	sonde_print(end, " %14llu %16llu\n", (number)accesses, (number)bytes);
}

static void print_thread(struct sonde_end *end, struct sonde_thread *thread, struct sonde_counts *total)
{
	const struct sonde_counts *n = thread->data;

	if (n) {
		sonde_print(end, "%-15s %8d", thread->name, thread->tid);
		print_counts(end, n);
		for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++) {
			total->accesses[kind] += n->accesses[kind];
			total->bytes[kind] += n->bytes[kind];
		}
	}
	if (thread->gaps)
		sonde_print(end, "%-15s %8d: parts are missing: %llu\n", thread->name, thread->tid,
			    (number)thread->gaps);
}

SONDE_ON_MEMORY_END(end)
{
	struct sonde_thread *thread = NULL;
	struct sonde_counts total = { 0 };

	sonde_print(end, "%-24s", "thread");
	for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++)
		sonde_print(end, " %13s", kinds[kind]);
	sonde_print(end, " %14s %16s\n", "accesses", "bytes");
	while ((thread = sonde_next_thread(end, thread)))
		print_thread(end, thread, &total);
	sonde_print(end, "%-24s", "all");
	print_counts(end, &total);
}
