/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the runtime does when a signal arrives in a mirror, by what the table of the mirror's pieces
 * says of the place; and a handler that leaves nothing of the pool's words as it was.
 */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_INTERRUPT_H
#define SONDE_TESTS_UNIT_MEMEMIT_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "trampolines/mirror/codemap.h"

/* Exits with a message where the table cannot be right. */
void interrupt_there(ucontext_t *context, uint64_t arena, const struct rt_mem_piece *pieces, size_t n);

#endif
