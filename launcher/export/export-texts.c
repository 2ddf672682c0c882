/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static struct export_text *slot_of(const struct export_texts *t, const char *s)
{
	return &t->v[hash_slot(i, t->room, hash_bytes(s, strlen(s)), !t->v[i].s || strcmp(t->v[i].s, s) == 0)];
}

uint32_t export_text(struct export *x, struct export_texts *t, const char *s)
{
	struct export_text *at;

	if (!hash_grow(t->v, t->room, t->n + 1, old, old->s, slot_of(t, old->s))) {
		x->buf.failed = true;
		return 0;
	}
	at = slot_of(t, s);
	if (!at->s) {
		*at = (struct export_text){ .s = strdup(s), .number = (uint32_t)t->n };
		x->buf.failed |= !at->s;
		t->n++;
	}
	return at->number;
}

void export_texts_free(struct export_texts *t)
{
	for (size_t i = 0; i < t->room; i++)
		free(t->v[i].s);
	free(t->v);
	*t = (struct export_texts){ 0 };
}
