/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("order", "what each thread accesses, in one number that depends on all of it and its order");

struct seen {
	uint64_t accesses, bytes, stack, hash;
};

SONDE_ON_MEMORY(batch)
{
	struct seen *s = sonde_thread_data(sonde_batch_thread(batch), sizeof(*s));
	struct sonde_access a;

	while (s && sonde_next_access(batch, &a)) {
		s->accesses++;
		s->bytes += a.size;
		s->stack += (uint64_t)a.stack;
		s->hash = (s->hash ^ a.address) * UINT64_C(0x9e3779b97f4a7c15);
		s->hash = (s->hash ^ a.instruction ^ (uint64_t)a.size << 48 ^ (uint64_t)a.kind << 60) * UINT64_C(0xff51afd7ed558ccd);
		s->hash ^= s->hash >> 29;
	}
	if (s)
		sonde_thread_add(sonde_batch_thread(batch), "batches", 1);
}

SONDE_ON_MEMORY_END(end)
{
	struct sonde_thread *t = NULL;

	while ((t = sonde_next_thread(end, t))) {
		const struct seen *s = t->data;

		if (s)
			sonde_print(end, "%llu accesses %llu bytes %llu stack %016llx %llu gaps\n",
				    (unsigned long long)s->accesses, (unsigned long long)s->bytes,
				    (unsigned long long)s->stack, (unsigned long long)s->hash,
				    (unsigned long long)t->gaps);
	}
}
