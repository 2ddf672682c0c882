/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking something of a recording that runs. */
#ifndef SONDE_LAUNCHER_CONTROL_CLIENT_H
#define SONDE_LAUNCHER_CONTROL_CLIENT_H

#include <stdbool.h>

#include "launcher/control/protocol.h"

/* Calls @found for the trace's folder @dir, and for those of ranks in it.  False: it cannot be read, see errno. */
bool control_folders(const char *dir, void (*found)(void *arg, const char *dir), void *arg) __attribute__((warn_unused_result));

/*
 * Connects to what records into the folder @dir (of a rank, if there are ranks).  Returns a descriptor, or -1: errno is ENOENT
 * if nothing records there that can be controlled, EPERM if it is another user's, EPROTO if the folder's file is none of ours.
 * What a recorder that was killed has left is removed.
 */
int control_connect(const char *dir) __attribute__((warn_unused_result));

/* False: errno says why; EPROTO: the recording is another version's, ECONNRESET: it is over. */
bool control_ask(int fd, enum control_verb verb, struct control_answer *answer) __attribute__((warn_unused_result));

/* Waits until the other side has closed the connection. */
void control_await_end(int fd);

#endif
