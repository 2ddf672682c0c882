// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memtrace/read/read.h"
#include "memtrace/compile.h"
#include "memtrace/heap.h"
#include "memtrace/pack/places.h"

#define BATCH 4096

/* Code of an object, in the program. */
struct span {
	uint64_t lo, hi;
	uint64_t load;
	uint32_t object;
	const char *path;
};

struct mt_read {
	struct mt_files *files;
	struct mt_code *code;
	struct sonde_trace *trace; /* for how its processes ended; NULL: not known */
	struct span *spans; /* ascending */
	size_t nspans;
	struct mt_placed *placed;
	uint64_t bad_objects;
	const char *damaged; /* path of an object whose description is; NULL: none */
};

struct mt_read_thread {
	struct mt_stream *stream;
	struct mt_machine *machine;
	bool broken; /* until a chunk says all */
	bool done;   /* there are no more chunks, and nothing follows from that */
	bool ended;
	bool on, was_off;
	uint64_t chunks;
	uint64_t fs;
	uint64_t began;		 /* TSC of the burst's begin */
	uint64_t counted, before; /* accesses until now, and until the burst */
	struct mt_read_bursts bursts;
	/* Of a trace with blocks beside accesses: */
	bool beside, wants_blocks;
	uint64_t last;		 /* instruction of the last block or access */
	size_t next, filled;	 /* of the batch, what has not been handed out is from..to */
	uint64_t tsc;		 /* of the last chunk, or, if exact, the last MD_TIME */
	bool exact;
	uint64_t at, at_before;	 /* block where the thread is, and where it was before the batch, or an instruction in it; 0: not known */
	struct mt_access batch[BATCH];
};

/* ---- objects ---- */

static void note_span(struct mt_read *r, const struct mt_files_object *o)
{
	const struct md_node *nodes = o->nodes;
	struct span s = { .lo = UINT64_MAX, .load = o->load, .object = o->object, .path = o->path };

	for (uint32_t i = 0; i < o->nnodes; i++) {
		uint64_t at = o->base + nodes[i].start;

		s.lo = at < s.lo ? at : s.lo;
		s.hi = at > s.hi ? at : s.hi;
	}
	/* a node's instructions are after its start, but not by much */
	s.hi += UINT16_MAX;
	if (o->nnodes)
		r->spans[r->nspans++] = s;
}

