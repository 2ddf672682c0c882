/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this part share. */
#ifndef SONDE_LAUNCHER_ARGS_ARGS_PRIVATE_H
#define SONDE_LAUNCHER_ARGS_ARGS_PRIVATE_H

#include "launcher/args/args.h"
#include "launcher/select/select.h"

/* One --args. */
struct args_rule {
	const char *text; /* as the user wrote it */
	char *pattern;
	const char *names; /* separated by commas; NULL: all */
	struct select_options select_options;
	struct select *select;
	bool warned;
};

struct args {
	struct args_rule *rule;
	size_t nrules;
	struct args_file *file;
	size_t nfiles, room_files;
	struct args_function **function;
	size_t nfunctions, room_functions;
};

struct args_wanted {
	const struct args_rule *rule;
	size_t nrules;
	bool *matches; /* by rule */
	bool all;
};

bool args_wants(const struct args_wanted *w, const char *name);

/* ---- args-function.c ---- */

/* Names of all arguments go to @has, separated by commas.  False: no memory. */
bool args_function(Dwarf_Die *die, uint64_t addr, const char *symbol, const struct args_wanted *w, struct args_function *f,
		   char *has, size_t size) __attribute__((warn_unused_result));

#endif
