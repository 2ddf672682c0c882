/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_ANALYSIS_CACHE_SIMULATE_PRIVATE_H
#define SONDE_ANALYSIS_CACHE_SIMULATE_PRIVATE_H

#include "analysis/cache/cores.h"
#include "analysis/cache/simulate.h"

#include <pthread.h>

#define CACHE_PIECE 1024u  /* accesses that go through streams at a time: they and what is made of them stay in the processor's first cache */
#define CACHE_ROUND 65536u /* what is left of them that goes through chains at a time */
#define CACHE_NO_NODE UINT32_MAX

struct insn {
	uint64_t insn;
	uint64_t n[MD_KIND + 1]; /* accesses by kind */
};

/* Some instructions, by their lowest bits. */
#define RECENT 4096
struct recent {
	uint64_t insn;
	uint32_t index;
	bool valid;
};

/* How a system is sampled, or its TLBs are; all 0: not. */
struct part {
	uint64_t groups, one_in;
	unsigned int unit;
};

struct node {
	const struct cache_level *levels; /* of the first system that has it */
	struct cache_chain chain;
	uint32_t before; /* a node with a smaller index; CACHE_NO_NODE: a stream */
	uint32_t stream; /* of the first one before it */
	struct part part;
	/*
	 * Policy OPT: what it was asked for, until all is known; and of each, the index + 1 of the next one for its line, 0: none.
	 */
	struct cache_requests held;
	uint32_t *coming;
	bool tlb;
	struct cache_count *counts; /* by instruction, then level */
	size_t room;
};

/* Where a system's level is. */
struct place {
	uint32_t node;
	unsigned int level; /* of the chain */
};

struct system {
	unsigned int n;
	struct place place[CACHE_LEVELS];
	/* In place of these: */
	const struct cache_system *what;
	struct cache_cores *cores; /* NULL: it has none */
	struct cache_count *counts; /* by instruction, then level */
	size_t room;
};

/* Accesses that go through streams at a time. */
struct piece {
	size_t n, nsome;
	struct cache_access v[CACHE_PIECE];    /* all */
	struct cache_access some[CACHE_PIECE]; /* in order, those that streams that leave out groups may want */
};

/* What streams that leave out groups of sets want: by groups that are parts of theirs, of the smallest unit that one has. */
struct wanted {
	uint8_t *group;		  /* does any want it?  NULL: there is no such stream */
	uint64_t mask;		  /* groups - 1 */
	unsigned int unit, shift; /* the smallest */
};

/* A node of a round. */
enum task_state { TASK_WAITS, TASK_RUNS, TASK_DONE };
struct task {
	enum task_state state;
	unsigned int slot; /* of who did it last: what it needs may still be in that processor's caches */
};

/* What several threads do with what is left of some accesses. */
struct round {
	pthread_mutex_t lock;	/* for all that follows */
	pthread_cond_t changed; /* some task is done */
	struct task *tasks;	/* for each node one */
	size_t waiting;		/* tasks */
	bool failed;
	bool begun;		/* and not finished */
	void *help;		/* what crew->begin() has returned */
};

struct cache_sim {
	struct round *round; /* NULL: one thread does all */
	struct piece piece;  /* that is filled */
	struct wanted wanted;
	struct insn *insns;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	struct recent recent[RECENT];
	struct node *nodes;
	struct cache_stream *streams; /* for each node there is room for one */
	uint32_t nnodes, nstreams;
	struct cache_sim_options o;
	size_t nsystems;
	size_t thread;
	struct system systems[];
};

/* Notes an instruction, which may be new, as a recent one.  False: no memory. */
bool cache_find_insn(struct cache_sim *sim, uint64_t insn, struct recent *r) __attribute__((warn_unused_result));

/* Lines that follow one another in a chain are of the size of the last one's. */
unsigned int cache_node_unit(const struct node *node);

/* ---- rounds.c; false: no memory, as in simulate.h ---- */

/* What is in sim->piece goes through all streams; it is empty then. */
bool cache_round_piece(struct cache_sim *sim) __attribute__((warn_unused_result));
/* Is there enough in streams for nodes to begin? */
bool cache_round_full(const struct cache_sim *sim);
/* What streams have goes through all nodes. */
bool cache_round_run(struct cache_sim *sim) __attribute__((warn_unused_result));

/* Where several do it: room for that. */
bool cache_round_new(struct cache_sim *sim) __attribute__((warn_unused_result));
void cache_round_free(struct cache_sim *sim);
/* The same, by several threads; the caller fills streams anew meanwhile. */
bool cache_round_begin(struct cache_sim *sim) __attribute__((warn_unused_result));
/* It has gone through all nodes when this returns; the caller does its part. */
bool cache_round_finish(struct cache_sim *sim) __attribute__((warn_unused_result));

/* What waits until all is known. */
bool cache_round_last(struct cache_sim *sim) __attribute__((warn_unused_result));

#endif
