/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A memory plan in words, to look at. */
#ifndef SONDE_TESTS_UNIT_MEMPLAN_DUMP_H
#define SONDE_TESTS_UNIT_MEMPLAN_DUMP_H

#include "trampolines/memory/plan.h"

void memplan_dump(const struct mem_plan *plan, const struct tramp_flow *flow);

#endif
