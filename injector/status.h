/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can go wrong with another process.  Its death is a normal result.
 */
#ifndef SONDE_INJECTOR_STATUS_H
#define SONDE_INJECTOR_STATUS_H

#define INJ_CHECK __attribute__((warn_unused_result))

enum inj_status {
	INJ_OK = 0,
	INJ_GONE,	   /* the process is dead, or was killed meanwhile */
	INJ_SYSTEM,	   /* a system call of ours failed; errno says why */
	INJ_REMOTE,	   /* a system call in the process failed; errno says why */
	INJ_MEMORY,	   /* no memory here */
	INJ_NO_FILE,	   /* a file could not be read or is no ELF file */
	INJ_BAD_IMAGE,	   /* the runtime or a module cannot be loaded */
	INJ_NO_ROOM,	   /* no free addresses near enough, or the arena is full */
	INJ_NOT_SUPPORTED, /* said in a message */
};

const char *inj_status_text(enum inj_status status);

#endif
