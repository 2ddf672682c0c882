/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events to facts: what is open in each thread, and which requests are. */
#include "launcher/mpi/mpi-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* What fields say; of an entry, then of the return. */
struct fields {
	uint64_t comm, request, message, newcomm, bytes, sent, received, length;
	int peer, tag, dest, sendtag, root, result, rank, flag, cancelled;
	char name[64];
};

struct request {
	struct request *next; /* of the same handle: libraries have one for all that is done when it is started */
	uint64_t number, handle;
	const struct mpi_comm *comm;
	int to, from; /* ranks in it, negative: it does not send, does not receive; or receives from any */
	int send_tag, tag;
	uint64_t bytes;
	bool receives, persistent, partitioned, active;
	bool claimed; /* a call waits for it, or asks whether it is done */
	struct mpi_send *send;
	struct mpi_receive *receive;
};

struct frame {
	const struct sonde_trace_function *function;
	struct mpi_function what;
	uint64_t entered;
	const struct mpi_comm *comm;
	struct fields f;
	struct mpi_send *send;
	struct mpi_receive *receive;
	uint64_t handles[2]; /* communicators that are described in it */
	size_t nhandles;
	uint64_t nth; /* of the collective operation; else the number of its request */
};

struct thread {
	struct frame *v;
	size_t n, room;
	struct mpi_ranks ranks;
};

#define RECENT 256

/* A field that was read. */
struct recent {
	const char *name; /* NULL: none yet */
	size_t number;
};

struct mpi_reader {
	const struct sonde_trace *trace;
	struct mpi_function *function; /* by index */
	bool *recorded;		       /* by function: by the module mpi */
	struct thread *thread;
	struct mpi_comms comms;
	struct mpi_messages messages;
	struct mpi_table requests;
	struct recent recent[RECENT];
	uint64_t numbers, unknown;
	bool failed;
};

/* ---- fields ---- */

static const struct {
	const char *name;
	size_t offset;
	bool wide;
} numbers[] = {
#define WIDE(n) { #n, offsetof(struct fields, n), true }
#define NARROW(n) { #n, offsetof(struct fields, n), false }
	WIDE(comm), WIDE(request), WIDE(message), WIDE(newcomm), WIDE(bytes), WIDE(sent), WIDE(received), WIDE(length),
	NARROW(peer), NARROW(tag), NARROW(dest), NARROW(sendtag), NARROW(root), NARROW(result), NARROW(rank), NARROW(flag),
	NARROW(cancelled),
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* NUMBERS: none of them.  @name lives as long as the trace, so that its address stands for it. */
static size_t number_called(struct mpi_reader *r, const char *name)
{
	struct recent *at = &r->recent[hash_word((uintptr_t)name) % RECENT];

	if (at->name == name)
		return at->number;
	*at = (struct recent){ .name = name };
	while (at->number < NUMBERS && strcmp(numbers[at->number].name, name) != 0)
		at->number++;
	return at->number;
}

static void set_number(struct mpi_reader *r, struct fields *f, const struct sonde_trace_value *v)
{
	size_t i = number_called(r, v->name);
	void *at = (char *)f + numbers[i < NUMBERS ? i : 0].offset;

	if (i == NUMBERS)
		return;
	if (numbers[i].wide)
		*(uint64_t *)at = v->u;
	else
		*(int *)at = (int)v->i;
}

static void read_fields(struct mpi_reader *r, struct fields *f, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		if (v->type == SONDE_TRACE_STR) {
			size_t n = v->u < sizeof(f->name) - 1 ? (size_t)v->u : sizeof(f->name) - 1;

			memcpy(f->name, v->str, n);
			f->name[n] = 0;
		} else if (v->type != SONDE_TRACE_F64) {
			set_number(r, f, v);
		}
	}
}

/* ---- facts ---- */

static int self(const struct mpi_reader *r, const struct sonde_trace_thread *t)
{
	return sonde_trace_rank(r->trace, t->rank_index)->rank;
}

