/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why columns, and why these: in a loop of calls the operations repeat, which zstd reduces to
 * nothing, and what remains is the noise in the times.  Noise cannot be predicted, only coded
 * with as few bits as its distribution needs; zstd's Huffman stage does that, provided that
 * bytes of one distribution stand together: those of one event, lowest bytes apart from the
 * higher ones, which are mostly zero.  To give each long column a distribution of its own, it
 * becomes a zstd frame of its own.
 */
#include "base/array.h"
#include "tracefmt/write/pack.h"

#include <stdlib.h>
#include <xxhash.h>

#define SLOTS 3u /* of an id: its events, the OTHER ones, and those by a jump */
#define LARGE 2048u /* bytes of a column that are worth a frame of their own */

struct tf_pack_column {
	uint8_t type;
	uint8_t coding;
	uint8_t width;
	uint64_t first;
	uint64_t bytes; /* of strings */
};

struct tf_pack_entry {
	uint64_t base; /* smallest time difference */
	uint64_t max;
	uint32_t count;
	uint32_t id;
	uint8_t what;
	uint8_t width;
	uint8_t ncolumns;
	uint32_t sorted; /* its first difference in sorted[] */
	uint32_t seen;	 /* while scattering */
	size_t values;	 /* its first column in values[] */
	uint32_t columns; /* its first one in column[] */
};

