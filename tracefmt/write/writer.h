/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing a trace: the collector's side.
 *
 *	tf_writer_create()          directory and metadata
 *	tf_writer_module(), _object(), _function(), _event(), _counter(), _probes(), _process(), _clock()
 *	                            any time, before the first record that needs them is drained
 *	tf_thread_create()          a thread's file
 *	tf_thread_drain()           records out of its ring, again and again
 *	tf_thread_close()
 *	tf_writer_close()
 *
 * A writer and its threads are to be used by one thread of execution at a time.
 *
 * Errors.  Functions return enum sonde_trace_status.  A failing write (no space, I/O error,
 * quota) is returned once in the life of a writer, as SONDE_TRACE_E_SYSTEM with errno set, by
 * whichever function met it; tf_writer_message() then says it in words.  From then on that file
 * takes nothing more: what would have gone there is discarded and counted
 * (tf_writer_discarded()), functions return OK, and what is in the files stays readable.  The
 * other files go on.  E_NOMEM is treated alike: returned once, the events concerned are counted
 * as discarded. E_INVALID is the caller's mistake, nothing was done.
 *
 * Strings are copied.
 */
#ifndef SONDE_TRACEFMT_WRITE_WRITER_H
#define SONDE_TRACEFMT_WRITE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/ring.h"

#define TF_CHECK __attribute__((warn_unused_result))

struct tf_writer;
struct tf_thread;

/* One instant on three clocks. */
struct tf_clock {
	uint64_t tsc;
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME */
};

/* Reads the three clocks together, as closely as can be had (best of several tries; < 5 us). */
void tf_clock_now(struct tf_clock *now);

/* What is known at the start. */
struct tf_start {
	const char *program;	/* path of the executable */
	char *const *args;	/* argv of the program, NULL-terminated; NULL: none */
	const char *host;	/* NULL: ask the kernel */
	const char *version;	/* of Sonde; NULL: the one this was compiled as */
	int rank;		/* MPI rank; -1: none */
	int ranks;		/* number of ranks; 0: not known */
	int pid;		/* of the process; 0: not known */
	int parent;		/* its parent's pid; 0: not known */
	int number;		/* which program of the process, as in struct sonde_trace_rank */
	uint64_t caches[SONDE_TRACE_CACHES]; /* as in struct sonde_trace_rank */
	struct tf_clock clock;	/* the start of the trace; all zero: now */
};

/*
 * Creates the trace in directory @dir (the folder itself: of a rank, when there is one), which is
 * made when it does not exist, for the user alone (0700): a trace holds arguments and addresses.  Nothing that is there already is touched: a trace in it is an
 * error.
 * Errors: E_SYSTEM (*@out is NULL, errno set; EEXIST: holds a trace already), E_NOMEM, E_INVALID.
 */
TF_CHECK enum sonde_trace_status tf_writer_create(struct tf_writer **out, const char *dir,
						  const struct tf_start *start);

/* Another calibration point, for the metadata.  At start and end the writer does that itself. */
TF_CHECK enum sonde_trace_status tf_writer_clock(struct tf_writer *w, const struct tf_clock *clock);

/*
 * A flight recorder: from now on chunks of events stay in memory, those of all threads in at most @bytes.  Where there are more,
 * the oldest ones of threads that hold more than their share are left out.  They are written by tf_writer_snapshot(), and by
 * tf_writer_close().  Before the first thread; of memory streams all is written, as without.
 */
TF_CHECK enum sonde_trace_status tf_writer_flight(struct tf_writer *w, uint64_t bytes);

/*
 * From now on the files of all threads are to be no larger than @bytes together; where they would be, the oldest events of threads
 * that hold more than their share are removed.  Before the first thread; not with tf_writer_flight().  Memory streams do not count.
 */
TF_CHECK enum sonde_trace_status tf_writer_max_size(struct tf_writer *w, uint64_t bytes);

