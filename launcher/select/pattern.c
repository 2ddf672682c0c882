/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/pattern.h"
#include "base/array.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- where a pattern ends ---- */

/* After an expression's second '/': the one that ends the pattern. NULL: there is none. */
static const char *end_of_regex(const char *s)
{
	for (s++; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '/' && (!s[1] || s[1] == ',' || s[1] == '@'))
			return s + 1;
	}
	return NULL;
}

/* Commas in parameters, in a template's arguments and in brackets are the name's own. */
static const char *end_of_glob(const char *s)
{
	int depth = 0;

	while (*s && !(*s == ',' && depth <= 0)) {
		if (strncmp(s, "operator", 8) == 0) {
			s = function_name_behind_operator(s);
			continue;
		}
		if (strchr("(<[{", *s))
			depth++;
		else if (strchr(")>]}", *s))
			depth--;
		s++;
	}
	return s;
}

const char *pattern_end(const char *s)
{
	const char *end = *s == '/' ? end_of_regex(s) : NULL;

	return end ? end + strcspn(end, ",") : end_of_glob(s);
}

/* ---- one pattern ---- */

static bool say(char *problem, size_t size, const char *text, const char *what)
{
	snprintf(problem, size, "pattern '%s': %s", text, what);
	return false;
}

/* A demangler writes a blank after commas, but not in "operator,"; the set "[a,b]" is no name. */
static bool wants_blank(const char *body, const char *comma, bool in_set)
{
	return !in_set && comma[1] != ' ' && comma[1] != '\0' &&
	       !(comma - body >= 8 && strncmp(comma - 8, "operator", 8) == 0);
}

/* "f(int,char)" becomes "f(int, char)", as demangled names are written. */
static char *with_blanks(const char *body)
{
	char *text = malloc(2 * strlen(body) + 1), *to = text;
	bool in_set = false;

	if (!text)
		return NULL;
	for (const char *s = body; *s; s++) {
		in_set = *s == '[' || (in_set && *s != ']');
		*to++ = *s;
		if (*s == ',' && wants_blank(body, s, in_set))
			*to++ = ' ';
	}
	*to = '\0';
	return text;
}

/* Before parameters, and not as part of "operator<". */
static bool names_template(const char *body)
{
	for (const char *s = body; *s && *s != '('; s++) {
		if (*s == '<')
			return true;
		if (strncmp(s, "operator", strlen("operator")) == 0)
			s = function_name_behind_operator(s) - 1;
	}
	return false;
}

static bool parse_regex(struct pattern *p, char *problem, size_t size)
{
	char why[128];

	/* the slashes are not part of it */
	memmove(p->body, p->body + 1, strlen(p->body));
	p->body[strlen(p->body) - 1] = '\0';
	p->params = strstr(p->body, "\\(") || strstr(p->body, "[(");
	p->template = strchr(p->body, '<') != NULL;
	if (!*p->body)
		return say(problem, size, p->text, "an empty expression");
	int err = regcomp(&p->regex, p->body, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &p->regex, why, sizeof(why));
		return say(problem, size, p->text, why);
	}
	p->kind = PATTERN_REGEX;
	return true;
}

static bool parse_line(struct pattern *p, char *problem, size_t size)
{
	char *colon = strrchr(p->body, ':'), *end;
	unsigned long line;

	if (!colon || colon == p->body + 1 || colon[1] < '0' || colon[1] > '9')
		return say(problem, size, p->text, "not @FILE:LINE");
	errno = 0;
	line = strtoul(colon + 1, &end, 10);
	if (errno || *end || line == 0 || line > INT_MAX)
		return say(problem, size, p->text, "not a line number");
	*colon = '\0';
	memmove(p->body, p->body + 1, strlen(p->body));
	p->line = (unsigned int)line;
	p->kind = PATTERN_LINE;
	return true;
}

static bool parse_glob(struct pattern *p, char *problem, size_t size)
{
	char *body = with_blanks(p->body);

	if (!body)
		return say(problem, size, p->text, "out of memory");
	free(p->body);
	p->body = body;
	p->params = strchr(p->body, '(') != NULL;
	p->template = names_template(p->body);
	p->kind = strcmp(p->body, "*") == 0 ? PATTERN_ALL
		  : strpbrk(p->body, "*?[\\") ? PATTERN_GLOB
					      : PATTERN_WORD;
	return true;
}

