/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events to rows: calls, messages, who waited for whom. */
#include "launcher/report/mpi/report-mpi.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* A process in a collective operation. */
struct arrival {
	size_t row;
	const struct sonde_trace_thread *thread;
	uint64_t entered, left; /* 0: not yet */
	uint32_t place;		/* in the communicator's group, of two groups in both */
	bool root;
};

/* One that not all have left. */
struct operation {
	const struct mpi_comm *comm;
	uint64_t nth;
	enum mpi_collective op;
	struct arrival *v;
	size_t n, room, left;
};

/* What is counted of a thread's latest wait. */
struct latest {
	uint64_t entered, wait;
};

struct reader {
	struct report_mpi *r;
	const struct sonde_trace *trace;
	const struct report_mpi_request *request;
	struct latest *latest;	/* by thread */
	bool *recorded;		/* by function */
	struct operation *open; /* few: as many as there are communicators, and processes that are ahead */
	size_t nopen, open_room;
};

/* ---- rows ---- */

static int rank_of(const struct reader *rd, const struct sonde_trace_thread *t)
{
	return sonde_trace_rank(rd->trace, t->rank_index)->rank;
}

static uint64_t hash_row(int rank, const struct sonde_trace_function *f)
{
	return hash_word((uint64_t)(uint32_t)rank << 32 | (uint32_t)f->index);
}

static uint64_t hash_pair(int from, int to)
{
	return hash_word((uint64_t)(uint32_t)from << 32 | (uint32_t)to);
}

static bool is_row(const struct report_mpi *r, size_t i, int rank, const struct sonde_trace_function *f)
{
	return r->row[i - 1].rank == rank && r->row[i - 1].function == f;
}

static bool is_pair(const struct report_mpi *r, size_t i, int from, int to)
{
	return r->pair[i - 1].from == from && r->pair[i - 1].to == to;
}

static struct report_mpi_row *row(struct report_mpi *r, int rank, const struct sonde_trace_function *f)
{
	size_t *slot;

	if (!hash_grow(r->row_of, r->row_slots, r->nrows + 1, old, *old,
		       &r->row_of[hash_slot(i, r->row_slots, hash_row(r->row[*old - 1].rank, r->row[*old - 1].function), !r->row_of[i])]))
		r->row_of = report_need(NULL);
	slot = &r->row_of[hash_slot(i, r->row_slots, hash_row(rank, f), !r->row_of[i] || is_row(r, r->row_of[i], rank, f))];
	if (!*slot) {
		if (!array_room(r->row, r->rows_room, r->nrows + 1))
			r->row = report_need(NULL);
		r->row[r->nrows++] = (struct report_mpi_row){ .rank = rank, .function = f };
		*slot = r->nrows;
	}
	return &r->row[*slot - 1];
}

static struct report_mpi_pair *pair(struct report_mpi *r, int from, int to)
{
	size_t *slot;

	if (!hash_grow(r->pair_of, r->pair_slots, r->npairs + 1, old, *old,
		       &r->pair_of[hash_slot(i, r->pair_slots, hash_pair(r->pair[*old - 1].from, r->pair[*old - 1].to), !r->pair_of[i])]))
		r->pair_of = report_need(NULL);
	slot = &r->pair_of[hash_slot(i, r->pair_slots, hash_pair(from, to), !r->pair_of[i] || is_pair(r, r->pair_of[i], from, to))];
	if (!*slot) {
		if (!array_room(r->pair, r->pairs_room, r->npairs + 1))
			r->pair = report_need(NULL);
		r->pair[r->npairs++] = (struct report_mpi_pair){ .from = from, .to = to };
		*slot = r->npairs;
	}
	return &r->pair[*slot - 1];
}

static bool wanted(const struct reader *rd, const struct sonde_trace_thread *t)
{
	return rd->request->want(t, rd->request->arg);
}

/* ---- messages ---- */

/* Of one call the longest wait counts. */
static void add_wait(struct reader *rd, const struct sonde_trace_thread *t, const struct sonde_trace_function *f, uint64_t entered,
		     enum report_mpi_wait what, uint64_t wait)
{
	struct latest *l = &rd->latest[t->index];

	if (!f || !wanted(rd, t))
		return;
	if (l->entered != entered)
		*l = (struct latest){ .entered = entered };
	if (wait <= l->wait)
		return;
	row(rd->r, rank_of(rd, t), f)->wait[what] += wait - l->wait;
	l->wait = wait;
}

static void matched(void *arg, const struct sonde_trace_event *ev, const struct mpi_message *m)
{
	uint64_t until = m->sent < m->received ? m->sent : m->received;
	struct reader *rd = arg;

	(void)ev;
	if (m->received < m->sent) {
		rd->r->backward++;
		if (m->sent - m->received > rd->r->backward_ns)
			rd->r->backward_ns = m->sent - m->received;
	}
	if (until > m->receive_waited)
		add_wait(rd, m->receiver, m->receive_call, m->receive_waited, MPI_LATE_SENDER, until - m->receive_waited);
}

