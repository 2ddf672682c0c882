/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accesses that are not aligned, by instruction. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/config/outputs-memory.h"

bool alignment_rank(struct memory_making *k)
{
	alignments_clear(&k->alignments);
	return true;
}

bool alignment_begin(struct memory_making *k, const struct memtrace_thread *t)
{
	(void)k;
	(void)t;
	return true;
}

bool alignment_end(struct memory_making *k, const struct memtrace_thread *t)
{
	return alignment_begin(k, t);
}

bool alignment_take(struct memory_making *k, const struct mt_access *v, size_t n)
{
	return alignments_take(&k->alignments, v, n);
}

static bool add_row(struct memory_making *k, const struct alignment *s)
{
	const struct memplace *p = memwhere(k->where, s->insn);
	char *name = p ? memory_name(p, MEMORY_BY_INSTRUCTION) : NULL;

	if (!name || !array_room(k->aligned, k->aligned_room, k->naligned + 1)) {
		free(name);
		return false;
	}
	k->aligned[k->naligned++] = (struct alignment_row){ *s, name };
	return true;
}

bool alignment_done(struct memory_making *k)
{
	for (size_t i = 0; i < k->alignments.room; i++) {
		const struct alignment *s = alignments_at(&k->alignments, i);

		if (s && !add_row(k, s))
			return false;
	}
	return true;
}

static int by_cost(const void *a, const void *b)
{
	const struct alignment *x = &((const struct alignment_row *)a)->sum,
			       *y = &((const struct alignment_row *)b)->sum;

	if (x->lines != y->lines)
		return x->lines > y->lines ? -1 : 1;
	if (x->unaligned != y->unaligned)
		return x->unaligned > y->unaligned ? -1 : 1;
	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return strcmp(((const struct alignment_row *)a)->name, ((const struct alignment_row *)b)->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct alignment_row *)a)->name, ((const struct alignment_row *)b)->name);
}

/* The same instruction in several processes is one row. */
static void merge(struct memory_making *k)
{
	size_t n = 0;

	if (k->naligned)
		qsort(k->aligned, k->naligned, sizeof(*k->aligned), by_name);
	for (size_t i = 0; i < k->naligned; i++) {
		const struct alignment *s = &k->aligned[i].sum;
		struct alignment_row *last = n ? &k->aligned[n - 1] : NULL;

		if (!last || strcmp(last->name, k->aligned[i].name) != 0) {
			k->aligned[n++] = k->aligned[i];
			continue;
		}
		last->sum.accesses += s->accesses;
		last->sum.unaligned += s->unaligned;
		last->sum.lines += s->lines;
		last->sum.pages += s->pages;
		free(k->aligned[i].name);
	}
	k->naligned = n;
}

void alignment_print(struct memory_making *k)
{
	merge(k);
	if (k->naligned)
		qsort(k->aligned, k->naligned, sizeof(*k->aligned), by_cost);
	fputs("    accesses   size    unaligned  across lines  across pages  instruction\n", k->m->out);
	for (size_t i = 0; i < k->naligned; i++) {
		const struct alignment *s = &k->aligned[i].sum;

		fprintf(k->m->out, "%12" PRIu64 " %6" PRIu32 " %12" PRIu64 " %13" PRIu64 " %13" PRIu64 "  %s\n",
			s->accesses, s->size, s->unaligned, s->lines, s->pages, k->aligned[i].name);
	}
}

void alignment_free(struct memory_making *k)
{
	for (size_t i = 0; i < k->naligned; i++)
		free(k->aligned[i].name);
	free(k->aligned);
	alignments_free(&k->alignments);
}
