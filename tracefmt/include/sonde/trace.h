/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading Sonde traces.
 *
 * A trace is a directory: a file "metadata" and one file per thread, and one such directory in it for each program that
 * its processes have executed; under MPI a directory that holds one such directory per rank.  sonde_trace_open() takes
 * either and shows all ranks and programs as one trace.  doc/trace-format.md describes the files.
 *
 *	struct sonde_trace *trace;
 *	struct sonde_trace_iter *iter;
 *	struct sonde_trace_message why;
 *	const struct sonde_trace_event *ev;
 *	enum sonde_trace_status status;
 *
 *	if (sonde_trace_open("sonde.data", &trace, &why) != SONDE_TRACE_OK)
 *		errx(2, "%s", why.text);
 *	status = sonde_trace_merge(trace, NULL, NULL, &iter);
 *	while (status == SONDE_TRACE_OK &&
 *	       (status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK)
 *		handle(ev);
 *	sonde_trace_iter_free(iter);
 *	sonde_trace_close(trace);
 *
 * Memory accesses are read thread by thread: see sonde_trace_accesses().
 *
 * Ownership: everything that a function returns a const pointer to belongs to the trace and
 * lives until sonde_trace_close(), except events and their values, which live until the next
 * call with the same iterator.  Strings are NUL-terminated; they hold the bytes that were
 * recorded, which need not be UTF-8.  No pointer member is NULL unless its description says so.
 *
 * Threads: any number of iterators may be used at the same time, each by one thread; nothing
 * else is written after sonde_trace_open().
 *
 * Any content of the files is safe to read: what is damaged is skipped, counted and can be
 * asked for (struct sonde_trace_thread, sonde_trace_damage()).
 */
#ifndef SONDE_TRACE_H
#define SONDE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_TRACE_API __attribute__((visibility("default")))
#define SONDE_TRACE_CHECK __attribute__((visibility("default"), warn_unused_result))

/*
 * What every function of the library that can fail returns.
 *
 * END        the normal end of an iteration
 * E_SYSTEM   a system call failed; errno is set
 * E_NOMEM    no memory
 * E_NOTRACE  the directory holds no trace, or the file is not a trace file
 * E_VERSION  a trace, but of a format version that this library does not know
 * E_TRUNCATED  the file stops before its end: its writer was killed or could not write
 * E_CORRUPT  the file holds something that no writer writes
 * E_INVALID  the caller's mistake (an argument out of range)
 */
enum sonde_trace_status {
	SONDE_TRACE_OK = 0,
	SONDE_TRACE_END,
	SONDE_TRACE_E_SYSTEM,
	SONDE_TRACE_E_NOMEM,
	SONDE_TRACE_E_NOTRACE,
	SONDE_TRACE_E_VERSION,
	SONDE_TRACE_E_TRUNCATED,
	SONDE_TRACE_E_CORRUPT,
	SONDE_TRACE_E_INVALID,
};

/* A few words for @status ("truncated"), static. */
SONDE_TRACE_API const char *sonde_trace_strstatus(enum sonde_trace_status status);

/* One line for the user, without a line feed, naming the file where there is one. */
struct sonde_trace_message {
	char text[512];
};

struct sonde_trace;
struct sonde_trace_iter;

/* --- what was recorded -------------------------------------------------------------------- */

/* Types of fields; the values equal enum sonde_type of <sonde/abi.h>. */
enum sonde_trace_type {
	SONDE_TRACE_I32 = 1,
	SONDE_TRACE_I64,
	SONDE_TRACE_U32,
	SONDE_TRACE_U64,
	SONDE_TRACE_F64,
	SONDE_TRACE_PTR,   /* to be printed in hexadecimal */
	SONDE_TRACE_BYTES, /* an amount of data in bytes */
	SONDE_TRACE_STR,
	/* no value; of the time from enter to leave: */
	SONDE_TRACE_WAIT,  /* it is waiting */
	SONDE_TRACE_APART, /* neither it nor what happens in it is waiting, whatever that says */
};

enum sonde_trace_kind {
	SONDE_TRACE_ENTER = 1,
	SONDE_TRACE_LEAVE = 2,
	SONDE_TRACE_POINT = 3,
	SONDE_TRACE_LOST = 4, /* events are missing here: struct sonde_trace_event.lost of them */
};

/* Same name: one module, whatever the number of ranks. */
struct sonde_trace_module {
	size_t index; /* into the trace's modules */
	const char *name;
	const char *description;
	const char *path; /* "" when unknown */
};

/* A file that recorded functions are from: one per rank and file. */
struct sonde_trace_object {
	size_t index; /* into the trace's objects */
	size_t rank_index;
	uint32_t id; /* in its rank */
	const char *path;     /* absolute */
	const char *build_id; /* hexadecimal; "" when it has none */
	uint64_t code;	      /* hash of its code: doc/trace-format.md says of what */
};

/*
 * What is at an address in the program's memory: that of a field of type PTR that is called "code".  One per rank and address.
 */
struct sonde_trace_code {
	uint64_t address;
	const char *path;     /* of the program or library */
	uint64_t offset;      /* in it (not relocated) */
	const char *function; /* as in the symbol table; "" when unknown */
	const char *file;     /* of the source, as the compiler noted it; "" when unknown */
	int line;	      /* of it: of an address that a call returns to, of the call */
};

/* Functions of equal name and path are one function in all ranks. */
struct sonde_trace_function {
	size_t index; /* into the trace's functions, dense: use it for arrays of your own */
	const char *name;      /* as in the symbol table */
	const char *demangled; /* for people; equals name when there is nothing to demangle */
	const char *path;      /* of the program or library; "" when unknown */
	uint64_t address;      /* in the file (not relocated), of the first rank; 0: unknown */
};

struct sonde_trace_labels;

struct sonde_trace_field {
	const char *name;
	enum sonde_trace_type type; /* of its values, as events have them: STR, if some of them have names */
	const struct sonde_trace_labels *labels; /* the library's own */
};

/* A place that records; one per rank and event id. */
struct sonde_trace_site {
	uint32_t id; /* in its rank */
	enum sonde_trace_kind kind;
	const struct sonde_trace_function *function;
	const struct sonde_trace_module *module; /* NULL: recorded by Sonde itself */
	const char *name;			 /* of a point; "" for others */
	bool waits;				 /* has a field of type SONDE_TRACE_WAIT */
	size_t nfields;
	const struct sonde_trace_field *fields; /* those with a value */
	bool apart;				/* has a field of type SONDE_TRACE_APART */
	const char *time_class; /* what it waits for ("": not given), or is apart as; NULL if neither */
};

/* Counters of equal name, function and module are one counter in all ranks. */
struct sonde_trace_counter {
	size_t index;
	const char *name;
	const struct sonde_trace_function *function; /* NULL: none */
	const struct sonde_trace_module *module;     /* NULL: Sonde itself */
	uint64_t total;				     /* over all threads of all ranks */
};

struct sonde_trace_count {
	const struct sonde_trace_counter *counter;
	uint64_t value; /* never 0 */
};

/* Calls that were counted without being recorded. */
struct sonde_trace_calls {
	const struct sonde_trace_function *function;
	uint64_t calls; /* never 0 */
};

/* A thread whose memory accesses were sampled. */
struct sonde_trace_thread_sampled {
	uint64_t bursts;	      /* that were over before the thread was; 0: it was recorded all the time */
	uint64_t on_units, all_units; /* as in struct sonde_trace_sampled */
};

struct sonde_trace_process {
	size_t rank_index; /* index of its rank in this trace */
	int pid;
	int parent; /* 0: unknown */
	const char *comm;
	bool ended;
	int exit_status; /* valid if ended and signal == 0 */
	int signal;	 /* that killed it, or 0 */
	uint64_t start, end; /* when it was first seen and when its end was, about; 0: not known */
};

/*
 * A process executes another program: whose trace is here as well, or which is not recorded.
 */
struct sonde_trace_exec {
	size_t index;	   /* into the trace's execs */
	size_t rank_index; /* of the program that the process was before */
	int pid;
	uint64_t time;
	const char *path;	 /* of the new program; "" when unknown */
	size_t nargs;		 /* 0: not known */
	const char *const *args; /* args[0..nargs), args[nargs] is NULL */
	const char *left_alone;	 /* why it is not recorded; "": it is */
	const struct sonde_trace_rank *program; /* what was recorded of it; NULL: nothing, or it cannot be read */
};

/*
 * A thread and its file.  Times are in nanoseconds since the start of the trace.  The figures from
 * @events on come from the file's chunks, without decompressing them.
 */
struct sonde_trace_thread {
	size_t index;
	size_t rank_index; /* index of its rank in this trace */
	int pid;
	int tid;
	const char *comm; /* "" when unknown */
	const char *file; /* path, as opened */
	uint64_t lost;	  /* events known to be missing */
	uint64_t nested;  /* calls by modules' own code, not recorded by design */
	uint64_t damaged; /* records that the collector could not make sense of */
	uint64_t backward; /* events whose clock was behind the one before; moved up to it */
	size_t ncounts;
	const struct sonde_trace_count *counts; /* final counters, without the zeros */
	bool ended;			/* its end is known: lost ... counts are final */
	uint64_t events;		/* including unwound leaves; of readable chunks; if its end is not known or chunks are
					 * damaged, also waits (one for each sub-buffer at most) */
	uint64_t file_bytes;
	uint64_t chunks;
	uint64_t bad_chunks;		/* found damaged when the trace was opened */
	bool indexed;			/* the file was closed properly */
	enum sonde_trace_status status; /* OK, E_TRUNCATED, E_CORRUPT, ... of the file */
	uint64_t first;			/* time of the first event; 0 when there is none */
	uint64_t last;
	size_t ncalls;
	const struct sonde_trace_calls *calls; /* by function; the same may come again: add up */
	uint64_t memory_lost; /* chunks of its memory stream that are missing, as it said at its end */
	const struct sonde_trace_thread_sampled *sampled; /* NULL: it was not, or it is not known */
};

/* How functions were chosen and recorded, without modules. */
struct sonde_trace_reason {
	const char *text;
	uint64_t count;
	size_t nnames; /* at most count: the first ones */
	const char *const *names; /* of the functions, as in the symbol table */
};

struct sonde_trace_recording {
	const char *clock;     /* "tsc"; "none": calls were counted only; "" when unknown */
	uint64_t instrumented; /* functions */
	size_t nleft_alone;
	const struct sonde_trace_reason *left_alone; /* functions that were not, by reason */
	size_t nfilters;
	const char *const *filters; /* as the user gave them */
	uint64_t memory; /* of the instrumented functions: whose memory accesses were recorded */
	uint64_t uncalled; /* further functions: they would have been instrumented at their first call, which did not come */
	bool blocks; /* in place of memory accesses, of those functions, it was recorded which blocks were executed */
	bool blocks_beside; /* that was recorded, and memory accesses as well */
	uint64_t code; /* bytes of code of the files whose functions were chosen; 0: not known */
	uint64_t unknown; /* those of them that belong to no known function, so nothing in them was recorded */
};

/* How memory accesses were sampled, and what of them: sums over the run's threads. */
struct sonde_trace_sampled {
	const char *by;	       /* "time", "accesses"; "overhead": by what recording may cost */
	uint64_t burst, every; /* what was asked for: ns, or accesses; else 0 */
	double overhead;       /* what was asked for: a share; else 0 */
	uint64_t bursts;
	uint64_t on, lived;    /* ticks of the TSC: in bursts, in all */
	uint64_t on_units, all_units; /* accesses in bursts, in all, about; 0: not counted (but by number) */
	uint64_t visits; /* times that threads left their code between bursts though nothing was to be switched: none is right */
	uint64_t on_cpu_ns, cpu_ns; /* CPU time of the threads: in bursts, in all; 0: not known */
	uint64_t cost_ns; /* by overhead: of that, what recording has cost, about */
	uint64_t sonde_ns; /* by overhead: CPU time that Sonde took for what was recorded */
	uint64_t asked_ns; /* by overhead: ... and to instrument functions and libraries while the program waited; in no share */
	uint64_t switches; /* by overhead: how often a process's code was made the original's between bursts, and back */
	uint64_t switch_ns; /* ... CPU time that this took, about; */
	uint64_t used_ns; /* ... and what all threads used, also those that recorded nothing; 0: not known */
	const char *stay; /* by overhead: why it was not, so copies ran between bursts; NULL: it was, or it is not known */
};

/*
 * What recording a call without a module took, ns: of the time between its two events, and of its caller's time around them.  An
 * average of what was measured on this machine, of a function that does nothing.
 */
struct sonde_trace_cost {
	double inside, outside;
};

/* How the program ended. */
enum sonde_trace_ending {
	SONDE_TRACE_UNFINISHED, /* the trace does not tell: the collector was killed */
	SONDE_TRACE_EXITED,	/* exit_status is valid */
	SONDE_TRACE_KILLED,	/* signal is valid */
	SONDE_TRACE_DETACHED,	/* the program went on without Sonde */
	SONDE_TRACE_EXECUTED,	/* its process executed another program: struct sonde_trace_exec */
	SONDE_TRACE_ENDED,	/* it was recorded to its end; with which status is not known: its parent waited for it first */
};

#define SONDE_TRACE_CACHES 4

/* From @time on a function's calls were counted, or recorded again; at first they are recorded. */
struct sonde_trace_chosen {
	uint64_t time; /* ns since the start of the trace */
	const struct sonde_trace_function *function;
	bool counted;
};

/* A time in which all calls were recorded: begin..end. */
struct sonde_trace_burst {
	uint64_t begin, end; /* ns since the start of the trace */
};

/*
 * Recording calls might cost so much of the program's time (`sonde record --overhead`): calls of functions for which that was not
 * enough were counted but for bursts.  Those of a thread are in sonde_trace_thread.calls; they have no events.  A leave that is an
 * orphan is one of theirs.
 */
struct sonde_trace_budget {
	double overhead;    /* 0.05: 5 % */
	uint64_t plain_ns;  /* CPU time of the program without what recording took of it; 0: not known ... */
	uint64_t probes_ns; /* ... which is about this, without counting; and ... */
	uint64_t sonde_ns;  /* ... what it took of Sonde's own */
	size_t nchosen;
	const struct sonde_trace_chosen *chosen; /* by time */
	size_t nbursts;
	const struct sonde_trace_burst *bursts; /* by time; they do not overlap */
};

/* How times of a part are set against those of the first one. */
enum sonde_trace_clock {
	SONDE_TRACE_CLOCK_FIRST,	 /* the same clock: recorded on the same node */
	SONDE_TRACE_CLOCK_COMPARED,	 /* the clocks of the nodes were compared by messages, at two times or more */
	SONDE_TRACE_CLOCK_COMPARED_ONCE, /* likewise, at one time: how they have drifted since is not known */
	SONDE_TRACE_CLOCK_SET,		 /* by CLOCK_REALTIME, as the nodes have it */
};

/*
 * One directory with a metadata file: of a rank's first program, or of one that a process of the rank has executed
 * later.  Without MPI and without such programs there is exactly one, of rank -1.  Sorted by rank, by run, by pid (the
 * first program's before all others), by number.
 */
struct sonde_trace_rank {
	size_t index;
	int rank;	 /* -1: no MPI */
	int run;	 /* 1; 2 for the second trace of this rank (rank-N.2), ... */
	const char *dir; /* path, as opened */
	const char *program;
	size_t nargs;
	const char *const *args; /* args[0..nargs), args[nargs] is NULL */
	const char *host;
	const char *version;	/* of the Sonde that wrote it */
	uint64_t start_real_ns; /* CLOCK_REALTIME, since 1970 */
	uint64_t start;		/* since the start of the trace: 0 for the first rank */
	uint64_t end;		/* last that is known; a start or an event when it is unfinished */
	double tsc_hz;		/* ticks a second, over the whole run */
	enum sonde_trace_ending ending;
	int exit_status;
	int signal;
	bool complete; /* every record that reached the rings is in the trace */
	uint64_t lost; /* events known to be missing, of all its threads and beyond */
	uint64_t lost_threads; /* threads of which nothing was recorded: there was no ring left */
	uint64_t discarded; /* of the lost: not written, the disk was full or failed */
	uint64_t guest_calls; /* without their wrappers, since the C library of those could not be entered */
	uint64_t bad_lines; /* of the metadata that were not understood */
	const struct sonde_trace_recording *recording; /* NULL: modules alone recorded */
	const struct sonde_trace_cost *cost; /* NULL: not known */
	const struct sonde_trace_sampled *sampled; /* NULL: all memory accesses were recorded, or none */
	const struct sonde_trace_budget *budget; /* NULL: all calls were recorded, or counted */
	uint64_t caches[SONDE_TRACE_CACHES]; /* the machine's, for data: bytes, from the first level on; 0: no more, not known */
	int pid;    /* of the process that it was recorded of; 0: not known */
	int parent; /* its parent's pid; 0: not known */
	uint64_t flight; /* not 0: a flight recorder's, which kept the newest events of each thread in so many bytes */
	uint64_t older;	 /* ... or max_size: so many older events were left out */
	size_t offs;  /* how often recording was switched off; off at the start counts */
	uint64_t off; /* ns that it was off, of end - start */
	int number; /* 0: the rank's first program; n: the n-th that was recorded since, of those that this process executed */
	const struct sonde_trace_exec *executed; /* by this process, which is another program since; NULL: nothing */
	bool left_out; /* by sonde_trace_open_some(): the process @pid is not there, other processes are */
	uint64_t max_size; /* not 0: of each thread the newest events were kept, those of all in so many bytes */
	size_t node; /* 0, ...: parts that were recorded on one machine have the same */
	enum sonde_trace_clock clock;
	uint64_t clock_error; /* ns: the largest of sonde_trace_clock_error() */
};

/* --- opening ----------------------------------------------------------------------------- */

/*
 * Opens the trace in @dir, all ranks and programs of it.  All metadata and all indexes are read, no events.
 * A damaged or unfinished trace opens as long as its metadata begins properly.
 * On failure *@out is NULL and @why, unless NULL, says why.
 * Errors: E_SYSTEM, E_NOMEM, E_NOTRACE, E_VERSION, E_CORRUPT (metadata), E_TRUNCATED (metadata
 * without a first line).
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_open(const char *dir, struct sonde_trace **out, struct sonde_trace_message *why);

/*
 * Opens anew some processes of an opened trace: those that @want is true for.  It is asked for each process of each program,
 * often more than once, and sees of @program what sonde_trace_rank() gives.  Programs without such a process are not there, their
 * functions included; what is of the program as a whole (modules, objects, problems) is there if one process of it is.  Times are
 * still since the start of @all.
 * On failure *@out is NULL and @why, unless NULL, says why.
 * Errors: as sonde_trace_open(); E_NOTRACE also if no process is wanted.
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_open_some(const struct sonde_trace *all,
		      bool (*want)(const struct sonde_trace_rank *program, int pid, void *arg), void *arg,
		      struct sonde_trace **out, struct sonde_trace_message *why);

/* Frees the trace; its iterators must have been freed before.  NULL is allowed. */
SONDE_TRACE_API void sonde_trace_close(struct sonde_trace *trace);

/*
 * Ranks and programs that are left out because their metadata cannot be read (as long as there is another): how
 * many, and about the last one in words (NULL allowed; "" when there is none).
 */
SONDE_TRACE_API size_t sonde_trace_bad_ranks(const struct sonde_trace *trace, const char **text);

/* --- metadata: number of things, and the thing with an index (NULL when out of range) -------- */

SONDE_TRACE_API size_t sonde_trace_ranks(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_rank *sonde_trace_rank(const struct sonde_trace *trace,
								size_t index);
SONDE_TRACE_API size_t sonde_trace_processes(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_process *
sonde_trace_process(const struct sonde_trace *trace, size_t index);
SONDE_TRACE_API size_t sonde_trace_execs(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_exec *sonde_trace_exec(const struct sonde_trace *trace, size_t index);
SONDE_TRACE_API size_t sonde_trace_threads(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_thread *sonde_trace_thread(const struct sonde_trace *trace,
								    size_t index);
SONDE_TRACE_API size_t sonde_trace_modules(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_module *sonde_trace_module(const struct sonde_trace *trace,
								    size_t index);
SONDE_TRACE_API size_t sonde_trace_objects(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_object *sonde_trace_object(const struct sonde_trace *trace,
								    size_t index);
SONDE_TRACE_API size_t sonde_trace_functions(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_function *
sonde_trace_function(const struct sonde_trace *trace, size_t index);
SONDE_TRACE_API size_t sonde_trace_counters(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_counter *
sonde_trace_counter(const struct sonde_trace *trace, size_t index);

/* What is at @address in a process of that rank; NULL: the trace does not tell. */
SONDE_TRACE_API const struct sonde_trace_code *sonde_trace_code(const struct sonde_trace *trace, size_t rank_index,
								uint64_t address);

/* Sites of all ranks, by a running index; sonde_trace_site.id is not this index. */
SONDE_TRACE_API size_t sonde_trace_sites(const struct sonde_trace *trace);
SONDE_TRACE_API const struct sonde_trace_site *sonde_trace_site(const struct sonde_trace *trace,
								size_t index);

/* --- events ------------------------------------------------------------------------------ */

struct sonde_trace_value {
	const char *name;
	enum sonde_trace_type type;
	union {
		int64_t i;  /* I32, I64 */
		uint64_t u; /* U32, U64, PTR, BYTES; length of a STR */
		double f;   /* F64 */
	};
	const char *str; /* STR: @u bytes and a NUL (bytes may be NULs too); else NULL */
};

#define SONDE_TRACE_UNWOUND 1u /* a leave that did not happen: longjmp or an exception */
#define SONDE_TRACE_ORPHAN 2u  /* a leave whose enter was not recorded */
#define SONDE_TRACE_AFTER_GAP 4u /* first event after damage: what was open is not known */
#define SONDE_TRACE_TAIL 16u   /* a tail call, see sonde_trace_tail_calls(): an enter by one; a leave after one */
#define SONDE_TRACE_UNREADABLE 8u /* LOST: they were recorded, but the file is damaged or cut off */

/*
 * depth: frames open outside of this one; equal in an enter and its leave.
 * entered: leaves: time of the enter; equals time when that is not known (orphans, after damage).
 * The time of an unwound leave is that of the first event that shows that it is gone.
 * Events that follow damage or a loss may have depths that are too small or too large.
 * waited: how long the thread has waited, before this event, for room to record something, in all since the iterator
 *   began or was moved; no part of the program.  Between two events that is the difference.
 * off: how long recording was switched off before this event, ns since the start of the rank's trace.  Calls that were open
 *   meanwhile may have ended; those that began meanwhile are not recorded.
 */
struct sonde_trace_event {
	uint64_t time;	/* ns since the start of the trace (the earliest rank's) */
	uint64_t ticks; /* the TSC as recorded, 64 bits */
	uint64_t entered;
	uint64_t waited;
	uint64_t off;
	enum sonde_trace_kind kind;
	uint32_t flags;
	uint32_t depth;
	const struct sonde_trace_thread *thread;
	const struct sonde_trace_function *function; /* NULL: LOST, or not in damaged metadata */
	const struct sonde_trace_site *site; /* NULL: LOST, unwound leaves, damaged metadata */
	uint64_t lost;			     /* LOST: how many; 0: not known (damage) */
	size_t nvalues;			     /* site->nfields */
	const struct sonde_trace_value *values;
};

/* How long recording was switched off between two times of a rank, ns. */
SONDE_TRACE_API uint64_t sonde_trace_off(const struct sonde_trace *trace, size_t rank_index, uint64_t from, uint64_t to);

/*
 * Iterates over one thread's events in the order of recording, which is also that of time.
 * Errors: E_SYSTEM, E_NOMEM, E_INVALID.
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_iterate(const struct sonde_trace *trace, size_t thread, struct sonde_trace_iter **out);

/*
 * Iterates over the events of all threads for which @want returns true (all, when NULL), merged in
 * time; events of the same time come in the order of threads.
 * Errors: E_SYSTEM, E_NOMEM.
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_merge(const struct sonde_trace *trace,
		  bool (*want)(const struct sonde_trace_thread *thread, void *arg), void *arg,
		  struct sonde_trace_iter **out);

/*
 * The next event.  Damage does not stop an iteration: an event of kind SONDE_TRACE_LOST takes its
 * place, and reading goes on at the next chunk that is whole.
 * Returns OK, END (and again END from then on), or E_NOMEM, E_SYSTEM, after which only
 * sonde_trace_iter_free() is allowed.
 */
SONDE_TRACE_CHECK enum sonde_trace_status sonde_trace_next(struct sonde_trace_iter *iter,
							   const struct sonde_trace_event **event);

/*
 * Moves the iterator to the chunk that holds @time in each thread, forwards or backwards: the next
 * events may be a little earlier than @time, none at or after it is left out.  Functions of frames
 * that were entered before that chunk are known when they are left, their times are not.
 * Errors: E_SYSTEM, E_NOMEM.
 */
SONDE_TRACE_CHECK enum sonde_trace_status sonde_trace_seek(struct sonde_trace_iter *iter,
							   uint64_t time);

/*
 * A function that ends in a jump to another one (a tail call) is left by that jump, and the other one is entered in its place, at
 * the same depth: that is what was recorded, and what an iterator gives unless @as_calls.  With @as_calls the first
 * one stays open until the other one returns, and is left at the same time, after it.  Where such calls come back to
 * a function that is still open in the same place, all from that one on is left first.  To be
 * called before the first event, or before sonde_trace_seek().
 */
SONDE_TRACE_API void sonde_trace_tail_calls(struct sonde_trace_iter *iter, bool as_calls);

/*
 * What was found damaged in what this iterator has read so far: number of places, and the last
 * finding in words (NULL allowed; "" when there was none).  That a file has no end is no damage.
 */
SONDE_TRACE_API uint64_t sonde_trace_damage(const struct sonde_trace_iter *iter, const char **text);

/* NULL is allowed. */
SONDE_TRACE_API void sonde_trace_iter_free(struct sonde_trace_iter *iter);

/* --- memory accesses --------------------------------------------------------------------- */

/* What an access does; SONDE_TRACE_STACK is added where the instruction has no operand for it (push, pop, call, ret). */
enum sonde_trace_access_kind {
	SONDE_TRACE_LOAD = 0,
	SONDE_TRACE_STORE = 1,
	SONDE_TRACE_MODIFY = 2, /* reads and writes */
	SONDE_TRACE_PREFETCH = 3,
	SONDE_TRACE_STACK = 8,
};

struct sonde_trace_access {
	uint64_t address;
	uint32_t size; /* bytes */
	uint8_t kind;  /* enum sonde_trace_access_kind */
	uint8_t reserved[3];
	uint64_t instruction; /* its address in the program */
};

/* Accesses that follow each other. */
struct sonde_trace_batch {
	const struct sonde_trace_access *v;
	size_t n;
	uint64_t ticks; /* the TSC when the part of the stream began that they are from, or that proved that they happened */
	bool was_off;	/* recording was off between these and those before */
};

struct sonde_trace_accesses;

/*
 * Iterates over one thread's memory accesses in the order of the program; its index is that of sonde_trace_thread().
 * What is executed to compute them is made from the trace, in memory of its own; SONDE_MEM_COMPILE=0 in the environment has
 * them interpreted.
 * Errors: E_NOTRACE (none were recorded of this thread), E_INVALID (no such thread), E_SYSTEM, E_NOMEM, E_VERSION, E_CORRUPT,
 * E_TRUNCATED (the descriptions of code, or the beginning of the stream).
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_accesses(const struct sonde_trace *trace, size_t thread, struct sonde_trace_accesses **out);

/*
 * The blocks that one thread executed, in their order: each is an access that loads the block's code, from its first instruction on
 * (`instruction'), as many bytes as it has.  What is said of accesses holds for it.  E_NOTRACE: the order of blocks was not recorded.
 */
SONDE_TRACE_CHECK enum sonde_trace_status
sonde_trace_blocks(const struct sonde_trace *trace, size_t thread, struct sonde_trace_accesses **out);

/*
 * The next ones, which live until the next call.
 * Returns OK, END (and again END from then on), or, with an empty batch, once for each place where accesses are missing because
 * of damage or because they were lost while recording: E_CORRUPT: they go on after that: call again; E_TRUNCATED: nothing
 * follows, END is next.
 */
SONDE_TRACE_CHECK enum sonde_trace_status sonde_trace_accesses_next(struct sonde_trace_accesses *accesses,
								    struct sonde_trace_batch *batch);

/*
 * The file that an instruction is in, and in *@address its address there (not relocated); NULL: not known.  Lives until
 * sonde_trace_accesses_free().
 */
SONDE_TRACE_API const char *sonde_trace_accesses_object(const struct sonde_trace_accesses *accesses,
							uint64_t instruction, uint64_t *address);

/*
 * Where an instruction stands in the program's source, as it was recorded: the program's files are not read.  Addresses are
 * those in the file.
 */
struct sonde_trace_place {
	const char *path;	/* of the file; NULL: not known, then neither is the rest */
	uint64_t address;
	const char *function;	/* as in the symbol table, or "sub_ADDRESS"; NULL: not known */
	uint64_t entry, size;	/* of the function */
	const char *file;	/* source file, as the compiler noted it; NULL: not known */
	int line;
	uint64_t loop;		/* where the innermost loop begins that it is in; 0: in none, or not known */
	unsigned int loop_depth; /* 1: in no other loop */
	const char *loop_file;	/* source line of `loop`; NULL: not known */
	int loop_line;
};

/* Strings live until sonde_trace_accesses_free().  False: nothing is known. */
SONDE_TRACE_API bool sonde_trace_accesses_place(const struct sonde_trace_accesses *accesses, uint64_t instruction,
						struct sonde_trace_place *place);

/* NULL is allowed. */
SONDE_TRACE_API void sonde_trace_accesses_free(struct sonde_trace_accesses *accesses);

/* --- helpers ----------------------------------------------------------------------------- */

/* Nanoseconds since the start of the trace for a TSC value of rank @rank_index. */
SONDE_TRACE_API uint64_t sonde_trace_time(const struct sonde_trace *trace, size_t rank_index,
					  uint64_t ticks);

/*
 * By how many ns the time of @ticks, of this part, may be wrong against times of the first part's node; UINT64_MAX: not known.  That
 * the nodes' clocks ran evenly between two comparisons is taken for granted.
 */
SONDE_TRACE_API uint64_t sonde_trace_clock_error(const struct sonde_trace *trace, size_t rank_index, uint64_t ticks);

/* "i32", ...; "?" for what is none. */
SONDE_TRACE_API const char *sonde_trace_type_name(enum sonde_trace_type type);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_TRACE_H */
