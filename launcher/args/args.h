/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --args: which arguments of recorded functions are recorded, and what they return: where they are and of which types, from DWARF.
 *
 * Each --args is a pattern of functions, as for -F, and after a colon the names of arguments; "return" is what the function
 * returns.  Without names all of them are meant.
 */
#ifndef SONDE_LAUNCHER_ARGS_ARGS_H
#define SONDE_LAUNCHER_ARGS_ARGS_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#include "injector/patch/session.h"
#include "launcher/common/options.h"
#include "tracefmt/write/writer.h"

/* What is recorded of a function: fields and values in the same order. */
struct args_function {
	struct inj_values values;
	struct tf_field entered[RT_VALUES], returned[1];
	struct tf_shape entered_shape[RT_VALUES], returned_shape[1];
};

struct args;

/*
 * @list has to live as long as the result.  *out is NULL if it is empty.  Returns 0, or an exit status after a message.  Not to be
 * used by several threads at once.
 */
int args_new(const struct opt_list *list, struct args **out) __attribute__((warn_unused_result));
void args_free(struct args *a);

/* Is a file looked at; notes which patterns match.  False: no memory. */
bool args_mark(struct args *a, struct inj_object *o);
/* After the start: warns of patterns that match nothing. */
void args_warn(struct args *a);

/* Of the function at link-time address @addr; NULL: nothing is recorded.  Warns once of each file that has no DWARF. */
const struct args_function *args_of(struct args *a, const struct inj_object *o, uint64_t addr, const char *name);

/* ---- args-file.c: functions of a file by address, for other verbs as well ---- */

struct args_entry {
	uint64_t addr;	/* link-time */
	Dwarf_Off die;
};

/* An ELF file's debug information; functions by address. */
struct args_file {
	char *path;
	Dwfl *dwfl;
	Dwarf *dwarf;
	struct args_entry *function;
	size_t nfunctions, room;
};

/* False: no memory.  Without debug information it has no functions. */
bool args_file_open(struct args_file *f, const char *path) __attribute__((warn_unused_result));
void args_file_free(struct args_file *f);
bool args_file_function(const struct args_file *f, uint64_t addr, Dwarf_Die *die);

/* ---- args-types.c ---- */

/* A scalar type, as it is recorded; type 0: it is not one. */
struct args_type {
	uint32_t type;	/* enum sonde_trace_type, STR for strings */
	uint8_t bytes;
	bool floating, is_signed;
	struct tf_label *labels; /* malloc'ed */
	size_t nlabels;
};

/* Of what @die is, by its DW_AT_type.  False: no memory. */
bool args_type(Dwarf_Die *die, struct args_type *out) __attribute__((warn_unused_result));

/* ---- args-abi.c ---- */

enum args_class { ARGS_NONE, ARGS_INTEGER, ARGS_SSE, ARGS_MEMORY };

/* The calling convention (System V ABI for x86-64, 3.2.3): how a value of the type of @die is passed; *words: of 8 bytes. */
enum args_class args_class(Dwarf_Die *die, enum args_class word[2], uint32_t *words, uint32_t *align);

/* Arguments one after the other. */
struct args_abi {
	uint32_t integers, vectors, stack; /* taken so far; stack: bytes */
	bool lost; /* where the others are is not known */
};

void args_abi_begin(struct args_abi *abi, Dwarf_Die *function);
/* Where the next argument is: @by_reference: its address.  False: not in one place. */
bool args_abi_next(struct args_abi *abi, Dwarf_Die *parameter, bool by_reference, struct rt_probe_value *value);

/* ---- args-places.c ---- */

enum args_place { ARGS_AT, ARGS_INDIRECT, ARGS_BY_ABI, ARGS_INDIRECT_BY_ABI, ARGS_LATER, ARGS_NOWHERE };

/*
 * Where DWARF says that @parameter of @function is at its first address @pc: AT, INDIRECT (at the address that is there): *value says
 * where.  BY_ABI: where it will have been put when the function has begun; until then it is where the caller has left it.
 * LATER: it is nowhere at that address, but somewhere later: code of Clang's that has not loaded it from the stack yet.
 */
enum args_place args_place(Dwarf_Die *function, Dwarf_Die *parameter, uint64_t pc, struct rt_probe_value *value);

#endif
