/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What memory an instruction accesses, computed from the registers before it: what a recording
 * has to say.
 */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_EXPECT_H
#define SONDE_TESTS_UNIT_MEMEMIT_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "memtrace/machine.h"

enum { EXPECT_MAX = 64 };

/*
 * Up to EXPECT_MAX accesses of the instruction that comes next in @context; @stack: those by rsp,
 * too.  Of a repeated string instruction, those of one time.  Exits with a message where it does
 * not know.
 */
size_t expect_accesses(const ucontext_t *context, bool stack, struct mt_access *v);

/* The instruction at @pc, for people. */
void expect_text(uint64_t pc, char *text, size_t size);

#endif
