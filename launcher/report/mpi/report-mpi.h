/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde report --mpi`: what the module mpi has recorded, by call and rank, and who sent to whom.
 *
 * What a call waited for other processes, of the time from its entry to its return:
 *
 *	late sender	it receives, and the message was not sent when it began: until the send began
 *	late receiver	it sends, and no receive was posted when it began: until one was, if it was not back by then
 *	barriers, collectives	until the last process had come whose data, or coming, it needs: of those to all, all;
 *			of those from a root, the root; the root of those to it, all.  Not of operations that do not block, among
 *			neighbours, of prefixes (Scan), or between groups.
 *
 * Of several messages in one call, as in MPI_Waitall, the longest counts.  The terms are Scalasca's.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_MPI_H
#define SONDE_LAUNCHER_REPORT_REPORT_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/mpi/mpi.h"

enum report_mpi_wait { MPI_LATE_SENDER, MPI_LATE_RECEIVER, MPI_AT_BARRIERS, MPI_AT_COLLECTIVES, MPI_WAITS };

/* Times in ns, amounts in bytes. */
struct report_mpi_row {
	int rank; /* -1: without MPI, or of all ranks */
	const struct sonde_trace_function *function;
	uint64_t calls, time, sent, received, wait[MPI_WAITS];
};

/* What @from has sent to @to, in MPI_COMM_WORLD. */
struct report_mpi_pair {
	int from, to;
	uint64_t messages, bytes;
};

struct report_mpi {
	struct report_mpi_row *row;
	size_t nrows, rows_room;
	struct report_mpi_pair *pair;
	size_t npairs, pairs_room;
	size_t *row_of, *pair_of; /* hash tables of 1 + index */
	size_t row_slots, pair_slots;
	uint64_t messages, bytes; /* of all pairs */
	size_t ranks, communicators;
	uint64_t unknown; /* calls whose communicator is not known */
	uint64_t unreceived;
	uint64_t backward;    /* messages that arrive before they were sent: the clocks of their nodes differ ... */
	uint64_t backward_ns; /* ... by this, at least */
	uint64_t lost;
	bool damaged;
};

struct report_mpi_request {
	bool (*want)(const struct sonde_trace_thread *thread, void *arg); /* whose rows are shown; all are read */
	void *arg;
};

/* Reads the trace.  Returns 0, or EXIT_USAGE after a message: it cannot be read, or has nothing of MPI. */
int report_mpi_read(struct report_mpi *r, const struct sonde_trace *trace, const char *dir, const struct report_mpi_request *q)
	__attribute__((warn_unused_result));
void report_mpi_free(struct report_mpi *r);

uint64_t report_mpi_waited(const struct report_mpi_row *row);

void report_mpi_text(struct report_mpi *r, uint64_t limit);
void report_mpi_csv(struct report_mpi *r, uint64_t limit);
void report_mpi_json(struct report_mpi *r, uint64_t limit);

#endif
