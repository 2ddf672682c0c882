/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recording of a process that runs already.
 *
 *	attached_find()		which process, which program; nothing is done to it
 *	recording_prepare()
 *	attached_begin()	instrumented, its trace begun, its rings drained
 *	attached_leave()	it goes on as it was before
 */
#ifndef SONDE_LAUNCHER_RECORD_ATTACH_ATTACHED_H
#define SONDE_LAUNCHER_RECORD_ATTACH_ATTACHED_H

#include "launcher/record/recording.h"

/* @text: the number of a process.  0, or an exit status after a line that says why it cannot be attached to. */
int attached_find(struct recording *r, const char *text) __attribute__((warn_unused_result));

/* Likewise; then the process is as it was before, and there is no trace of it. */
int attached_begin(struct recording *r) __attribute__((warn_unused_result));

/*
 * Takes all out of its process, if that still runs the program, and of children that have inherited it.  For a program that such
 * a process has executed, too.
 */
void attached_leave(struct recording *r);

#endif
