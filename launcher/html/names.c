/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/html/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "tracefmt/json.h"

#define LONGEST 500u /* bytes of a text */
#define ENTRY 24u    /* that one takes beside its text, at most */

bool names_begin(struct names *s, size_t limit)
{
	*s = (struct names){ .limit = limit };
	return names_find(s, "other functions") == NAMES_OTHER && s->n == 1;
}

void names_free(struct names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].text);
	free(s->v);
	free(s->table);
	*s = (struct names){ 0 };
}

/* Without the rest of a character that is cut. */
static size_t cut(const char *text)
{
	size_t n = strnlen(text, LONGEST + 1);

	if (n <= LONGEST)
		return n;
	for (n = LONGEST; n > LONGEST - 4 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
		;
	return n;
}

static size_t slot_of(const struct names *s, uint64_t hash, const char *text, size_t n)
{
	return hash_slot(i, s->slots, hash,
			 !s->table[i] || (s->v[s->table[i] - 1].hash == hash && strncmp(s->v[s->table[i] - 1].text, text, n) == 0 &&
					  !s->v[s->table[i] - 1].text[n]));
}

static bool grow(struct names *s)
{
	return hash_grow(s->table, s->slots, s->n + 1, old, *old,
			 &s->table[hash_slot(i, s->slots, s->v[*old - 1].hash, !s->table[i])]);
}

/* In JSON a byte may become six. */
static size_t cost(const char *text, size_t n)
{
	size_t bytes = ENTRY;

	for (size_t i = 0; i < n; i++)
		bytes += (unsigned char)text[i] < ' ' || text[i] == '<' || text[i] == '"' || text[i] == '\\' || text[i] == 0x7f ? 6 :
			 (unsigned char)text[i] >= 0x80							       ? 3 :
														 1;
	return bytes;
}

uint32_t names_find(struct names *s, const char *text)
{
	size_t n = cut(text), bytes = cost(text, n), slot;
	uint64_t hash = hash_bytes(text, n);
	char *copy;

	if (!array_room(s->v, s->room, s->n + 1) || !grow(s))
		return NAMES_OTHER;
	slot = slot_of(s, hash, text, n);
	if (s->table[slot])
		return s->table[slot] - 1;
	copy = bytes <= s->limit - s->bytes ? strndup(text, n) : NULL;
	if (!copy)
		return NAMES_OTHER;
	s->bytes += bytes;
	s->v[s->n] = (struct name){ .text = copy, .hash = hash, .of = (uint32_t)s->n };
	s->table[slot] = (uint32_t)++s->n;
	return (uint32_t)s->n - 1;
}

void names_put(const struct names *s, struct tf_buf *b)
{
	const char *before = "";

	tf_json_key(b, "names");
	for (size_t i = 0; i < s->n; i++) {
		tf_buf_str(b, i ? "," : "[");
		tf_json_quoted(b, s->v[i].text);
	}
	tf_buf_str(b, "]");
	tf_json_key(b, "kinds");
	tf_buf_str(b, "[");
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].of == i && !s->v[i].class)
			continue;
		tf_buf_str(b, before);
		tf_buf_str(b, "[");
		tf_json_number(b, i);
		tf_buf_str(b, ",");
		tf_json_number(b, s->v[i].of);
		tf_buf_str(b, ",");
		tf_json_number(b, s->v[i].class);
		tf_buf_str(b, "]");
		before = ",";
	}
	tf_buf_str(b, "]");
}

void names_put_safe(const struct tf_buf *json, struct tf_buf *out)
{
	size_t from = 0;

	for (size_t i = 0; i < json->size; i++) {
		if (json->data[i] != '<')
			continue;
		tf_buf_put(out, json->data + from, i - from);
		tf_buf_str(out, "\\u003c");
		from = i + 1;
	}
	tf_buf_put(out, json->data + from, json->size - from);
	out->failed |= json->failed;
}
