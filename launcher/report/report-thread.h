/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread's events, from the first to the last, into sums. */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_THREAD_H
#define SONDE_LAUNCHER_REPORT_REPORT_THREAD_H

#include "launcher/report/cost.h"
#include "launcher/report/estimate.h"
#include "launcher/report/phases/phases.h"
#include "launcher/report/report-sums.h"
#include "launcher/trace/offcpu.h"
#include "sonde/trace.h"

struct report_frame;
struct report_held;

/* Made once, used for one thread after another. */
struct report_walk {
	const struct report_rows *rows;
	struct report_sums sums; /* of the thread */
	uint64_t *module_time;	 /* ns inside each module, by report_site.module */
	uint64_t *class_time;	 /* ns in calls of each class, of nested ones in the outermost's */
	uint64_t wait;		 /* the sum of those that wait */
	uint64_t events;
	uint64_t unknown; /* events that the metadata does not describe */
	/* the state of the walk */
	struct report_frame *frame; /* open ones; depths increase */
	size_t n, room;
	struct report_held *held; /* amounts of open frames */
	size_t nheld, held_room;
	uint32_t *active; /* open frames, by row */
	uint32_t *module_active;
	uint32_t waiting; /* open frames that wait */
	uint32_t apart;	  /* open frames that are apart; those in them do not wait */
	struct estimate estimate;
	struct cost_clock clock; /* at the end: what recording took */
	bool gap;	  /* events are missing after the last one */
	uint64_t now, last; /* times of this event and of the last one, by the clock */
	/* only some phases: the clock stands still outside of them, and what begins there does not count */
	bool phased;
	struct stretch_clock phase;
	bool in_phase, begun;
	uint64_t recorded, phase_ns; /* of the event before: its time as recorded, and how long the thread had been in phases by then */
	uint64_t raw, outside;	     /* ... by the clock if it never stood still, and how much until then was outside */
	uint64_t inside;	     /* at the end: ns in phases */
	struct stretch_clock blocked, preempted;
	const struct offcpu_thread *offcpu;
	size_t count; /* the next of its counts */
	uint64_t blocked_ns, preempted_ns, waited; /* until the event before; waited: for room to record something */
	struct report_stats nobody;  /* takes what does not count */
};

void report_walk_init(struct report_walk *w, const struct report_rows *rows);
void report_walk_free(struct report_walk *w);

/*
 * Before a thread; @clock is its, at the beginning; @budget is its program's, or NULL.  @phases: only what it did then counts;
 * NULL: all does.  @offcpu: when it was not running; NULL: not known.
 */
void report_walk_start(struct report_walk *w, const struct cost_clock *clock, const struct sonde_trace_budget *budget,
		       const struct stretches *const *phases, const struct offcpu_thread *offcpu);
/* Each of its events, in order. */
void report_walk_event(struct report_walk *w, const struct sonde_trace_event *ev);
/*
 * After the last one: what is open ends there, unless it is, or is in, a call that waits or is apart: such a call that never
 * returned has lasted until the thread's end. 
 * Then sums, module_time, class_time, wait, events and unknown are valid.
 */
void report_walk_finish(struct report_walk *w, const struct sonde_trace_thread *t);

#endif
