/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket by which a recording is controlled (launcher/control/protocol.h), and a thread that waits at it.  What is asked for
 * is done by who serves the collector.  Where there is no socket recording goes on without.
 */
#ifndef SONDE_LAUNCHER_COLLECT_CONTROL_H
#define SONDE_LAUNCHER_COLLECT_CONTROL_H

#include "launcher/control/protocol.h"

struct collector;
struct control;

/* Does what @verb says while the collector is served, and says how it stands; returns when it is done. */
typedef void control_serve_fn(struct collector *c, enum control_verb verb, struct control_answer *answer);

/* A socket that others of this user can connect to, at *path, which is to be removed in the end.  -1: there is none, see errno. */
int control_socket(char path[static CONTROL_PATH]) __attribute__((warn_unused_result));

/* For a recording into @dir.  NULL: it cannot be controlled, and -v says why. */
struct control *control_begin(const char *dir, struct collector *c, control_serve_fn *serve);

/*
 * Nobody is answered any more, and nobody is in @serve when this returns.  Connections by which the end was asked for stay
 * open until this process ends.  NULL allowed.
 */
void control_end(struct control *control);

#endif
