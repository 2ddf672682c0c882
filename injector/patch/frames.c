// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * In a dynamic program the unwinder finds a module's tables through the dynamic linker.  In a static
 * one nobody knows of the modules that we have mapped, and an exception that comes to a wrapper would
 * end the program: so the tables are registered by libgcc's own interface for such cases,
 * void __register_frame_info(const void *eh_frame, struct object *), which the program contains if it
 * can throw at all.
 */
#include "config.h"

#include "injector/image/ehframe.h"
#include "injector/patch/session.h"

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

enum inj_status inj_register_frames(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	const struct inj_symbol *sym = inj_symtab_find(tab, "__register_frame_info", NULL);
	enum inj_status status = INJ_OK;
	uint64_t object = s->spare;

	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++) {
		const struct inj_module *m = &s->modules[i];
		uint64_t frames = m->active ? inj_image_frames(&m->image) : 0, ignored;
		const uint64_t args[2] = { m->base + frames, object };

		if (!frames || object + OBJECT_BYTES > s->spare + INJ_SPARE)
			continue;
		status = inj_tracee_call(s->tracee, s->objects[0].base + sym->addr, args, s->trap,
					 &ignored);
		object += OBJECT_BYTES;
	}
	return status;
}
