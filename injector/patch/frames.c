// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * In a dynamic program the unwinder finds a module's tables through the dynamic linker.  In a static
 * one nobody knows of the modules that we have mapped, and an exception that comes to a wrapper would
 * end the program: so the tables are registered by libgcc's own interface for such cases,
 * void __register_frame_info(const void *eh_frame, struct object *), which the program contains if it
 * can throw at all.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/image/ehframe.h"
#include "injector/patch/patch.h"

#define OBJECT_BYTES 128 /* libgcc's struct object has 48; it keeps it for good */

/* All of the image from @addr on. */
static struct inj_cursor image_from(const struct inj_image *img, uint64_t addr)
{
	const uint8_t *at = inj_image_at(img, addr, 0);

	return (struct inj_cursor){ .at = at, .end = at ? img->mem + img->size : NULL, .addr = addr, .bad = !at };
}

uint64_t inj_image_frames(const struct inj_image *img)
{
	uint64_t start = img->eh_frame_hdr ? inj_eh_start(image_from(img, img->eh_frame_hdr)) : 0;

	return start && inj_eh_ends(image_from(img, start)) ? start : 0;
}

/* *object: memory for libgcc. */
static enum inj_status register_image(struct inj_session *s, uint64_t function, const struct inj_image *img, uint64_t base,
				      uint64_t *object)
{
	uint64_t frames = inj_image_frames(img), ignored;
	const uint64_t args[2] = { base + frames, *object };

	if (!frames || *object + OBJECT_BYTES > s->spare + INJ_SPARE)
		return INJ_OK;
	*object += OBJECT_BYTES;
	return inj_tracee_call(s->tracee, function, args, s->trap, &ignored);
}

enum inj_status inj_register_frames(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	const struct inj_symbol *sym = inj_symtab_find(tab, "__register_frame_info", NULL);
	uint64_t function = s->objects[0].base + sym->addr, object = s->spare;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++)
		if (s->modules[i].active)
			status = register_image(s, function, &s->modules[i].image, s->modules[i].base, &object);
	/* frames of the runtime are on the stack where the guest is entered and left */
	if (status == INJ_OK && s->config.guest_tcb)
		status = register_image(s, function, &s->runtime_image, s->runtime, &object);
	return status;
}

/* ---- of a process that runs by itself ---- */

#define TABLE_HEAD 12 /* bytes of .eh_frame_hdr before its table */

static int by_start(const void *a, const void *b)
{
	const struct rt_frames *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * The table of .eh_frame_hdr (Linux Standard Base, 10.6.2) in the only encoding that linkers make: pairs of distances from the header.
 * Those of the module are appended, and one for its end; their number, 0: it has none.
 */
static size_t add_frames(const struct inj_module *m, struct rt_frames *v, size_t room)
{
	static const uint8_t encodings[] = { 1, 0x1b, 0x03, 0x3b };
	const struct inj_image *img = &m->image;
	const uint8_t *hdr = img->eh_frame_hdr ? inj_image_at(img, img->eh_frame_hdr, TABLE_HEAD) : NULL;
	const int32_t *table;
	uint64_t at = m->base + img->eh_frame_hdr;
	uint32_t n = 0;

	if (!hdr || memcmp(hdr, encodings, sizeof(encodings)) != 0)
		return 0;
	memcpy(&n, hdr + 8, sizeof(n));
	table = n < img->size / 8 ? inj_image_at(img, img->eh_frame_hdr + TABLE_HEAD, 8 * (uint64_t)n) : NULL;
	if (!table || !n)
		return 0;
	for (uint32_t i = 0; v && i < n && i < room; i++)
		v[i] = (struct rt_frames){ at + (uint64_t)(int64_t)table[2 * i], at + (uint64_t)(int64_t)table[2 * i + 1] };
	if (v && n < room)
		v[n] = (struct rt_frames){ m->base + img->size, 0 };
	return (size_t)n + 1;
}

static enum inj_status put_frames(struct inj_session *s)
{
	struct rt_frames *v;
	enum inj_status status;
	size_t room = 0, n = 0;

	for (size_t i = 0; i < s->nmodules; i++)
		room += s->modules[i].ours ? add_frames(&s->modules[i], NULL, 0) : 0;
	v = calloc(room + 1, sizeof(*v));
	if (!v)
		return INJ_MEMORY;
	for (size_t i = 0; i < s->nmodules; i++)
		n += s->modules[i].ours ? add_frames(&s->modules[i], v + n, room - n) : 0;
	qsort(v, n, sizeof(*v), by_start);
	status = inj_code_put(&s->code, s->target, v, n * sizeof(*v), &s->config.frames);
	s->config.nframes = status == INJ_OK ? n : 0;
	free(v);
	return status;
}

bool inj_awaits_unwinder(const struct inj_session *s)
{
	return s->opt.own_loader && !s->opt.is_static && !s->config.real_find_fde && s->nwraps;
}

enum inj_status inj_lead_unwinder(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	if (s->config.real_find_fde || !s->nwraps)
		return INJ_OK;
	for (size_t i = 0; i < s->nobjects; i++) {
		struct inj_symtab *tab = inj_object_symbols(&s->objects[i]);
		const struct inj_symbol *sym = tab ? inj_symtab_find(tab, "_Unwind_Find_FDE", NULL) : NULL;

		if (!sym)
			continue;
		status = put_frames(s);
		if (status == INJ_OK)
			status = inj_patch_own(s, s->objects[i].base + sym->addr, sym->size, sym->avail, s->rt_find_fde,
					       &s->config.real_find_fde, INJ_EDIT_BY_WRAPPERS);
		return status == INJ_NOT_SUPPORTED || status == INJ_NO_ROOM ? INJ_OK : status;
	}
	return INJ_OK;
}