/* "PATTERN@LIB" is cut in two. A line's first '@', and one in an expression, is not that. */
static bool cut_library(struct pattern *p, char *problem, size_t size)
{
	const char *regex = p->body[0] == '/' ? end_of_regex(p->body) : NULL;
	char *at = strrchr(regex ? regex : p->body + 1, '@');

	if (!at)
		return true;
	if (!at[1])
		return say(problem, size, p->text, "nothing after '@'");
	p->lib = strdup(at + 1);
	*at = '\0';
	return p->lib || say(problem, size, p->text, "out of memory");
}

static bool parse_one(struct pattern *p, const char *s, size_t len, char *problem, size_t size)
{
	p->text = strndup(s, len);
	p->body = strndup(s, len);
	if (!p->text || !p->body)
		return say(problem, size, s, "out of memory");
	if (!len)
		return say(problem, size, s, "an empty name");
	if (!cut_library(p, problem, size))
		return false;
	if (p->body[0] == '/' && !end_of_regex(p->body))
		return say(problem, size, p->text, "the expression has no second '/'");
	if (p->body[0] == '/')
		return parse_regex(p, problem, size);
	return p->body[0] == '@' ? parse_line(p, problem, size) : parse_glob(p, problem, size);
}

bool pattern_parse(struct pattern_list *list, const char *text, char *problem, size_t size)
{
	for (const char *s = text;; s++) {
		const char *end = pattern_end(s);

		if (!array_one_more(list->v, list->n))
			return say(problem, size, text, "out of memory");
		list->v[list->n] = (struct pattern){ 0 };
		if (!parse_one(&list->v[list->n++], s, (size_t)(end - s), problem, size))
			return false;
		s = end;
		if (!*s)
			return true;
	}
}

void pattern_list_free(struct pattern_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pattern *p = &list->v[i];

		if (p->kind == PATTERN_REGEX)
			regfree(&p->regex);
		free(p->text);
		free(p->body);
		free(p->lib);
	}
	free(list->v);
	*list = (struct pattern_list){ 0 };
}

/* ---- libraries ---- */

bool pattern_lib_is(const char *lib, const char *file)
{
	size_t len = strlen(lib);

	if (fnmatch(lib, file, 0) == 0)
		return true;
	return strncmp(lib, file, len) == 0 && (file[len] == '.' || file[len] == '-');
}

/* ---- names ---- */

static bool matches_text(const struct pattern *p, const char *text)
{
	if (!text)
		return false;
	switch (p->kind) {
	case PATTERN_ALL:
		return true;
	case PATTERN_WORD:
		return strcmp(p->body, text) == 0;
	case PATTERN_GLOB:
		return fnmatch(p->body, text, 0) == 0;
	case PATTERN_REGEX:
		return regexec(&p->regex, text, 0, NULL, 0) == 0;
	case PATTERN_LINE:
		break;
	}
	return false;
}

static bool applies(const struct pattern *p, enum name_form_kind kind)
{
	switch (kind) {
	case NAME_PLAIN:
		return true;
	case NAME_NO_TEMPLATE:
		return !p->template;
	case NAME_PARAMS:
		return p->params;
	case NAME_PARAMS_NO_TEMPLATE:
		return p->params && !p->template;
	}
	return false;
}

bool pattern_matches(const struct pattern *p, struct function_name *name)
{
	if (matches_text(p, name->symbol))
		return true;
	size_t n = function_name_forms(name, p->params);
	for (size_t i = 0; i < n; i++) {
		if (applies(p, name->form[i].kind) && matches_text(p, name->form[i].text))
			return true;
	}
	return false;
}

void pattern_note_near(struct pattern *p, struct function_name *name)
{
	if (p->kind == PATTERN_WORD || p->kind == PATTERN_GLOB)
		near_note(&p->near, p->body, p->kind == PATTERN_GLOB ? NEAR_GLOB : NEAR_WORD, name);
}
