/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this part share. */
#ifndef SONDE_ANALYSIS_NAMES_NAMES_PRIVATE_H
#define SONDE_ANALYSIS_NAMES_NAMES_PRIVATE_H

#include <elfutils/libdw.h>

#include "analysis/names/blocks.h"
#include "analysis/names/names.h"

/* ---- types.c: what types say, whatever is in the file ---- */

#define NM_DEPTH 32 /* of types in each other */

/* The type of a variable, member or element, without typedefs and qualifiers.  False: it has none, or it is damaged. */
bool nm_type_of(Dwarf_Die *of, Dwarf_Die *type);
/* Bytes of a type that nm_type_of() gave; 0: not known. */
uint64_t nm_type_size(Dwarf_Die *type);
/*
 * Each variable of a Fortran common block of that size, with its offset and size, as its declarations say, if these give exactly that
 * size; else none.  False: @variable returned that.
 */
typedef bool (*nm_common_fn)(void *arg, Dwarf_Die *variable, uint64_t offset, uint64_t size);
bool nm_common_each(Dwarf_Die *common, uint64_t size, nm_common_fn variable, void *arg);
/* Elements of an array, of all dimensions; 0: not known.  *dimensions: at least 1. */
uint64_t nm_type_count(Dwarf_Die *array, unsigned int *dimensions);
/* As C writes the type of @of, without qualifiers: malloc'ed; NULL: no memory.  @element: without arrays. */
char *nm_type_name(Dwarf_Die *of, bool element);
/* What a function or variable is called, demangled if it has a symbol; malloc'ed.  NULL: no memory. */
char *nm_symbol_name(const struct nm *nm, Dwarf_Die *die);
/* Where a member is in its structure.  False: not known. */
bool nm_member_offset(Dwarf_Die *member, uint64_t *offset);
/* Is it an array whose data are elsewhere: Fortran's allocatable ones, and pointers? */
bool nm_is_descriptor(Dwarf_Die *array);

/* ---- fields.c: the tree of paths in a variable, made as it is asked for ---- */

struct nm_field {
	struct nm_name name;
	enum { NM_LEAF, NM_ARRAY, NM_STRUCT } shape;
	bool open;	/* its parts are known */
	unsigned int depth;
	Dwarf_Die type;	/* if it has one */
	uint64_t size;	/* 0: not known */
	uint64_t stride; /* ARRAY: from one element to the next; 0: not known */
	struct nm_field *element; /* ARRAY */
	struct nm_field *all;	  /* STRUCT, of a union: what no single member is known of; NULL: itself */
	struct nm_part *part;	  /* STRUCT */
	size_t nparts, room;
};

struct nm_part {
	uint64_t begin, end;
	struct nm_field *field;
};

/* A variable, and what is known of it. */
struct nm_entry {
	struct nm_variable v;
	char *name, *scope, *type, *element, *file, *callers; /* its own; what v says */
	struct nm_field *root;
	unsigned int fields; /* so far */
};

/*
 * Which other accesses have the same name: those to offsets in [lo, hi), after the remainder by stride, if that is not 0.  Those of which all
 * bytes are there, that is.  lo == hi: not known.
 */
struct nm_extent {
	uint64_t stride, lo, hi;
};

/* Finds the parts of a field.  False: no memory. */
bool nm_field_open(struct nm *nm, struct nm_entry *e, struct nm_field *f);
/* The field of @size bytes at @offset in a variable.  NULL: no memory. */
struct nm_field *nm_field_at(struct nm *nm, struct nm_entry *e, uint64_t offset, uint64_t size, struct nm_extent *same);

/* e->root, by the type of @variable; NULL: without a type.  @many: it is an array of that.  False: no memory. */
bool nm_root_new(struct nm *nm, struct nm_entry *e, Dwarf_Die *variable, bool many);
/* One, without those in it. */
void nm_field_free(struct nm_field *f);

/* ---- names.c ---- */

struct nm_known_site {
	uint64_t code;
	Dwarf_Die pointer; /* that it is put into; addr NULL: not known */
	bool asked;	   /* for that */
	bool in_stream;
	char *object;
	struct nm_entry *entry;
};

