/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks a mirrored function in step with the original: on all ways from wherever control may come in,
 * each instruction has to be the original's, in order, in the arena or at its place; no overwritten
 * byte is run; the entry's probe stands on the way in and an exit's on each way out, and only there.
 */
#ifndef SONDE_TESTS_UNIT_MIRROR_WALK_H
#define SONDE_TESTS_UNIT_MIRROR_WALK_H

#include "trampolines/mirror/mirror.h"

struct mirror_subject {
	const struct tramp_code *code;
	const struct tramp_flow *flow;	/* of the function, as the generator saw it */
	const struct tramp_mirror_request *req;
	uint64_t arena;		/* the object's code runs where the file says */
	const uint8_t *buf;
	const struct tramp_mirror_code *mirror;
	const struct rt_probe_map *probes;
};

/* NULL: all is well; else what is wrong, and at which original or arena address. */
const char *mirror_walk(const struct mirror_subject *subject, uint64_t *where);

#endif
