/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a selection matched nothing, and what may have been meant. */
#include "launcher/common/message.h"
#include "launcher/select/state.h"

#include <stdio.h>
#include <string.h>

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
	*miss = (struct select_miss){ .option = option, .pattern = p->text, .in_trace = sel->trace != NULL,
				      .near = p->near.n ? &p->near : NULL };
	if (p->lib && !p->lib_seen)
		miss->why = sel->is_static ? SELECT_STATIC : SELECT_NO_LIBRARY;
	else if (p->kind == PATTERN_LINE)
		miss->why = p->why ? p->why : SELECT_NO_DEBUG_INFO;
	else
		miss->why = p->searched && (p->named || p->why != SELECT_STRIPPED) ? SELECT_NO_FUNCTION : p->why;
	return true;
}

static bool fill_lib(const struct select *sel, const struct select_lib *lib, struct select_miss *miss)
{
	if (lib->hit || (sel->is_static && strcmp(lib->glob, "*") == 0))
		return false;
	*miss = (struct select_miss){ .option = "--libs", .pattern = lib->glob,
				      .in_trace = sel->trace != NULL,
				      .why = sel->is_static ? SELECT_STATIC : SELECT_NO_LIBRARY };
	return true;
}

bool select_next_miss(const struct select *sel, size_t *at, struct select_miss *miss)
{
	size_t nwanted = sel->wanted.n, npatterns = nwanted + sel->excluded.n;

	for (size_t i = *at; i < npatterns + sel->nlibs; i++) {
		*at = i + 1;
		if (i < nwanted && fill_pattern(sel, &sel->wanted.v[i], sel->option, miss)) {
			miss->more_libraries = !sel->wanted.v[i].lib && !sel->nlibs && !sel->is_static &&
					       !sel->trace && sel->option[0] == '-';
			return true;
		}
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
		[SELECT_OTHER_FILE] = "the program's file is not the one that was recorded, so its lines are not known",
		[SELECT_STATIC] = "the program is static, it has no libraries",
		[SELECT_NO_SYMBOLS] = "no functions are known: there are no symbols and no unwind tables",
		[SELECT_STRIPPED] = ("there are no symbols; `sonde list -F '*'' shows what functions are called, `sonde signature' "
				     "names those of static libraries"),
		[SELECT_GO_STRIPPED] = "no functions are known: code made by Go, without symbols (link it without -s)",
	};
	char near[NEAR_MAX_TEXT] = "";
	bool named = miss->why == SELECT_NO_FUNCTION || miss->why == SELECT_NO_LIBRARY;
	const char *where = "";

	if (miss->near)
		near_text(miss->near, near, sizeof(near));
	else if (miss->why == SELECT_NO_FUNCTION && miss->more_libraries)
		where = " in the program itself; --libs looks in its libraries too";
	if ((named || miss->why == SELECT_NO_SOURCE) && miss->in_trace)
		where = " in the trace";
	else if (miss->why == SELECT_NO_CODE && miss->in_trace)
		where = " in the trace's functions";
	snprintf(buf, size, "%s%s%s: %s%s%s", miss->option, *miss->option ? " " : "", miss->pattern,
		 texts[miss->why], where, near);
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
	if (final && !n && sel->small && !sel->any && !sel->small_said) {
		msg_warn("%s: all functions of that name are smaller than --min-size", sel->option);
		sel->small_said = true;
		n++;
	}
	return n;
}

void select_said_libraries(struct select *sel, const struct select *before)
{
	for (size_t i = 0; i < sel->nlibs; i++)
		for (size_t k = 0; k < before->nlibs; k++)
			sel->libs[i].said |= before->libs[k].said && strcmp(sel->libs[i].glob, before->libs[k].glob) == 0;
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
