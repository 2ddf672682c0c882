// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The runtime's own places in the program: the dynamic linker's notification function, and in static programs,
 * where nobody runs a module's constructors and destructors, its hooks at start and exit.
 */
#include "config.h"

#include <string.h>

#include "injector/guest/guest.h"
#include "injector/patch/patch.h"

#define HOOK_WORDS 32 /* exit hooks, in the second half of the spare memory */

enum inj_status inj_patch_linker(struct inj_session *s)
{
	struct user_regs_struct regs;
	enum inj_status status;

	if (!s->dl_debug_state || s->linker_hooked)
		return INJ_OK;
	/* a bare return in every C library; padding follows */
	status = inj_patch_own(s, s->dl_debug_state, 1, 16, s->rt_dl_state,
			       &s->config.real_dl_debug_state, INJ_EDIT_BY_NOBODY);
	if (status != INJ_OK)
		return status == INJ_NOT_SUPPORTED ? INJ_OK : status;
	s->linker_hooked = true;
	if (!s->tracee)
		return INJ_OK;
	/* the program stands on the very function that has just been patched */
	status = inj_tracee_regs(s->tracee, &regs);
	if (status == INJ_OK && regs.rip == s->dl_debug_state) {
		regs.rip = s->config.real_dl_debug_state;
		status = inj_tracee_set_regs(s->tracee, &regs);
	}
	return status;
}

/* A list of hooks of an active module: addresses in the program. */
static const uint64_t *hooks_of(const struct inj_module *m, bool at_exit, size_t *n)
{
	const struct sonde_module *d = inj_image_at(&m->image, m->desc, SONDE_MODULE_LEAST);
	uint64_t begin = (uint64_t)(uintptr_t)(at_exit ? d->exit_begin : d->start_begin);
	uint64_t end = (uint64_t)(uintptr_t)(at_exit ? d->exit_end : d->start_end);

	*n = m->active && begin < end ? (end - begin) / 8 : 0;
	return *n ? inj_image_at(&m->image, begin - m->base, end - begin) : NULL;
}

/* Of modules in the guest, or of the others. */
static enum inj_status run_start_hooks(struct inj_session *s, bool guests)
{
	static const uint64_t no_args[2];
	enum inj_status status = INJ_OK;
	uint64_t ignored;
	size_t n;

	for (size_t i = 0; i < s->nmodules; i++) {
		const uint64_t *hook = inj_is_guest(s, i) == guests ? hooks_of(&s->modules[i], false, &n) : NULL;

		for (size_t k = 0; hook && k < n && status == INJ_OK; k++)
			status = guests ? inj_guest_call(s, hook[k]) :
						      inj_tracee_call(s->tracee, hook[k], no_args, s->trap, &ignored);
	}
	return status;
}

static enum inj_status patch_exit(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	const struct inj_symbol *sym = tab ? inj_symtab_find(tab, "exit", NULL) : NULL;
	uint64_t hooks[HOOK_WORDS];
	enum inj_status status;
	size_t total = 0, n;

	for (size_t i = 0; i < s->nmodules; i++) {
		/* those in the guest run as destructors there */
		const uint64_t *hook = inj_is_guest(s, i) ? NULL : hooks_of(&s->modules[i], true, &n);

		for (size_t k = 0; hook && k < n && total < HOOK_WORDS; k++)
			hooks[total++] = hook[k];
	}
	if (!total || !sym)
		return INJ_OK;
	s->config.exit_hooks = s->spare + INJ_SPARE / 2;
	s->config.nexit_hooks = total;
	status = inj_write(s->target, s->config.exit_hooks, hooks, 8 * total);
	if (status == INJ_OK)
		status = inj_patch_own(s, s->objects[0].base + sym->addr, sym->size, sym->avail,
				       s->rt_exit, &s->config.real_exit, INJ_EDIT_BY_NOBODY);
	return status == INJ_NOT_SUPPORTED ? INJ_OK : status;
}

bool inj_has_hooks(const struct inj_session *s)
{
	size_t n, total = 0;

	for (size_t i = 0; i < s->nmodules; i++) {
		if (inj_is_guest(s, i))
			continue;
		hooks_of(&s->modules[i], false, &n);
		total += n;
		hooks_of(&s->modules[i], true, &n);
		total += n;
	}
	return total > 0;
}

enum inj_status inj_static_hooks(struct inj_session *s)
{
	enum inj_status status = patch_exit(s);

	return status == INJ_OK ? run_start_hooks(s, false) : status;
}

enum inj_status inj_guest_hooks(struct inj_session *s)
{
	return s->config.guest_tcb ? run_start_hooks(s, true) : INJ_OK;
}
