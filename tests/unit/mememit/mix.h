/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of all kinds of instructions that access memory, made up at random: general and vector
 * instructions with all forms of addresses, strings, the stack; in loops and branches.
 *
 * Addresses come from r15 (the data, MIX_DATA bytes), from constants, from pointers in the data
 * (its first MIX_POINTERS words hold addresses in its middle), and are computed from each other.
 * The functions keep to the ABI and call nothing.
 */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_MIX_H
#define SONDE_TESTS_UNIT_MEMEMIT_MIX_H

#include <stddef.h>
#include <stdint.h>

#include "tests/unit/mirror/random.h"

enum { MIX_DATA = 1 << 15, MIX_POINTERS = 64 };

/* Writes a function to @code, which is where it runs; its data is at @data.  Returns its length. */
size_t mix_generate(uint8_t *code, size_t room, uint64_t data, struct random_source *source);

#endif
