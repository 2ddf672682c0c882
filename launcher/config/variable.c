/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `variables:' and the location `variable NAME' say. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/config/config.h"

static const char no_memory[] = "no memory";

/* The last ':' that is not of "::"; NULL: none. */
static const char *colon_of(const char *text)
{
	for (const char *s = text + strlen(text); s-- > text;) {
		if (*s != ':')
			continue;
		if (s > text && s[-1] == ':')
			s--;
		else
			return s;
	}
	return NULL;
}

static char *trimmed(const char *s, const char *end)
{
	s += strspn(s, " ");
	while (end > s && end[-1] == ' ')
		end--;
	return strndup(s, end > s ? (size_t)(end - s) : 0);
}

/* "malloc at solve.c:12", of which @at is what follows " at ". */
static const char *parse_line(struct config_variable *v, const char *text, const char *at)
{
	const char *colon = strrchr(at, ':');
	char *end = NULL;
	unsigned long line = colon && colon[1] >= '1' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;

	if (!line || *end || line > INT_MAX || colon == at)
		return "not like 'malloc at solve.c:12'";
	v->kind = CONFIG_AT_LINE;
	v->line = (unsigned int)line;
	v->name = trimmed(text, at - strlen(" at "));
	v->file = trimmed(at, colon);
	if (!v->name || !v->file)
		return no_memory;
	return *v->name && *v->file ? NULL : "not like 'malloc at solve.c:12'";
}

static const char *parse_function(struct config_variable *v, const char *name, const char *name_end, const char *function, const char *end)
{
	char *text = trimmed(function, end);

	v->kind = CONFIG_IN_FUNCTION;
	v->name = trimmed(name, name_end);
	v->function = text && *text ? config_signature(text) : text;
	if (v->function != text)
		free(text);
	if (!v->name || !v->function)
		return no_memory;
	return *v->name && *v->function ? NULL : "not like 'f:counter' or 'malloc in f'";
}

const char *config_variable_parse(struct config_variable *v, const char *text)
{
	const char *in = strstr(text, " in "), *at = strstr(text, " at "), *colon = colon_of(text), *end = text + strlen(text);
	const char *wrong = NULL;

	*v = (struct config_variable){ .kind = CONFIG_PLAIN };
	if (in) {
		wrong = parse_function(v, text, in, in + strlen(" in "), end);
	} else if (at) {
		wrong = parse_line(v, text, at + strlen(" at "));
	} else if (colon) {
		wrong = parse_function(v, colon + 1, end, text, colon);
	} else {
		v->name = trimmed(text, end);
		wrong = !v->name ? no_memory : *v->name ? NULL : "a name is missing";
	}
	if (wrong)
		config_variable_free(v);
	return wrong;
}

void config_variable_free(struct config_variable *v)
{
	free(v->name);
	free(v->function);
	free(v->file);
	*v = (struct config_variable){ 0 };
}
