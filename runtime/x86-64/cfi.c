// SPDX-License-Identifier: MIT
/*
 * One row of a file's unwind table: Linux Standard Base, 10.6; DWARF 5, 6.4.  Rows that are not as compilers make them are not known, and so is whatever the
 * tables contradict themselves in.
 */
#include "runtime/stacks/stacks.h"

#define REG_BP 6
#define REG_SP 7
#define REG_RA 16

#define HEAD_BYTES 12	/* of .eh_frame_hdr before its table */
#define MAX_REMEMBERED 4
#define MAX_LETTERS 8
#define MAX_CFA (INT64_C(1) << 30)

/* Pointer encodings. */
#define PE_ABS 0x00
#define PE_UDATA4 0x03
#define PE_PC_SDATA4 0x1b

enum {
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00, CFA_ADVANCE1 = 0x02, CFA_ADVANCE2 = 0x03, CFA_ADVANCE4 = 0x04, CFA_OFFSET_EXT = 0x05, CFA_RESTORE_EXT = 0x06,
	CFA_UNDEFINED = 0x07, CFA_SAME = 0x08, CFA_REGISTER = 0x09, CFA_REMEMBER = 0x0a, CFA_RESTORE_STATE = 0x0b, CFA_DEF = 0x0c,
	CFA_DEF_REG = 0x0d, CFA_DEF_OFFSET = 0x0e, CFA_DEF_EXPR = 0x0f, CFA_EXPR = 0x10, CFA_OFFSET_EXT_SF = 0x11, CFA_DEF_SF = 0x12,
	CFA_DEF_OFFSET_SF = 0x13, CFA_VAL_OFFSET = 0x14, CFA_VAL_OFFSET_SF = 0x15, CFA_VAL_EXPR = 0x16, CFA_ARGS_SIZE = 0x2e,
};

#define OP_DEREF 0x06
#define OP_BREG_BP (0x70 + REG_BP)

struct reader {
	uint64_t at, end; /* at <= end */
	int bad;
};

/* How a register of the caller's is found. */
struct found {
	enum { SAME, AT_CFA, AT_BP, UNDEFINED, OTHER } how;
	int64_t offset;
};

struct row {
	int64_t reg, offset; /* CFA */
	int deref;	     /* ... is the word there */
	int strange;	     /* ... is something else */
	struct found bp, ra;
};

struct table {
	uint64_t code_unit;
	int64_t data_unit;
	struct reader rules, initial;
	uint64_t begin, size; /* of the code */
};

static uint64_t take(struct reader *r, unsigned int bytes)
{
	uint64_t v = 0;

	if (r->bad || r->end - r->at < bytes) {
		r->bad = 1;
		return 0;
	}
	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)((const uint8_t *)r->at)[i] << 8 * i;
	r->at += bytes;
	return v;
}

static void skip(struct reader *r, uint64_t bytes)
{
	if (r->bad || r->end - r->at < bytes)
		r->bad = 1;
	else
		r->at += bytes;
}

static uint64_t leb(struct reader *r, int is_signed)
{
	uint64_t v = 0, byte = 0x80;
	unsigned int shift = 0;

	for (; byte & 0x80 && !r->bad; shift += 7) {
		byte = take(r, 1);
		if (shift > 63)
			r->bad = 1;
		else
			v |= (byte & 0x7f) << shift;
	}
	if (is_signed && byte & 0x40 && shift < 64)
		v |= ~UINT64_C(0) << shift;
	return v;
}

#define uleb(r) leb((r), 0)
#define sleb(r) ((int64_t)leb((r), 1))

/* Of values that count they are small, whatever the table says. */
static int64_t scaled(struct reader *r, int64_t v, int64_t unit)
{
	if (v > MAX_CFA || v < -MAX_CFA || unit > 64 || unit < -64)
		r->bad = 1;
	return r->bad ? 0 : v * unit;
}

/* ---- where the entry is ---- */

static int32_t signed_at(uint64_t at)
{
	struct reader r = { at, at + 4, 0 };

	return (int32_t)take(&r, 4);
}

