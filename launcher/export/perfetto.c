/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Perfetto's protobuf: a row of packets, of which one describes a track (a process, a thread), or is the beginning or the end of a
 * slice on it, or a point.  Names are sent once and have a number from then on.  Field numbers: Perfetto's protos/perfetto/trace/,
 * trace_packet.proto, track_event/track_event.proto, track_descriptor.proto, debug_annotation.proto, interned_data.proto.
 */
#include "launcher/export/export.h"

#include <string.h>

enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	TRACK_UUID = 1,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	INTERNED_NAME = 2,
	NAME_IID = 1,
	NAME_TEXT = 2,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
};

enum { SLICE_BEGIN = 1, SLICE_END, INSTANT };
enum { CLEARED = 1, NEEDS_NAMES = 2 }; /* PACKET_FLAGS */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

#define SEQUENCE 1
#define LENGTH_BYTES 4 /* of a message's length: it is written when the message is, as a varint that is longer than need be */

static void put_key(struct tf_buf *b, unsigned field, unsigned type)
{
	tf_buf_varint(b, field << 3 | type);
}

static void put_uint(struct tf_buf *b, unsigned field, uint64_t v)
{
	put_key(b, field, VARINT);
	tf_buf_varint(b, v);
}

static void put_bytes(struct tf_buf *b, unsigned field, const char *s, size_t n)
{
	put_key(b, field, BYTES);
	tf_buf_varint(b, n);
	tf_buf_put(b, s, n);
}

static void put_text(struct tf_buf *b, unsigned field, const char *s)
{
	put_bytes(b, field, s, strlen(s));
}

/* A message within another: what is put until close_message() is in it. */
static size_t open_message(struct tf_buf *b, unsigned field)
{
	put_key(b, field, BYTES);
	tf_buf_extend(b, LENGTH_BYTES);
	return b->size;
}

static void close_message(struct tf_buf *b, size_t from)
{
	size_t n;

	if (b->failed)
		return;
	n = b->size - from;
	for (unsigned i = 0; i < LENGTH_BYTES; i++, n >>= 7)
		b->data[from - LENGTH_BYTES + i] = (uint8_t)((n & 127) | (i + 1 < LENGTH_BYTES ? 128 : 0));
}

/* 0 is no track. */
static uint64_t thread_track(const struct sonde_trace_thread *t)
{
	return 2 * t->index + 2;
}

static uint64_t process_track(const struct export *x, const struct sonde_trace_thread *t)
{
	return 2 * (uint64_t)x->of[t->index]->id + 1;
}

/* ---- tracks ---- */

static size_t open_packet(struct export *x, unsigned flags)
{
	size_t packet = open_message(&x->buf, TRACE_PACKET);

	put_uint(&x->buf, PACKET_SEQUENCE, SEQUENCE);
	put_uint(&x->buf, PACKET_FLAGS, flags);
	return packet;
}

static void put_process(struct export *x, const struct sonde_trace_thread *t)
{
	size_t packet = open_packet(x, NEEDS_NAMES), track = open_message(&x->buf, PACKET_TRACK), process;
	put_uint(&x->buf, TRACK_UUID, process_track(x, t));
	process = open_message(&x->buf, TRACK_PROCESS);
	put_uint(&x->buf, PROCESS_PID, (uint64_t)x->of[t->index]->id);
	put_text(&x->buf, PROCESS_NAME, x->of[t->index]->name);
	close_message(&x->buf, process);
	close_message(&x->buf, track);
	close_message(&x->buf, packet);
}

static void put_thread(struct export *x, const struct sonde_trace_thread *t)
{
	size_t packet = open_packet(x, NEEDS_NAMES), track = open_message(&x->buf, PACKET_TRACK), thread;

	put_uint(&x->buf, TRACK_UUID, thread_track(t));
	put_uint(&x->buf, TRACK_PARENT, process_track(x, t));
	thread = open_message(&x->buf, TRACK_THREAD);
	put_uint(&x->buf, THREAD_PID, (uint64_t)x->of[t->index]->id);
	put_uint(&x->buf, THREAD_TID, (uint64_t)t->tid);
	put_text(&x->buf, THREAD_NAME, t->comm);
	close_message(&x->buf, thread);
	close_message(&x->buf, track);
	close_message(&x->buf, packet);
}

static void begin(struct export *x)
{
	size_t n = sonde_trace_threads(x->trace);

	close_message(&x->buf, open_packet(x, CLEARED));
	for (size_t i = 0; i < n; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);

		if (x->of[i]->first == i)
			put_process(x, t);
		put_thread(x, t);
	}
}

/* ---- slices ---- */

