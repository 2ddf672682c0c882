/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a module's wrappers without an injector: a pool behind GS, a buffer in place of a ring, the
 * genuine functions behind SONDE_REAL().  One module and one thread at a time.  What a wrapper
 * records is compared as text.  A failure of the harness itself fails the test.
 */
#ifndef SONDE_TESTS_UNIT_MODULES_HARNESS_H
#define SONDE_TESTS_UNIT_MODULES_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sonde/abi.h>

extern struct sonde_pool harness_pool;	/* of the calling thread */
extern const struct sonde_module *harness_module;
extern unsigned int harness_room_calls; /* how often the buffer was full */
extern bool harness_opens;		/* a pool for code that no wrapper has called */
extern bool harness_room_refuses;	/* then nothing is recorded */

/*
 * Loads the module at @path; lookup() gives the original function of a symbol (NULL: there is
 * none).  Every site gets an id, the pool is opened, the buffer emptied.
 */
void harness_load(const char *path, void *(*lookup)(const char *symbol));
void harness_unload(void);

/* Finds a function of the program, as lookup() above. */
void *harness_libc(const char *symbol);

/* A file of the build tree: the folder is what tests/run exports as top_builddir. */
const char *harness_built(const char *file);

/* The wrapper of a symbol; fails the test where there is none. */
void *harness_wrapper(const char *symbol);
#define WRAPPER(function) ((__typeof__(&function))harness_wrapper(#function))

/* Leaves only this much room before the next call of room(). */
void harness_leave_room(uint64_t bytes);

/*
 * The next record must read like this: "enter|leave|point FUNCTION[.POINT] FIELD=VALUE ...", where
 * pointers are hexadecimal, strings are quoted, and what is said of the time
 * is "wait", "wait:CLASS" or "apart:CLASS".
 */
void harness_expect(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* There must be no more. */
void harness_expect_end(void);
/* The next record as such a text, in a static buffer; NULL: no more. */
const char *harness_next(void);
/* Forgets what was recorded so far. */
void harness_empty(void);
uint64_t harness_counter(const char *name);

#endif
