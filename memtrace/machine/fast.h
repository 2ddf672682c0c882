/* SPDX-License-Identifier: MIT */
/*
 * Between the loop that runs whole nodes (machine/fast.c) and an engine that runs some of them faster
 * (memtrace/compile.h).
 */
#ifndef SONDE_MEMTRACE_MACHINE_FAST_H
#define SONDE_MEMTRACE_MACHINE_FAST_H

#include "memtrace/machine/state.h"

struct mt_fast_state {
	const struct mt_node *node;	/* that comes next; NULL: a header does */
	const uint8_t *words;
	struct mt_access *v;
	const struct mt_node *tried;	/* this loop has been run as far as it can be computed */
	const struct mt_node *avoid;	/* has to be looked at closely */
	const struct mt_object *object;	/* of the last header */
	uint64_t sums[2], fuel;
	unsigned int summed;		/* the weight of what is in sums */
	bool reserve;			/* something has to follow after a node's words */
	bool stopped;			/* whole nodes cannot be run any more */
	uint64_t left;			/* nodes and loops until it returns */
};

/*
 * What it does to machine, sink and state is what mt_fast_nodes() would do.
 */
struct mt_engine {
	/* Until state->stopped, or sink->enough. */
	void (*run)(struct mt_engine *engine, struct mt_machine *m, struct mt_sink *sink,
		    struct mt_fast_state *state);
	void (*free)(struct mt_engine *engine); /* of that which belongs to a struct mt_code */
};

/* The node of an id; NULL: none.  *@last: the object of the last one. */
static inline const struct mt_node *
mt_fast_find(const struct mt_code *code, const struct mt_object **last, uint32_t id)
{
	const struct mt_object *object = *last;

	if (object && id - object->first < object->nnodes)
		return &object->nodes[id - object->first];
	for (object = __atomic_load_n(&code->objects, __ATOMIC_ACQUIRE); object; object = object->next) {
		if (id - object->first < object->nnodes) {
			*last = object;
			return &object->nodes[id - object->first];
		}
	}
	return NULL;
}

/* Runs up to @max nodes and loops; sets stopped. */
void mt_fast_nodes(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s, uint64_t max);

#endif
