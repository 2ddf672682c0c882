/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/unpack.h"

#include <stdlib.h>
#include <xxhash.h>

static enum sonde_trace_status corrupt(struct tf_unpacked *u, const char *why)
{
	u->why = why;
	return SONDE_TRACE_E_CORRUPT;
}

void tf_unpack_free(struct tf_unpacked *u)
{
	free(u->ticks);
	free(u->event);
	free(u->entry);
	free(u->value);
	free(u->seen);
	free(u->open);
	free(u->op);
	tf_buf_free(&u->raw);
	ZSTD_freeDCtx(u->zstd);
	*u = (struct tf_unpacked){ 0 };
}

/* Replaces *p, whose content is not kept. */
static bool renew(void *p, size_t n, size_t size)
{
	void **at = p;

	free(*at);
	*at = malloc((n ? n : 1) * size);
	return *at;
}

static bool grow_events(struct tf_unpacked *u, size_t n)
{
	if (n <= u->room)
		return true;
	u->room = 0;
	if (!renew(&u->ticks, n, sizeof *u->ticks) || !renew(&u->event, n, sizeof *u->event) ||
	    !renew(&u->open, n, sizeof *u->open) || !renew(&u->op, n, sizeof *u->op))
		return false;
	u->room = n;
	return true;
}

static bool grow_entries(struct tf_unpacked *u, size_t n)
{
	if (n <= u->roomentries)
		return true;
	u->roomentries = 0;
	if (!renew(&u->entry, n, sizeof *u->entry) || !renew(&u->seen, n, sizeof *u->seen))
		return false;
	u->roomentries = n;
	return true;
}

static bool grow_values(struct tf_unpacked *u, size_t n)
{
	if (n <= u->roomvalues)
		return true;
	u->roomvalues = 0;
	if (!renew(&u->value, n, sizeof *u->value))
		return false;
	u->roomvalues = n;
	return true;
}

static enum sonde_trace_status decompress(struct tf_unpacked *u, const struct tf_chunk_info *info,
					  const uint8_t *body)
{
	size_t got;

	if (info->hash != XXH64(body, info->packed, 0))
		return corrupt(u, "the checksum of the body does not match");
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	tf_buf_clear(&u->raw);
	if (!u->zstd || !tf_buf_extend(&u->raw, info->raw))
		return SONDE_TRACE_E_NOMEM;
	got = ZSTD_decompressDCtx(u->zstd, u->raw.data, info->raw, body, info->packed);
	if (ZSTD_isError(got) || got != info->raw)
		return corrupt(u, "the body does not decompress");
	return SONDE_TRACE_OK;
}

/* --- dictionary -------------------------------------------------------------------------- */

static bool read_column(struct tf_cursor *c, struct tf_column *column)
{
	*column = (struct tf_column){ .type = tf_cursor_byte(c) };
	column->coding = tf_cursor_byte(c);
	column->width = tf_cursor_byte(c);
	column->first = tf_cursor_varint(c);
	if (column->type == SONDE_TRACE_STR)
		column->bytes = tf_cursor_varint(c);
	return column->type >= SONDE_TRACE_I32 && column->type <= SONDE_TRACE_STR &&
	       column->coding <= TF_CODING_XOR && column->width <= 8;
}

static bool entry_valid(const struct tf_entry *e)
{
	bool number = e->what == TF_LOST || e->what == TF_WAITED, special = number || e->what == TF_UNWIND;
	bool silent = e->what == TF_UNWIND || e->what == TF_OLD_UNWIND;

	if (e->what < TF_ENTER || e->what > TF_WAITED || e->width > 8 ||
	    e->ncolumns > TF_MAX_VALUES || e->id >= TF_MAX_IDS)
		return false;
	return !(special && e->id) && !(silent && e->ncolumns) &&
	       !(number && e->ncolumns != 1);
}

static bool read_entry(struct tf_cursor *c, struct tf_entry *e, uint32_t events)
{
	uint64_t id, closer, count;

	*e = (struct tf_entry){ .what = tf_cursor_byte(c) };
	id = tf_cursor_varint(c);
	closer = e->what == TF_ENTER || e->what == TF_TAIL ? tf_cursor_varint(c) : 0;
	count = tf_cursor_varint(c);
	e->base = tf_cursor_varint(c);
	e->width = tf_cursor_byte(c);
	e->ncolumns = tf_cursor_byte(c);
	if (id >= TF_MAX_IDS || closer > TF_MAX_ENTRIES || !count || count > events)
		return false;
	e->id = (uint32_t)id;
	e->closer = (uint32_t)closer;
	e->count = (uint32_t)count;
	if (!entry_valid(e))
		return false;
	for (unsigned i = 0; i < e->ncolumns; i++)
		if (!read_column(c, &e->column[i]))
			return false;
	if ((e->what == TF_LOST || e->what == TF_WAITED) && e->column[0].type != SONDE_TRACE_U64)
		return false;
	return !c->failed;
}

