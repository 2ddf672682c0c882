/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that are recorded without a module: mirrors of them in arenas, with probes at entries and
 * exits; and the tables and hooks which the runtime's signal shim needs for that.
 *
 * What is to be recorded is the caller's decision, function by function.
 */
#ifndef SONDE_INJECTOR_MIRROR_MIRRORS_H
#define SONDE_INJECTOR_MIRROR_MIRRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/facts/facts.h"
#include "injector/mirror/places.h"
#include "injector/patch/edits.h"
#include "injector/process/maps.h"
#include "trampolines/mirror/codemap.h"
#include "trampolines/mirror/mirror.h"

struct inj_called;
struct inj_session;
struct inj_object;
struct inj_first;
struct inj_site;
struct inj_words;
struct inj_work;

/* For each function of a file: */
struct inj_marks {
	bool *events;	/* its calls are to be recorded */
	bool *memory;	/* its memory accesses are */
	bool *blocks;	/* edges between its blocks are to be counted: then nothing else is wanted of any */
	bool *acts[RT_ACTS]; /* its calls are, and do this */
};

/* What is recorded of a function beside its events. */
struct inj_values {
	struct tramp_values entered, returned;
};

struct inj_mirror_options {
	bool enabled;
	bool libraries;	    /* libraries that are loaded late may hold wanted functions */
	enum tramp_probe_mode mode;
	uint32_t depth;	    /* FILTER, TIMED: calls inside each other that are recorded; 0: no bound */
	uint64_t calls;	    /* FILTER, TIMED: of one function in one thread; 0: no bound */
	uint64_t min_ticks; /* TIMED: shorter calls are dropped */
	bool under;	    /* only what functions with RT_ACT_UNDER call */
	bool first;	    /* instruments functions when they are first called, where that can be */
	bool trips;	    /* mode is BLOCKS: count the least and the most trips of loops, too */
	uint32_t max_functions; /* counters that there is room for in the rings: of functions, or of edges; 0: no counts */
	struct {
		bool enabled;
		bool stack; /* pushes, pops, calls and returns too */
		bool blocks; /* no accesses, but which blocks are executed: struct tramp_mem_env */
		bool fetches; /* beside accesses, which blocks are executed: likewise */
		bool counted; /* only how many: by edges between blocks, where these say that; mode is BLOCKS */
		bool times; /* beside accesses, times where threads wait for each other: likewise */
		unsigned int rungs; /* enum tramp_mem_rungs */
		bool sampled;	/* recording goes off and on: ring_control.sample_burst */
		bool count;	/* ... by number */
	} memory;
	/*
	 * Is any function of this file wanted?  Asked once for each.  If so, it is marked what is wanted of which of
	 * object->facts->facts.fns; false: no memory.
	 */
	bool (*want_object)(void *arg, const struct inj_object *object);
	bool (*mark)(void *arg, struct inj_object *object, const struct inj_marks *marks);
	/*
	 * What is to be recorded of the function at link-time address @addr, beside its calls.  It has to live as long as the
	 * session; NULL: nothing.  To be asked when the function is instrumented.  NULL: there is none of whom anything is.
	 */
	const struct inj_values *(*values)(void *arg, const struct inj_object *object, uint64_t addr, const char *name);
	/* How much has been instrumented, of what is known of now: from 0 to 1.  NULL: nobody wants to know. */
	void (*progress)(void *arg, double share);
	void *arg;
};

/* What the reader of memory streams has to know of functions that were instrumented together. */
struct inj_described {
	size_t object;
	uint64_t code_base; /* link-time address that nodes' offsets count from */
	uint32_t first;	/* id of nodes[0] */
	struct md_node *nodes;
	uint32_t nnodes, room_nodes;
	struct md_op *ops;
	uint32_t nops, room_ops;
};

/* ---- described.c ---- */

struct inj_session;
/* One function's; @d says of which object, and is empty at first.  Errors: MEMORY, and those of the target. */
enum inj_status inj_described_add(struct inj_session *s, struct inj_described *d,
				  const struct tramp_mem_description *f) INJ_CHECK;
/* It is complete: goes to the session, and into the program if it is needed there; @d is empty. */
enum inj_status inj_described_keep(struct inj_session *s, struct inj_described *d) INJ_CHECK;

/* The same as the machine wants it, @o is its object; without the addresses of nodes and operations. */
struct md_object inj_described_object(const struct inj_described *d, const struct inj_object *o);

enum inj_recorded_state {
	INJ_RECORDED_OK = 0,
	/* Left alone: the mirror engine says why, in `refused`; */
	INJ_RECORDED_REFUSED,
	/* or we do. */
	INJ_RECORDED_WRAPPED,	/* a module wraps it */
	INJ_RECORDED_NEVER,	/* of a kind that does not survive it */
	INJ_RECORDED_GO,	/* compiled by Go */
	INJ_RECORDED_OURS,	/* Sonde needs its code for itself */
	INJ_RECORDED_CHANGED,	/* memory differs from the file */
	INJ_RECORDED_NO_ROOM,	/* no free memory near it */
	INJ_RECORDED_TOO_MANY,	/* more functions than there are numbers for events, or counters */
	INJ_RECORDED_DAMAGED,	/* what is kept of its file's code is */
	INJ_RECORDED_BUSY,	/* a thread stood in the way when the process was attached to */
};

