// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: counts [-o FILE] [-s SYMBOLS] [-l LIBRARY[=SYMBOLS]]... [-n STEPS] PROGRAM [ARGUMENT...]
 *
 * Runs a program one instruction after the other, with its threads and forked children, and counts, over all of
 * them, from which instruction control went on to which in the program itself and the LIBRARYs (paths):
 *
 *	FROM TO COUNT KIND FILE
 *
 * Link-time addresses; TO is 0 if that is in no file, or another one.  KIND: call, ret, jmp, jcc, syscall, trap, other.
 * An iteration of a string instruction with a repeat prefix is none.
 *
 * With -n the program is killed after so many steps.  The exit status is the program's, 128 + N for a signal.
 */
#include <search.h>
#include <stdlib.h>

#include "tests/oracle/follow.h"

struct step {
	uint64_t from, to;
	const struct image *in;
	enum insn insn;
	unsigned long count;
};

static void *steps;

static int compare(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->in != b->in)
		return a->in < b->in ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void executed(struct thread *t, uint64_t pc, uint64_t sp)
{
	struct image *to = image_at(pc);
	struct step like = { .from = t->pc - t->in->base, .in = t->in, .insn = t->insn }, *new, **found;

	(void)sp;
	if (!t->space->begun || (pc == t->pc && t->insn == INSN_OTHER))
		return;
	like.to = to == t->in ? pc - to->base : 0;
	found = tfind(&like, &steps, compare);
	if (!found) {
		new = malloc(sizeof(*new));
		if (!new)
			die("no memory");
		*new = like;
		found = tsearch(new, &steps, compare);
		if (!found)
			die("no memory");
	}
	(*found)->count++;
}

static void print(const void *node, VISIT visit, int depth)
{
	static const char *const kinds[] = {
		[INSN_OTHER] = "other", [INSN_CALL] = "call", [INSN_RET] = "ret", [INSN_JMP] = "jmp", [INSN_JCC] = "jcc",
		[INSN_SYSCALL] = "syscall", [INSN_TRAP] = "trap",
	};
	const struct step *s = *(const struct step *const *)node;

	(void)depth;
	if (visit == postorder || visit == leaf)
		fprintf(out, "%lx %lx %lu %s %s\n", s->from, s->to, s->count, kinds[s->insn], base_name(s->in->o.path));
}

static void end(void)
{
	twalk(steps, print);
}

int main(int argc, char **argv)
{
	static const struct watcher watcher = { .executed = executed, .end = end };

	return follow_main(&watcher, NULL, argc, argv);
}
