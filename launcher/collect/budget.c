// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/collect/budget.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define RECORDED_PART 0.5 /* of what may be spent: for calls that are recorded one by one */
#define PROMOTED_PART 0.5 /* of that: how much may be recorded after one is recorded again */
#define LEAST_PLAIN 0.5	  /* of the program's CPU time: what is its own */
#define AGAIN_NS UINT64_C(200000000)
#define AGAIN_TIMES 6
#define BURST_NS 150000
#define CREDIT_NS 20e6 /* what is not spent is not kept for ever */

void budget_begin(struct budget *b, double share)
{
	*b = (struct budget){ .share = share, .random = 2463534242u };
}

void budget_end(struct budget *b)
{
	free(b->fn);
	free(b->changed);
	*b = (struct budget){ 0 };
}

bool budget_functions(struct budget *b, uint32_t n)
{
	struct budget_function *fn;

	if (n <= b->n)
		return true;
	fn = realloc(b->fn, n * sizeof(*fn));
	if (!fn)
		return false;
	memset(fn + b->n, 0, (n - b->n) * sizeof(*fn));
	b->fn = fn;
	b->n = n;
	return true;
}

/* ---- who is counted ---- */

struct candidate {
	uint64_t calls;
	uint32_t function;
};

static int by_calls(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return (x->calls > y->calls) - (x->calls < y->calls);
}

/* Those that are counted, or not, and were called if they are not; the rarest first.  NULL: no memory. */
static struct candidate *list(const struct budget *b, bool counted, size_t *n)
{
	struct candidate *v;
	size_t k = 0;

	*n = 0;
	for (uint32_t i = 0; i < b->n; i++)
		*n += b->fn[i].counted == counted && (counted || b->fn[i].calls);
	v = calloc(*n + 1, sizeof(*v));
	for (uint32_t i = 0; v && i < b->n && k < *n; i++)
		if (b->fn[i].counted == counted && (counted || b->fn[i].calls))
			v[k++] = (struct candidate){ b->fn[i].calls, i };
	if (v)
		qsort(v, *n, sizeof(*v), by_calls);
	return v;
}

static void change(struct budget *b, uint32_t i, uint64_t now)
{
	struct budget_function *f = &b->fn[i];

	f->counted = !f->counted;
	b->changed[b->nchanged++] = i;
	if (!f->counted)
		return;
	f->again = now + (AGAIN_NS << f->times);
	f->times += f->times < AGAIN_TIMES;
}

static double cost_of_recorded(const struct budget *b, double call)
{
	double sum = 0;

	for (uint32_t i = 0; i < b->n; i++)
		sum += b->fn[i].counted ? 0 : (double)b->fn[i].calls * call;
	return sum;
}

static void demote(struct budget *b, const struct budget_window *w, const struct candidate *v, size_t n, double cost,
		   double allowed)
{
	while (n-- && cost > allowed) {
		change(b, v[n].function, w->now);
		cost -= (double)v[n].calls * w->call;
	}
}

static void promote(struct budget *b, const struct budget_window *w, const struct candidate *v, size_t n, double cost,
		    double allowed)
{
	for (size_t i = 0; i < n; i++) {
		cost += (double)v[i].calls * w->call;
		if (cost > allowed * PROMOTED_PART)
			break;
		if (b->fn[v[i].function].again <= w->now)
			change(b, v[i].function, w->now);
		else
			cost -= (double)v[i].calls * w->call;
	}
}

bool budget_decide(struct budget *b, const struct budget_window *w)
{
	double plain = w->plain > w->cpu * LEAST_PLAIN ? w->plain : w->cpu * LEAST_PLAIN;
	double allowed = b->share * RECORDED_PART * plain, cost = cost_of_recorded(b, w->call);
	bool counted = cost <= allowed;
	struct candidate *v;
	size_t n;

	b->nchanged = 0;
	v = list(b, counted, &n);
	if (!v || !array_room(b->changed, b->room, n)) {
		free(v);
		return false;
	}
	if (counted)
		promote(b, w, v, n, cost, allowed);
	else
		demote(b, w, v, n, cost, allowed);
	free(v);
	/* what was recorded before the first decision is not to be saved up for */
	b->credit = b->begun ? b->credit + b->share * plain - w->spent : 0;
	if (b->credit > CREDIT_NS)
		b->credit = CREDIT_NS;
	b->begun = true;
	return true;
}

/* ---- bursts ---- */

bool budget_wants_burst(const struct budget *b)
{
	return b->begun && b->credit >= 0;
}

/* Xorshift (G. Marsaglia, 2003). */
static uint32_t draw(struct budget *b)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 17;
	b->random ^= b->random << 5;
	return b->random;
}

double budget_chance(struct budget *b)
{
	return (double)draw(b) / UINT32_MAX;
}

uint64_t budget_burst(struct budget *b)
{
	uint32_t r = draw(b) & 7;

	return (uint64_t)BURST_NS << (r < 4 ? 0 : r < 6 ? 1 : r < 7 ? 2 : 3);
}
