// SPDX-License-Identifier: GPL-3.0-or-later
/* Rounds of supposing starts, and of looking at what the flow makes of them. */
#include "config.h"

#include "injector/starts/starts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "trampolines/insn/x86-64/decode.h"

enum {
	ROUNDS_MAX = 20,
	ROUNDS_COARSE = 6,	/* where only bounds are wanted */
	GAPS_ROUND = 6,		/* from then on, gaps are looked at in any case */
	DEATHS_MAX = 5,		/* of one start: what spoke against it may have been none, too */
	UNCOVERED_MIN = 512,	/* bytes: what linkers and C libraries add to every program without tables is less */
	SMALL = 1 << 20,	/* where that is enough; in larger files it has to be */
	UNCOVERED_SHARE = 10,	/* one byte in so many */
	LARGE = 16 << 20,	/* in files larger than that nothing is searched for: it would take minutes, and gigabytes */
};


/* ---- the list ---- */

static bool in_known(const struct inj_cf *cf, uint64_t addr)
{
	return inj_cf_function(cf, addr) < cf->nfns;
}

bool inj_starts_add(struct inj_starts *s, uint64_t addr, uint32_t by, bool part)
{
	const struct inj_start *there = inj_starts_at(s, addr);

	if (!inj_cf_code(s->cf, addr) || in_known(s->cf, addr) || inj_cf_is_plt(s->cf, addr))
		return false;
	if (there && (there->dead ? there->deaths == DEATHS_MAX : (there->by & by) == by))
		return false;
	if (!array_room(s->v, s->room, s->n + 1)) {
		s->failed = true;
		return false;
	}
	s->v[s->n++] = (struct inj_start){ .addr = addr, .by = by, .part = part, .fresh = true };
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct inj_start *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->fresh - y->fresh;
}

/* One for each address, ascending. */
static void settle(struct inj_starts *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_address);
	for (size_t i = 0; i < s->n; i++) {
		struct inj_start *last = n ? &s->v[n - 1] : NULL;

		if (last && last->addr == s->v[i].addr) {
			last->by |= s->v[i].by;
			last->part &= s->v[i].part;
			last->dead = false;
		} else {
			s->v[n++] = s->v[i];
		}
	}
	for (size_t i = 0; i < n; i++)
		s->v[i].fresh = false;
	s->n = s->settled = n;
}

struct inj_start *inj_starts_at(const struct inj_starts *s, uint64_t addr)
{
	size_t at = search_first(i, s->settled, s->v[i].addr >= addr);

	return at < s->settled && s->v[at].addr == addr ? &s->v[at] : NULL;
}

/* ---- the flow of a round ---- */

static uint64_t limit_of(const struct inj_starts *s, size_t known, size_t i, uint64_t addr)
{
	const struct tramp_bytes *code = inj_cf_code(s->cf, addr);
	uint64_t limit = code->addr + code->len;

	while (i < s->n && s->v[i].dead)
		i++;
	if (i < s->n && s->v[i].addr < limit)
		limit = s->v[i].addr;
	if (known < s->cf->nfns && s->cf->fns[known].addr < limit)
		limit = s->cf->fns[known].addr;
	return limit;
}

/* Up to what comes next; if that is padding, where the last round found its end: a call may be the last instruction. */
static uint64_t size_of(const struct inj_starts *s, const struct inj_start *start)
{
	if (start->end > start->addr && start->end < start->limit && !(start->shape & TRAMP_SHAPE_UNSURE) &&
	    inj_starts_padding(s->cf, start->end, start->limit) == start->limit)
		return start->end - start->addr;
	return start->limit - start->addr;
}

static void put_known(struct inj_starts *s, size_t k, size_t at)
{
	s->fns[at] = s->cf->fns[k];
	s->of[at] = TRAMP_NONE;
	s->moved[k] = (uint32_t)at;
}

static void put_start(struct inj_starts *s, size_t i, size_t known, size_t at)
{
	struct inj_start *start = &s->v[i];

	start->limit = limit_of(s, known, i + 1, start->addr);
	s->fns[at] = (struct tramp_fn){ .addr = start->addr, .size = size_of(s, start), .parent = TRAMP_NONE };
	s->of[at] = (uint32_t)i;
	s->fn[i] = (uint32_t)at;
}

