/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which arguments a wrapper gets on the stack, read from its code: those that code between it and its caller has to hand on. */
#ifndef SONDE_TRAMPOLINES_WRAP_STACKARGS_H
#define SONDE_TRAMPOLINES_WRAP_STACKARGS_H

#include "trampolines/trampoline.h"

/*
 * Where the stack arguments are at the instruction at @off, as the unwind table has it: at @offset from the stack pointer or, @frame,
 * from the frame pointer.  False: it does not say.
 */
typedef bool (*tramp_cfa)(void *arg, size_t off, bool *frame, int64_t *offset);

/*
 * How many bytes of them the function of @len bytes at @code reads.  False: it cannot be seen, since it takes their address, or
 * goes on elsewhere by a jump.
 */
bool tramp_stack_args(const uint8_t *code, size_t len, tramp_cfa cfa, void *arg, uint64_t *bytes) TRAMP_MUST_CHECK;

#endif
