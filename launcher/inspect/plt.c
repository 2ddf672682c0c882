/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "base/search.h"
#include "launcher/inspect/plt.h"

#include <bfd.h> /* wants PACKAGE of config.h */
#include <stdlib.h>

struct plt {
	bfd *file;
	asymbol **dynamic;
	asymbol *entries; /* names are in the same block of memory */
	long n;
};

static uint64_t address(const asymbol *s)
{
	return s->section->vma + s->value;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = address(a), y = address(b);

	return x < y ? -1 : x > y;
}

static void read_entries(struct plt *p)
{
	long room = bfd_get_dynamic_symtab_upper_bound(p->file);

	p->dynamic = room > 0 ? malloc((size_t)room) : NULL;
	long n = p->dynamic ? bfd_canonicalize_dynamic_symtab(p->file, p->dynamic) : 0;
	if (n > 0)
		p->n = bfd_get_synthetic_symtab(p->file, 0, NULL, n, p->dynamic, &p->entries);
	if (p->n > 0)
		qsort(p->entries, (size_t)p->n, sizeof(*p->entries), by_address);
}

struct plt *plt_open(const char *path)
{
	struct plt *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->file = bfd_openr(path, NULL);
	if (p->file && bfd_check_format(p->file, bfd_object))
		read_entries(p);
	if (p->n > 0)
		return p;
	plt_close(p);
	return NULL;
}

void plt_close(struct plt *p)
{
	if (!p)
		return;
	free(p->entries);
	free(p->dynamic);
	if (p->file)
		bfd_close(p->file);
	free(p);
}

const char *plt_at(const struct plt *p, uint64_t addr)
{
	size_t n = p ? (size_t)p->n : 0, at = search_first(i, n, address(&p->entries[i]) >= addr);

	return at < n && address(&p->entries[at]) == addr ? p->entries[at].name : NULL;
}
