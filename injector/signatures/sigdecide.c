// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which of the units whose bytes are there were linked there.  What is accepted says, by its references, where names are, and so
 * which other units can be where; that is followed until nothing is left.  A unit that was accepted stays so.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/signatures/sigmask.h"
#include "injector/signatures/sigmatch-int.h"

#define ALONE 256	/* fixed bytes of a unit that is believed for itself */
#define CALLING 24	/* of one for which what it calls speaks as well */
#define BESIDE 8	/* of one that is between others of its archive */
#define SHARED_BESIDE 16
#define SHARED_ALONE 512 /* ALONE of a template, of which others may be alike */
#define GAP 63		/* bytes of padding between two sections */
#define MANY 8		/* references that agree, for one that does not */
#define ROUNDS 16

/* ---- those at the same place ---- */

static bool same_name(const struct match *m, const struct instance *a, const struct instance *b)
{
	const struct inj_sig_file *f = &m->files[a->file], *g = &m->files[b->file];

	return strcmp(f->text + f->names[f->funcs[unit_of(m, a)->funcs].names].text,
		      g->text + g->names[g->funcs[unit_of(m, b)->funcs].names].text) == 0;
}

static void reject(struct match *m, struct instance *in)
{
	in->state = SIG_REJECTED;
	m->copies[in->file][in->unit]--;
}

/* Another one that may be there as well, of another name and not much smaller. */
static bool has_rival(const struct match *m, const struct instance *in)
{
	const struct place *p = sig_place(m, in->base);

	for (uint32_t i = p ? p->claims : 0; i; i = m->claims[i - 1].next) {
		const struct instance *other = &m->instances[m->claims[i - 1].instance];

		if (other != in && other->base == in->base && other->state == SIG_OPEN &&
		    2 * unit_of(m, other)->fixed >= unit_of(m, in)->fixed && !same_name(m, in, other))
			return true;
	}
	return false;
}

static bool overlaps(const struct match *m, const struct instance *in)
{
	const struct sig_unit *u = unit_of(m, in);

	for (uint32_t at = 0; at < u->len; at += 16)
		if (sig_is_covered(m, in->base + at))
			return true;
	return sig_is_covered(m, in->base + u->len - 1);
}

/* ---- accepting ---- */

static void accept(struct match *m, uint32_t index)
{
	struct instance *in = &m->instances[index];
	const struct inj_sig_file *f = &m->files[in->file];
	const struct sig_unit *u = unit_of(m, in);

	if (overlaps(m, in) || !array_room(m->queue, m->queue_room, m->nqueue + 1)) {
		reject(m, in);
		return;
	}
	in->state = SIG_ACCEPTED;
	m->queue[m->nqueue++] = index;
	sig_cover(m, in->base, u->len);
	for (uint32_t i = u->funcs; i < u->funcs + u->nfuncs; i++) {
		uint64_t addr = in->base + f->funcs[i].at;

		for (uint32_t k = f->funcs[i].names; k < f->funcs[i].names + f->funcs[i].nnames; k++)
			if (f->names[k].flags & SIG_NAME_GLOBAL)
				sig_set_name(m, f->text + f->names[k].text, addr);
		for (uint32_t c = sig_place(m, addr)->claims; c; c = m->claims[c - 1].next)
			if (m->instances[m->claims[c - 1].instance].state == SIG_OPEN)
				reject(m, &m->instances[m->claims[c - 1].instance]);
	}
}

static bool is_trusted(struct evidence e)
{
	return e.agree >= MANY * e.contradict;
}

/* A unit that a reference needs to be there: it is accepted if its bytes are, and what it says is no nonsense. */
static void expect(struct match *m, uint32_t file, uint32_t unit, uint64_t base)
{
	uint32_t index = sig_instance(m, file, unit, base);

	if (index == SIG_NONE && sig_is_there(m, file, unit, base))
		index = sig_note(m, file, unit, base);
	if (index == SIG_NONE || m->instances[index].state != SIG_OPEN)
		return;
	if (is_trusted(sig_weigh(m, &m->instances[index])))
		accept(m, index);
	else
		reject(m, &m->instances[index]);
}

