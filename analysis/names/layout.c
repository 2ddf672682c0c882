// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A layout is a tree of what is in each other, as that of fields (fields.c), as far as something in it changes.  Debug information may be
 * damaged: what has no sizes that fit stays as it is.
 */
#include "analysis/names/layout.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/search.h"

#define MOST_BYTES (UINT64_C(1) << 40) /* of what is changed */
#define MOST_ALIGN 16 /* that sizes give */

/* Of a structure: a member, or several that have bytes in common. */
struct member {
	uint64_t begin, end; /* as it is */
	uint64_t to;	     /* from where it is then on */
	uint32_t array;	     /* it is in array - 1; 0: in none */
	struct node *node;
	const struct nm_field *field; /* NULL: of several */
};

struct node {
	enum { WHOLE, ARRAY, STRUCT } shape;
	uint64_t size, bytes; /* as it is, and then */
	uint64_t align;
	const struct node *above; /* NULL: this is all of the variable */
	uint64_t at;		  /* offset there; of an array: of its first element, 0 */
	struct node *element;	  /* ARRAY */
	uint64_t count;		  /* likewise; 0: as many as there is room for */
	bool soa;		  /* likewise */
	bool changes;		  /* something in it */
	struct member *member;	  /* STRUCT, ascending */
	size_t n, room;
};

struct nm_layout {
	struct node *root;
	struct node **node; /* all */
	size_t nnodes, room_nodes;
	struct array {
		const struct node *of; /* the structure */
		size_t member;
	} *array;
	size_t narrays, room_arrays;
};

struct making {
	struct nm *nm;
	struct nm_entry *e;
	struct nm_layout *l;
	struct nm_change *changes;
	size_t nchanges;
};

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) / align * align;
}

/* ---- which type ---- */

static const char *bare(const char *type)
{
	static const char *const words[] = { "struct ", "class ", "union " };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(type, words[i], strlen(words[i])) == 0)
			return type + strlen(words[i]);
	return type;
}

static bool is_type(const struct making *m, const struct nm_field *f, const char *type)
{
	Dwarf_Die die = f->type;
	const char *name = die.addr ? dwarf_diename(&die) : NULL;
	const bool outermost = f == m->e->root || f == m->e->root->element;

	type = bare(type);
	return (name && strcmp(name, type) == 0) || (f->name.type && strcmp(bare(f->name.type), type) == 0) ||
	       (!name && outermost && strcmp(m->e->v.name, type) == 0);
}

/* ---- making it ---- */

static struct node *make(struct making *m, struct nm_field *f, const struct node *above, uint64_t at);

/* @align, or less if what is there now is not aligned so. */
static uint64_t aligned(uint64_t align, uint64_t at)
{
	while (align > 1 && at % align)
		align /= 2;
	return align;
}

static uint64_t align_of(const struct nm_field *f)
{
	Dwarf_Die die = f->type;
	Dwarf_Attribute attr;
	Dwarf_Word align;

	if (die.addr && dwarf_attr_integrate(&die, DW_AT_alignment, &attr) && dwarf_formudata(&attr, &align) == 0 && align &&
	    align <= MOST_BYTES && !(align & (align - 1)))
		return align;
	if (die.addr && dwarf_tag(&die) == DW_TAG_union_type)
		return aligned(MOST_ALIGN / 2, f->size);
	return aligned(MOST_ALIGN, f->size);
}

static uint64_t soa_bytes(const struct node *element, uint64_t count, size_t until)
{
	uint64_t at = 0;

	for (size_t i = 0; i < until; i++)
		if (!element->member[i].array)
			at = round_up(at, element->member[i].node->align) + count * element->member[i].node->bytes;
	return until < element->n ? round_up(at, element->member[until].node->align) : round_up(at, element->align);
}

static uint64_t array_bytes(const struct node *a, uint64_t count)
{
	return a->soa ? soa_bytes(a->element, count, a->element->n) : count * a->element->bytes;
}

static bool make_array(struct making *m, struct node *a, struct nm_field *f)
{
	unsigned int dimensions;
	const bool many = !f->type.addr;

	a->count = many ? 0 : nm_type_count(&f->type, &dimensions);
	if ((!many && !a->count) || a->count > MOST_BYTES / f->stride || f->element->size != f->stride)
		return true;
	a->element = make(m, f->element, a, 0);
	if (!a->element)
		return false;
	for (size_t i = 0; i < m->nchanges && a->element->shape == STRUCT; i++) {
		struct nm_change *c = &m->changes[i];

		if (c->what == NM_SOA && is_type(m, f->element, c->type) && (many || a->count > 1))
			a->soa = c->done = true;
	}
	a->shape = ARRAY;
	a->align = a->element->align;
	a->changes = a->soa || a->element->changes;
	if (a->count)
		a->bytes = a->changes ? array_bytes(a, a->count) : a->size;
	return true;
}

