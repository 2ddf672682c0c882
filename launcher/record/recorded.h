/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that are recorded without a module (-F): from the options to the injector, and from what the
 * injector did to the trace's metadata, to messages and to perf's map.
 */
#ifndef SONDE_LAUNCHER_RECORD_RECORDED_H
#define SONDE_LAUNCHER_RECORD_RECORDED_H

#include "injector/patch/session.h"
#include "launcher/common/options.h"
#include "launcher/common/progress.h"
#include "launcher/record/describe/perfmap.h"
#include "launcher/select/select.h"
#include "tracefmt/write/writer.h"

/* The trace's numbers for functions: all kinds grow in number while the program runs. */
enum function_kind {
	FUNCTION_WRAPPED,	/* of a wrap */
	FUNCTION_OWN,		/* of an event: a module's own, which wraps nothing */
	FUNCTION_RECORDED,	/* of s->mirrors.v[] */
	FUNCTION_KINDS
};

static inline uint32_t function_id(enum function_kind kind, size_t i)
{
	return FUNCTION_KINDS * (uint32_t)i + kind;
}

struct args;

struct recorded {
	const struct record_options *opt;
	struct select *select; /* NULL: no -F */
	struct select *memory; /* NULL: no --mem */
	struct select *blocks; /* NULL: no --blocks */
	struct args *args; /* NULL: no --args */
	struct select *acts[RT_ACTS]; /* functions whose calls do that; NULL: none do */
	struct perfmap perf;
	size_t mapped; /* functions that perf's map has */
	struct progress progress; /* of the start; the caller's to begin and to end */
};

/* What is left to the reader of memory traces: enum tramp_mem_rungs.  For measuring: tests/bench/rungs.c sets it. */
extern unsigned int recorded_rungs;

/* Whether functions' calls have to be counted in the rings, and room for how many. */
uint32_t recorded_counts(const struct record_options *o);

/* What probes do. */
enum tramp_probe_mode recorded_mode(const struct record_options *o);

/* Fills in *m.  @r has to live as long as the session.  0, or an exit status after a message. */
int recorded_begin(struct recorded *r, const struct record_options *o, struct inj_mirror_options *m);
void recorded_end(struct recorded *r);

/* Tells the trace of what was instrumented since the last call. */
void recorded_publish(struct inj_session *s, struct tf_writer *w, const struct record_options *o);

/* After the start: warns of patterns that match nothing; of a program of which nothing is recorded. */
void recorded_warn(struct recorded *r, const struct inj_session *s);

/* After the end: of those that waited for a library in vain. */
void recorded_warn_late(struct recorded *r);

/* Writes what is new to /tmp/perf-PID.map, if it is wanted. */
void recorded_perf_map(struct recorded *r, const struct inj_session *s, pid_t pid);

#endif