static void note_said(struct match *m, uint32_t file, uint32_t symbol, uint64_t target, bool branch)
{
	struct place *p = sig_new_place(m, target);

	for (uint32_t i = p ? p->said : 0; i; i = m->said[i - 1].next) {
		if (m->said[i - 1].file == file && m->said[i - 1].symbol == symbol) {
			m->said[i - 1].branch |= branch;
			return;
		}
	}
	if (!p || !array_room(m->said, m->said_room, m->nsaid + 1)) {
		m->failed = true;
		return;
	}
	m->said[m->nsaid++] = (struct said){ file, symbol, p->said, branch };
	p->said = (uint32_t)m->nsaid;
}

/* All that start there and are called so stay, others do not. */
static void sort_out(struct match *m, uint32_t file, uint32_t symbol, uint64_t target)
{
	const struct place *p = sig_place(m, target);
	bool any = false;

	for (uint32_t i = p ? p->claims : 0; i; i = m->claims[i - 1].next) {
		struct instance *in = &m->instances[m->claims[i - 1].instance];

		any |= in->state == SIG_ACCEPTED;
		if (in->state == SIG_OPEN && !sig_defines(m, &m->claims[i - 1], file, symbol))
			reject(m, in);
	}
	for (uint32_t i = p && !any ? p->claims : 0; i; i = m->claims[i - 1].next) {
		const struct instance *in = &m->instances[m->claims[i - 1].instance];

		if (in->state == SIG_OPEN) {
			expect(m, in->file, in->unit, in->base);
			p = sig_place(m, target);
		}
	}
}

static void follow_symbol(struct match *m, uint32_t file, uint32_t symbol, uint64_t target, bool branch)
{
	const struct sig_symbol *s = &m->files[file].symbols[symbol];
	uint64_t left;
	bool code;

	if (!target || sig_is_plt(m, &target))
		return;
	code = sig_code_at(m, target, &left);
	if (s->text != SIG_NONE)
		sig_set_name(m, sig_symbol_text(m, file, symbol), target);
	if (!code)
		return;
	note_said(m, file, symbol, target, branch);
	sort_out(m, file, symbol, target);
	if (s->unit != SIG_NONE && !sig_accepted_at(m, sig_place(m, target)))
		expect(m, file, s->unit, target - m->files[file].funcs[s->func].at);
}

static void follow(struct match *m, uint32_t index)
{
	const struct instance in = m->instances[index];
	const struct inj_sig_file *f = &m->files[in.file];
	const struct sig_unit *u = unit_of(m, &in);
	const struct sig_ref *refs = inj_sig_refs(f, u);
	uint64_t left, target;
	const uint8_t *code = sig_code_at(m, in.base, &left);
	bool branch;

	for (uint32_t i = 0; i < u->nrefs && !m->failed; i++)
		if (refs[i].symbol != SIG_NONE && inj_sig_target(&refs[i], code, in.base, &target, &branch))
			follow_symbol(m, in.file, refs[i].symbol, target, branch);
}

static void follow_all(struct match *m)
{
	while (m->nqueue && !m->failed)
		follow(m, m->queue[--m->nqueue]);
}

/* ---- the rules ---- */

struct ranked {
	uint32_t index, fixed;
	uint64_t base;
};

static int by_fixed(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->fixed != y->fixed)
		return x->fixed > y->fixed ? -1 : 1;
	return x->base < y->base ? -1 : x->base > y->base ? 1 : x->index < y->index ? -1 : x->index > y->index;
}

static int by_base(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base ? 1 : x->index < y->index ? -1 : x->index > y->index;
}

/* Malloc'ed; NULL: no memory. */
static struct ranked *rank(struct match *m, int (*order)(const void *, const void *), size_t *n)
{
	struct ranked *v = calloc(m->ninstances + 1, sizeof(*v));

	*n = m->ninstances;
	m->failed |= !v;
	for (uint32_t i = 0; v && i < *n; i++)
		v[i] = (struct ranked){ i, unit_of(m, &m->instances[i])->fixed, m->instances[i].base };
	if (v && *n)
		qsort(v, *n, sizeof(*v), order);
	return v;
}

/* For itself, or with what it calls. */
static bool is_enough(const struct match *m, const struct instance *in, struct evidence e)
{
	const struct sig_unit *u = unit_of(m, in);

	if (u->flags & SIG_UNIT_SHARED)
		return u->fixed >= SHARED_ALONE;
	return u->fixed >= ALONE || (u->fixed >= CALLING && e.agree);
}

