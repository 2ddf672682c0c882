/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket by which a job's recordings are controlled (launcher/control/protocol.h).  Where there is none recording goes on
 * without.
 */
#ifndef SONDE_LAUNCHER_CONTROL_SERVER_H
#define SONDE_LAUNCHER_CONTROL_SERVER_H

#include "launcher/control/protocol.h"

struct control;

/* Does what @verb says, and says how it stands. */
typedef void control_serve_fn(void *arg, enum control_verb verb, struct control_answer *answer);

/* A socket that others of this user can connect to, at *path, which is to be removed in the end.  -1: there is none, see errno. */
int control_socket(char path[static CONTROL_PATH]) __attribute__((warn_unused_result));

/* For recording into @dir; @events, an epoll descriptor, can be read when somebody asks.  NULL: it cannot be controlled, and -v says why. */
struct control *control_begin(const char *dir, int events);

/* Has all done that has been asked for.  NULL allowed. */
void control_serve(struct control *control, control_serve_fn *serve, void *arg);

/* Nobody is answered any more.  Connections stay open until this process ends: by that, who asked for the end sees it.  NULL allowed. */
void control_end(struct control *control);

#endif