static bool closers_valid(const struct tf_unpacked *u)
{
	for (uint32_t i = 0; i < u->nentries; i++) {
		uint32_t closer = u->entry[i].closer;

		if (closer > u->nentries ||
		    (closer && u->entry[closer - 1].what != TF_LEAVE))
			return false;
	}
	return true;
}

static enum sonde_trace_status read_dictionary(struct tf_unpacked *u, struct tf_cursor *c)
{
	uint64_t n = tf_cursor_varint(c), total = 0;

	/* Every entry takes more than six bytes: no memory for what cannot be there. */
	if (c->failed || !n || n > TF_MAX_ENTRIES || n > c->left / 6)
		return corrupt(u, "the dictionary has an impossible size");
	if (!grow_entries(u, n))
		return SONDE_TRACE_E_NOMEM;
	u->nentries = (uint32_t)n;
	for (uint32_t i = 0; i < n; i++) {
		if (!read_entry(c, &u->entry[i], u->n))
			return corrupt(u, "an entry of the dictionary makes no sense");
		total += u->entry[i].count;
	}
	if (total != u->n)
		return corrupt(u, "the dictionary counts a different number of events");
	return closers_valid(u) ? SONDE_TRACE_OK :
				  corrupt(u, "an enter is closed by what is no leave");
}

/* --- operations -------------------------------------------------------------------------- */

TF_VECTORIZE static void widen(uint16_t *restrict to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = from[i];
}

TF_VECTORIZE static void join(uint16_t *restrict to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint16_t)(from[2 * i] | from[2 * i + 1] << 8);
}

static enum sonde_trace_status read_operations(struct tf_unpacked *u, struct tf_cursor *c)
{
	uint8_t width = tf_cursor_byte(c);
	const uint8_t *from = tf_cursor_take(c, (uint64_t)width * u->n);

	if (c->failed || width < 1 || width > 2)
		return corrupt(u, "the operations are not all there");
	if (width == 2)
		join(u->op, from, u->n);
	else
		widen(u->op, from, u->n);
	return SONDE_TRACE_OK;
}

/*
 * Index of the entry that unwinds within the chunk are counted in; TF_MAX_ENTRIES: there is
 * none.
 */
static uint32_t unwind_entry(const struct tf_unpacked *u)
{
	uint32_t found = TF_MAX_ENTRIES;

	for (uint32_t i = 0; i < u->nentries; i++) {
		if (u->entry[i].what != TF_UNWIND)
			continue;
		if (found != TF_MAX_ENTRIES)
			return TF_MAX_ENTRIES;
		found = i;
	}
	return found;
}

/* The state of a walk over the operations. */
struct walk {
	uint32_t depth; /* frames in open[] */
	uint64_t old;	/* frames open since before the chunk */
	uint32_t unwind;
};

/*
 * What operation @op means here: fills in *ref; returns the entry whose times and count it is of,
 * or TF_MAX_ENTRIES if it can mean nothing.
 */
static uint32_t resolve(struct tf_unpacked *u, struct walk *w, uint32_t op,
			struct tf_event_ref *ref)
{
	uint32_t entry = op - TF_OP_ENTRY;

	if (op == TF_OP_RETURN) {
		if (!w->depth || !u->entry[u->open[w->depth - 1]].closer)
			return TF_MAX_ENTRIES;
		entry = u->entry[u->open[--w->depth]].closer - 1;
		*ref = (struct tf_event_ref){ (uint16_t)entry, TF_LEAVE };
		return entry;
	}
	if (op == TF_OP_UNWIND) {
		if (!w->depth)
			return TF_MAX_ENTRIES;
		*ref = (struct tf_event_ref){ u->open[--w->depth], TF_UNWIND };
		return w->unwind;
	}
	if (entry >= u->nentries)
		return TF_MAX_ENTRIES;
	*ref = (struct tf_event_ref){ (uint16_t)entry, u->entry[entry].what };
	switch ((enum tf_what)ref->what) {
	case TF_ENTER:
	case TF_TAIL:
		u->open[w->depth++] = (uint16_t)entry;
		return entry;
	case TF_LEAVE:
		if (w->depth)
			w->depth--;
		else if (!w->old--)
			return TF_MAX_ENTRIES;
		return entry;
	case TF_OLD_UNWIND:
		return w->depth || !w->old-- ? TF_MAX_ENTRIES : entry;
	case TF_POINT:
	case TF_ORPHAN:
	case TF_LOST:
	case TF_WAITED:
		return entry;
	case TF_UNWIND:
		break;
	}
	return TF_MAX_ENTRIES;
}

