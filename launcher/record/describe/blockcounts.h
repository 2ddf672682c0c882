/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control flow of functions whose blocks were counted, into the trace. */
#ifndef SONDE_LAUNCHER_RECORD_BLOCKCOUNTS_H
#define SONDE_LAUNCHER_RECORD_BLOCKCOUNTS_H

#include "injector/patch/session.h"
#include "tracefmt/write/writer.h"

/*
 * When the program has ended: @sums[@n] says by counter how often it was counted.  Functions that were not executed
 * are not described.  NULL: their order was recorded; all functions are that may have been executed.
 */
void blockcounts_finish(const struct inj_session *s, struct tf_writer *w, const uint64_t *sums, size_t n);

#endif