static void tell(struct mpi_reader *r, const struct sonde_trace_event *ev, struct mpi_fact fact)
{
	const struct thread *th = &r->thread[ev->thread->index];

	if (!fact.comm)
		r->unknown += fact.kind != MPI_COLLECTIVE_END;
	else
		fact.world = mpi_world_of(fact.comm, self(r, ev->thread), fact.peer);
	fact.call = th->n ? th->v[th->n - 1].function : ev->function;
	if (r->messages.sink.fact)
		r->messages.sink.fact(r->messages.sink.arg, ev, &fact);
}

/* When the call began that the event is in. */
static uint64_t entered(const struct mpi_reader *r, const struct sonde_trace_event *ev)
{
	const struct thread *th = &r->thread[ev->thread->index];

	return th->n ? th->v[th->n - 1].entered : ev->time;
}

static struct mpi_send *send(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct request *q)
{
	struct mpi_message m = { .comm = q->comm, .from = self(r, ev->thread), .tag = q->send_tag, .bytes = q->bytes,
				 .sender = ev->thread, .sent = entered(r, ev) };
	struct mpi_send *s = NULL;

	if (q->to < 0)
		return NULL;
	m.to = q->comm ? mpi_world_of(q->comm, m.from, q->to) : -1;
	if (m.to >= 0 && m.from >= 0)
		s = mpi_sent(&r->messages, ev, &m, q->partitioned);
	tell(r, ev, (struct mpi_fact){ .kind = q->number ? MPI_ISENT : MPI_SENT, .comm = q->comm, .peer = q->to, .tag = q->send_tag,
				       .bytes = q->bytes, .request = q->number, .message = s ? s->m.number : 0 });
	return s;
}

static struct mpi_receive *post(struct mpi_reader *r, const struct sonde_trace_thread *t, uint64_t time, const struct request *q)
{
	struct mpi_message m = { .comm = q->comm, .from = -1, .to = self(r, t), .tag = q->tag, .receiver = t, .posted = time };

	if (!q->receives || !q->comm || m.to < 0)
		return NULL;
	m.from = mpi_world_of(q->comm, m.to, q->from);
	/* from a process that is not known */
	if (q->from >= 0 && m.from < 0)
		return NULL;
	return mpi_posted(&r->messages, &m, q->partitioned);
}

/* A receive has completed, as its status says. */
static void received(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct request *q, const struct frame *fr,
		     const struct fields *f, uint64_t bytes)
{
	struct mpi_message m = { .comm = q->comm, .from = -1, .tag = f->tag, .receive_call = fr->function,
				 .receive_waited = fr->entered, .received = ev->time };
	bool none = f->cancelled || f->peer < 0 || f->result;

	if (f->cancelled && q->number)
		tell(r, ev, (struct mpi_fact){ .kind = MPI_CANCELLED, .comm = q->comm, .peer = -1, .request = q->number });
	else if (!none)
		tell(r, ev, (struct mpi_fact){ .kind = q->number ? MPI_IRECEIVED : MPI_RECEIVED, .comm = q->comm, .peer = f->peer,
					       .tag = f->tag, .bytes = bytes, .request = q->number });
	if (!none && q->comm)
		m.from = mpi_world_of(q->comm, self(r, ev->thread), f->peer);
	if (q->receive)
		mpi_received(&r->messages, ev, q->receive, &m);
}

/* ---- requests ---- */

static struct mpi_key request_key(const struct sonde_trace_thread *t, uint64_t handle)
{
	return (struct mpi_key){ mpi_process(t), handle, KEY_REQUEST };
}

static void drop_request(struct mpi_reader *r, const struct sonde_trace_event *ev, struct mpi_key key, struct request *q)
{
	struct request *first = mpi_find(&r->requests, key), **at = &first;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	if (!mpi_put(&r->requests, key, first))
		r->failed = true;
	mpi_given_up(&r->messages, ev, q->send, q->receive);
	free(q);
}

