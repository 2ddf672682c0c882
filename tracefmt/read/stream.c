/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/array.h"
#include "tracefmt/read/stream.h"

#include "tracefmt/read/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void tf_stream_init(struct tf_stream *s, const struct tf_part *part,
		    const struct tf_thread_in *thread)
{
	*s = (struct tf_stream){ .part = part, .thread = thread };
}

void tf_stream_free(struct tf_stream *s)
{
	tf_unpack_free(&s->chunk);
	free(s->seen);
	free(s->frame);
	tf_tails_free(&s->tails);
	tf_buf_free(&s->packed);
	tf_buf_free(&s->text);
}

/* --- chunks ------------------------------------------------------------------------------ */

/* An event of our own at the time of the last one. */
static enum sonde_trace_status report_gap(struct tf_stream *s, uint64_t lost)
{
	s->after_gap = true;
	s->event = (struct sonde_trace_event){ .time = s->time, .ticks = s->ticks,
					       .entered = s->time, .waited = s->waited,
					       .off = tf_switches_off(&s->part->switches, s->time, &s->switches),
					       .kind = SONDE_TRACE_LOST,
					       .flags = SONDE_TRACE_UNREADABLE,
					       .thread = &s->thread->pub, .lost = lost,
					       .values = s->value };
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status note_damage(struct tf_stream *s, size_t i, const char *why)
{
	const struct tf_infile *f = &s->thread->file;

	/* The chunk that a killed writer left unfinished is missing, but nothing is damaged. */
	if (!f->chunk[i].size && f->status == SONDE_TRACE_E_TRUNCATED)
		return report_gap(s, f->chunk[i].events);
	s->damage++;
	snprintf(s->finding.text, sizeof s->finding.text, "%.380s: chunk at byte %llu: %.100s",
		 s->thread->pub.file, (unsigned long long)f->chunk[i].offset, why);
	return report_gap(s, f->chunk[i].events);
}

/* What is open is what the chunk says; of what it does not fit, nothing is known. */
static void fit_depth(struct tf_stream *s, uint64_t depth)
{
	if (s->unknown + s->depth == depth && !s->after_gap)
		return;
	s->depth = 0;
	s->unknown = depth;
}

static bool grow_seen(struct tf_stream *s)
{
	uint32_t *seen;

	if (s->chunk.nentries > s->roomseen) {
		seen = realloc(s->seen, s->chunk.nentries * sizeof *seen);
		if (!seen)
			return false;
		s->seen = seen;
		s->roomseen = s->chunk.nentries;
	}
	memset(s->seen, 0, s->chunk.nentries * sizeof *s->seen);
	return true;
}

/* Loads the next chunk.  OK: either s->loaded, or there is a gap and s->event tells it. */
static enum sonde_trace_status load(struct tf_stream *s)
{
	const struct tf_infile *f = &s->thread->file;
	struct tf_chunk_info info;
	enum sonde_trace_status status;
	const char *why = "";
	size_t i = s->next_chunk;

