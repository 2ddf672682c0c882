/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde export`: a trace in the formats that other tools read.
 *
 *	export.c          the verb: which events of which trace, into which file
 *	export-read.c     the events of all threads that were asked for
 *	export-calls.c    one thread's events as calls that are properly nested, whatever is missing
 *	export-processes.c   a number and a name for each
 *	export-messages.c   MPI's messages and collective operations, for formats that have them
 *	export-texts.c    texts that have numbers
 *	chrome.c, csv.c, ctf.c, otf2.c, perfetto.c, speedscope.c   formats made of single calls
 *	ctf-metadata.c    what ctf says of its events
 *	otf2-mpi.c, otf2-openmp.c   what otf2 has of these
 *	callgrind.c       a format made of call paths; another one, folded, is graph's own
 *	callgrind-lines.c   the same format by source line: callgrind.h
 */
#ifndef SONDE_LAUNCHER_EXPORT_EXPORT_H
#define SONDE_LAUNCHER_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/common/output.h"
#include "launcher/trace/pick.h"
#include "sonde/trace.h"
#include "tracefmt/buffer.h"

#define EXPORT_NAME_MAX 512 /* bytes of a name with a place; longer ones go without */

/* An open call. */
struct export_open {
	const struct sonde_trace_function *function; /* NULL: not in damaged metadata */
	const struct sonde_trace_site *site;	     /* of the entry, or NULL */
	uint64_t entered;			     /* ns since the start of the trace */
	uint32_t depth;				     /* from the reader */
};

/* A message that begins, or ends, in a call. */
struct export_flow {
	uint64_t number;
	bool ends;
};

struct export_thread {
	struct export_open *open; /* the outermost first */
	size_t n, room;
	struct export_flow *flows; /* of the event that comes next */
	size_t nflows, flows_room;
	uint64_t last; /* time of the last event */
};

/* Processes of different hosts may have the same pid, and one whose pid was used again, too. */
struct export_process {
	int id;	    /* its pid, or a number that is no other one's here */
	size_t first; /* index of its first thread */
	char *name; /* "solve 1234", "rank 3 solve 1234", "sh, solve 1234" if it was several programs */
};

/* How a call's end came. */
enum export_how {
	EXPORT_RETURNED,
	EXPORT_UNWOUND, /* longjmp() or an exception */
	EXPORT_OPEN,	/* it had not come when events went missing, or at the end of what is exported */
};

struct mpi_reader;
struct mpi_fact;
struct mpi_message;

struct export {
	const struct sonde_trace *trace;
	const struct export_format *format;
	const bool *wanted;	/* functions, by index; NULL: all */
	bool mangled;
	FILE *out;
	struct tf_buf buf;	/* what is not yet in @out */
	char **quoted;		/* by function: its name as JSON; NULL: not yet asked for */
	struct export_process *process; /* the threads' */
	size_t nprocesses;
	struct export_process **of;	/* by thread */
	struct export_thread *thread; /* by index */
	struct mpi_reader *mpi; /* NULL: no messages */
	uint64_t from;		/* nothing earlier is exported */
	uint64_t seen, threads;	/* what a format counts, for commas */
	uint8_t *marked;	/* by function: a format's own mark */
	uint64_t cut;		/* calls whose end is not known */
	void *private;		/* of a format that writes a folder */
	bool failed;		/* writing has; the message is out */
	int why;		/* errno: @out could not be written; or 0 */
};

/*
 * A format made of single calls.  What a function writes goes into x->buf.  Times are ns since the start of the trace; of one thread
 * they never go back, calls are properly nested, and each enter() has its leave().  Any function but enter() and leave() may be NULL.
 */
struct export_format {
	const char *name;
	bool by_thread; /* one thread after the other; else all by time */
	bool binary;
	/* A folder, by the format itself, in place of x->buf.  False after a message; close_folder() is called in any case. */
	bool (*open_folder)(struct export *x, const char *path);
	bool (*close_folder)(struct export *x, bool keep);
	void (*begin)(struct export *x);
	void (*thread)(struct export *x, const struct sonde_trace_thread *t); /* its calls follow */
	void (*enter)(struct export *x, const struct sonde_trace_event *ev);
	/* Of @call, whose place is the last of its thread; @ev: NULL where it did not return. */
	void (*leave)(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		      enum export_how how, const struct sonde_trace_event *ev);
	void (*point)(struct export *x, const struct sonde_trace_event *ev);
	/* Of MPI, see launcher/mpi/mpi.h: within the call.  With one of these, or flows, calls come by time where there is MPI. */
	void (*fact)(struct export *x, const struct sonde_trace_event *ev, const struct mpi_fact *fact);
	void (*message)(struct export *x, const struct mpi_message *m);
	bool flows; /* it takes those of struct export_thread; they are there before the event */
	void (*lost)(struct export *x, const struct sonde_trace_event *ev);
	void (*thread_end)(struct export *x, const struct sonde_trace_thread *t);
	void (*end)(struct export *x);
};

extern const struct export_format export_chrome, export_csv, export_ctf, export_otf2, export_perfetto, export_speedscope;

/* Reads the events that @pick wants, with @reading begun, for @x, and counts in @damage the places that were found damaged. */
struct export_reader {
	struct export x;
	struct pick *pick;
	struct reading reading;
	uint64_t damage;
};

/*
 * x->trace, format, wanted, mangled and from are the caller's to set.  Returns 0, or an exit status after a message; to be
 * ended in any case.
 */
int export_begin(struct export *x) __attribute__((warn_unused_result));
void export_end(struct export *x);
/* Returns 0, or an exit status after a message.  x->out: where x->buf goes; NULL: the format puts nothing there. */
int export_read(struct export_reader *r) __attribute__((warn_unused_result));

/* Gives the format what the event means.  False: no memory. */
bool export_event(struct export *x, const struct sonde_trace_event *ev) __attribute__((warn_unused_result));
/* Ends what is open in that thread. */
void export_thread_end(struct export *x, const struct sonde_trace_thread *t);

/* Is the trace to be read with its messages?  They are left out where functions are chosen.  False: no memory. */
bool export_messages_begin(struct export *x) __attribute__((warn_unused_result));
/* What an event says of messages.  False: no memory. */
bool export_messages(struct export *x, const struct sonde_trace_event *ev) __attribute__((warn_unused_result));
void export_messages_end(struct export *x);

/* Names for all formats. */
const char *export_name(const struct export *x, const struct sonde_trace_function *f);
/* "omp parallel solve.c:120": of an entry that tells where in the code it is.  False: it does not. */
bool export_name_with_place(const struct export *x, const struct sonde_trace_event *ev, char *text, size_t size);
/* In quotes, as JSON; lives as long as @x. */
const char *export_quoted(struct export *x, const struct sonde_trace_function *f);
const char *export_module(const struct sonde_trace_site *site); /* "" for what Sonde itself recorded */

/* Texts that are numbered from 0 as they come: a hash table. */
struct export_text {
	char *s; /* NULL: a free slot */
	uint32_t number;
};

struct export_texts {
	struct export_text *v;
	size_t n, room;
};

/* The number of a text.  Without memory x->buf has failed. */
uint32_t export_text(struct export *x, struct export_texts *t, const char *s);
void export_texts_free(struct export_texts *t);

/* Fills in the processes.  False: no memory. */
bool export_processes(struct export *x) __attribute__((warn_unused_result));
void export_processes_free(struct export *x);
const char *export_host(const struct export *x, const struct export_process *p);

/* @v / 10^3 and the rest as a decimal fraction; and a plain number. */
void export_put_us(struct tf_buf *b, uint64_t ns);
void export_put_number(struct tf_buf *b, uint64_t v);
/* A value as JSON. */
void export_put_value(struct tf_buf *b, const struct sonde_trace_value *v);

/* A format made of call paths. */
struct graph_tree;
void export_callgrind(const struct export *x, const struct graph_tree *tree);
/* @before and a text, in which control characters would end the line. */
void export_callgrind_text(FILE *out, const char *before, const char *text);
/* The line that says what was run.  NULL: none. */
void export_callgrind_command(const struct sonde_trace_rank *first, FILE *out);

#endif