/*
 * Which one has completed, or will: that with the number that was claimed; else of several that nobody has claimed one that sends.
 * A thread may be given a handle that another one still waits for, because the library has already freed it.
 */
static struct request *choose(struct mpi_reader *r, struct mpi_key key, uint64_t number)
{
	struct request *first = NULL, *q = mpi_find(&r->requests, key);

	for (; q; q = q->next) {
		if (number ? q->number == number : !q->claimed && q->to >= 0)
			return q;
		if (!number && !q->claimed && !first)
			first = q;
	}
	return first;
}

static void start(struct mpi_reader *r, const struct sonde_trace_event *ev, struct request *q)
{
	q->number = ++r->numbers;
	q->active = true;
	if (q->receives)
		tell(r, ev, (struct mpi_fact){ .kind = MPI_RECV_STARTED, .comm = q->comm, .peer = q->from, .tag = q->tag,
					       .request = q->number });
	if (!q->receive)
		q->receive = post(r, ev->thread, entered(r, ev), q);
	q->send = send(r, ev, q);
}

static void start_again(struct mpi_reader *r, const struct sonde_trace_event *ev, uint64_t handle)
{
	struct request *q = mpi_find(&r->requests, request_key(ev->thread, handle));

	if (q && !q->active)
		start(r, ev, q);
}

/* At the return, when its handle is known; what was sent or posted was at the entry. */
static void new_request(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct request *made)
{
	struct mpi_key key = request_key(ev->thread, made->handle);
	struct request *first = mpi_find(&r->requests, key), *q = malloc(sizeof(*q));

	if (!q || !mpi_put(&r->requests, key, first ? first : q)) {
		free(q);
		r->failed = true;
		return;
	}
	*q = *made;
	q->next = NULL;
	for (; first && first->next; first = first->next)
		;
	if (first)
		first->next = q;
}

static void claim(struct mpi_reader *r, const struct sonde_trace_event *ev, struct frame *fr)
{
	struct request *q = choose(r, request_key(ev->thread, fr->f.request), 0);

	if (q && q->active) {
		q->claimed = true;
		fr->nth = q->number;
	}
}

static void completed(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct frame *fr, uint64_t handle,
		      const struct fields *f)
{
	struct mpi_key key = request_key(ev->thread, handle);
	struct request *q = choose(r, key, fr->what.call == CALL_COMPLETE ? fr->nth : 0);

	if (!q || !q->active)
		return;
	q->active = q->claimed = false;
	if (q->to >= 0)
		tell(r, ev, (struct mpi_fact){ .kind = f->cancelled ? MPI_CANCELLED : MPI_ISEND_DONE, .comm = q->comm, .peer = -1,
					       .request = q->number });
	if (q->send)
		mpi_send_done(&r->messages, q->send, fr->entered, ev->time, fr->function);
	q->send = NULL;
	if (q->receives)
		received(r, ev, q, fr, f, f->length);
	q->receive = NULL;
	if (!q->persistent)
		drop_request(r, ev, key, q);
}

/* ---- calls ---- */

/* What a call sends and receives, by its arguments. */
static struct request described(const struct frame *fr)
{
	const struct fields *f = &fr->f;
	struct request q = { .comm = fr->comm, .to = -1, .from = -1 };

	switch (fr->what.call) {
	case CALL_SEND:
	case CALL_ISEND:
	case CALL_SEND_INIT:
	case CALL_PSEND_INIT:
		q.to = f->peer;
		q.send_tag = f->tag;
		q.bytes = f->bytes;
		break;
	case CALL_SENDRECV:
	case CALL_ISENDRECV:
		q.to = f->dest;
		q.send_tag = f->sendtag;
		q.bytes = f->sent;
		/* fall through */
	default:
		q.receives = true;
		q.from = f->peer < 0 ? -1 : f->peer;
		q.tag = f->tag;
	}
	q.partitioned = fr->what.call == CALL_PSEND_INIT || fr->what.call == CALL_PRECV_INIT;
	q.persistent = q.partitioned || fr->what.call == CALL_SEND_INIT || fr->what.call == CALL_RECV_INIT;
	return q;
}

