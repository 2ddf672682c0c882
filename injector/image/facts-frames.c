// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The unwind table .eh_frame (Linux Standard Base, 10.6.1; DWARF 5, 6.4): which code each entry is
 * for, where its exception table is, and whether it starts as a function that was just called does.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/image/facts-int.h"

#define MAX_AUGMENTATION 16
#define MAX_RULES 64
#define DWARF_RSP 7

struct cie {
	const uint8_t *start;	/* which one this is */
	bool usable;
	bool sized;		/* augmentation 'z' */
	bool signal;
	uint8_t encoding, lsda;
	struct inj_cursor rules;
};

/* ---- the frame at an entry's first instruction ---- */

struct row {
	uint64_t reg, offset;	/* CFA; reg UINT64_MAX: an expression */
	bool saves;		/* registers have been saved */
};

enum {
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00, CFA_SET_LOC = 0x01, CFA_ADVANCE4 = 0x04, CFA_OFFSET_EXT = 0x05,
	CFA_RESTORE_EXT = 0x06, CFA_UNDEFINED = 0x07, CFA_SAME = 0x08, CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a, CFA_RESTORE_STATE = 0x0b, CFA_DEF = 0x0c, CFA_DEF_REG = 0x0d,
	CFA_DEF_OFFSET = 0x0e, CFA_DEF_EXPR = 0x0f, CFA_EXPR = 0x10, CFA_VAL_EXPR = 0x16,
	CFA_ARGS_SIZE = 0x2e,
};

static void def_cfa(struct inj_cursor *c, uint8_t op, struct row *row)
{
	if (op == CFA_DEF || op == CFA_DEF_REG)
		row->reg = inj_cursor_uleb(c);
	if (op == CFA_DEF || op == CFA_DEF_OFFSET)
		row->offset = inj_cursor_uleb(c);
	if (op == CFA_DEF_EXPR) {
		row->reg = UINT64_MAX;
		inj_cursor_skip(c, inj_cursor_uleb(c));
	}
}

static void save_rule(struct inj_cursor *c, uint8_t op, struct row *row)
{
	inj_cursor_uleb(c);
	if (op == CFA_OFFSET_EXT)
		inj_cursor_uleb(c);
	else if (op == CFA_EXPR || op == CFA_VAL_EXPR)
		inj_cursor_skip(c, inj_cursor_uleb(c));
	row->saves |= op == CFA_OFFSET_EXT || op == CFA_EXPR || op == CFA_VAL_EXPR;
}

/* One instruction; false: the first row is complete, or it is not known. */
static bool rule(struct inj_cursor *c, struct row *row)
{
	uint8_t op = (uint8_t)inj_cursor_uint(c, 1);

	switch (op & 0xc0 ? op & 0xc0 : op) {
	case CFA_OFFSET:
		inj_cursor_uleb(c);
		row->saves = true;
		return true;
	case CFA_RESTORE:
	case CFA_NOP:
	case CFA_REMEMBER:
	case CFA_RESTORE_STATE:
		return true;
	case CFA_DEF:
	case CFA_DEF_REG:
	case CFA_DEF_OFFSET:
	case CFA_DEF_EXPR:
		def_cfa(c, op, row);
		return true;
	case CFA_OFFSET_EXT:
	case CFA_EXPR:
	case CFA_VAL_EXPR:
	case CFA_RESTORE_EXT:
	case CFA_UNDEFINED:
	case CFA_SAME:
	case CFA_ARGS_SIZE:
		save_rule(c, op, row);
		return true;
	default: /* goes on to the second instruction */
		return false;
	}
}

static void run_rules(struct inj_cursor c, struct row *row)
{
	for (int i = 0; i < MAX_RULES && c.at < c.end && !c.bad; i++)
		if (!rule(&c, row))
			break;
}