enum sonde_trace_status tf_pack_init(struct tf_pack *p)
{
	*p = (struct tf_pack){ 0 };
	p->zstd = ZSTD_createCCtx();
	p->of_event = malloc(TF_BATCH_EVENTS * sizeof *p->of_event);
	p->op = malloc(TF_BATCH_EVENTS * sizeof *p->op);
	p->sorted = malloc(TF_BATCH_EVENTS * sizeof *p->sorted);
	if (!p->zstd || !p->of_event || !p->op || !p->sorted ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel,
						TF_PACK_LEVEL))) {
		tf_pack_free(p);
		return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

void tf_pack_free(struct tf_pack *p)
{
	ZSTD_freeCCtx(p->zstd);
	free(p->slot);
	free(p->entry);
	free(p->column);
	free(p->of_event);
	free(p->count);
	free(p->cursor);
	free(p->op);
	free(p->sorted);
	free(p->values);
	free(p->where);
	free(p->cut);
	tf_buf_free(&p->raw);
	tf_buf_free(&p->out);
	*p = (struct tf_pack){ 0 };
}

/* --- which events there are ------------------------------------------------------------ */

static bool grow_slots(struct tf_pack *p, uint32_t ids)
{
	uint64_t *slot;

	if (++p->epoch && ids == p->nslots)
		return true;
	slot = calloc(SLOTS * (size_t)ids, sizeof *slot);
	if (!slot)
		return false;
	free(p->slot);
	p->slot = slot;
	p->nslots = ids;
	p->epoch = 1;
	return true;
}

static enum tf_what what_of(uint32_t code, const struct tf_sites *sites)
{
	unsigned kind = sites->site[TF_CODE_ID(code)].kind;

	if (code == TF_CODE_LOST)
		return TF_LOST;
	if (code == TF_CODE_UNWIND)
		return TF_UNWIND;
	if (code == TF_CODE_WAITED)
		return TF_WAITED;
	if (code & TF_CODE_OTHER)
		return kind == SONDE_TRACE_ENTER ? TF_OLD_UNWIND : TF_ORPHAN;
	if (code & TF_CODE_TAIL)
		return TF_TAIL;
	return kind == SONDE_TRACE_ENTER ? TF_ENTER :
	       kind == SONDE_TRACE_LEAVE ? TF_LEAVE :
					   TF_POINT;
}

/* The types of the values of @entry; returns their number. */
static uint8_t types_of(const struct tf_pack_entry *entry, const struct tf_sites *sites,
			const uint8_t **types)
{
	static const uint8_t number[] = { SONDE_TRACE_U64 };

	*types = number;
	if (entry->what == TF_LOST || entry->what == TF_WAITED)
		return 1;
	if (entry->what == TF_UNWIND || entry->what == TF_OLD_UNWIND)
		return 0;
	*types = sites->more[entry->id].types;
	return sites->site[entry->id].nfields;
}

/* Most entries have none, so they are kept apart.  False: no memory. */
static bool add_columns(struct tf_pack *p, struct tf_pack_entry *entry,
			const struct tf_sites *sites)
{
	const uint8_t *types;

	entry->ncolumns = types_of(entry, sites, &types);
	entry->columns = p->ncolumns;
	if (!array_room(p->column, p->roomcolumns, p->ncolumns + entry->ncolumns))
		return false;
	for (unsigned i = 0; i < entry->ncolumns; i++)
		p->column[p->ncolumns++] = (struct tf_pack_column){ .type = types[i] };
	return true;
}

static bool grow_entries(struct tf_pack *p)
{
	uint32_t room = p->roomentries ? 2 * p->roomentries : 256;
	struct tf_pack_entry *entry = realloc(p->entry, room * sizeof *entry);
	uint32_t *more;

	if (!entry)
		return false;
	p->entry = entry;
	more = realloc(p->count, room * sizeof *more);
	if (!more)
		return false;
	p->count = more;
	more = realloc(p->cursor, room * sizeof *more);
	if (!more)
		return false;
	p->cursor = more;
	p->roomentries = room;
	return true;
}

static bool new_entry(struct tf_pack *p, const struct tf_sites *sites, uint32_t code)
{
	struct tf_pack_entry *entry;

	if (p->nentries == p->roomentries && !grow_entries(p))
		return false;
	p->count[p->nentries] = 0;
	entry = &p->entry[p->nentries++];
	*entry = (struct tf_pack_entry){ .what = (uint8_t)what_of(code, sites) };
	if (TF_CODE_ID(code) > TF_CODE_WAITED)
		entry->id = TF_CODE_ID(code);
	return add_columns(p, entry, sites);
}

static inline uint64_t *slot_of(struct tf_pack *p, uint32_t code)
{
	uint32_t which = (code / TF_CODE_OTHER & 1) | (code & TF_CODE_TAIL ? 2 : 0);

	return &p->slot[TF_CODE_ID(code) + which * (size_t)p->nslots];
}

/* Finds the entries, counts, and notes the operations. */
static bool find_entries(struct tf_pack *p, const struct tf_sites *sites, const struct tf_batch *b)
{
	const uint64_t tag = (uint64_t)p->epoch << 32;
	const uint32_t *code = b->code;
	uint16_t *restrict of_event = p->of_event, *restrict op = p->op;
	uint32_t *count = p->count;

	for (uint32_t i = 0, n = b->n; i < n; i++) {
		uint64_t *slot = slot_of(p, code[i]);
		uint32_t entry;

		if (__builtin_expect((*slot ^ tag) >> 32 != 0, 0)) {
			if (!new_entry(p, sites, code[i]))
				return false;
			*slot = tag | (p->nentries - 1);
			count = p->count;
		}
		entry = (uint32_t)*slot;
		count[entry]++;
		of_event[i] = (uint16_t)entry;
		op[i] = code[i] & TF_CODE_RETURN ? TF_OP_RETURN : (uint16_t)(TF_OP_ENTRY + entry);
		if (__builtin_expect(code[i] == TF_CODE_UNWIND, 0))
			op[i] = TF_OP_UNWIND;
	}
	return true;
}

/* --- times ------------------------------------------------------------------------------- */

static void set_range(struct tf_pack_entry *entry, uint64_t min, uint64_t max)
{
	entry->base = min;
	entry->max = max;
	entry->width = (uint8_t)tf_width(max - min);
}

TF_VECTORIZE static void find_range(struct tf_pack_entry *entry, const uint32_t *v)
{
	uint32_t min = v[0], max = v[0];

	for (uint32_t k = 1, n = entry->count; k < n; k++) {
		min = v[k] < min ? v[k] : min;
		max = v[k] > max ? v[k] : max;
	}
	set_range(entry, min, max);
}

/*
 * Sorts the differences by entry, and finds the range of each.  Once with 32 bits, which is enough
 * nearly always and faster, once with 64.
 */
static void sort_narrow(struct tf_pack *p, const struct tf_batch *b)
{
	uint32_t *restrict sorted = (uint32_t *)p->sorted, *restrict cursor = p->cursor;
	const uint32_t *delta = b->delta;
	const uint16_t *of_event = p->of_event;

	for (uint32_t i = 0, n = b->n; i < n; i++)
		sorted[cursor[of_event[i]]++] = delta[i];
	for (uint32_t i = 0; i < p->nentries; i++)
		find_range(&p->entry[i], sorted + p->entry[i].sorted);
}

static void sort_wide(struct tf_pack *p, const struct tf_batch *b)
{
	const uint64_t *big = b->big;

	for (uint32_t i = 0; i < b->n; i++)
		p->sorted[p->cursor[p->of_event[i]]++] =
			b->delta[i] == TF_DELTA_BIG ? *big++ : b->delta[i];
	for (uint32_t i = 0; i < p->nentries; i++) {
		const uint64_t *v = p->sorted + p->entry[i].sorted;
		uint64_t min = v[0], max = v[0];

		for (uint32_t k = 1; k < p->entry[i].count; k++) {
			min = v[k] < min ? v[k] : min;
			max = v[k] > max ? v[k] : max;
		}
		set_range(&p->entry[i], min, max);
	}
}

static void sort_times(struct tf_pack *p, const struct tf_batch *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->nentries; i++) {
		p->entry[i].count = p->count[i];
		p->entry[i].sorted = p->cursor[i] = at;
		at += p->count[i];
	}
	if (b->nbig)
		sort_wide(p, b);
	else
		sort_narrow(p, b);
}

