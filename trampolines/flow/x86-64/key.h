/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_TRAMPOLINES_FLOW_X86_64_KEY_H
#define SONDE_TRAMPOLINES_FLOW_X86_64_KEY_H

#include <stdint.h>

#define FLOW_KEY_BYTES 16	/* that can be read from any instruction's start */

/*
 * The instruction's bytes up to ModRM and SIB in a word, zeros after them.  No two instructions that differ in
 * anything but displacement and immediate have the same.  0: not to be remembered.
 */
uint64_t tramp_flow_key(const uint8_t code[FLOW_KEY_BYTES]);

#endif
