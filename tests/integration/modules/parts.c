/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("parts", "what each thread accesses, in one number that does not depend on who has seen which part of it");

struct seen {
	uint64_t accesses, bytes, hash;
};

SONDE_ON_MEMORY(batch)
{
	struct seen *s = sonde_thread_data(sonde_batch_thread(batch), sizeof(*s));
	struct sonde_access a;

	while (s && sonde_next_access(batch, &a)) {
		uint64_t h = (a.address ^ (uint64_t)a.size << 48) * UINT64_C(0x9e3779b97f4a7c15);

		s->accesses++;
		s->bytes += a.size;
		s->hash += (h ^ h >> 29 ^ a.instruction) * UINT64_C(0xff51afd7ed558ccd);
	}
	sonde_thread_add(sonde_batch_thread(batch), "batches", 1);
}

SONDE_ON_MEMORY_MERGE(into, from)
{
	struct seen *to = into->data;
	const struct seen *s = from->data;

	to->accesses += s->accesses;
	to->bytes += s->bytes;
	to->hash += s->hash;
}

SONDE_ON_MEMORY_END(end)
{
	struct sonde_thread *t = NULL;

	while ((t = sonde_next_thread(end, t))) {
		const struct seen *s = t->data;

		if (s)
			sonde_print(end, "%llu accesses %llu bytes %016llx %llu gaps\n", (unsigned long long)s->accesses,
				    (unsigned long long)s->bytes, (unsigned long long)s->hash, (unsigned long long)t->gaps);
	}
}
