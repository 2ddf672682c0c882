/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many small changes of a program's code at once: by pages, since each access to another process's memory
 * costs far more than the bytes in it.
 */
#ifndef SONDE_INJECTOR_PATCH_EDITS_H
#define SONDE_INJECTOR_PATCH_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/process/target.h"

#define INJ_EDIT_MAX 15

struct inj_edit {
	uint64_t addr;	/* in the program */
	uint32_t owner; /* the caller's: which function it belongs to */
	uint8_t len;	/* 1..INJ_EDIT_MAX */
	uint8_t bytes[INJ_EDIT_MAX];
	uint8_t was[INJ_EDIT_MAX];
};

/* A list that grows; all zero at first. */
struct inj_edits {
	struct inj_edit *v;
	size_t n, room;
};

enum inj_status inj_edits_add(struct inj_edits *e, const struct inj_edit *edit) INJ_CHECK;
void inj_edits_free(struct inj_edits *e);

/* By address; the functions below want it so. */
void inj_edits_sort(struct inj_edits *e);

/*
 * Calls @differs for each edit (@from and later ones) whose bytes in memory are not what they are
 * thought to be.  Nothing is written.
 */
enum inj_status inj_edits_check(struct inj_target *t, const struct inj_edits *e, size_t from,
				void (*differs)(void *arg, const struct inj_edit *edit), void *arg)
	INJ_CHECK;

/* Writes edits @from and later.  On an error what was written is taken out again. */
enum inj_status inj_edits_apply(struct inj_target *t, const struct inj_edits *e, size_t from)
	INJ_CHECK;

/* Writes back what was there before edits @from and later; as far as possible. */
void inj_edits_undo(struct inj_target *t, const struct inj_edits *e, size_t from);

#endif