static bool counts_as_collective(const struct frame *fr)
{
	return fr->what.call == CALL_COLLECTIVE || fr->what.call == CALL_IDUP;
}

static void collective(struct mpi_reader *r, const struct sonde_trace_event *ev, struct frame *fr, enum mpi_fact_kind kind)
{
	if (kind == MPI_COLLECTIVE && fr->comm)
		fr->nth = mpi_comm_next(&r->comms, ev->thread, fr->comm);
	tell(r, ev, (struct mpi_fact){ .kind = kind, .comm = fr->comm, .peer = -1, .op = fr->what.call == CALL_IDUP ? MPI_OP_COMM :
				       (enum mpi_collective)fr->what.op, .blocking = !fr->what.nonblocking && fr->what.call != CALL_IDUP,
				       .root = fr->f.root < 0 ? -1 : fr->f.root, .sent = fr->f.sent, .received = fr->f.received,
				       .nth = fr->nth });
}

static void enter(struct mpi_reader *r, struct thread *th, struct mpi_function what, const struct sonde_trace_event *ev)
{
	struct frame *fr;
	struct request q;

	if (!array_room(th->v, th->room, th->n + 1)) {
		r->failed = true;
		return;
	}
	fr = &th->v[th->n++];
	*fr = (struct frame){ .function = ev->function, .what = what, .entered = ev->time, .f = { .peer = -1, .tag = -1, .dest = -1, .root = -1 } };
	read_fields(r, &fr->f, ev);
	fr->comm = mpi_comm_of(&r->comms, ev->thread, fr->f.comm);
	if (counts_as_collective(fr))
		collective(r, ev, fr, MPI_COLLECTIVE);
	if (what.call == CALL_COMPLETE)
		claim(r, ev, fr);
	if (what.call == CALL_START)
		start_again(r, ev, fr->f.request);
	if (what.call < CALL_SEND || what.call > CALL_ISENDRECV)
		return;
	q = described(fr);
	if (q.persistent)
		return;
	if (what.call == CALL_ISEND || what.call == CALL_IRECV || what.call == CALL_ISENDRECV) {
		start(r, ev, &q);
		fr->nth = q.number;
	} else {
		q.receive = post(r, ev->thread, ev->time, &q);
		q.send = send(r, ev, &q);
	}
	fr->send = q.send;
	fr->receive = q.receive;
}

/* The message that a probe has found is received where its handle says. */
static void probed(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct frame *fr, const struct fields *f)
{
	struct request q = { .comm = fr->comm, .to = -1, .from = f->peer, .tag = f->tag, .receives = true };

	if (f->peer < 0 || !f->message)
		return;
	q.receive = post(r, ev->thread, fr->entered, &q);
	q.handle = f->message;
	q.number = 0;
	q.active = true;
	new_request(r, ev, &q);
}

static void leave_message(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct frame *fr, const struct fields *f)
{
	struct mpi_key key = request_key(ev->thread, fr->f.message);
	struct request *found = mpi_find(&r->requests, key), q;

	if (!found)
		return;
	q = *found;
	found->receive = NULL;
	drop_request(r, ev, key, found);
	if (fr->what.call == CALL_MRECV) {
		received(r, ev, &q, fr, f, f->bytes);
	} else {
		q.handle = f->request;
		start(r, ev, &q);
		new_request(r, ev, &q);
	}
}

