/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What refers to the bytes at a function's entry that a patch would replace. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_SCAN_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_SCAN_H

#include "trampolines/trampoline.h"

/*
 * TRAMP_OK, TRAMP_BRANCH_TO_START, TRAMP_BRANCH_INTO or TRAMP_ADDRESS_TAKEN. The bytes at stake
 * are those from the function's first to plan->patch_addr + plan->patch_len.
 */
enum tramp_status tramp_scan(const struct tramp_function *fn, const struct tramp_plan *plan);

/* Whether a known branch from elsewhere goes to the inside of what is patched or displaced. */
bool tramp_is_entered(const struct tramp_function *fn, const struct tramp_plan *plan);

#endif