/* --- values ------------------------------------------------------------------------------ */

static bool grow_values(struct tf_pack *p)
{
	size_t n = 0;
	void *more;

	for (uint32_t i = 0; i < p->nentries; i++) {
		p->entry[i].values = n;
		n += (size_t)p->entry[i].count * p->entry[i].ncolumns;
	}
	if (n <= p->roomvalues)
		return true;
	more = realloc(p->values, n * sizeof *p->values);
	if (!more)
		return false;
	p->values = more;
	more = realloc(p->where, n * sizeof *p->where);
	if (!more)
		return false;
	p->where = more;
	p->roomvalues = n;
	return true;
}

/* From payloads one after the other to columns one after the other. */
static void scatter_values(struct tf_pack *p, const struct tf_batch *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; at < b->nwords; i++) {
		struct tf_pack_entry *entry = &p->entry[p->of_event[i]];
		struct tf_pack_column *column = p->column + entry->columns;
		size_t to = entry->values + entry->seen++;

		for (unsigned k = 0; k < entry->ncolumns; k++, to += entry->count) {
			p->values[to] = b->words[at++];
			if (column[k].type != SONDE_TRACE_STR)
				continue;
			p->where[to] = at;
			at += (uint32_t)(p->values[to] + 7) / 8;
			column[k].bytes += p->values[to];
		}
	}
}

static inline unsigned bits(uint64_t v)
{
	return 64 - (unsigned)__builtin_clzll(v | 1);
}

/* The smallest value, by the order of the type. */
static uint64_t smallest(const uint64_t *v, uint32_t n, bool is_signed)
{
	uint64_t flip = is_signed ? UINT64_C(1) << 63 : 0, min = v[0] ^ flip;

	for (uint32_t i = 1; i < n; i++)
		min = (v[i] ^ flip) < min ? v[i] ^ flip : min;
	return min ^ flip;
}

static inline uint64_t coded(enum tf_coding coding, uint64_t first, uint64_t v, uint64_t previous)
{
	if (coding == TF_CODING_DELTA)
		return tf_zigzag(v - previous);
	return coding == TF_CODING_XOR ? v ^ previous : v - first;
}

/* Bits that the values need one by one, and in *@max the largest as stored. */
static uint64_t cost(const uint64_t *v, uint32_t n, enum tf_coding coding, uint64_t first,
		     uint64_t *max)
{
	uint64_t previous = first, sum = 0;

	*max = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t s = coded(coding, first, v[i], previous);

		previous = v[i];
		sum += bits(s);
		*max = s > *max ? s : *max;
	}
	return sum;
}

/*
 * Differences must be a good deal shorter to be taken: values that come again and again compress
 * better as they are.
 */
static void choose_coding(struct tf_pack_column *c, const uint64_t *v, uint32_t n)
{
	bool is_float = c->type == SONDE_TRACE_F64;
	bool is_signed = c->type == SONDE_TRACE_I32 || c->type == SONDE_TRACE_I64;
	enum tf_coding other = is_float ? TF_CODING_XOR : TF_CODING_DELTA;
	uint64_t min = smallest(v, n, is_signed), max, max_other;
	uint64_t plain, differences;

	c->first = is_float && min != v[0] ? 0 : min;
	plain = cost(v, n, TF_CODING_PLAIN, c->first, &max);
	differences = cost(v, n, other, v[0], &max_other);
	c->coding = TF_CODING_PLAIN;
	if (max && differences < plain / 4 * 3) {
		c->coding = (uint8_t)other;
		c->first = v[0];
		max = max_other;
	}
	c->width = (uint8_t)tf_width(max);
}

