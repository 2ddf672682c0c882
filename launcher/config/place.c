/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a location says. */
#include "launcher/config/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/select/pattern.h"

#define MOST_COPIES (UINT64_C(1) << 14) /* in a regular expression */

static const char no_memory[] = "no memory";

void config_place_free(struct config_place *p)
{
	free(p->text);
	free(p->name);
	free(p->file);
}

/* ---- signatures ---- */

/* The end of a parameter: a comma or the closing parenthesis that is not in brackets. */
static const char *end_of_parameter(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		if (strchr("(<[", *s))
			depth++;
		else if (depth && strchr(")>]", *s))
			depth--;
		else if (!depth && (*s == ',' || *s == ')'))
			break;
	}
	return s;
}

/* Without blanks before '*' and '&', and single ones elsewhere. */
static char *put_type(char *to, const char *s, size_t n)
{
	char *begin = to;

	for (size_t i = 0; i < n; i++) {
		bool blank = isspace((unsigned char)s[i]);

		if (strchr("*&", s[i]) && to > begin && to[-1] == ' ')
			to--;
		if (!blank)
			*to++ = s[i];
		else if (to > begin && to[-1] != ' ' && i + 1 < n)
			*to++ = ' ';
	}
	if (to > begin && to[-1] == ' ')
		to--;
	return to;
}

/* "const T *" is "T const*". */
static char *put_parameter(char *to, const char *s, size_t n)
{
	static const char first[] = "const ";
	const size_t len = sizeof(first) - 1;
	char *begin;
	size_t own;

	while (n && isspace((unsigned char)*s)) {
		s++;
		n--;
	}
	if (n <= len || strncmp(s, first, len) != 0)
		return put_type(to, s, n);
	begin = to;
	to = put_type(to, s + len, n - len);
	own = (size_t)(to - begin);
	for (size_t depth = 0, i = 0; i < own; i++) {
		depth += begin[i] == '<';
		depth -= begin[i] == '>' && depth;
		if (!depth && strchr("*&", begin[i])) {
			own = i;
			break;
		}
	}
	memmove(begin + own + len, begin + own, (size_t)(to - begin) - own);
	memcpy(begin + own, " const", len);
	return to + len;
}

char *config_signature(const char *text)
{
	const char *params = *text == '/' ? NULL : function_name_params(text), *end;
	char *out = malloc(2 * strlen(text) + 8), *to;

	if (!out || !params)
		return out ? strcpy(out, text) : NULL;
	to = out + (params - text);
	memcpy(out, text, (size_t)(params - text));
	while (to > out && to[-1] == ' ')
		to--;
	*to++ = '(';
	for (const char *s = params + 1;; s = end + 1) {
		end = end_of_parameter(s);
		to = put_parameter(to, s, (size_t)(end - s));
		if (*end != ',')
			break;
		*to++ = ',';
		*to++ = ' ';
	}
	if (to - out >= 5 && strncmp(to - 5, "(void", 5) == 0)
		to -= 4;
	strcpy(to, end);
	return out;
}

/* ---- one place ---- */

/* Digits up to INT_MAX, not 0; *s moves on.  0: it is none. */
static unsigned int number(const char **s)
{
	unsigned long v = 0;

	for (; **s >= '0' && **s <= '9' && v <= INT_MAX; ++*s)
		v = 10 * v + (unsigned long)(**s - '0');
	return v > INT_MAX ? 0 : (unsigned int)v;
}

/* "FILE:LINE", or with @range "FILE:FIRST-LAST". */
static const char *parse_lines(struct config_place *p, const char *s, bool range)
{
	const char *colon = strrchr(s, ':'), *at = colon ? colon + 1 : s;
	const char *wrong = range ? "not like 'lines foo.c:10-20'" : "not like 'loop at foo.c:12'";

	if (!colon || colon == s)
		return wrong;
	p->line = p->last = number(&at);
	if (range && *at == '-') {
		at++;
		p->last = number(&at);
	}
	if (!p->line || !p->last || *at)
		return wrong;
	if (p->last < p->line)
		return "the last line is before the first";
	p->file = strndup(s, (size_t)(colon - s));
	return p->file ? NULL : no_memory;
}

static const char *parse_name(struct config_place *p, const char *s)
{
	if (!*s)
		return "a name is missing";
	p->name = p->kind == CONFIG_FUNCTION ? config_signature(s) : strdup(s);
	return p->name ? NULL : no_memory;
}

static const char *parse_variable(struct config_place *p, const char *s)
{
	struct config_variable v;
	const char *wrong = config_variable_parse(&v, s);

	if (!wrong)
		config_variable_free(&v);
	return wrong ? wrong : parse_name(p, s);
}