/* Finds the planes of all entries. */
static enum sonde_trace_status read_planes(struct tf_unpacked *u, struct tf_cursor *c)
{
	for (unsigned k = 0; k < 8; k++)
		for (uint32_t i = 0; i < u->nentries; i++)
			if (u->entry[i].width > k)
				u->entry[i].plane[k] = tf_cursor_take(c, u->entry[i].count);
	return c->failed ? corrupt(u, "the times are not all there") : SONDE_TRACE_OK;
}

static inline uint64_t difference(const struct tf_entry *e, uint32_t i)
{
	uint64_t v = 0;

	for (unsigned k = 0; k < e->width; k++)
		v |= (uint64_t)e->plane[k][i] << 8 * k;
	return e->base + v;
}

static enum sonde_trace_status walk(struct tf_unpacked *u, const struct tf_chunk_info *info)
{
	struct walk w = { .old = info->depth, .unwind = unwind_entry(u) };
	uint64_t now = info->start;

	memset(u->seen, 0, u->nentries * sizeof *u->seen);
	for (uint32_t i = 0; i < u->n; i++) {
		uint32_t entry = resolve(u, &w, u->op[i], &u->event[i]);
		uint64_t before = now;

		if (entry == TF_MAX_ENTRIES || u->seen[entry] == u->entry[entry].count)
			return corrupt(u, "an operation is impossible where it stands");
		now += difference(&u->entry[entry], u->seen[entry]++);
		if (now < before)
			return corrupt(u, "the time runs over");
		u->ticks[i] = now;
	}
	if (u->ticks[0] != info->first || now != info->last)
		return corrupt(u, "the times do not end where the header says");
	return SONDE_TRACE_OK;
}

/* --- values ------------------------------------------------------------------------------ */

static void read_numbers(uint64_t *v, const struct tf_column *column, const uint8_t *const *plane,
			 uint32_t n)
{
	uint64_t previous = column->first;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t s = 0;

		for (unsigned k = 0; k < column->width; k++)
			s |= (uint64_t)plane[k][i] << 8 * k;
		if (column->coding == TF_CODING_PLAIN)
			v[i] = column->first + s;
		else if (column->coding == TF_CODING_DELTA)
			v[i] = previous = previous + tf_unzigzag(s);
		else
			v[i] = previous = previous ^ s;
	}
}

static bool lengths_valid(const uint64_t *v, uint32_t n, uint64_t bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		if (v[i] > bytes)
			return false;
		bytes -= v[i];
	}
	return !bytes;
}

static enum sonde_trace_status read_column_values(struct tf_unpacked *u, struct tf_cursor *c,
						  struct tf_column *column, uint32_t n)
{
	const uint8_t *plane[8] = { NULL };

	for (unsigned k = 0; k < column->width; k++)
		plane[k] = tf_cursor_take(c, n);
	if (c->failed)
		return corrupt(u, "the values are not all there");
	read_numbers(u->value + column->values, column, plane, n);
	if (column->type != SONDE_TRACE_STR)
		return SONDE_TRACE_OK;
	if (!lengths_valid(u->value + column->values, n, column->bytes))
		return corrupt(u, "the lengths of strings do not add up");
	column->text = tf_cursor_take(c, column->bytes);
	return column->text ? SONDE_TRACE_OK : corrupt(u, "the strings are not all there");
}

static enum sonde_trace_status read_values(struct tf_unpacked *u, struct tf_cursor *c)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;
	size_t n = 0;

	for (uint32_t i = 0; i < u->nentries; i++)
		for (unsigned k = 0; k < u->entry[i].ncolumns; k++, n += u->entry[i].count)
			u->entry[i].column[k].values = n;
	/* A column of width 0 takes no bytes in the file, but memory here. */
	if (n > TF_MAX_RAW / 4)
		return corrupt(u, "there are too many values");
	if (!grow_values(u, n))
		return SONDE_TRACE_E_NOMEM;
	for (uint32_t i = 0; i < u->nentries; i++)
		for (unsigned k = 0; k < u->entry[i].ncolumns && !status; k++)
			status = read_column_values(u, c, &u->entry[i].column[k],
						    u->entry[i].count);
	return status;
}

enum sonde_trace_status tf_unpack(struct tf_unpacked *u, const struct tf_chunk_info *info,
				  const uint8_t *body)
{
	enum sonde_trace_status status = decompress(u, info, body);
	struct tf_cursor c = { .at = u->raw.data, .left = info->raw };

	u->n = info->events;
	/* Every operation takes a byte. */
	if (!status && u->n > info->raw)
		return corrupt(u, "there are more events than bytes");
	if (!status && !grow_events(u, u->n))
		status = SONDE_TRACE_E_NOMEM;
	if (!status)
		status = read_dictionary(u, &c);
	if (!status)
		status = read_operations(u, &c);
	if (!status)
		status = read_planes(u, &c);
	if (!status)
		status = walk(u, info);
	if (!status)
		status = read_values(u, &c);
	if (!status && c.left)
		status = corrupt(u, "something follows the last column");
	return status;
}
