/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that begin with a loop (pthread_spin_lock): copy the whole loop. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_ENCLOSE_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_ENCLOSE_H

#include "trampolines/trampoline.h"

/*
 * `plan` is complete, but branches inside the function lead to the patched bytes. Displace all up
 * to the last of these branches; true if that can be done. Else the plan is of no more use.
 */
bool tramp_enclose(const struct tramp_function *fn, struct tramp_plan *plan);

/*
 * A short function without branches is displaced as a whole, so that its replay code has nothing to jump back
 * to.  What lies after the window stays as it was: branches to it are no concern.
 */
void tramp_take_whole(const struct tramp_function *fn, struct tramp_plan *plan);

#endif
