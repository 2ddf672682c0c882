/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What windows.c and moves.c share. */
#ifndef SONDE_INJECTOR_SWITCH_WINDOWS_PRIVATE_H
#define SONDE_INJECTOR_SWITCH_WINDOWS_PRIVATE_H

#include "injector/process/threads.h"
#include "injector/switch/windows.h"

struct inj_windows {
	struct inj_session *s;
	pid_t pid;
	int mem;		/* /proc/PID/mem of what the process runs, not of what it may execute later */
	uint32_t state;		/* enum rt_windows, as the process has it */
	int stale;		/* how often edits and owners are still to be made anew */
	struct inj_edits edits; /* that are switched, by address */
	bool *owners;		/* whose, by the index of struct inj_recorded */
	size_t nowners;
	uint8_t *pages;		/* for what is written */
	size_t room;
};

/* ---- moves.c: threads that stand still ---- */

/* SYSTEM with EAGAIN: the burst of one of them cannot be ended now. */
enum inj_status inj_windows_can_leave(const struct inj_windows *w, const struct inj_threads *t, const struct inj_bursts *b) INJ_CHECK;

/* Original bytes are in place: who is in a copy goes on in the original, and no burst is open. */
void inj_windows_leave(const struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b, struct inj_switched *took);

/* Can all of them be where they are when windows are in, or go to a copy?  Else SYSTEM with EAGAIN. */
enum inj_status inj_windows_can_come(const struct inj_windows *w, const struct inj_threads *t) INJ_CHECK;

/* Who is in the original of what has a copy goes on in that.  On an error some of them do. */
enum inj_status inj_windows_come(const struct inj_windows *w, struct inj_threads *t, struct inj_switched *took) INJ_CHECK;

#endif