static bool allocate(struct inj_starts *s)
{
	size_t n = s->cf->nfns + s->n + 1;

	free(s->fns);
	free(s->of);
	free(s->fn);
	s->fns = calloc(n, sizeof(*s->fns));
	s->of = calloc(n, sizeof(*s->of));
	s->fn = calloc(s->n + 1, sizeof(*s->fn));
	return s->fns && s->of && s->fn;
}

static void list_functions(struct inj_starts *s)
{
	const struct inj_cf *cf = s->cf;
	size_t k = 0, n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].dead)
			continue;
		while (k < cf->nfns && cf->fns[k].addr < s->v[i].addr) {
			put_known(s, k, n++);
			k++;
		}
		put_start(s, i, k, n++);
	}
	for (; k < cf->nfns; k++)
		put_known(s, k, n++);
	for (size_t i = 0; i < n; i++)
		if (s->of[i] == TRAMP_NONE && s->fns[i].parent < cf->nfns)
			s->fns[i].parent = s->moved[s->fns[i].parent];
	s->facts.fns = s->fns;
	s->facts.nfns = n;
}

static bool build(struct inj_starts *s)
{
	tramp_code_free(s->code);
	s->code = NULL;
	settle(s);
	if (s->failed || !allocate(s))
		return false;
	list_functions(s);
	return tramp_code_new(&s->facts, &s->code) == TRAMP_CODE_OK;
}

/* ---- what each comes to ---- */

static bool keep_edges(struct inj_starts *s, struct inj_start *start, const struct tramp_shape *shape)
{
	start->edge = s->nedges;
	start->nedges = shape->nleaves;
	if (!array_room(s->edges, s->edge_room, s->nedges + shape->nleaves))
		return false;
	for (uint32_t i = 0; i < shape->nleaves; i++) {
		const struct tramp_leave *l = &shape->leaves[i];

		s->edges[s->nedges++] = (struct inj_edge){
			.to = l->to, .ends = l->ends, .flat = l->flat, .deep = l->deep,
		};
	}
	return true;
}

static bool look_at_all(struct inj_starts *s)
{
	struct tramp_shape *shape = malloc(sizeof(*shape));
	struct tramp_flow flow = { 0 };
	bool good = shape != NULL;

	s->nedges = 0;
	memset(s->reached, 0, (s->size / 64 + 1) * sizeof(*s->reached));
	if (good)
		shape->reached = s->reached;
	for (size_t i = 0; good && i < s->n; i++) {
		struct inj_start *start = &s->v[i];

		if (start->dead)
			continue;
		good = tramp_flow_build(&flow, s->code, s->fn[i]) == TRAMP_CODE_OK && tramp_flow_shape(&flow, shape) &&
		       keep_edges(s, start, shape);
		start->shape = shape->flags;
		start->end = shape->end;
	}
	tramp_flow_free(&flow);
	free(shape);
	return good;
}

/* ---- what is supposed ---- */

static void suppose_entries(struct inj_starts *s)
{
	const struct inj_elf *file = &s->cf->file;
	const uint64_t entries[] = { file->entry, file->dyn.init, file->dyn.fini }; /* 0: there is none */

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i])
			inj_starts_add(s, entries[i], INJ_FN_BY_ENTRY, false);
}

static uint8_t kind_of(const struct inj_starts *s, const struct tramp_site *site)
{
	size_t left;
	const uint8_t *p = tramp_code_at(s->code, tramp_code_base(s->code) + site->from, &left);
	struct tramp_decoded insn;

	if (!p || !tramp_decode(p, left, &insn))
		return TRAMP_OP_PLAIN;
	return insn.kind == TRAMP_OP_CALL && !insn.rel ? TRAMP_OP_PLAIN : insn.kind; /* a call of what comes next asks where it is */
}

bool inj_starts_is_call(const struct inj_starts *s, const struct tramp_site *site)
{
	return kind_of(s, site) == TRAMP_OP_CALL;
}

bool inj_starts_is_jump(const struct inj_starts *s, const struct tramp_site *site)
{
	return tramp_op_jumps(kind_of(s, site));
}