/* A variable in frames; die NULL: all else in those of a function. */
struct nm_local {
	const void *die, *function;
	struct nm_entry *entry; /* NULL: free */
};

struct nm_pointer {
	uint64_t insn; /* 0: free */
	Dwarf_Die pointer;
};

/* Blocks of a site that are accessed by a pointer of a type. */
struct nm_typed {
	uint32_t site;
	const void *type;
	struct nm_entry *entry; /* NULL: free */
};

/* What is at an offset of the frame at an instruction. */
struct nm_spot {
	const struct nm_insn *insn;
	int64_t offset, begin;
	uint64_t size; /* 0: no variable */
	bool throughout; /* nor is there one at another offset */
	struct nm_entry *entry; /* NULL: free */
};

struct nm {
	struct nm_options o;
	struct nm_file **file; /* objects, ascending by address */
	size_t nfiles, room_files;
	struct nm_entry **entry; /* by index */
	size_t nentries, room_entries;
	struct nm_field **field; /* by index of name */
	size_t nfields, room_fields;
	struct nm_insn **insn; /* hashed */
	size_t ninsns, room_insns;
	struct nm_pointer *pointer; /* likewise */
	size_t npointers, room_pointers;
	uint64_t *through; /* functions whose pointers are known, likewise */
	size_t nthrough, room_through;
	struct nm_typed *typed; /* likewise */
	size_t ntyped, room_typed;
	struct nm_local *local; /* likewise */
	size_t nlocals, room_locals;
	struct nm_spot *spot; /* likewise */
	size_t nspots, room_spots;
	struct nm_entry *unknown, *ambiguous;
	struct nm_known_site *site;
	size_t nsites, room_sites;
	struct nm_history history;
	struct nm_past **past;
	size_t npast, room_past;
	struct nm_entry *tcb, *stack; /* NULL: not yet asked for */
};

/*
 * A copy of *v with an index and a name for the whole; strings are copied.  @variable: whose type it has; NULL: none.  @many: so many of
 * that type as there are.  NULL: no memory.
 */
struct nm_entry *nm_entry_new(struct nm *nm, const struct nm_variable *v, Dwarf_Die *variable, bool many);
/* Registers a field, and gives its name an index.  False: no memory. */
bool nm_field_add(struct nm *nm, struct nm_field *field);
/* place->name by the access, from place->begin on; *same: of offsets from there.  @e NULL: as no memory.  False: no memory. */
bool nm_place_of(struct nm *nm, struct nm_entry *e, uint64_t addr, uint32_t size, struct nm_place *place, struct nm_extent *same);
/* *area, made if it is NULL: a part of memory of which no more is known. */
struct nm_entry *nm_area(struct nm *nm, struct nm_entry **area, enum nm_kind kind, const char *name);
/* NULL: there is none. */
struct nm_file *nm_file_at(const struct nm *nm, uint64_t addr);

/* ---- file.c: the data of a program or library ---- */

struct nm_file;

/* Not opened yet: addresses and nothing else.  NULL: no memory. */
struct nm_file *nm_file_new(struct nm *nm, const struct nm_object *o);
void nm_file_free(struct nm_file *f);
/*
 * scopes.c: functions of the units that were asked for, in order, and the scopes that the last address is in.  All zero at
 * first; freed with the file.
 */
struct nm_scopes {
	struct nm_unit_code *units;
	size_t nunits, room;
	Dwarf_Die *v;
	int n;
	unsigned int room_v;
	const void *unit;
	uint64_t pc; /* as libdw has it */
};
void nm_scopes_free(struct nm_scopes *s);
/*
 * The scopes of code, *n of them, the innermost first: blocks and inlined functions, and last the function that they are in.  NULL:
 * there are none.  *bias: of addresses in the file over those in debug information.  They live until the next call for the file.
 */
