/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of an instruction as a line of text. */
#ifndef SONDE_TESTS_UNIT_MEMFACTS_RENDER_H
#define SONDE_TESTS_UNIT_MEMFACTS_RENDER_H

#include "trampolines/memory/memory.h"

enum { RENDER_MAX = 1024 };

/*
 * Accesses and what computes their addresses; "|" what is computed; "|" registers that are lost,
 * with 'u' or 's' if they are narrow; "|" flags.  `L8 [rdi+rsi*4+16]` is a load of 8 bytes, S a
 * store, M both, P a prefetch, with ! by the stack pointer.
 */
void render_facts(const struct tramp_mem_facts *facts, char text[RENDER_MAX]);

#endif
