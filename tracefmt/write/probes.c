/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that probes record: tens of thousands are announced at once, and most of them are never
 * called.  So what the trace says about a function is written when the first chunk that needs it is
 * written, before that chunk.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

#define BLOCK (256u << 10)
#define LINE_FUNCTIONS 1000u /* of one line of the metadata */

struct tf_probe_known {
	const char *name; /* this and the other strings are in the blocks */
	const char *demangled; /* NULL: ask demangle(), if that is not NULL */
	const char *path; /* equal ones in a row are one string; NULL: unknown */
	tf_demangle_fn *demangle;
	uint64_t address;
	uint32_t function;
	uint32_t event;
	bool reported;
};

struct tf_probe_block {
	struct tf_probe_block *next;
	size_t used, room;
	char data[];
};

/* --- announcing -------------------------------------------------------------------------- */

static bool new_block(struct tf_probes *p, size_t n)
{
	size_t room = n > BLOCK ? n : BLOCK;
	struct tf_probe_block *b = malloc(sizeof *b + room);

	if (!b)
		return false;
	*b = (struct tf_probe_block){ .next = p->block, .room = room };
	p->block = b;
	return true;
}

/* Copies *@s, which may be NULL.  False: no memory. */
static bool copy(struct tf_probes *p, const char **s)
{
	size_t n = *s ? strlen(*s) + 1 : 0;
	char *to;

	if (!n)
		return true;
	if ((!p->block || p->block->room - p->block->used < n) && !new_block(p, n))
		return false;
	to = memcpy(p->block->data + p->block->used, *s, n);
	p->block->used += n;
	*s = to;
	return true;
}

static bool same_path(const struct tf_probes *p, const char *path)
{
	const char *last = p->n ? p->v[p->n - 1].path : NULL;

	return last && path && !strcmp(last, path);
}

static bool copy_strings(struct tf_probes *p, struct tf_probe_known *k)
{
	bool same = same_path(p, k->path);

	if (same)
		k->path = p->v[p->n - 1].path;
	return copy(p, &k->name) && copy(p, &k->demangled) && (same || copy(p, &k->path));
}

static bool grow_list(struct tf_probes *p, size_t n)
{
	return array_room(p->v, p->room, p->n + n);
}

static bool grow_counts(struct tf_probes *p, uint32_t count)
{
	uint32_t room = p->roomcounts;

	if (!array_room(p->of_count, p->roomcounts, (size_t)count + 1))
		return false;
	memset(p->of_count + room, 0, (p->roomcounts - room) * sizeof *p->of_count);
	return true;
}

static bool probe_valid(const struct tf_writer *w, const struct tf_probe *probe)
{
	return probe->function.name && probe->function.id < TF_MAX_FUNCTIONS &&
	       probe->count < TF_MAX_IDS && probe->event >= TF_FIRST_EVENT &&
	       probe->event < TF_MAX_IDS - 1 && !tf_sites_known(&w->sites, probe->event) &&
	       !tf_sites_known(&w->sites, probe->event + 1);
}

/* Errors: E_NOMEM, E_INVALID. */
static enum sonde_trace_status add(struct tf_writer *w, const struct tf_probe *probe,
				   tf_demangle_fn *demangle)
{
	const struct tf_function *f = &probe->function;
	struct tf_probes *p = &w->probes;
	struct tf_probe_known k = { .name = f->name, .demangled = f->demangled, .path = f->path,
				    .demangle = demangle, .address = f->address,
				    .function = f->id, .event = probe->event };

	if (!probe_valid(w, probe) ||
	    (probe->count < p->roomcounts && p->of_count[probe->count]))
		return SONDE_TRACE_E_INVALID;
	if (!grow_list(p, 1) || !grow_counts(p, probe->count) || !copy_strings(p, &k) ||
	    !tf_writer_announce(w, f->id) ||
	    tf_sites_add_probe(&w->sites, probe->event, f->id, (uint32_t)p->n + 1, probe->entry))
		return SONDE_TRACE_E_NOMEM;
	p->v[p->n++] = k;
	p->of_count[probe->count] = (uint32_t)p->n;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_writer_probes(struct tf_writer *w, const struct tf_probe *probe, size_t n,
					 tf_demangle_fn *demangle)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;

	if (!grow_list(&w->probes, n))
		status = SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n && !status; i++)
		status = add(w, &probe[i], demangle);
	if (status != SONDE_TRACE_E_NOMEM)
		return status;
	tf_writer_no_memory(w);
	return tf_writer_result(w);
}

void tf_probes_free(struct tf_probes *p)
{
	while (p->block) {
		struct tf_probe_block *next = p->block->next;

		free(p->block);
		p->block = next;
	}
	free(p->v);
	free(p->of_count);
	free(p->due);
	*p = (struct tf_probes){ 0 };
}

/* --- telling ----------------------------------------------------------------------------- */

