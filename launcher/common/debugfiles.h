/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separate debug files of ELF files, as libdwfl finds them, or beside the file itself, where `sonde archive` puts them. */
#ifndef SONDE_LAUNCHER_COMMON_DEBUGFILES_H
#define SONDE_LAUNCHER_COMMON_DEBUGFILES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* For dwfl_begin(). */
extern const Dwfl_Callbacks debugfiles_callbacks;

struct debugfiles {
	char *debug;	  /* its debug file; NULL: none, or what it says is in the file itself */
	char *debug_name; /* as the file calls it, a name without folders, or else its own with ".debug"; NULL with @debug */
	char *common;	  /* what the debug information has in common with other files (dwz); NULL: nothing, or it is not there */
};

/* Of the file at @path.  False: it cannot be read, or no memory. */
bool debugfiles_find(const char *path, struct debugfiles *files);
void debugfiles_free(struct debugfiles *files);

#endif
