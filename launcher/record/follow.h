/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All recordings of a job: of the first program, and of what its processes execute.  Each program has a recording of its own,
 * with a collector of its own; they are begun, and ended, by one thread, since only that can trace.
 *
 *	follow_add()		the first one runs
 *	follow_serve()		whenever follow_fd() can be read, and now and then while follow_is_needed()
 */
#ifndef SONDE_LAUNCHER_RECORD_FOLLOW_H
#define SONDE_LAUNCHER_RECORD_FOLLOW_H

#include "launcher/control/server.h"
#include "launcher/record/background.h"
#include "launcher/record/recording.h"
#include "launcher/record/ticker.h"

struct follow {
	const struct record_options *opt; /* what the user asked for */
	struct recording **v; /* v[0]: of the first program */
	size_t n;
	int events; /* an epoll descriptor */
	int bell;   /* an eventfd: somebody is about to execute a program */
	void (*leave)(struct recording *r); /* takes all out of processes that go on, when their recording ends; NULL: it stays */
	int64_t began, switched; /* clock_now_ns(): the first one; all were switched off or on */
	struct control *control; /* NULL: nobody can ask */
	size_t recorded; /* programs, the first one among them */
	struct ticker ticker;
	struct recording_sums ended; /* recordings that are finished, but for those of the workers */
	struct background background;
};

/* 0, or an exit status after a message. */
int follow_begin(struct follow *f, const struct record_options *opt) __attribute__((warn_unused_result));

/* What is recorded of @program, of which the user knows the name @name: all that was asked for, or nothing. */
struct record_options follow_options(const struct follow *f, const char *name, const struct program *program);

/* Before recording_begin(). */
void follow_ask(struct follow *f, struct recording *r);

/* A program was let go; @r is the caller's if it is the first one. */
int follow_add(struct follow *f, struct recording *r) __attribute__((warn_unused_result));

/* Can be read when there is something to do. */
int follow_fd(const struct follow *f);

/* When to serve again though nothing can be read, in milliseconds: children may have ended; -1: never. */
int follow_patience(const struct follow *f);

/* Follows, and completes the traces of what has ended. */
void follow_serve(struct follow *f);

/* The process that the user waits for has ended: @end says how. */
void follow_ended(struct follow *f, const struct tf_end *end, bool killed);

/* --signal has arrived: switches all recordings off, or on, or has all of them write what flight recorders keep. */
void follow_signalled(struct follow *f);

/* Has nobody been left who is recorded, since the user wants no more? */
bool follow_is_over(const struct follow *f);

/* Is anybody left who may record? */
bool follow_is_needed(const struct follow *f);

/* Nobody wants more of any of them. */
void follow_leave(struct follow *f);

/* Are all traces complete? */
bool follow_is_finished(struct follow *f);

/* Completes all traces. */
void follow_end(struct follow *f);

#endif
