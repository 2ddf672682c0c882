/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tail calls as calls.  What is recorded is what happens on the stack: a function that ends in a jump to another one
 * is left, and the other one entered in its place.  As calls, the first one is still open and is left when
 * what it jumped to returns:
 *
 *	recorded	enter a 0   leave a 0   enter b 0 (tail)   leave b 0
 *	as calls	enter a 0               enter b 1          leave b 1   leave a 0
 *
 * A chain of such calls that comes back to a function which is in it (a loop, or a machine of states, by tail
 * calls) ends there: all from that function on is left, and entered anew.  So a chain is never longer than there are
 * functions, and no longer than TF_TAILS_MAX.
 */
#ifndef SONDE_TRACEFMT_READ_TAILS_H
#define SONDE_TRACEFMT_READ_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tracefmt/include/sonde/trace.h"

#define TF_TAILS_MAX 256u /* functions of a chain: further jumps are what they are on the stack */

struct tf_stream;

/* Functions that have jumped and are to be left, the innermost last. */
struct tf_tails {
	bool as_calls;
	struct sonde_trace_event *left; /* their leaves; depth: as recorded */
	size_t n, room;
	size_t due;			/* of them are to be left now, as `now` was, ... */
	struct sonde_trace_event now;
	bool ahead;			/* ... before this event */
	struct sonde_trace_event next;
};

static inline void tf_tails_free(struct tf_tails *t)
{
	free(t->left);
	*t = (struct tf_tails){ 0 };
}

/* The stream goes on elsewhere. */
static inline void tf_tails_forget(struct tf_tails *t)
{
	t->n = t->due = 0;
	t->ahead = false;
}

/* tf_stream_next(), with tail calls as @s->tails says. */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_tails_next(struct tf_stream *s);

#endif