/* Writes what is kept. */
TF_CHECK enum sonde_trace_status tf_writer_snapshot(struct tf_writer *w);

/* Recording was switched on or off at @tsc; it is on at the start. */
TF_CHECK enum sonde_trace_status tf_writer_switch(struct tf_writer *w, uint64_t tsc, bool on);

/*
 * Modules are known by name (unique).  @path and @description may be NULL.
 * To add the same module, function, ... once more is allowed and changes nothing, as long as it is
 * the same; E_INVALID when not.
 */
TF_CHECK enum sonde_trace_status tf_writer_module(struct tf_writer *w, const char *name,
						  const char *description, const char *path);

/* A file that recorded functions are from. */
struct tf_object {
	uint32_t id;	      /* the collector's own numbers, below TF_MAX_IDS */
	const char *path;     /* absolute */
	const char *build_id; /* hexadecimal; "": it has none */
	uint64_t code;	      /* hash of its code, as in doc/trace-format.md */
};

TF_CHECK enum sonde_trace_status tf_writer_object(struct tf_writer *w, const struct tf_object *object);

/* What is at an address of the program's code that is in events. */
struct tf_code {
	uint64_t address;     /* there */
	const char *path;     /* of the file, absolute */
	uint64_t offset;      /* as in the file (not relocated) */
	const char *function; /* NULL: not known */
	const char *file;     /* of the source; NULL: not known */
	int line;
};

TF_CHECK enum sonde_trace_status tf_writer_code(struct tf_writer *w, const struct tf_code *code);

/* The addresses of code in the events so far, malloc'ed, *n of them; NULL: none, or no memory. */
uint64_t *tf_writer_codes(const struct tf_writer *w, size_t *n);

struct tf_function {
	uint32_t id;	       /* the collector's own numbers from 0 on, dense, below 2^24 */
	const char *name;      /* as in the symbol table */
	const char *demangled; /* NULL: nothing to demangle */
	const char *path;      /* of the program or library; NULL: unknown */
	uint64_t address;      /* as in the file (not relocated); 0: unknown */
};

TF_CHECK enum sonde_trace_status tf_writer_function(struct tf_writer *w,
						    const struct tf_function *function);

/* The name of a value, of those of a field. */
struct tf_label {
	int64_t value;
	const char *name;
};

struct tf_field {
	const char *name;
	uint32_t type; /* enum sonde_type of abi.h == enum sonde_trace_type */
};

/* More about a field. */
struct tf_shape {
	uint8_t width; /* bytes of the word in a record that are the value, 1, 2, 4; 0: all.  Of I32, I64, U32, U64, PTR, F64 (4) */
	/* I64: some values have names.  Readers see text then. */
	const struct tf_label *labels;
	size_t nlabels; /* at most TF_MAX_LABELS */
};

#define TF_MAX_LABELS 1024u

#define TF_MAX_FIELDS 12u
#define TF_FIRST_EVENT 16u

/*
 * An event id, as it stands in the records.  Enter and leave events of one function are matched by
 * their function; there may be several of each (several modules, several return sites).
 */
struct tf_event {
	uint32_t id;		    /* TF_FIRST_EVENT..RING_ID_MASK */
	enum sonde_trace_kind kind; /* ENTER, LEAVE, POINT */
	uint32_t function;	    /* that has been added before */
	const char *module;	    /* name; NULL: Sonde's own recording */
	const char *name;	    /* of a point; else NULL */
	const struct tf_field *fields;
	size_t nfields; /* at most TF_MAX_FIELDS */
	const struct tf_shape *shapes; /* of each field; NULL: there is no more to say of any */
	uint32_t depth; /* of an enter: bytes to add to the frame address in its records */
	uint64_t entry; /* of an enter: where the function begins in the program; 0: unknown */
	/*
	 * Of a leave: word 1 of its records is the frame address at the function's entry (as in
	 * enters, @depth is added).  It closes the frame with this address and function; those
	 * that lie inside of it are recorded as unwound; if there is none, it is an orphan.
	 */
	bool framed;
};

