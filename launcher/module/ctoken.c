/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/module/ctoken.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NESTING 256 /* of #include; compilers stop at 200 */

struct splitter {
	const char *p;
	const char *main_file;
	bool in_main, line_start;
	bool outer[MAX_NESTING]; /* in_main of the files that include the present one */
	size_t depth;
	struct ctokens *out;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool add(struct splitter *s, size_t len, enum ctoken_kind kind)
{
	struct ctokens *t = s->out;

	if ((t->n & (t->n - 1)) == 0) {
		struct ctoken *v = reallocarray(t->v, t->n ? 2 * t->n : 1, sizeof(*v));

		if (!v)
			return false;
		t->v = v;
	}
	t->v[t->n++] = (struct ctoken){ s->p, len, kind, s->in_main };
	s->p += len;
	s->line_start = false;
	return true;
}

/*
 * The C library keeps parts of its headers in files of their own, as <math.h> does all its functions;
 * what a header includes from a folder "bits" is taken for a part of it.
 */
static void enter_file(struct splitter *s, bool is_main, const char *name, size_t len)
{
	bool is_part = s->in_main && memmem(name, len, "/bits/", 6) != NULL;

	if (s->depth < MAX_NESTING)
		s->outer[s->depth++] = s->in_main;
	s->in_main = is_main || is_part;
}

/* `"file.h" 1`: flag 1 is an included file's beginning, 2 the return to the including one. */
static void read_marker(struct splitter *s, const char *p)
{
	size_t len = *p == '"' ? strcspn(p + 1, "\"\n") : 0;

	if (!len || p[1 + len] != '"')
		return;
	bool is_main = len == strlen(s->main_file) && strncmp(p + 1, s->main_file, len) == 0;
	const char *flag = p + len + 2;
	if (strncmp(flag, " 1", 2) == 0)
		enter_file(s, is_main, p + 1, len);
	else if (strncmp(flag, " 2", 2) == 0 && s->depth)
		s->in_main = s->outer[--s->depth];
	else
		s->in_main |= is_main;
}

/* `# 12 "file.h" 1`; every other directive has no meaning here. */
static void read_directive(struct splitter *s)
{
	const char *p = s->p + 1;

	p += strspn(p, " \t");
	if (isdigit((unsigned char)*p) && s->main_file) {
		p += strspn(p, "0123456789");
		read_marker(s, p + strspn(p, " \t"));
	}
	while (*s->p && *s->p != '\n')
		s->p += s->p[0] == '\\' && s->p[1] ? 2 : 1;
}

static size_t literal_length(const char *p)
{
	char quote = *p;
	size_t n = 1;

	while (p[n] && p[n] != quote && p[n] != '\n')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return p[n] == quote ? n + 1 : n;
}

/* White space, comments and directives; true when it has moved on. */
static bool skip_nothing(struct splitter *s)
{
	const char *p = s->p;

	if (*p == '\n') {
		s->line_start = true;
		s->p++;
	} else if (isspace((unsigned char)*p) || (*p == '\\' && p[1] == '\n')) {
		s->p++;
	} else if (p[0] == '/' && p[1] == '/') {
		s->p += strcspn(p, "\n");
	} else if (p[0] == '/' && p[1] == '*') {
		const char *end = strstr(p + 2, "*/");

		s->p = end ? end + 2 : p + strlen(p);
	} else if (*p == '#' && s->line_start) {
		read_directive(s);
	} else {
		return false;
	}
	return true;
}

static bool next(struct splitter *s)
{
	const char *p = s->p;
	size_t len = 1;

	if (*p == '"' || *p == '\'')
		return add(s, literal_length(p), CTOKEN_VALUE);
	if (is_word(*p)) {
		while (is_word(p[len]))
			len++;
		return add(s, len, isdigit((unsigned char)*p) ? CTOKEN_VALUE : CTOKEN_WORD);
	}
	if (strncmp(p, "...", 3) == 0)
		len = 3;
	return add(s, len, CTOKEN_MARK);
}

bool ctoken_split(const char *text, const char *main_file, struct ctokens *t)
{
	struct splitter s = {
		.p = text,
		.main_file = main_file,
		.in_main = !main_file,
		.line_start = true,
		.out = t,
	};

	*t = (struct ctokens){ 0 };
	while (*s.p) {
		if (skip_nothing(&s))
			continue;
		if (!next(&s)) {
			free(t->v);
			return false;
		}
	}
	return true;
}

bool ctoken_is(const struct ctoken *t, const char *text)
{
	return t->len == strlen(text) && memcmp(t->text, text, t->len) == 0;
}

static int bracket(const struct ctoken *t)
{
	if (t->kind != CTOKEN_MARK)
		return 0;
	if (*t->text == '(' || *t->text == '[' || *t->text == '{')
		return 1;
	return *t->text == ')' || *t->text == ']' || *t->text == '}' ? -1 : 0;
}

size_t ctoken_skip_group(const struct ctoken *v, size_t i, size_t end)
{
	int depth = 0;

	for (; i < end; i++) {
		depth += bracket(&v[i]);
		if (depth <= 0)
			return i + 1;
	}
	return end;
}

static bool wants_space(const struct ctoken *a, const struct ctoken *b)
{
	bool word = b->kind != CTOKEN_MARK;

	if (a->kind != CTOKEN_MARK)
		return word || *b->text == '*' || *b->text == '(' || *b->text == '{';
	if (*a->text == ',')
		return true;
	return *a->text == ')' && word;
}

char *ctoken_text(const struct ctoken *v, size_t begin, size_t end)
{
	size_t size = 1;

	for (size_t i = begin; i < end; i++)
		size += v[i].len + 1;
	char *text = malloc(size);
	char *p = text;
	for (size_t i = begin; p && i < end; i++) {
		if (i > begin && wants_space(&v[i - 1], &v[i]))
			*p++ = ' ';
		memcpy(p, v[i].text, v[i].len);
		p += v[i].len;
	}
	if (p)
		*p = '\0';
	return text;
}
