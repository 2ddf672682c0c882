/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
#include <stdlib.h>
SONDE_MODULE("sizes", "bytes accessed, by thread, and a wrapper");

struct sums {
	unsigned long accesses, bytes, stack, odd;
	uint64_t *instructions; /* malloc'ed: this is no place where that would matter */
	size_t n;
};

static long calls; /* the wrapper's, in the program */

SONDE_WRAP_IF_PRESENT(int, work, (int i))
{
	calls++;
	sonde_count("calls");
	return SONDE_REAL(work)(i);
}

static void note(struct sums *s, uint64_t instruction)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->instructions[i] == instruction)
			return;
	s->instructions = realloc(s->instructions, (s->n + 1) * sizeof(*s->instructions));
	s->instructions[s->n++] = instruction;
}

SONDE_ON_MEMORY(batch)
{
	struct sums *s = sonde_thread_data(sonde_batch_thread(batch), sizeof(*s));
	struct sonde_access a;

	while (sonde_next_access(batch, &a)) {
		s->accesses++;
		s->bytes += a.size;
		s->stack += a.stack;
		s->odd += a.address == 0 || a.kind >= SONDE_ACCESS_KINDS;
		note(s, a.instruction);
	}
}

SONDE_ON_MEMORY_END(end)
{
	struct sonde_thread *t = NULL;

	while ((t = sonde_next_thread(end, t))) {
		struct sums *s = t->data;

		if (s)
			sonde_print(end, "%d.%d %lu accesses %lu bytes %lu stack %lu odd %zu instructions %lu gaps\n",
				    t->pid, t->tid, s->accesses, s->bytes, s->stack, s->odd, s->n,
				    (unsigned long)t->gaps);
	}
	sonde_print(end, "calls %ld\n", calls);
}
