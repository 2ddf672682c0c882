/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A selection from inside: what select.c and select-miss.c share. */
#ifndef SONDE_LAUNCHER_RECORD_SELECT_STATE_H
#define SONDE_LAUNCHER_RECORD_SELECT_STATE_H

#include "launcher/record/select-pattern.h"

struct select_lib {
	const char *glob;
	bool hit, said;
};

struct select {
	const char *option; /* that said what is wanted */
	struct pattern_list wanted, excluded;
	struct select_lib *libs;
	size_t nlibs;
	uint64_t min_size;
	bool is_static; /* the program */
};

/* Notes names like those words of the selection that have no hit, among a file's symbols. */
void select_note_near(struct pattern_list *list, const struct inj_symtab *tab);

#endif
