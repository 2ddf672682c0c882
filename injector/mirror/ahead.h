/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at the code of all files that functions are wanted of, several at the same time, before any of them is instrumented. */
#ifndef SONDE_INJECTOR_MIRROR_AHEAD_H
#define SONDE_INJECTOR_MIRROR_AHEAD_H

#include "injector/patch/session.h"

/* As far as it is known what is wanted; what fails here fails again when it is asked for. */
void inj_look_ahead(struct inj_session *s);

/* For one object: from the cache folder or its file.  NULL: it cannot be read, or has no code. */
struct inj_kept *inj_object_code(const struct inj_session *s, const struct inj_object *o, unsigned int threads);

#endif
