/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places probes in executable memory and runs them in this process, with a pool of their own. */
#ifndef SONDE_TESTS_UNIT_PROBE_RIG_H
#define SONDE_TESTS_UNIT_PROBE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/wrap/machine.h"
#include "trampolines/probe/probe.h"

#define RIG_RECORDS 64
#define RIG_CODE_BYTES 65536
#define RIG_FUNCTIONS 16
#define RIG_SHADOW 8

/* Laid out as the runtime has it. */
struct rig_pool {
	uint64_t owner, ptr, limit, unused[2], self, runtime[6], room, counts, shadow, shadow_end, time, under, watch, watch_far, more[64];
};

struct rig {
	struct rig_pool pool;
	uint64_t records[RIG_RECORDS][2];
	uint64_t counts[RIG_FUNCTIONS];
	uint64_t shadow[RIG_SHADOW][2]; /* the first: frame address ~0 */
	uint8_t choices[RIG_FUNCTIONS];
	struct tramp_probe_code code;
	uint8_t *page;	  /* of RIG_CODE_BYTES, where code can run */
	uint8_t *at;	  /* the probe; after it a ret */
	uint8_t *slow_at; /* its slow path */
	uint64_t *stack;  /* the frame address: rsp before the probe */
	int slow;	  /* times that the gate was called */
	uint64_t slow_frame;
	struct rt_probe_desc desc; /* what the gate was called with */
};

extern struct rig rig;
extern const struct tramp_probe_env rig_env; /* mode RECORD */

/* An open pool, empty, and no records. */
void rig_reset(void);

/* At an address that changes from one to the next. */
void rig_place(const struct tramp_probe_env *env, const struct tramp_probe *probe);

/* All registers and flags at random; rsp is rig.stack. */
void rig_random(struct machine *m);

/* Runs it, with all that is between the frame address and the red zone's end at random. */
void rig_run(struct machine *m);

/* What is live must be as before; the red zone too, unless it is said to be dead. */
void rig_check(const struct tramp_probe *probe, const struct machine *was, const struct machine *is);

/* Record @i is one of @event at the frame address. */
void rig_check_record(int i, uint32_t event);

/* Runs with GS at the pool; rig_run() does it by itself. */
void rig_enter_gs(void);
void rig_leave_gs(void);

uint64_t rig_rand(void);

/* Calls @run for all kinds of live registers and flags, and many at random. */
typedef void (*rig_body)(const struct tramp_probe_env *env, const struct tramp_probe *probe);
void rig_each(const struct tramp_probe_env *env, enum tramp_probe_kind kind, rig_body run);

/* With random registers, checked. */
void rig_once(const struct tramp_probe *probe);

/* Once more: the descriptor is right, all is intact, and nothing is recorded or counted. */
void rig_goes_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe);

#endif
