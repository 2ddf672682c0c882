// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>

#include "base/search.h"
#include "injector/image/elffile.h"
#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/record/describe/codes.h"
#include "launcher/record/describe/objects.h"

/* Addresses of one object, ascending, as in the file. */
struct places {
	const uint64_t *addr;
	size_t n;
	uint64_t base;
};

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The one that begins last before @addr; its file says later whether it has code there. */
static struct inj_object *object_at(struct inj_session *s, uint64_t addr)
{
	struct inj_object *best = NULL;

	for (size_t i = 0; i < s->nobjects; i++) {
		struct inj_object *o = &s->objects[i];

		if (o->path[0] && !o->is_module && o->base <= addr && (!best || o->base > best->base))
			best = o;
	}
	return best;
}

static const struct inj_symbol *function_at(struct inj_object *o, uint64_t addr)
{
	struct inj_symtab *tab = inj_object_symbols(o);
	size_t n = 0;
	const struct inj_symbol *v = tab ? inj_symtab_all(tab, &n) : NULL;
	size_t next = search_first(i, n, v[i].addr > addr);

	return next && addr - v[next - 1].addr < (v[next - 1].size ? v[next - 1].size : v[next - 1].avail) ? &v[next - 1] : NULL;
}

static bool want_unit(void *arg, uint64_t lo, uint64_t hi)
{
	const struct places *p = arg;
	size_t first = search_first(i, p->n, p->addr[i] - p->base >= lo);

	return first < p->n && p->addr[first] - p->base < hi;
}

/* Where a call returns to is the line after it, perhaps; where a function begins is its own. */
static const char *line_at(struct lines *lines, const struct inj_symbol *f, uint64_t addr, int *line)
{
	return lines_at(lines, f && f->addr != addr ? addr - 1 : addr, line);
}

static void write_places(struct inj_object *o, const struct inj_elf *file, const struct places *p, struct tf_writer *w)
{
	struct lines *lines = lines_open(o->path);

	if (lines)
		lines_restrict(lines, want_unit, (void *)p);
	for (size_t i = 0; i < p->n; i++) {
		uint64_t left, addr = p->addr[i] - p->base;
		const struct inj_symbol *f = function_at(o, addr);
		struct tf_code code = { .address = p->addr[i], .path = o->file, .offset = addr, .function = f ? f->name : NULL };

		if (!inj_elf_at(file, addr, &left))
			continue;
		if (lines)
			code.file = line_at(lines, f, addr, &code.line);
		if (tf_writer_code(w, &code) != SONDE_TRACE_OK)
			msg_error("cannot describe the trace: %s", tf_writer_message(w));
	}
	lines_close(lines);
}

void codes_finish(struct inj_session *s, struct tf_writer *w)
{
	size_t n;
	uint64_t *v = tf_writer_codes(w, &n);

	objects_ask_no_server();
	if (n)
		qsort(v, n, sizeof(*v), by_address);
	for (size_t i = 0, end; i < n; i = end) {
		struct inj_object *o = object_at(s, v[i]);
		struct inj_elf file = { 0 };

		for (end = i + 1; end < n && object_at(s, v[end]) == o;)
			end++;
		if (o && inj_elf_open(o->path, &file) == INJ_OK)
			write_places(o, &file, &(struct places){ v + i, end - i, o->base }, w);
		inj_elf_close(&file);
	}
	free(v);
}
