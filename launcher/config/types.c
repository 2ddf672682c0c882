/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an entry may measure. */
#include "launcher/config/config.h"

#define OF_CALLS (CONFIG_HAS_CALLS | CONFIG_HAS_THREAD)
#define OF_ACCESSES (CONFIG_HAS_VARIABLES | CONFIG_HAS_THREAD | CONFIG_HAS_SAMPLE)
#define PLACES "function\0loop\0line\0instruction\0"

const struct config_about config_about[CONFIG_TYPES] = {
	[CONFIG_ADDRESS_TRACES] = { "address-traces", CONFIG_MEMORY, OF_ACCESSES | CONFIG_HAS_LIMIT, NULL, NULL,
		"each load and store: its address, size, instruction and source line" },
	[CONFIG_INVOCATION_COUNTER] = { "invocation-counter", CONFIG_CALLS, OF_CALLS & ~CONFIG_HAS_CALLS, NULL, NULL,
		"how often functions are called" },
	[CONFIG_FUNCTION_TRACE] = { "function-trace", CONFIG_CALLS | CONFIG_ARGUMENTS, OF_CALLS | CONFIG_HAS_ARGUMENTS | CONFIG_HAS_LIMIT, NULL, NULL,
		"each call of functions, with its time, arguments and result" },
	[CONFIG_BLOCK_COUNTER] = { "block-counter", CONFIG_BLOCKS, CONFIG_HAS_BY, "block", "block\0edge\0",
		"how often basic blocks are executed" },
	[CONFIG_TRIP_COUNTER] = { "trip-counter", CONFIG_BLOCKS | CONFIG_TRIPS, 0, NULL, NULL,
		"how often loops are entered, and how often they go round" },
	[CONFIG_FALSE_SHARING] = { "false-sharing", CONFIG_MEMORY | CONFIG_TIMES, OF_ACCESSES, NULL, NULL,
		"cache lines of which threads use different bytes, and take them from each other" },
	[CONFIG_STRIDE] = { "stride", CONFIG_MEMORY, OF_ACCESSES | CONFIG_HAS_BY, "instruction", PLACES,
		"how far apart an instruction's accesses are" },
	[CONFIG_ALIGNMENT] = { "alignment", CONFIG_MEMORY, OF_ACCESSES, NULL, NULL,
		"accesses that are not aligned to their size, or cross cache lines or pages" },
	[CONFIG_BRANCH_OUTCOME] = { "branch-outcome", CONFIG_BLOCKS, 0, NULL, NULL,
		"how often conditional branches are taken, and not" },
	[CONFIG_CACHE] = { "cache", CONFIG_MEMORY, OF_ACCESSES | CONFIG_HAS_BY | CONFIG_HAS_SYSTEM, "line", PLACES,
		"hits and misses in simulated caches, empty at first, of the accesses at the location alone" },
	[CONFIG_WORKING_SET] = { "working-set", CONFIG_MEMORY, OF_ACCESSES | CONFIG_HAS_BY, "function", PLACES,
		"how many different cache lines are accessed, and how soon again" },
	[CONFIG_VALUE] = { "value", CONFIG_CALLS | CONFIG_ARGUMENTS, OF_CALLS | CONFIG_HAS_ARGUMENTS | CONFIG_HAS_TOP, NULL, NULL,
		"smallest, largest and most frequent values of arguments and results" },
};