/* A function that the caller wants. */
struct inj_recorded {
	const char *name; /* mangled; the session's */
	size_t object;
	uint64_t file_addr;
	uint32_t size;
	uint8_t state;	 /* enum inj_recorded_state */
	uint8_t refused; /* enum tramp_mirror_status */
	uint32_t index;	 /* of its counter, or the first of them */
	uint32_t counters; /* of edges between its blocks; 0: they are not counted */
	uint32_t enter, leave; /* event ids; 0: its calls are not recorded */
	const struct inj_values *values; /* NULL: none.  If it has any that are returned, leave + 1 is left by jumps */
	bool memory;	 /* its memory accesses are */
	uint64_t mirror; /* its code in the program */
	uint32_t mirror_len;
	uint64_t orig_lo, orig_hi; /* all that it is a copy of is within */
};

/* Complete after "not instrumented: "; static. */
const char *inj_recorded_reason(const struct inj_recorded *r);

/* In the session. */
struct inj_mirrors {
	struct inj_recorded *v; /* functions, those that are left alone too */
	size_t n, room;
	size_t published;    /* for the caller */
	bool announced;	     /* for the caller: something was, if only that there are none */
	uint32_t next_index;
	uint32_t next_node;  /* id, less 1 */
	struct tramp_weight *weights; /* by counter, of struct tramp_weight: memory.counted */
	size_t room_weights;
	struct inj_described *described;
	size_t ndescribed, described_published; /* the latter for the caller */
	struct inj_places *places;
	size_t nplaces, places_published; /* likewise */
	struct rt_codemaps *maps; /* as the program sees it; written only */
	uint32_t nmaps; /* in it */
	uint64_t maps_addr;
	bool full; /* of code maps, and that was said */
	struct inj_first *first; /* functions that wait, or waited, for their first call */
	size_t nfirst, room_first, nwaiting; /* the last of them */
	struct inj_site *sites;	 /* calls of them */
	size_t nsites, room_sites;
	struct inj_work **works; /* that they belong to */
	size_t nworks, room_works;
	struct inj_called *called; /* which functions earlier recordings called; NULL: not known */
	uint32_t turn, nexpected; /* which of those wait all the same; how many do not */
	struct inj_words *words;
	size_t nwords, room_words;
	bool news;		/* something was instrumented since inj_first_keep() */
	uint64_t code, uncovered, guessed; /* bytes, of the objects that were looked at; see struct inj_codefacts */
	uint32_t unled;	     /* system calls for signal handlers that do not lead to the runtime */
};

/* Instruments what is wanted in objects that have not been looked at; all of it or, on an error, nothing more. */
enum inj_status inj_mirrors_instrument(struct inj_session *s) INJ_CHECK;

/* Are functions of it wanted? */
bool inj_mirrors_want(struct inj_session *s, const struct inj_object *o);

/* Of the progress that is told: looking at code; the rest is instrumenting it. */
#define INJ_AHEAD_SHARE 0.8

void inj_mirrors_free(struct inj_session *s);

/* ---- mirrorcalls.c ---- */

/* A direct call; addresses in the program. */
struct inj_call {
	uint64_t at, to;	/* its displacement; what it calls */
	uint32_t owner;		/* function that it belongs to */
};

/* A list that grows; all zero at first. */
struct inj_calls {
	struct inj_call *v;
	size_t n, room;
};

/* Those of a function of an object that is loaded at @load; offsets of its code count from @base in the program. */
enum inj_status inj_calls_note(struct inj_calls *c, const struct tramp_mirror_code *out, uint64_t base,
			       uint64_t load, uint32_t owner) INJ_CHECK;

/*
 * Adds edits that lead the calls that @w has noted to where windows lead that are among @edits, or in place, and to the stubs of those
 * that wait to be called; @edits are sorted and checked.  @caller: which of those makes the calls, or INJ_SITE_STARTED.
 */
enum inj_status inj_calls_lead(struct inj_work *w, struct inj_edits *edits, uint32_t caller) INJ_CHECK;

void inj_calls_free(struct inj_calls *c);

/* restorers.c: leads what the object's signal handlers return to to the runtime. */
enum inj_status inj_mirror_restorers(struct inj_session *s, size_t object,
				     const struct tramp_code *code, struct inj_edits *edits) INJ_CHECK;

/* sigsites.c: leads the object's rt_sigaction system calls to the runtime. */
enum inj_status inj_mirror_sigactions(struct inj_session *s, size_t object,
				      const struct tramp_code *code, struct inj_edits *edits) INJ_CHECK;

#endif
