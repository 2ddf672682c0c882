/* SPDX-License-Identifier: MIT */
/*
 * Between the loop that runs whole nodes (memexpandfast.c) and an engine that runs some of them in another way, faster
 * (trampolines/memcompile.h).
 */
#ifndef SONDE_TRAMPOLINES_MEMEXPANDFAST_H
#define SONDE_TRAMPOLINES_MEMEXPANDFAST_H

#include "trampolines/memexpandmachine.h"

struct mx_fast_state {
	const struct mx_node *node;	/* that comes next; NULL: a header does */
	const uint8_t *words;
	struct mx_access *v;
	const struct mx_node *tried;	/* this loop has been run as far as it can be computed */
	const struct mx_node *avoid;	/* has to be looked at closely */
	const struct mx_object *object;	/* of the last header */
	uint64_t sums[2], fuel;
	unsigned int summed;
	bool reserve;			/* something has to follow behind a node's words */
	bool stopped;			/* whole nodes cannot be run any more */
	uint64_t turns;			/* nodes and loops until it returns */
};

/*
 * Is one thread's at a time.  What it does to machine, sink and state is what mx_fast_turns() would do.
 */
struct mx_engine {
	/* Until state->stopped, or sink->enough. */
	void (*run)(struct mx_engine *engine, struct mx_machine *m, struct mx_sink *sink,
		    struct mx_fast_state *state);
	void (*free)(struct mx_engine *engine); /* of that which belongs to a struct mx_code */
};

/* The node of an id; NULL: none.  *@last: the object of the last one. */
static inline const struct mx_node *
mx_fast_find(const struct mx_code *code, const struct mx_object **last, uint32_t id)
{
	const struct mx_object *object = *last;

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

/* Runs up to @turns nodes; sets stopped. */
void mx_fast_turns(struct mx_machine *m, struct mx_sink *sink, struct mx_fast_state *s, uint64_t turns);

#endif
