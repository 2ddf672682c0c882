// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: stepper [-o FILE] [-s SYMBOLS] [-l LIBRARY[=SYMBOLS]]... [-b] [-n STEPS] PROGRAM [ARGUMENT...]
 *
 * Runs a program one instruction after the other, with its threads and forked children, and lists what
 * functions of the program itself and of the LIBRARYs (paths) are entered and left:
 *
 *	PID.TID enter ADDRESS NAME|ALIAS... STACK FILE
 *	PID.TID leave ADDRESS NAME|ALIAS... STACK FILE
 *
 * Entered: control comes to the first instruction, but not by a jump from the function itself.  Left: a
 * return is executed in it, or it jumps or runs out of its bytes (foo.cold is of foo); calls do not leave.
 * What longjmp and exceptions leave is not left.  FILE is where it is, without its folder.  SYMBOLS are files to
 * take more functions from (of a stripped one: what it was before).
 *
 * With -b only the blocks are listed, each once and in the end: addresses to which control came other than from the
 * instruction in front.
 *
 *	block ADDRESS FILE
 *
 * With -n the program is killed after so many steps.  The exit status is the program's, 128 + N for a signal.
 */
#include <string.h>

#include "tests/oracle/follow.h"

static bool blocks;

/* ---- events ---- */

static uint64_t entry_of(const struct image *im, const struct function *f)
{
	return im->base + f->addr;
}

static bool is_entry(uint64_t pc)
{
	struct image *im = image_at(pc);
	struct function *f = im ? object_function(&im->o, pc - im->base) : NULL;

	return f && entry_of(im, f) == pc;
}

static void event(const struct thread *t, const char *what, uint64_t pc, uint64_t sp)
{
	struct function *f = function_at(pc);

	if (t->space->begun && !blocks)
		fprintf(out, "%d.%d %s %lx %s %lx %s\n", t->pid, t->tid, what, f->addr, f->names, sp,
			base_name(image_at(pc)->o.path));
}

static void enter(const struct thread *t, uint64_t pc, uint64_t sp)
{
	if (is_entry(pc))
		event(t, "enter", pc, sp);
}

static void leave(const struct thread *t)
{
	if (function_at(t->pc))
		event(t, "leave", t->pc, t->sp);
}

static void block(uint64_t pc)
{
	struct image *im = image_at(pc);

	if (!blocks || !im)
		return;
	for (size_t i = 0; i < im->o.nsegs; i++)
		if (pc - im->base - im->o.segs[i].addr < im->o.segs[i].len)
			im->o.segs[i].came[pc - im->base - im->o.segs[i].addr] = true;
}

static void print_blocks(const struct object *o)
{
	for (size_t i = 0; i < o->nsegs; i++)
		for (uint64_t k = 0; k < o->segs[i].len; k++)
			if (o->segs[i].came[k])
				fprintf(out, "block %lx %s\n", o->segs[i].addr + k, base_name(o->path));
}

/* A handler's return to what a signal interrupted: was there before. */
static bool comes_back(struct thread *t, uint64_t pc, uint64_t sp)
{
	for (int i = t->ninterrupted; i-- > 0;)
		if (t->interrupted[i][0] == pc && t->interrupted[i][1] == sp) {
			t->ninterrupted = i;
			return true;
		}
	return false;
}

static void interrupt(struct thread *t, uint64_t pc, uint64_t sp)
{
	if (t->ninterrupted == MAX_INTERRUPTED) {
		memmove(t->interrupted, t->interrupted + 1, sizeof(t->interrupted) - sizeof(*t->interrupted));
		t->ninterrupted--;
	}
	t->interrupted[t->ninterrupted][0] = pc;
	t->interrupted[t->ninterrupted++][1] = sp;
}

/* Where a handler returns to, no block need begin. */
static bool is_transfer(const struct thread *t, bool next, bool crosses)
{
	switch (t->insn) {
	case INSN_CALL:
	case INSN_RET:
	case INSN_JMP:
	case INSN_JCC:
		return true;
	case INSN_SYSCALL:
		return next && crosses;
	default:
		return !next || crosses;
	}
}

/* The instruction at t->pc was executed; control is at @pc now. */
static void executed(struct thread *t, uint64_t pc, uint64_t sp)
{
	struct function *from = function_at(t->pc), *to = function_at(pc);
	bool next = !t->len || pc == t->pc + t->len;

	switch (t->insn) {
	case INSN_CALL:
		enter(t, pc, sp);
		break;
	case INSN_RET:
		leave(t);
		if (from != to)
			enter(t, pc, sp);
		break;
	case INSN_SYSCALL:
		if (!next)
			comes_back(t, pc, sp);
		else if (from != to)
			leave(t), enter(t, pc, sp);
		break;
	default:
		if (from != to)
			leave(t), enter(t, pc, sp);
	}
	if (is_transfer(t, next, from != to))
		block(pc);
}

static void arrived(struct thread *t, uint64_t pc, uint64_t sp)
{
	if (comes_back(t, pc, sp))
		return;
	enter(t, pc, sp);
	block(pc);
}

static void handler(struct thread *t, uint64_t pc, uint64_t sp)
{
	interrupt(t, t->pc, t->sp);
	enter(t, pc, sp);
	block(pc);
}

static void end(void)
{
	for (int i = 0; i < nimages && blocks; i++)
		print_blocks(&images[i].o);
}

int main(int argc, char **argv)
{
	static const struct watcher watcher = {
		.executed = executed, .arrived = arrived, .handler = handler, .interrupted = interrupt, .end = end,
	};

	return follow_main(&watcher, &blocks, argc, argv);
}
