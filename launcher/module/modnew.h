/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde module new` and its parts. */
#ifndef SONDE_LAUNCHER_MODULE_MODNEW_H
#define SONDE_LAUNCHER_MODULE_MODNEW_H

#include "launcher/module/proto.h"

#include <stdio.h>

int module_new(int argc, char **argv);

/* What the text of a module is made of, apart from its functions. */
struct modtext {
	const char *name;
	const char *from;	/* where the prototypes are from, for the description */
	const char *soname;	/* the module is for programs with this library; NULL: for all */
	const char *include;	/* "<zlib.h>" or "\"/abs/mine.h\""; NULL: none */
	size_t known_structs;	/* so many of the list's structures are known from the header */
};

/* Writes a module with a wrapper for each function of the list that can be wrapped. */
void modtext_write(FILE *out, const struct modtext *m, const struct proto_list *list);

#endif
