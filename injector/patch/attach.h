/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instrumenting a process that runs by itself, and taking everything out again.
 *
 *	inj_session_new()
 *	inj_session_attach()	runtime mapped, functions planned and their copies written   (the process runs)
 *	inj_session_place()	all threads stopped: what leads to the copies is written, signal handlers are led
 *				to the runtime, threads moved, GS bases set
 *	inj_session_library()	a library came or went
 *	inj_session_detach()	all of that undone, and unmapped
 *
 * Threads are never moved within a function but to the copy of the very instruction that they were to execute.
 * What is on their stacks stays as it is: return addresses are those of the original code before and after, and where
 * a function is returned to that was entered before, its copy records an exit whose entry nobody has seen.
 */
#ifndef SONDE_INJECTOR_PATCH_ATTACH_H
#define SONDE_INJECTOR_PATCH_ATTACH_H

#include "injector/patch/session.h"
#include "injector/process/maps.h"
#include "injector/process/threads.h"

/*
 * Everything but what has to be done while the process stands still.  Its descriptors are those of opt: the process opens them
 * itself.  Errors: SYSTEM: it cannot be traced, errno says why (see inj_not_attachable()); NOT_SUPPORTED, after a warning;
 * GONE; others.  On an error there is nothing of ours in the process.
 */
enum inj_status inj_session_attach(struct inj_session *s, pid_t pid) INJ_CHECK;

/* It is not going to be put in: unmaps what is there. */
void inj_session_leave(struct inj_session *s);

struct inj_stop {
	size_t threads;
	uint64_t ns; /* that all of them stood still */
};

/* Puts it in.  The same errors; on an error nothing is in the process any more. */
enum inj_status inj_session_place(struct inj_session *s, struct inj_stop *stop) INJ_CHECK;

/*
 * Takes it out of process @pid, which is the one, or a child of it that has inherited everything.  Text, signal actions and GS
 * bases are as they were.  *@left: threads that do not leave our code for seconds, so that all stays mapped, and their GS bases are
 * ours; if handlers have interrupted it, those still return by way of the runtime.  A later inj_session_attach() takes that out.  The collector's thread must neither use @s meanwhile nor stop draining.
 */
enum inj_status inj_session_detach(struct inj_session *s, pid_t pid, struct inj_stop *stop, size_t *left) INJ_CHECK;

/* Does process @pid share our memory? */
bool inj_session_is_in(const struct inj_session *s, pid_t pid);

/* ---- between the two files ---- */

/* Signal actions of all that have a handler: to the runtime, or back. */
enum inj_status inj_lead_handlers(struct inj_session *s, struct inj_target *t, bool back) INJ_CHECK;

/*
 * The original instruction that a jump to a copy stands for, which needs not be where the jump is: some are put into code that is
 * not executed any more, for shorter jumps.  @code: TRAMP_JUMP_SIZE bytes, at address @at.  0: it is no such jump.
 */
uint64_t inj_jump_original(const struct inj_session *s, const uint8_t *code, uint64_t at);

/* Has thread @i run sonde_rt_enter or sonde_rt_depart, and changes its registers; *said: the word below the ucontext. */
enum inj_status inj_run_in_thread(const struct inj_session *s, struct inj_threads *t, size_t i, uint64_t function,
				  uint64_t *said) INJ_CHECK;

/* Has a thread run the resolver of an IFUNC; s->target is that of threads which stand still.  REMOTE: it fails. */
enum inj_status inj_call_resolver(struct inj_session *s, uint64_t resolver, uint64_t *chosen) INJ_CHECK;

/* Unmaps all that is ours in a process whose threads stand still. */
enum inj_status inj_unload(struct inj_session *s, struct inj_target *t) INJ_CHECK;

/* Threads that still need something of ours. */
struct inj_rest {
	size_t n;
	size_t within;	 /* among them: they are in our code, and not only in what wrappers have called */
	size_t running;	 /* among them: they do not wait in a system call */
	size_t handlers; /* among them: signal handlers return to a copy by way of the runtime */
	bool *who;	 /* private */
};

/* Takes all out but the edits that are no handlers', unless there is a rest; @last: in that case what can be. */
enum inj_status inj_take_out(struct inj_session *s, struct inj_threads *t, bool last, struct inj_rest *rest) INJ_CHECK;

/* Is what is mapped there shared with us, or private memory without a name?  What is not mapped is neither. */
bool inj_may_unmap(const struct inj_session *s, const struct inj_maps *maps, uint64_t addr, uint64_t bytes);

/* Is the GS base that of a pool of ours, or of nobody's?  @mapped: what the runtime has mapped. */
bool inj_is_our_base(const struct inj_session *s, const struct rt_mapped *mapped, uint64_t gs);

/* ---- leftovers.c: what stays in a process because threads were within it ---- */

struct inj_leftovers;

/* Says in the process's memory how the rest is taken out; @handlers: with what handlers need. */
enum inj_status inj_leftovers_note(struct inj_session *s, struct inj_target *t, bool handlers) INJ_CHECK;

/*
 * Takes out what earlier recordings have left in a process whose threads stand still, and keeps in s->attach.left what threads wait
 * in the midst of.  SYSTEM with EAGAIN: try again.  NOT_SUPPORTED, after a warning: it does not look like what was left.
 */
enum inj_status inj_leftovers_find(struct inj_session *s, struct inj_threads *t) INJ_CHECK;
void inj_leftovers_free(struct inj_leftovers *l);

/* Is it the GS base of a thread that was left with it? */
bool inj_leftovers_have_base(const struct inj_leftovers *l, uint64_t gs);

/* A GS base for a thread when no recording is there but those: that of nobody if it is within one, else 0. */
uint64_t inj_leftovers_base(const struct inj_leftovers *l, struct inj_target *t, const struct inj_thread *th);

#endif