Dwarf_Die *nm_scopes_at(struct nm_file *f, uint64_t in_file, uint64_t *bias, int *n);
struct nm_scopes *nm_file_scopes(struct nm_file *f);
bool nm_file_is(const struct nm_file *f, const struct nm_object *o);
bool nm_file_is_program(const struct nm_file *f);
/* The file's bytes at @addr in memory, *n of them; NULL: there are none. */
const unsigned char *nm_file_bytes(struct nm_file *f, uint64_t addr, size_t *n);
const char *nm_file_path(const struct nm_file *f);
/* An address in memory, in the file. */
uint64_t nm_file_address(const struct nm_file *f, uint64_t addr);
/* NULL: it cannot be read.  Addresses of libdwfl's are those in the file, and the bias. */
Dwfl_Module *nm_file_module(const struct nm_file *f);
uint64_t nm_file_bias(const struct nm_file *f);
/* The unit of debug information with that code; *bias: of addresses in the file over those in it.  NULL: none. */
Dwarf_Die *nm_file_unit(struct nm_file *f, uint64_t in_file, uint64_t *bias);
/* Where it is in memory. */
uint64_t nm_file_begin(const struct nm_file *f);
uint64_t nm_file_end(const struct nm_file *f);

/* What is at @addr in memory: *begin, *size as in struct nm_place.  NULL: no memory; nm->unknown: nothing is known. */
struct nm_entry *nm_file_find(struct nm_file *f, uint64_t addr, uint64_t *begin, uint64_t *size);
/* If that is a section, or nothing: it is the same for accesses that begin in [*lo, *hi). */
void nm_file_gap(const struct nm_file *f, uint64_t addr, uint64_t *lo, uint64_t *hi);
/* Where a variable is in the file, or in the block of thread-local storage, if it is always in one place. */
bool nm_file_place(struct nm_file *f, Dwarf_Die *die, uint64_t *addr, bool *tls);
/* The variable that begins at @addr in memory, by debug information. */
bool nm_file_variable(struct nm_file *f, uint64_t addr, Dwarf_Die *variable);
/* Likewise of the program's own thread-local storage of the thread with thread pointer @fs. */
struct nm_entry *nm_file_find_tls(struct nm_file *f, uint64_t addr, uint64_t fs, uint64_t *begin, uint64_t *size);
/* Where that begins. */
uint64_t nm_file_tls(const struct nm_file *f, uint64_t fs);

uint64_t nm_file_load(const struct nm_file *f);

/* ---- heap.c: blocks, and what they are taken for ---- */

/* Blocks of @site as arrays of what the pointer points to that the instruction accesses them by, or that they were put into.  NULL: no memory. */
struct nm_entry *nm_heap_find(struct nm *nm, uint64_t insn, uint32_t site, uint64_t size);
/* Likewise, of the site of a block that has entry @e, by the pointer alone that they were put into; *put NULL: not known.  False: no memory. */
bool nm_heap_entry(struct nm *nm, const struct nm_entry *e, struct nm_entry **put);

/* ---- insn.c: what an instruction says of the stack ---- */

struct nm_insn {
	uint64_t insn;
	uint64_t returns; /* a call: to where; else 0 */
	bool shows_frame; /* its function's CFA is the address that it accesses, and: */
	bool below;	  /* it accesses memory by the stack pointer, and the CFA is known by rbp */
	bool leaves;	  /* it returns: the frame is over then */
	bool varies;	  /* but that address has an index: it is somewhere on the stack */
	int64_t to_cfa;
	bool asked;	  /* nm_pointer_find() was: */
	Dwarf_Die pointer;
};

/* Kept until nm_free(). NULL: no memory. */
struct nm_insn *nm_insn(struct nm *nm, uint64_t insn);

/* ---- frame.c: variables in a function's frame ---- */

/* The CFA is the register and so many bytes; DWARF's number, -1: not known. */
struct nm_rule {
	int reg;
	int64_t offset;
};

/* At an instruction, its address in the file.  False: it is computed in no simple way. */
bool nm_frame_rule(struct nm_file *f, uint64_t in_file, struct nm_rule *rule);

struct nm_in_frame {
	Dwarf_Die die;
	int64_t begin; /* from the CFA on */
	uint64_t size;
	Dwarf_Die function; /* of the variable, or the innermost one at the instruction; function.addr NULL: not known */
	bool unknown; /* there is no debug information of the function */
};

/* False: at this offset from the CFA there is no variable there; found->function says more. */
bool nm_frame_find(struct nm_file *f, uint64_t in_file, int64_t offset, struct nm_in_frame *found);

