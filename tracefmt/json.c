/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/json.h"

#include <stdio.h>
#include <string.h>

unsigned tf_utf8(const unsigned char *s, const unsigned char *end, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	uint32_t c = n == 1 ? *s : *s & (0x7fu >> n);

	if (*s >= 0xf8 || (*s >= 0x80 && *s < 0xc0) || n > (size_t)(end - s))
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((n > 1 && c < least[n]) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return n;
}

static void put_byte_char(struct tf_buf *b, unsigned char byte)
{
	uint32_t c = TF_BYTE_CHAR + byte;
	uint8_t s[3] = { (uint8_t)(0xe0 | c >> 12), (uint8_t)(0x80 | (c >> 6 & 0x3f)),
			 (uint8_t)(0x80 | (c & 0x3f)) };

	tf_buf_put(b, s, 3);
}

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_ascii(struct tf_buf *b, unsigned char c)
{
	char escaped[8];

	if (c == '"' || c == '\\')
		tf_buf_byte(b, '\\');
	if (c >= 0x20 && c < 0x7f) {
		tf_buf_byte(b, c);
		return;
	}
	snprintf(escaped, sizeof escaped, "\\u%04x", c);
	tf_buf_str(b, escaped);
}

void tf_json_quoted_n(struct tf_buf *b, const char *v, size_t length)
{
	const unsigned char *s = (const unsigned char *)v, *end = s + length;

	tf_buf_byte(b, '"');
	while (s < end) {
		size_t run = 0;
		uint32_t c = 0;
		unsigned n;

		while (s + run < end && plain(s[run]))
			run++;
		tf_buf_put(b, s, run);
		s += run;
		if (s == end)
			break;
		n = tf_utf8(s, end, &c);
		if (n == 1)
			put_ascii(b, *s);
		else if (!n)
			put_byte_char(b, *s);
		else if (c >= TF_BYTE_CHAR && c < TF_BYTE_CHAR + 0x100)
			for (unsigned i = 0; i < n; i++)
				put_byte_char(b, s[i]);
		else
			tf_buf_put(b, s, n);
		s += n ? n : 1;
	}
	tf_buf_byte(b, '"');
}

void tf_json_quoted(struct tf_buf *b, const char *v)
{
	tf_json_quoted_n(b, v, strlen(v));
}

void tf_json_number(struct tf_buf *b, uint64_t v)
{
	char s[32];

	/* Many readers of JSON know only signed integers. */
	snprintf(s, sizeof s, v > INT64_MAX ? "\"%llu\"" : "%llu", (unsigned long long)v);
	tf_buf_str(b, s);
}

void tf_json_key(struct tf_buf *b, const char *key)
{
	tf_buf_str(b, ",\"");
	tf_buf_str(b, key);
	tf_buf_str(b, "\":");
}

void tf_json_begin(struct tf_buf *b, const char *type)
{
	tf_buf_str(b, "{\"type\":");
	tf_json_quoted(b, type);
}

void tf_json_end(struct tf_buf *b)
{
	tf_buf_str(b, "}\n");
}

void tf_json_signed(struct tf_buf *b, int64_t v)
{
	char s[32];

	snprintf(s, sizeof s, "%lld", (long long)v);
	tf_buf_str(b, s);
}

void tf_json_int(struct tf_buf *b, const char *key, int64_t v)
{
	tf_json_key(b, key);
	tf_json_signed(b, v);
}

void tf_json_uint(struct tf_buf *b, const char *key, uint64_t v)
{
	tf_json_key(b, key);
	tf_json_number(b, v);
}

void tf_json_bool(struct tf_buf *b, const char *key, bool v)
{
	tf_json_key(b, key);
	tf_buf_str(b, v ? "true" : "false");
}

void tf_json_real(struct tf_buf *b, const char *key, const char *format, double v)
{
	char s[64];

	tf_json_key(b, key);
	snprintf(s, sizeof s, format, v);
	tf_buf_str(b, s);
}

void tf_json_hex(struct tf_buf *b, const char *key, uint64_t v)
{
	char s[32];

	snprintf(s, sizeof s, "0x%llx", (unsigned long long)v);
	tf_json_str(b, key, s);
}

void tf_json_str(struct tf_buf *b, const char *key, const char *v)
{
	if (!v)
		return;
	tf_json_key(b, key);
	tf_json_quoted(b, v);
}
