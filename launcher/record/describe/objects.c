// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/image/identity.h"
#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/record/describe/objects.h"
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
	inj_object_hold(o);
	if (!o->identity.code && inj_identity_read(o->path, &o->identity) != INJ_OK)
		return;
	object.code = o->identity.code;
	check(w, tf_writer_object(w, &object));
}

/* ---- functions and loops of memory traces ---- */

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

/* ---- what was called, and lines ---- */

struct function {
	uint64_t addr, size;
	const char *name;
	bool written;
};

/* What is instrumented in one object. */
struct functions {
	struct function *v;
	size_t n, room;
};

static bool add_function(struct functions *f, const struct function *function)
{
	if (!array_room(f->v, f->room, f->n + 1))
		return false;
	f->v[f->n++] = *function;
	return true;
}

static bool add_recorded(struct functions *f, const struct inj_mirrors *m, size_t object)
{
	bool good = true;

	for (size_t i = 0; i < m->n && good; i++) {
		const struct inj_recorded *r = &m->v[i];

		if (r->object == object && r->state == INJ_RECORDED_OK && (r->enter || r->counters))
			good = add_function(f, &(struct function){ r->file_addr, r->size, r->name, false });
	}
	return good;
}

static bool add_wrapped(struct functions *f, const struct inj_session *s, size_t object)
{
	const struct inj_symtab *tab = s->objects[object].symtab;
	bool good = true;

	for (size_t i = 0; tab && i < s->nwraps && good; i++) {
		const struct inj_wrap *w = &s->wraps[i];
		const struct inj_symbol *sym = NULL;

		if (w->object == object && w->state == INJ_WRAP_ACTIVE)
			sym = inj_symtab_at(tab, w->file_addr);
		if (sym && sym->size)
			good = add_function(f, &(struct function){ w->file_addr, sym->size, w->symbol, false });
	}
	return good;
}

static bool add_written(struct functions *f, const struct inj_session *s, const struct inj_places *p)
{
	const struct inj_codefacts *facts = s->objects[p->object].facts;
	bool good = true;

	for (size_t i = 0; i < p->nfns && good; i++) {
		const struct tramp_fn *fn = &facts->facts.fns[p->fns[i]];

		good = add_function(f, &(struct function){ fn->addr, fn->size, NULL, true });
	}
	return good;
}

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return y->written - x->written;
}

/* Ascending; what begins inside another one is left out. */
static void sort(struct functions *f)
{
	size_t n = 0;

	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_address);
	for (size_t i = 0; i < f->n; i++)
		if (!n || f->v[i].addr - f->v[n - 1].addr >= f->v[n - 1].size)
			f->v[n++] = f->v[i];
	f->n = n;
}

static bool collect(struct functions *f, const struct inj_session *s, size_t object)
{
	bool good = add_recorded(f, &s->mirrors, object) && add_wrapped(f, s, object);

	for (size_t i = 0; i < s->mirrors.places_published && good; i++)
		if (s->mirrors.places[i].object == object)
			good = add_written(f, s, &s->mirrors.places[i]);
	sort(f);
	return good;
}

/* Is code of any function in there? */
static bool want_unit(void *arg, uint64_t lo, uint64_t hi)
{
	const struct functions *f = arg;
	size_t at = search_first(i, f->n, f->v[i].addr + f->v[i].size > lo);

	return at < f->n && f->v[at].addr < hi;
}

/* Rows that say the same as the one before are left out. */
struct rows {
	struct mt_places *to;
	const char *file;
	int line;
};

static void put_row(void *arg, uint64_t addr, const char *file, int line)
{
	struct rows *rows = arg;

	if (file == rows->file && (!file || line == rows->line))
		return;
	mt_places_line(rows->to, addr, file, line);
	rows->file = file;
	rows->line = line;
}

static void put_lines(struct mt_places *to, const struct functions *f, struct lines *lines)
{
	struct rows rows = { .to = to };

	for (size_t i = 0; i < f->n; i++) {
		uint64_t end = f->v[i].addr + f->v[i].size;

		lines_each(lines, f->v[i].addr, end, put_row, &rows);
		if (i + 1 == f->n || f->v[i + 1].addr != end)
			put_row(&rows, end, NULL, 0);
	}
}

/* What is open may have been written over since, or have replaced the file that was instrumented before it was opened. */
static bool is_open(const struct inj_object *o, char *name, size_t size)
{
	struct inj_identity is;

	snprintf(name, size, "/proc/self/fd/%d", o->fd);
	if (o->fd >= 0 && o->kept && inj_kept_is_of(o->kept, o->fd))
		return true;
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

/* Whether a file that was written over has lines is not known. */
static bool read_lines(struct mt_places *to, struct functions *f, const struct inj_object *o)
{
	struct lines *lines;
	char name[32];

	if (!is_open(o, name, sizeof(name)))
		return false;
	lines = open_lines(o, name);
	if (lines) {
		lines_restrict(lines, want_unit, f);
		put_lines(to, f, lines);
	}
	lines_close(lines);
	return true;
}

/*
 * What the lines of an object's functions are.  Programs of one job have libraries, and what is instrumented in them, in common,
 * and to read debug information takes longer than many a program runs.
 */
struct kept {
	struct inj_identity of;
	uint64_t functions; /* a hash */
	struct mt_places places;
	bool lines;
};

#define MAX_KEPT 64

static uint64_t hash_functions(const struct functions *f)
{
	uint64_t hash = f->n;

	for (size_t i = 0; i < f->n; i++)
		hash = (hash ^ f->v[i].addr ^ f->v[i].size << 48 ^ f->v[i].written) * UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

/* Found, or made in a place that is used anew. */
static struct kept *keep_places(struct functions *f, const struct inj_object *o)
{
	static struct kept kept[MAX_KEPT];
	static size_t n;
	uint64_t functions = hash_functions(f);
	struct kept *k;

	for (size_t i = 0; i < n && i < MAX_KEPT; i++)
		if (kept[i].functions == functions && inj_identity_equal(&kept[i].of, &o->identity))
			return &kept[i];
	k = &kept[n++ % MAX_KEPT];
	mt_places_free(&k->places);
	*k = (struct kept){ .of = o->identity, .functions = functions };
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i].written)
			mt_places_function(&k->places, f->v[i].addr, f->v[i].size, f->v[i].name);
	k->lines = read_lines(&k->places, f, o);
	return k;
}

static void finish_object(struct inj_session *s, struct tf_writer *w, size_t object)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct functions f = { 0 };
	const struct kept *k;

	if (collect(&f, s, object) && f.n) {
		pthread_mutex_lock(&lock);	/* of what is kept */
		k = keep_places(&f, &s->objects[object]);
		check(w, mt_write_places(w, &k->places, (uint32_t)object, k->lines));
		pthread_mutex_unlock(&lock);
	}
	free(f.v);
}

void objects_ask_no_server(void)
{
	unsetenv("DEBUGINFOD_URLS");
}

void objects_finish(struct inj_session *s, struct tf_writer *w)
{
	objects_ask_no_server(); /* the end of a recording does not wait for one */
	for (size_t i = 0; i < s->nobjects; i++)
		if (s->objects[i].published)
			finish_object(s, w, i);
}
