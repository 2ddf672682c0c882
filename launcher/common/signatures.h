/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files of signatures are used, as the user says. */
#ifndef SONDE_LAUNCHER_COMMON_SIGNATURES_H
#define SONDE_LAUNCHER_COMMON_SIGNATURES_H

#include "launcher/common/options.h"

/* --signatures, into a const char * */
#define OPT_SIGNATURES(type, member)                                                                                    \
	{ 0, "signatures", "DIR", "names of stripped functions by the *.sig in DIR, or by one FILE.sig, or 'none'", OPT_STRING, \
	  offsetof(type, member), NULL }

/*
 * @where: what --signatures says; NULL: the user's folder, then the installed one.  Before anything reads symbols.  Returns 0, or
 * EXIT_USAGE after a message.
 */
int signatures_use(const char *where) __attribute__((warn_unused_result));

/* The user's own folder, made if need be, malloc'ed; NULL: it cannot be. */
char *signatures_folder(void);

#endif
