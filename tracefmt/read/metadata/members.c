/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of a line, by their names. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "tracefmt/read/metadata/line.h"

bool tf_line_number_of(const json_t *v, uint64_t *out)
{
	char *end;

	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*out = (uint64_t)json_integer_value(v);
		return true;
	}
	if (!json_is_string(v) || *json_string_value(v) < '0' || *json_string_value(v) > '9')
		return false;
	errno = 0;
	*out = strtoull(json_string_value(v), &end, 10);
	return !errno && !*end;
}

bool tf_line_number(const struct tf_line *r, const char *key, uint64_t *out)
{
	return tf_line_number_of(json_object_get(r->line, key), out);
}

uint64_t tf_line_number_or_0(const struct tf_line *r, const char *key)
{
	uint64_t v = 0;

	return tf_line_number(r, key, &v) ? v : 0;
}

bool tf_line_int(const struct tf_line *r, const char *key, int *out)
{
	const json_t *v = json_object_get(r->line, key);

	if (!json_is_integer(v) || json_integer_value(v) < INT_MIN ||
	    json_integer_value(v) > INT_MAX)
		return false;
	*out = (int)json_integer_value(v);
	return true;
}

int tf_line_positive(const struct tf_line *r, const char *key)
{
	int v = 0;

	return tf_line_int(r, key, &v) && v > 0 ? v : 0;
}

/*
 * The string as bytes: characters U+F700..U+F7FF (EF 9C 80 to EF 9F BF) stand for one byte
 * each.  Valid until the next call; NULL if it is no string, or no memory.
 */
const char *tf_line_bytes(struct tf_line *r, const json_t *v)
{
	const unsigned char *s;
	char *to;

	if (!json_is_string(v))
		return NULL;
	to = realloc(r->scratch, json_string_length(v) + 1);
	if (!to)
		return NULL;
	r->scratch = to;
	for (s = (const unsigned char *)json_string_value(v); *s; s++) {
		if (s[0] == 0xef && s[1] >= 0x9c && s[1] <= 0x9f) {
			*to++ = (char)((s[1] & 3) << 6 | (s[2] & 0x3f));
			s += 2;
		} else {
			*to++ = (char)*s;
		}
	}
	*to = '\0';
	return r->scratch;
}

/* The member as a string of the trace's own; @otherwise if it is not there; NULL: no memory. */
const char *tf_line_str(struct tf_line *r, const char *key, const char *otherwise)
{
	const json_t *v = json_object_get(r->line, key);
	const char *s;

	if (!json_is_string(v))
		return otherwise;
	s = tf_line_bytes(r, v);
	return s ? tf_arena_strdup(&r->t->arena, s) : NULL;
}

/* The array @key of strings; what is none in it reads as "". */
const char *const *tf_line_strings(struct tf_line *r, const char *key, size_t *n)
{
	const json_t *list = json_object_get(r->line, key);
	const char **v;

	*n = json_array_size(list);
	v = tf_arena_alloc(&r->t->arena, (*n + 1) * sizeof *v);
	for (size_t i = 0; v && i < *n; i++) {
		const char *s = tf_line_bytes(r, json_array_get(list, i));

		v[i] = tf_arena_strdup(&r->t->arena, s ? s : "");
		if (!v[i])
			return NULL;
	}
	return v;
}
