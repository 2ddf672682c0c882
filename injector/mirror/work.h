/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object's functions on their way; kept as long as some of them wait for their first call (first.h). */
#ifndef SONDE_INJECTOR_MIRROR_WORK_H
#define SONDE_INJECTOR_MIRROR_WORK_H

#include "injector/facts/called.h"
#include "injector/mirror/chunk.h"
#include "injector/mirror/mirrors.h"
#include "injector/mirror/planners.h"

struct inj_work {
	struct inj_session *s;
	size_t object;
	const struct tramp_code *code; /* the object's */
	struct tramp_mirror *mirror; /* which keeps the shapes of all probes */
	struct inj_chunk chunk;
	struct inj_described described;
	struct inj_places places;
	struct inj_edits edits;
	struct inj_calls calls;
	uint64_t *patched;	/* where its code has been changed before */
	size_t npatched, room_patched;
	/* first.c */
	struct inj_chunk stubs;
	struct inj_edits entries; /* windows of those that were instrumented at once, ascending */
	size_t first, nfirst;	/* functions that wait: inj_mirrors.first[first ...], ascending by address */
	struct inj_called_file *called; /* what earlier recordings called; NULL: not known */
	bool waits;		/* there are any */
	bool damaged;		/* what is known of the code cannot be used */
	bool ready;		/* to instrument one */
};

/*
 * Instruments one function as it was planned by @mirror, which @said so: it is added to the session's functions, its code to
 * the chunk, what leads there to the edits.  Errors: MEMORY, and those of the target.
 */
enum inj_status inj_work_function(struct inj_work *w, const struct inj_planned *p, struct tramp_mirror *mirror,
				  enum tramp_mirror_status said) INJ_CHECK;

/* May it be recorded, for all that is known without its code? */
enum inj_recorded_state inj_work_allows(const struct inj_work *w, size_t fn);

/* One that is left alone, added.  NULL: no memory. */
struct inj_recorded *inj_work_note(struct inj_work *w, size_t fn);

struct tramp_mem_env inj_work_memory(const struct inj_session *s);

void inj_work_free(struct inj_work *w);

#endif
