/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sonde-tags.so: what the compiler knows of memory accesses, noted before optimization and found again at the end.  Nothing
 * here changes what the compiler works on.
 *
 *	text.cc		expressions of GIMPLE as source text
 *	fortran.cc	subscripts of Fortran, from the source's text
 *	notes.cc	notes, made of each function as it is in the source, kept by source location
 *	follow.cc	which note a memory reference belongs to, from pass to pass
 *	emit.cc		labels beside instructions, and the section
 *	plugin.cc	the passes
 *
 * Included after GCC's headers (see gcc.h).
 */
#ifndef SONDE_TAGS_PLUGIN_NOTES_H
#define SONDE_TAGS_PLUGIN_NOTES_H

#include <cstdint>
#include <string>
#include <vector>

/* A loop of the source. */
struct source_loop {
	int line;
	int depth;			/* 1: in no other one of its function */
	std::vector<location_t> branches; /* conditions in it that do not leave it */
};

/* An access of the source.  Strings are kept until the compiler ends. */
struct note {
	const char *expr, *variable, *type;
	const char *made_expr;		/* as text_expr() makes it */
	uint64_t size;			/* bytes; 0: not known */
	const source_loop *loop;	/* or NULL */
	bool write;
	bool direct;			/* of the variable itself, not by a pointer */
};

/* What an access was found to be. */
struct found {
	const note *source;		/* NULL: none fits */
	location_t loc;			/* with its block */
};

/* ---- text.cc ---- */

const char *text_keep(const std::string &s);	/* one copy of each */
std::string text_expr(tree expr);
/* The variable, or the pointer, that a reference starts from; "": none that has a name. */
std::string text_variable(tree ref);
const char *text_type(tree type);
std::string text_subscript(const std::string &array, const std::string &index);
const char *text_decl(tree decl);		/* NULL: it has no name in the source */

bool text_is_fortran(void);

/* ---- fortran.cc ---- */

/* Puts what the source says into the expressions of the notes of one place. */
void fortran_subscripts(location_t loc, std::vector<note *> &here);

/* ---- notes.cc ---- */

void notes_make(function *fn);
/* After functions have become part of others: which loops the copies are in. */
void notes_loops(function *fn);
/* The loop that @loc is in; NULL: none. */
const source_loop *notes_loop(location_t loc);
/* Of those at @loc the one that fits best; @ref may be NULL. */
const note *notes_find(location_t loc, bool write, tree ref);
/* A note of what @ref itself says, for a place that has none; NULL: it does not say which variable. */
const note *notes_of_reference(tree ref, bool write);

/* ---- follow.cc ---- */

void follow_before_ivopts(function *fn);
void follow_after_ivopts(function *fn);
void follow_before_expand(function *fn);
void follow_after_expand(function *fn);
void follow_forget(void);			/* the function is done */
void follow_mark(void);				/* for the garbage collector */
found follow_find(const rtx_insn *insn, const_rtx mem, bool write);
/* Has the source loop of @f a branch that the loop of this access has not? */
bool follow_ifconverted(const found &f, bool vector);

/* ---- emit.cc ---- */

void emit_init(void);
void emit_function(function *fn);

#endif
