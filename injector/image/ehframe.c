// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <string.h>

#include "injector/image/ehframe.h"

#define MAX_AUGMENTATION 16
#define MAX_RULES 64
#define DWARF_RSP 7

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

static bool starts_inside(const struct inj_eh_cie *cie, struct inj_cursor rules)
{
	struct row row = { .reg = UINT64_MAX };

	run_rules(cie->rules, &row);
	row.saves = false; /* the return address */
	run_rules(rules, &row);
	return row.reg != DWARF_RSP || row.offset != 8 || row.saves;
}

/* ---- entries ---- */

static void augmentation(struct inj_eh_cie *cie, const char *letters, struct inj_cursor *c)
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
			c->bad = true; /* what comes after it cannot be found */
		}
	}
}

/* @c: after the id.  *cie is zeroed but for `start`. */
static void read_cie(struct inj_cursor c, struct inj_eh_cie *cie)
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

static struct inj_fde read_fde(struct inj_cursor c, const struct inj_eh_cie *cie)
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

/* ---- the table ---- */

/* One entry: its contents after the length; false: the table ends. */
static bool next_entry(struct inj_eh *w, struct inj_cursor *entry)
{
	uint64_t len = inj_cursor_uint(&w->left, 4);

	if (len == UINT32_MAX)
		len = inj_cursor_uint(&w->left, 8);
	*entry = w->left;
	inj_cursor_skip(&w->left, len);
	entry->end = w->left.at;
	return !w->left.bad;
}

/* @back: how far before @at the CIE starts. */
static const struct inj_eh_cie *find_cie(struct inj_eh *w, const uint8_t *at, uint64_t back)
{
	struct inj_eh other = *w;
	struct inj_cursor entry;

	if (back > (uint64_t)(at - w->start))
		return NULL;
	if (w->cie.start == at - back)
		return &w->cie;
	other.left.addr -= (uint64_t)(other.left.at - (at - back));
	other.left.at = at - back;
	w->cie = (struct inj_eh_cie){ .start = at - back };
	if (next_entry(&other, &entry) && inj_cursor_uint(&entry, 4) == 0 && !entry.bad)
		read_cie(entry, &w->cie);
	return &w->cie;
}

bool inj_eh_next(struct inj_eh *w, struct inj_fde *fde)
{
	struct inj_cursor entry;

	while (w->left.at < w->left.end && next_entry(w, &entry)) {
		const uint8_t *at = entry.at;
		const struct inj_eh_cie *cie;
		uint64_t back;

		if (entry.at == entry.end) {
			if (!w->whole)
				break;
			continue;
		}
		back = inj_cursor_uint(&entry, 4);
		cie = back && !entry.bad ? find_cie(w, at, back) : NULL;
		if (!cie || !cie->usable)
			continue;
		*fde = read_fde(entry, cie);
		return true;
	}
	return false;
}

uint64_t inj_eh_start(struct inj_cursor header)
{
	uint8_t version = (uint8_t)inj_cursor_uint(&header, 1);
	uint8_t encoding = (uint8_t)inj_cursor_uint(&header, 1);
	uint64_t start;

	inj_cursor_uint(&header, 2);
	start = inj_cursor_encoded(&header, encoding);
	return header.bad || version != 1 ? 0 : start;
}

bool inj_eh_ends(struct inj_cursor table)
{
	while (!table.bad) {
		uint64_t len = inj_cursor_uint(&table, 4);

		if (len == 0 || len == UINT32_MAX)
			return len == 0 && !table.bad;
		inj_cursor_skip(&table, len);
	}
	return false;
}
