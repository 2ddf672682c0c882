/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Common Trace Format 1.8, as babeltrace2 and Trace Compass read it: a folder with a stream for each thread, and a description of
 * them.  Calls are what LTTng-UST writes of programs that were compiled with -finstrument-functions; files that functions are
 * from are said as it says them, at the beginning of each stream.
 *
 *	stream:  packet...
 *	packet:  magic, uuid, stream's class, stream's number;
 *	         times of the first and the last event, bits of content, bits, number of the packet, events missing so far;
 *	         event...
 *	event:   class and time: 16 and 32 bits, if these are too few 0xffff, 32 and 64;
 *	         process, thread, thread's name;
 *	         address, name's number (and how it ended, for an exit); values
 *
 * An address is that in the function's file, in a space where each file has a place of its own: a function is one, in all
 * processes.  What has no address in a file has a number there that is less than any place.
 */
#include "launcher/export/ctf-private.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/array.h"

#define PACKET (128u << 10) /* bytes; it ends with the event that makes it longer */
#define FILE_BITS 40	    /* of the space that a file has */
#define EXTENDED 0xffff

struct packet_header {
	uint32_t magic;
	uint8_t uuid[CTF_UUID];
	uint32_t stream;
	uint64_t number;
	uint64_t begin, end, content, size, sequence, discarded;
} __attribute__((packed));

struct call {
	uint64_t address;
	uint32_t name;
} __attribute__((packed));

FILE *ctf_create(struct export *x, const char *name)
{
	struct ctf *c = x->private;
	FILE *out = NULL;
	char *path;

	if (asprintf(&path, "%s/%s", c->folder.temporary, name) >= 0) {
		out = fopen(path, "wxe");
		free(path);
	}
	if (!out) {
		msg_error("%s: %s: %s", c->folder.path, name, strerror(errno));
		x->failed = true;
	}
	return out;
}

/* ---- packets ---- */

static void end_packet(struct export *x)
{
	struct ctf *c = x->private;
	struct packet_header *h;
	char name[32];

	if (!c->out && !x->failed) {
		snprintf(name, sizeof(name), "thread_%zu", c->thread->index);
		c->out = ctf_create(x, name);
	}
	if (!c->packet.size)
		tf_buf_extend(&c->packet, sizeof(*h));
	x->buf.failed |= c->packet.failed;
	if (x->failed || x->buf.failed)
		return;
	h = (struct packet_header *)c->packet.data;
	*h = (struct packet_header){ .magic = CTF_MAGIC, .number = c->thread->index, .begin = c->begin, .end = c->end, .content = 8 * c->packet.size,
				     .size = 8 * c->packet.size, .sequence = c->packets++, .discarded = c->discarded };
	memcpy(h->uuid, c->uuid, sizeof(h->uuid));
	if (fwrite(c->packet.data, 1, c->packet.size, c->out) != c->packet.size) {
		msg_error("%s: %s", c->folder.path, strerror(errno));
		x->failed = true;
	}
	tf_buf_clear(&c->packet);
}

/* Begins an event, of which @n bytes follow: where they are to be put.  NULL: no memory. */
static void *put_event(struct export *x, uint64_t time, uint32_t class, size_t n)
{
	struct ctf *c = x->private;
	bool extended = class >= EXTENDED;
	uint16_t id = (uint16_t)class;
	uint8_t *at;

	if (c->packet.size >= PACKET)
		end_packet(x);
	if (!c->packet.size) {
		tf_buf_extend(&c->packet, sizeof(struct packet_header));
		c->begin = c->end = time;
	}
	extended |= (time - c->end) >> 32 != 0;
	at = tf_buf_extend(&c->packet, (extended ? 14 : 6) + c->context.size + n);
	if (!at) {
		x->buf.failed = true;
		return NULL;
	}
	if (extended) {
		id = EXTENDED;
		memcpy(at + 2, &class, 4);
		memcpy(at + 6, &time, 8);
	} else {
		memcpy(at + 2, &time, 4); /* little-endian: the lower half */
	}
	memcpy(at, &id, 2);
	at += extended ? 14 : 6;
	c->end = time;
	memcpy(at, c->context.data, c->context.size);
	return at + c->context.size;
}

