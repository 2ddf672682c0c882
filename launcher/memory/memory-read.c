/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory accesses of a trace, rank by rank, as profiles; and these as rows. */
#include "launcher/memory/memory.h"

#include "launcher/common/message.h"
#include "launcher/memory/memkept.h"
#include "launcher/memory/names/memnames.h"
#include "launcher/memory/memory-shared.h"
#include "launcher/memory/memtrace.h"
#include "launcher/ranks/ranks.h"

#include <stdlib.h>

#define KEPT_ACCESSES 1000000 /* profiles of so many are worth a file */

struct memory {
	const struct memory_reading *how;
	const struct memtrace *trace;
	struct memory_rows *rows;
	struct mt_read *read;
	struct memnames *names; /* NULL: rows are not by what was accessed */
	struct memprofile *profile; /* of the rank */
	const struct sonde_trace_rank *rank;
	struct kept_key key;
	bool kept;	/* the profile was made before */
	uint64_t *damage, damage_before;
	struct memory_shared *shared; /* NULL: nobody else works */
	bool sharing;	/* only this rank's share is read, for all */
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

struct taking {
	struct memprofile_thread *thread;
	struct memnames *names;
	bool failed;
};

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct taking *t = arg;

	if (!n)
		memprofile_off(t->thread);
	if (n && t->names)
		v = memnames_take(t->names, v, n);
	t->failed |= !v;
	return v && memprofile_take(t->thread, v, n);
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct memory *m = arg;
	struct taking taking = { .names = m->names };
	struct memtrace_thread named;
	struct memprofile_thread *t;

	if (m->kept)
		return 0;
	if (m->names && !memnames_thread(m->names, thread, &named))
		return no_memory();
	t = taking.thread = memprofile_begin(m->profile);
	if (!t)
		return no_memory();
	*m->damage += memtrace_accesses(m->names ? &named : thread, take, &taking);
	if (m->rows->about.sampled)
		memory_profile_sampled(t, &m->rows->about.how, memtrace_sampled(thread));
	return memprofile_end(t) && !taking.failed ? 0 : no_memory();
}

static enum memnames_apart apart_by(enum memory_by by)
{
	return by == MEMORY_BY_FIELD ? MEMNAMES_FIELDS : by == MEMORY_BY_ALLOCATION ? MEMNAMES_STACKS : MEMNAMES_VARIABLES;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct memory *m = arg;
	const struct memprofile_options o = memory_profile_options(&m->rows->about, m->how->no_stack);

	m->read = read;
	m->rank = rank;
	m->damage_before = *m->damage;
	if (memory_by_name(m->how->by)) {
		m->names = memnames_new(read, m->trace->trace, rank, apart_by(m->how->by));
		m->profile = m->names && memnames_stacks(m->names, read, m->trace->trace, rank) ? memprofile_new(&o) : NULL;
		return m->profile ? 0 : no_memory();
	}
	memkept_key(m->trace, rank, read, &o, &m->key);
	m->profile = memkept_load(rank->dir, &m->key, &o);
	if (!m->profile && m->shared && !m->sharing)
		m->profile = memory_shared_take(m->shared, rank, &m->key, &o);
	m->kept = m->profile != NULL;
	if (!m->kept)
		m->profile = memprofile_new(&o);
	return m->profile ? 0 : no_memory();
}

/* What is made in no time is not worth a file; and what is damaged is to be said each time. */
static bool is_worth_keeping(const struct memory *m)
{
	const struct memprofile_insn *s;
	uint64_t accesses = 0;

	for (size_t i = 0; (s = memprofile_insn(m->profile, i)); i++)
		accesses += memory_accesses(s);
	return !m->kept && !m->names && accesses >= KEPT_ACCESSES && *m->damage == m->damage_before &&
	       m->rank->ending != SONDE_TRACE_UNFINISHED;
}

/* All threads of the rank have been read. */
static int end_rank(void *arg)
{
	struct memory *m = arg;
	struct memwhere *where;
	int status = EXIT_USAGE;

	if (is_worth_keeping(m))
		memkept_save(m->rank->dir, &m->key, m->profile);
	if (m->sharing) {
		/* what is damaged is read again by who prints what is to be said of it */
		if (!m->kept && *m->damage == m->damage_before)
			memory_shared_add(m->shared, m->rank, &m->key, m->profile);
		return 0;
	}
	where = memwhere_new(m->read, memory_where(m->how->by, m->how->mangled));
	if (!where)
		return no_memory();
	memwhere_use_names(where, m->names);
	if (memory_rows_add(m->rows, m->profile, where, m->how->by, m->how->select))
		status = 0;
	*m->damage += memwhere_damage(where);
	memwhere_free(where);
	return status;
}

static void free_rank(void *arg)
{
	struct memory *m = arg;

	memnames_free(m->names);
	m->names = NULL;
	memprofile_free(m->profile);
	m->profile = NULL;
}

static bool is_mine(void *arg, const struct sonde_trace_rank *rank)
{
	const struct memory *m = arg;

	return memory_shared_is_mine(m->shared, rank);
}

/* Makes profiles of this rank's share, and gets those of others.  What is wrong with the trace shows when rows are made. */
static int read_share(struct memory *m, struct memtrace_visitor visitor)
{
	uint64_t damage = 0, *all = m->damage;
	char *said = NULL;

	m->shared = memory_shared_new(m->trace);
	if (!m->shared)
		return no_memory();
	visitor.want = is_mine;
	m->sharing = true;
	m->damage = &damage;
	msg_hold(&said);
	(void)!memtrace_visit(m->trace, &visitor);
	msg_hold(NULL);
	free(said);
	memory_shared_exchange(m->shared);
	m->damage = all;
	m->sharing = false;
	return ranks_me() == 0 ? 0 : EXIT_USAGE; /* a helper has nothing to print */
}

int memory_rows_read(struct memory_rows *rows, const struct memtrace *t, const struct memory_reading *how, uint64_t *damage)
{
	struct memory m = { .how = how, .trace = t, .rows = rows, .damage = damage };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = visit_thread, .done = end_rank, .end = free_rank, .arg = &m,
		.progress = "reading memory accesses",
	};
	int status = how->shared && ranks_count() > 1 && !memory_by_name(how->by) ? read_share(&m, visitor) : 0;

	if (!status)
		status = memtrace_visit(t, &visitor);
	memory_shared_free(m.shared);
	return status;
}
