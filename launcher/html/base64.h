/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes as text: RFC 4648, section 4. */
#ifndef SONDE_LAUNCHER_HTML_BASE64_H
#define SONDE_LAUNCHER_HTML_BASE64_H

#include "tracefmt/buffer.h"

static inline void base64_put(struct tf_buf *to, const struct tf_buf *from)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < from->size; i += 3) {
		size_t n = from->size - i < 3 ? from->size - i : 3;
		unsigned int v = (unsigned int)from->data[i] << 16 | (n > 1 ? (unsigned int)from->data[i + 1] << 8 : 0) |
				 (n > 2 ? from->data[i + 2] : 0u);
		const char text[4] = { digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
				       n > 2 ? digits[v & 63] : '=' };

		tf_buf_put(to, text, sizeof(text));
	}
	to->failed |= from->failed;
}

#endif