static bool starts_inside(const struct cie *cie, struct inj_cursor rules)
{
	struct row row = { .reg = UINT64_MAX };

	run_rules(cie->rules, &row);
	row.saves = false; /* the return address */
	run_rules(rules, &row);
	return row.reg != DWARF_RSP || row.offset != 8 || row.saves;
}

/* ---- entries ---- */

static void augmentation(struct cie *cie, const char *letters, struct inj_cursor *c)
{
	for (letters++; *letters && !c->bad; letters++) {
		if (*letters == 'R') {
			cie->encoding = (uint8_t)inj_cursor_uint(c, 1);
		} else if (*letters == 'L') {
			cie->lsda = (uint8_t)inj_cursor_uint(c, 1);
		} else if (*letters == 'P') {
			uint8_t encoding = (uint8_t)inj_cursor_uint(c, 1);

			inj_cursor_encoded(c, encoding & 0x7f);
		} else if (*letters == 'S') {
			cie->signal = true;
		} else if (*letters != 'B') {
			c->bad = true; /* what comes behind it cannot be found */
		}
	}
}

/* @c: behind the id.  *cie is zeroed but for `start`. */
static void read_cie(struct inj_cursor c, struct cie *cie)
{
	const char *letters = (const char *)c.at + 1;
	uint8_t version = (uint8_t)inj_cursor_uint(&c, 1);
	size_t max = (size_t)(c.end - c.at) < MAX_AUGMENTATION ? (size_t)(c.end - c.at) :
								 MAX_AUGMENTATION;
	uint64_t size;

	cie->lsda = INJ_PE_OMIT;
	if (c.bad || (version != 1 && version != 3) || strnlen(letters, max) == max)
		return;
	inj_cursor_skip(&c, strlen(letters) + 1);
	inj_cursor_uleb(&c);
	inj_cursor_sleb(&c);
	if (version == 1)
		inj_cursor_uint(&c, 1);
	else
		inj_cursor_uleb(&c);
	cie->rules = c;
	if (*letters == 'z') {
		cie->sized = true;
		size = inj_cursor_uleb(&c);
		cie->rules = c;
		inj_cursor_skip(&cie->rules, size);
		augmentation(cie, letters, &c);
	}
	cie->usable = !c.bad && !cie->rules.bad && (cie->sized || !*letters);
}

static struct inj_fde read_fde(struct inj_cursor c, const struct cie *cie)
{
	struct inj_fde fde = { .addr = inj_cursor_encoded(&c, cie->encoding) };

	fde.size = inj_cursor_encoded(&c, cie->encoding & 0x0f);
	if (cie->sized) {
		uint64_t size = inj_cursor_uleb(&c);
		struct inj_cursor data = c;

		inj_cursor_skip(&c, size);
		if (size && cie->lsda != INJ_PE_OMIT) {
			fde.lsda = inj_cursor_encoded(&data, cie->lsda);
			fde.lsda = data.bad ? 0 : fde.lsda;
		}
	}
	if (c.bad)
		fde.size = 0;
	fde.flags = (cie->signal ? INJ_FDE_SIGNAL : 0) |
		    (starts_inside(cie, c) ? INJ_FDE_INSIDE : 0);
	return fde;
}

struct walk {
	struct inj_cf *cf;
	struct inj_cursor all;	/* what is left of the table */
	const uint8_t *start;
	struct cie cie;		/* the last one used */
	size_t room;
};

/* One entry of the table: its contents behind the length; false: the table ends. */
static bool next_entry(struct walk *w, struct inj_cursor *entry)
{
	uint64_t len = inj_cursor_uint(&w->all, 4);

	if (len == UINT32_MAX)
		len = inj_cursor_uint(&w->all, 8);
	*entry = w->all;
	inj_cursor_skip(&w->all, len);
	entry->end = w->all.at;
	return !w->all.bad;
}

