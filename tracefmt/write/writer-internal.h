/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the writer share. */
#ifndef SONDE_TRACEFMT_WRITE_WRITER_INTERNAL_H
#define SONDE_TRACEFMT_WRITE_WRITER_INTERNAL_H

#include <pthread.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/encode.h"
#include "tracefmt/write/extra.h"
#include "tracefmt/write/outfile.h"
#include "tracefmt/write/pack.h"
#include "tracefmt/write/threadout.h"
#include "tracefmt/write/writer.h"

#define TF_MAX_FUNCTIONS (1u << 24)

/*
 * What is known is remembered as the hash of its line, made odd: enough to tell the same from
 * something else.
 */
#define TF_ANNOUNCED 2u
struct tf_known {
	uint64_t hash; /* 0: not known; TF_ANNOUNCED: a function without a line of its own */
	uint32_t head; /* functions: first of their events */
};

struct tf_table {
	struct tf_known *v; /* indexed by id */
	uint32_t room;
};

/* What tf_writer_probes() has announced; see probes.c. */
struct tf_probes {
	struct tf_probe_known *v;
	size_t n, room;
	uint32_t *of_count; /* by index of the count: 1 + index in v[], or 0 */
	uint32_t roomcounts;
	uint32_t *due; /* indices in v[]: to be described now */
	size_t ndue, roomdue;
	struct tf_probe_block *block; /* strings */
};

struct tf_writer {
	char *dir;
	int dirfd;
	int rank;
	uint64_t id;
	struct tf_outfile metadata;
	struct tf_buf pending; /* lines that are not in the file yet */
	struct tf_buf line;    /* one being made */
	bool metadata_failed;
	struct tf_sites sites;
	struct tf_pack pack;
	struct tf_extra extra;
	struct tf_table objects;
	struct tf_table functions;
	struct tf_table events;
	struct tf_table counters;
	struct tf_probes probes;
	struct tf_known *modules;
	char **module_names;
	uint32_t nmodules;
	struct tf_clock started;
	uint64_t last_clock; /* ns, CLOCK_MONOTONIC, of the last calibration point */
	unsigned threads;    /* open */
	uint64_t *tally; /* the caller's: events by id; NULL: not wanted */
	struct tf_flight *flight; /* NULL: events are written as they come */
	struct tf_roll *roll;	  /* NULL: they all stay */
	uint64_t discarded;
	bool reported;	     /* a failure has been reported to the caller */
	char message[512];
	/* A failure inside a callback, for the function that the caller called; with the lock, for streams of threads may be written side by side. */
	pthread_mutex_t lock;
	enum sonde_trace_status failed;
	int failed_errno;
};

struct tf_thread {
	struct tf_writer *w;
	struct tf_enc enc;
	struct tf_threadout out;
	struct tf_kept *kept; /* of a flight recorder; NULL: there is none */
	struct tf_rolled *rolled; /* in a trace whose size is limited */
	struct tf_extra extra;
	uint32_t tallied; /* events of the batch that are in w->tally */
	int pid;
	int tid;
	bool broken; /* takes nothing more */
	uint64_t damaged;
	uint64_t discarded;
};

/* Notes a failure of a system call (errno) with the file it is about; NULL: the directory. */
void tf_writer_failed(struct tf_writer *w, const char *what, const char *file);

/* Appends w->line, which is complete, to the metadata and clears it. */
void tf_writer_line(struct tf_writer *w);

/* Writes out pending lines. */
void tf_writer_sync(struct tf_writer *w);

/* Adds the member "args" to a line. */
void tf_writer_args(struct tf_buf *line, char *const *args);

/* A calibration point, when the last one is long ago. */
void tf_writer_tick(struct tf_writer *w);

/* Is it a point about clocks?  False also if there is no memory to note any. */
bool tf_exchange_event(struct tf_sites *s, const struct tf_event *event);

/* A line for each exchange of messages that has been noted since. */
void tf_writer_exchanges(struct tf_writer *w);

/* Makes the id one of a function that is described later.  False: no memory. */
bool tf_writer_announce(struct tf_writer *w, uint32_t function);

/* Describes those functions of the chunk in w->pack that have not been described. */
void tf_probes_tell_chunk(struct tf_writer *w);

/* The calls that a thread counted, and their functions. */
void tf_probes_tell_calls(struct tf_writer *w, const char *file, const struct tf_thread_end *end);

/* Describes the functions that are chosen, of which no call need be recorded before. */
void tf_probes_tell_chosen(struct tf_writer *w, const struct tf_chosen *v, size_t n);

/* The id of the function whose calls are counted as number @count, false: there is none. */
bool tf_probes_function(struct tf_writer *w, uint32_t count, uint32_t *id);

void tf_probes_free(struct tf_probes *p);

/* Ends the thread's present chunk (thread.c). */
void tf_thread_emit(struct tf_thread *t);

/* ---- flight recorder (flight.c) ---- */

/* A thread's file, which tf_kept_end() closes later.  NULL: no memory. */
struct tf_kept *tf_kept_new(struct tf_thread *t);

/* The chunk in w->pack, of the thread; false: no memory. */
bool tf_kept_add(struct tf_thread *t, uint64_t events);

/* The thread has ended; its file is the flight recorder's now. */
void tf_kept_end(struct tf_thread *t);

/* Writes what is kept of all; with @ended files of threads that have ended are complete then, and the metadata says what is not kept. */
void tf_flight_write(struct tf_writer *w, bool ended);

void tf_flight_free(struct tf_flight *f);

/* So many more events of the thread whose file that is are not in the trace. */
void tf_writer_older(struct tf_writer *w, const char *file, uint64_t events);

/* ---- a limited size (roll.c) ---- */

/* A thread's file; NULL: no memory, and it stays as it is. */
struct tf_rolled *tf_rolled_new(struct tf_thread *t);

/* The chunk in w->pack, of so many events, is in the thread's file: there may be too much in all of them now. */
void tf_rolled_add(struct tf_thread *t, uint32_t events);

/* The thread has ended, its file is complete. */
void tf_rolled_end(struct tf_thread *t);

void tf_roll_free(struct tf_roll *r);

#endif /* SONDE_TRACEFMT_WRITE_WRITER_INTERNAL_H */