static int by_address(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool has_both(const struct mt_read *r)
{
	const struct sonde_trace_rank *rank = r->trace ? sonde_trace_rank(r->trace, 0) : NULL;

	return rank && rank->recording && rank->recording->blocks_beside;
}

static bool add_objects(struct mt_read *r)
{
	struct mt_files_object o;
	size_t n = 0;

	while (mt_files_object(r->files, n, &o))
		n++;
	r->spans = calloc(n + 1, sizeof(*r->spans));
	r->code = mt_code_new(&mt_heap);
	if (!r->spans || !r->code)
		return false;
	if (has_both(r))
		mt_code_fetches(r->code);
	mt_compile(r->code);
	for (size_t i = 0; mt_files_object(r->files, i, &o); i++) {
		struct md_object object = {
			.base = o.base, .load = o.load, .first = o.first,
			.nnodes = o.nnodes, .nops = o.nops, .number = (uint32_t)i,
		};
		enum mt_status status = mt_code_add(r->code, &object, o.nodes, o.ops);

		if (status == MT_MEMORY)
			return false;
		if (status == MT_OK) {
			note_span(r, &o);
			continue;
		}
		r->damaged = o.path;
		r->bad_objects++;
	}
	r->bad_objects += mt_files_bad_objects(r->files);
	qsort(r->spans, r->nspans, sizeof(*r->spans), by_address);
	return true;
}

struct mt_read *mt_read_open(const char *dir, enum sonde_trace_status *status, struct sonde_trace_message *why)
{
	struct mt_read *r = calloc(1, sizeof(*r));

	*why = (struct sonde_trace_message){ "out of memory" };
	if (r && sonde_trace_open(dir, &r->trace, NULL) != SONDE_TRACE_OK)
		r->trace = NULL;
	*status = r ? mt_files_open(dir, &r->files, why) : SONDE_TRACE_E_NOMEM;
	if (*status == SONDE_TRACE_OK)
		r->placed = mt_placed_open(dir, mt_files_trace(r->files));
	if (*status == SONDE_TRACE_OK && r->placed && add_objects(r))
		return r;
	if (*status == SONDE_TRACE_OK)
		*status = SONDE_TRACE_E_NOMEM;
	mt_read_close(r);
	return NULL;
}

const struct sonde_trace *mt_read_trace(const struct mt_read *r)
{
	return r->trace;
}

void mt_read_close(struct mt_read *r)
{
	if (!r)
		return;
	if (r->code)
		mt_code_free(r->code);
	mt_placed_close(r->placed);
	mt_files_close(r->files);
	if (r->trace)
		sonde_trace_close(r->trace);
	free(r->spans);
	free(r);
}

bool mt_read_is_of_blocks(const struct sonde_trace_rank *rank)
{
	return rank->recording && rank->recording->blocks;
}

bool mt_read_has_blocks(const struct sonde_trace_rank *rank)
{
	return rank->recording && (rank->recording->blocks || rank->recording->blocks_beside);
}

const char *mt_read_damaged(const struct mt_read *r)
{
	return r->damaged;
}

uint64_t mt_read_bad_objects(const struct mt_read *r)
{
	return r->bad_objects;
}

bool mt_read_thread(const struct mt_read *r, size_t i, struct mt_files_thread *thread)
{
	return mt_files_thread(r->files, i, thread);
}

uint64_t mt_read_bad_places(const struct mt_read *r)
{
	return mt_placed_damage(r->placed);
}

static const struct span *span_of(const struct mt_read *r, uint64_t insn)
{
	for (size_t i = r->nspans; i-- > 0;)
		if (insn >= r->spans[i].lo && insn <= r->spans[i].hi)
			return &r->spans[i];
	return NULL;
}

const char *mt_read_place(const struct mt_read *r, uint64_t insn, uint64_t *addr)
{
	const struct span *s = span_of(r, insn);

	if (s)
		*addr = insn - s->load;
	return s ? s->path : NULL;
}

static const struct sonde_trace_object *object_of(const struct mt_read *r, uint32_t id)
{
	size_t n = r->trace ? sonde_trace_objects(r->trace) : 0;

	for (size_t i = 0; i < n; i++)
		if (sonde_trace_object(r->trace, i)->id == id)
			return sonde_trace_object(r->trace, i);
	return NULL;
}

bool mt_read_where(const struct mt_read *r, uint64_t insn, struct mt_where *where)
{
	const struct span *s = span_of(r, insn);

	*where = (struct mt_where){ 0 };
	if (!s)
		return false;
	where->object = object_of(r, s->object);
	where->has_lines = mt_placed_has_lines(r->placed, s->object);
	where->place.path = s->path;
	where->place.address = insn - s->load;
	mt_placed_find(r->placed, s->object, where->place.address, &where->place);
	return true;
}

bool mt_read_object(const struct mt_read *r, size_t i, struct mt_read_object *object)
{
	if (i >= r->nspans)
		return false;
	*object = (struct mt_read_object){ r->spans[i].path, r->spans[i].load, object_of(r, r->spans[i].object) };
	return true;
}

/* ---- threads ---- */

/* It may have been anywhere, not only where a word would have to follow. */
static bool was_killed(const struct sonde_trace *trace, int pid)
{
	size_t n = trace ? sonde_trace_processes(trace) : 0;

	if (!n || sonde_trace_rank(trace, 0)->ending != SONDE_TRACE_EXITED)
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct sonde_trace_process *p = sonde_trace_process(trace, i);

		if (p->pid == pid && p->ended && p->signal)
			return true;
	}
	return false;
}

static struct mt_read_thread *start(struct mt_read *r, size_t i, bool blocks, enum sonde_trace_status *status)
{
	struct mt_read_thread *t = calloc(1, sizeof(*t));
	struct mt_files_thread about;

	*status = SONDE_TRACE_E_NOMEM;
	if (t)
		t->done = mt_read_thread(r, i, &about) && was_killed(r->trace, about.pid);
	if (t)
		*status = mt_stream_open(r->files, i, &t->stream);
	if (*status == SONDE_TRACE_OK) {
		t->beside = has_both(r);
		t->wants_blocks = blocks;
		t->machine = mt_machine_new(r->code);
		*status = t->machine ? *status : SONDE_TRACE_E_NOMEM;
	}
	if (*status == SONDE_TRACE_OK)
		return t;
	mt_read_stop(t);
	return NULL;
}