TF_CHECK enum sonde_trace_status tf_writer_event(struct tf_writer *w, const struct tf_event *event);

/*
 * A function that probes record.  @event and @event + 1 are the ids of its enter and its leave; both
 * are framed and without fields.  @count: its index in tf_thread_end.calls.  All three are new ids;
 * function.id is new or that of the same function, added before.  @entry: where it begins in the program; 0: unknown.
 */
struct tf_probe {
	struct tf_function function;
	uint64_t entry;
	uint32_t event;
	uint32_t count;
};

/* A name for people, from malloc(), or NULL. */
typedef char *tf_demangle_fn(const char *name);

/*
 * Announces @n functions: cheap, since the metadata describes a function only when the first chunk
 * in which it occurs is written.  @demangle, unless NULL, is asked then where function.demangled
 * is NULL.  E_INVALID: an id out of range or known; the probes before it have been added.
 */
TF_CHECK enum sonde_trace_status tf_writer_probes(struct tf_writer *w, const struct tf_probe *probe,
						  size_t n, tf_demangle_fn *demangle);

struct tf_reason {
	const char *text; /* "too short" */
	uint64_t count;
	const char *const *names; /* of the functions; the first nnames of them, which may be none */
	size_t nnames;
};

/* How functions were chosen and recorded, for people.  Strings may be NULL. */
struct tf_recording {
	const char *clock;	     /* of the events; "none": calls are counted, nothing else */
	uint64_t instrumented;	     /* functions */
	uint64_t uncalled;	     /* others, that would have been when they were first called */
	uint64_t code, unknown;	     /* bytes of code of the files; those that belong to no known function */
	uint64_t memory;	     /* of those: whose memory accesses are recorded */
	bool blocks;		     /* ... or, of the same, in place of accesses which blocks are executed */
	bool blocks_beside;	     /* ... or beside them */
	const struct tf_reason *left_alone; /* functions that were asked for, by reason */
	size_t nleft_alone;
	const char *const *filters; /* as the user gave them, "-F '*'" */
	size_t nfilters;
};

/* May be called again, with new figures (libraries that come late). */
TF_CHECK enum sonde_trace_status tf_writer_recording(struct tf_writer *w,
						     const struct tf_recording *recording);

/* What probes cost for each call, in ticks: from the entry's time to the exit's, and before and after that. */
struct tf_cost {
	double inside, outside;
};

/* As it has been measured now; at the start of the recording, and at its end. */
TF_CHECK enum sonde_trace_status tf_writer_cost(struct tf_writer *w, const struct tf_cost *cost);

/* What memory accesses were sampled: at the end of the recording. */
TF_CHECK enum sonde_trace_status tf_writer_sampled(struct tf_writer *w,
						   const struct sonde_trace_sampled *s);

/* A function that probes record, and whether its calls are counted from now on, or recorded. */
struct tf_chosen {
	uint32_t count; /* tf_probe.count */
	bool counted;
};

/* From @tsc on. */
TF_CHECK enum sonde_trace_status tf_writer_chosen(struct tf_writer *w, uint64_t tsc, const struct tf_chosen *v, size_t n);

/* A time in which all calls were recorded; in the order of time. */
struct tf_burst {
	uint64_t tsc, ticks;
};

TF_CHECK enum sonde_trace_status tf_writer_bursts(struct tf_writer *w, const struct tf_burst *v, size_t n);

/* What recording calls might cost, and did; may be said again. */
struct tf_budget {
	double share;
	uint64_t plain_ns;  /* CPU time of the program, without ... */
	uint64_t probes_ns; /* ... what recording took of it, about, and ... */
	uint64_t sonde_ns;  /* ... what it took of Sonde's */
};

TF_CHECK enum sonde_trace_status tf_writer_budget(struct tf_writer *w, const struct tf_budget *b);

