/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line of metadata that is being read, and a function for each type of line.  These return OK, or E_CORRUPT if the line makes no
 * sense (it is then counted and left out), or E_NOMEM.
 */
#ifndef SONDE_TRACEFMT_READ_METADATA_LINE_H
#define SONDE_TRACEFMT_READ_METADATA_LINE_H

#include <jansson.h>

#include "tracefmt/read/trace-internal.h"

#define TF_LINE_ARGS 65536 /* of a program, at most */

struct tf_line {
	struct sonde_trace *t;
	struct tf_part *part;
	const json_t *line;
	char *scratch; /* room for the longest string of the line, turned into bytes */
	struct sonde_trace_message *why;
	bool first;
};

typedef enum sonde_trace_status tf_line_fn(struct tf_line *r);

/* @v, or the member @key, as a number that is not negative: JSON's own, or a string of digits.  False: it is none. */
bool tf_line_number_of(const json_t *v, uint64_t *out);
bool tf_line_number(const struct tf_line *r, const char *key, uint64_t *out);
uint64_t tf_line_number_or_0(const struct tf_line *r, const char *key);
/* A number that an int holds.  False: it is none. */
bool tf_line_int(const struct tf_line *r, const char *key, int *out);
/* 0: it is none, or not above 0. */
int tf_line_positive(const struct tf_line *r, const char *key);
/*
 * The string as bytes: characters U+F700..U+F7FF (EF 9C 80 to EF 9F BF) stand for one byte
 * each.  Valid until the next call; NULL if it is no string, or no memory.
 */
const char *tf_line_bytes(struct tf_line *r, const json_t *v);
/* The member as a string of the trace's own; @otherwise if it is not there; NULL: no memory. */
const char *tf_line_str(struct tf_line *r, const char *key, const char *otherwise);
/* The array @key of strings; what is none in it reads as "". */
const char *const *tf_line_strings(struct tf_line *r, const char *key, size_t *n);

/* code.c: what code is called, and which events it has. */
tf_line_fn tf_read_module, tf_read_object, tf_read_code, tf_read_function, tf_read_functions, tf_read_event, tf_read_counter;
/* processes.c: processes and threads. */
tf_line_fn tf_read_process, tf_read_process_end, tf_read_exec, tf_read_thread, tf_read_calls, tf_read_thread_end;
/* The name of a file in the trace; NULL: it is none, or no memory.  Valid as tf_line_bytes() is. */
const char *tf_get_file(struct tf_line *r);
/* recording.c: how, and how much of it, was recorded. */
tf_line_fn tf_read_recording, tf_read_cost, tf_read_sampled, tf_read_flight, tf_read_max_size, tf_read_older, tf_read_budget,
	tf_read_chosen, tf_read_bursts, tf_read_switch;

#endif
