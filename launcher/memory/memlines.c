/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memlines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"

#define TIMES_PER_LINE 4 /* so seldom are times numbered anew */
#define CHUNK (64u * 256) /* times of one of memlines.sums */

#define HUGE_PAGE ((size_t)2 << 20)

/* Zeroed.  A large table is looked up all over, which costs a walk of page tables each time unless its pages are huge. */
static void *new_table(size_t n, size_t size)
{
	const size_t bytes = (n * size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *p;

	if (n * size < HUGE_PAGE)
		return calloc(n, size);
	p = aligned_alloc(HUGE_PAGE, bytes);
	if (!p)
		return NULL;
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	return memset(p, 0, bytes);
}

bool memlines_init(struct memlines *m, size_t max)
{
	size_t room = 64;

	while (room < 2 * max + 2)
		room *= 2;
	*m = (struct memlines){ .room = room, .max = max };
	m->times = (uint32_t)(((max + 1) * TIMES_PER_LINE + CHUNK - 1) / CHUNK * CHUNK);
	m->table = new_table(room, sizeof(*m->table));
	m->bits = calloc(m->times / 64, sizeof(*m->bits));
	m->count = calloc(m->times / 64, sizeof(*m->count));
	m->sum = calloc(m->times / 64 / 16, sizeof(*m->sum));
	m->sums = calloc(m->times / CHUNK, sizeof(*m->sums));
	m->at = new_table(m->times, sizeof(*m->at));
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

/* Lines whose last use was before this piece. */
static size_t stale(const struct memlines *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->begin / 64; i++)
		n += m->count[i];
	if (m->begin % 64)
		n += (size_t)__builtin_popcountll(m->bits[m->begin / 64] << (64 - m->begin % 64));
	return n;
}

static struct memlines_entry *find(struct memlines *m, uint64_t line, uint64_t hash)
{
	return &m->table[hash_slot(i, m->room, hash, !m->table[i].time || m->table[i].line == line)];
}

/* Numbers the times anew, in their order.  Entries stay where they are; or, with @anew, are made for the lines that stay. */
static void renumber(struct memlines *m, bool anew)
{
	uint32_t n = 0, begin = UINT32_MAX;

	if (anew)
		memset(m->table, 0, m->room * sizeof(*m->table));
	for (uint32_t t = 0; t < m->now; t++) {
		struct memlines_entry *e;
		uint64_t hash;

		if (t >= m->begin && begin == UINT32_MAX)
			begin = n;
		if (!(m->bits[t / 64] >> t % 64 & 1))
			continue;
		hash = memlines_hash(m->at[t]);
		if (anew && !memlines_sampled(hash, m->shift))
			continue;
		m->at[n] = m->at[t];
		e = find(m, m->at[n], hash);
		e->line = m->at[n];
		e->time = ++n;
	}
	memset(m->bits, 0, m->times / 64 * sizeof(*m->bits));
	memset(m->count, 0, m->times / 64 * sizeof(*m->count));
	memset(m->sum, 0, m->times / 64 / 16 * sizeof(*m->sum));
	memset(m->sums, 0, m->times / CHUNK * sizeof(*m->sums));
	for (uint32_t t = 0; t < n; t++)
		set_bit(m, t);
	if (anew)
		m->n = n;
	m->now = n;
	m->begin = begin < n ? begin : n;
	m->oldest = 0;
}

void memlines_begin(struct memlines *m)
{
	m->begin = m->now;
	m->fresh = 0;
}

void memlines_forget_notes(struct memlines *m)
{
	for (size_t i = 0; i < m->room; i++)
		m->table[i].note = 0;
}

void memlines_thin(struct memlines *m)
{
	m->shift++;
	renumber(m, true);
	m->fresh = m->n - stale(m);
}

void memlines_copy(struct memlines *to, struct memlines *from)
{
	memcpy(to->bits, from->bits, from->times / 64 * sizeof(*from->bits));
	memcpy(to->at, from->at, from->now * sizeof(*from->at));
	to->now = from->now;
	to->begin = from->begin;
	to->fresh = from->fresh;
	to->shift = from->shift;
	renumber(to, true);
}

/* ---- leaving out the oldest line ---- */

static void find_oldest(struct memlines *m)
{
	while (m->oldest < m->now && !(m->bits[m->oldest / 64] >> m->oldest % 64))
		m->oldest = (m->oldest / 64 + 1) * 64;
	if (m->oldest < m->now)
		m->oldest += (uint32_t)__builtin_ctzll(m->bits[m->oldest / 64] >> m->oldest % 64);
}

/* Linear probing without a hole: entries after it that would have been there move up (Knuth, 6.4, algorithm R). */
static void remove_entry(struct memlines *m, size_t hole)
{
	for (size_t i = hash_next(hole, m->room); m->table[i].time; i = hash_next(i, m->room)) {
		size_t home = (size_t)memlines_hash(m->table[i].line) & (m->room - 1);

		if (((i - home) & (m->room - 1)) < ((i - hole) & (m->room - 1)))
			continue;
		m->table[hole] = m->table[i];
		hole = i;
	}
	m->table[hole].time = 0;
}

static void leave_out_oldest(struct memlines *m)
{
	uint64_t line;

	find_oldest(m);
	line = m->at[m->oldest];
	remove_entry(m, (size_t)(find(m, line, memlines_hash(line)) - m->table));
	clear_bit(m, m->oldest);
	m->n--;
	find_oldest(m);
	if (m->oldest < m->now)
		memlines_expect(m, m->at[m->oldest]); /* it is the next to go */
}

bool memlines_full(const struct memlines *m)
{
	return m->n >= m->max && m->fresh >= m->max;
}

uint64_t memlines_take(struct memlines *m, uint64_t line, uint64_t hash, uint32_t *note)
{
	struct memlines_entry *e = find(m, line, hash);
	uint64_t distance = UINT64_MAX;

	if (!e->time && m->n >= m->max) {
		leave_out_oldest(m);
		e = find(m, line, hash);
	}
	if (e->time && e->time > m->begin)
		distance = bits_behind(m, e->time - 1);
	else
		m->fresh++;
	if (e->time) {
		clear_bit(m, e->time - 1);
	} else {
		*e = (struct memlines_entry){ .line = line, .time = 1 };
		m->n++;
	}
	*note = e->note;
	return distance;
}

void memlines_put(struct memlines *m, uint64_t line, uint64_t hash, uint32_t note)
{
	struct memlines_entry *e;

	if (m->now == m->times)
		renumber(m, false);
	e = find(m, line, hash);
	e->note = note;
	e->time = m->now + 1;
	m->at[m->now] = line;
	set_bit(m, m->now++);
}

/* ---- pairs ---- */

static size_t pair_slot(const struct mempair *table, size_t room, uint32_t id, uint64_t line)
{
	return hash_slot(i, room, mempairs_hash(id, line),
			 !table[i].id || (table[i].id == id + 1 && table[i].line == line));
}

/* Moves the pairs that stay to a table of @room. */
static bool rehash(struct mempairs *p, size_t room, bool (*stays)(const void *arg, const struct mempair *pair),
		   const void *arg)
{
	struct mempair *table = new_table(room, sizeof(*table));

	if (!table)
		return false;
	p->n = 0;
	for (size_t i = 0; i < p->room; i++) {
		const struct mempair *from = &p->table[i];

		if (!from->id || (stays && !stays(arg, from)))
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

	if (2 * (p->n + 1) > p->room && !rehash(p, p->room ? 2 * p->room : 1024, NULL, NULL))
		return -1;
	i = pair_slot(p->table, p->room, id, line);
	if (p->table[i].id)
		return 0;
	p->table[i] = (struct mempair){ line, id + 1 };
	p->n++;
	return 1;
}

bool mempairs_thin(struct mempairs *p, bool (*stays)(const void *arg, const struct mempair *pair), const void *arg)
{
	return !p->room || rehash(p, p->room, stays, arg);
}

void mempairs_free(struct mempairs *p)
{
	free(p->table);
	*p = (struct mempairs){ 0 };
}
