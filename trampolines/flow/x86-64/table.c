// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Jump tables.
 *
 * Every address in a function that also has an indirect jump and loads of entries may be a table's: of
 * distances from itself (4 bytes each; position-independent code), or of addresses (8 or 4 bytes; only where
 * the linker has put them in).  What a function computes from its own labels (`&&case - &&base` of GNU C) is a table
 * of distances from one of those that it loads.  No bound is looked for.  A table ends where
 *  - the next address begins that some such function loads and that looks like a table,
 *  - an entry is not in code, or is no instruction (where the function was decoded without a doubt),
 * and after its last entry that leads into its function.  It has two entries at least, and in data it is
 * aligned, as all compilers do.  What is read too far leads to true
 * instructions at wrong places, which costs a little freedom in patching, and nothing else.
 */
#include "trampolines/flow/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum { ENTRIES_MIN = 2 };

enum form { DISTANCES, WORDS, HALVES, FORMS };

static const uint8_t entry_size[FORMS] = { 4, 8, 4 };

/* The entry at @addr, if it is a distance, from @origin; false: no bytes there. */
static bool read_entry(const struct tramp_bytes *b, uint64_t origin, uint64_t addr, enum form form,
		       uint64_t *to)
{
	size_t size = entry_size[form];

	if (addr - b->addr >= b->len || b->len - (addr - b->addr) < size)
		return false;
	*to = (uint64_t)tramp_flow_field(b->bytes + (addr - b->addr), 0, (uint8_t)size);
	if (form == DISTANCES)
		*to += origin;
	return true;
}

static enum form last_form(const struct tramp_code *code)
{
	return code->absolute ? FORMS : WORDS;
}

bool tramp_flow_table_like(const struct tramp_code *code, uint64_t addr)
{
	const struct tramp_bytes *b = tramp_flow_bytes(code, addr);
	uint64_t to;

	for (enum form form = DISTANCES; b && form < last_form(code); form++) {
		if (read_entry(b, addr, addr, form, &to) && tramp_flow_is_code(code, to))
			return true;
	}
	return false;
}

/* The first entries are less than the code is long. */
bool tramp_flow_offsets_like(const struct tramp_code *code, uint64_t addr)
{
	const struct tramp_bytes *b = tramp_flow_bytes(code, addr);
	uint64_t size = code->end - code->base, to;

	if (!b || b->code || addr % entry_size[DISTANCES])
		return false;
	for (int i = 0; i < ENTRIES_MIN; i++) {
		if (!read_entry(b, size, addr + (uint64_t)i * entry_size[DISTANCES], DISTANCES, &to) || to >= 2 * size)
			return false;
	}
	return true;
}

struct table {
	struct flow_scan *scan;
	const struct tramp_bytes *bytes;
	uint64_t base, stop;
	uint64_t origin;	/* of distances */
	uint32_t fn, owner;
	enum form form;
	bool strict;		/* entries are instructions that were found already */
};

static bool is_loose(const struct tramp_code *code, uint32_t piece)
{
	const struct tramp_fn *fn;

	if (piece == TRAMP_NONE)
		return true;
	fn = &code->facts->fns[piece];
	return fn->flags & TRAMP_FN_MAYBE_PART ||
	       (fn->flags & TRAMP_FN_PART && code->owner[piece] == piece);
}

/* Does it lead into the function, or to what may be a part of it? */
static bool is_own(const struct table *t, uint64_t to)
{
	const struct tramp_code *code = t->scan->code;
	uint32_t piece = tramp_flow_piece(code, to);

	return is_loose(code, piece) || code->owner[piece] == t->owner;
}

static bool is_possible(const struct table *t, uint64_t to)
{
	const struct tramp_code *code = t->scan->code;

	return tramp_flow_is_code(code, to) && (!t->strict || flow_bit(t->scan->starts, to - code->base));
}

/* Entries up to the last one that is the function's own. */
static size_t count_entries(const struct table *t)
{
	size_t size = entry_size[t->form], own = 0;
	uint64_t to;

	for (size_t i = 0; t->base + i * size < t->stop; i++) {
		if (!read_entry(t->bytes, t->origin, t->base + i * size, t->form, &to) ||
		    !is_possible(t, to) || (t->origin != t->base && !is_own(t, to)))
			break;
		if (is_own(t, to))
			own = i + 1;
	}
	return own >= ENTRIES_MIN ? own : 0;
}

static void take_entries(const struct table *t, size_t n)
{
	struct tramp_code *code = t->scan->code;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		struct flow_cross c = { .from = t->fn };
		uint64_t to;

		if (!read_entry(t->bytes, t->origin, t->base + i * entry_size[t->form], t->form, &to))
			return;
		c.to = (uint32_t)(to - code->base);
		tramp_flow_append(t->scan, &t->scan->crosses, &c, sizeof(c));
		flow_set_bit(code->table, c.to);
		if (!flow_bit(t->scan->starts, c.to))
			tramp_flow_scan_at(t->scan, to);
	}
	code->bits[t->fn] |= FLOW_FN_TABLES;
}

/* Parts that are not known yet may leave the loading to one, the jumping to the other. */
static bool has_jumps(const struct tramp_code *code, uint32_t fn)
{
	uint16_t needed = FLOW_FN_JUMPS | FLOW_FN_LOADS;

	return (code->bits[code->owner[fn]] & needed) == needed ||
	       (code->facts->fns[fn].flags & TRAMP_FN_MAYBE_PART && code->bits[fn] & FLOW_FN_LOADS);
}

