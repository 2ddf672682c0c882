/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memlines.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define TIMES_PER_LINE 4 /* so seldom are times numbered anew */
#define CHUNK (64u * 256) /* times of one of memlines.sums */

bool memlines_init(struct memlines *m, size_t max)
{
	size_t room = 64;

	while (room < 2 * max + 2)
		room *= 2;
	*m = (struct memlines){ .room = room, .max = max };
	m->times = (uint32_t)(((max + 1) * TIMES_PER_LINE + CHUNK - 1) / CHUNK * CHUNK);
	m->table = calloc(room, sizeof(*m->table));
	m->bits = calloc(m->times / 64, sizeof(*m->bits));
	m->count = calloc(m->times / 64, sizeof(*m->count));
	m->sum = calloc(m->times / 64 / 16, sizeof(*m->sum));
	m->sums = calloc(m->times / CHUNK, sizeof(*m->sums));
	m->at = calloc(m->times, sizeof(*m->at));
	if (m->table && m->bits && m->count && m->sum && m->sums && m->at)
		return true;
	memlines_free(m);
	return false;
}

void memlines_free(struct memlines *m)
{
	free(m->table);
	free(m->bits);
	free(m->count);
	free(m->sum);
	free(m->sums);
	free(m->at);
	*m = (struct memlines){ 0 };
}

/* ---- times ---- */

static void set_bit(struct memlines *m, uint32_t time)
{
	m->bits[time / 64] |= UINT64_C(1) << time % 64;
	m->count[time / 64]++;
	m->sum[time / 64 / 16]++;
	m->sums[time / CHUNK]++;
}

static void clear_bit(struct memlines *m, uint32_t time)
{
	m->bits[time / 64] &= ~(UINT64_C(1) << time % 64);
	m->count[time / 64]--;
	m->sum[time / 64 / 16]--;
	m->sums[time / CHUNK]--;
}

/* Bits after @time, all of which are before m->now. */
static uint32_t bits_behind(const struct memlines *m, uint32_t time)
{
	uint32_t last = (m->now - 1) / 64, i = time / 64;
	uint32_t n = (uint32_t)__builtin_popcountll(m->bits[i] >> time % 64 >> 1);

	for (i++; i % 16 && i <= last; i++)
		n += m->count[i];
	if (i > last)
		return n;
	for (i /= 16, last /= 16; i % 16 && i <= last; i++)
		n += m->sum[i];
	if (i > last)
		return n;
	for (i /= 16, last /= 16; i <= last; i++)
		n += m->sums[i];
	return n;
}

static struct memlines_entry *find(struct memlines *m, uint64_t line, uint64_t hash)
{
	return &m->table[hash_slot(i, m->room, hash, !m->table[i].time || m->table[i].line == line)];
}

/* Numbers the times anew, in their order, for lines that stay; makes the table anew, too. */
static void renumber(struct memlines *m)
{
	uint32_t n = 0;

	memset(m->table, 0, m->room * sizeof(*m->table));
	for (uint32_t t = 0; t < m->now; t++) {
		uint64_t hash;

		if (!(m->bits[t / 64] >> t % 64 & 1))
			continue;
		hash = memlines_hash(m->at[t]);
		if (!memlines_sampled(hash, m->shift))
			continue;
		m->at[n] = m->at[t];
		*find(m, m->at[n], hash) = (struct memlines_entry){ m->at[n], n + 1 };
		n++;
	}
	memset(m->bits, 0, m->times / 64 * sizeof(*m->bits));
	memset(m->count, 0, m->times / 64 * sizeof(*m->count));
	memset(m->sum, 0, m->times / 64 / 16 * sizeof(*m->sum));
	memset(m->sums, 0, m->times / CHUNK * sizeof(*m->sums));
	for (uint32_t t = 0; t < n; t++)
		set_bit(m, t);
	m->n = m->now = n;
}

void memlines_thin(struct memlines *m)
{
	m->shift++;
	renumber(m);
}

uint64_t memlines_use(struct memlines *m, uint64_t line, uint64_t hash)
{
	struct memlines_entry *e;
	uint64_t distance = UINT64_MAX;

	if (m->now == m->times)
		renumber(m);
	e = find(m, line, hash);
	if (e->time) {
		distance = bits_behind(m, e->time - 1);
		clear_bit(m, e->time - 1);
	} else {
		e->line = line;
		m->n++;
	}
	e->time = m->now + 1;
	m->at[m->now] = line;
	set_bit(m, m->now++);
	return distance;
}

/* ---- pairs ---- */

static size_t pair_slot(const struct mempair *table, size_t room, uint32_t id, uint64_t line)
{
	return hash_slot(i, room, memlines_hash(line + id * UINT64_C(0x9e3779b97f4a7c15)),
			 !table[i].id || (table[i].id == id + 1 && table[i].line == line));
}

/* Moves the pairs of one in 2^shift lines to a table of @room. */
static bool rehash(struct mempairs *p, size_t room, unsigned int shift)
{
	struct mempair *table = calloc(room, sizeof(*table));

	if (!table)
		return false;
	p->n = 0;
	for (size_t i = 0; i < p->room; i++) {
		const struct mempair *from = &p->table[i];

		if (!from->id || !memlines_sampled(memlines_hash(from->line), shift))
			continue;
		table[pair_slot(table, room, from->id - 1, from->line)] = *from;
		p->n++;
	}
	free(p->table);
	p->table = table;
	p->room = room;
	return true;
}

int mempairs_add(struct mempairs *p, uint32_t id, uint64_t line)
{
	size_t i;

	if (2 * (p->n + 1) > p->room && !rehash(p, p->room ? 2 * p->room : 1024, 0))
		return -1;
	i = pair_slot(p->table, p->room, id, line);
	if (p->table[i].id)
		return 0;
	p->table[i] = (struct mempair){ line, id + 1 };
	p->n++;
	return 1;
}

bool mempairs_thin(struct mempairs *p, unsigned int shift)
{
	return !p->room || rehash(p, p->room, shift);
}

void mempairs_free(struct mempairs *p)
{
	free(p->table);
	*p = (struct mempairs){ 0 };
}
