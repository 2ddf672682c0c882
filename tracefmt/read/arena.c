/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory and lists of an opened trace. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tracefmt/read/trace-internal.h"

#define BLOCK (64u << 10)

struct tf_arena_block {
	struct tf_arena_block *next;
	size_t used;
	size_t room;
	alignas(max_align_t) char data[];
};

void *tf_arena_alloc(struct tf_arena *a, size_t n)
{
	struct tf_arena_block *b = a->block;
	size_t size = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1), room = BLOCK;
	void *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	if (!b || b->room - b->used < size) {
		room = size > room ? size : room;
		b = malloc(sizeof *b + room);
		if (!b)
			return NULL;
		*b = (struct tf_arena_block){ .next = a->block, .room = room };
		a->block = b;
	}
	p = b->data + b->used;
	b->used += size;
	return memset(p, 0, size);
}

char *tf_arena_strdup(struct tf_arena *a, const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = tf_arena_alloc(a, n);

	return copy ? memcpy(copy, s, n) : NULL;
}

void tf_arena_free(struct tf_arena *a)
{
	while (a->block) {
		struct tf_arena_block *next = a->block->next;

		free(a->block);
		a->block = next;
	}
}

bool tf_list_add(struct tf_list *l, void *p)
{
	if (!array_room(l->v, l->room, l->n + 1))
		return false;
	l->v[l->n++] = p;
	return true;
}

bool tf_list_set(struct tf_list *l, size_t i, void *p)
{
	if (!array_room(l->v, l->room, i + 1))
		return false;
	while (l->n <= i)
		l->v[l->n++] = NULL;
	l->v[i] = p;
	return true;
}
