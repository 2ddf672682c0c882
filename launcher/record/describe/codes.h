/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is at the places in the program's code whose addresses are in events. */
#ifndef SONDE_LAUNCHER_RECORD_CODES_H
#define SONDE_LAUNCHER_RECORD_CODES_H

#include "injector/patch/session.h"
#include "tracefmt/write/writer.h"

/* When the program has ended: writes function, file and source line of all of them. */
void codes_finish(struct inj_session *s, struct tf_writer *w);

#endif
