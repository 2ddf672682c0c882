/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a rank asks the process that records others to record it, too: one message on a UNIX socket of type SOCK_SEQPACKET, with
 * descriptors.  The answers are numbers (launcher/record/waiter.h).
 *
 * Who gets it trusts none of it: it is checked by what is declared here before anything else looks at it.
 */
#ifndef SONDE_LAUNCHER_RECORD_NODE_JOIN_H
#define SONDE_LAUNCHER_RECORD_NODE_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOIN_MAGIC 0x6e6a6f53u /* "Sojn" */
#define JOIN_VERSION 1u
#define JOIN_MOST_BYTES (8u << 20) /* of a command line; the kernel takes 6 MiB */
#define JOIN_MOST_ARGS (1u << 20)
#define JOIN_MOST_RANKS (1 << 24)

/* What comes with it, in this order. */
enum {
	JOIN_STDERR,  /* where messages go */
	JOIN_ARGS,    /* a file: the command line */
	JOIN_PROGRAM, /* a pidfd of the process that is to execute the program, a child of who asks */
	JOIN_GO,      /* struct inj_forked */
	JOIN_FAILED,
	JOIN_FDS
};

struct join_request {
	uint32_t magic, version;
	uint64_t context; /* all that paths and names depend on; the same where both see the same */
	int32_t rank, ranks; /* as in struct job */
	uint32_t nargs;	  /* of sonde's own command line, with its name; each ends with NUL */
	uint32_t bytes;	  /* that they are */
};

/* A message of @bytes bytes, with @fds descriptors.  False: it is no request of this version, or makes no sense. */
bool join_check_request(const void *message, size_t bytes, size_t fds, struct join_request *to);

/*
 * The command line: @r->nargs strings, which point into @text, of @r->bytes bytes, and NULL.  The array is the caller's.
 * NULL: it is not that, or there is no memory.
 */
char **join_args(const struct join_request *r, char *text) __attribute__((warn_unused_result));

/* How many bytes its strings are; 0: too many, or too long, to be sent. */
uint32_t join_args_bytes(int argc, char *const *argv);

#endif
