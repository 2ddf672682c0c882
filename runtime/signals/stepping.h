/* SPDX-License-Identifier: MIT */
/* Programs that single-step themselves by the processor's trap flag. */
#ifndef SONDE_RUNTIME_STEPPING_H
#define SONDE_RUNTIME_STEPPING_H

#include <stdint.h>

/*
 * Signal @sig has arrived with the registers @regs of its frame.  1: it says that an instruction was executed that is none of the
 * program's, so its handler must not see it; execution is to go on as @regs, which may be changed, say.
 */
__attribute__((visibility("hidden"))) int rt_step_is_ours(uint64_t *regs, uint64_t sig);

#endif
