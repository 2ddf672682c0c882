/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of calls, from the order of blocks.
 *
 * Code that was not recorded may stand between any two blocks: it returns into the block after the call that led to it, or calls
 * another function first, which counts as called by the one that called it.  longjmp() and exceptions give up all frames above
 * the one that control comes to.
 *
 * A call's costs are all that was executed from its first block until it is given up, on each level of a recursion; signal handlers,
 * which nobody called, do not count for what they interrupt.
 */
#include "launcher/blocks/counts-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	MOST_FRAMES = 1 << 20,
	LOOKED_THROUGH = 4096,	/* frames, for the one that control comes back to */
};

struct counts_frame {
	uint32_t function;		/* MT_NO_BLOCK: none; a handler interrupted what is below */
	uint32_t from, block;		/* who called it; MT_NO_BLOCK: not known */
	uint32_t pending;		/* its block that ended with a call which has not returned; MT_NO_BLOCK: none */
	bool tail;			/* it was jumped to: who did is over when it is */
	uint64_t entered[COUNTS_COSTS];	/* costs when it was entered; of a handler, when it came */
};

static struct counts_frame *top(const struct counts_stack *s)
{
	return s->n && s->frames[s->n - 1].function != MT_NO_BLOCK ? &s->frames[s->n - 1] : NULL;
}

static void add(struct counts_stack *s, const struct counts_frame *f, uint64_t calls, const uint64_t *costs)
{
	s->failed |= !counts_calls_add(s->calls, f->from, f->block, f->function, calls, costs);
}

static void pop(struct counts_stack *s)
{
	const struct counts_frame *f = &s->frames[--s->n];
	uint64_t costs[COUNTS_COSTS];

	for (unsigned int i = 0; i < COUNTS_COSTS; i++)
		costs[i] = s->now[i] - f->entered[i];
	if (f->function == MT_NO_BLOCK)
		memcpy(s->now, f->entered, sizeof(s->now));
	else
		add(s, f, 0, costs);
}

static void pop_to(struct counts_stack *s, size_t n)
{
	while (s->n > n)
		pop(s);
}

static void push(struct counts_stack *s, const struct counts_frame *f)
{
	if (s->n == MOST_FRAMES) {
		s->cut += s->n;
		pop_to(s, 0);
	}
	if (!array_room(s->frames, s->room, s->n + 1)) {
		s->failed = true;
		return;
	}
	s->frames[s->n] = *f;
	memcpy(s->frames[s->n++].entered, s->now, sizeof(s->now));
}

/* Pops down to the frame that waits for a call in the block before, or (@any) that is of the function at all. */
static bool come_back(struct counts_stack *s, const struct counts_at *to, bool any)
{
	for (size_t n = s->n; n && s->n - n < LOOKED_THROUGH; n--) {
		struct counts_frame *f = &s->frames[n - 1];

		if (f->function != to->function || (!any && (f->pending == MT_NO_BLOCK || f->pending + 1 != to->block)))
			continue;
		pop_to(s, n);
		s->frames[n - 1].pending = MT_NO_BLOCK;
		return true;
	}
	return false;
}

/* What ended with a return is over, with those that jumped to it. */
static void give_up(struct counts_stack *s)
{
	bool tail = true;

	while (tail && top(s)) {
		tail = top(s)->tail;
		pop(s);
	}
}

static void call(struct counts_stack *s, const struct counts_at *from, const struct counts_at *to)
{
	struct counts_frame f = { .function = to->function, .from = MT_NO_BLOCK, .block = MT_NO_BLOCK, .pending = MT_NO_BLOCK };

	if (from && from->ends == TRAMP_END_RET)
		give_up(s);
	else if (from && from->ends != TRAMP_END_CALL && from->ends != TRAMP_END_NORETURN && top(s)) {
		top(s)->pending = from->block;
		f.tail = true;
	}
	if (top(s) && top(s)->pending != MT_NO_BLOCK) {
		f.from = top(s)->function;
		f.block = top(s)->pending;
	}
	push(s, &f);
	if (to->entry)
		add(s, &f, 1, NULL);
}

void counts_stack_go(struct counts_stack *s, const struct counts_at *from, const struct counts_at *to)
{
	if (from && top(s) && (from->ends == TRAMP_END_CALL || from->ends == TRAMP_END_NORETURN))
		top(s)->pending = from->block;
	if ((to->returns && come_back(s, to, false)) || (!to->entry && come_back(s, to, true)))
		return;
	call(s, from, to);
}

void counts_stack_interrupt(struct counts_stack *s)
{
	if (s->n)
		push(s, &(struct counts_frame){ .function = MT_NO_BLOCK, .from = MT_NO_BLOCK, .block = MT_NO_BLOCK });
}

void counts_stack_resume(struct counts_stack *s, const struct counts_at *to)
{
	size_t n = s->n;

	while (n && s->frames[n - 1].function != MT_NO_BLOCK)
		n--;
	if (n)
		pop_to(s, n - 1);
	if (to && (!top(s) || top(s)->function != to->function) && !come_back(s, to, true))
		call(s, NULL, to);
}

void counts_stack_end(struct counts_stack *s)
{
	pop_to(s, 0);
}

void counts_stack_free(struct counts_stack *s)
{
	free(s->frames);
	*s = (struct counts_stack){ 0 };
}
