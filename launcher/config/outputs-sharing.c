/* SPDX-License-Identifier: GPL-3.0-or-later */
/* false-sharing: lines that threads take from each other (analysis/sharing/), of the accesses at the location alone. */
#include "launcher/config/outputs-memory.h"

enum { LINE = 64, LEAST = 100 };

bool sharing_kind_rank(struct memory_making *k)
{
	const struct sh_options o = { .line = LINE, .least = LEAST };

	k->shared.names = memnames_new(k->read, k->m->trace, k->rank, MEMNAMES_FIELDS);
	k->shared.sh = sh_new(&o);
	return k->shared.names && k->shared.sh;
}

bool sharing_kind_begin(struct memory_making *k, const struct memtrace_thread *t)
{
	k->shared.thread = sh_thread_new(k->shared.sh, t->about.pid, t->about.tid);
	return k->shared.thread;
}

bool sharing_kind_take(struct memory_making *k, const struct mt_access *v, size_t n)
{
	return sh_thread_time(k->shared.thread, k->time.tsc, k->time.exact) && sh_thread_take(k->shared.thread, v, n);
}

bool sharing_kind_end(struct memory_making *k, const struct memtrace_thread *t)
{
	struct sh_thread *thread = k->shared.thread;

	(void)t;
	k->shared.thread = NULL;
	return thread && sh_thread_time(thread, k->time.tsc, k->time.exact);
}

bool sharing_kind_done(struct memory_making *k)
{
	k->shared.rows.bytes = LINE;
	k->shared.rows.least = LEAST;
	return sh_finish(k->shared.sh) &&
	       sharing_rows_add(&k->shared.rows, k->shared.sh, k->where, k->shared.names, k->rank->rank);
}

void sharing_kind_print(struct memory_making *k)
{
	if (sharing_rows_finish(&k->shared.rows))
		sharing_table(&k->shared.rows, NULL, UINT64_MAX, k->m->out);
	else
		k->failed = true;
}

void sharing_kind_end_rank(struct memory_making *k)
{
	memnames_free(k->shared.names);
	sh_free(k->shared.sh);
	k->shared.names = NULL;
	k->shared.sh = NULL;
}

void sharing_kind_free(struct memory_making *k)
{
	sharing_rows_free(&k->shared.rows);
}