/* ---- events ---- */

static uint64_t place_of(uint32_t file)
{
	return ((uint64_t)file + 1) << FILE_BITS;
}

static uint64_t address_of(struct export *x, const struct sonde_trace_function *f)
{
	struct ctf *c = x->private;

	if (!f)
		return 0;
	if (!f->address || !*f->path)
		return f->index + 1;
	return place_of(export_text(x, &c->files, f->path)) + (f->address & ((UINT64_C(1) << FILE_BITS) - 1));
}

/* Which files there are: those of all processes, for they have the same place in each. */
static void put_files(struct export *x, uint64_t time)
{
	static const uint64_t size = UINT64_C(1) << FILE_BITS;
	struct ctf *c = x->private;

	c->said = true;
	(void)put_event(x, time, CTF_STATE_BEGIN, 0);
	for (size_t i = 0; i < c->files.room; i++) {
		const char *path = c->files.v[i].s;
		uint64_t place = path ? place_of(c->files.v[i].number) : 0;
		size_t n = path ? strlen(path) + 1 : 0;
		uint8_t *at = path && *path ? put_event(x, time, CTF_STATE_FILE, 16 + n + 3) : NULL;

		if (!at)
			continue;
		memcpy(at, &place, 8);
		memcpy(at + 8, &size, 8);
		memcpy(at + 16, path, n);
		at[16 + n] = 1; /* position-independent: addresses are that in the file, and the place */
		at[17 + n] = at[18 + n] = 0;
	}
	(void)put_event(x, time, CTF_STATE_END, 0);
}

static void put_values(struct tf_buf *b, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];
		uint8_t *at;

		switch (v->type) {
		case SONDE_TRACE_I32:
		case SONDE_TRACE_U32:
			tf_buf_put(b, &v->u, 4);
			break;
		case SONDE_TRACE_STR:
			at = tf_buf_extend(b, v->u + 1);
			for (uint64_t k = 0; at && k < v->u; k++)
				at[k] = v->str[k] ? (uint8_t)v->str[k] : ' ';
			if (at)
				at[v->u] = 0;
			break;
		default:
			tf_buf_put(b, &v->u, 8);
			break;
		}
	}
}

static bool has_values(const struct sonde_trace_event *ev)
{
	return ev && ev->nvalues && ev->site && ev->site->nfields == ev->nvalues;
}

/* @how: as one byte, if it is not negative; @ev: of the values, or NULL. */
static void put_call(struct export *x, uint64_t time, uint32_t class, const struct sonde_trace_function *f, uint32_t name, int how,
		     const struct sonde_trace_event *ev)
{
	const struct call call = { .address = address_of(x, f), .name = name };
	const bool values = has_values(ev);
	struct ctf *c = x->private;
	uint8_t *at;

	if (!c->said)
		put_files(x, time);
	at = put_event(x, time, values ? ctf_class(x, ev->site) : class, sizeof(call) + (how >= 0));
	if (!at)
		return;
	memcpy(at, &call, sizeof(call));
	if (how >= 0)
		at[sizeof(call)] = (uint8_t)how;
	if (values)
		put_values(&c->packet, ev);
}

static uint32_t name_of(struct export *x, const struct sonde_trace_function *f)
{
	struct ctf *c = x->private;
	uint32_t *name = &c->name[f ? f->index : sonde_trace_functions(x->trace)];

	if (!*name)
		*name = export_text(x, &c->names, export_name(x, f)) + 1;
	return *name - 1;
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	struct ctf *c = x->private;
	size_t at = x->thread[ev->thread->index].n - 1;
	char place[EXPORT_NAME_MAX];
	uint32_t name;

	if (!array_room(c->open, c->open_room, at + 1)) {
		x->buf.failed = true;
		return;
	}
	name = export_name_with_place(x, ev, place, sizeof(place)) ? export_text(x, &c->names, place) : name_of(x, ev->function);
	c->open[at] = name;
	put_call(x, ev->time, CTF_ENTRY, ev->function, name, -1, ev);
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	struct ctf *c = x->private;

	if (!x->buf.failed)
		put_call(x, time, CTF_EXIT, call->function, c->open[x->thread[t->index].n - 1], how, ev);
}

