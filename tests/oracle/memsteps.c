// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memsteps [-o FILE] [-s SYMBOLS] [-l LIBRARY[=SYMBOLS]]... [-n STEPS] PROGRAM [ARGUMENT...]
 *
 * Runs a program one instruction after the other, with its threads and forked children, and lists what memory the
 * functions of the program itself and of the LIBRARYs (paths) access, in order:
 *
 *	PID.TID KIND SIZE ADDRESS STACK FILE INSTRUCTION FUNCTION
 *
 * KIND: load, store, modify, prefetch.  STACK: 1 if by the stack pointer, as push does, else 0.  ADDRESS is in the
 * program's memory, INSTRUCTION and FUNCTION are link-time addresses.  An instruction that faults accesses
 * nothing, but string instructions with a repeat prefix, whose iterations count by themselves.
 *
 * What a child of vfork() accesses is its parent's.
 *
 * With -n the program is killed after so many steps.  The exit status is the program's, 128 + N for a signal.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "tests/oracle/follow.h"
#include "tests/oracle/memaccess.h"

/* Of the instruction that is being executed. */
struct pending {
	size_t n;
	struct access v[MAX_ACCESSES];
};

static struct decoded **known[MAX_IMAGES]; /* of the one executable segment that has functions, by offset */

static const struct segment *segment_of(const struct object *o, uint64_t addr)
{
	for (size_t i = 0; i < o->nsegs; i++)
		if (addr - o->segs[i].addr < o->segs[i].len)
			return &o->segs[i];
	die("%s: no code at %lx", o->path, addr);
}

/* Offsets of segments that follow each other. */
static size_t place_of(const struct object *o, uint64_t addr)
{
	const struct segment *s = segment_of(o, addr);
	size_t at = addr - s->addr;

	for (size_t i = 0; &o->segs[i] != s; i++)
		at += o->segs[i].len;
	return at;
}

static const struct decoded *decoded_at(const struct image *im, uint64_t addr)
{
	struct decoded ***v = &known[im - images];
	size_t at = place_of(&im->o, addr), left, all = 0;
	const uint8_t *code = object_code(&im->o, addr, &left);

	for (size_t i = 0; !*v && i < im->o.nsegs; i++)
		all += im->o.segs[i].len;
	if (!*v)
		*v = calloc(all, sizeof(**v));
	if (!*v)
		die("no memory");
	if (!(*v)[at])
		(*v)[at] = access_decode(code, left);
	return (*v)[at];
}

static void before(struct thread *t, const struct user_regs_struct *r)
{
	const struct decoded *d = decoded_at(t->in, r->rip - t->in->base);
	struct pending *p = t->own;

	if (!p)
		t->own = p = calloc(1, sizeof(*p));
	if (!p)
		die("no memory");
	p->n = d ? access_list(d, t->tid, r, p->v) : 0;
}

/* A gather or scatter may be interrupted between elements: those at the end that are listed again when it goes on. */
static size_t left_over(const struct thread *t)
{
	const struct decoded *d = decoded_at(t->in, t->pc - t->in->base);
	struct access v[MAX_ACCESSES];
	struct user_regs_struct r;

	if (!d || !access_is_by_element(d))
		return 0;
	if (ptrace(PTRACE_GETREGS, t->tid, 0, &r) != 0)
		die("no registers");
	return access_list(d, t->tid, &r, v);
}

static void executed(struct thread *t, uint64_t pc, uint64_t sp)
{
	const struct pending *p = t->own;
	uint64_t addr = t->pc - t->in->base;
	const struct function *f = object_function(&t->in->o, addr);
	size_t n = p->n;

	(void)sp;
	if (!t->space->begun || !f)
		return;
	if (pc == t->pc)
		n -= left_over(t);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%d.%d %s %u %lx %d %s %lx %lx\n", t->as_pid, t->as_tid, p->v[i].kind, p->v[i].size,
			p->v[i].addr, p->v[i].stack, base_name(t->in->o.path), addr, f->addr);
}

int main(int argc, char **argv)
{
	static const struct watcher watcher = { .before = before, .executed = executed };

	return follow_main(&watcher, NULL, argc, argv);
}