/* From now on the writer adds up how many events there were of each id, in @tally[TF_MAX_IDS]; those that it holds back as far as tf_thread_tally() was called. */
void tf_writer_tally(struct tf_writer *w, uint64_t *tally);
void tf_thread_tally(struct tf_thread *t);

struct tf_counter {
	uint32_t id;	     /* index into a ring's counters */
	const char *name;
	int64_t function;    /* id, or -1 */
	const char *module;  /* NULL: Sonde's own */
};

TF_CHECK enum sonde_trace_status tf_writer_counter(struct tf_writer *w,
						   const struct tf_counter *counter);

/* A process was seen.  May be called again when more is known (@comm after an exec). */
TF_CHECK enum sonde_trace_status tf_writer_process(struct tf_writer *w, int pid, int parent,
						   const char *comm);

/* A process other than the first one ended; @status as from waitpid(). */
TF_CHECK enum sonde_trace_status tf_writer_process_end(struct tf_writer *w, int pid, int status);

/*
 * A process that this trace is of executes another program, which has a trace of its own beside this one, or none: for
 * the one that calls execve() this is where this trace ends.
 */
struct tf_exec {
	int pid;
	uint64_t tsc;		/* when, about */
	const char *path;	/* of the new program */
	char *const *args;	/* its argv, NULL-terminated; NULL: not known */
	int number;		/* tf_start.number of the new program's trace; 0: it is not recorded ... */
	const char *left_alone; /* ... for this reason, in a few words ("set-user-ID"); else NULL */
};

/* Errors: E_INVALID (neither a number nor a reason, or both). */
TF_CHECK enum sonde_trace_status tf_writer_exec(struct tf_writer *w, const struct tf_exec *exec);

/* Writes out what is held back of the metadata.  Also done before each chunk. */
TF_CHECK enum sonde_trace_status tf_writer_flush(struct tf_writer *w);

/* --- threads ------------------------------------------------------------------------------ */

/*
 * A new thread, with file PID.TID.sonde (or PID.TID.N.sonde, when that name was used before).
 * @comm may be NULL; tf_thread_close() may tell it later.  @tsc: full TSC at its registration (what
 * ring_head.first_tsc says; a wrong value does no harm).
 * *@out is NULL only on E_NOMEM; when the file could not be made the thread's events are discarded.
 */
TF_CHECK enum sonde_trace_status tf_thread_create(struct tf_writer *w, struct tf_thread **out,
						  int pid, int tid, const char *comm, uint64_t tsc);

/*
 * A sub-buffer to take records from.  The memory may be written to by the traced program at any
 * time and by any means: nothing in it is trusted, each word is read once.
 */
struct tf_sub {
	const void *base;	    /* its bytes, 8-aligned */
	uint32_t bytes;		    /* its size */
	uint32_t used;		    /* if final: what the program said when it was FULL; @bytes when
				     * it did not, because the thread is gone */
	const struct ring_sub *sub; /* for ngaps and gap[], read while draining; NULL: no gaps */
	bool final;		    /* FULL, or the thread is gone: zero words are not waited for */
	uint64_t now_tsc;	    /* full TSC when draining.  The low bits in the records are taken
				     * for the nearest time, +-2^43 ticks (40 minutes). */
};

/*
 * Encodes all complete records from byte *@pos on (0 at first, what the last call left it at
 * later) and moves *@pos on.  Unless final it stops at the first zero word.  If final all that
 * is left is taken, damage and zeros are stepped over, and *@pos is sub->bytes afterwards.
 * Records that make no sense (unknown id, too long) are counted as damaged; the rest of the
 * sub-buffer is searched for records that do.  Nothing of a record that was not drained is
 * kept: the memory may be zeroed afterwards up to *@pos.
 * Returns OK, or once E_SYSTEM or E_NOMEM as described above.
 */
TF_CHECK enum sonde_trace_status tf_thread_drain(struct tf_thread *t, const struct tf_sub *sub,
						 uint32_t *pos);

