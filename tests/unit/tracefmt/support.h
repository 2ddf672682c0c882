/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tests of tracefmt/ have in common: records as a program writes them, traces to put
 * them in.
 */
#ifndef SONDE_TESTS_UNIT_TRACEFMT_SUPPORT_H
#define SONDE_TESTS_UNIT_TRACEFMT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/write/writer.h"

/* The upper bits of the time-stamp counter matter.  No machine that runs these tests is so late: the time of closing is none of the trace. */
#define BASE_TSC (UINT64_C(5) << 58 | 0x3456789abcd)
#define BASE_MONO (UINT64_C(1) << 60) /* later than any real clock: those are not used then */

/* Functions 0..NFUNCTIONS-1; their events. */
#define NFUNCTIONS 40u
#define ENTER(f) (16u + 3 * (f))
#define LEAVE(f) (17u + 3 * (f))
#define POINT(f) (18u + 3 * (f))
#define RICH 1u /* enter: (i32, str, ptr), leave: (f64, i64), point: (str, bytes, u32, u64) */
#define WAITS 2u /* its enter has a field of type wait, and nothing else */
#define APART 3u /* likewise, of type apart */

/* Functions p0, p1, ... that probes record; their ids begin at NFUNCTIONS, their counts at 5. */
#define NPROBES 200u
#define PROBE_ENTER(i) (1000u + 2 * (i))
#define PROBE_LEAVE(i) (1001u + 2 * (i))
#define PROBE_COUNT(i) (5u + (i))
#define PROBE_ENTRY(i) (UINT64_C(0x555555555000) + 0x40 * (uint64_t)(i)) /* where it begins */
#define WRAP_ENTRY(f) (UINT64_C(0x7f0000001000) + 0x40 * (uint64_t)(f)) /* of functions 0..NFUNCTIONS-1 */

/* Numbers that differ from run to run only if SONDE_TEST_SEED says so. */
uint64_t random_bits(void);
uint32_t random_below(uint32_t n);

/* A sub-buffer that ends at a page that cannot be touched. */
struct image {
	uint64_t *word;
	uint32_t room; /* bytes */
	uint32_t used;
	uint64_t *mapping;
};

void image_init(struct image *im, uint32_t room);
void image_free(struct image *im);
void image_clear(struct image *im);

/* Appends words; false: no room. */
bool image_put(struct image *im, const uint64_t *word, uint32_t n);

/* Appends records. */
void image_enter(struct image *im, uint64_t tsc, uint32_t f, uint64_t addr);
void image_leave(struct image *im, uint64_t tsc, uint32_t f);
void image_probe(struct image *im, uint64_t tsc, uint32_t event, uint64_t addr);

/* A new trace in directory @name with all functions and events in it. */
struct tf_writer *new_trace(const char *name, int rank);
void describe_functions(struct tf_writer *w);
void end_trace(struct tf_writer *w);

struct tf_thread *new_thread(struct tf_writer *w, int pid, int tid);
void end_thread(struct tf_thread *t);

/* Drains all of the image; returns where it stopped. */
uint32_t drain_image(struct tf_thread *t, const struct image *im, bool final, uint64_t now);

/* Writes a trace of one thread from an image. */
void write_trace(const char *name, const struct image *im, uint64_t now);

/* Opens a trace that must open. */
struct sonde_trace *open_trace(const char *name);

/* A whole file in memory, malloc'ed; and back. */
uint8_t *read_file(const char *path, size_t *size);
void write_file(const char *path, const void *data, size_t size);

/* The first file PID.TID*.sonde in a directory. */
void thread_file(const char *dir, char *path, size_t room);

void remove_trace(const char *dir);

/* An own directory to work in, removed at the end of the process. */
int enter_directory(void **state);
int leave_directory(void **state);

#endif /* SONDE_TESTS_UNIT_TRACEFMT_SUPPORT_H */