static void put_annotation(struct tf_buf *b, const struct sonde_trace_value *v)
{
	size_t a = open_message(b, EVENT_ANNOTATION);
	uint64_t bits;

	put_text(b, ANNOTATION_NAME, v->name);
	switch (v->type) {
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		put_uint(b, ANNOTATION_INT, (uint64_t)v->i);
		break;
	case SONDE_TRACE_F64:
		put_key(b, ANNOTATION_DOUBLE, FIXED64);
		memcpy(&bits, &v->f, sizeof(bits)); /* little-endian, as the machine is */
		tf_buf_put(b, &bits, sizeof(bits));
		break;
	case SONDE_TRACE_PTR:
		put_uint(b, ANNOTATION_POINTER, v->u);
		break;
	case SONDE_TRACE_STR:
		put_bytes(b, ANNOTATION_STRING, v->str, v->u);
		break;
	default:
		put_uint(b, ANNOTATION_UINT, v->u);
		break;
	}
	close_message(b, a);
}

static void put_values(struct tf_buf *b, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++)
		put_annotation(b, &ev->values[i]);
}

/* Its number; at its first time also the name. 0: it has none. */
static uint64_t intern(struct export *x, const struct sonde_trace_function *f)
{
	size_t interned, name;

	if (!f)
		return 0;
	if (x->marked[f->index])
		return f->index + 1;
	x->marked[f->index] = 1;
	interned = open_message(&x->buf, PACKET_INTERNED);
	name = open_message(&x->buf, INTERNED_NAME);
	put_uint(&x->buf, NAME_IID, f->index + 1);
	put_text(&x->buf, NAME_TEXT, export_name(x, f));
	close_message(&x->buf, name);
	close_message(&x->buf, interned);
	return f->index + 1;
}

/* Messages that begin in this event, or end in it: the viewer finds the slice. */
static void put_flows(struct export *x, const struct sonde_trace_thread *t)
{
	struct export_thread *th = &x->thread[t->index];

	for (size_t i = 0; i < th->nflows; i++) {
		put_key(&x->buf, th->flows[i].ends ? EVENT_FLOW_END : EVENT_FLOW, FIXED64);
		tf_buf_put(&x->buf, &th->flows[i].number, sizeof(th->flows[i].number));
	}
	th->nflows = 0;
}

static size_t open_event(struct export *x, const struct sonde_trace_thread *t, unsigned type, uint64_t time)
{
	size_t event;

	put_uint(&x->buf, PACKET_TIMESTAMP, time);
	event = open_message(&x->buf, PACKET_EVENT);
	put_uint(&x->buf, EVENT_TYPE, type);
	put_uint(&x->buf, EVENT_TRACK, thread_track(t));
	if (x->thread[t->index].nflows)
		put_flows(x, t);
	return event;
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	size_t packet = open_packet(x, NEEDS_NAMES), event;
	char place[EXPORT_NAME_MAX];
	bool placed = export_name_with_place(x, ev, place, sizeof(place));
	uint64_t name = placed ? 0 : intern(x, ev->function);

	event = open_event(x, ev->thread, SLICE_BEGIN, ev->time);
	if (placed)
		put_text(&x->buf, EVENT_NAME, place);
	else if (name)
		put_uint(&x->buf, EVENT_NAME_IID, name);
	else
		put_text(&x->buf, EVENT_NAME, "?");
	if (*export_module(ev->site))
		put_text(&x->buf, EVENT_CATEGORY, export_module(ev->site));
	put_values(&x->buf, ev);
	close_message(&x->buf, event);
	close_message(&x->buf, packet);
}

static void put_flag(struct tf_buf *b, const char *name)
{
	size_t a = open_message(b, EVENT_ANNOTATION);

	put_text(b, ANNOTATION_NAME, name);
	put_uint(b, ANNOTATION_BOOL, 1);
	close_message(b, a);
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	size_t packet = open_packet(x, NEEDS_NAMES), event = open_event(x, t, SLICE_END, time);

	(void)call;
	if (how == EXPORT_RETURNED)
		put_values(&x->buf, ev);
	else
		put_flag(&x->buf, how == EXPORT_UNWOUND ? "unwound" : "open");
	close_message(&x->buf, event);
	close_message(&x->buf, packet);
}

static void point(struct export *x, const struct sonde_trace_event *ev)
{
	size_t packet = open_packet(x, NEEDS_NAMES), event = open_event(x, ev->thread, INSTANT, ev->time);

	put_text(&x->buf, EVENT_NAME, ev->site && *ev->site->name ? ev->site->name : export_name(x, ev->function));
	if (*export_module(ev->site))
		put_text(&x->buf, EVENT_CATEGORY, export_module(ev->site));
	put_values(&x->buf, ev);
	close_message(&x->buf, event);
	close_message(&x->buf, packet);
}

static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	const struct sonde_trace_value v = { .name = "lost", .type = SONDE_TRACE_U64, .u = ev->lost };
	size_t packet = open_packet(x, NEEDS_NAMES), event = open_event(x, ev->thread, INSTANT, ev->time);

	put_text(&x->buf, EVENT_NAME, "events are missing");
	put_annotation(&x->buf, &v);
	close_message(&x->buf, event);
	close_message(&x->buf, packet);
}

const struct export_format export_perfetto = { .name = "perfetto", .binary = true, .begin = begin, .enter = enter, .leave = leave,
					       .flows = true, .point = point, .lost = lost };
