// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/flow/bytes.h"

#include <err.h>
#include <stdlib.h>

static int by_addr(const void *left, const void *right)
{
	const struct tramp_fn *a = left, *b = right;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

void bytes_code_open(struct bytes_code *c, const uint8_t *code, size_t len, uint64_t addr,
		     const struct bytes_range *functions, size_t n)
{
	size_t kept = 0, nfns = 0;

	*c = (struct bytes_code){
		.bytes = { .addr = addr, .bytes = code, .len = len, .code = true },
		.fns = calloc(n + 1, sizeof(*c->fns)),
	};
	if (!c->fns)
		err(99, "functions");
	for (size_t i = 0; i < n; i++) {
		if (functions[i].addr - addr < len)
			c->fns[nfns++] = (struct tramp_fn){
				.addr = functions[i].addr, .size = functions[i].size,
				.flags = TRAMP_FN_FRAMED, .parent = TRAMP_NONE,
			};
	}
	qsort(c->fns, nfns, sizeof(*c->fns), by_addr);
	for (size_t i = 0; i < nfns; i++) {
		struct tramp_fn fn = c->fns[i];
		uint64_t end = i + 1 < nfns ? c->fns[i + 1].addr : addr + len;

		if (end == fn.addr)
			continue;
		if (fn.size == 0 || fn.size > end - fn.addr)
			fn.size = end - fn.addr;
		c->fns[kept++] = fn;
	}
	c->facts = (struct tramp_facts){ .bytes = &c->bytes, .nbytes = 1, .fns = c->fns, .nfns = kept };
	if (tramp_code_new(&c->facts, &c->code) != TRAMP_CODE_OK)
		errx(99, "no code");
}

void bytes_code_close(struct bytes_code *c)
{
	tramp_code_free(c->code);
	free(c->fns);
}
