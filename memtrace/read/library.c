/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory accesses for clients of libsondetrace: what <sonde/trace.h> says of them, by memtrace/read/read.h. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "memtrace/read/read.h"

struct sonde_trace_accesses {
	struct mt_read *read;
	struct mt_read_thread *thread;
	uint64_t gaps;
	struct sonde_trace_batch next; /* after a place where accesses are missing; n: 0: none */
};

/* Batches are handed out as the machine has made them. */
#define SAME(ours, theirs)                                                                                          \
	_Static_assert(offsetof(struct mt_access, ours) == offsetof(struct sonde_trace_access, theirs) &&           \
			       sizeof(((struct mt_access *)0)->ours) == sizeof(((struct sonde_trace_access *)0)->theirs), \
		       #theirs)
SAME(addr, address);
SAME(size, size);
SAME(kind, kind);
SAME(insn, instruction);
_Static_assert(sizeof(struct mt_access) == sizeof(struct sonde_trace_access), "access");
_Static_assert((int)MD_LOAD == SONDE_TRACE_LOAD && (int)MD_STORE == SONDE_TRACE_STORE &&
	       (int)MD_MODIFY == SONDE_TRACE_MODIFY && (int)MD_PREFETCH == SONDE_TRACE_PREFETCH &&
	       (int)MD_STACK == SONDE_TRACE_STACK, "kinds");

/* The stream of a thread is beside its file, with another ending. */
static bool is_stream_of(const struct mt_files_thread *stream, const struct sonde_trace_thread *thread)
{
	const char *name = path_basename(thread->file), *other = path_basename(stream->path), *dot = strrchr(name, '.');

	return dot && strncmp(name, other, (size_t)(dot - name)) == 0 && strcmp(other + (dot - name), ".memory") == 0;
}

static enum sonde_trace_status start(struct sonde_trace_accesses *a, const struct sonde_trace_thread *thread, bool blocks)
{
	enum sonde_trace_status status = SONDE_TRACE_E_NOTRACE;
	struct mt_files_thread stream;

	for (size_t i = 0; mt_read_thread(a->read, i, &stream); i++) {
		if (!is_stream_of(&stream, thread))
			continue;
		a->thread = blocks ? mt_read_start_blocks(a->read, i, &status) : mt_read_start(a->read, i, &status);
		break;
	}
	return status;
}

static bool has(const struct sonde_trace_rank *rank, bool blocks)
{
	return blocks ? mt_read_has_blocks(rank) : !mt_read_is_of_blocks(rank);
}

static enum sonde_trace_status open_stream(const struct sonde_trace *trace, size_t thread, bool blocks,
					   struct sonde_trace_accesses **out)
{
	const struct sonde_trace_thread *about = sonde_trace_thread(trace, thread);
	struct sonde_trace_accesses *a = calloc(1, sizeof(*a));
	enum sonde_trace_status status = SONDE_TRACE_E_NOMEM;
	struct sonde_trace_message why;

	*out = NULL;
	if (a && !about)
		status = SONDE_TRACE_E_INVALID;
	if (a && about && !has(sonde_trace_rank(trace, about->rank_index), blocks))
		status = SONDE_TRACE_E_NOTRACE;
	else if (a && about)
		a->read = mt_read_open(sonde_trace_rank(trace, about->rank_index)->dir, &status, &why);
	if (a && a->read)
		status = start(a, about, blocks);
	if (a && a->thread) {
		*out = a;
		return SONDE_TRACE_OK;
	}
	sonde_trace_accesses_free(a);
	return status;
}

enum sonde_trace_status sonde_trace_accesses(const struct sonde_trace *trace, size_t thread,
					     struct sonde_trace_accesses **out)
{
	return open_stream(trace, thread, false, out);
}

enum sonde_trace_status sonde_trace_blocks(const struct sonde_trace *trace, size_t thread, struct sonde_trace_accesses **out)
{
	return open_stream(trace, thread, true, out);
}

enum sonde_trace_status sonde_trace_accesses_next(struct sonde_trace_accesses *a, struct sonde_trace_batch *batch)
{
	const uint64_t gaps = a->gaps;
	const struct mt_access *v;

	*batch = a->next;
	a->next = (struct sonde_trace_batch){ 0 };
	if (batch->n)
		return SONDE_TRACE_OK;
	batch->n = mt_read_next(a->thread, &v, &a->gaps);
	if (!batch->n)
		return a->gaps == gaps ? SONDE_TRACE_END : SONDE_TRACE_E_TRUNCATED;
	batch->v = (const struct sonde_trace_access *)v;
	batch->ticks = mt_read_tsc(a->thread);
	batch->was_off = mt_read_was_off(a->thread);
	if (a->gaps == gaps)
		return SONDE_TRACE_OK;
	a->next = *batch;
	*batch = (struct sonde_trace_batch){ 0 };
	return SONDE_TRACE_E_CORRUPT;
}

bool sonde_trace_accesses_place(const struct sonde_trace_accesses *a, uint64_t instruction,
				struct sonde_trace_place *place)
{
	struct mt_where where;
	bool found = mt_read_where(a->read, instruction, &where);

	*place = where.place;
	return found;
}

const char *sonde_trace_accesses_object(const struct sonde_trace_accesses *a, uint64_t instruction, uint64_t *address)
{
	return mt_read_place(a->read, instruction, address);
}

void sonde_trace_accesses_free(struct sonde_trace_accesses *a)
{
	if (!a)
		return;
	mt_read_stop(a->thread);
	if (a->read)
		mt_read_close(a->read);
	free(a);
}
