/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Function prototypes, from C declarations or from a library's debug information, to write wrappers from. */
#ifndef SONDE_LAUNCHER_MODULE_PROTO_H
#define SONDE_LAUNCHER_MODULE_PROTO_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/select/select.h"

/* How a value of a type is recorded. */
enum proto_class {
	PROTO_NONE = 0, /* not: structures, complex numbers, unknown types */
	PROTO_VOID,
	PROTO_I32,
	PROTO_I64,
	PROTO_U32,
	PROTO_U64,
	PROTO_F64,
	PROTO_PTR,
};

struct proto_param {
	char *decl; /* "const char *name" */
	char *name;
	enum proto_class class;
};

struct proto {
	char *symbol;	/* as in the symbol table */
	char *id;	/* a C identifier; the same but for C++ names */
	char *ret;	/* type, without the name: "char *" */
	enum proto_class ret_class;
	struct proto_param *params;
	size_t nparams;
	const char *refused; /* why no wrapper can be written; static text; NULL: one can */
};

struct proto_list {
	struct proto *v;
	size_t n;
	char **structs; /* tags of structures that the prototypes name: "struct stat" */
	size_t nstructs;
	char **headers; /* standard headers that they need */
	size_t nheaders;
};

/*
 * Appends functions that a C source declares, by libclang: of those that the source itself declares all
 * (by_source), or of all those that are wanted; with no selection (NULL), those of the file that it includes
 * first. `what` begins each message. Returns 0, or EXIT_USAGE after a message.
 */
int proto_from_source(struct proto_list *list, const char *source, const char *what, bool by_source,
		      struct select *sel) __attribute__((warn_unused_result));

/*
 * Appends the functions that the ELF file `path` exports and its debug information describes. *soname
 * (malloc'ed, NULL: none) is its name. Returns 0, or EXIT_USAGE after a message.
 */
int proto_from_dwarf(struct proto_list *list, const char *path, struct select *sel,
		     char **soname) __attribute__((warn_unused_result));

/* Takes over *p, also on failure; a name that is there already is dropped. False: no memory. */
bool proto_add(struct proto_list *list, struct proto *p);
bool proto_add_param(struct proto *p, char *decl, char *name, enum proto_class class);
/* Adds a copy of s to an array of distinct strings. */
bool proto_add_string(char ***v, size_t *n, const char *s);
void proto_free(struct proto *p);
void proto_list_free(struct proto_list *list);

#endif