static void leave_sending(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct frame *fr, const struct fields *f)
{
	struct request q = described(fr);

	q.send = fr->send;
	q.receive = fr->receive;
	q.handle = f->request;
	q.number = fr->nth;
	q.active = !q.persistent;
	if (q.persistent || fr->nth) {
		if (!f->result)
			new_request(r, ev, &q);
		else
			mpi_given_up(&r->messages, ev, q.send, q.receive);
		return;
	}
	if (q.send)
		mpi_send_done(&r->messages, q.send, fr->entered, ev->time, fr->function);
	if (q.receives)
		received(r, ev, &q, fr, f, fr->what.call == CALL_SENDRECV ? f->received : f->bytes);
}

static void leave_other(struct mpi_reader *r, const struct sonde_trace_event *ev, struct frame *fr, const struct fields *f)
{
	struct request *q;

	switch (fr->what.call) {
	case CALL_MPROBE:
		probed(r, ev, fr, f);
		break;
	case CALL_MRECV:
	case CALL_IMRECV:
		leave_message(r, ev, fr, f);
		break;
	case CALL_COMPLETE: /* a status that was not written: its peer is negative, and nothing was found */
		q = fr->nth ? choose(r, request_key(ev->thread, fr->f.request), fr->nth) : NULL;
		if (q)
			q->claimed = false;
		if (q && !f->result && f->flag)
			completed(r, ev, fr, fr->f.request, f);
		break;
	case CALL_REQUEST_FREE:
		q = mpi_find(&r->requests, request_key(ev->thread, fr->f.request));
		if (q)
			drop_request(r, ev, request_key(ev->thread, fr->f.request), q);
		break;
	case CALL_SET_NAME:
		if (fr->comm)
			mpi_comm_name(&r->comms, fr->comm, fr->f.name);
		break;
	case CALL_IDUP:
		if (fr->comm)
			mpi_comm_copy(&r->comms, ev->thread, fr->comm, f->newcomm);
		break;
	default:
		break;
	}
}

static void name_first(struct mpi_reader *r, const struct sonde_trace_event *ev, const struct frame *fr)
{
	static const char *const names[] = { "MPI_COMM_WORLD", "MPI_COMM_SELF" };

	for (size_t i = 0; i < fr->nhandles; i++) {
		const struct mpi_comm *c = mpi_comm_of(&r->comms, ev->thread, fr->handles[i]);

		if (c && !*c->name)
			mpi_comm_name(&r->comms, c, names[i]);
	}
}

/* Its end was not recorded. */
static void forget_last(struct mpi_reader *r, struct thread *th, const struct sonde_trace_event *ev)
{
	struct frame *fr = &th->v[--th->n];

	mpi_given_up(&r->messages, ev, fr->send, fr->receive);
}

static void leave(struct mpi_reader *r, struct thread *th, const struct sonde_trace_event *ev)
{
	struct frame *fr;
	struct fields f = { .peer = -1, .tag = -1, .flag = 1 };

	while (th->n && th->v[th->n - 1].function != ev->function)
		forget_last(r, th, ev);
	if (!th->n)
		return;
	fr = &th->v[th->n - 1];
	read_fields(r, &f, ev);
	f.result |= !!(ev->flags & (SONDE_TRACE_UNWOUND | SONDE_TRACE_ORPHAN));
	if (fr->what.call == CALL_INIT)
		name_first(r, ev, fr);
	if (counts_as_collective(fr))
		collective(r, ev, fr, MPI_COLLECTIVE_END);
	if (fr->what.call >= CALL_SEND && fr->what.call <= CALL_ISENDRECV)
		leave_sending(r, ev, fr, &f);
	else
		leave_other(r, ev, fr, &f);
	th->n--;
}

