// SPDX-License-Identifier: GPL-3.0-or-later
/* All entries of the unwind table that are for code of the file. */
#include "config.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/facts/facts-int.h"
#include "injector/image/ehframe.h"

static bool keep_fde(struct inj_cf *cf, size_t *room, const struct inj_fde *fde)
{
	const struct tramp_bytes *code = inj_cf_code(cf, fde->addr);

	if (!code || !fde->size || fde->size > code->len - (fde->addr - code->addr))
		return true;
	if (!array_room(cf->fdes, *room, cf->nfdes + 1))
		return false;
	cf->fdes[cf->nfdes++] = *fde;
	return true;
}

static int fde_order(const void *a, const void *b)
{
	const struct inj_fde *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

static bool is_sorted(const struct inj_cf *cf)
{
	for (size_t i = 1; i < cf->nfdes; i++)
		if (fde_order(&cf->fdes[i - 1], &cf->fdes[i]) > 0)
			return false;
	return true;
}

static void sort_fdes(struct inj_cf *cf)
{
	size_t n = 0;

	if (!cf->nfdes)
		return;
	if (!is_sorted(cf)) /* as linkers leave it mostly */
		qsort(cf->fdes, cf->nfdes, sizeof(*cf->fdes), fde_order);
	for (size_t i = 0; i < cf->nfdes; i++)
		if (!n || cf->fdes[n - 1].addr != cf->fdes[i].addr)
			cf->fdes[n++] = cf->fdes[i];
	cf->nfdes = n;
}

enum inj_status inj_cf_frames(struct inj_cf *cf)
{
	struct inj_eh eh;
	struct inj_fde fde;
	size_t room = 0;

	if (!inj_elf_frames(&cf->file, &eh))
		return INJ_OK;
	while (inj_eh_next(&eh, &fde))
		if (!keep_fde(cf, &room, &fde))
			return INJ_MEMORY;
	sort_fdes(cf);
	return INJ_OK;
}

const struct inj_fde *inj_cf_fde(const struct inj_cf *cf, uint64_t addr)
{
	size_t after = search_first(i, cf->nfdes, cf->fdes[i].addr > addr);

	if (!after || addr - cf->fdes[after - 1].addr >= cf->fdes[after - 1].size)
		return NULL;
	return &cf->fdes[after - 1];
}