static struct table table_at(struct flow_scan *scan, const struct flow_base *base, uint64_t stop)
{
	struct tramp_code *code = scan->code;
	struct table t = {
		.scan = scan, .bytes = tramp_flow_bytes(code, base->addr), .base = base->addr,
		.stop = stop, .origin = base->addr, .fn = base->fn, .owner = code->owner[base->fn],
	};

	t.strict = t.bytes && !t.bytes->code && !(code->bits[base->fn] & FLOW_FN_ODD);
	return t;
}

static void read_table(struct flow_scan *scan, const struct flow_base *base, uint64_t stop)
{
	struct tramp_code *code = scan->code;
	struct table t = table_at(scan, base, stop);

	if (!t.bytes)
		return;
	for (t.form = DISTANCES; t.form < last_form(code); t.form++) {
		bool aligned = base->addr % entry_size[t.form] == 0 || t.bytes->code;

		take_entries(&t, aligned ? count_entries(&t) : 0);
	}
}

static int by_address(const void *left, const void *right)
{
	const struct flow_base *a = left, *b = right;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->fn != b->fn)
		return a->fn < b->fn ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* An indirect jump of what may be a part could use a table that its parent loads. */
static void spread_jumps(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	const struct flow_cross *crosses = scan->crosses.items;

	for (size_t i = 0; i < code->facts->nfns; i++) {
		code->bits[code->owner[i]] |= code->bits[i] & (FLOW_FN_JUMPS | FLOW_FN_LOADS);
	}
	for (size_t i = 0; i < scan->crosses.n; i++) {
		uint32_t piece = tramp_flow_piece(code, code->base + crosses[i].to);

		if (crosses[i].from != TRAMP_NONE && piece != TRAMP_NONE && is_loose(code, piece) &&
		    code->bits[piece] & FLOW_FN_JUMPS)
			code->bits[code->owner[crosses[i].from]] |=
				code->bits[piece] & (FLOW_FN_JUMPS | FLOW_FN_LOADS);
	}
}

/* Keeps what functions with indirect jumps load, each once. */
static void thin_out(struct flow_scan *scan, struct flow_list *list)
{
	struct flow_base *bases = list->items;
	size_t kept = 0;

	if (list->n)
		qsort(bases, list->n, sizeof(*bases), by_address);
	for (size_t i = 0; i < list->n; i++) {
		if (!has_jumps(scan->code, bases[i].fn) ||
		    (kept && by_address(&bases[kept - 1], &bases[i]) == 0))
			continue;
		bases[kept++] = bases[i];
	}
	list->n = kept;
}

static void read_tables(struct flow_scan *scan, const struct flow_list *list)
{
	const struct flow_base *bases = list->items;
	uint64_t stop = UINT64_MAX, above = UINT64_MAX;

	for (size_t i = list->n; i-- > 0;) {
		if (bases[i].kind != FLOW_BASE_TABLE)
			continue;
		if (bases[i].addr != above)
			stop = above;
		above = bases[i].addr;
		read_table(scan, &bases[i], stop);
	}
}

/* ---- distances from labels ---- */

static int by_owner(const void *left, const void *right)
{
	const struct flow_base *a = left, *b = right;

	if (a->fn != b->fn)
		return a->fn < b->fn ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Labels that functions load from themselves, sorted; `fn` is whose part it is. */
static struct flow_list own_labels(struct flow_scan *scan, const struct flow_list *list)
{
	const struct tramp_code *code = scan->code;
	const struct flow_base *bases = list->items;
	struct flow_list labels = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		struct flow_base label = bases[i];

		label.fn = code->owner[label.fn];
		if (label.kind == FLOW_BASE_LABEL &&
		    code->owner[tramp_flow_piece(code, label.addr)] == label.fn)
			tramp_flow_append(scan, &labels, &label, sizeof(label));
	}
	if (labels.n)
		qsort(labels.items, labels.n, sizeof(struct flow_base), by_owner);
	return labels;
}

/* Index of the first one of @owner, or after. */
static size_t first_label(const struct flow_list *labels, uint32_t owner)
{
	const struct flow_base *v = labels->items;

	return search_first(i, labels->n, v[i].fn >= owner);
}

/* All entries have to lead into the function; no other table ends it. */
static void read_offsets(struct flow_scan *scan, const struct flow_base *base, const struct flow_list *labels)
{
	struct table t = table_at(scan, base, UINT64_MAX);
	const struct flow_base *v = labels->items;

	if (!t.bytes || t.bytes->code || base->addr % entry_size[DISTANCES])
		return;
	for (size_t i = first_label(labels, t.owner); i < labels->n && v[i].fn == t.owner; i++) {
		t.origin = v[i].addr;
		take_entries(&t, count_entries(&t));
	}
}

static void read_all_offsets(struct flow_scan *scan, const struct flow_list *list)
{
	const struct flow_base *bases = list->items;
	struct flow_list labels = own_labels(scan, list);

	for (size_t i = 0; i < list->n && labels.n; i++) {
		if (bases[i].kind != FLOW_BASE_LABEL)
			read_offsets(scan, &bases[i], &labels);
	}
	free(labels.items);
}

/* Tables can lead to code in which there are more of them, but only where the decoding was in doubt. */
void tramp_flow_tables(struct flow_scan *scan)
{
	do {
		struct flow_list list = scan->bases;

		scan->bases = (struct flow_list){ 0 };
		spread_jumps(scan);
		thin_out(scan, &list);
		read_tables(scan, &list);
		read_all_offsets(scan, &list);
		free(list.items);
	} while (scan->bases.n && !scan->no_memory);
}
