/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's file while it is read: where its chunks are, and the bytes of one of them.  The
 * file is open only during a call: traces of thousands of threads are merged.
 */
#ifndef SONDE_TRACEFMT_READ_INFILE_H
#define SONDE_TRACEFMT_READ_INFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/pack.h"

/* A chunk, or a place where one is missing. */
struct tf_chunk_ref {
	uint64_t offset;
	uint32_t size; /* with header; 0: missing */
	uint32_t events; /* of a missing one: 0 when not known */
	uint64_t first; /* ticks; of a missing one: 0 when not known */
	uint64_t last;
	uint64_t depth;
};

struct tf_infile {
	char *path;
	int kept; /* its descriptor; -1: opened again each time */
	uint64_t inode;
	uint64_t size;
	struct tf_chunk_ref *chunk;
	size_t nchunks;
	size_t room;
	uint64_t bad; /* places where chunks are missing */
	bool indexed;
	bool header_valid; /* pid, tid, rank, trace are known */
	int pid;
	int tid;
	int rank;
	uint64_t trace;
	enum sonde_trace_status status; /* OK, E_TRUNCATED, E_CORRUPT, E_NOTRACE, E_VERSION */
};

/*
 * Reads header and index, or looks for the chunks when there is no index.  @path is copied.  With @keep, and as long as not many are
 * open, the file stays open: another one may take its place.
 * Errors: E_SYSTEM, E_NOMEM.  All else is in f->status, and what can be read is in the list.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_infile_open(struct tf_infile *f, const char *path,
									   bool keep);

/*
 * Reads chunk @i: its header to *info, its body to @body.
 * Errors: E_SYSTEM, E_NOMEM, E_CORRUPT (*why says what), E_TRUNCATED.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_infile_read(const struct tf_infile *f, size_t i, struct tf_chunk_info *info,
	       struct tf_buf *body, const char **why);

void tf_infile_free(struct tf_infile *f);

#endif /* SONDE_TRACEFMT_READ_INFILE_H */