/* The C library copies what is repeated, and copies of copies: as much as all repetitions multiplied. */
static bool is_costly(const char *regex)
{
	uint64_t copies = 1;

	for (const char *s = regex; *s && copies <= MOST_COPIES; s++) {
		const char *at = s + 1;
		unsigned int least, most;

		if (*s == '+')
			copies *= 2;
		if (*s != '{')
			continue;
		least = number(&at);
		at += *at == ',';
		most = number(&at);
		copies *= (least > most ? least : most) + 1;
	}
	return copies > MOST_COPIES;
}

static const char *parse_function(struct config_place *p, const char *s)
{
	struct pattern_list list = { 0 };
	static _Thread_local char problem[200];
	const char *wrong = *s == '@' ? "a line of the source is 'lines FILE:LINE'" : parse_name(p, s);

	if (!wrong && *s == '/' && is_costly(s))
		wrong = "too many repetitions in the expression";
	if (!wrong && !pattern_parse(&list, p->name, problem, sizeof(problem)))
		wrong = problem;
	else if (!wrong && list.n != 1)
		wrong = "more than one pattern";
	pattern_list_free(&list);
	return wrong;
}

static const char *parse_loop(struct config_place *p, const char *s)
{
	return parse_lines(p, s, false);
}

static const char *parse_range(struct config_place *p, const char *s)
{
	return parse_lines(p, s, true);
}

static const char *parse_all(struct config_place *p, const char *s)
{
	(void)p;
	return *s ? "nothing follows 'all'" : NULL;
}

static const struct word {
	const char *text;
	enum config_place_kind kind;
	const char *(*parse)(struct config_place *p, const char *s);
} words[] = {
	{ "function", CONFIG_FUNCTION, parse_function },
	{ "functions", CONFIG_FUNCTION, parse_function },
	{ "loop at", CONFIG_LOOP, parse_loop },
	{ "lines", CONFIG_LINES, parse_range },
	{ "line", CONFIG_LINES, parse_range },
	{ "variable", CONFIG_VARIABLE, parse_variable },
	{ "library", CONFIG_LIBRARY, parse_name },
	{ "all", CONFIG_ALL, parse_all },
};
#define WORDS (sizeof(words) / sizeof(words[0]))

/* The word that @s begins with; *rest: after it and blanks.  NULL: none. */
static const struct word *word_of(const char *s, const char **rest)
{
	for (size_t i = 0; i < WORDS; i++) {
		size_t n = strlen(words[i].text);

		if (strncmp(s, words[i].text, n) == 0 && (!s[n] || s[n] == ',' || isspace((unsigned char)s[n]))) {
			*rest = s + n + strspn(s + n, " \t\n");
			return &words[i];
		}
	}
	return NULL;
}

/* Appends what is written from @text to @end, of which @name on is after the word. */
static const char *add_place(struct config_entry *e, const struct word *word, const char *text, const char *name,
			     const char *end, struct config_mark at)
{
	struct config_place *p;
	const char *wrong, *whole;
	char *copy;

	if (e->nplaces == CONFIG_MAX_PLACES)
		return "too many places: an entry has up to 256";
	if (!array_room(e->places, e->places_room, e->nplaces + 1))
		return no_memory;
	while (end > name && isspace((unsigned char)end[-1]))
		end--;
	whole = end;
	/* as in a shell, though YAML has quotes of its own */
	if (end - name >= 2 && strchr("'\"", *name) && end[-1] == *name) {
		name++;
		end--;
	}
	p = &e->places[e->nplaces++];
	*p = (struct config_place){ .kind = word->kind, .at = at, .text = strndup(text, (size_t)(whole - text)) };
	copy = strndup(name, (size_t)(end - name));
	wrong = p->text && copy ? word->parse(p, copy) : no_memory;
	free(copy);
	return wrong;
}

const char *config_places_parse(struct config_entry *e, const char *text, struct config_mark at)
{
	const struct word *word = NULL;

	for (const char *s = text;; s++) {
		const struct word *next;
		const char *name, *end, *wrong;

		s += strspn(s, " \t\n");
		name = s;
		next = word_of(s, &name);
		/* "function f, g": g is one as well */
		if (!next && word && word->kind == CONFIG_FUNCTION && *s)
			next = word;
		if (!next)
			return "a place is 'function NAME', 'loop at FILE:LINE', 'lines FILE:FIRST-LAST', 'variable "
			       "NAME', 'library NAME' "
			       "or 'all'";
		word = next;
		end = word->kind == CONFIG_FUNCTION ? pattern_end(name) : name + strcspn(name, ",");
		wrong = add_place(e, word, s, name, end, at);
		if (wrong || !*end)
			return wrong;
		s = end;
	}
}