/*
 * May something start there?  Not where control comes anyway: then it may as well be a label.  Nor in a function with a jump that is
 * not understood, which may lead there, unless it begins like a function.
 */
static bool is_free(const struct inj_starts *s, uint64_t addr)
{
	uint64_t at = addr - tramp_code_base(s->code);
	const struct inj_start *start = inj_starts_at(s, addr);
	uint32_t fn;

	if (start && !start->dead)
		return true;
	if (at >= s->size || s->reached[at / 64] >> at % 64 & 1)
		return false;
	fn = tramp_code_function(s->code, addr);
	return fn == TRAMP_NONE || s->of[fn] == TRAMP_NONE || !(s->v[s->of[fn]].shape & TRAMP_SHAPE_UNSURE) ||
	       inj_starts_like_entry(s->cf, addr);
}

static void suppose_called(struct inj_starts *s)
{
	struct tramp_code_arrays a;
	const struct tramp_site *sites;

	tramp_code_arrays(s->code, &a);
	sites = a.at[TRAMP_CODE_SITES];
	for (size_t i = 0; i < a.bytes[TRAMP_CODE_SITES] / sizeof(*sites); i++) {
		uint64_t to = tramp_code_base(s->code) + sites[i].to;

		if ((!i || sites[i].to != sites[i - 1].to) && is_free(s, to) && inj_starts_is_call(s, &sites[i]))
			inj_starts_add(s, to, INJ_FN_BY_CALL, false);
	}
}

static void suppose_held(struct inj_starts *s)
{
	for (size_t i = 0; i < s->cf->pointers.n; i++) {
		uint64_t addr = s->cf->pointers.v[i];

		if (is_free(s, addr) && !inj_starts_in_plt(s->cf, addr))
			inj_starts_add(s, addr, INJ_FN_BY_DATA, false);
	}
}

/* Places that control may come to, and that no branch, table or data leads to: their addresses are in instructions. */
static void suppose_loaded(struct inj_starts *s)
{
	struct tramp_code_arrays a;
	const uint64_t *external, *table;
	const struct tramp_site *sites;

	tramp_code_arrays(s->code, &a);
	external = a.at[TRAMP_CODE_EXTERNAL];
	table = a.at[TRAMP_CODE_TABLE];
	for (size_t i = 0; i < a.bytes[TRAMP_CODE_EXTERNAL] / sizeof(*external); i++) {
		for (uint64_t bits = external[i] & ~table[i]; bits; bits &= bits - 1) {
			uint64_t addr = tramp_code_base(s->code) + i * 64 + (uint64_t)__builtin_ctzll(bits);

			if (is_free(s, addr) && !inj_addrs_has(&s->cf->taken, addr) &&
			    !tramp_code_sites(s->code, addr, &sites))
				inj_starts_add(s, addr, INJ_FN_BY_CODE, false);
		}
	}
}

/* Jumps to where nothing is yet. */
static void suppose_jumped(struct inj_starts *s)
{
	for (size_t i = 0; i < s->nedges; i++) {
		const struct inj_edge *e = &s->edges[i];
		uint32_t piece = e->to ? tramp_code_function(s->code, e->to) : TRAMP_NONE;

		if (e->ends != TRAMP_END_TAIL && e->ends != TRAMP_END_TAIL_JCC)
			continue;
		if (piece == TRAMP_NONE || (s->of[piece] != TRAMP_NONE && e->to >= s->v[s->of[piece]].end))
			inj_starts_add(s, e->to, INJ_FN_BY_JUMP, true);
	}
}

/* Gaps last, when nothing else is left, or what is left is little each time. */
static bool suppose_more(struct inj_starts *s, int round)
{
	size_t n = s->n;

	suppose_called(s);
	suppose_held(s);
	suppose_loaded(s);
	suppose_jumped(s);
	if (!s->coarse && (s->n == n || round >= GAPS_ROUND))
		(void)inj_starts_gaps(s);
	return s->n > n;
}

/* ---- all ---- */