static bool add_member(struct making *m, struct node *s, const struct nm_part *part)
{
	const uint64_t end = part->end < s->size ? part->end : s->size;
	struct member *last = s->n ? &s->member[s->n - 1] : NULL;
	struct node *node;

	if (part->begin >= end)
		return true;
	if (last && part->begin < last->end) {
		/* bit-fields in one byte, or what is damaged */
		last->end = end > last->end ? end : last->end;
		last->field = NULL;
		last->node->shape = WHOLE;
		last->node->changes = false;
		last->node->size = last->node->bytes = last->end - last->begin;
		return true;
	}
	if (!array_room(s->member, s->room, s->n + 1))
		return false;
	node = make(m, part->field, s, part->begin);
	if (!node)
		return false;
	node->align = aligned(node->align, part->begin);
	if (node->size != end - part->begin) {
		node->shape = WHOLE;
		node->changes = false;
		node->size = node->bytes = end - part->begin;
	}
	s->member[s->n++] = (struct member){ part->begin, end, part->begin, 0, node, part->field };
	return true;
}

static bool split(struct making *m, struct node *s, const struct nm_field *f, const struct nm_change *c, bool *done)
{
	struct nm_layout *l = m->l;

	for (size_t i = 0; i < s->n; i++) {
		struct member *member = &s->member[i];
		const char *path = member->field ? member->field->name.path + strlen(f->name.path) : "";

		if (*path != '.' || strcmp(path + 1, c->member) != 0 || member->array)
			continue;
		if (!array_room(l->array, l->room_arrays, l->narrays + 1))
			return false;
		l->array[l->narrays++] = (struct array){ s, i };
		member->array = (uint32_t)l->narrays;
		/* as it is, whatever is in it */
		member->node->shape = WHOLE;
		member->node->bytes = member->node->size;
		*done = true;
	}
	return true;
}

/* Where members are once some of them have gone or have other sizes. */
static void lay_out(struct node *s)
{
	uint64_t at = 0;
	bool same = true;

	for (size_t i = 0; i < s->n; i++) {
		struct member *member = &s->member[i];

		s->changes |= member->array || member->node->changes;
		if (member->array) {
			same = false;
			continue;
		}
		same = same && !member->node->changes;
		member->to = same ? member->begin : round_up(at, member->node->align);
		at = member->to + member->node->bytes;
		s->align = member->node->align > s->align ? member->node->align : s->align;
	}
	s->align = aligned(s->align, s->size);
	s->bytes = s->changes ? round_up(at, s->align) : s->size;
}

static bool make_struct(struct making *m, struct node *s, struct nm_field *f)
{
	for (size_t i = 0; i < f->nparts; i++)
		if (!add_member(m, s, &f->part[i]))
			return false;
	for (size_t i = 0; i < m->nchanges; i++) {
		struct nm_change *c = &m->changes[i];

		if (!is_type(m, f, c->type))
			continue;
		c->has_type = true;
		if (c->what == NM_SPLIT && !split(m, s, f, c, &c->done))
			return false;
	}
	s->shape = STRUCT;
	if (!dwarf_hasattr_integrate(&f->type, DW_AT_alignment))
		s->align = 1;
	lay_out(s);
	return true;
}

/* NULL: no memory. */
static struct node *make(struct making *m, struct nm_field *f, const struct node *above, uint64_t at)
{
	struct nm_layout *l = m->l;
	struct node *node;
	bool good = true;

	if (!nm_field_open(m->nm, m->e, f) || !array_room(l->node, l->room_nodes, l->nnodes + 1))
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	l->node[l->nnodes++] = node;
	*node = (struct node){ .size = f->size, .bytes = f->size, .align = align_of(f), .above = above, .at = at };
	if (f->size > MOST_BYTES)
		return node;
	if (f->shape == NM_ARRAY && f->stride)
		good = make_array(m, node, f);
	else if (f->shape == NM_STRUCT && f->size && dwarf_tag(&f->type) != DW_TAG_union_type)
		good = make_struct(m, node, f);
	return good ? node : NULL;
}

static bool layout_of(struct nm *nm, struct nm_entry *e, struct nm_change *changes, size_t n, struct nm_layout **layout)
{
	struct nm_layout *l = calloc(1, sizeof(*l));
	struct making m = { nm, e, l, changes, n };

	*layout = NULL;
	if (!l)
		return false;
	l->root = make(&m, e->root, NULL, 0);
	if (l->root && l->root->changes) {
		*layout = l;
		return true;
	}
	n = l->root != NULL;
	nm_layout_free(l);
	return n;
}

bool nm_layout_new(struct nm *nm, const struct nm_variable *v, struct nm_change *changes, size_t n, struct nm_layout **layout)
{
	struct nm_entry *e = v->index < nm->nentries ? nm->entry[v->index] : nm->unknown, *put = NULL;

	*layout = NULL;
	if (v->kind == NM_HEAP && !nm_heap_entry(nm, e, &put))
		return false;
	if (put && !layout_of(nm, put, changes, n, layout))
		return false;
	return *layout || layout_of(nm, e, changes, n, layout);
}

void nm_layout_free(struct nm_layout *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nnodes; i++) {
		free(l->node[i]->member);
		free(l->node[i]);
	}
	free(l->node);
	free(l->array);
	free(l);
}

/* ---- from old to new ---- */