/* @back: how far in front of @at the CIE starts. */
static const struct cie *find_cie(struct walk *w, const uint8_t *at, uint64_t back)
{
	struct walk other = *w;
	struct inj_cursor entry;

	if (back > (uint64_t)(at - w->start))
		return NULL;
	if (w->cie.start == at - back)
		return &w->cie;
	other.all.addr -= (uint64_t)(other.all.at - (at - back));
	other.all.at = at - back;
	w->cie = (struct cie){ .start = at - back };
	if (next_entry(&other, &entry) && inj_cursor_uint(&entry, 4) == 0 && !entry.bad)
		read_cie(entry, &w->cie);
	return &w->cie;
}

static bool keep_fde(struct walk *w, const struct inj_fde *fde)
{
	struct inj_cf *cf = w->cf;
	const struct tramp_bytes *code = inj_cf_code(cf, fde->addr);

	if (!code || !fde->size || fde->size > code->len - (fde->addr - code->addr))
		return true;
	if (cf->nfdes == w->room) {
		size_t room = w->room ? 2 * w->room : 1024;
		struct inj_fde *fdes = reallocarray(cf->fdes, room, sizeof(*fdes));

		if (!fdes)
			return false;
		cf->fdes = fdes;
		w->room = room;
	}
	cf->fdes[cf->nfdes++] = *fde;
	return true;
}

/* A zero length ends the table; where a section tells its size, others may follow behind that. */
static enum inj_status walk_table(struct walk *w, bool whole)
{
	struct inj_cursor entry;

	while (w->all.at < w->all.end && next_entry(w, &entry)) {
		const uint8_t *at = entry.at;
		uint64_t back;
		const struct cie *cie;
		struct inj_fde fde;

		if (entry.at == entry.end) {
			if (!whole)
				break;
			continue;
		}
		back = inj_cursor_uint(&entry, 4);
		cie = back && !entry.bad ? find_cie(w, at, back) : NULL;
		if (!cie || !cie->usable)
			continue;
		fde = read_fde(entry, cie);
		if (!keep_fde(w, &fde))
			return INJ_MEMORY;
	}
	return INJ_OK;
}

/* ---- the table ---- */

static struct inj_cursor open_table(const struct inj_cf *cf, bool *whole)
{
	const struct inj_codefile_section *sec = inj_codefile_section(&cf->file, ".eh_frame");
	struct inj_cursor c = { 0 };
	uint64_t left;

	*whole = sec != NULL;
	if (sec) {
		c.at = cf->file.map + sec->offset;
		c.end = c.at + sec->size;
		c.addr = sec->addr;
		return c;
	}
	c.at = inj_codefile_at(&cf->file, cf->file.eh_frame_hdr, &left);
	if (!cf->file.eh_frame_hdr || !c.at)
		return (struct inj_cursor){ 0 };
	c.end = c.at + left;
	c.addr = cf->file.eh_frame_hdr;
	inj_cursor_uint(&c, 1);
	uint8_t encoding = (uint8_t)inj_cursor_uint(&c, 1);
	inj_cursor_uint(&c, 2);
	c.addr = inj_cursor_encoded(&c, encoding);
	c.at = c.bad ? NULL : inj_codefile_at(&cf->file, c.addr, &left);
	c.end = c.at ? c.at + left : NULL;
	return c;
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
	bool whole;
	struct walk w = { .cf = cf, .all = open_table(cf, &whole) };
	enum inj_status status;

	w.start = w.all.at;
	if (!w.start)
		return INJ_OK;
	status = walk_table(&w, whole);
	sort_fdes(cf);
	return status;
}

const struct inj_fde *inj_cf_fde(const struct inj_cf *cf, uint64_t addr)
{
	size_t lo = 0, hi = cf->nfdes;

	while (lo < hi) { /* the last that starts at or before it */
		size_t mid = lo + (hi - lo) / 2;

		if (cf->fdes[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - cf->fdes[lo - 1].addr >= cf->fdes[lo - 1].size)
		return NULL;
	return &cf->fdes[lo - 1];
}