/* False: nothing has changed. */
static bool round_of(struct match *m, const struct ranked *v, size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n && !m->failed; i++) {
		struct instance *in = &m->instances[v[i].index];
		struct evidence e;

		if (in->state != SIG_OPEN)
			continue;
		e = sig_weigh(m, in);
		if (!is_trusted(e)) {
			reject(m, in);
			changed = true;
		} else if (m->copies[in->file][in->unit] == 1 && is_enough(m, in, e) && !has_rival(m, in)) {
			accept(m, v[i].index);
			follow_all(m);
			changed = true;
		}
	}
	return changed;
}

/* The instance of @file that is not rejected and begins at [from, from + GAP], its only one if it is open; n: none. */
static size_t next_tile(const struct match *m, const struct ranked *v, size_t n, size_t i, uint32_t file, uint64_t from)
{
	while (i < n && v[i].base < from)
		i++;
	for (; i < n && v[i].base - from <= GAP; i++) {
		const struct instance *in = &m->instances[v[i].index];

		if (in->file == file && in->state != SIG_REJECTED)
			return i;
	}
	return n;
}

/*
 * Units have the order that they have in the archive's objects, and a linker keeps it: of some that are equal, the only one of
 * their file that is after @low and before @high.
 */
static bool is_in_order(const struct match *m, const struct instance *in, uint32_t low, uint32_t high)
{
	const struct place *p = sig_place(m, in->base);

	if (in->unit <= low || in->unit >= high)
		return false;
	for (uint32_t i = p ? p->claims : 0; i; i = m->claims[i - 1].next) {
		const struct instance *other = &m->instances[m->claims[i - 1].instance];

		if (other != in && other->base == in->base && other->state == SIG_OPEN &&
		    (other->file != in->file || (other->unit > low && other->unit < high)))
			return false;
	}
	return true;
}

static bool is_beside(const struct match *m, const struct instance *in, uint32_t low, uint32_t high)
{
	const struct sig_unit *u = unit_of(m, in);

	if (u->fixed < (u->flags & SIG_UNIT_SHARED ? SHARED_BESIDE : BESIDE))
		return false;
	if (m->copies[in->file][in->unit] == 1 && !has_rival(m, in))
		return true;
	return is_in_order(m, in, low, high);
}

/* Accepts what lies between two accepted units of one archive without a gap. */
static bool fill_between(struct match *m, const struct ranked *v, size_t n, size_t first)
{
	const struct instance *begin = &m->instances[v[first].index];
	uint32_t file = begin->file, low = begin->unit, high;
	size_t i = first, last = first;
	bool changed = false;

	do {
		const struct instance *in = &m->instances[v[i].index];

		last = i;
		i = next_tile(m, v, n, i + 1, file, in->base + unit_of(m, in)->len);
	} while (i < n && m->instances[v[i].index].state == SIG_OPEN);
	if (i == n || last == first)
		return false;
	high = m->instances[v[i].index].unit;
	for (size_t k = first + 1; k < i && !m->failed; k++) {
		struct instance *in = &m->instances[v[k].index];

		if (in->state == SIG_OPEN && in->file == file && is_beside(m, in, low, high) && is_trusted(sig_weigh(m, in))) {
			accept(m, v[k].index);
			follow_all(m);
			changed = true;
		}
	}
	return changed;
}

static bool round_beside(struct match *m, const struct ranked *v, size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n && !m->failed; i++)
		if (m->instances[v[i].index].state == SIG_ACCEPTED)
			changed |= fill_between(m, v, n, i);
	return changed;
}

/* All instances in both orders, made anew when there are more. */
struct orders {
	struct ranked *fixed, *base;
	size_t n;
};

static bool make_orders(struct match *m, struct orders *o)
{
	if (o->fixed && o->n == m->ninstances)
		return true;
	free(o->fixed);
	free(o->base);
	o->fixed = rank(m, by_fixed, &o->n);
	o->base = rank(m, by_base, &o->n);
	return o->fixed && o->base;
}

void sig_decide(struct match *m)
{
	struct orders o = { 0 };
	bool changed = true;

	for (size_t i = 0; i < m->code->nknown && !m->failed; i++)
		sig_set_name(m, m->code->known[i].name, m->code->known[i].addr);
	for (int i = 0; i < ROUNDS && changed && make_orders(m, &o); i++) {
		changed = round_of(m, o.fixed, o.n);
		if (!changed && !m->failed && make_orders(m, &o))
			changed = round_beside(m, o.base, o.n);
	}
	free(o.fixed);
	free(o.base);
}
