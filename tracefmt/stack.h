/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The frames that a thread has entered and not left, outermost first, with the stack address of
 * each. The addresses tell what a longjmp or an exception has left behind: a frame that is not
 * above a new frame on the same stack is gone.
 *
 * A thread may run on several stacks (sigaltstack, coroutines).  An enter far above everything
 * that is open begins a *segment* of its own: the frames below it in the list stay open.  Which
 * segment a later enter belongs to is decided by distance.  That is a guess; a wrong one costs
 * frames that are recorded as unwound and leaves recorded as orphans, never more.
 */
#ifndef TRACEFMT_STACK_H
#define TRACEFMT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_STACK_FAR (64u << 10) /* bytes; nearer than this is the same stack */
#define TF_STACK_SEGMENTS 32u
#define TF_STACK_MAX (4u << 20)	 /* frames; more than fits 64 MiB of the smallest frames */

struct tf_frame {
	uint64_t addr;
	uint32_t function;
	uint32_t enter; /* event id */
};

struct tf_stack {
	struct tf_frame *frame;
	size_t n;
	size_t room;
	uint64_t spent; /* frames that were looked at in vain, see tf_stack_find() */
	unsigned segments; /* beyond the first */
	size_t base[TF_STACK_SEGMENTS]; /* first frame of each of them, increasing */
};

void tf_stack_free(struct tf_stack *s);

/*
 * For an enter at @addr when tf_stack_simple() says no: how many frames stay open.  The caller
 * pops the others (with tf_stack_pop()) before it pushes.  May begin a segment.
 */
size_t tf_stack_keep(struct tf_stack *s, uint64_t addr);

/* Makes room for one more frame; false: no memory, or TF_STACK_MAX. */
bool tf_stack_grow(struct tf_stack *s);

/*
 * Index of the innermost open frame of @function, or SIZE_MAX.  A search in vain is paid from
 * @budget, the number of events so far: without that, leaves without enter could make each one
 * search a million frames.
 */
size_t tf_stack_find(struct tf_stack *s, uint32_t function, uint64_t budget);

/* Index of the open frame of @function at @addr, or SIZE_MAX. */
size_t tf_stack_at(const struct tf_stack *s, uint64_t addr, uint32_t function);

/*
 * For a leave at @addr of what is not open: how many frames stay open, since those that are not
 * above @addr on the innermost stack are gone.
 */
size_t tf_stack_above(const struct tf_stack *s, uint64_t addr);

/* Drops segments that have become empty. */
void tf_stack_trim(struct tf_stack *s);

static inline bool tf_stack_simple(const struct tf_stack *s, uint64_t addr)
{
	return (!s->n || addr < s->frame[s->n - 1].addr) && !s->segments;
}

static inline struct tf_frame tf_stack_pop(struct tf_stack *s)
{
	struct tf_frame top = s->frame[--s->n];

	if (s->segments)
		tf_stack_trim(s);
	return top;
}

#endif /* TRACEFMT_STACK_H */
