/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the bytes of a variable or block would be if types were laid out in another way: what a change of the source would do, before
 * anybody makes it.
 *
 * NM_SPLIT takes a member out of a structure: those of all elements of an array stand in an array of their own, and the rest of the structure
 * moves together as a compiler lays it out, each member at its alignment.  NM_SOA makes of an array of structures a structure of arrays, in the
 * array's place: those of all first members, then of all second ones, and so on.
 */
#ifndef SONDE_ANALYSIS_NAMES_LAYOUT_H
#define SONDE_ANALYSIS_NAMES_LAYOUT_H

#include "analysis/names/names.h"

struct nm_change {
	enum { NM_SPLIT, NM_SOA } what;
	const char *type;   /* "particle" or "struct particle"; of a structure without a name, that of the variable */
	const char *member; /* NM_SPLIT: its own, directly in the type */
	bool has_type;	    /* set: a variable or block of the type was there, and: */
	bool done;	    /* something changes */
};

struct nm_layout;

/*
 * Of the variable, as types of debug information say; of a block of the heap, by the pointer that it was put into, else by that of the access which @v
 * is from.  *layout: NULL: nothing changes.  False: no memory.
 */
bool nm_layout_new(struct nm *nm, const struct nm_variable *v, struct nm_change *changes, size_t n, struct nm_layout **layout)
	__attribute__((warn_unused_result));
void nm_layout_free(struct nm_layout *l);

struct nm_moved {
	uint32_t array;	 /* 0: in the variable; i + 1: in array i, of members that were taken out; NM_PADDING: nowhere */
	uint64_t offset; /* there */
	uint64_t bytes;	 /* that stay together from there on, at least 1 */
};
#define NM_PADDING UINT32_MAX

/* What was at @offset of a variable or block of @size bytes. */
struct nm_moved nm_layout_move(const struct nm_layout *l, uint64_t size, uint64_t offset);
/* Where it was that is now at @offset, of the variable (@array 0) or an array. */
uint64_t nm_layout_back(const struct nm_layout *l, uint64_t size, uint32_t array, uint64_t offset);

/* Bytes that the variable or block has now. */
uint64_t nm_layout_bytes(const struct nm_layout *l, uint64_t size);
/* How many arrays there are, and the bytes of one of them (as nm_moved.array counts). */
size_t nm_layout_arrays(const struct nm_layout *l);
uint64_t nm_layout_array_bytes(const struct nm_layout *l, uint64_t size, uint32_t array);

#endif
