// SPDX-License-Identifier: GPL-3.0-or-later
/* What file.c and file-data.c share: the data of a file, which file-data.c reads when an address in it is asked for first. */
#ifndef SONDE_ANALYSIS_NAMES_FILE_PRIVATE_H
#define SONDE_ANALYSIS_NAMES_FILE_PRIVATE_H

#include "analysis/names/names-private.h"

/* Ascending by address; reach: the highest end up to here. */
struct nm_datum {
	uint64_t begin, end, reach; /* in the file; of thread-local storage: in its block */
	const char *name;	    /* of symbols and sections */
	Dwarf_Die die;		    /* of debug information */
	const char *space;	    /* "ns::": namespaces and modules around it; NULL: none */
	const char *above;	    /* function, with these, or common block around it; NULL: none */
	bool tls, is_local;
	enum { IN_NOTHING, IN_FUNCTION, IN_COMMON } in;
	struct nm_entry *entry;	    /* NULL: not yet asked for */
};

struct nm_data {
	struct nm_datum *v;
	size_t n, room;
};

/* A variable that is declared in a namespace. */
struct nm_declaration {
	const void *die;
	const char *space;
};

/* A common block, as some function declares it. */
struct nm_common {
	const char *symbol;
	Dwarf_Die die;
};

struct nm_file {
	struct nm *nm;
	char *path, *file;
	uint64_t load, begin, end; /* in memory */
	uint64_t tls_size, tls_offset; /* of the block; from its begin to the thread pointer */
	bool program, is_read, failed;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	GElf_Addr bias;	   /* of addresses by libdwfl: what was added to those in the file */
	struct nm_declaration *declared;
	size_t ndeclared, room_declared;
	struct nm_common *commons; /* each symbol once */
	size_t ncommons, room_commons;
	char **text;	   /* spaces, functions in them */
	size_t ntexts, room_texts;
	struct nm_scopes scopes;
	Dwarf_Die unit;	   /* that code was looked for in last; unit.addr NULL: none */
	struct nm_data variables, symbols, sections, tls_variables, tls_symbols;
};

/* Reads its variables, symbols and sections, unless that has been done.  False: no memory. */
bool nm_file_read(struct nm_file *f) __attribute__((warn_unused_result));

/* The best that has a byte at @addr; NULL: nothing. */
struct nm_datum *nm_data_at(struct nm_data *d, uint64_t addr);

#endif
