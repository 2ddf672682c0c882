// SPDX-License-Identifier: GPL-3.0-or-later
/* Paths: from an offset in a variable down its type, as far as the access is within one part. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"

#define MAX_FIELDS 4096 /* of a variable; beyond that paths end early */
#define MAX_PARTS 16384 /* of a structure */

static struct nm_field *field_new(struct nm *nm, struct nm_entry *e, const struct nm_field *above, const char *text, Dwarf_Die *of,
				  uint64_t offset)
{
	struct nm_field *f = calloc(1, sizeof(*f));
	char *path = NULL;
	uint64_t size;

	if (!f || asprintf(&path, "%s%s", above ? above->name.path : "", text) < 0) {
		free(f);
		return NULL;
	}
	f->name = (struct nm_name){ .variable = &e->v, .path = path, .offset = offset, .stride = above ? above->name.stride : 0 };
	f->depth = above ? above->depth + 1 : 0;
	if (of && nm_type_of(of, &f->type)) {
		size = nm_type_size(&f->type);
		f->size = size;
		f->name.size = size;
		f->name.type = nm_type_name(of, false);
		switch (dwarf_tag(&f->type)) {
		case DW_TAG_array_type:
			f->shape = nm_is_descriptor(&f->type) || dwarf_hasattr(&f->type, DW_AT_GNU_vector) ? NM_LEAF : NM_ARRAY;
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			f->shape = NM_STRUCT;
		}
	}
	if ((f->name.type || !f->size) && nm_field_add(nm, f)) {
		e->fields++;
		return f;
	}
	free((char *)f->name.type);
	free(path);
	free(f);
	return NULL;
}

/* ---- structures ---- */

static bool is_member(Dwarf_Die *die)
{
	/* without an offset: a member that all objects have together */
	if (dwarf_tag(die) == DW_TAG_member)
		return !dwarf_hasattr_integrate(die, DW_AT_external) && !dwarf_hasattr_integrate(die, DW_AT_declaration);
	return dwarf_tag(die) == DW_TAG_inheritance;
}

static bool is_bitfield(Dwarf_Die *die)
{
	return dwarf_hasattr_integrate(die, DW_AT_bit_size);
}

/* Bytes that a bit-field has a bit in: 1, but for those that cross one. */
static uint64_t bitfield_bytes(Dwarf_Die *die, uint64_t all)
{
	Dwarf_Attribute attr;
	Dwarf_Word at, bits;

	if (!dwarf_attr_integrate(die, DW_AT_data_bit_offset, &attr) || dwarf_formudata(&attr, &at) != 0 ||
	    !dwarf_attr_integrate(die, DW_AT_bit_size, &attr) || dwarf_formudata(&attr, &bits) != 0 || bits > 8 * all)
		return all;
	return (at % 8 + bits + 7) / 8;
}

