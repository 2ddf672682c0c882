// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * In a dynamic program the unwinder finds a module's tables through the dynamic linker.  In a static
 * one nobody knows of the modules that we have mapped, and an exception that comes to a wrapper would
 * end the program: so the tables are registered by libgcc's own interface for such cases,
 * void __register_frame_info(const void *eh_frame, struct object *), which the program contains if it
 * can throw at all.
 */
#include "config.h"

#include <string.h>

#include "injector/patch/session.h"

#define OBJECT_BYTES 128 /* libgcc's struct object has 48; it keeps it for good */
#define EH_FRAME_PTR_SDATA4 0x1b

/* Link-time address of the module's .eh_frame, 0 if there is none that ends as it must. */
static uint64_t frames_of(const struct inj_image *img)
{
	const uint8_t *hdr = inj_image_at(img, img->eh_frame_hdr, 8);
	const uint32_t *length;
	uint64_t start, at;
	int32_t rel;

	if (!img->eh_frame_hdr || !hdr || hdr[1] != EH_FRAME_PTR_SDATA4)
		return 0;
	memcpy(&rel, hdr + 4, 4);
	start = img->eh_frame_hdr + 4 + (uint64_t)(int64_t)rel;
	/* entries up to one of length zero */
	for (at = start; (length = inj_image_at(img, at, 4)) != NULL; at += 4 + *length)
		if (*length == 0)
			return start;
	return 0;
}

enum inj_status inj_register_frames(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	const struct inj_symbol *sym = inj_symtab_find(tab, "__register_frame_info", NULL);
	enum inj_status status = INJ_OK;
	uint64_t object = s->spare;

	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++) {
		const struct inj_module *m = &s->modules[i];
		uint64_t frames = m->active ? frames_of(&m->image) : 0, ignored;
		const uint64_t args[2] = { m->base + frames, object };

		if (!frames || object + OBJECT_BYTES > s->spare + INJ_SPARE)
			continue;
		status = inj_tracee_call(s->tracee, s->objects[0].base + sym->addr, args, s->trap,
					 &ignored);
		object += OBJECT_BYTES;
	}
	return status;
}
