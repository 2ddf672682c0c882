// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory accesses, all of them, written into the trace: what --mem does when no other module takes them.
 */
#include <sonde/module.h>

SONDE_MODULE("memtrace", "memory accesses, all of them, in the trace");

SONDE_KEEP_MEMORY;
