/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the command says on stderr: one line a message, "sonde: " in front, written with a single
 * write(2) so that the lines of several ranks do not mix.  Control characters are shown as '?'.
 * errno is kept.
 */
#ifndef SONDE_LAUNCHER_COMMON_MESSAGE_H
#define SONDE_LAUNCHER_COMMON_MESSAGE_H

#include <stdbool.h>

/* Each thread has its own. */
extern _Thread_local bool msg_quiet;	/* -q: no warnings and no information; errors are always shown */
extern _Thread_local bool msg_verbose;	/* -v: msg_debug() is shown */
extern _Thread_local int msg_fd;	/* where they go; standard error */

/* What a thread says, and where: for one that works for another. */
struct msg_context {
	bool quiet, verbose;
	int fd;
};
struct msg_context msg_context(void);
void msg_become(const struct msg_context *context);

void msg_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * This thread's messages are appended to *lines (malloc'ed, NULL at first) from now on, and not shown; NULL: they are shown
 * again.
 */
void msg_hold(char **lines);
/* Shows what was held, and frees it. */
void msg_show(char **lines);

/* Exit statuses of the command's own; a program's status is passed on as it is. */
enum {
	EXIT_USAGE = 2,		/* bad options, modules, trace directory, damaged input */
	EXIT_TRACER = 125,	/* Sonde itself failed after the program was found good */
	EXIT_CANNOT_RUN = 126,	/* found, but cannot be executed or traced */
	EXIT_NOT_FOUND = 127,
};

#endif