struct mt_read_thread *mt_read_start(struct mt_read *r, size_t i, enum sonde_trace_status *status)
{
	return start(r, i, false, status);
}

struct mt_read_thread *mt_read_start_blocks(struct mt_read *r, size_t i, enum sonde_trace_status *status)
{
	return start(r, i, true, status);
}

void mt_read_stop(struct mt_read_thread *t)
{
	if (!t)
		return;
	if (t->machine)
		mt_machine_free(t->machine);
	mt_stream_close(t->stream);
	free(t);
}

/* ---- bursts ---- */

/* A chunk comes next; what is before it has been counted. */
static void note_chunk(struct mt_read_thread *t, const void *chunk, size_t bytes)
{
	struct mt_read_bursts *b = &t->bursts;
	struct md_chunk head;

	if (bytes < sizeof(head))
		return;
	memcpy(&head, chunk, sizeof(head));
	if (head.kind != MD_CHUNK_END)
		t->fs = head.fs;
	if (!t->on && (head.kind == MD_CHUNK_START || head.kind == MD_CHUNK_STATE)) {
		t->on = true;
		t->was_off = b->first != 0;
		t->began = head.tsc;
		t->before = t->counted;
		b->first = b->first ? b->first : head.tsc;
	} else if (t->on && head.kind == MD_CHUNK_END && head.depth == 0) {
		double ticks = (double)head.tsc - (double)t->began, n = (double)(t->counted - t->before);

		t->on = false;
		b->n++;
		b->ticks += ticks;
		b->ticks2 += ticks * ticks;
		b->accesses += n;
		b->accesses2 += n * n;
		b->both += n * ticks;
	}
	b->last = head.tsc;
	t->tsc = head.tsc;
	t->exact = false;
}

bool mt_read_was_off(const struct mt_read_thread *t)
{
	return t->was_off;
}

uint64_t mt_read_before(const struct mt_read_thread *t)
{
	return t->beside && t->wants_blocks ? t->at_before : mt_before(t->machine);
}

uint64_t mt_read_tsc(const struct mt_read_thread *t)
{
	return t->bursts.last;
}

uint64_t mt_read_began(const struct mt_read_thread *t)
{
	return t->began;
}

bool mt_read_times(const struct mt_read *r, size_t i, uint64_t **tsc, size_t *n)
{
	struct mt_stream *stream;
	enum sonde_trace_status status = mt_stream_open(r->files, i, &stream);
	size_t bytes, room = 0;
	const void *chunk;
	bool good = status == SONDE_TRACE_OK;

	*tsc = NULL;
	*n = 0;
	if (!good)
		return false;
	while (good && ((status = mt_stream_next(stream, &chunk, &bytes)) == SONDE_TRACE_OK || status == SONDE_TRACE_E_CORRUPT)) {
		struct md_chunk head;

		if (status != SONDE_TRACE_OK || bytes < sizeof(head))
			continue;
		memcpy(&head, chunk, sizeof(head));
		good = array_room(*tsc, room, *n + 2);
		if (good && (!*n || head.tsc > (*tsc)[*n - 1]))
			(*tsc)[(*n)++] = head.tsc;
		/* what it proves was before it */
		if (good && head.kind == MD_CHUNK_END && (*tsc)[*n - 1] == head.tsc)
			(*tsc)[(*n)++] = head.tsc + 1;
	}
	mt_stream_close(stream);
	if (good)
		return true;
	free(*tsc);
	*tsc = NULL;
	return false;
}

uint64_t mt_read_fs(const struct mt_read_thread *t)
{
	return t->fs;
}

uint64_t mt_read_time(const struct mt_read_thread *t, bool *exact)
{
	*exact = t->exact;
	return t->tsc;
}

uint64_t mt_read_chunks(const struct mt_read_thread *t)
{
	return t->chunks;
}

void mt_read_bursts(const struct mt_read_thread *t, struct mt_read_bursts *b)
{
	*b = t->bursts;
}

