/* SPDX-License-Identifier: MIT */
/* What is recorded beside a function's event, by the slow paths of probes: arguments, what it returns. */
#ifndef SONDE_RUNTIME_VALUES_H
#define SONDE_RUNTIME_VALUES_H

#include <stdint.h>

#include "trampolines/mirror/codemap.h"

struct rt_values_at {
	uint64_t frame;	      /* address */
	uint64_t stack;	      /* rsp in the probe */
	const uint64_t *regs; /* where a gate has saved rbp, and the others below: runtime/x86-64/saved.h */
};

/* Bytes that they take at most. */
uint64_t rt_values_most(const struct rt_probe_desc *desc);

/*
 * Writes them to @to, and returns how many words these are.  Vector registers are the program's still.  What strings and others
 * point to is read if it can be; of a string that cannot be the text says so.
 */
uint64_t rt_values_put(uint64_t *to, const struct rt_probe_desc *desc, const struct rt_values_at *at);

#endif
