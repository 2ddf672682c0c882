/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a trace says of the files that recorded code is from: which ones they were, and what their code is called, so that
 * no file has to be read, or be the same, when the trace is.
 */
#ifndef SONDE_LAUNCHER_RECORD_OBJECTS_H
#define SONDE_LAUNCHER_RECORD_OBJECTS_H

#include "injector/patch/session.h"
#include "tracefmt/write/writer.h"

/* Writes s->objects[i] into the metadata, once, and keeps its file open. */
void objects_publish(struct inj_session *s, struct tf_writer *w, size_t i);

/* Functions and loops of the code whose memory accesses are recorded, as far as they are new. */
void objects_places(struct inj_session *s, struct tf_writer *w);

/*
 * When the program has ended: the functions whose calls were recorded, and the source lines of all that was instrumented.
 * Debug information is not read before, nor asked of a server.
 */
void objects_finish(struct inj_session *s, struct tf_writer *w);

/*
 * From now on no server is asked.  That changes the environment of this process; so where several threads are to call
 * objects_finish() it is called before there is more than one.
 */
void objects_ask_no_server(void);

#endif