/* In the table of .eh_frame_hdr, in the only encoding that linkers make; 0: there is none. */
static uint64_t find_entry(const struct rt_unwind_file *f, uint64_t pc)
{
	struct reader r = { f->header, f->header_end, 0 };
	uint64_t form, n, table, low = 0, high;

	if (f->header > f->header_end)
		return 0;
	form = take(&r, 4);
	take(&r, 4);
	n = take(&r, 4);
	table = r.at;
	if (r.bad || form != 0x3b031b01 || n > (r.end - table) / 8)
		return 0;
	for (high = n; low < high;) {
		uint64_t middle = (low + high) / 2;

		if (f->header + (uint64_t)(int64_t)signed_at(table + 8 * middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? f->header + (uint64_t)(int64_t)signed_at(table + 8 * (low - 1) + 4) : 0;
}

/* What is after the length; empty: there is none. */
static struct reader entry_at(const struct rt_unwind_file *f, uint64_t at)
{
	struct reader r = { at, f->tables_end, at < f->tables || at > f->tables_end };
	uint64_t bytes = take(&r, 4);

	if (bytes == UINT32_MAX || r.bad || bytes > r.end - r.at)
		return (struct reader){ at, at, 1 };
	r.end = r.at + bytes;
	return r;
}

static uint64_t pointer(struct reader *r, unsigned int encoding)
{
	uint64_t at = r->at;

	if (encoding == PE_PC_SDATA4)
		return at + (uint64_t)(int64_t)(int32_t)take(r, 4);
	if (encoding == PE_ABS || encoding == PE_UDATA4)
		return take(r, encoding == PE_ABS ? 8 : 4);
	r->bad = 1;
	return 0;
}

static void skip_pointer(struct reader *r, unsigned int encoding)
{
	static const uint8_t bytes[16] = { 8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8 };

	skip(r, bytes[encoding & 15]);
	r->bad |= !bytes[encoding & 15];
}

/* What entries have in common.  False: it is not understood, or its frames are those of signals. */
static int read_common(struct reader r, struct table *t, unsigned int *encoding, int *sized)
{
	char letters[MAX_LETTERS] = "";
	unsigned int n = 0, version;
	uint64_t bytes;

	if (take(&r, 4) != 0)
		return 0;
	version = (unsigned int)take(&r, 1);
	while (n < MAX_LETTERS && (letters[n] = (char)take(&r, 1)))
		n++;
	t->code_unit = uleb(&r);
	t->data_unit = sleb(&r);
	if ((version != 1 && version != 3) || n == MAX_LETTERS || (version == 1 ? take(&r, 1) : uleb(&r)) != REG_RA || r.bad)
		return 0;
	*encoding = PE_ABS;
	*sized = letters[0] == 'z';
	t->initial = r;
	if (!*sized)
		return !n;
	bytes = uleb(&r);
	t->initial = r;
	skip(&t->initial, bytes);
	for (unsigned int i = 1; i < n; i++) {
		if (letters[i] == 'R')
			*encoding = (unsigned int)take(&r, 1);
		else if (letters[i] == 'L')
			take(&r, 1);
		else if (letters[i] == 'P')
			skip_pointer(&r, (unsigned int)take(&r, 1));
		else
			return 0;
	}
	return !r.bad && !t->initial.bad;
}

static int read_entry(const struct rt_unwind_file *f, uint64_t at, struct table *t)
{
	struct reader r = entry_at(f, at);
	uint64_t from = r.at, back = take(&r, 4);
	unsigned int encoding;
	int is_sized;

	if (r.bad || !back || back > from - f->tables || !read_common(entry_at(f, from - back), t, &encoding, &is_sized))
		return 0;
	t->begin = pointer(&r, encoding);
	t->size = take(&r, encoding == PE_ABS ? 8 : 4);
	if (is_sized)
		skip(&r, uleb(&r));
	t->rules = r;
	return !r.bad;
}

/* Where there is no header all entries are looked at, which static programs have few of. */
static int scan(const struct rt_unwind_file *f, uint64_t pc, struct table *t)
{
	for (uint64_t at = f->tables; at < f->tables_end;) {
		struct reader r = entry_at(f, at);

		if (r.bad)
			return 0;
		if (r.end > r.at && read_entry(f, at, t) && pc - t->begin < t->size)
			return 1;
		at = r.end;
	}
	return 0;
}

static int find_table(const struct rt_unwind_file *f, uint64_t pc, struct table *t)
{
	uint64_t at;

	if (!f->header)
		return scan(f, pc, t);
	at = find_entry(f, pc);
	return at && read_entry(f, at, t) && pc - t->begin < t->size;
}

/* ---- its rows ---- */

static void set_register(struct row *row, uint64_t reg, int how, int64_t offset)
{
	const struct found found = { how, offset };

	if (reg == REG_BP)
		row->bp = found;
	else if (reg == REG_RA)
		row->ra = found;
}

static void restore(struct row *row, uint64_t reg, const struct row *first)
{
	if (reg == REG_BP)
		row->bp = first->bp;
	else if (reg == REG_RA)
		row->ra = first->ra;
}

/* "rbp + offset", and perhaps the word there. */
static int is_by_bp(struct reader *r, int64_t *offset, int *deref)
{
	uint64_t bytes = uleb(r);
	struct reader x = *r;

	skip(r, bytes);
	if (r->bad)
		return 0;
	x.end = r->at;
	if (take(&x, 1) != OP_BREG_BP)
		return 0;
	*offset = sleb(&x);
	*deref = x.at < x.end && take(&x, 1) == OP_DEREF;
	return !x.bad && x.at == x.end;
}

static void define(struct reader *r, struct table *t, unsigned int op, struct row *row)
{
	const int is_signed = op == CFA_DEF_SF || op == CFA_DEF_OFFSET_SF;

	if (op == CFA_DEF_EXPR) {
		row->reg = REG_BP;
		row->strange = !is_by_bp(r, &row->offset, &row->deref) || !row->deref;
		return;
	}
	if (op != CFA_DEF_OFFSET && op != CFA_DEF_OFFSET_SF) {
		row->reg = (int64_t)uleb(r);
		row->deref = row->strange = 0;
	}
	if (op != CFA_DEF_REG)
		row->offset = is_signed ? scaled(r, sleb(r), t->data_unit) : scaled(r, (int64_t)uleb(r), 1);
}

static void save(struct reader *r, struct table *t, unsigned int op, struct row *row)
{
	uint64_t reg = uleb(r);
	int64_t offset = 0;
	int deref = 0;

	switch (op) {
	case CFA_OFFSET_EXT:
		offset = scaled(r, (int64_t)uleb(r), t->data_unit);
		set_register(row, reg, AT_CFA, offset);
		return;
	case CFA_OFFSET_EXT_SF:
		offset = scaled(r, sleb(r), t->data_unit);
		set_register(row, reg, AT_CFA, offset);
		return;
	case CFA_EXPR:
		if (is_by_bp(r, &offset, &deref) && !deref)
			set_register(row, reg, AT_BP, offset);
		else
			set_register(row, reg, OTHER, 0);
		return;
	case CFA_VAL_EXPR:
		skip(r, uleb(r));
		break;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_REGISTER:
		uleb(r);
		break;
	}
	set_register(row, reg, op == CFA_SAME ? SAME : op == CFA_UNDEFINED ? UNDEFINED : OTHER, 0);
}

struct remembered {
	struct row row[MAX_REMEMBERED];
	unsigned int n;
};

/* One instruction, no advance.  False: it is not understood. */
static int apply(struct reader *r, struct table *t, unsigned int op, struct row *row, const struct row *first, struct remembered *old)
{
	switch (op) {
	case CFA_NOP:
		return 1;
	case CFA_ARGS_SIZE:
		uleb(r);
		return 1;
	case CFA_DEF:
	case CFA_DEF_REG:
	case CFA_DEF_OFFSET:
	case CFA_DEF_EXPR:
	case CFA_DEF_SF:
	case CFA_DEF_OFFSET_SF:
		define(r, t, op, row);
		return 1;
	case CFA_OFFSET_EXT:
	case CFA_OFFSET_EXT_SF:
	case CFA_EXPR:
	case CFA_VAL_EXPR:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_REGISTER:
	case CFA_SAME:
	case CFA_UNDEFINED:
		save(r, t, op, row);
		return 1;
	case CFA_RESTORE_EXT:
		restore(row, uleb(r), first);
		return 1;
	case CFA_REMEMBER:
		if (old->n == MAX_REMEMBERED)
			return 0;
		old->row[old->n++] = *row;
		return 1;
	case CFA_RESTORE_STATE:
		if (!old->n)
			return 0;
		*row = old->row[--old->n];
		return 1;
	default:
		return 0;
	}
}

/* By how many units the next row is further on; 0: it is no such instruction. */
static uint64_t advance(struct reader *r, unsigned int op)
{
	if ((op & 0xc0) == CFA_ADVANCE)
		return op & 0x3f;
	if (op == CFA_ADVANCE1)
		return take(r, 1);
	if (op == CFA_ADVANCE2)
		return take(r, 2);
	return op == CFA_ADVANCE4 ? take(r, 4) : 0;
}

static int is_advance(unsigned int op)
{
	return (op & 0xc0) == CFA_ADVANCE || op == CFA_ADVANCE1 || op == CFA_ADVANCE2 || op == CFA_ADVANCE4;
}

/* The row for the code @distance bytes after the entry's begin. */
static int run(struct reader r, struct table *t, uint64_t distance, struct row *row, const struct row *first)
{
	struct remembered old = { .n = 0 };
	uint64_t at = 0;

	while (r.at < r.end && !r.bad) {
		unsigned int op = (unsigned int)take(&r, 1);

		if (is_advance(op)) {
			if (__builtin_mul_overflow(advance(&r, op), t->code_unit, &at) || at > distance)
				break;
			distance -= at;
		} else if ((op & 0xc0) == CFA_OFFSET) {
			set_register(row, op & 0x3f, AT_CFA, scaled(&r, (int64_t)uleb(&r), t->data_unit));
		} else if ((op & 0xc0) == CFA_RESTORE) {
			restore(row, op & 0x3f, first);
		} else if (!apply(&r, t, op, row, first, &old)) {
			return 0;
		}
	}
	return !r.bad;
}

/* ---- in short ---- */

static struct rt_rule rule_of(const struct row *row)
{
	struct rt_rule rule = { .kind = RT_RULE_UNKNOWN };

	if (row->ra.how == UNDEFINED)
		return (struct rt_rule){ .kind = RT_RULE_OUTERMOST };
	if (row->ra.how != AT_CFA || row->ra.offset != -8 || row->strange || row->offset > MAX_CFA || row->offset < -MAX_CFA ||
	    (row->reg != REG_BP && row->reg != REG_SP))
		return rule;
	rule.cfa = (int32_t)row->offset;
	rule.from = RT_BP_LOST;
	if (row->bp.how == SAME)
		rule.from = RT_BP_SAME;
	if ((row->bp.how == AT_CFA || row->bp.how == AT_BP) && row->bp.offset % 8 == 0 && row->bp.offset / 8 == (int16_t)(row->bp.offset / 8)) {
		rule.from = row->bp.how == AT_CFA ? RT_BP_CFA : RT_BP_BP;
		rule.bp = (int16_t)(row->bp.offset / 8);
	}
	rule.kind = row->deref ? RT_RULE_AT_BP : row->reg == REG_BP ? RT_RULE_BP : RT_RULE_SP;
	return rule;
}

struct rt_rule rt_cfi_rule(const struct rt_unwind_file *f, uint64_t pc)
{
	const struct row none = { .reg = -1, .ra.how = OTHER };
	struct row row = none, first;
	struct table t;

	if (!find_table(f, pc - 1, &t) || !run(t.initial, &t, UINT64_MAX, &row, &none))
		return (struct rt_rule){ 0 };
	first = row;
	if (!run(t.rules, &t, pc - 1 - t.begin, &row, &first))
		return (struct rt_rule){ 0 };
	return rule_of(&row);
}
