/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that a process which stands under ptrace executes in a row: it stops once, not once for each.
 *
 *	inj_batch_begin()
 *	inj_batch_put()		memory that they need
 *	inj_batch_add()		one call; inj_batch_use(): an argument of it is what an earlier one returned
 *	inj_batch_run()		all are executed, whatever becomes of each
 */
#ifndef SONDE_INJECTOR_PROCESS_BATCH_H
#define SONDE_INJECTOR_PROCESS_BATCH_H

#include "injector/process/target.h"

#define INJ_BATCH_CALLS 24
#define INJ_BATCH_DATA 1024u
#define INJ_BATCH_USES 3 /* of what one call returned */

struct inj_batch {
	struct {
		/* as the process sees it; the result takes the number's place */
		uint64_t nr, args[6], uses[INJ_BATCH_USES];
	} calls[INJ_BATCH_CALLS];
	uint8_t data[INJ_BATCH_DATA];
	size_t n, ndata;
	uint64_t at; /* where all this is in the process */
};

/* NOT_SUPPORTED: the process does not stand under ptrace. */
enum inj_status inj_batch_begin(struct inj_target *t, struct inj_batch *b) INJ_CHECK;

/* Where these bytes will be in the process, at a multiple of 8; what is there afterwards is at inj_batch_data(). */
uint64_t inj_batch_put(struct inj_batch *b, const void *bytes, size_t len);
const void *inj_batch_data(const struct inj_batch *b, uint64_t addr);

/* Its number. */
size_t inj_batch_add(struct inj_batch *b, long nr, const uint64_t args[6]);
/* Argument @arg of call @user is what @call, which is before it, returned. */
void inj_batch_use(struct inj_batch *b, size_t call, size_t user, size_t arg);

/*
 * After INJ_OK all have been executed.  After anything else but GONE it is not known which have been.  What is around the stack
 * pointer of the process is as before, what is below it is not.
 */
enum inj_status inj_batch_run(struct inj_target *t, struct inj_batch *b) INJ_CHECK;

/* The kernel's: negative errno on failure. */
int64_t inj_batch_result(const struct inj_batch *b, size_t call);

#endif
