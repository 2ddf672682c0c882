/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing JSON lines.  A trace may name tens of thousands of functions before the program is
 * allowed to run; building a tree for each line would be felt. Also what is UTF-8 and what is
 * not.
 */
#ifndef TRACEFMT_JSON_H
#define TRACEFMT_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "tracefmt/buffer.h"

/* A line: tf_json_begin(), members, tf_json_end(). */
void tf_json_begin(struct tf_buf *b, const char *type);
void tf_json_end(struct tf_buf *b);

void tf_json_int(struct tf_buf *b, const char *key, int64_t v);
void tf_json_uint(struct tf_buf *b, const char *key, uint64_t v);
void tf_json_bool(struct tf_buf *b, const char *key, bool v);
/* As printf() writes it: up to 63 bytes; @v is finite. */
void tf_json_real(struct tf_buf *b, const char *key, const char *format, double v);
/* "0x12ab" */
void tf_json_hex(struct tf_buf *b, const char *key, uint64_t v);

/* NULL: no member.  Bytes that are not UTF-8 become U+F700 + byte. */
void tf_json_str(struct tf_buf *b, const char *key, const char *v);

/* Only the value, between quotes; @n bytes, which may be zeros. */
void tf_json_quoted(struct tf_buf *b, const char *v);
void tf_json_quoted_n(struct tf_buf *b, const char *v, size_t n);
void tf_json_number(struct tf_buf *b, uint64_t v);
void tf_json_signed(struct tf_buf *b, int64_t v);

/* Begins a member whose value the caller writes. */
void tf_json_key(struct tf_buf *b, const char *key);

/*
 * Length of the UTF-8 sequence at @s, before @end (RFC 3629: no surrogates, nothing too long),
 * and its character; 0 when there is none.
 */
unsigned tf_utf8(const unsigned char *s, const unsigned char *end, uint32_t *character);

#define TF_BYTE_CHAR 0xf700u /* + byte */

#endif /* TRACEFMT_JSON_H */