/*
 * Until @tsc the thread waited @ticks for room, or less if its last event is later than that; not more than once between
 * two events.
 */
TF_CHECK enum sonde_trace_status tf_thread_waited(struct tf_thread *t, uint64_t tsc, uint64_t ticks);

/*
 * Puts "@count events were lost here" between the records drained before and after.  The collector
 * calls it when ring_head.lost has grown, with the difference, before it drains what follows.
 */
TF_CHECK enum sonde_trace_status tf_thread_lost(struct tf_thread *t, uint64_t tsc, uint64_t count);

/* Memory that held records of it could not be read: one more record counts as damaged. */
void tf_thread_damaged(struct tf_thread *t);

/*
 * Writes out what is still held back, so that a crash of the collector loses nothing that is
 * older. Full chunks are written anyway; call this every second or so.  Costs nothing when
 * there is nothing new; smaller chunks compress less well.
 */
TF_CHECK enum sonde_trace_status tf_thread_flush(struct tf_thread *t);

/* Final figures of a thread; all zero if nothing is known. */
struct tf_thread_end {
	const char *comm;	  /* NULL: as in tf_thread_create() */
	uint64_t lost;		  /* ring_head.lost */
	uint64_t nested;	  /* ring_head.nested */
	const uint64_t *counters; /* RING_COUNTERS of them, or NULL: none */
	const uint64_t *calls;	  /* by tf_probe.count, or NULL: calls were not counted */
	size_t ncalls;
	const struct sonde_trace_thread_sampled *sampled; /* NULL: it was not */
};

/*
 * Writes what is left, index and trailer, and the metadata's line.  Frames still open stay open.
 * Frees @t, also when it returns an error.
 */
TF_CHECK enum sonde_trace_status tf_thread_close(struct tf_thread *t,
						 const struct tf_thread_end *end);

/* Running figures of a thread, for progress and tests. */
struct tf_thread_stats {
	uint64_t events;     /* encoded, unwound leaves and lost marks included */
	uint64_t enters;
	uint64_t leaves;
	uint64_t points;
	uint64_t unwound;
	uint64_t orphans;
	uint64_t damaged;    /* records, or runs of words, that made no sense */
	uint64_t backward;   /* events whose clock was behind */
	uint64_t discarded;  /* events not written because of an error */
	uint64_t file_bytes; /* written so far */
	uint64_t depth;	     /* frames open now */
};

void tf_thread_stats(const struct tf_thread *t, struct tf_thread_stats *stats);

/* --- the end ------------------------------------------------------------------------------- */

struct tf_end {
	enum sonde_trace_ending ending;
	int exit_status;       /* EXITED */
	int signal;	       /* KILLED */
	uint64_t lost;	       /* beyond those of the threads: ring_control.lost */
	uint64_t lost_threads; /* ring_control.lost_threads */
	uint64_t guest_calls;  /* ring_control.guest_calls */
	bool complete;	       /* all that was in the rings has been drained */
	struct tf_clock clock; /* when it was, which is before all has been drained; all zero: now */
};

/* All threads must have been closed.  Frees @w, also when it returns an error.  NULL allowed. */
TF_CHECK enum sonde_trace_status tf_writer_close(struct tf_writer *w, const struct tf_end *end);

/* Frees @w without a last word (for a forked child of the collector, or after a fatal error). */
void tf_writer_abandon(struct tf_writer *w);

/* The last error in words, naming the file; "" when there was none.  Valid until the next call. */
const char *tf_writer_message(const struct tf_writer *w);

/* Events that an error kept out of the trace so far. */
uint64_t tf_writer_discarded(const struct tf_writer *w);
/* Likewise: chunks of memory streams, and descriptions. */
uint64_t tf_writer_memory_discarded(const struct tf_writer *w);

#endif /* SONDE_TRACEFMT_WRITE_WRITER_H */
