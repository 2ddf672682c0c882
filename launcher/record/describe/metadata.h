/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From what the injector did to the trace's metadata and to messages for the user.
 */
#ifndef SONDE_LAUNCHER_RECORD_METADATA_H
#define SONDE_LAUNCHER_RECORD_METADATA_H

#include "injector/patch/session.h"
#include "launcher/common/options.h"
#include "tracefmt/write/writer.h"

/*
 * Writes what is new since the last call: modules, functions, events, counters.  Events are known to
 * the trace before their code can run.  Also warns of what could not be wrapped.
 */
void metadata_publish(struct inj_session *s, struct tf_writer *w, const struct record_options *o);

/* Warns of wrapped functions that exist nowhere, with names that are near. */
void metadata_warn_missing(struct inj_session *s);

#endif
