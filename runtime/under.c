// SPDX-License-Identifier: MIT
/*
 * --under: a thread records while a call of certain functions is open, what that calls, and it itself.  The outermost such
 * call is at under_at; probes compare with one word:
 *
 *	under == 0		nothing is recorded
 *	frame < under		recorded: called from there, or by a handler that has interrupted it
 *	frame >= under		the slow path comes here
 *
 * The call ends by its return.  If it ends by a jump, what it has jumped to goes on in its place, with its return address, and
 * perhaps nobody says when that returns: `under` is JUMPED then, so that all calls come here, and look whether the return address is
 * still there.  If the call was left by longjmp or an exception, the next one at its place or above shows it, unless that
 * is on another stack.
 */
#include "runtime/stack.h"
#include "runtime/thread.h"

#define JUMPED 1

static uint64_t return_address(uint64_t frame)
{
	return *(const uint64_t *)frame;
}

/* @frame is not below t->under. */
static int is_left(const struct rt_thread *t, uint64_t frame, int entry)
{
	uint64_t at = t->under_at;

	if (frame < at)
		return !sys_is_readable(at) || return_address(at) != t->under_from;
	if (frame == at)
		return entry && return_address(at) != t->under_from;
	return frame - at <= RT_ANOTHER_STACK && !rt_on_signal_stack();
}

int rt_under(struct rt_thread *t, uint64_t frame, int entry)
{
	if (!sonde_rt_config.probe_under)
		return 1;
	if (frame < t->under || !t->under)
		return t->under != 0;
	if (is_left(t, frame, entry))
		t->under = 0;
	return t->under != 0;
}

void rt_under_goes_on(struct rt_thread *t, uint64_t frame)
{
	if (t->under == JUMPED && t->under_at == frame)
		t->under = frame;
}

void rt_under_begin(struct rt_thread *t, uint64_t frame)
{
	t->under_from = return_address(frame);
	t->under = t->under_at = frame;
}

void rt_under_end(struct rt_thread *t, uint64_t frame, int jump)
{
	if (t->under && t->under_at == frame)
		t->under = jump ? JUMPED : 0;
}