static void point(struct mpi_reader *r, struct thread *th, struct mpi_function what, const struct sonde_trace_event *ev)
{
	struct frame *fr = th->n ? &th->v[th->n - 1] : NULL;
	struct fields f = { .peer = -1, .tag = -1 };

	if (what.call == CALL_RANKS) {
		mpi_ranks_point(&r->comms, &th->ranks, ev);
		if (fr && fr->what.call == CALL_INIT && fr->nhandles < 2 && (!fr->nhandles || fr->handles[0] != th->ranks.handle))
			fr->handles[fr->nhandles++] = th->ranks.handle;
	} else if (what.call == CALL_REQUESTS && fr) {
		read_fields(r, &f, ev);
		if (strcmp(ev->site->name, "completed") == 0) {
			completed(r, ev, fr, f.request, &f);
			return;
		}
		start_again(r, ev, f.request);
	}
}

bool mpi_event(struct mpi_reader *r, const struct sonde_trace_event *ev)
{
	struct thread *th = &r->thread[ev->thread->index];
	struct mpi_function what;

	if (ev->kind == SONDE_TRACE_LOST || ev->flags & SONDE_TRACE_AFTER_GAP)
		while (th->n)
			forget_last(r, th, ev);
	if (!ev->function || !r->recorded[ev->function->index])
		return true;
	what = r->function[ev->function->index];
	if (ev->kind != SONDE_TRACE_POINT)
		mpi_ranks_end(&r->comms, &th->ranks, ev->thread);
	if (what.call == CALL_NONE)
		return true;
	if (ev->kind == SONDE_TRACE_ENTER)
		enter(r, th, what, ev);
	else if (ev->kind == SONDE_TRACE_LEAVE)
		leave(r, th, ev);
	else if (ev->kind == SONDE_TRACE_POINT && ev->site)
		point(r, th, what, ev);
	return !(r->failed || r->comms.failed || r->messages.failed);
}

/* ---- all of it ---- */

static bool is_mpi(const struct sonde_trace_site *s)
{
	return s->module && strcmp(s->module->name, "mpi") == 0;
}

bool mpi_is_there(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_sites(trace); i++)
		if (is_mpi(sonde_trace_site(trace, i)))
			return true;
	return false;
}

struct mpi_reader *mpi_reader_new(const struct sonde_trace *trace, const struct mpi_sink *sink)
{
	size_t functions = sonde_trace_functions(trace);
	struct mpi_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->trace = r->comms.trace = trace;
	r->messages.sink = *sink;
	r->function = calloc(functions + 1, sizeof(*r->function));
	r->recorded = calloc(functions + 1, sizeof(*r->recorded));
	r->thread = calloc(sonde_trace_threads(trace) + 1, sizeof(*r->thread));
	if (!r->function || !r->recorded || !r->thread) {
		mpi_reader_free(r);
		return NULL;
	}
	for (size_t i = 0; i < functions; i++)
		r->function[i] = mpi_function(sonde_trace_function(trace, i)->name);
	for (size_t i = 0; i < sonde_trace_sites(trace); i++)
		if (is_mpi(sonde_trace_site(trace, i)))
			r->recorded[sonde_trace_site(trace, i)->function->index] = true;
	return r;
}

struct mpi_left mpi_left(const struct mpi_reader *r)
{
	return (struct mpi_left){ r->messages.unreceived, r->unknown };
}

const struct mpi_comm *mpi_comm(const struct mpi_reader *r, size_t index)
{
	return index < r->comms.n ? r->comms.v[index] : NULL;
}

const struct mpi_group *mpi_group(const struct mpi_reader *r, size_t index)
{
	return index < r->comms.groups ? r->comms.group[index] : NULL;
}

void mpi_reader_free(struct mpi_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->requests.room; i++) {
		for (struct request *q = r->requests.v[i].p, *next; q; q = next) {
			next = q->next;
			if (q->receive && !q->receive->channel)
				free(q->receive);
			free(q);
		}
	}
	for (size_t i = 0; r->thread && i < sonde_trace_threads(r->trace); i++) {
		free(r->thread[i].v);
		free(r->thread[i].ranks.world);
	}
	free(r->requests.v);
	free(r->thread);
	free(r->function);
	free(r->recorded);
	mpi_comms_free(&r->comms);
	mpi_messages_free(&r->messages);
	free(r);
}
