/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a configuration's locations are in the files of a program: code as ranges of link-time addresses, loops by their heads,
 * variables by their addresses; and the patterns that have `sonde record' instrument what is there.
 *
 * resolve.c goes through entries, resolve-functions.c finds functions, resolve-inlined.c what was inlined and what is said of it,
 * resolve-loops.c loops and lines, resolve-variables.c variables, resolve-fields.c what is in them, resolve-named.c those that have no address of
 * their own.
 */
#ifndef SONDE_LAUNCHER_CONFIG_RESOLVE_H
#define SONDE_LAUNCHER_CONFIG_RESOLVE_H

#include <elfutils/libdwfl.h>

#include "launcher/common/lines.h"
#include "launcher/config/config.h"
#include "launcher/inspect/anatomy.h"
#include "launcher/program/program.h"
#include "launcher/select/select.h"

/* A file of the program: itself first, then its libraries, once they are asked for. */
struct config_object {
	char *path;		/* as the program is run, or the dynamic linker has it */
	char *real;		/* without symbolic links */
	enum select_kind kind;
	struct anatomy *anatomy; /* NULL: not needed yet, or no more */
	struct lines *lines;	/* likewise, or there are none */
	Dwfl *dwfl;		/* likewise */
	Dwarf *dwarf;
	uint64_t bias;		/* of the file's addresses over the debug information's */
	bool lines_asked, dwarf_asked;
};

/* Of an entry. */
struct config_range {
	size_t object;		/* of files->v */
	uint64_t lo, hi;
};

/* A field of a variable, and all that is in it. */
struct config_field {
	uint64_t lo, hi;	/* the variable, in the program's file */
	char *field;		/* ".pos": of the variable, or of all elements of the array that it is */
};

/* Which names of accesses (analysis/names/names.h) are those of a variable that has no address of its own, or of blocks of the heap. */
struct config_named {
	enum { CONFIG_OF_FUNCTION, CONFIG_OF_THREAD, CONFIG_OF_HEAP } kind;
	char *name;		/* OF_THREAD: may leave out namespaces; OF_HEAP: what gives the blocks */
	char *field;		/* as in struct config_field; "": all of it */
	char *function;		/* OF_FUNCTION: as names have it; OF_HEAP: as the user wrote it, NULL: none */
	char *file;		/* OF_HEAP: where it is allocated; NULL: not said */
	unsigned int line;
};

struct config_found {
	struct config_range *ranges;	/* of code; after resolving ascending, and not overlapping */
	size_t nranges, ranges_room;
	struct config_range *heads;	/* of the loops that were named: where they begin (lo) */
	size_t nheads, heads_room;
	struct config_range *variables;	/* whole ones */
	size_t nvariables, variables_room;
	struct config_field *fields;
	size_t nfields, fields_room;
	struct config_named *named;
	size_t nnamed, named_room;
	bool needs_heap;		/* allocations have to be recorded */
	struct config_texts also;	/* patterns of functions that are recorded so that accesses have names */
	struct config_texts patterns;	/* for -F, --mem, --blocks; the mark is the place's */
	struct config_texts libraries;	/* shell patterns: all code of files that are called so */
	struct config_texts notes;	/* for people: what a place has come to */
};

/* Another path of a file, and which it is. */
struct config_alias {
	char *path;
	size_t object;		/* SIZE_MAX: none of them */
};

struct config_files {
	const struct config *config;
	struct program program;
	struct config_object *v;
	size_t n, room;
	bool libraries_listed;
	struct config_found *found;	/* for each entry of the configuration */
	struct config_alias *aliases;	/* that were asked for */
	size_t naliases, aliases_room;
	struct nm *names;		/* of the program's variables, as they are in its file, once that is asked for */
};

/*
 * Finds all locations of @c, which has to live as long, in @program as a command's name, or in the one that @c names.  Returns 0, or
 * an exit status after a message; config_files_free() then, too.
 */
int config_resolve(struct config_files *f, const struct config *c, const char *program)
	__attribute__((warn_unused_result));
/* What takes much memory, and is not needed any more. */
void config_files_close(struct config_files *f);
void config_files_free(struct config_files *f);

/* Index in f->v of the file at @path; SIZE_MAX: it is none. */
size_t config_object_of(struct config_files *f, const char *path);
/* Is the code at @addr of the file at @path at one of the entry's places? */
bool config_holds(struct config_files *f, const struct config_found *found, const char *path, uint64_t addr);

/* Is an access there, in the program's file, to the field, or a part of it? */
bool config_is_of_field(struct config_files *f, const struct config_field *field, uint64_t addr, uint32_t size);

/* ---- between the parts; each returns 0, or an exit status after a message ---- */

/* One place of an entry, while it is looked for. */
struct config_search {
	struct config_files *f;
	const struct config_entry *entry;
	const struct config_place *place;
	struct config_found *found;
};

int config_no_memory(void);
/* NULL after a message. */
struct anatomy *config_anatomy(struct config_object *o);
/* NULL: there are none. */
struct lines *config_lines(struct config_object *o);
Dwarf *config_dwarf(struct config_object *o);
int config_list_libraries(struct config_files *f);

/* False: no memory. */
bool config_add_range(struct config_range **v, size_t *n, size_t *room, size_t object, uint64_t lo, uint64_t hi)
	__attribute__((warn_unused_result));
bool config_note(struct config_search *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));
/* As in the source; for free(). */
char *config_function_name(struct config_object *o, size_t i);

int config_find_function(struct config_search *s);
int config_find_loop(struct config_search *s);
int config_find_lines(struct config_search *s);
/* Blocks are counted, not parts of them: adds all of each block of the program that has code which was found. */
int config_add_blocks(struct config_search *s);
/* As config_variable_parse() takes it. */
int config_find_variable(struct config_search *s, const char *text, const struct config_mark *at);
/*
 * One of a function or thread, or blocks of the heap.  @near: of globals and statics, if they have been looked for.  @of_thread: a thread-local
 * symbol is called so.
 */
struct near_names;
int config_find_named(struct config_search *s, const struct config_variable *v, const struct config_mark *at, struct near_names *near, bool of_thread);
/* NULL: no memory. */
struct nm *config_names(struct config_files *f);

/* The fields of a variable, while one of them is looked for. */
#define CONFIG_SHOWN 5 /* that a message names */
struct config_paths {
	const char *shown[CONFIG_SHOWN];
	size_t n;
	bool found, typed;
};
/* One of its paths.  True: @field is there. */
bool config_see_path(struct config_paths *v, const char *path, const char *field);
/* There is no such field as @name has after @base bytes. */
int config_refuse_field(const struct config_search *s, const struct config_mark *at, const char *name, size_t base, const struct config_paths *v);
/* A path without "[]", which all arrays have; for free().  NULL: no memory. */
char *config_field_text(const char *path);
/*
 * What of @field the path of an access has not, elements apart: "", the access is to it or a part of it; more, to what it is in; NULL, to
 * another field.
 */
const char *config_field_rest(const char *path, const char *field);
void config_named_free(struct config_named *n);
/* Are they the same function that gives memory?  Some have two names, of which one is recorded. */
bool config_same_giver(const char *a, const char *b);
/* Is the function, as names have it, the one that the user has written?  Either may be without parameters. */
bool config_same_function(const char *known, const char *wanted);

/* @name is a field of the @n variables at @v, which have the same name. */
int config_find_field(struct config_search *s, const char *name, const struct config_mark *at, const struct config_range *v, size_t n);

/*
 * Where functions that @sel chooses were inlined in an object: adds code, patterns and a note of the functions that they are in, unless
 * the entry is about calls, which inlined code has none of.  @unmangled: only of C.  *n: how often.
 */
int config_find_inlined(struct config_search *s, size_t object, struct select *sel, bool unmangled, size_t *n);
/*
 * Are a C function's parameters those of @signature, "f(int, char *)", as debug information says?  Without any it is taken to be so.
 * *other: what they are, for free(), if not; what was there is freed.
 */
bool config_has_signature(struct config_object *o, uint64_t addr, const char *name, const char *signature,
			  char **other);

#endif
