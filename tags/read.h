/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the section .sonde.tags (format.h): which instructions access what of the source.  Nothing in it is trusted. */
#ifndef SONDE_TAGS_READ_H
#define SONDE_TAGS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tags/format.h"

/* Of the instructions in [begin, end), link-time addresses: usually one, maybe after padding.  Strings are never NULL. */
struct tag {
	uint64_t begin, end;
	const char *function;	/* in the source */
	const char *expr;	/* "": none; the variable may be known */
	const char *variable, *type, *file; /* "": not known */
	struct tags_fact fact;
};

struct tags {
	struct tag *v;		/* ascending by begin */
	size_t n;
	uint32_t version;	/* after TAGS_OTHER_VERSION: the one that there is */
};

enum tags_status {
	TAGS_OK,
	TAGS_OTHER_VERSION,
	TAGS_DAMAGED,		/* what came before the damage is in *tags */
	TAGS_MEMORY,
};

/*
 * The section's bytes have to stay where they are until tags_free(), which is due whatever is returned.
 */
enum tags_status tags_read(const uint8_t *section, size_t size, struct tags *tags) __attribute__((warn_unused_result));
void tags_free(struct tags *tags);

/* Those of the instruction at [addr, addr + len): *n of them beside each other; NULL: none. */
const struct tag *tags_find(const struct tags *tags, uint64_t addr, uint64_t len, size_t *n);

/* "spilled register": what a kind of access that has no expression in the source is; "" for TAGS_VARIABLE. */
const char *tags_kind_text(uint32_t kind);

#endif
