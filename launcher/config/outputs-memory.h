/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What types make of memory accesses. */
#ifndef SONDE_LAUNCHER_CONFIG_OUTPUTS_MEMORY_H
#define SONDE_LAUNCHER_CONFIG_OUTPUTS_MEMORY_H

#include "launcher/cache/cache.h"
#include "launcher/config/outputs.h"
#include "launcher/dump/dump-memory.h"
#include "launcher/memory/alignment.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/names/memnames.h"
#include "launcher/sharing/sharing.h"

struct memory_making;

/* All that can fail: false: no memory.  NULL: nothing is to be done then. */
struct memory_kind {
	bool (*rank)(struct memory_making *k);	/* one begins */
	bool (*begin)(struct memory_making *k, const struct memtrace_thread *t);
	bool (*take)(struct memory_making *k, const struct mt_access *v, size_t n);
	void (*off)(struct memory_making *k);	/* recording was off in between */
	bool (*end)(struct memory_making *k, const struct memtrace_thread *t); /* also after a failure */
	bool (*done)(struct memory_making *k);	/* all threads of the rank have been read */
	void (*print)(struct memory_making *k);
};

struct alignment_row {
	struct alignment sum;
	char *name;		/* of the instruction, and where it is */
};

struct sharing_making {
	struct memnames *names;	  /* of the rank, and: */
	struct sh *sh;
	struct sh_thread *thread;
	struct sharing_rows rows; /* of all ranks */
};

/* Accesses that are chosen by their names; v NULL: none are. */
struct named_making {
	struct memnames *v;	/* of the rank */
	struct nm_thread *thread; /* for the batch at hand */
	uint8_t *wanted;	/* by index of name, of the rank: enum wanted; 0: not looked at */
	size_t room;
	uint64_t ambiguous, untyped; /* accesses that were left out for that */
	bool blocks;		/* those of the heap are known */
};

struct memory_making {
	struct config_making *m;
	const struct memory_kind *kind;
	struct memwhere *where;	/* of the rank */
	const struct mt_read *read;	     /* likewise */
	const struct sonde_trace_rank *rank; /* likewise */
	struct memtrace_time time; /* of the thread, before the batch at hand */
	bool placed;		/* the next is known */
	uint64_t bias;		/* of addresses in the program over those in its file */
	struct mt_access *kept;	/* of a batch: those that are wanted */
	size_t n, room;
	uint64_t taken;		/* of the thread */
	struct named_making named;
	bool any, failed;
	/* address-traces */
	struct dump_memory *dump;
	/* stride, working-set */
	struct memprofile *profile;
	struct memprofile_thread *thread;
	struct memory_rows rows;
	/* cache */
	struct cache_systems systems;
	struct cache_sim *sim;
	struct cache_rows caches;
	/* false-sharing */
	struct sharing_making shared;
	/* alignment: by instruction, of the rank; and rows of all */
	struct alignments alignments;
	struct alignment_row *aligned;
	size_t naligned, aligned_room;
};

/* ---- outputs-named.c; false: no memory ---- */

/* A rank begins; a thread of it, whose accesses have to be read by the copy; a batch of them. */
bool named_rank(struct memory_making *k, struct mt_read *read);
bool named_thread(struct memory_making *k, const struct memtrace_thread *t, struct memtrace_thread *copy);
void named_batch(struct memory_making *k);
/* The thread's next access.  @hidden: it is not wanted anyway. */
bool named_pass(struct memory_making *k, const struct mt_access *a, bool hidden, bool *wanted);
/* What could not be known. */
void named_say(const struct memory_making *k);
void named_end_rank(struct memory_making *k);

/* ---- outputs-alignment.c ---- */

bool alignment_rank(struct memory_making *k);
bool alignment_begin(struct memory_making *k, const struct memtrace_thread *t);
bool alignment_take(struct memory_making *k, const struct mt_access *v, size_t n);
bool alignment_end(struct memory_making *k, const struct memtrace_thread *t);
bool alignment_done(struct memory_making *k);
void alignment_print(struct memory_making *k);
void alignment_free(struct memory_making *k);

/* ---- outputs-sharing.c ---- */

bool sharing_kind_rank(struct memory_making *k);
bool sharing_kind_begin(struct memory_making *k, const struct memtrace_thread *t);
bool sharing_kind_take(struct memory_making *k, const struct mt_access *v, size_t n);
bool sharing_kind_end(struct memory_making *k, const struct memtrace_thread *t);
bool sharing_kind_done(struct memory_making *k);
void sharing_kind_print(struct memory_making *k);
void sharing_kind_end_rank(struct memory_making *k);
void sharing_kind_free(struct memory_making *k);

#endif
