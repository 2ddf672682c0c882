/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at an address of code that is in an event, in a few words. */
#ifndef SONDE_LAUNCHER_TRACE_CODEPLACE_H
#define SONDE_LAUNCHER_TRACE_CODEPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "sonde/trace.h"

/* "solve.c:120"; else the function that GCC made it of; else file and address: "app+0x1234". */
void codeplace_text(const struct sonde_trace_code *code, char *text, size_t size);

/* Of the event's value "code".  False: it has none, or the trace does not say what is there. */
bool codeplace_of(const struct sonde_trace *trace, const struct sonde_trace_event *ev, char *text, size_t size);

#endif
