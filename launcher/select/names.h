/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function's name in the forms in which a user may write it, beside the one of the symbol table:
 *
 *	_ZN3num5solveIdEEvT_i	num::solve<double>	num::solve	num::solve<double>(double, int)	num::solve(double, int)
 *	_Z4nameB5cxx11i		name			name(int)	(without tags of the ABI)
 *	__phys_MOD_relax	phys::relax		relax		(gfortran; also phys_mp_relax_, _QMphysPrelax)
 *	relax_			relax			(Fortran, outside of modules)
 *	solve.constprop.0	solve			(what compilers append to clones, and to nested functions)
 */
#ifndef SONDE_LAUNCHER_SELECT_NAMES_H
#define SONDE_LAUNCHER_SELECT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_MAX_FORMS 5

enum name_form_kind {
	NAME_PLAIN,	     /* of its own: for any pattern */
	NAME_NO_TEMPLATE,    /* without a template's arguments: for patterns that have none */
	NAME_PARAMS,	     /* with parameters: for patterns that have some */
	NAME_PARAMS_NO_TEMPLATE,
};

struct name_form {
	char *text;
	enum name_form_kind kind;
};

/* Zero but for symbol: forms are made when they are asked for. */
struct function_name {
	const char *symbol;
	struct name_form form[NAME_MAX_FORMS];
	size_t nforms;
	size_t nplain; /* forms without parameters: the first ones; of them the first is for people */
	bool made, made_params;
};

/* Their number, with parameters or without; none if there is no memory. */
size_t function_name_forms(struct function_name *name, bool params);
void function_name_free(struct function_name *name);

/* As a programmer has written it, without parameters; what the symbol table has if that is all there is. */
const char *function_name_shown(struct function_name *name);

/* By C++ or Rust. */
bool function_name_is_mangled(const char *symbol);

/* Where the parameters begin, in a pattern or a demangled name; NULL: there are none. */
const char *function_name_params(const char *text);

/* After the word "operator" at @s, and the characters after it that belong to the name. */
const char *function_name_behind_operator(const char *s);

/* The part of a name after its last "::", up to @end; of "a::b<c::d>::e(f::g)" it is "e". */
const char *function_name_own(const char *text, const char *end);

#endif