static bool copy_noreturn(struct inj_starts *s)
{
	for (size_t i = 0; i < s->cf->noreturn.n; i++)
		inj_addrs_add(&s->noreturn, s->cf->noreturn.v[i]);
	inj_addrs_sort(&s->noreturn);
	return !s->noreturn.failed;
}

static bool prepare(struct inj_starts *s)
{
	const struct inj_cf *cf = s->cf;

	s->moved = calloc(cf->nfns + 1, sizeof(*s->moved));
	if (!s->moved || !copy_noreturn(s))
		return false;
	s->facts = (struct tramp_facts){
		.bytes = cf->bytes, .nbytes = cf->nbytes, .taken = cf->taken.v, .ntaken = cf->taken.n,
		.pads = cf->pads.v, .npads = cf->pads.n, .noreturn = s->noreturn.v, .nnoreturn = s->noreturn.n,
		.own = cf->own.v, .nown = cf->own.n, .threads = cf->threads,
	};
	s->size = cf->hi - cf->lo;
	s->reached = calloc(s->size / 64 + 1, sizeof(*s->reached));
	if (!s->reached || !build(s))
		return false;
	suppose_entries(s);
	suppose_called(s);
	return inj_starts_virtual(s);
}

static bool run(struct inj_starts *s)
{
	int rounds = s->coarse ? ROUNDS_COARSE : ROUNDS_MAX;

	for (int round = 0; round < rounds; round++) {
		if (!build(s) || !look_at_all(s))
			return false;
		if (!inj_starts_judge(s) && !suppose_more(s, round))
			break;
	}
	if (s->n > s->settled && (!build(s) || !look_at_all(s)))
		return false;
	s->strict = true;
	inj_starts_judge(s);
	return true;
}

/* What was taken out may be one after all, as the last judgement says: then the one before it ends there. */
static void keep_alive(struct inj_starts *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->settled; i++) {
		struct inj_start *start = &s->v[i];

		if (start->dead || start->end <= start->addr)
			continue;
		if (n && s->v[n - 1].size > start->addr - s->v[n - 1].addr)
			s->v[n - 1].size = start->addr - s->v[n - 1].addr;
		start->size = start->end - start->addr;
		start->inside = start->part && !start->certain && (start->deep || start->shape & TRAMP_SHAPE_OF_PART);
		start->owner = start->deep || start->jumped ? s->fns[start->jumper].addr : 0;
		s->v[n++] = *start;
	}
	s->n = n;
}

static bool is_wanted(const struct inj_cf *cf)
{
	uint64_t uncovered = cf->go ? 0 : inj_starts_uncovered(cf), all = cf->hi - cf->lo;

	return all <= LARGE && (uncovered > all / UNCOVERED_SHARE || (uncovered >= UNCOVERED_MIN && all <= SMALL));
}

static void clear(struct inj_starts *s)
{
	tramp_code_free(s->code);
	free(s->moved);
	free(s->fns);
	free(s->of);
	free(s->fn);
	free(s->edges);
	free(s->reached);
	inj_addrs_free(&s->noreturn);
	*s = (struct inj_starts){ .cf = s->cf, .v = s->v, .n = s->n };
}

static bool search(struct inj_starts *s)
{
	return prepare(s) && run(s) && !s->failed;
}

static bool search_again(struct inj_starts *s)
{
	clear(s);
	free(s->v);
	*s = (struct inj_starts){ .cf = s->cf };
	inj_cf_taken(s->cf);
	return search(s);
}

/* Where there is data among code, it has to be known first: its words hold addresses of functions, those of code do not. */
static bool search_all(struct inj_starts *s)
{
	s->coarse = inj_starts_may_hold_data(s->cf);
	if (!search(s))
		return false;
	return !s->coarse || (inj_starts_data(s) && search_again(s));
}

bool inj_starts_find(struct inj_cf *cf, struct inj_start **starts, size_t *n)
{
	struct inj_starts s = { .cf = cf };
	bool good = true;

	if (is_wanted(cf))
		good = search_all(&s);
	if (good)
		keep_alive(&s);
	clear(&s);
	if (!good) {
		free(s.v);
		s = (struct inj_starts){ 0 };
	}
	*starts = s.v;
	*n = s.n;
	return good;
}
