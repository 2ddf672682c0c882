/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions a user means, with -F, -N, --libs and --min-size, or as an operand: of a program that is
 * recorded, of a file, of a trace.  A pattern is
 *
 *	GLOB		a shell pattern for a whole name, in any of the forms that launcher/select/names.h lists:
 *			as in the symbol table, or as in the source; without parameters and a template's arguments,
 *			or with those that the pattern has, too
 *	/REGEX/		a POSIX extended regular expression, found anywhere in such a name
 *	@FILE:LINE	functions that contain code of this line; FILE may leave out leading folders
 *	PATTERN@LIB	any of them in one file only: LIB is a shell pattern for its name, which may end
 *			before a '.' or '-' (libc for libc.so.6)
 *
 * Without @LIB, -F means the program itself, and the libraries that --libs chooses; -N means all files, and
 * so does -F of a trace.  The dynamic linker is left alone, unless LIB begins with "ld".  -N wins over -F.
 */
#ifndef SONDE_LAUNCHER_SELECT_SELECT_H
#define SONDE_LAUNCHER_SELECT_SELECT_H

#include "injector/facts/facts.h"
#include "injector/image/symbols.h"
#include "launcher/common/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/select/near.h"

struct select;

/*
 * NULL: a bad pattern, or no memory; one line into problem[size].  @o and the strings in it have to live
 * as long as the result.  Without any function patterns nothing is chosen.  Not to be used by several
 * threads at once.
 */
struct select *select_new(const struct select_options *o, char *problem, size_t size);
void select_free(struct select *sel);

/* The lists of what the user said. */
void select_options_free(struct select_options *o);

enum select_kind { SELECT_PROGRAM, SELECT_LIBRARY, SELECT_LINKER };

/*
 * May any function of this file be wanted?  Tells by its name alone.  To be asked of every file that is
 * loaded: it also notes which libraries were there.
 */
bool select_object(struct select *sel, const char *path, enum select_kind kind);

/* Do names, or lines, tell what is wanted?  Else select_mark() does without symbols. */
bool select_asks_names(const struct select *sel);

/*
 * Sets wanted[i] for each of facts->facts.nfns functions, with all their names in @tab (NULL: see above).  Parts (foo.cold)
 * are never wanted themselves; a line in a part chooses its function.  Returns how many are wanted, or
 * -1: no memory.
 */
ssize_t select_mark(struct select *sel, const char *path, enum select_kind kind,
		    const struct inj_codefacts *facts, const struct inj_symtab *tab, bool *wanted);

/* One function by itself; path and kind as they were given to select_open(). */
struct select_function {
	uint64_t addr, size;	  /* link-time */
	const char *const *names; /* mangled; all of its names */
	size_t nnames;
};

struct select_file;
/* What select_mark() consists of.  NULL: no memory. */
struct select_file *select_open(struct select *sel, const char *path, enum select_kind kind);
bool select_wants(struct select_file *file, const struct select_function *fn);
void select_close(struct select_file *file);
/* The function is not wanted: if its name is like a pattern that has no hit yet, that is kept for the user. */
void select_note_near(struct select_file *file, const struct select_function *fn);

/*
 * The same of one function after the other, of files in any order: each is opened once, and stays so until
 * select_free().  Names that are like those patterns which have no hit yet are noted.  Of no selection
 * (NULL), all are wanted.
 */
bool select_wants_in(struct select *sel, const char *path, const struct select_function *fn);

/* Is any pattern for another file than this one (PATTERN@LIB)? */
bool select_needs_libraries(const struct select *sel, const char *path);

/* The program is static: a pattern for any library is none that matched nothing. */
void select_no_libraries(struct select *sel);

/* ---- what matched nothing ---- */

enum select_why {
	SELECT_NO_FUNCTION,   /* no name of a function is like it */
	SELECT_NO_LIBRARY,    /* no such file was loaded */
	SELECT_NO_DEBUG_INFO, /* @FILE:LINE, and no file had line numbers */
	SELECT_NO_SOURCE,     /* @FILE:LINE, and no file was made from FILE */
	SELECT_NO_CODE,	      /* @FILE:LINE, and there is no code at the line */
	SELECT_OTHER_FILE,    /* @FILE:LINE, and the file is not the one that was recorded, or not there */
	SELECT_STATIC,	      /* the program has no libraries */
	SELECT_NO_SYMBOLS,    /* no function is known, neither by symbols nor by the unwind table */
	SELECT_STRIPPED,      /* functions are known, but no names */
	SELECT_GO_STRIPPED,   /* the same of code made by Go, whose own tables are not read */
};

struct select_miss {
	const char *option;  /* "-F", "-N", "--libs", ...; "": an operand */
	const char *pattern; /* as the user wrote it */
	enum select_why why;
	bool in_trace;	     /* it was asked of a trace */
	bool more_libraries; /* functions of libraries were not asked */
	const struct near_names *near; /* names like it; NULL: none */
};

/*
 * The patterns so far without a hit, one after the other: *at is 0 at first.  false: no more.  A hit is a
 * function of that name, also if -N or --min-size decide against it.
 */
bool select_next_miss(const struct select *sel, size_t *at, struct select_miss *miss);

#define SELECT_MISS_TEXT 1024 /* enough for most; longer patterns are cut off */

/* "-F solv: no such function; did you mean 'solve'?" */
void select_miss_text(const struct select_miss *miss, char *buf, size_t size);

/*
 * Warns of them, of each once.  Unless @final, those that wait for a library which may still be loaded
 * are not mentioned.  Returns how many warnings.
 */
size_t select_warn(struct select *sel, bool final);
/* What was warned of libraries for @before is not said again for @sel. */
void select_said_libraries(struct select *sel, const struct select *before);

/* One line of error that no function of @path is chosen: because of the first of them, if there is any. */
void select_say_none(const struct select *sel, const char *path);

#endif
