/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What inside a function refers to the bytes at its entry that a patch would replace. */
#ifndef SONDE_TRAMPOLINES_X86_64_SCAN_H
#define SONDE_TRAMPOLINES_X86_64_SCAN_H

#include "trampolines/trampoline.h"

/*
 * TRAMP_OK, TRAMP_BRANCH_TO_START, TRAMP_BRANCH_INTO or TRAMP_ADDRESS_TAKEN. The bytes at stake
 * are those from the function's first to plan->patch_addr + plan->patch_len.
 */
enum tramp_status scan_function(const struct tramp_function *fn, const struct tramp_plan *plan);

#endif