static void choose_codings(struct tf_pack *p)
{
	for (uint32_t i = 0; i < p->nentries; i++) {
		struct tf_pack_entry *entry = &p->entry[i];

		for (unsigned k = 0; k < entry->ncolumns; k++)
			choose_coding(&p->column[entry->columns + k],
				      p->values + entry->values + k * (size_t)entry->count,
				      entry->count);
	}
}

/* --- the body ---------------------------------------------------------------------------- */

static void cut(struct tf_pack *p)
{
	if (p->ncuts && p->cut[p->ncuts - 1] == p->raw.size)
		return;
	if (array_room(p->cut, p->roomcuts, p->ncuts + 1))
		p->cut[p->ncuts++] = p->raw.size;
	else
		p->raw.failed = true;
}

/* Room for a column in the body; NULL: no memory. */
static uint8_t *add_column(struct tf_pack *p, size_t n)
{
	uint8_t *at;

	if (n >= LARGE)
		cut(p);
	at = tf_buf_extend(&p->raw, n);
	if (n >= LARGE)
		cut(p);
	return at;
}

static void put_dictionary(struct tf_pack *p, const struct tf_sites *sites)
{
	struct tf_buf *raw = &p->raw;

	tf_buf_varint(raw, p->nentries);
	for (uint32_t i = 0; i < p->nentries; i++) {
		struct tf_pack_entry *entry = &p->entry[i];

		tf_buf_byte(raw, entry->what);
		tf_buf_varint(raw, entry->id);
		if (entry->what == TF_ENTER || entry->what == TF_TAIL) {
			uint32_t closer = sites->site[entry->id].partner;
			uint64_t slot = *slot_of(p, closer);

			tf_buf_varint(raw, closer && slot >> 32 == p->epoch ?
						   1 + (slot & UINT32_MAX) :
						   0);
		}
		tf_buf_varint(raw, entry->count);
		tf_buf_varint(raw, entry->base);
		tf_buf_byte(raw, entry->width);
		tf_buf_byte(raw, entry->ncolumns);
		for (unsigned k = 0; k < entry->ncolumns; k++) {
			const struct tf_pack_column *c = &p->column[entry->columns + k];

			tf_buf_byte(raw, c->type);
			tf_buf_byte(raw, c->coding);
			tf_buf_byte(raw, c->width);
			tf_buf_varint(raw, c->first);
			if (c->type == SONDE_TRACE_STR)
				tf_buf_varint(raw, c->bytes);
		}
	}
}

TF_VECTORIZE static void narrow16(uint8_t *restrict to, const uint16_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint8_t)from[i];
}

/* Both bytes of an operation stay together: as pairs they repeat, as planes they do so less. */
TF_VECTORIZE static void bytes16(uint8_t *restrict to, const uint16_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		to[2 * i] = (uint8_t)from[i];
		to[2 * i + 1] = (uint8_t)(from[i] >> 8);
	}
}

TF_VECTORIZE static void narrow32(uint8_t *restrict to, const uint32_t *from, uint32_t n,
				  uint32_t base, unsigned shift)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint8_t)((from[i] - base) >> shift);
}

TF_VECTORIZE static void narrow64(uint8_t *restrict to, const uint64_t *from, uint32_t n,
				  uint64_t base, unsigned shift)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint8_t)((from[i] - base) >> shift);
}

static void put_operations(struct tf_pack *p, uint32_t n)
{
	unsigned width = p->nentries + TF_OP_ENTRY > 256 ? 2 : 1;

	uint8_t *at;

	tf_buf_byte(&p->raw, (uint8_t)width);
	at = add_column(p, (size_t)width * n);
	if (at && width == 2)
		bytes16(at, p->op, n);
	else if (at)
		narrow16(at, p->op, n);
}

static void put_plane(struct tf_pack *p, const struct tf_pack_entry *entry, unsigned plane,
		      bool wide)
{
	uint8_t *at = add_column(p, entry->count);

	if (!at)
		return;
	if (wide)
		narrow64(at, p->sorted + entry->sorted, entry->count, entry->base, 8 * plane);
	else
		narrow32(at, (const uint32_t *)p->sorted + entry->sorted, entry->count,
			 (uint32_t)entry->base, 8 * plane);
}

static void put_times(struct tf_pack *p, bool wide)
{
	for (unsigned k = 0; k < 8; k++) {
		/* Planes differ more from each other than short columns of one plane do. */
		if (p->raw.size - (p->ncuts ? p->cut[p->ncuts - 1] : 0) >= LARGE)
			cut(p);
		for (uint32_t i = 0; i < p->nentries; i++)
			if (p->entry[i].width > k)
				put_plane(p, &p->entry[i], k, wide);
	}
}

