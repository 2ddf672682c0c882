/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that modules need and a process that runs has not mapped: one of its threads loads them. */
#ifndef SONDE_INJECTOR_PATCH_NEEDED_H
#define SONDE_INJECTOR_PATCH_NEEDED_H

#include "injector/patch/session.h"

/*
 * Has a thread of the process call dlopen() for what modules name as needed (DT_NEEDED) and s->objects lacks; *came: some was
 * loaded, so that the list is to be read anew.  It stays loaded.  The thread must be in the program's own code, called by nothing
 * of the C library, the dynamic linker or the file that defines malloc(), whose locks it might hold; all others run on.
 * Errors: NOT_SUPPORTED, after a warning: there was no such thread for some seconds, or the library cannot be loaded; GONE; others.
 */
enum inj_status inj_load_needed(struct inj_session *s, bool *came) INJ_CHECK;

#endif
