/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memlines.h"

#include <stdlib.h>
#include <string.h>

#define TIMES_PER_LINE 4 /* so seldom are times numbered anew */

bool memlines_init(struct memlines *m, size_t max)
{
	size_t room = 64;

	while (room < 2 * max + 2)
		room *= 2;
	*m = (struct memlines){ .room = room, .max = max };
	m->times = (uint32_t)((max + 1) * TIMES_PER_LINE + 63) / 64 * 64;
	m->table = calloc(room, sizeof(*m->table));
	m->bits = calloc(m->times / 64, sizeof(*m->bits));
	m->tree = calloc(m->times / 64 + 1, sizeof(*m->tree));
	m->at = calloc(m->times, sizeof(*m->at));
	if (m->table && m->bits && m->tree && m->at)
		return true;
	memlines_free(m);
	return false;
}

void memlines_free(struct memlines *m)
{
	free(m->table);
	free(m->bits);
	free(m->tree);
	free(m->at);
	*m = (struct memlines){ 0 };
}

/* ---- times ---- */

static void set_bit(struct memlines *m, uint32_t time, uint32_t by)
{
	m->bits[time / 64] ^= UINT64_C(1) << time % 64;
	for (uint32_t i = time / 64 + 1; i <= m->times / 64; i += i & -i)
		m->tree[i] += by;
}

/* Bits up to @time, which is set. */
static uint32_t bits_up_to(const struct memlines *m, uint32_t time)
{
	uint64_t word = m->bits[time / 64] << (63 - time % 64);
	uint32_t n = (uint32_t)__builtin_popcountll(word);

	for (uint32_t i = time / 64; i; i &= i - 1)
		n += m->tree[i];
	return n;
}

static struct memlines_entry *find(struct memlines *m, uint64_t line, uint64_t hash)
{
	size_t i = hash & (m->room - 1);

	while (m->table[i].time && m->table[i].line != line)
		i = (i + 1) & (m->room - 1);
	return &m->table[i];
}

static void fill_tree(struct memlines *m)
{
	uint32_t words = m->times / 64;

	memset(m->tree, 0, (words + 1) * sizeof(*m->tree));
	for (uint32_t i = 1; i <= words; i++) {
		uint32_t up = i + (i & -i);

		m->tree[i] += (uint32_t)__builtin_popcountll(m->bits[i - 1]);
		if (up <= words)
			m->tree[up] += m->tree[i];
	}
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
	for (uint32_t t = 0; t < n; t++)
		m->bits[t / 64] |= UINT64_C(1) << t % 64;
	m->n = m->now = n;
	fill_tree(m);
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
		distance = m->n - bits_up_to(m, e->time - 1);
		set_bit(m, e->time - 1, UINT32_MAX);
	} else {
		e->line = line;
		m->n++;
	}
	e->time = m->now + 1;
	m->at[m->now] = line;
	set_bit(m, m->now++, 1);
	return distance;
}

/* ---- pairs ---- */

static size_t pair_slot(const struct mempair *table, size_t room, uint32_t id, uint64_t line)
{
	size_t i = memlines_hash(line + id * UINT64_C(0x9e3779b97f4a7c15)) & (room - 1);

	while (table[i].id && (table[i].id != id + 1 || table[i].line != line))
		i = (i + 1) & (room - 1);
	return i;
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
