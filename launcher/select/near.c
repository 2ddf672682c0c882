/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/near.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ELSEWHERE 1u /* the distance of a function of the same name in another namespace */
#define FAR UINT_MAX

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned int least_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * How many letters have to be put in, left out, replaced or swapped with the next one, whatever their case
 * ("optimal string alignment"); at most @limit (limit + 1: more).  @a ends where @na says.
 */
static unsigned int distance(const char *a, size_t na, const char *b, unsigned int limit)
{
	unsigned int rows[3][NEAR_MAX_NAME], *before = rows[0], *above = rows[1], *row = rows[2];
	size_t nb = strlen(b);

	if (na >= NEAR_MAX_NAME || nb >= NEAR_MAX_NAME || na > nb + limit || nb > na + limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int *next = before, least;

		before = above;
		above = row;
		row = next;
		row[0] = least = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = least_of(above[j - 1] + !same(a[i - 1], b[j - 1]),
					  least_of(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = least_of(row[j], before[j - 2] + 1);
			least = least_of(least, row[j]);
		}
		if (least > limit)
			return limit + 1;
	}
	return row[nb];
}

/* FAR: not alike.  @wanted has no parameters, it ends where @n says. */
static unsigned int word_distance(const char *wanted, size_t n, const char *text)
{
	const char *end = wanted + n, *own = function_name_own(wanted, end);
	const char *other = function_name_own(text, text + strlen(text));
	unsigned int limit = n / 3 < 1 ? 1 : n / 3 > 5 ? 5 : (unsigned int)(n / 3);
	unsigned int d = distance(wanted, n, text, limit);

	if (d <= limit)
		return d;
	if (strlen(other) == (size_t)(end - own) && strncasecmp(own, other, (size_t)(end - own)) == 0)
		return ELSEWHERE;
	return FAR;
}

static unsigned int glob_distance(const char *glob, const char *text)
{
	const char *own = function_name_own(text, text + strlen(text));

	if (fnmatch(glob, text, FNM_CASEFOLD) == 0 || fnmatch(glob, own, FNM_CASEFOLD) == 0)
		return ELSEWHERE;
	return FAR;
}

static void keep(struct near_names *near, const char *text, unsigned int d)
{
	size_t at = 0;

	for (size_t i = 0; i < near->n; i++)
		if (strcmp(near->v[i].text, text) == 0)
			return;
	while (at < near->n && near->v[at].distance <= d)
		at++;
	if (at == NEAR_MAX || strlen(text) >= NEAR_MAX_NAME)
		return;
	near->n += near->n < NEAR_MAX;
	memmove(&near->v[at + 1], &near->v[at], (near->n - at - 1) * sizeof(near->v[0]));
	strcpy(near->v[at].text, text);
	near->v[at].distance = d;
}

/* The parameters are what differs: they are to be seen. */
static const char *with_params(struct function_name *name)
{
	size_t n = function_name_forms(name, true);

	return n > name->nplain ? name->form[name->nplain].text : name->symbol;
}

static const char *shown(enum near_how how, struct function_name *name)
{
	return how == NEAR_WRAP && !function_name_is_mangled(name->symbol) ? name->symbol :
									     function_name_shown(name);
}

void near_note(struct near_names *near, const char *wanted, enum near_how how, struct function_name *name)
{
	const char *params = how == NEAR_GLOB ? NULL : function_name_params(wanted);
	size_t len = params ? (size_t)(params - wanted) : strlen(wanted);
	size_t n = function_name_forms(name, false);
	unsigned int best = FAR;

	for (size_t i = 0; i <= n; i++) {
		const char *text = i < n ? name->form[i].text : name->symbol;
		unsigned int d = how == NEAR_GLOB ? glob_distance(wanted, text) :
						    word_distance(wanted, len, text);

		best = d < best ? d : best;
	}
	if (best == 0 && params)
		keep(near, with_params(name), best);
	else if (best != FAR)
		keep(near, shown(how, name), best);
}

void near_text(const struct near_names *near, char *buf, size_t size)
{
	size_t at = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < near->n && at < size; i++) {
		int n = snprintf(buf + at, size - at, "%s'%s'%s", i == 0 ? "; did you mean " : " or ",
				 near->v[i].text, i + 1 == near->n ? "?" : "");

		at += n > 0 ? (size_t)n : 0;
	}
}
