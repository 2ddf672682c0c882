/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes of a program's code and data.  A session has one list of all that are in place, in the order in which
 * they were made; each batch of changes goes in as a whole or not at all, and they are undone in reverse.
 *
 * Memory is read and written by pages, since each access to another process's memory costs far more than the
 * bytes in it.
 */
#ifndef SONDE_INJECTOR_PATCH_EDITS_H
#define SONDE_INJECTOR_PATCH_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/process/target.h"

#define INJ_EDIT_MAX 19
#define INJ_EDIT_NONE UINT32_MAX

/* Who may need it when nothing is recorded any more: it is undone when nobody does. */
enum inj_edit_needed {
	INJ_EDIT_BY_NOBODY,
	INJ_EDIT_BY_HANDLERS, /* of signals, which have interrupted a copy */
	INJ_EDIT_BY_WRAPPERS, /* that an exception is to pass */
};

struct inj_edit {
	uint64_t addr;	 /* in the program */
	uint32_t object; /* index of the object that it lies in; INJ_EDIT_NONE: none that can be unloaded */
	uint32_t owner;	 /* which mirrored function it belongs to; INJ_EDIT_NONE: to none */
	uint8_t len;	 /* 1..INJ_EDIT_MAX */
	uint8_t needed;	 /* enum inj_edit_needed */
	uint8_t bytes[INJ_EDIT_MAX];
	uint8_t was[INJ_EDIT_MAX];
};

/* A list that grows; all zero at first. */
struct inj_edits {
	struct inj_edit *v;
	size_t n, room;
};

/* Makes @e, whose address is given, a jump of five bytes to @to over @was; it belongs to no function. */
void inj_edit_jump(struct inj_edit *e, const uint8_t *was, uint64_t to);

enum inj_status inj_edits_add(struct inj_edits *e, const struct inj_edit *edit) INJ_CHECK;
enum inj_status inj_edits_append(struct inj_edits *e, const struct inj_edits *more) INJ_CHECK;
void inj_edits_free(struct inj_edits *e);

/* ---- a batch: edits that do not overlap ---- */

/* By address: what the functions below do is quicker then. */
void inj_edits_sort(struct inj_edits *batch);

/* Calls @differs for each edit whose bytes in memory are not what they are thought to be.  Nothing is written. */
enum inj_status inj_edits_check(struct inj_target *t, const struct inj_edits *batch,
				void (*differs)(void *arg, const struct inj_edit *edit), void *arg)
	INJ_CHECK;

/*
 * Writes a batch and appends it to @placed.  On an error what was written is taken out again, and @placed is as it
 * was.  Errors: those of the target, MEMORY.
 */
enum inj_status inj_edits_apply(struct inj_target *t, struct inj_edits *placed, const struct inj_edits *batch)
	INJ_CHECK;

/* ---- what is in place ---- */

/* Undoes all but the first @keep, the last one first; what cannot be written any more stays. */
void inj_edits_undo(struct inj_target *t, struct inj_edits *placed, size_t keep);

/* The object's memory is gone, and what was changed there. */
void inj_edits_forget(struct inj_edits *placed, size_t object);

/* Is any byte of those changed? */
bool inj_edits_touch(const struct inj_edits *e, uint64_t addr, uint64_t len);

/* @bytes, read from memory at @addr: as they were before all edits. */
void inj_edits_original(const struct inj_edits *placed, uint64_t addr, uint8_t *bytes, uint64_t len);

#endif