/* The variable that is in a register (the processor's number) at an instruction.  False: none. */
bool nm_frame_register(struct nm_file *f, uint64_t in_file, int reg, Dwarf_Die *variable);
/* The function that has the instruction, if it is in one piece; addresses in the file. */
bool nm_frame_function(struct nm_file *f, uint64_t in_file, uint64_t *begin, uint64_t *end);

/* ---- pointer.c ---- */

/*
 * The type of the pointer by which the instruction accesses memory: pointer->addr NULL: not known.  False: no memory.
 */
bool nm_pointer_find(struct nm *nm, uint64_t insn, Dwarf_Die *pointer);
/* Likewise, of what the call gives that returns there. */
bool nm_pointer_of_call(struct nm *nm, uint64_t returns, Dwarf_Die *pointer);

/* ---- stack.c: the frames of a thread ---- */

struct nm_frame {
	uint64_t cfa;
	uint64_t low;	 /* the lowest address that is known to be in it */
	uint64_t from;	 /* when it was first seen, or before */
	uint64_t serial; /* no other frame had it */
	const struct nm_insn *insn; /* the last one that was seen of its function: while that is in a call, the call */
};

/* Descending. */
struct nm_stack {
	struct nm_frame *frame;
	size_t n, room;
	uint64_t serial;
	uint64_t from, to; /* when what is seen was done */
	struct nm_past *past; /* where frames are kept that are over; NULL: nowhere */
	bool failed; /* no memory */
};

/* @insn, of the function whose frame this is, is executed; the frame has @low. */
void nm_stack_seen(struct nm_stack *s, uint64_t cfa, uint64_t low, const struct nm_insn *insn);
/* The innermost frame reaches down to @addr. */
void nm_stack_reaches(struct nm_stack *s, uint64_t addr);
/* The frame at @cfa has been returned from. */
void nm_stack_left(struct nm_stack *s, uint64_t cfa);
/* There is no more to come: what is there was there until @end. */
void nm_stack_end(struct nm_stack *s, uint64_t end);
/* Whose frame has @addr; NULL: none. */
struct nm_frame *nm_stack_frame(const struct nm_stack *s, uint64_t addr);
/*
 * Likewise, what is there; as nm_file_find().  @variables false: which variable there may be does not matter.  *throughout: all of the frame has
 * this name as long as its function is at the instruction.
 */
struct nm_entry *nm_stack_find(struct nm *nm, const struct nm_frame *frame, uint64_t addr, bool variables, uint64_t *begin, uint64_t *size,
			       bool *throughout);
void nm_stack_free(struct nm_stack *s);

/* thread.c: what is thread-local, of the thread with this thread pointer, as nm_file_find(); 0: not known. */
struct nm_entry *nm_tls_find(struct nm *nm, uint64_t fs, uint64_t addr, uint64_t *begin, uint64_t *size);

/* ---- past.c: frames of other threads ---- */

struct nm_past_frame {
	uint64_t cfa, low; /* it was within that */
	uint64_t from, to; /* at some time */
	const struct nm_insn *insn; /* of its function */
};

/* Of a thread: all frames, in no order until one is looked for. */
struct nm_past {
	int pid;
	uint64_t from, to; /* when there was the thread */
	uint64_t fs; /* its thread pointer; 0: not known */
	uint64_t low, high; /* where any of them is */
	struct nm_past_frame *frame;
	size_t n, room;
	uint32_t *table; /* of indices + 1, hashed */
	size_t room_table;
	uint64_t *least; /* of the frames from each on, the lowest address; NULL: they are not sorted */
	bool incomplete;
};

/* NULL: no memory.  It is nm's. */
struct nm_past *nm_past_new(struct nm *nm, int pid, uint64_t from);
void nm_past_free(struct nm_past *p);
bool nm_past_add(struct nm_past *p, const struct nm_frame *f, uint64_t to);

struct nm_past_found {
	uint64_t begin, size; /* as nm_file_find() */
	bool stays; /* it is the same for all addresses there, at that time */
};
/* What was there on another thread's stack, or is thread-local there.  NULL: no memory; nm->unknown: it is of none that is kept. */
struct nm_entry *nm_past_find(struct nm *nm, const struct nm_when *w, uint64_t addr, struct nm_past_found *found);

#endif
