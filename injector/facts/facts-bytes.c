// SPDX-License-Identifier: GPL-3.0-or-later
/* The bytes of a file at their addresses: which of them are code, and sets of addresses in code. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/facts/facts-int.h"

/* ---- lists of addresses ---- */

void inj_addrs_add(struct inj_addrs *addrs, uint64_t addr)
{
	if (array_room(addrs->v, addrs->room, addrs->n + 1))
		addrs->v[addrs->n++] = addr;
	else
		addrs->failed = true;
}

void inj_addrs_free(struct inj_addrs *addrs)
{
	free(addrs->v);
	*addrs = (struct inj_addrs){ 0 };
}

static int address_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void inj_addrs_sort(struct inj_addrs *addrs)
{
	size_t n = 0;

	if (!addrs->n)
		return;
	qsort(addrs->v, addrs->n, sizeof(*addrs->v), address_order);
	for (size_t i = 0; i < addrs->n; i++)
		if (!n || addrs->v[n - 1] != addrs->v[i])
			addrs->v[n++] = addrs->v[i];
	addrs->n = n;
}

bool inj_addrs_has(const struct inj_addrs *sorted, uint64_t addr)
{
	return sorted->n &&
	       bsearch(&addr, sorted->v, sorted->n, sizeof(addr), address_order) != NULL;
}

/* ---- pieces ---- */

static void add_piece(struct inj_cf *cf, const struct inj_elf_segment *seg, uint64_t from,
		      uint64_t to, bool code)
{
	if (from >= to)
		return;
	cf->bytes[cf->nbytes++] = (struct tramp_bytes){
		.addr = from,
		.bytes = seg->bytes + (from - seg->addr),
		.len = to - from,
		.code = code,
	};
}

static bool is_plt(const char *name)
{
	return strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0;
}

static bool is_code_section(const struct inj_elf_section *sec)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;

	return (sec->flags & code) == code && sec->size;
}

/* Where there are sections, what lies between those of code is data or padding. */
static void split_segment(struct inj_cf *cf, const struct inj_elf_segment *seg)
{
	uint64_t at = seg->addr, end = seg->addr + seg->len;
	bool any = false;

	for (size_t i = 0; i < cf->file.nsecs; i++) {
		const struct inj_elf_section *sec = &cf->file.secs[i];

		if (!is_code_section(sec) || sec->addr < at || sec->addr >= end ||
		    sec->size > end - sec->addr)
			continue;
		add_piece(cf, seg, at, sec->addr, false);
		at = sec->addr + sec->size;
		add_piece(cf, seg, sec->addr, at, !is_plt(sec->name));
		any = true;
	}
	add_piece(cf, seg, at, end, !any);
}

static bool set_bounds(struct inj_cf *cf)
{
	cf->lo = UINT64_MAX;
	cf->hi = 0;
	for (size_t i = 0; i < cf->nbytes; i++) {
		const struct tramp_bytes *b = &cf->bytes[i];

		if (!b->code)
			continue;
		cf->lo = b->addr < cf->lo ? b->addr : cf->lo;
		cf->hi = b->addr + b->len;
	}
	return cf->hi > cf->lo && cf->hi - cf->lo < UINT32_MAX;
}

enum inj_status inj_cf_bytes(struct inj_cf *cf)
{
	/* without sections, a segment may become three: see inj_cf_is_data() */
	cf->bytes = calloc(2 * cf->file.nsecs + 3 * cf->file.nsegs + 1, sizeof(*cf->bytes));
	if (!cf->bytes)
		return INJ_MEMORY;
	for (size_t i = 0; i < cf->file.nsegs; i++) {
		const struct inj_elf_segment *seg = &cf->file.segs[i];

		if (seg->flags & PF_X)
			split_segment(cf, seg);
		else
			add_piece(cf, seg, seg->addr, seg->addr + seg->len, false);
	}
	if (!set_bounds(cf))
		return INJ_NOT_SUPPORTED;
	cf->marks = calloc((cf->hi - cf->lo) / 8 + 1, 1);
	return cf->marks ? INJ_OK : INJ_MEMORY;
}

size_t inj_cf_is_data(struct inj_cf *cf, size_t i, uint64_t before, uint64_t after)
{
	const struct tramp_bytes whole = cf->bytes[i];
	uint64_t bounds[4] = { whole.addr, before, after, whole.addr + whole.len };
	size_t pieces = (before > bounds[0]) + 1u + (bounds[3] > after);

	memmove(cf->bytes + i + pieces, cf->bytes + i + 1, (cf->nbytes - i - 1) * sizeof(*cf->bytes));
	for (int k = 0; k < 3; k++)
		if (bounds[k] < bounds[k + 1])
			cf->bytes[i++] = (struct tramp_bytes){ .addr = bounds[k], .bytes = whole.bytes + (bounds[k] - whole.addr),
							       .len = bounds[k + 1] - bounds[k], .code = k == 1 };
	cf->nbytes += pieces - 1;
	set_bounds(cf); /* within what they were: there is room for the marks */
	return pieces - 1;
}

const struct tramp_bytes *inj_cf_code(const struct inj_cf *cf, uint64_t addr)
{
	size_t at;

	if (addr < cf->lo || addr >= cf->hi)
		return NULL;
	at = search_first(i, cf->nbytes, cf->bytes[i].addr + cf->bytes[i].len > addr);
	if (at == cf->nbytes || addr < cf->bytes[at].addr || !cf->bytes[at].code)
		return NULL;
	return &cf->bytes[at];
}

/* ---- marks ---- */

void inj_cf_mark(struct inj_cf *cf, uint64_t addr)
{
	uint64_t at = addr - cf->lo;

	if (at >= cf->hi - cf->lo || (cf->marks[at / 8] >> at % 8 & 1))
		return;
	if (inj_cf_code(cf, addr))
		cf->marks[at / 8] |= (uint8_t)(1u << at % 8);
}

static void collect_piece(struct inj_cf *cf, uint64_t from, uint64_t to, struct inj_addrs *out)
{
	uint64_t last = (to - 1) / 8, eight;

	for (uint64_t i = from / 8; i <= last; i++) {
		unsigned int bits = cf->marks[i];

		for (; !bits && last - i >= sizeof(eight); i += sizeof(eight)) {
			memcpy(&eight, cf->marks + i, sizeof(eight));
			if (eight)
				break;
		}
		bits = cf->marks[i];
		for (; bits; bits &= bits - 1)
			inj_addrs_add(out, cf->lo + 8 * i + (unsigned int)__builtin_ctz(bits));
		cf->marks[i] = 0;
	}
}

/* Pieces that share a byte of bits are collected one after another, as they ascend. */
void inj_cf_collect(struct inj_cf *cf, struct inj_addrs *out)
{
	for (size_t i = 0; i < cf->nbytes; i++) {
		const struct tramp_bytes *b = &cf->bytes[i];

		if (b->code)
			collect_piece(cf, b->addr - cf->lo, b->addr + b->len - cf->lo, out);
	}
}
