/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of signatures, read and checked: whatever is reached from here lies within it, and is as sigformat.h says. */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGREAD_H
#define SONDE_INJECTOR_SIGNATURES_SIGREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/signatures/sigformat.h"

struct inj_sig_file {
	char *path;		/* NULL: it is of memory */
	const char *name;	/* the last part of path */
	const struct sig_head *head;
	const struct sig_unit *units;
	const struct sig_func *funcs;
	const struct sig_name *names;
	const struct sig_symbol *symbols;
	const struct sig_entry *index;
	const uint32_t *buckets;
	const uint8_t *refs;
	const char *text;
	size_t nunits, nfuncs, nnames, nsymbols, nindex, nrefs, ntext;
	uint32_t max_len;	/* of a unit */
	/* private */
	void *bytes;
	struct sig_ref *decoded; /* of all units, one after the other */
	uint32_t *first_ref;	/* by unit: in decoded */
};

/* False: *problem is complete after "FILE ", static.  It is closed with inj_sig_close(), whatever came of it. */
bool inj_sig_open(struct inj_sig_file *f, const char *path, const char **problem) __attribute__((warn_unused_result));
void inj_sig_close(struct inj_sig_file *f);

/* The checksum that its head says; only that and the version are looked at. */
bool inj_sig_sum(const char *path, uint64_t *sum, const char **problem) __attribute__((warn_unused_result));

/* The same of memory, aligned to 8, that stays there.  @sum: the checksum has to be right.  Likewise to be closed. */
bool inj_sig_from(struct inj_sig_file *f, const void *bytes, size_t len, bool sum, const char **problem) __attribute__((warn_unused_result));

/* The u->nrefs references of a unit. */
const struct sig_ref *inj_sig_refs(const struct inj_sig_file *f, const struct sig_unit *u);

/* Units of a key, *n of them; NULL: none. */
const struct sig_entry *inj_sig_find(const struct inj_sig_file *f, uint32_t key, size_t *n);

#endif
