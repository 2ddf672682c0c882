/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LD_PRELOAD in the environment of a program that stands at its first instruction, and out of it again before any code
 * of the program's has run: so it, and what it starts, have the environment that the user gave it.
 */
#ifndef SONDE_INJECTOR_PATCH_PRELOAD_H
#define SONDE_INJECTOR_PATCH_PRELOAD_H

#include "injector/patch/session.h"

/* Has the dynamic linker load s->opt.preload before what the user may have in LD_PRELOAD.  Moves the stack pointer. */
enum inj_status inj_preload_add(struct inj_session *s) INJ_CHECK;

/* The dynamic linker has read it. */
enum inj_status inj_preload_remove(struct inj_session *s) INJ_CHECK;

#endif
