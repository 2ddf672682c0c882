/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of values: the metadata has them, and events show them in place of the numbers. */
#ifndef SONDE_TRACEFMT_READ_LABELS_H
#define SONDE_TRACEFMT_READ_LABELS_H

#include <jansson.h>

#include "tracefmt/read/trace-internal.h"

/*
 * From a list of [value, "name"]; what @name_of makes of a name's JSON may be NULL: it is none.  Errors: NOMEM; CORRUPT: it is no
 * such list, or too long.
 */
enum sonde_trace_status tf_labels_read(struct tf_arena *arena, const json_t *list,
				       const char *(*name_of)(void *arg, const json_t *name), void *arg,
				       const struct sonde_trace_labels **out);

/* Adds the name of @value to @text, or the number. */
void tf_labels_put(struct tf_buf *text, const struct sonde_trace_labels *labels, int64_t value);

#endif