static uint64_t count_of(const struct node *a, uint64_t size)
{
	return a->count ? a->count : size / a->element->size;
}

static const struct member *member_at(const struct node *s, uint64_t offset)
{
	const size_t after = search_first(i, s->n, s->member[i].begin > offset);

	return after && offset < s->member[after - 1].end ? &s->member[after - 1] : NULL;
}

struct nm_moved nm_layout_move(const struct nm_layout *l, uint64_t size, uint64_t offset)
{
	const struct node *node = l->root;
	struct nm_moved to = { 0 };
	uint64_t index = 0, count = 0, i = 0, base = 0;

	for (;;) {
		const struct node *soa = NULL;
		const struct member *member;

		if (node->shape == ARRAY && node->changes) {
			count = count_of(node, size);
			i = offset / node->element->size;
			if (i >= count) {
				/* what is left at the end of a block */
				to.offset = base + array_bytes(node, count) + offset - count * node->element->size;
				to.bytes = size > offset ? size - offset : 1;
				return to;
			}
			index = index * count + i;
			offset %= node->element->size;
			soa = node->soa ? node->element : NULL;
			base += soa ? 0 : i * node->element->bytes;
			node = node->element;
			if (!soa)
				continue;
		}
		if (node->shape != STRUCT || (!node->changes && !soa)) {
			to.offset = base + offset;
			to.bytes = node->size > offset ? node->size - offset : 1;
			return to;
		}
		member = member_at(node, offset);
		if (!member)
			return (struct nm_moved){ .array = NM_PADDING, .bytes = 1 };
		offset -= member->begin;
		if (member->array)
			return (struct nm_moved){ .array = member->array, .offset = index * member->node->bytes + offset,
						  .bytes = member->node->size - offset };
		base += soa ? soa_bytes(soa, count, (size_t)(member - node->member)) + i * member->node->bytes : member->to;
		node = member->node;
	}
}

uint64_t nm_layout_bytes(const struct nm_layout *l, uint64_t size)
{
	const struct node *root = l->root;
	uint64_t count;

	if (root->shape != ARRAY || root->count)
		return root->bytes;
	count = count_of(root, size);
	return array_bytes(root, count) + size - count * root->element->size;
}

size_t nm_layout_arrays(const struct nm_layout *l)
{
	return l->narrays;
}

uint64_t nm_layout_array_bytes(const struct nm_layout *l, uint64_t size, uint32_t array)
{
	const struct array *a = &l->array[array - 1];
	uint64_t bytes = a->of->member[a->member].node->bytes;

	for (const struct node *node = a->of; node; node = node->above)
		if (node->shape == ARRAY && __builtin_mul_overflow(bytes, count_of(node, size), &bytes))
			return MOST_BYTES;
	return bytes;
}

/* ---- and back ---- */

static uint64_t back_from_array(uint64_t size, const struct array *a, uint64_t offset)
{
	const struct member *member = &a->of->member[a->member];
	uint64_t index = member->node->bytes ? offset / member->node->bytes : 0, count;
	uint64_t at = member->begin + (member->node->bytes ? offset % member->node->bytes : 0);

	for (const struct node *node = a->of; node->above; node = node->above) {
		at += node->at;
		if (node->above->shape != ARRAY)
			continue;
		count = count_of(node->above, size);
		at += (count ? index % count : 0) * node->size;
		index = count ? index / count : 0;
	}
	return at;
}

/* The member of a structure of arrays that has what is then at @offset; *offset: in its array. */
static const struct member *soa_member(const struct node *s, uint64_t count, uint64_t *offset)
{
	const struct member *found = NULL;
	uint64_t begin = 0;

	for (size_t i = 0; i < s->n; i++) {
		const uint64_t at = soa_bytes(s, count, i);

		if (s->member[i].array || at > *offset)
			continue;
		found = &s->member[i];
		begin = at;
	}
	*offset -= begin;
	return found;
}

static const struct member *new_member_at(const struct node *s, uint64_t offset)
{
	const struct member *found = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (!s->member[i].array && s->member[i].to <= offset)
			found = &s->member[i];
	return found;
}

uint64_t nm_layout_back(const struct nm_layout *l, uint64_t size, uint32_t array, uint64_t offset)
{
	const struct node *node = l->root;
	uint64_t at = 0;

	if (array)
		return array <= l->narrays ? back_from_array(size, &l->array[array - 1], offset) : 0;
	while (node->changes && node->shape != WHOLE) {
		const struct member *member;

		if (node->shape == ARRAY && !node->soa) {
			if (!node->element->bytes)
				break;
			at += offset / node->element->bytes * node->element->size;
			offset %= node->element->bytes;
			node = node->element;
			continue;
		}
		if (node->shape == ARRAY) {
			member = soa_member(node->element, count_of(node, size), &offset);
			if (!member || !member->node->bytes)
				break;
			at += offset / member->node->bytes * node->element->size;
			offset %= member->node->bytes;
		} else {
			member = new_member_at(node, offset);
			if (!member)
				break;
			offset -= member->to;
		}
		at += member->begin;
		node = member->node;
	}
	return at + offset;
}