	if (i >= f->nchunks)
		return SONDE_TRACE_END;
	s->next_chunk++;
	status = tf_infile_read(f, i, &info, &s->packed, &why);
	if (!status) {
		status = tf_unpack(&s->chunk, &info, s->packed.data);
		why = s->chunk.why ? s->chunk.why : why;
	}
	if (status == SONDE_TRACE_E_CORRUPT || status == SONDE_TRACE_E_TRUNCATED)
		return note_damage(s, i, why);
	if (!status && !grow_seen(s))
		status = SONDE_TRACE_E_NOMEM;
	if (status)
		return status;
	fit_depth(s, info.depth);
	s->loaded = true;
	s->next = 0;
	return SONDE_TRACE_OK;
}

void tf_stream_seek(struct tf_stream *s, uint64_t time)
{
	const struct tf_infile *f = &s->thread->file;
	size_t to = 0;

	for (size_t i = 0; i < f->nchunks; i++)
		if (f->chunk[i].size && tf_part_time(s->part, f->chunk[i].first) <= time)
			to = i;
	/* Events of the same time may end the chunk before. */
	while (to && f->chunk[to - 1].size &&
	       tf_part_time(s->part, f->chunk[to - 1].last) >= time)
		to--;
	tf_tails_forget(&s->tails);
	s->next_chunk = to;
	s->loaded = false;
	s->depth = 0;
	s->unknown = UINT64_MAX; /* fits no chunk: replaced by what the chunk says */
	s->after_gap = false;
	s->time = 0;
	s->ticks = 0;
	s->waited = 0;
	s->switches = 0;
}

/* --- frames ------------------------------------------------------------------------------ */

static bool push(struct tf_stream *s, const struct sonde_trace_function *function)
{
	if (!array_room(s->frame, s->room, s->depth + 1))
		return false;
	s->frame[s->depth++] = (struct tf_open_frame){ s->event.time, function };
	return true;
}

/* Closes the top frame, which is of s->event.function. */
static void pop(struct tf_stream *s)
{
	if (s->depth) {
		s->event.entered = s->frame[--s->depth].entered;
		if (!s->event.function)
			s->event.function = s->frame[s->depth].function;
	} else if (s->unknown) {
		s->unknown--;
	}
}

static uint32_t depth_now(const struct tf_stream *s)
{
	uint64_t depth = s->unknown + s->depth;

	return depth > UINT32_MAX ? UINT32_MAX : (uint32_t)depth;
}

/* --- events ------------------------------------------------------------------------------ */

static bool fields_match(const struct sonde_trace_site *site, const struct tf_entry *entry)
{
	if (site->nfields != entry->ncolumns)
		return false;
	for (unsigned i = 0; i < entry->ncolumns; i++)
		if ((site->fields[i].labels ? SONDE_TRACE_I64 : site->fields[i].type) != (enum sonde_trace_type)entry->column[i].type)
			return false;
	return true;
}

/* The site of an entry, unless metadata and chunk contradict each other. */
static const struct sonde_trace_site *find_site(const struct tf_stream *s,
						const struct tf_entry *entry)
{
	static const enum sonde_trace_kind kinds[] = {
		[TF_ENTER] = SONDE_TRACE_ENTER,	     [TF_LEAVE] = SONDE_TRACE_LEAVE,
		[TF_POINT] = SONDE_TRACE_POINT,	     [TF_ORPHAN] = SONDE_TRACE_LEAVE,
		[TF_OLD_UNWIND] = SONDE_TRACE_ENTER, [TF_LOST] = 0,
		[TF_UNWIND] = 0,		     [TF_TAIL] = SONDE_TRACE_ENTER,
		[TF_WAITED] = 0,
	};
	const struct sonde_trace_site *site = tf_list_get(&s->part->site, entry->id);

	if (!site || site->kind != kinds[entry->what])
		return NULL;
	return entry->what == TF_OLD_UNWIND || fields_match(site, entry) ? site : NULL;
}

/*
 * Where the text of the @k-th value begins in the column: the strings before it are stepped
 * over once.
 */
static bool set_text(struct tf_stream *s, struct tf_column *column, uint64_t length,
		     struct sonde_trace_value *value, size_t *offset)
{
	*offset = s->text.size;
	tf_buf_put(&s->text, column->text, length);
	tf_buf_byte(&s->text, 0);
	column->text += length;
	value->u = length;
	return !s->text.failed;
}

/* The value's name, or its digits. */
static bool set_label(struct tf_stream *s, const struct sonde_trace_labels *labels, struct sonde_trace_value *value, size_t *offset)
{
	*offset = s->text.size;
	tf_labels_put(&s->text, labels, value->i);
	value->type = SONDE_TRACE_STR;
	value->u = s->text.size - *offset;
	tf_buf_byte(&s->text, 0);
	return !s->text.failed;
}

static bool set_values(struct tf_stream *s, struct tf_entry *entry, uint32_t i)
{
	const struct sonde_trace_site *site = s->event.site;
	size_t offset[TF_MAX_VALUES];

	tf_buf_clear(&s->text);
	for (unsigned k = 0; k < entry->ncolumns; k++) {
		struct tf_column *column = &entry->column[k];
		uint64_t v = s->chunk.value[column->values + i];

		s->value[k] = (struct sonde_trace_value){
			.name = site ? site->fields[k].name : "?",
			.type = (enum sonde_trace_type)column->type,
			.u = v,
		};
		if (column->type == SONDE_TRACE_STR &&
		    !set_text(s, column, v, &s->value[k], &offset[k]))
			return false;
		if (site && site->fields[k].labels && !set_label(s, site->fields[k].labels, &s->value[k], &offset[k]))
			return false;
	}
	for (unsigned k = 0; k < entry->ncolumns; k++)
		if (s->value[k].type == SONDE_TRACE_STR)
			s->value[k].str = (const char *)s->text.data + offset[k];
	s->event.nvalues = entry->ncolumns;
	return true;
}

static bool fill_in(struct tf_stream *s, const struct tf_event_ref *ref, struct tf_entry *entry)
{
	struct sonde_trace_event *e = &s->event;
	bool unwound = ref->what == TF_UNWIND || ref->what == TF_OLD_UNWIND;
	const struct sonde_trace_site *site = find_site(s, entry);

	e->function = site ? site->function : NULL;
	e->site = unwound ? NULL : site;
	if (!unwound && entry->ncolumns && !set_values(s, entry, s->seen[ref->entry]))
		return false;
	if (!unwound)
		s->seen[ref->entry]++;
	switch ((enum tf_what)ref->what) {
	case TF_TAIL:
		e->flags |= SONDE_TRACE_TAIL;
		/* fallthrough */
	case TF_ENTER:
		e->kind = SONDE_TRACE_ENTER;
		e->depth = depth_now(s);
		return push(s, e->function);
	case TF_UNWIND:
	case TF_OLD_UNWIND:
		e->flags |= SONDE_TRACE_UNWOUND;
		/* fallthrough */
	case TF_LEAVE:
		e->kind = SONDE_TRACE_LEAVE;
		pop(s);
		break;
	case TF_ORPHAN:
		e->kind = SONDE_TRACE_LEAVE;
		e->flags |= SONDE_TRACE_ORPHAN;
		break;
	case TF_POINT:
		e->kind = SONDE_TRACE_POINT;
		break;
	case TF_WAITED:
		break;
	case TF_LOST:
		e->kind = SONDE_TRACE_LOST;
		e->lost = s->value[0].u;
		e->nvalues = 0;
		break;
	}
	e->depth = depth_now(s);
	return true;
}

/* The same as tf_part_time(), for times near to each other. */
static inline uint64_t time_of(struct tf_stream *s, uint64_t ticks)
{
	int64_t ns;

	if (__builtin_expect(!tf_stretch_holds(&s->stretch, ticks), 0)) {
		tf_timeline_stretch(&s->part->timeline, ticks, &s->stretch);
		if (!tf_stretch_holds(&s->stretch, ticks))
			return tf_part_time(s->part, ticks);
	}
	ns = tf_stretch_ns(&s->stretch, ticks);
	if (__builtin_add_overflow(ns, s->part->offset, &ns))
		return INT64_MAX;
	return ns < 0 ? 0 : (uint64_t)ns;
}

static enum sonde_trace_status take(struct tf_stream *s)
{
	const struct tf_event_ref *ref = &s->chunk.event[s->next];
	uint64_t ticks = s->chunk.ticks[s->next], time;

