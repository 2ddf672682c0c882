// SPDX-License-Identifier: GPL-3.0-or-later
/* Names of what was accepted, of what it calls, and of what stayed open. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/signatures/sigmatch-int.h"

struct list {
	struct inj_sig_found *v;
	size_t n, room;
	bool failed;
};

static void put(struct list *l, struct inj_sig_found found)
{
	if (array_room(l->v, l->room, l->n + 1))
		l->v[l->n++] = found;
	else
		l->failed = true;
}

static void put_function(struct list *l, const struct match *m, const struct instance *in, uint32_t func, bool all)
{
	const struct inj_sig_file *f = &m->files[in->file];
	const struct sig_func *fn = &f->funcs[func];

	for (uint32_t i = fn->names; i < fn->names + (all ? fn->nnames : 1); i++)
		put(l, (struct inj_sig_found){ in->base + fn->at, fn->len, f->text + f->names[i].text, f->names[i].flags, in->file });
}

static bool has_accepted(const struct match *m, const struct place *p)
{
	for (uint32_t i = p->claims; i; i = m->claims[i - 1].next)
		if (m->instances[m->claims[i - 1].instance].state == SIG_ACCEPTED)
			return true;
	return false;
}

/* What only its callers name: it is another program's than the archive's, or too small to be looked for. */
static void put_said(struct list *l, struct match *m, const struct place *p)
{
	const struct inj_sig_start *start = sig_start(m, p->addr);
	size_t first = l->n;

	if (sig_is_covered(m, p->addr))
		return;
	for (uint32_t i = p->said; i; i = m->said[i - 1].next) {
		const struct said *s = &m->said[i - 1];
		const struct inj_sig_file *f = &m->files[s->file];
		const struct sig_symbol *symbol = &f->symbols[s->symbol];
		bool known = false;

		if (symbol->text == SIG_NONE || !(s->branch || start))
			continue;
		for (size_t k = first; k < l->n; k++)
			known |= strcmp(l->v[k].name, f->text + symbol->text) == 0;
		if (!known)
			put(l, (struct inj_sig_found){ p->addr, start ? start->size : 0, f->text + symbol->text, SIG_NAME_GLOBAL, s->file });
	}
}

static void put_open(struct list *l, const struct match *m, const struct place *p)
{
	size_t first = l->n;

	for (uint32_t i = p->claims; i; i = m->claims[i - 1].next) {
		const struct instance *in = &m->instances[m->claims[i - 1].instance];
		const struct inj_sig_file *f = &m->files[in->file];
		const char *name = f->text + f->names[f->funcs[m->claims[i - 1].func].names].text;
		bool known = in->state != SIG_OPEN;

		for (size_t k = first; k < l->n && !known; k++)
			known = strcmp(l->v[k].name, name) == 0;
		if (!known)
			put_function(l, m, in, m->claims[i - 1].func, false);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct place *x = *(const struct place *const *)a, *y = *(const struct place *const *)b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void put_place(struct match *m, const struct place *p, struct list *found, struct list *unsure)
{
	size_t before = found->n;

	if (has_accepted(m, p)) {
		for (uint32_t i = p->claims; i; i = m->claims[i - 1].next)
			if (m->instances[m->claims[i - 1].instance].state == SIG_ACCEPTED)
				put_function(found, m, &m->instances[m->claims[i - 1].instance], m->claims[i - 1].func, true);
		return;
	}
	put_said(found, m, p);
	if (found->n == before)
		put_open(unsure, m, p);
}

bool sig_results(struct match *m, struct inj_sig_result *r)
{
	struct list found = { 0 }, unsure = { 0 };
	const struct place **order = calloc(m->nplaces + 1, sizeof(struct place *));
	size_t n = 0;

	for (size_t i = 0; order && i < m->places_room; i++)
		if (m->places[i].used)
			order[n++] = &m->places[i];
	if (n)
		qsort(order, n, sizeof(struct place *), by_address);
	for (size_t i = 0; i < n; i++)
		put_place(m, order[i], &found, &unsure);
	*r = (struct inj_sig_result){ found.v, found.n, unsure.v, unsure.n };
	n = order != NULL;
	free(order);
	return n && !found.failed && !unsure.failed;
}
