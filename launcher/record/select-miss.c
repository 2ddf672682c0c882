/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a selection matched nothing, and what may have been meant. */
#include "launcher/common/message.h"
#include "launcher/record/select-state.h"

#include <stdio.h>
#include <string.h>

/* ---- near names ---- */

static void add_near(struct pattern *p, const struct inj_near *near)
{
	size_t at = 0;

	for (size_t i = 0; i < p->nnear; i++) {
		if (strcmp(p->near[i], near->name) == 0)
			return;
	}
	while (at < p->nnear && p->distance[at] <= near->distance)
		at++;
	if (at == SELECT_MAX_NEAR || strlen(near->name) >= sizeof(p->near[0]))
		return;
	if (p->nnear < SELECT_MAX_NEAR)
		p->nnear++;
	memmove(p->near[at + 1], p->near[at], (p->nnear - at - 1) * sizeof(p->near[0]));
	memmove(&p->distance[at + 1], &p->distance[at], (p->nnear - at - 1) * sizeof(p->distance[0]));
	strcpy(p->near[at], near->name);
	p->distance[at] = near->distance;
}

void select_note_near(struct pattern_list *list, const struct inj_symtab *tab)
{
	struct inj_near near[SELECT_MAX_NEAR];

	for (size_t i = 0; i < list->n; i++) {
		struct pattern *p = &list->v[i];

		if (p->hit || p->kind != PATTERN_WORD)
			continue;
		size_t n = inj_symtab_near(tab, p->body, near, 0, SELECT_MAX_NEAR);
		for (size_t k = 0; k < n; k++)
			add_near(p, &near[k]);
	}
}

/* ---- what has no hit ---- */

void select_no_libraries(struct select *sel)
{
	sel->is_static = true;
}

static bool fill_pattern(const struct select *sel, const struct pattern *p, const char *option,
			 struct select_miss *miss)
{
	if (p->hit)
		return false;
	*miss = (struct select_miss){ .option = option, .pattern = p->text, .nnear = p->nnear };
	if (p->lib && !p->lib_seen)
		miss->why = sel->is_static ? SELECT_STATIC : SELECT_NO_LIBRARY;
	else if (p->kind == PATTERN_LINE)
		miss->why = p->why ? p->why : SELECT_NO_DEBUG_INFO;
	else
		miss->why = p->searched ? SELECT_NO_FUNCTION : p->why;
	for (size_t i = 0; i < p->nnear; i++)
		miss->near[i] = p->near[i];
	return true;
}

static bool fill_lib(const struct select *sel, const struct select_lib *lib, struct select_miss *miss)
{
	if (lib->hit || (sel->is_static && strcmp(lib->glob, "*") == 0))
		return false;
	*miss = (struct select_miss){ .option = "--libs", .pattern = lib->glob,
				      .why = sel->is_static ? SELECT_STATIC : SELECT_NO_LIBRARY };
	return true;
}

bool select_next_miss(const struct select *sel, size_t *at, struct select_miss *miss)
{
	size_t nwanted = sel->wanted.n, npatterns = nwanted + sel->excluded.n;

	for (size_t i = *at; i < npatterns + sel->nlibs; i++) {
		*at = i + 1;
		if (i < nwanted && fill_pattern(sel, &sel->wanted.v[i], sel->option, miss))
			return true;
		if (i >= nwanted && i < npatterns &&
		    fill_pattern(sel, &sel->excluded.v[i - nwanted], "-N", miss))
			return true;
		if (i >= npatterns && fill_lib(sel, &sel->libs[i - npatterns], miss))
			return true;
	}
	return false;
}

/* ---- saying it ---- */

static bool *said(struct select *sel, size_t i)
{
	size_t nwanted = sel->wanted.n, npatterns = nwanted + sel->excluded.n;

	if (i < nwanted)
		return &sel->wanted.v[i].said;
	return i < npatterns ? &sel->excluded.v[i - nwanted].said : &sel->libs[i - npatterns].said;
}

void select_miss_text(const struct select_miss *miss, char *buf, size_t size)
{
	static const char *const texts[] = {
		[SELECT_NO_FUNCTION] = "no such function",
		[SELECT_NO_LIBRARY] = "no such library",
		[SELECT_NO_DEBUG_INFO] = "there are no line numbers (compile with -g)",
		[SELECT_NO_SOURCE] = "no such source file",
		[SELECT_NO_CODE] = "there is no code at this line",
		[SELECT_STATIC] = "the program is static, it has no libraries",
		[SELECT_NO_SYMBOLS] = "no functions are known: there are no symbols and no unwind tables",
		[SELECT_GO_STRIPPED] = "no functions are known: code made by Go, without symbols (link it without -s)",
	};
	char near[SELECT_MAX_NEAR * (PATTERN_NEAR_NAME + 16)] = "";
	size_t len = 0;

	for (size_t i = 0; i < miss->nnear; i++)
		len += (size_t)snprintf(near + len, sizeof(near) - len, "%s'%s'",
					i == 0 ? "; did you mean " : " or ", miss->near[i]);
	snprintf(buf, size, "%s %s: %s%s%s", miss->option, miss->pattern, texts[miss->why], near,
		 miss->nnear ? "?" : "");
}

size_t select_warn(struct select *sel, bool final)
{
	struct select_miss miss;
	char text[SELECT_MISS_TEXT];
	size_t at = 0, n = 0;

	while (select_next_miss(sel, &at, &miss)) {
		bool *reported = said(sel, at - 1);

		if (*reported || (!final && miss.why == SELECT_NO_LIBRARY))
			continue;
		select_miss_text(&miss, text, sizeof(text));
		msg_warn("%s", text);
		*reported = true;
		n++;
	}
	return n;
}

void select_say_none(const struct select *sel, const char *path)
{
	struct select_miss miss;
	char text[SELECT_MISS_TEXT] = "no functions are chosen";
	size_t at = 0;

	if (select_next_miss(sel, &at, &miss))
		select_miss_text(&miss, text, sizeof(text));
	msg_error("%s: %s", path, text);
}
