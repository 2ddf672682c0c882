/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recording and those who control it say to each other: a request and its answer, each one message on a UNIX socket of
 * type SOCK_SEQPACKET, in the byte order of the machine that both run on.  Any number of requests on a connection.
 *
 * The socket's path is the one line of the file `control` in the folder that a job, or a rank of one, is recorded into.  Neither side trusts what the
 * other one sends: messages are checked by what is declared here before anything else looks at them.
 */
#ifndef SONDE_LAUNCHER_CONTROL_PROTOCOL_H
#define SONDE_LAUNCHER_CONTROL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_FILE "control"
#define CONTROL_MAGIC 0x6c746353u /* "Sctl" */
#define CONTROL_VERSION 1u
#define CONTROL_PROCESSES 512u
#define CONTROL_NAME 24u

enum control_verb {
	CONTROL_STATUS = 1,
	CONTROL_FLUSH,	/* what threads have recorded so far is in the files when the answer comes */
	CONTROL_STOP,	/* the recording ends; when the trace is complete, the connection does, too */
	CONTROL_ON,	/* calls are recorded from now on */
	CONTROL_OFF,	/* ... or not */
	CONTROL_SNAPSHOT, /* what a flight recorder keeps is written */
	CONTROL_VERBS,
};

enum control_error {
	CONTROL_OK,
	CONTROL_UNKNOWN,	/* of another version, or no such verb */
	CONTROL_NO_FLIGHT,	/* it is no flight recorder: all is written anyway */
	CONTROL_ERRORS,
};

/* Are calls recorded?  What switches itself is followed by the others. */
enum control_on { CONTROL_IS_OFF, CONTROL_IS_ON, CONTROL_IS_ON_IN_SOME };

struct control_request {
	uint32_t magic, version;
	uint32_t verb;		/* enum control_verb */
	uint32_t reserved;	/* 0 */
};

struct control_process {
	int32_t pid;
	uint32_t threads;	/* that are being recorded now */
	char name[CONTROL_NAME]; /* as the kernel says; ends with NUL */
};

/* How it stands after what was asked for. */
struct control_answer {
	uint32_t magic, version;
	uint32_t error;		/* enum control_error; UNKNOWN: the rest is 0 */
	uint32_t on;		/* enum control_on */
	uint64_t age;		/* ns since the recording began */
	uint64_t since;		/* ns since it was switched on or off for the last time */
	uint64_t events;	/* taken from threads so far */
	uint64_t lost;
	uint64_t bytes;		/* of all files of events and memory accesses */
	uint32_t threads;	/* that are being recorded now, of all processes */
	uint32_t nprocesses;	/* that follow, and are a part of the message: the first ones that are alive */
	struct control_process processes[CONTROL_PROCESSES];
};

/* A request that came as @bytes bytes.  OK: it is one of this version, with a known verb. */
enum control_error control_check_request(const void *message, size_t bytes, struct control_request *to);

/* How many bytes of an answer are sent. */
size_t control_answer_bytes(const struct control_answer *answer);

/* An answer that came as @bytes bytes.  False: it is none, or of another version. */
bool control_check_answer(const void *message, size_t bytes, struct control_answer *to);

/*
 * The text of the file `control`, @bytes of it: an absolute path, no control characters, short enough for a socket, and a
 * newline.  Makes a string of it.
 */
#define CONTROL_PATH 108u /* sizeof(sockaddr_un.sun_path) */
bool control_check_path(const char *text, size_t bytes, char path[static CONTROL_PATH]);

#endif
