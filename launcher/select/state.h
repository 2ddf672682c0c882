/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A selection from inside: what select.c and miss.c share. */
#ifndef SONDE_LAUNCHER_SELECT_STATE_H
#define SONDE_LAUNCHER_SELECT_STATE_H

#include "launcher/select/pattern.h"

struct select_lib {
	const char *glob;
	bool hit, said;
};

struct linecode_kept;
struct select_file;

struct select {
	const char *option; /* that said what is wanted; "": an operand */
	const struct sonde_trace *trace; /* whose functions it is asked of; NULL: those of files */
	struct linecode_kept *kept; /* of the trace */
	struct select_file *files; /* kept open by select_wants_in() */
	struct pattern_list wanted, excluded;
	struct select_lib *libs;
	size_t nlibs;
	uint64_t min_size;
	bool any, small; /* functions are chosen; some are not, as they are smaller than @min_size */
	bool small_said;
	bool guess;
	bool is_static; /* the program */
};

#endif
