/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What another room adds to a trace while it is written: files beside those of the threads, and what it needs to make
 * them.  The writer keeps both and reports their failures as its own (tracefmt/write/writer.h); it knows nothing of what
 * is in them.
 */
#ifndef SONDE_TRACEFMT_WRITE_EXTRA_H
#define SONDE_TRACEFMT_WRITE_EXTRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/write/outfile.h"
#include "tracefmt/write/writer.h"

/* Of a writer, or of a thread. */
struct tf_extra {
	void *state;			/* the other room's; NULL at first */
	void (*free)(void *state);	/* at the end of the writer, or of the thread, which is before the writer's */
	uint64_t lost;			/* of the writer: tf_writer_memory_discarded(); of a thread: the metadata says it */
};

struct tf_extra *tf_writer_extra(struct tf_writer *w);
struct tf_extra *tf_thread_extra(struct tf_thread *t);
struct tf_writer *tf_thread_writer(const struct tf_thread *t);

/* All zero: not created. */
struct tf_extra_file {
	struct tf_outfile file;
	bool tried;	/* it has been created, or could not be */
	bool broken;	/* takes nothing more */
};

/* Creates it, with a header as that of a thread's file.  A failure is noted, and the file is broken. */
void tf_writer_extra_file(struct tf_writer *w, struct tf_extra_file *f, const char *name, const char *magic,
			  uint32_t version);

/* Likewise; its name is that of the thread's file with @ending for ".sonde".  If there is none nothing is tried. */
void tf_thread_extra_file(struct tf_thread *t, struct tf_extra_file *f, const char *ending, const char *magic,
			  uint32_t version);

/* Appends @n bytes, all or nothing.  False: that is noted, and the file is broken. */
__attribute__((warn_unused_result)) bool tf_extra_append(struct tf_writer *w, struct tf_extra_file *f, const void *data,
							 size_t n);

/* Notes that there is no memory. */
void tf_writer_no_memory(struct tf_writer *w);

/* What a public function returns in the end: a failure noted and not yet reported, or OK. */
enum sonde_trace_status tf_writer_result(struct tf_writer *w);

#endif
