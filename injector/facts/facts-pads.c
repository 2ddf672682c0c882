// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Landing pads from the exception tables of C++, Rust, Ada and D, all that GCC and LLVM emit
 * ("Exception Handling Tables" of HP's aC++ A.01.15, which libgcc's unwind-c.c follows): base of
 * landing pads, an offset to types, then call sites: start, length, landing pad, action.
 */
#include "config.h"

#include "injector/facts/facts-int.h"

/* One exception table; *budget bounds what overlapping tables of a damaged file may cost. */
static void read_table(struct inj_cf *cf, const struct inj_fde *fde, uint64_t *budget)
{
	struct inj_cursor c = { .addr = fde->lsda };
	uint64_t left, base = fde->addr, len;
	uint8_t encoding;

	c.at = inj_elf_at(&cf->file, fde->lsda, &left);
	if (!c.at)
		return;
	c.end = c.at + left;
	encoding = (uint8_t)inj_cursor_uint(&c, 1);
	if (encoding != INJ_PE_OMIT)
		base = inj_cursor_encoded(&c, encoding);
	if (inj_cursor_uint(&c, 1) != INJ_PE_OMIT)
		inj_cursor_uleb(&c);
	encoding = (uint8_t)inj_cursor_uint(&c, 1);
	len = inj_cursor_uleb(&c);
	if (c.bad || len > (uint64_t)(c.end - c.at))
		return;
	c.end = c.at + len;
	while (c.at < c.end && !c.bad && *budget) {
		inj_cursor_encoded(&c, encoding);
		inj_cursor_encoded(&c, encoding);
		uint64_t pad = inj_cursor_encoded(&c, encoding);

		inj_cursor_uleb(&c);
		if (pad && !c.bad)
			inj_cf_mark(cf, base + pad);
		--*budget;
	}
}

void inj_cf_pads(struct inj_cf *cf)
{
	uint64_t budget = cf->file.len;

	for (size_t i = 0; i < cf->nfdes; i++)
		if (cf->fdes[i].lsda)
			read_table(cf, &cf->fdes[i], &budget);
	inj_cf_collect(cf, &cf->pads);
}
