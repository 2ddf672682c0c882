/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that are instrumented when they are first called (trampolines/mirror/first.h).  At the start only their entries are
 * written over.  Then each process of the program asks by itself: its code is its own, and so are the words that its stubs
 * look at, but copies are made once.
 */
#ifndef SONDE_INJECTOR_MIRROR_FIRST_H
#define SONDE_INJECTOR_MIRROR_FIRST_H

#include "injector/mirror/work.h"

enum inj_first_state {
	INJ_FIRST_WAITS,   /* nobody has called it */
	INJ_FIRST_COPIED,  /* there is a copy of it */
	INJ_FIRST_LEFT,	   /* left alone */
};

struct inj_first {
	struct inj_work *work;
	struct inj_planned planned;
	uint64_t addr;		/* link-time */
	uint64_t entry;		/* where the jump to the stub is, in the program */
	uint64_t stub, word;	/* likewise */
	uint32_t recorded;	/* COPIED: index of its struct inj_recorded */
	uint64_t copy;		/* where the word is to lead; the replay code if nothing of the entry is recorded */
	uint32_t called;	/* straight.c: the last call of it in mirrors.sites, plus one; 0: there is none */
	uint32_t sites, nsites;	/* calls that it makes, there */
	uint8_t len;		/* of the copy, as far as it is compared */
	uint8_t state;		/* enum inj_first_state */
	struct inj_edits edits;	/* of its body */
};

/* A call that leads to a stub where its body is instrumented. */
struct inj_site {
	uint64_t at;		/* its displacement, in the program */
	uint32_t caller;	/* functions; INJ_SITE_STARTED: one that was instrumented at the start */
	uint32_t callee;
	uint32_t next;		/* the next one of the same callee, plus one */
};

#define INJ_SITE_STARTED UINT32_MAX

/* Memory of the program's own for words. */
struct inj_words {
	uint64_t addr, len, used;
};

/* Takes those that can wait out of @fns.  Errors: MEMORY, and those of the target. */
enum inj_status inj_first_choose(struct inj_work *w, struct inj_planned *fns, size_t *n) INJ_CHECK;

/* An edit's owner is one of those: its index. */
#define INJ_FIRST_OWNER 0x80000000u

/* What is in memory at its entry is not what it is thought to be: it does not wait. */
void inj_first_changed(struct inj_session *s, uint32_t owner);

/* The edits of the object's start are in place. */
enum inj_status inj_first_begin(struct inj_work *w) INJ_CHECK;

/* The function at @addr in the program, if calls of it lead to a stub; else NULL. */
const struct inj_first *inj_first_at(const struct inj_work *w, uint64_t addr);

/*
 * A thread of @t, a process of the program, calls function @index for the first time there.  @begin is asked before the first
 * byte of the body is written: false: the thread does not wait any more.  @alone: nobody else runs this process's code.  *to:
 * where it goes on; 0: left alone.  Errors: those of the target, MEMORY, NO_ROOM (this process has no copy of it, or other code).
 */
enum inj_status inj_first_call(struct inj_session *s, struct inj_target *t, uint32_t index, bool alone,
			       bool (*begin)(void *arg), void *arg, uint64_t *to) INJ_CHECK;

/* ---- straight.c ---- */

/* A function that waits to be called will be called from there. */
enum inj_status inj_straight_note(struct inj_mirrors *m, const struct inj_site *site) INJ_CHECK;

/* @f is instrumented in process @t, which nobody else runs in: its entry, calls of it and by it lead to copies from now on. */
enum inj_status inj_straighten(struct inj_session *s, struct inj_target *t, struct inj_first *f) INJ_CHECK;

/* What has been instrumented since the last time is complete. */
enum inj_status inj_first_keep(struct inj_session *s) INJ_CHECK;

/* An object's memory is gone; forked children that still have it call its functions as they are. */
enum inj_status inj_first_forget(struct inj_session *s, size_t object) INJ_CHECK;

void inj_first_free(struct inj_session *s);

#endif