static bool add_part(struct nm *nm, struct nm_entry *e, struct nm_field *f, Dwarf_Die *member)
{
	const char *name = dwarf_diename(member);
	struct nm_part part = { 0 };
	uint64_t size;
	char text[256];

	if (!nm_member_offset(member, &part.begin))
		return true;
	if (f->size && part.begin >= f->size)
		return true;
	/* bases and members without a name have members that are used as if they were this one's */
	snprintf(text, sizeof(text), "%s%s", name && dwarf_tag(member) == DW_TAG_member ? "." : "",
		 name && dwarf_tag(member) == DW_TAG_member ? name : "");
	if (!array_room(f->part, f->room, f->nparts + 1))
		return false;
	part.field = field_new(nm, e, f, text, member, f->name.offset + part.begin);
	if (!part.field)
		return false;
	/* an empty base has a byte, which is another member's */
	if (dwarf_tag(member) == DW_TAG_inheritance && (!nm_field_open(nm, e, part.field) || !part.field->nparts))
		return part.field->open;
	size = is_bitfield(member) ? bitfield_bytes(member, part.field->size) : part.field->size;
	/* of what has no size, an array at the end: all the rest */
	if (!size || __builtin_add_overflow(part.begin, size, &part.end))
		part.end = UINT64_MAX;
	f->part[f->nparts++] = part;
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct nm_part *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

/* What an access to several members of a union is called. */
static bool add_union(struct nm *nm, struct nm_entry *e, struct nm_field *f)
{
	char text[256] = ".{";
	size_t n = 2, length;
	Dwarf_Die member;

	if (dwarf_child(&f->type, &member) != 0)
		return true;
	do {
		const char *name = dwarf_tag(&member) == DW_TAG_member ? dwarf_diename(&member) : NULL;

		length = name ? strlen(name) : 0;
		if (!name)
			continue;
		if (n + length + 8 > sizeof(text)) {
			strcpy(text + n, "...,");
			n += 4;
			break;
		}
		memcpy(text + n, name, length);
		text[n + length] = ',';
		n += length + 1;
	} while (dwarf_siblingof(&member, &member) == 0);
	if (n == 2)
		return true;
	strcpy(text + n - 1, "}");
	f->all = field_new(nm, e, f, text, NULL, f->name.offset);
	return f->all != NULL;
}

static bool open_struct(struct nm *nm, struct nm_entry *e, struct nm_field *f)
{
	Dwarf_Die member;
	unsigned int n = 0;

	if (dwarf_child(&f->type, &member) != 0)
		return true;
	do {
		if (is_member(&member) && e->fields < MAX_FIELDS && !add_part(nm, e, f, &member))
			return false;
	} while (++n < MAX_PARTS && dwarf_siblingof(&member, &member) == 0);
	if (f->nparts)
		qsort(f->part, f->nparts, sizeof(*f->part), by_begin);
	return dwarf_tag(&f->type) != DW_TAG_union_type || e->fields >= MAX_FIELDS || add_union(nm, e, f);
}

/* The one part that has all of the bytes, and no other has any; NULL: there is none. */
static const struct nm_part *part_at(const struct nm_field *f, uint64_t offset, uint64_t end)
{
	const struct nm_part *found = NULL;

	for (size_t i = 0; i < f->nparts && f->part[i].begin < end; i++) {
		if (f->part[i].end <= offset)
			continue;
		if (found)
			return NULL;
		found = &f->part[i];
	}
	return found && found->begin <= offset && end <= found->end ? found : NULL;
}

/* ---- arrays ---- */

static uint64_t stride_of(Dwarf_Die *array, uint64_t element)
{
	Dwarf_Attribute attr;
	Dwarf_Word stride;

	if (dwarf_attr_integrate(array, DW_AT_byte_stride, &attr) && dwarf_formudata(&attr, &stride) == 0 && stride)
		return stride;
	return element;
}

static bool open_array(struct nm *nm, struct nm_entry *e, struct nm_field *f)
{
	unsigned int dimensions;
	uint64_t stride;
	char text[64] = "";

	(void)nm_type_count(&f->type, &dimensions);
	while (dimensions--)
		strcat(text, "[]");
	f->element = field_new(nm, e, f, text, &f->type, 0);
	if (!f->element)
		return false;
	stride = stride_of(&f->type, f->element->size);
	if (f->element->size > stride)
		f->element->size = 0;
	f->stride = stride;
	f->element->name.stride = stride;
	return true;
}

/* ---- all ---- */

bool nm_field_open(struct nm *nm, struct nm_entry *e, struct nm_field *f)
{
	if (f->open)
		return true;
	f->open = true;
	if (f->depth >= NM_DEPTH || e->fields >= MAX_FIELDS) {
		f->shape = NM_LEAF;
		return true;
	}
	if (f->shape == NM_STRUCT)
		return open_struct(nm, e, f);
	return f->shape != NM_ARRAY || open_array(nm, e, f);
}

/* The access is to an array's element, whichever. */
static void enter_element(const struct nm_field *array, bool first, struct nm_extent *same)
{
	if (array->element->shape == NM_LEAF)
		return; /* from all of the array the same */
	same->stride = first ? array->stride : 0;
	same->hi = first ? array->stride : 0;
}

static void enter_part(const struct nm_part *part, struct nm_extent *same)
{
	if (!same->hi)
		return;
	same->hi = part->end == UINT64_MAX ? same->hi : same->lo + part->end;
	same->lo += part->begin;
}

struct nm_field *nm_field_at(struct nm *nm, struct nm_entry *e, uint64_t offset, uint64_t size, struct nm_extent *same)
{
	struct nm_field *f = e->root;
	bool first = true;

	*same = (struct nm_extent){ .hi = UINT64_MAX };
	size = size ? size : 1;
	for (;; first = false) {
		const struct nm_part *part;

		if (!nm_field_open(nm, e, f))
			return NULL;
		if (f->shape == NM_ARRAY && f->stride) {
			enter_element(f, first, same);
			offset %= f->stride;
			f = f->element;
			continue;
		}
		if (f->shape != NM_STRUCT)
			return f;
		part = offset <= UINT64_MAX - size ? part_at(f, offset, offset + size) : NULL;
		if (!part) {
			same->hi = 0;
			return f->all ? f->all : f;
		}
		enter_part(part, same);
		offset -= part->begin;
		f = part->field;
	}
}

bool nm_root_new(struct nm *nm, struct nm_entry *e, Dwarf_Die *variable, bool many)
{
	e->root = field_new(nm, e, NULL, "", many ? NULL : variable, 0);
	if (!e->root || !many)
		return e->root != NULL;
	/* an array without an end */
	e->root->open = true;
	e->root->element = field_new(nm, e, e->root, "[]", variable, 0);
	e->root->stride = e->root->element ? e->root->element->size : 0;
	if (e->root->stride)
		e->root->shape = NM_ARRAY;
	if (e->root->element)
		e->root->element->name.stride = e->root->stride;
	return e->root->element != NULL;
}

void nm_field_free(struct nm_field *f)
{
	if (!f)
		return;
	free((char *)f->name.path);
	free((char *)f->name.type);
	free(f->part);
	free(f);
}
