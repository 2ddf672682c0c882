/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Thread_local bool msg_quiet;
_Thread_local bool msg_verbose;
_Thread_local int msg_fd = STDERR_FILENO;

struct msg_context msg_context(void)
{
	return (struct msg_context){ msg_quiet, msg_verbose, msg_fd };
}

void msg_become(const struct msg_context *context)
{
	msg_quiet = context->quiet;
	msg_verbose = context->verbose;
	msg_fd = context->fd;
}

#define MSG_MAX 4096
#define MSG_PREFIX "sonde: "

/* File names may hold anything; a message stays one line and leaves the terminal alone. */
static void make_printable(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < ' ' || c == 0x7f)
			s[i] = '?';
	}
}

static void write_all(const char *s, size_t len)
{
	while (len > 0) {
		ssize_t n = write(msg_fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

static _Thread_local char **held;

void msg_hold(char **lines)
{
	held = lines;
}

void msg_show(char **lines)
{
	if (*lines)
		write_all(*lines, strlen(*lines));
	free(*lines);
	*lines = NULL;
}

/* What there is no memory for is shown at once. */
static bool hold(const char *line, size_t len)
{
	size_t had = *held ? strlen(*held) : 0;
	char *v = realloc(*held, had + len + 1);

	if (!v)
		return false;
	memcpy(v + had, line, len);
	v[had + len] = '\0';
	*held = v;
	return true;
}

static void print(const char *kind, const char *fmt, va_list args)
{
	int saved = errno;
	char line[MSG_MAX];
	size_t len = (size_t)snprintf(line, sizeof(line), MSG_PREFIX "%s", kind);
	int n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);

	if (n > 0)
		len += (size_t)n < sizeof(line) - len - 1 ? (size_t)n : sizeof(line) - len - 2;
	make_printable(line, len);
	line[len++] = '\n';
	if (!held || !hold(line, len))
		write_all(line, len);
	errno = saved;
}

#define PRINT(kind_, fmt_)                                                                         \
	do {                                                                                       \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, fmt_);                                                              \
		print(kind_, fmt_, args);                                                          \
		va_end(args);                                                                      \
	} while (0)

void msg_error(const char *fmt, ...)
{
	PRINT("", fmt);
}

void msg_warn(const char *fmt, ...)
{
	if (!msg_quiet)
		PRINT("warning: ", fmt);
}

void msg_info(const char *fmt, ...)
{
	if (!msg_quiet)
		PRINT("", fmt);
}

void msg_debug(const char *fmt, ...)
{
	if (msg_verbose)
		PRINT("", fmt);
}
