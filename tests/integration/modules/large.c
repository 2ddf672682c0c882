/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("large", "keeps more of a thread than there is room for in the program: accesses by their lowest 20 bits");

struct table {
	uint64_t n[1 << 20];
};

SONDE_ON_MEMORY(batch)
{
	struct table *t = sonde_thread_data(sonde_batch_thread(batch), sizeof(*t));
	struct sonde_access a;

	while (sonde_next_access(batch, &a))
		t->n[a.address & 0xfffff]++;
}

SONDE_ON_MEMORY_END(end)
{
	struct sonde_thread *thread = NULL;
	uint64_t all = 0, gaps = 0;

	while ((thread = sonde_next_thread(end, thread))) {
		const struct table *t = thread->data;

		gaps += thread->gaps;
		for (int i = 0; t && i < 1 << 20; i++)
			all += t->n[i];
	}
	sonde_print(end, "%llu accesses %llu gaps\n", (unsigned long long)all, (unsigned long long)gaps);
}