static void finished(void *arg, const struct mpi_message *m)
{
	if (m->send_done > m->posted && m->posted > m->send_waited)
		add_wait(arg, m->sender, m->send_call, m->send_waited, MPI_LATE_RECEIVER, m->posted - m->send_waited);
}

/* ---- collective operations ---- */

static bool from_root(enum mpi_collective op)
{
	return op == MPI_OP_BCAST || op == MPI_OP_SCATTER || op == MPI_OP_SCATTERV;
}

static bool to_root(enum mpi_collective op)
{
	return op == MPI_OP_GATHER || op == MPI_OP_GATHERV || op == MPI_OP_REDUCE;
}

/* Among neighbours it is not known who these are, and of two groups not which one the root is in. */
static bool has_waits(const struct mpi_fact *f)
{
	return f->comm && f->blocking && f->op != MPI_OP_NEIGHBORS && !(f->comm->group->remote && (from_root(f->op) || to_root(f->op)));
}

/* Does the second one need what the first one brings? */
static bool is_needed(const struct operation *o, const struct arrival *from, const struct arrival *a)
{
	const struct mpi_group *g = o->comm->group;

	if (g->remote && o->op != MPI_OP_COMM)
		return (from->place < g->n) != (a->place < g->n);
	if (o->op == MPI_OP_SCAN || o->op == MPI_OP_EXSCAN)
		return from->place < a->place;
	return (!from_root(o->op) || from->root) && (!to_root(o->op) || a->root);
}

/* When was there all that this process needed? */
static uint64_t needed(const struct operation *o, const struct arrival *a)
{
	uint64_t last = 0;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].entered > last && is_needed(o, &o->v[i], a))
			last = o->v[i].entered;
	return last;
}

static uint32_t place_of(const struct mpi_group *g, int world)
{
	uint32_t i = 0;

	while (i < g->n + g->remote && g->world[i] != world)
		i++;
	return i;
}

static void close_operation(struct reader *rd, struct operation *o)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct arrival *a = &o->v[i];
		uint64_t until = needed(o, a);

		until = until < a->left ? until : a->left;
		if (until > a->entered && wanted(rd, a->thread))
			rd->r->row[a->row].wait[o->op == MPI_OP_BARRIER ? MPI_AT_BARRIERS : MPI_AT_COLLECTIVES] += until - a->entered;
	}
	free(o->v);
	*o = rd->open[--rd->nopen];
}

static struct operation *operation(struct reader *rd, const struct mpi_fact *f)
{
	for (size_t i = rd->nopen; i-- > 0;)
		if (rd->open[i].comm == f->comm && rd->open[i].nth == f->nth)
			return &rd->open[i];
	if (f->kind == MPI_COLLECTIVE_END)
		return NULL;
	if (!array_room(rd->open, rd->open_room, rd->nopen + 1))
		rd->open = report_need(NULL);
	rd->open[rd->nopen] = (struct operation){ .comm = f->comm, .nth = f->nth, .op = f->op };
	return &rd->open[rd->nopen++];
}

static void collective(struct reader *rd, const struct sonde_trace_event *ev, const struct mpi_fact *f)
{
	struct operation *o = operation(rd, f);
	int rank = rank_of(rd, ev->thread);

	if (f->kind == MPI_COLLECTIVE) {
		if (!array_room(o->v, o->room, o->n + 1))
			o->v = report_need(NULL);
		o->v[o->n++] = (struct arrival){ .row = (size_t)(row(rd->r, rank, f->call) - rd->r->row), .thread = ev->thread,
						 .entered = ev->time, .root = f->root >= 0 && mpi_world_of(f->comm, rank, f->root) == rank };
		if (f->comm->group->remote || f->op == MPI_OP_SCAN || f->op == MPI_OP_EXSCAN)
			o->v[o->n - 1].place = place_of(f->comm->group, rank);
		return;
	}
	for (size_t i = 0; o && i < o->n; i++) {
		if (o->v[i].thread != ev->thread || o->v[i].left)
			continue;
		o->v[i].left = ev->time;
		if (++o->left == f->comm->group->n + (size_t)f->comm->group->remote)
			close_operation(rd, o);
		return;
	}
}

/* ---- events ---- */

