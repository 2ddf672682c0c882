/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of advice: added, joined where several processes have the same, ordered. */
#include "launcher/advise/advise.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *advice_kind_word(enum advice_kind kind)
{
	static const char *const words[ADVICE_KINDS] = {
		[ADVICE_STRIDE] = "stride", [ADVICE_FIELDS] = "fields", [ADVICE_ALIGNMENT] = "alignment", [ADVICE_ALIASING] = "aliasing",
		[ADVICE_VECTOR] = "vectorization", [ADVICE_TRIPS] = "trip count", [ADVICE_SHARING] = "sharing", [ADVICE_CACHE] = "cache",
		[ADVICE_CONFLICT] = "conflicts", [ADVICE_TLB] = "TLB", [ADVICE_IMBALANCE] = "imbalance", [ADVICE_CALLS] = "calls",
		[ADVICE_ALLOCATION] = "allocation",
	};

	return words[kind];
}

void advise_of_text(const struct advise *a, enum advice_of of, char text[static 64])
{
	switch (of) {
	case ADVICE_OF_ACCESSES:
		strcpy(text, "accesses");
		return;
	case ADVICE_OF_INSNS:
		strcpy(text, "instructions");
		return;
	case ADVICE_OF_TIME:
		strcpy(text, "threads' time");
		return;
	case ADVICE_OF_TEAMS:
		strcpy(text, "OpenMP teams' time");
		return;
	default:
		snprintf(text, 64, "%s misses", a->systems.v[0].level[of - ADVICE_OF_MISSES].name);
	}
}

char *advise_text(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same, of another process: the text is that of the one with the larger amount. */
static struct advice *find_alike(struct advise *a, const struct advice *like)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct advice_place *p = &a->v[i].place, *q = &like->place;

		if (a->v[i].round != a->round && a->v[i].kind == like->kind && a->v[i].of == like->of && p->address == q->address && p->line == q->line &&
		    same_text(p->path, q->path) && same_text(p->function, q->function) && same_text(p->file, q->file) &&
		    same_text(p->variable, q->variable))
			return &a->v[i];
	}
	return NULL;
}

static bool copy(const char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static void free_advice(struct advice *v)
{
	free((char *)v->place.function);
	free((char *)v->place.path);
	free((char *)v->place.file);
	free((char *)v->place.variable);
	free(v->evidence);
	free(v->todo);
}

static void join(struct advice *v, const struct advice *like, char *evidence, char *todo)
{
	const bool more = like->amount > v->amount / (1 + v->alike);

	v->amount += like->amount;
	v->alike++;
	free(more ? v->evidence : evidence);
	free(more ? v->todo : todo);
	if (!more)
		return;
	v->evidence = evidence;
	v->todo = todo;
}

void advise_add(struct advise *a, const struct advice *like, char *evidence, char *todo)
{
	struct advice *v = find_alike(a, like);
	bool good;

	if (!evidence || !todo || (!v && !array_room(a->v, a->room, a->n + 1))) {
		a->failed = true;
		free(evidence);
		free(todo);
		return;
	}
	if (v) {
		join(v, like, evidence, todo);
		v->round = a->round;
		return;
	}
	v = &a->v[a->n++];
	*v = *like;
	v->round = a->round;
	v->evidence = evidence;
	v->todo = todo;
	good = copy(&v->place.function, like->place.function);
	good = copy(&v->place.path, like->place.path) && good;
	good = copy(&v->place.file, like->place.file) && good;
	good = copy(&v->place.variable, like->place.variable) && good;
	a->failed |= !good;
}

void advise_lacks(struct advise *a, const char *what, const char *option)
{
	size_t n = strlen(a->missing);

	snprintf(a->missing + n, sizeof(a->missing) - n, "%s%s (%s)", n ? ", " : "", what, option);
}

static int by_share(const void *x, const void *y)
{
	const struct advice *a = x, *b = y;
	const char *p = a->place.function ? a->place.function : "", *q = b->place.function ? b->place.function : "";

	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (strcmp(p, q) != 0)
		return strcmp(p, q);
	if (a->place.address != b->place.address)
		return a->place.address < b->place.address ? -1 : 1;
	return (a->place.line > b->place.line) - (a->place.line < b->place.line);
}

void advise_sort(struct advise *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		struct advice *v = &a->v[i];

		v->share = a->whole[v->of] > 0 ? v->amount / a->whole[v->of] : 0;
		v->share = v->share < 1 ? v->share : 1;
		if (v->share >= ADVISE_LEAST)
			a->v[n++] = *v;
		else
			free_advice(v);
	}
	a->few = a->n - n;
	a->n = n;
	if (n)
		qsort(a->v, n, sizeof(*a->v), by_share);
}

void advise_free(struct advise *a)
{
	for (size_t i = 0; i < a->n; i++)
		free_advice(&a->v[i]);
	free(a->v);
	advise_codes_free(a->codes);
	cache_systems_free(&a->systems);
	a->v = NULL;
	a->n = 0;
}