static void point(struct export *x, const struct sonde_trace_event *ev)
{
	struct ctf *c = x->private;
	struct call call = { .address = address_of(x, ev->function), .name = name_of(x, ev->function) };
	void *at;

	if (!ev->site) /* damaged metadata: what it was is not known */
		return;
	if (!c->said)
		put_files(x, ev->time);
	at = put_event(x, ev->time, ctf_class(x, ev->site), sizeof(call));
	if (at)
		memcpy(at, &call, sizeof(call));
	put_values(&c->packet, ev);
}

/* What is missing is between two packets. */
static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	struct ctf *c = x->private;

	if (!c->packet.size)
		c->begin = c->end = ev->time;
	if (c->packet.size || !c->packets)
		end_packet(x);
	c->discarded += ev->lost ? ev->lost : 1;
	c->begin = c->end = ev->time;
	end_packet(x);
}

/* ---- streams ---- */

static void thread(struct export *x, const struct sonde_trace_thread *t)
{
	const int32_t id[] = { x->of[t->index]->id, t->tid };
	struct ctf *c = x->private;

	c->thread = t;
	c->packets = c->discarded = 0;
	c->said = false;
	tf_buf_clear(&c->packet);
	tf_buf_clear(&c->context);
	tf_buf_put(&c->context, id, sizeof(id));
	tf_buf_put(&c->context, t->comm, strlen(t->comm) + 1);
	x->buf.failed |= c->context.failed;
}

static void thread_end(struct export *x, const struct sonde_trace_thread *t)
{
	struct ctf *c = x->private;

	(void)t;
	if (c->packet.size)
		end_packet(x);
	if (c->out && fclose(c->out) != 0 && !x->failed) {
		msg_error("%s: %s", c->folder.path, strerror(errno));
		x->failed = true;
	}
	c->out = NULL;
}

static bool open_folder(struct export *x, const char *path)
{
	size_t n = sonde_trace_functions(x->trace);
	struct ctf *c = x->private = calloc(1, sizeof(*c));

	if (c)
		c->name = calloc(n + 1, sizeof(*c->name));
	if (!c || !c->name) {
		msg_error("no memory");
		return false;
	}
	if (!output_folder_open(&c->folder, path))
		return false;
	if (getrandom(c->uuid, sizeof(c->uuid), 0) != sizeof(c->uuid)) {
		msg_error("%s: %s", path, strerror(errno));
		return false;
	}
	c->uuid[6] = (uint8_t)(0x40 | (c->uuid[6] & 15)); /* RFC 4122: random */
	c->uuid[8] = (uint8_t)(0x80 | (c->uuid[8] & 63));
	ctf_declare(x);
	(void)name_of(x, NULL);
	for (size_t i = 0; i < n; i++)
		(void)address_of(x, sonde_trace_function(x->trace, i));
	return true;
}

static void end(struct export *x)
{
	if (!x->failed && !x->buf.failed && !ctf_write_metadata(x))
		x->failed = true;
}

static bool close_folder(struct export *x, bool keep)
{
	struct ctf *c = x->private;
	bool good;

	if (!c)
		return false;
	if (c->out)
		fclose(c->out);
	good = output_folder_close(&c->folder, keep && !x->failed);
	export_texts_free(&c->names);
	export_texts_free(&c->files);
	export_texts_free(&c->classes);
	tf_buf_free(&c->packet);
	tf_buf_free(&c->context);
	free(c->sites);
	free(c->name);
	free(c->open);
	free(c);
	return good;
}

const struct export_format export_ctf = { .name = "ctf", .by_thread = true, .open_folder = open_folder, .close_folder = close_folder,
					  .thread = thread, .enter = enter, .leave = leave, .point = point, .lost = lost,
					  .thread_end = thread_end, .end = end };
