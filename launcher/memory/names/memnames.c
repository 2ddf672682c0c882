// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/memory/names/memnames.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "injector/image/symbols.h"
#include "launcher/common/debugfiles.h"
#include "launcher/common/message.h"
#include "launcher/program/binary.h"

struct pair {
	uint64_t insn;
	const struct nm_name *name; /* NULL: free */
};

struct memnames {
	struct nm *nm;
	struct nm_thread *thread;
	bool fields;
	uint64_t fs, tsc, began;
	uint64_t burst; /* began, of the accesses before */
	uint64_t *times; /* when the thread's chunks began; NULL: it does not matter */
	size_t ntimes;
	bool has_blocks, has_stacks;
	struct pair *pair; /* key - 1 */
	size_t n, room;
	uint32_t *table; /* keys, by both */
	size_t slots;
	struct mt_access *batch;
	size_t batch_room;
};

/* ---- files ---- */

static bool add_object(struct memnames *m, const struct sonde_trace *trace, const struct sonde_trace_rank *rank,
		       const struct mt_read_object *o)
{
	struct nm_object object = { .path = o->path, .load = o->load, .program = strcmp(o->path, rank->program) == 0 };
	char *file = NULL;
	bool good;

	if (o->object && binary_find(trace, o->object, &file) == BINARY_OTHER)
		msg_warn("%s is not the file that was recorded: what its data are called is not known; `sonde archive' keeps files",
			 o->path);
	object.file = file;
	good = nm_add_object(m->nm, &object);
	free(file);
	return good;
}

/* An object that was instrumented in parts is there several times. */
static bool is_first(const struct mt_read *read, size_t i, const struct mt_read_object *o)
{
	struct mt_read_object other;

	for (size_t k = 0; k < i && mt_read_object(read, k, &other); k++)
		if (other.load == o->load && strcmp(other.path, o->path) == 0)
			return false;
	return true;
}

struct memnames *memnames_new(const struct mt_read *read, const struct sonde_trace *trace, const struct sonde_trace_rank *rank,
			      enum memnames_apart apart)
{
	const struct nm_options options = { .callbacks = &debugfiles_callbacks, .demangle = inj_demangle };
	struct memnames *m = calloc(1, sizeof(*m));
	struct mt_read_object o;
	bool good;

	if (!m)
		return NULL;
	m->fields = apart == MEMNAMES_FIELDS;
	m->nm = nm_new(&options);
	good = m->nm != NULL;
	for (size_t i = 0; good && mt_read_object(read, i, &o); i++)
		good = !is_first(read, i, &o) || add_object(m, mt_read_trace(read) ? mt_read_trace(read) : trace, rank, &o);
	if (good && memnames_add_blocks(m->nm, read, apart == MEMNAMES_STACKS, &m->has_blocks))
		return m;
	memnames_free(m);
	return NULL;
}

void memnames_free(struct memnames *m)
{
	if (!m)
		return;
	nm_end(m->thread);
	free(m->times);
	nm_free(m->nm);
	free(m->pair);
	free(m->table);
	free(m->batch);
	free(m);
}

/* ---- threads ---- */

bool memnames_thread(struct memnames *m, const struct memtrace_thread *thread, struct memtrace_thread *copy)
{
	*copy = *thread;
	copy->fs = &m->fs;
	copy->tsc = &m->tsc;
	copy->began = &m->began;
	nm_end(m->thread);
	free(m->times);
	m->times = NULL;
	if ((m->has_blocks || m->has_stacks) && !mt_read_times(thread->read, thread->index, &m->times, &m->ntimes))
		return false;
	m->burst = 0;
	m->thread = nm_begin(m->nm, thread->about.pid, thread->about.tid);
	return m->thread != NULL;
}

/* ---- stacks of other threads ---- */

/* The accesses are from the chunk that began at m->tsc, or from the one before, unless recording was off until then. */
static void set_time(struct memnames *m)
{
	size_t after = m->times ? search_first(i, m->ntimes, m->times[i] > m->tsc) : 0;
	uint64_t from = after ? m->times[after > 1 ? after - 2 : 0] : 0;

	from = m->times && m->began > from ? m->began : from;
	if (m->began != m->burst)
		nm_paused(m->thread);
	m->burst = m->began;
	nm_chunk(m->thread, m->fs, from, m->times && after < m->ntimes ? m->times[after] : UINT64_MAX);
}

static bool note(void *arg, const struct mt_access *v, size_t n)
{
	struct memnames *m = arg;

	set_time(m);
	for (size_t i = 0; i < n; i++)
		if (!nm_note(m->thread, &v[i]))
			return false;
	return true;
}

bool memnames_stacks(struct memnames *m, struct mt_read *read, const struct sonde_trace *trace, const struct sonde_trace_rank *rank)
{
	struct memtrace_thread thread = { .read = read, .trace = trace, .rank = rank->rank, .rank_index = rank->index, .quiet = true }, copy;
	struct memtrace_time time;
	size_t n = 0;

	while (mt_read_thread(read, n, &thread.about))
		n++;
	m->has_stacks = n > 1;
	for (; thread.index < n && n > 1; thread.index++) {
		time = (struct memtrace_time){ 0 };
		if (!mt_read_thread(read, thread.index, &thread.about) || !memnames_thread(m, &thread, &copy) || !nm_keep_stack(m->thread))
			return false;
		copy.time = &time;
		(void)memtrace_accesses(&copy, note, m);
		nm_ended(m->thread, time.tsc ? time.tsc : UINT64_MAX);
	}
	return true;
}

/* ---- keys ---- */

static size_t slot_of(const struct memnames *m, uint64_t insn, const struct nm_name *name)
{
	return hash_slot(i, m->slots, hash_word(hash_word(insn) ^ name->index),
			 !m->table[i] || (m->pair[m->table[i] - 1].insn == insn && m->pair[m->table[i] - 1].name == name));
}

/* For struct nm_keys. */
static uint32_t find_key(void *arg, uint64_t insn, const struct nm_name *name)
{
	struct memnames *m = arg;
	size_t slot;

	if (m->n >= UINT32_MAX - 1 || !array_room(m->pair, m->room, m->n + 1) ||
	    !hash_grow(m->table, m->slots, m->n + 1, old, *old,
		       &m->table[slot_of(m, m->pair[*old - 1].insn, m->pair[*old - 1].name)]))
		return 0;
	slot = slot_of(m, insn, name);
	if (!m->table[slot]) {
		m->pair[m->n] = (struct pair){ insn, name };
		m->table[slot] = (uint32_t)++m->n;
	}
	return m->table[slot];
}

const struct mt_access *memnames_take(struct memnames *m, const struct mt_access *v, size_t n)
{
	const struct nm_keys keys = { .whole = !m->fields, .key = find_key, .arg = m };

	if (!array_room(m->batch, m->batch_room, n))
		return NULL;
	set_time(m);
	return nm_find_keys(m->thread, v, n, &keys, m->batch) ? m->batch : NULL;
}

struct nm_thread *memnames_batch(struct memnames *m)
{
	set_time(m);
	return m->thread;
}

struct nm *memnames_nm(struct memnames *m)
{
	return m->nm;
}

bool memnames_static(struct memnames *m, uint64_t addr, uint32_t size, struct nm_place *place)
{
	return nm_find_static(m->nm, addr, size, place);
}

uint64_t memnames_insn(const struct memnames *m, uint64_t key)
{
	return key && key <= m->n ? m->pair[key - 1].insn : 0;
}

const struct nm_name *memnames_name(const struct memnames *m, uint64_t key)
{
	return key && key <= m->n ? m->pair[key - 1].name : NULL;
}
