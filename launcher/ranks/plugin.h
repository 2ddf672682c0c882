/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of MPI analysis ranks need: the launcher itself is not linked with an MPI library.  There is a shared object for each MPI that
 * was found when Sonde was built, which has this as `sonde_ranks_plugin'.  All functions but begin() are called by one thread.
 */
#ifndef SONDE_LAUNCHER_RANKS_PLUGIN_H
#define SONDE_LAUNCHER_RANKS_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#define RANKS_PLUGIN_VERSION 1u

struct ranks_plugin {
	unsigned int version;
	/* MPI_Init_thread().  False: it failed. */
	bool (*begin)(int *rank, int *size);
	/* To rank 0; returns when @data may be freed. */
	void (*send)(const void *data, size_t n);
	/* From a rank, what it has sent next: malloc'ed; NULL: no memory. */
	void *(*receive)(int from, size_t *n);
	/* MPI_Finalize(), when all ranks have come here. */
	void (*end)(void);
};

#endif
