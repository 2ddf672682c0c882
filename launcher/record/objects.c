// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "injector/image/identity.h"
#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/record/objects.h"
#include "memtrace/description.h"
#include "memtrace/pack/places.h"

static void check(struct tf_writer *w, enum sonde_trace_status status)
{
	if (status == SONDE_TRACE_E_INVALID)
		msg_error("the names of the recorded code cannot be kept");
	else if (status != SONDE_TRACE_OK)
		msg_error("cannot describe the trace: %s", tf_writer_message(w));
}

/* ---- which files they are ---- */

void objects_publish(struct inj_session *s, struct tf_writer *w, size_t i)
{
	struct inj_object *o = &s->objects[i];
	struct tf_object object = { .id = (uint32_t)i, .path = o->file, .build_id = o->identity.build_id };

	if (o->published || !o->path[0])
		return;
	o->published = true;
	if (!o->identity.code && inj_identity_read(o->path, &o->identity) != INJ_OK)
		return;
	object.code = o->identity.code;
	check(w, tf_writer_object(w, &object));
}

/* ---- functions and loops ---- */

static void put_functions(struct mt_places *to, const struct inj_places *p, const struct inj_codefacts *facts)
{
	for (size_t i = 0; i < p->nfns; i++) {
		const struct tramp_fn *fn = &facts->facts.fns[p->fns[i]];

		mt_places_function(to, fn->addr, fn->size, facts->fn[p->fns[i]].name);
	}
}

/* Ranges have ends; in the trace one goes on to the next. */
static void put_ranges(struct mt_places *to, const struct inj_places *p)
{
	for (size_t i = 0; i < p->nranges; i++) {
		const struct inj_place_range *r = &p->ranges[i];

		mt_places_range(to, r->lo, r->loop);
		if (i + 1 == p->nranges || r[1].lo > r->hi)
			mt_places_range(to, r->hi, MT_NO_LOOP);
	}
}

void objects_places(struct inj_session *s, struct tf_writer *w)
{
	struct inj_mirrors *m = &s->mirrors;

	for (; m->places_published < m->nplaces; m->places_published++) {
		const struct inj_places *p = &m->places[m->places_published];
		struct mt_places to = { 0 };

		objects_publish(s, w, p->object);
		put_functions(&to, p, s->objects[p->object].facts);
		for (size_t i = 0; i < p->nloops; i++)
			mt_places_loop(&to, p->loops[i].head, p->loops[i].depth);
		put_ranges(&to, p);
		check(w, mt_write_places(w, &to, (uint32_t)p->object, false));
		mt_places_free(&to);
	}
}

/* ---- lines ---- */

struct addresses {
	uint64_t *v;
	size_t n, room;
};

static bool add_address(struct addresses *a, uint64_t addr)
{
	if (a->n == a->room) {
		size_t room = a->room ? 2 * a->room : 1024;
		uint64_t *v = reallocarray(a->v, room, sizeof(*v));

		if (!v)
			return false;
		a->v = v;
		a->room = room;
	}
	a->v[a->n++] = addr;
	return true;
}

static bool is_access(const struct md_op *op)
{
	return op->code == MD_ACCESS || (op->code >= MD_STRING && op->code <= MD_PACKED);
}

static bool add_described(struct addresses *a, const struct inj_described *d)
{
	for (uint32_t i = 0; i < d->nnodes; i++) {
		const struct md_node *node = &d->nodes[i];

		for (uint32_t k = node->op; k < node->op + node->nops; k++)
			if (is_access(&d->ops[k]) && !add_address(a, d->code_base + node->start + d->ops[k].insn))
				return false;
	}
	return true;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Instructions that access memory, and where loops begin: what anybody asks for lines of. */
static bool collect_addresses(const struct inj_mirrors *m, const struct inj_places *p, struct addresses *a)
{
	bool good = true;

	for (size_t i = 0; i < m->ndescribed && good; i++)
		if (m->described[i].object == p->object)
			good = add_described(a, &m->described[i]);
	for (size_t i = 0; i < p->nloops && good; i++)
		good = add_address(a, p->loops[i].head);
	if (a->n)
		qsort(a->v, a->n, sizeof(*a->v), by_value);
	return good;
}

/* Is any of the addresses in there? */
static bool want_unit(void *arg, uint64_t lo, uint64_t hi)
{
	const struct addresses *a = arg;
	size_t at = search_first(i, a->n, a->v[i] >= lo);

	return at < a->n && a->v[at] < hi;
}

/* Rows that say the same as the one before are left out. */
static void put_lines(struct mt_places *to, const struct addresses *a, struct lines *lines)
{
	const char *last_file = NULL;
	int line = 0, last_line = 0;

	for (size_t i = 0; i < a->n; i++) {
		const char *file = lines_at(lines, a->v[i], &line);

		if (i && file == last_file && (!file || line == last_line))
			continue;
		mt_places_line(to, a->v[i], file, line);
		last_file = file;
		last_line = line;
	}
}

/* What is open may have been written over since, or have replaced the file that was instrumented before it was opened. */
static bool is_open(const struct inj_object *o, char *name, size_t size)
{
	struct inj_identity is;

	snprintf(name, size, "/proc/self/fd/%d", o->fd);
	return o->fd >= 0 && inj_identity_read(name, &is) == INJ_OK && inj_identity_equal(&is, &o->identity);
}

/* Where it is now helps to find its separate debug information. */
static struct lines *open_lines(const struct inj_object *o, const char *name)
{
	char path[PATH_MAX];
	ssize_t n = readlink(name, path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return lines_open_fd(path, o->fd);
}

static void tell_lines(struct inj_session *s, struct tf_writer *w, const struct inj_places *p)
{
	const struct inj_object *o = &s->objects[p->object];
	struct addresses a = { 0 };
	struct mt_places to = { 0 };
	struct lines *lines;
	char name[32];

	if (!is_open(o, name, sizeof(name)) || !collect_addresses(&s->mirrors, p, &a)) {
		free(a.v);
		return;
	}
	lines = open_lines(o, name);
	if (lines) {
		lines_restrict(lines, want_unit, &a);
		put_lines(&to, &a, lines);
	}
	check(w, mt_write_places(w, &to, (uint32_t)p->object, true));
	mt_places_free(&to);
	lines_close(lines);
	free(a.v);
}

void objects_lines(struct inj_session *s, struct tf_writer *w)
{
	for (size_t i = 0; i < s->mirrors.places_published; i++)
		tell_lines(s, w, &s->mirrors.places[i]);
}