static void fact(void *arg, const struct sonde_trace_event *ev, const struct mpi_fact *f)
{
	struct reader *rd = arg;
	struct report_mpi_row *own = wanted(rd, ev->thread) ? row(rd->r, rank_of(rd, ev->thread), f->call) : NULL;
	struct report_mpi_pair *p;

	switch (f->kind) {
	case MPI_SENT:
	case MPI_ISENT:
		if (own)
			own->sent += f->bytes;
		if (!own || f->world < 0 || !f->comm)
			return;
		p = pair(rd->r, own->rank, f->world);
		p->messages++;
		p->bytes += f->bytes;
		rd->r->messages++;
		rd->r->bytes += f->bytes;
		break;
	case MPI_RECEIVED:
	case MPI_IRECEIVED:
		if (own)
			own->received += f->bytes;
		break;
	case MPI_COLLECTIVE:
		if (own) {
			own->sent += f->sent;
			own->received += f->received;
		}
		/* fall through */
	case MPI_COLLECTIVE_END:
		if (has_waits(f))
			collective(rd, ev, f);
		break;
	default:
		break;
	}
}

static bool one_event(struct reader *rd, struct mpi_reader *mpi, const struct sonde_trace_event *ev)
{
	if (ev->kind == SONDE_TRACE_LOST)
		rd->r->lost += ev->lost ? ev->lost : 1;
	if (ev->kind == SONDE_TRACE_LEAVE && ev->function && rd->recorded[ev->function->index] && wanted(rd, ev->thread)) {
		struct report_mpi_row *own = row(rd->r, rank_of(rd, ev->thread), ev->function);

		own->calls++;
		own->time += ev->time - ev->entered;
	}
	return mpi_event(mpi, ev);
}

static void find_functions(struct reader *rd)
{
	rd->recorded = report_zeroed(sonde_trace_functions(rd->trace) + 1, sizeof(*rd->recorded));
	for (size_t i = 0; i < sonde_trace_sites(rd->trace); i++) {
		const struct sonde_trace_site *s = sonde_trace_site(rd->trace, i);

		if (s->kind == SONDE_TRACE_ENTER && s->module && strcmp(s->module->name, "mpi") == 0)
			rd->recorded[s->function->index] = true;
	}
}

static bool read_events(struct reader *rd, struct mpi_reader *mpi, struct sonde_trace_iter *iter)
{
	const struct sonde_trace_event *ev;
	struct reading shown;
	bool good = true;

	reading_begin(&shown, false);
	for (size_t i = 0; i < sonde_trace_threads(rd->trace); i++)
		reading_expect(&shown, sonde_trace_thread(rd->trace, i));
	while (good && sonde_trace_next(iter, &ev) == SONDE_TRACE_OK) {
		good = one_event(rd, mpi, ev);
		reading_event(&shown);
	}
	reading_end(&shown);
	return good;
}

/* Those of processes that are not asked for. */
static void drop_empty(struct report_mpi *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (r->row[i].calls || r->row[i].sent || r->row[i].received)
			r->row[n++] = r->row[i];
	r->nrows = n;
}

static size_t count_ranks(const struct sonde_trace *trace)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		n += sonde_trace_rank(trace, i)->rank >= 0 &&
		     (!i || sonde_trace_rank(trace, i)->rank != sonde_trace_rank(trace, i - 1)->rank);
	return n;
}

int report_mpi_read(struct report_mpi *r, const struct sonde_trace *trace, const char *dir, const struct report_mpi_request *q)
{
	struct reader rd = { .r = r, .trace = trace, .request = q };
	const struct mpi_sink sink = { fact, matched, finished, &rd };
	struct mpi_reader *mpi;
	struct sonde_trace_iter *iter = NULL;
	int status = 0;

	*r = (struct report_mpi){ .ranks = count_ranks(trace) };
	if (!mpi_is_there(trace)) {
		msg_error("%s has nothing of MPI: record it with 'sonde -m mpi'", dir);
		return EXIT_USAGE;
	}
	if (sonde_trace_merge(trace, NULL, NULL, &iter) != SONDE_TRACE_OK) {
		msg_error("%s cannot be read", dir);
		return EXIT_USAGE;
	}
	find_functions(&rd);
	rd.latest = report_zeroed(sonde_trace_threads(trace) + 1, sizeof(*rd.latest));
	mpi = report_need(mpi_reader_new(trace, &sink));
	if (!read_events(&rd, mpi, iter)) {
		msg_error("no memory");
		status = EXIT_USAGE;
	}
	drop_empty(r);
	r->unknown = mpi_left(mpi).unknown;
	r->unreceived = mpi_left(mpi).unreceived;
	while (mpi_comm(mpi, r->communicators))
		r->communicators++;
	r->damaged = sonde_trace_damage(iter, NULL) > 0;
	sonde_trace_iter_free(iter);
	mpi_reader_free(mpi);
	for (size_t i = 0; i < rd.nopen; i++)
		free(rd.open[i].v);
	free(rd.open);
	free(rd.latest);
	free(rd.recorded);
	return status;
}

uint64_t report_mpi_waited(const struct report_mpi_row *row)
{
	uint64_t sum = 0;

	for (int i = 0; i < MPI_WAITS; i++)
		sum += row->wait[i];
	return sum;
}

void report_mpi_free(struct report_mpi *r)
{
	free(r->row);
	free(r->pair);
	free(r->row_of);
	free(r->pair_of);
}
