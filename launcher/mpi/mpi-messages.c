/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends and receives of one communicator, source, destination and tag: two queues. */
#include "launcher/mpi/mpi-private.h"

#include <stdlib.h>

/* Receives are in the order in which they were posted; the first decides: until it is complete none is given a message. */
struct mpi_channel {
	struct mpi_key key;
	struct mpi_send *sends, *last_send;
	struct mpi_receive *receives;
};

static struct mpi_channel *channel_of(struct mpi_messages *q, const struct mpi_message *m, bool partitioned)
{
	struct mpi_key key = { (uint64_t)m->comm->index << 32 | (uint32_t)m->from, (uint64_t)(uint32_t)m->to << 32 | (uint32_t)m->tag,
			       partitioned ? KEY_PARTITIONED : KEY_CHANNEL };
	struct mpi_channel *c = mpi_find(&q->table, key);

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c || !mpi_put(&q->table, key, c)) {
		free(c);
		q->failed = true;
		return NULL;
	}
	c->key = key;
	return c;
}

static void finish(struct mpi_messages *q, struct mpi_send *s)
{
	if (!s->matched || !s->done)
		return;
	if (q->sink.finished)
		q->sink.finished(q->sink.arg, &s->m);
	free(s);
}

static void match(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_send *s, const struct mpi_receive *r)
{
	s->m.to = r->m.to;
	s->m.receiver = r->m.receiver;
	s->m.receive_call = r->m.receive_call;
	s->m.posted = r->m.posted;
	s->m.receive_waited = r->m.receive_waited;
	s->m.received = r->m.received;
	s->matched = true;
	q->unreceived--;
	if (q->sink.matched)
		q->sink.matched(q->sink.arg, ev, &s->m);
	finish(q, s);
}

static void pump(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_channel *c)
{
	for (struct mpi_receive *r = c->receives; r && r->complete && (r->cancelled || c->sends); r = c->receives) {
		struct mpi_send *s = c->sends;

		c->receives = r->next;
		if (!r->cancelled) {
			c->sends = s->next;
			match(q, ev, s, r);
		}
		free(r);
	}
	if (!c->receives && !c->sends) {
		(void)!mpi_put(&q->table, c->key, NULL);
		free(c);
	}
}

static void enqueue(struct mpi_channel *c, struct mpi_receive *r)
{
	struct mpi_receive **at = &c->receives;

	while (*at && (*at)->order < r->order)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	r->channel = c;
}

struct mpi_send *mpi_sent(struct mpi_messages *q, const struct sonde_trace_event *ev, const struct mpi_message *m, bool partitioned)
{
	struct mpi_send *s = calloc(1, sizeof(*s));
	struct mpi_channel *c = s ? channel_of(q, m, partitioned) : NULL;

	if (!c) {
		q->failed = true;
		free(s);
		return NULL;
	}
	s->m = *m;
	s->m.number = ++q->numbers;
	q->unreceived++;
	if (c->sends)
		c->last_send->next = s;
	else
		c->sends = s;
	c->last_send = s;
	pump(q, ev, c);
	return s;
}

void mpi_send_done(struct mpi_messages *q, struct mpi_send *s, uint64_t waited, uint64_t done, const struct sonde_trace_function *call)
{
	s->m.send_call = call;
	s->m.send_waited = waited;
	s->m.send_done = done;
	s->done = true;
	finish(q, s);
}

struct mpi_receive *mpi_posted(struct mpi_messages *q, const struct mpi_message *m, bool partitioned)
{
	struct mpi_receive *r = calloc(1, sizeof(*r));
	struct mpi_channel *c;

	if (!r) {
		q->failed = true;
		return NULL;
	}
	r->m = *m;
	r->order = ++q->order;
	if (m->from < 0 || m->tag < 0)
		return r;
	c = channel_of(q, m, partitioned);
	if (c)
		enqueue(c, r);
	return r;
}

void mpi_received(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_receive *r, const struct mpi_message *m)
{
	bool known = r->channel;

	r->m.receive_call = m->receive_call;
	r->m.receive_waited = m->receive_waited;
	r->m.received = m->received;
	r->complete = true;
	r->cancelled = m->from < 0 || m->tag < 0;
	if (!known && !r->cancelled) {
		struct mpi_channel *c;

		r->m.from = m->from;
		r->m.tag = m->tag;
		c = channel_of(q, &r->m, false);
		if (c)
			enqueue(c, r);
	}
	if (r->channel)
		pump(q, ev, r->channel);
	else
		free(r);
}

void mpi_given_up(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_send *s, struct mpi_receive *r)
{
	const struct mpi_message as_posted = r ? r->m : (struct mpi_message){ 0 };

	if (r)
		mpi_received(q, ev, r, &as_posted);
	if (s)
		mpi_send_done(q, s, 0, 0, NULL);
}

void mpi_messages_free(struct mpi_messages *q)
{
	for (size_t i = 0; i < q->table.room; i++) {
		struct mpi_channel *c = q->table.v[i].p;

		for (struct mpi_receive *r = c ? c->receives : NULL, *next; r; r = next) {
			next = r->next;
			free(r);
		}
		for (struct mpi_send *s = c ? c->sends : NULL, *next; s; s = next) {
			next = s->next;
			free(s);
		}
		free(c);
	}
	free(q->table.v);
}