static bool says_all(const void *chunk, size_t bytes)
{
	struct md_chunk head;

	if (bytes < sizeof(head))
		return false;
	memcpy(&head, chunk, sizeof(head));
	return head.kind == MD_CHUNK_START || head.kind == MD_CHUNK_STATE;
}

/*
 * What follows the last words that a thread has written needs none: it came to the end of that.  False: the machine has
 * been fed this already, or the thread may not have come so far.
 */
static bool feed_end(struct mt_read_thread *t)
{
	const struct md_chunk end = { .kind = MD_CHUNK_END, .head = sizeof(end) };

	if (t->done || t->broken)
		return false;
	t->done = true;
	return mt_feed(t->machine, &end, sizeof(end)) == MT_OK;
}

/* False: there is nothing more. */
static bool feed(struct mt_read_thread *t, uint64_t *gaps)
{
	const void *chunk;
	size_t bytes;

	for (;;) {
		enum sonde_trace_status status = mt_stream_next(t->stream, &chunk, &bytes);

		if (status != SONDE_TRACE_OK && status != SONDE_TRACE_E_CORRUPT)
			return feed_end(t);
		if (status == SONDE_TRACE_E_CORRUPT || (t->broken && !says_all(chunk, bytes))) {
			*gaps += !t->broken;
			t->broken = true;
			continue;
		}
		note_chunk(t, chunk, bytes);
		t->chunks++;
		t->broken = mt_feed(t->machine, chunk, bytes) != MT_OK;
		if (!t->broken)
			return true;
		++*gaps;
	}
}

/* Leaves of @n of the batch what is wanted, and returns how many that are. */
static size_t choose(struct mt_read_thread *t, struct mt_access *v, size_t n, bool first)
{
	uint64_t before = mt_before(t->machine);
	size_t left = 0;

	if (!t->beside)
		return n;
	if (first && before != t->last)
		t->at = before; /* a handler has begun, or is over */
	t->at_before = t->at;
	t->last = v[n - 1].insn;
	for (size_t i = 0; i < n; i++) {
		if ((v[i].kind == MD_FETCH) != t->wants_blocks)
			continue;
		v[left] = v[i];
		if (t->wants_blocks)
			v[left].kind = MD_LOAD;
		left++;
	}
	if (left && t->wants_blocks)
		t->at = v[left - 1].insn;
	return left;
}

static size_t up_to_time(const struct mt_read_thread *t)
{
	size_t i = t->next;

	while (i < t->filled && t->batch[i].kind != MD_TIME)
		i++;
	return i - t->next;
}

/*
 * What is in the batch, up to the next time or after it.  A time that has not been kept, for a signal came while it was stored, is 0.  Returns
 * how many are wanted.
 */
static size_t take(struct mt_read_thread *t, const struct mt_access **v)
{
	const bool first = t->next == 0;
	struct mt_access *at = t->batch + t->next;
	const size_t n = up_to_time(t);

	*v = at;
	if (n) {
		t->next += n;
		return choose(t, at, n, first);
	}
	if (at->addr >= t->tsc) {
		t->tsc = at->addr;
		t->exact = true;
	}
	t->last = at->insn;
	t->next++;
	return 0;
}

size_t mt_read_next(struct mt_read_thread *t, const struct mt_access **v, uint64_t *gaps)
{
	enum mt_status status;

	t->was_off = false;
	while (!t->ended) {
		const size_t n = t->next < t->filled ? take(t, v) : 0;

		if (n)
			return n;
		if (t->next < t->filled)
			continue;
		t->next = 0;
		t->filled = mt_next(t->machine, t->batch, BATCH, &status);
		if (t->filled)
			continue;
		if (status != MT_OK) {
			++*gaps;
			t->broken = true;
		}
		t->ended = !feed(t, gaps);
	}
	return 0;
}

void mt_read_count(struct mt_read_thread *t, bool stack, struct mt_counts *counts, uint64_t *gaps)
{
	while (!t->ended) {
		if (mt_count(t->machine, stack, counts) != MT_OK) {
			++*gaps;
			t->broken = true;
		}
		t->counted = 0;
		for (unsigned int k = 0; k < sizeof(counts->accesses) / sizeof(counts->accesses[0]); k++)
			t->counted += counts->accesses[k];
		t->ended = !feed(t, gaps);
	}
}
