/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams in a trace: files beside those of the threads.  What is in them is memtrace/description.h's: here
 * it is bytes that are packed, hashed and found again.
 *
 *	code.memory		descriptions of instrumented objects, one after another
 *	code.places		what their code is called (memtrace/pack/places.h)
 *	PID.TID.memory		a thread's stream, chunk by chunk (PID.TID.N.memory if PID.TID.N.sonde)
 *
 * Damage costs what is damaged, is reported, and never crashes the reader.
 */
#ifndef SONDE_MEMTRACE_PACK_FILES_H
#define SONDE_MEMTRACE_PACK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/write/writer.h"

/* ---- writing; errors as in tracefmt/write/writer.h ---- */

/* An object of the program with instrumented code.  Everything is copied. */
struct mt_files_object {
	const char *path;
	uint32_t object;	/* its file's number: of struct tf_object */
	uint64_t base;		/* struct md_object: address of offset 0 */
	uint64_t load;
	uint32_t first;		/* id of its first node */
	uint32_t nnodes, nops;
	const void *nodes;	/* struct md_node[nnodes] */
	const void *ops;	/* struct md_op[nops] */
};

/*
 * Before the first chunk that needs it.  An object may come in several parts, as its functions are instrumented.  E_INVALID:
 * it is larger than TF_MAX_RAW, and is not written.
 */
TF_CHECK enum sonde_trace_status mt_write_object(struct tf_writer *w,
						 const struct mt_files_object *object);

/*
 * Appends one chunk of the thread's stream (struct md_chunk and what follows), at most TF_MAX_RAW bytes.  The memory may be
 * written to by the program meanwhile; nothing in it is trusted.  Packed and written at once.  This and mt_write_lost() may
 * be called by several threads at once, for different streams; by no other thread anything else of the writer's meanwhile.
 */
TF_CHECK enum sonde_trace_status mt_write_chunk(struct tf_thread *t, const void *chunk, size_t bytes);

/* So many chunks were not recorded, between the one before and the next. */
TF_CHECK enum sonde_trace_status mt_write_lost(struct tf_thread *t, uint64_t chunks);

/* ---- reading ---- */

struct mt_files;		/* the memory files of one trace directory */
struct mt_stream;		/* one thread's, from its beginning */

/* *@out is NULL with E_NOTRACE if the trace has no memory streams.  @dir: of a rank, as in trace.h. */
TF_CHECK enum sonde_trace_status mt_files_open(const char *dir, struct mt_files **out,
					       struct sonde_trace_message *why);
void mt_files_close(struct mt_files *m);

/* Object @i; false: there are no more.  The strings and arrays live until mt_files_close(). */
bool mt_files_object(const struct mt_files *m, size_t i, struct mt_files_object *object);

/* The id of the trace, which all of its files carry. */
uint64_t mt_files_trace(const struct mt_files *m);

/* Places in the descriptions' file that could not be read. */
uint64_t mt_files_bad_objects(const struct mt_files *m);

struct mt_files_thread {
	int pid, tid;
	uint64_t file_bytes;	/* in the file */
	uint64_t raw_bytes;	/* of the chunks, unpacked */
	uint64_t chunks, bad, lost;
	const char *path;	/* lives until mt_files_close() */
};
bool mt_files_thread(const struct mt_files *m, size_t i, struct mt_files_thread *thread);

TF_CHECK enum sonde_trace_status mt_stream_open(const struct mt_files *m, size_t thread,
						struct mt_stream **out);
/*
 * The next chunk, valid until the next call.  END after the last one; E_CORRUPT: one or more are missing here: start the
 * machine anew at the next one that says all (START, STATE), and go on calling.
 */
TF_CHECK enum sonde_trace_status mt_stream_next(struct mt_stream *s, const void **chunk,
						size_t *bytes);
void mt_stream_close(struct mt_stream *s);

#endif
