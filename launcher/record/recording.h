/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recording of one program, from what the user asked for to a finished trace.
 *
 *	recording_prepare()	before the program is touched: all that can fail without it
 *	recording_begin()	it stands at its first instruction: instrumented, its folder made
 *	recording_release()	it runs by itself
 *	recording_open_released() by any thread, if it has no writer yet: its trace has begun, its rings are drained
 *	recording_finish()	nobody records any more: the trace is complete
 *	recording_free()
 */
#ifndef SONDE_LAUNCHER_RECORD_RECORDING_H
#define SONDE_LAUNCHER_RECORD_RECORDING_H

#include "injector/patch/session.h"
#include "launcher/collect/analysis/analysis.h"
#include "launcher/collect/collector.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"
#include "launcher/trace/tracedir.h"
#include "launcher/module/modfile.h"
#include "launcher/record/recorded.h"
#include "launcher/record/switches.h"
#include "tracefmt/write/writer.h"

struct recording {
	struct record_options opt;
	struct program program;
	char **argv;	/* of the program */
	char *elf_path; /* of the program; absolute */
	struct modfile_list modules;
	bool shares_modules; /* they are those of `first` */
	size_t nwrapping; /* the first ones, which go into the program */
	struct analysis *analysis; /* NULL: no module takes memory accesses */
	struct collector *collector;
	struct recorded recorded;
	struct inj_session session;
	struct inj_tracee tracee;
	struct tracedir dir; /* tracedir_begin() is still to come if dir.top is there before recording_begin() */
	struct tf_writer *writer;
	struct switches *switches; /* --blocked, --counters: of the first program, for what it executes, too; NULL: none */
	char *preload; /* paths for LD_PRELOAD */
	char **paths;  /* of modules */
	bool *guests;  /* of those: it gets a C library of its own */
	size_t nguests;
	char *agent;   /* path of what loads these; NULL: there are none */
	char **analyzers; /* of those that the program's threads hand memory accesses to */
	size_t nanalyzers;
	char *cache;   /* folder; NULL: there is none, or the first program's is meant */
	const struct recording *first; /* NULL: it is the first program */
	int number;    /* tf_start.number */
	int parent;    /* of the process */
	int pidfd;     /* of the process; -1: nobody waits for it here; recording_discard() closes it */
	char *held;    /* messages about what this program has not; another that it executes may have it */
	struct tf_clock began; /* when the program was about to run; all zero: the trace begins when it is opened */
	struct tf_end end; /* how its process has ended */
	struct collector_totals totals; /* of one that is finished */
	bool stopped;  /* the user does not want more of it */
	bool finished; /* its trace is complete */
	bool over;     /* its process has ended, or executed another program */
	bool limited;  /* address space */
	bool failed;   /* its trace could not be opened when it ran already */
	_Atomic bool opening; /* another thread is to open its trace, and has all of this until it has */
	struct recording *next; /* of those that another thread has to open or complete */
	bool let_go;   /* the program, to run by itself */
};

/* With opt, program and argv given.  0, or an exit status after a message. */
int recording_prepare(struct recording *r) __attribute__((warn_unused_result));

/*
 * With the tracee given.  0 also if the program is gone, which r->tracee.reaped says; else an exit status after a message,
 * and then no trace is left, and the program stands, or is gone.
 */
int recording_begin(struct recording *r) __attribute__((warn_unused_result));

/* It runs. */
void recording_release(struct recording *r);

/* 0, or an exit status after a message: it is not recorded after all. */
int recording_open_released(struct recording *r) __attribute__((warn_unused_result));

/* In its place: ends the program, and removes the trace. */
void recording_cancel(struct recording *r);

/* Is any process left that may record: a child of the program's, a child of that? */
bool recording_is_needed(const struct recording *r);

/* r->end is known. */
void recording_finish(struct recording *r);

/* What recordings have come to that are finished. */
struct recording_sums {
	uint64_t events, lost, bytes; /* lost: events; bytes: of files */
	bool found; /* something to record in one of them */
};

void recording_add(struct recording_sums *sums, const struct recording *r);

/* ---- the parts of recording_begin(), for a process that is attached to ---- */

/* Begins the trace.  0, or an exit status after a message. */
int recording_open(struct recording *r) __attribute__((warn_unused_result));

/* It is not going to be: removes it.  Returns EXIT_TRACER. */
int recording_give_up(struct recording *r);

/* What calls cost that are recorded without a module. */
void recording_write_cost(struct recording *r);

/* Says what of its wishes is not recorded, and writes a map for perf if that was asked for. */
void recording_say_recorded(struct recording *r);

/* All but opt, and argv. */
void recording_free(struct recording *r);

/* One on the heap, whose argv is one allocation; NULL: no memory. */
struct recording *recording_new(void);
void recording_discard(struct recording *r);

#endif
