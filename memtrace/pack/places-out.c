/* SPDX-License-Identifier: GPL-3.0-or-later */
/* code.places while it is written: columns of small numbers, which zstd packs well, then all strings. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "memtrace/pack/out.h"
#include "memtrace/pack/places.h"
#include "tracefmt/format.h"

/* A source file that has been named; its text is in paths. */
struct mt_place_path {
	uint64_t index; /* + 1; 0: free */
	size_t at, n;
};

void mt_places_free(struct mt_places *p)
{
	tf_buf_free(&p->functions);
	tf_buf_free(&p->loops);
	tf_buf_free(&p->ranges);
	tf_buf_free(&p->files);
	tf_buf_free(&p->lines);
	tf_buf_free(&p->text);
	tf_buf_free(&p->paths);
	free(p->known);
	*p = (struct mt_places){ 0 };
}

/* How much @to is after *last, which it becomes. */
static uint64_t step(struct mt_places *p, uint64_t *last, uint64_t to)
{
	uint64_t by = to - *last;

	p->failed |= to < *last;
	*last = to;
	return by;
}

void mt_places_function(struct mt_places *p, uint64_t addr, uint64_t size, const char *name)
{
	size_t n = strlen(name);

	tf_buf_varint(&p->functions, step(p, &p->function_end, addr));
	tf_buf_varint(&p->functions, size);
	tf_buf_varint(&p->functions, n);
	tf_buf_put(&p->text, name, n);
	p->function_end = addr + size;
	p->nfunctions++;
}

void mt_places_loop(struct mt_places *p, uint64_t head, uint32_t depth)
{
	tf_buf_varint(&p->loops, tf_zigzag(head - p->loop));
	tf_buf_varint(&p->loops, depth);
	p->loop = head;
	p->nloops++;
}

void mt_places_range(struct mt_places *p, uint64_t addr, uint32_t loop)
{
	tf_buf_varint(&p->ranges, step(p, &p->range, addr));
	tf_buf_varint(&p->ranges, loop == MT_NO_LOOP ? 0 : UINT64_C(1) + loop);
	p->nranges++;
}

/* ---- lines ---- */

static bool is_path(const struct mt_places *p, const struct mt_place_path *k, const char *file, size_t n)
{
	return k->n == n && memcmp(p->paths.data + k->at, file, n) == 0;
}

static struct mt_place_path *find_path(const struct mt_places *p, const char *file, size_t n)
{
	return &p->known[hash_slot(i, p->room, hash_bytes(file, n),
				   !p->known[i].index || is_path(p, &p->known[i], file, n))];
}

/* Its number from 1 on; 0: no memory. */
static uint64_t file_index(struct mt_places *p, const char *file)
{
	size_t n = strlen(file);
	struct mt_place_path *k;

	if (!hash_grow(p->known, p->room, p->nfiles + 1, old, old->index,
		       find_path(p, (const char *)p->paths.data + old->at, old->n)))
		return 0;
	k = find_path(p, file, n);
	if (k->index)
		return k->index;
	*k = (struct mt_place_path){ .index = ++p->nfiles, .at = p->paths.size, .n = n };
	tf_buf_varint(&p->files, n);
	tf_buf_put(&p->paths, file, n);
	return p->paths.failed ? 0 : k->index;
}

void mt_places_line(struct mt_places *p, uint64_t addr, const char *file, int line)
{
	uint64_t index = 0;

	if (file && file != p->file) {
		p->file_index = p->failed ? 0 : file_index(p, file);
		p->file = file;
		p->failed |= !p->file_index;
	}
	index = file ? p->file_index : 0;
	tf_buf_varint(&p->lines, step(p, &p->line_at, addr));
	tf_buf_varint(&p->lines, index);
	if (index) {
		tf_buf_varint(&p->lines, tf_zigzag((uint64_t)((int64_t)line - p->line)));
		p->line = line;
	}
	p->nlines++;
}

/* ---- a piece ---- */

static void put_column(struct tf_buf *b, uint64_t n, const struct tf_buf *column)
{
	tf_buf_varint(b, n);
	tf_buf_put(b, column->data, column->size);
	b->failed |= column->failed;
}

static void put_body(struct tf_buf *b, const struct mt_places *p, uint32_t object, bool lines)
{
	tf_buf_varint(b, object);
	tf_buf_byte(b, lines);
	put_column(b, p->nfunctions, &p->functions);
	put_column(b, p->nloops, &p->loops);
	put_column(b, p->nranges, &p->ranges);
	put_column(b, p->nfiles, &p->files);
	put_column(b, p->nlines, &p->lines);
	tf_buf_put(b, p->text.data, p->text.size);
	tf_buf_put(b, p->paths.data, p->paths.size);
	b->failed |= p->text.failed || p->paths.failed;
}

enum sonde_trace_status mt_write_places(struct tf_writer *w, const struct mt_places *p, uint32_t object, bool lines)
{
	struct mt_out *o = mt_out(w);
	struct tf_buf b = { 0 };
	bool good;

	if (!o)
		return tf_writer_result(w);
	put_body(&b, p, object, lines);
	good = !p->failed && b.size <= TF_MAX_RAW;
	if (b.failed)
		tf_writer_no_memory(w);
	else if (good)
		(void)!mt_pieces_append(w, &o->places, "code.places", TF_MAGIC_PLACES, b.data, b.size);
	tf_buf_free(&b);
	return good ? tf_writer_result(w) : SONDE_TRACE_E_INVALID;
}
