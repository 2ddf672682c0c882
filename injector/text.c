// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/maps.h"
#include "injector/text.h"

#define MAX_TEXT (UINT64_C(256) << 20)

static enum inj_status code_range(struct inj_session *s, uint64_t addr, uint64_t *start,
				  uint64_t *len)
{
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(s->target->pid, &maps);
	const struct inj_map *m;

	*start = *len = 0;
	if (status != INJ_OK)
		return status;
	m = inj_maps_find(&maps, addr);
	if (m && m->executable && m->end - m->start <= MAX_TEXT) {
		*start = m->start;
		*len = m->end - m->start;
	}
	inj_maps_free(&maps);
	return INJ_OK;
}

static void unpatch(const struct inj_session *s, uint8_t *code, uint64_t start, uint64_t len)
{
	for (size_t i = 0; i < s->npatches; i++) {
		const struct inj_patch *p = &s->patches[i];

		if (p->addr >= start && p->addr + p->len <= start + len)
			memcpy(code + (p->addr - start), p->original, p->len);
	}
}

static struct tramp_extent *extents(struct inj_object *o, size_t *n)
{
	const struct inj_symbol *syms = NULL;
	struct tramp_extent *v;

	*n = 0;
	if (inj_object_symbols(o))
		syms = inj_symtab_all(o->symtab, n);
	v = calloc(*n + 1, sizeof(*v));
	for (size_t i = 0; v && i < *n; i++) {
		v[i].addr = o->base + syms[i].addr;
		v[i].size = syms[i].size;
	}
	return v;
}

enum inj_status inj_text_read(struct inj_session *s, size_t object, uint64_t addr,
			      struct inj_text *text)
{
	struct tramp_object *code = &text->code;
	uint64_t len;
	enum inj_status status;

	memset(text, 0, sizeof(*text));
	status = code_range(s, addr, &code->addr, &len);
	if (status != INJ_OK || len == 0)
		return status;
	text->functions = extents(&s->objects[object], &code->nfunctions);
	text->bytes = malloc(len);
	if (!text->functions || !text->bytes) {
		inj_text_free(text);
		return INJ_MEMORY;
	}
	code->len = inj_read_some(s->target, code->addr, text->bytes, len);
	unpatch(s, text->bytes, code->addr, code->len);
	code->code = text->bytes;
	code->functions = text->functions;
	return INJ_OK;
}

void inj_text_free(struct inj_text *text)
{
	free(text->functions);
	free(text->bytes);
	memset(text, 0, sizeof(*text));
}