	time = ticks == s->ticks && s->time ? s->time : time_of(s, ticks);
	/* Chunks of a damaged file may overlap in time. */
	s->time = time > s->time ? time : s->time;
	s->ticks = ticks;
	s->event = (struct sonde_trace_event){ .time = s->time, .ticks = ticks,
					       .entered = s->time,
					       .flags = s->after_gap ? SONDE_TRACE_AFTER_GAP : 0,
					       .waited = s->waited, .thread = &s->thread->pub,
					       .off = tf_switches_off(&s->part->switches, s->time, &s->switches),
					       .values = s->value };
	s->after_gap = false;
	if (!fill_in(s, ref, &s->chunk.entry[ref->entry]))
		return SONDE_TRACE_E_NOMEM;
	if (++s->next == s->chunk.n)
		s->loaded = false;
	return SONDE_TRACE_OK;
}

/* The value of an entry's next event, which is stepped over. */
static uint64_t take_number(struct tf_stream *s, uint32_t entry)
{
	return s->chunk.value[s->chunk.entry[entry].column[0].values + s->seen[entry]++];
}

/* The thread has waited: that is reported with the next event, and no event by itself. */
static void take_wait(struct tf_stream *s)
{
	uint64_t ticks = s->chunk.ticks[s->next], n = take_number(s, s->chunk.event[s->next].entry);

	s->waited += n < ticks ? tf_part_time(s->part, ticks) - tf_part_time(s->part, ticks - n) : 0;
	if (++s->next == s->chunk.n)
		s->loaded = false;
}

/* Steps to the next event.  OK: either s->loaded, or there is a gap and s->event tells it. */
static enum sonde_trace_status step(struct tf_stream *s)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;

	for (;;) {
		if (!s->loaded)
			status = load(s);
		if (status || !s->loaded || s->chunk.event[s->next].what != TF_WAITED)
			return status;
		take_wait(s);
	}
}

enum sonde_trace_status tf_stream_next(struct tf_stream *s)
{
	enum sonde_trace_status status = step(s);

	return status || !s->loaded ? status : take(s);
}

enum sonde_trace_status tf_stream_tail_follows(struct tf_stream *s, bool *follows,
					       struct sonde_trace_event *gap, bool *is_gap)
{
	enum sonde_trace_status status = step(s);

	*follows = !status && s->loaded && s->chunk.event[s->next].what == TF_TAIL;
	*is_gap = !status && !s->loaded;
	if (*is_gap)
		*gap = s->event;
	return status == SONDE_TRACE_END ? SONDE_TRACE_OK : status;
}
