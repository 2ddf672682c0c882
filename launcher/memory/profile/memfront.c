/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/profile/memfront.h"

#include <string.h>

void memfront_init(struct memfront *f, unsigned int max)
{
	*f = (struct memfront){ .max = max < MEMFRONT_LINES ? max : MEMFRONT_LINES };
	memset(f->rank, INT8_MAX, sizeof(f->rank));
}

unsigned int memfront_oldest(const struct memfront *f)
{
	const int8_t *rank = (const int8_t *)f->rank;

	return (unsigned int)((const int8_t *)memchr(rank, (int)f->n - 1, sizeof(f->rank)) - rank);
}

static void hash(struct memfront *f, unsigned int at)
{
	unsigned int i = memfront_hash(f->line[at]);

	while (f->at[i])
		i = (i + 1) % sizeof(f->at);
	f->at[i] = (uint8_t)(at + 1);
	f->hashed++;
}

void memfront_add(struct memfront *f, uint64_t line, uint32_t note)
{
	unsigned int at = f->n < f->max ? f->n++ : memfront_oldest(f);

	((int8_t *)f->rank)[at] = (int8_t)(f->n - 1);
	f->line[at] = line;
	f->note[at] = note;
	if (f->hashed < 2 * MEMFRONT_LINES) {
		hash(f, at);
	} else {
		memset(f->at, 0, sizeof(f->at));
		f->hashed = 0;
		for (at = 0; at < f->n; at++)
			hash(f, at);
		at = memfront_find(f, line);
	}
	(void)memfront_use(f, at);
}