/* Notes that probe @i (from 1 on; 0: none) has to be in the metadata. */
static bool mark(struct tf_probes *p, uint32_t i)
{
	if (!i || p->v[i - 1].reported)
		return true;
	if (!array_room(p->due, p->roomdue, p->ndue + 1))
		return false;
	p->due[p->ndue++] = i - 1;
	p->v[i - 1].reported = true;
	return true;
}

/* [function id, enter event, "name", address], and "demangled" where it differs. */
static void put_probe(struct tf_buf *line, const struct tf_probe_known *k)
{
	char *made = k->demangled || !k->demangle ? NULL : k->demangle(k->name);
	const char *demangled = made ? made : k->demangled;

	tf_buf_byte(line, '[');
	tf_json_number(line, k->function);
	tf_buf_byte(line, ',');
	tf_json_number(line, k->event);
	tf_buf_byte(line, ',');
	tf_json_quoted(line, k->name);
	tf_buf_byte(line, ',');
	tf_json_number(line, k->address);
	if (demangled && strcmp(demangled, k->name)) {
		tf_buf_byte(line, ',');
		tf_json_quoted(line, demangled);
	}
	tf_buf_byte(line, ']');
	free(made);
}

/* A line with the first ones of @due, as many as have the same path.  Returns their number. */
static size_t put_line(struct tf_writer *w, const uint32_t *due, size_t n)
{
	const struct tf_probe_known *v = w->probes.v;
	const char *path = v[due[0]].path;
	size_t i;

	tf_json_begin(&w->line, "functions");
	tf_json_str(&w->line, "path", path);
	tf_json_key(&w->line, "list");
	for (i = 0; i < n && i < LINE_FUNCTIONS && v[due[i]].path == path; i++) {
		tf_buf_byte(&w->line, i ? ',' : '[');
		put_probe(&w->line, &v[due[i]]);
	}
	tf_buf_byte(&w->line, ']');
	tf_json_end(&w->line);
	tf_writer_line(w);
	return i;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Those of one file stand together. */
static void tell(struct tf_writer *w)
{
	struct tf_probes *p = &w->probes;

	if (p->ndue > 1)
		qsort(p->due, p->ndue, sizeof *p->due, by_number);
	for (size_t i = 0; i < p->ndue;)
		i += put_line(w, p->due + i, p->ndue - i);
	p->ndue = 0;
}

void tf_probes_tell_chunk(struct tf_writer *w)
{
	if (!w->probes.n)
		return;
	for (uint32_t i = 0; i < w->pack.nentries; i++) {
		uint32_t id = tf_pack_id(&w->pack, i);

		if (!mark(&w->probes, w->sites.more[id].probe))
			tf_writer_no_memory(w);
	}
	tell(w);
}

/* --- counts ------------------------------------------------------------------------------ */

/* Of probe number @count the function's id, in *@id; false: there is none. */
static bool counted(const struct tf_probes *p, size_t count, uint32_t *id)
{
	if (count >= p->roomcounts || !p->of_count[count])
		return false;
	*id = p->v[p->of_count[count] - 1].function;
	return true;
}

bool tf_probes_function(struct tf_writer *w, uint32_t count, uint32_t *id)
{
	return counted(&w->probes, count, id);
}

void tf_probes_tell_chosen(struct tf_writer *w, const struct tf_chosen *v, size_t n)
{
	struct tf_probes *p = &w->probes;

	for (size_t i = 0; i < n; i++)
		if (v[i].count < p->roomcounts && !mark(p, p->of_count[v[i].count]))
			tf_writer_no_memory(w);
	tell(w);
}

static void put_calls(struct tf_writer *w, const char *file, const struct tf_thread_end *end)
{
	size_t shown = 0;
	uint32_t id;

	for (size_t i = 0; i < end->ncalls; i++) {
		if (!end->calls[i] || !counted(&w->probes, i, &id))
			continue;
		if (!shown) {
			tf_json_begin(&w->line, "calls");
			tf_json_str(&w->line, "file", file);
			tf_json_key(&w->line, "list");
		}
		tf_buf_str(&w->line, shown ? ",[" : "[[");
		tf_json_number(&w->line, id);
		tf_buf_byte(&w->line, ',');
		tf_json_number(&w->line, end->calls[i]);
		tf_buf_byte(&w->line, ']');
		if (++shown < LINE_FUNCTIONS)
			continue;
		tf_buf_byte(&w->line, ']');
		tf_json_end(&w->line);
		tf_writer_line(w);
		shown = 0;
	}
	if (!shown)
		return;
	tf_buf_byte(&w->line, ']');
	tf_json_end(&w->line);
	tf_writer_line(w);
}

void tf_probes_tell_calls(struct tf_writer *w, const char *file, const struct tf_thread_end *end)
{
	struct tf_probes *p = &w->probes;

	if (!end->calls)
		return;
	for (size_t i = 0; i < end->ncalls && i < p->roomcounts; i++)
		if (end->calls[i] && !mark(p, p->of_count[i]))
			tf_writer_no_memory(w);
	tell(w);
	put_calls(w, file, end);
}
