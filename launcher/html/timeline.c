/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A format of `sonde export', whose calls and messages become what the page's time line shows. */
#include "launcher/html/html.h"
#include "launcher/common/message.h"
#include "launcher/export/export.h"
#include "launcher/html/base64.h"
#include "launcher/html/slices.h"
#include "launcher/mpi/mpi.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracefmt/json.h"

#define MOST_SLICES 400000u
#define MOST_BYTES (5u << 20) /* of slices, before base64 */
#define MOST_DEPTHS 256u
#define MOST_MESSAGES 20000u
#define MOST_TRACKS 4000u
#define UNKNOWN UINT32_MAX

struct message {
	uint64_t number, sent, received, bytes;
	uint32_t from, to;
	int tag;
};

/* Of a function: where in its events the place in the code is. */
struct placed {
	uint32_t name; /* number, or UNKNOWN: not asked for yet */
	bool has_place;
	size_t rank_index;
	uint64_t address; /* of the last event, and ... */
	uint32_t at;	  /* ... its name with the place; UNKNOWN: none yet */
};

struct timeline {
	struct html *h;
	struct slices slices;
	uint32_t **open; /* by thread: names of open calls, the outermost first */
	size_t *room;
	struct placed *placed; /* by function */
	struct message *message;
	size_t nmessages, messages_room;
	uint64_t every;	   /* one message in so many is kept, by its number */
	uint64_t messages; /* all */
	uint32_t *track;   /* by thread; UNKNOWN: none */
	size_t ntracks, left_out;
};

/* ---- names ---- */

static const struct sonde_trace_value *place_of(const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++)
		if (ev->values[i].type == SONDE_TRACE_PTR && strcmp(ev->values[i].name, "code") == 0)
			return &ev->values[i];
	return NULL;
}

/* OpenMP's constructs are recorded as calls of functions that are called so. */
static bool is_construct(const struct sonde_trace_function *f)
{
	return strncmp(f->name, "omp ", 4) == 0;
}

static enum html_class class_of(const struct sonde_trace_site *site)
{
	static const char *const work[] = { "omp implicit task", "omp loop", "omp chunk", "omp task", "omp section", "omp single", "omp critical" };

	if (site && site->apart)
		return HTML_APART;
	if (site && site->waits)
		return HTML_WAIT;
	for (size_t i = 0; site && i < sizeof(work) / sizeof(work[0]); i++)
		if (strcmp(site->function->name, work[i]) == 0)
			return HTML_WORK;
	return HTML_PLAIN;
}

static uint32_t place_name(struct timeline *l, const struct export *x, const struct sonde_trace_event *ev, struct placed *p)
{
	const struct sonde_trace_value *place = place_of(ev);
	char text[EXPORT_NAME_MAX];

	if (!place)
		return p->name;
	if (p->at != UNKNOWN && p->address == place->u && p->rank_index == ev->thread->rank_index)
		return p->at;
	p->address = place->u;
	p->rank_index = ev->thread->rank_index;
	p->at = export_name_with_place(x, ev, text, sizeof(text)) ? names_find(&l->h->names, text) : p->name;
	if (p->at != NAMES_OTHER && p->at != p->name) {
		l->h->names.v[p->at].of = p->name;
		l->h->names.v[p->at].class = l->h->names.v[p->name].class;
	}
	return p->at;
}

static uint32_t name_of(struct timeline *l, const struct export *x, const struct sonde_trace_event *ev)
{
	struct placed *p = ev->function ? &l->placed[ev->function->index] : NULL;

	if (!p)
		return NAMES_OTHER;
	if (p->name == UNKNOWN) {
		p->name = html_name(l->h, ev->function);
		p->has_place = is_construct(ev->function);
		p->at = UNKNOWN;
		if (p->name != NAMES_OTHER && class_of(ev->site))
			l->h->names.v[p->name].class = class_of(ev->site);
	}
	return p->has_place ? place_name(l, x, ev, p) : p->name;
}

/* ---- calls ---- */

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	struct timeline *l = x->private;
	size_t t = ev->thread->index, at = x->thread[t].n - 1;

	if (!array_room(l->open[t], l->room[t], at + 1)) {
		x->buf.failed = true;
		return;
	}
	l->open[t][at] = name_of(l, x, ev);
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time, enum export_how how,
		  const struct sonde_trace_event *ev)
{
	struct timeline *l = x->private;
	size_t at = x->thread[t->index].n - 1;
	const uint32_t name = at < l->room[t->index] ? l->open[t->index][at] : NAMES_OTHER;
	const uint64_t took = time > call->entered ? time - call->entered : 0;
	const struct slice slice = { .start = call->entered, .end = call->entered + took, .busy = took, .lead = took, .calls = 1,
				     .name = name, .cut = how == EXPORT_OPEN };

	if (ev && ev->site && ev->site->waits && name != NAMES_OTHER && !l->h->names.v[name].class)
		l->h->names.v[name].class = HTML_WAIT;
	if (l->track[t->index] == UNKNOWN)
		return;
	if (!slices_add(&l->slices, l->track[t->index], at < MOST_DEPTHS ? (uint32_t)at : MOST_DEPTHS, &slice))
		x->buf.failed = true;
}

/* ---- messages ---- */

static void thin(struct timeline *l)
{
	size_t n = 0;

	l->every *= 2;
	for (size_t i = 0; i < l->nmessages; i++)
		if (l->message[i].number % l->every == 0)
			l->message[n++] = l->message[i];
	l->nmessages = n;
}

static void message(struct export *x, const struct mpi_message *m)
{
	struct timeline *l = x->private;
	uint32_t from = l->track[m->sender->index], to = l->track[m->receiver->index];

	l->messages++;
	if (from == UNKNOWN || to == UNKNOWN || m->number % l->every)
		return;
	if (!array_room(l->message, l->messages_room, l->nmessages + 1)) {
		x->buf.failed = true;
		return;
	}
	l->message[l->nmessages++] = (struct message){ m->number, m->sent, m->received, m->bytes, from, to, m->tag };
	while (l->nmessages > MOST_MESSAGES)
		thin(l);
}

static const struct export_format timeline_format = { .name = "html", .by_thread = true, .enter = enter, .leave = leave,
						      .message = message };

/* ---- as JSON ---- */

static void put_slice(struct tf_buf *b, const struct slice *s, uint64_t *end)
{
	const bool several = s->calls > 1;

	tf_buf_varint(b, s->start > *end ? s->start - *end : 0);
	tf_buf_varint(b, s->end - s->start);
	tf_buf_varint(b, (uint64_t)s->name << 2 | (several ? 1 : 0) | (several ? s->lead == s->busy : s->cut) << 1);
	if (several) {
		tf_buf_varint(b, s->calls);
		tf_buf_varint(b, s->busy);
	}
	*end = s->end;
}

static void put_track(struct tf_buf *b, const struct slice_track *t)
{
	tf_buf_varint(b, t->depths);
	for (uint32_t d = 0; d < t->depths; d++) {
		uint64_t end = 0;

		tf_buf_varint(b, t->row[d].n);
		for (size_t i = 0; i < t->row[d].n; i++)
			put_slice(b, &t->row[d].v[i], &end);
	}
}

static void put_slices(struct timeline *l, struct tf_buf *b)
{
	for (size_t limit = l->slices.n;; limit -= limit / 4) {
		slices_reduce(&l->slices, limit);
		tf_buf_clear(b);
		for (size_t i = 0; i < l->slices.tracks; i++)
			put_track(b, &l->slices.track[i]);
		if (b->size <= MOST_BYTES || limit < 4)
			return;
	}
}

static void put_messages(struct timeline *l, struct tf_buf *b)
{
	tf_json_uint(b, "messages_all", l->messages);
	tf_json_uint(b, "messages_every", l->every);
	tf_json_key(b, "messages");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < l->nmessages; i++) {
		const struct message *m = &l->message[i];

		html_put(b, i ? ",[" : "[", m->from);
		html_put(b, ",", m->to);
		html_put(b, ",", m->sent);
		html_put(b, ",", m->received);
		html_put(b, ",", m->bytes);
		tf_buf_str(b, m->tag < 0 ? ",-" : ",");
		tf_json_number(b, m->tag < 0 ? -(uint64_t)m->tag : (uint64_t)m->tag);
		tf_buf_str(b, "]");
	}
	tf_buf_str(b, "]");
}

static void put_tracks(struct timeline *l, const struct export *x, struct tf_buf *b)
{
	const char *before = "[";

	tf_json_key(b, "processes");
	for (size_t i = 0; i < x->nprocesses; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, x->process[i].first);

		html_put_name(l->h, i ? ",[" : "[[", x->process[i].name);
		html_put_name(l->h, ",", export_host(x, &x->process[i]));
		tf_buf_str(b, sonde_trace_rank(x->trace, t->rank_index)->rank < 0 ? ",-" : ",");
		tf_json_number(b, (uint64_t)abs(sonde_trace_rank(x->trace, t->rank_index)->rank));
		tf_buf_str(b, "]");
	}
	tf_buf_str(b, x->nprocesses ? "]" : "[]");
	tf_json_key(b, "tracks");
	for (size_t i = 0; i < sonde_trace_threads(x->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);

		if (l->track[i] == UNKNOWN)
			continue;
		tf_buf_str(b, before);
		html_put(b, "[", (uint64_t)(x->of[i] - x->process));
		html_put(b, ",", (uint64_t)(t->tid > 0 ? t->tid : 0));
		html_put_name(l->h, ",", t->comm);
		html_put(b, ",", t->events);
		html_put(b, ",", t->first);
		html_put(b, ",", t->last);
		html_put(b, ",", t->lost);
		html_put(b, ",", t->tid == t->pid);
		tf_buf_str(b, "]");
		before = ",";
	}
	tf_buf_str(b, l->ntracks ? "]" : "[]");
}

static void put(struct timeline *l, const struct export *x)
{
	struct tf_buf *b = &l->h->json, slices = { 0 };

	put_tracks(l, x, b);
	put_messages(l, b);
	put_slices(l, &slices);
	tf_json_uint(b, "cell", l->slices.shift ? UINT64_C(1) << l->slices.shift : 0);
	tf_json_uint(b, "deeper", l->slices.deeper);
	tf_json_uint(b, "tracks_left_out", l->left_out);
	tf_json_key(b, "slices");
	tf_buf_str(b, "\"");
	base64_put(b, &slices);
	tf_buf_str(b, "\"");
	tf_buf_free(&slices);
}

/* ---- all of it ---- */

/* Those with the most events where there are too many. */
static uint64_t least_events(struct pick *pick, const struct sonde_trace *trace)
{
	uint64_t least = 1;
	size_t n = 0;

	do {
		n = 0;
		for (size_t i = 0; i < sonde_trace_threads(trace); i++)
			n += sonde_trace_thread(trace, i)->events >= least && pick_thread(sonde_trace_thread(trace, i), pick);
		least *= n > MOST_TRACKS ? 2 : 1;
	} while (n > MOST_TRACKS);
	return least;
}

static void choose_tracks(struct timeline *l, struct html *h)
{
	uint64_t least = least_events(&h->pick, h->trace);

	for (size_t i = 0; i < sonde_trace_threads(h->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(h->trace, i);
		bool wanted = t->events && pick_thread(t, &h->pick);

		l->track[i] = wanted && t->events >= least ? (uint32_t)l->ntracks++ : UNKNOWN;
		l->left_out += wanted && l->track[i] == UNKNOWN;
	}
}

static bool make(struct timeline *l, struct html *h)
{
	size_t threads = sonde_trace_threads(h->trace), functions = sonde_trace_functions(h->trace);

	l->open = calloc(threads + 1, sizeof(*l->open));
	l->room = calloc(threads + 1, sizeof(*l->room));
	l->track = calloc(threads + 1, sizeof(*l->track));
	l->placed = calloc(functions + 1, sizeof(*l->placed));
	if (!l->open || !l->room || !l->track || !l->placed)
		return false;
	for (size_t i = 0; i < functions; i++)
		l->placed[i].name = UNKNOWN;
	choose_tracks(l, h);
	return slices_begin(&l->slices, l->ntracks, MOST_SLICES, MOST_DEPTHS);
}

static void unmake(struct timeline *l)
{
	for (size_t i = 0; l->open && i < sonde_trace_threads(l->h->trace); i++)
		free(l->open[i]);
	free(l->open);
	free(l->room);
	free(l->track);
	free(l->placed);
	free(l->message);
	slices_free(&l->slices);
}

int html_timeline(struct html *h)
{
	struct timeline l = { .h = h, .every = 1 };
	struct export_reader r = { .pick = &h->pick, .damage = h->damage,
				   .x = { .trace = h->trace, .format = &timeline_format, .mangled = h->request->report->mangled } };
	int status = EXIT_USAGE;

	if (!make(&l, h)) {
		msg_error("no memory");
	} else {
		r.x.private = &l;
		status = export_begin(&r.x);
		pick_reading(&h->pick, false, &r.reading);
		if (!status)
			status = export_read(&r);
		reading_end(&r.reading);
		if (!status)
			put(&l, &r.x);
		export_end(&r.x);
	}
	h->damage = r.damage;
	unmake(&l);
	return status;
}