static void put_numbers(struct tf_pack *p, const struct tf_pack_column *c, const uint64_t *v, uint32_t n)
{
	for (unsigned k = 0; k < c->width; k++) {
		uint8_t *at = add_column(p, n);
		uint64_t previous = c->first;

		if (!at)
			return;
		for (uint32_t i = 0; i < n; i++) {
			at[i] = (uint8_t)(coded(c->coding, c->first, v[i], previous) >> 8 * k);
			previous = v[i];
		}
	}
}

static void put_strings(struct tf_pack *p, const struct tf_batch *b, const struct tf_pack_column *c,
			size_t values, uint32_t n)
{
	uint8_t *at = add_column(p, c->bytes);

	for (uint32_t i = 0; at && i < n; i++) {
		memcpy(at, b->words + p->where[values + i], p->values[values + i]);
		at += p->values[values + i];
	}
}

static void put_values(struct tf_pack *p, const struct tf_batch *b)
{
	for (uint32_t i = 0; i < p->nentries; i++) {
		const struct tf_pack_entry *entry = &p->entry[i];

		for (unsigned k = 0; k < entry->ncolumns; k++) {
			const struct tf_pack_column *c = &p->column[entry->columns + k];
			size_t values = entry->values + k * (size_t)entry->count;

			put_numbers(p, c, p->values + values, entry->count);
			if (c->type == SONDE_TRACE_STR)
				put_strings(p, b, c, values, entry->count);
		}
	}
}

static bool compress(struct tf_pack *p)
{
	size_t from = 0;

	tf_buf_clear(&p->out);
	if (!tf_buf_extend(&p->out, TF_CHUNK_SIZE))
		return false;
	for (size_t i = 0; i < p->ncuts; i++) {
		size_t n = p->cut[i] - from, bound = ZSTD_compressBound(n);
		uint8_t *to = tf_buf_need(&p->out, bound);
		size_t got;

		if (!to)
			return false;
		got = ZSTD_compress2(p->zstd, to, bound, p->raw.data + from, n);
		if (ZSTD_isError(got)) /* the buffer is large enough: only memory can be missing */
			return false;
		p->out.size += got;
		from = p->cut[i];
	}
	return true;
}

static uint64_t first_delta(const struct tf_batch *b)
{
	return b->delta[0] == TF_DELTA_BIG ? b->big[0] : b->delta[0];
}

enum sonde_trace_status tf_pack(struct tf_pack *p, const struct tf_sites *sites,
				const struct tf_batch *b, uint32_t seq, uint64_t last)
{
	struct tf_chunk_info info = { .seq = seq, .events = b->n, .start = b->start,
				      .first = b->start + first_delta(b), .last = last,
				      .depth = b->depth };

	p->nentries = 0;
	p->ncolumns = 0;
	p->ncuts = 0;
	tf_buf_clear(&p->raw);
	if (!grow_slots(p, sites->room) || !find_entries(p, sites, b))
		return SONDE_TRACE_E_NOMEM;
	sort_times(p, b);
	if (b->nwords) {
		if (!grow_values(p))
			return SONDE_TRACE_E_NOMEM;
		scatter_values(p, b);
		choose_codings(p);
	}
	put_dictionary(p, sites);
	put_operations(p, b->n);
	put_times(p, b->nbig != 0);
	put_values(p, b);
	cut(p);
	if (p->raw.failed || !compress(p))
		return SONDE_TRACE_E_NOMEM;
	info.raw = (uint32_t)p->raw.size;
	info.packed = (uint32_t)(p->out.size - TF_CHUNK_SIZE);
	info.hash = XXH64(p->out.data + TF_CHUNK_SIZE, info.packed, 0);
	tf_chunk_put(p->out.data, &info);
	return SONDE_TRACE_OK;
}

void tf_pack_count(const struct tf_pack *p, struct tf_enc_stats *stats)
{
	for (uint32_t i = 0; i < p->nentries; i++) {
		uint32_t n = p->entry[i].count;
		unsigned what = p->entry[i].what;

		stats->enters += what == TF_ENTER || what == TF_TAIL ? n : 0;
		stats->leaves += what == TF_LEAVE ? n : 0;
		stats->points += what == TF_POINT ? n : 0;
		stats->orphans += what == TF_ORPHAN ? n : 0;
		stats->unwound += what == TF_UNWIND || what == TF_OLD_UNWIND ? n : 0;
		stats->events += what == TF_WAITED ? 0 : n;
	}
}

uint32_t tf_pack_id(const struct tf_pack *p, uint32_t i)
{
	return p->entry[i].id;
}
