/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses: which variable, which field of it, or which allocation an access of a traced program went to.
 * It is found when a trace is read, from the program's files as they were recorded; nothing is asked of a process.
 *
 *	names = nm_new(&options);
 *	nm_add_object(names, &object);		each program and library, where it was loaded
 *	nm_add_block(names, ...); ...		blocks of the heap, if allocations were recorded
 *	t = nm_begin(names, pid, tid);		for each thread
 *	nm_chunk(t, fs, tsc, next);		before the accesses of each of its chunks
 *	nm_find(t, &access, &place); ...
 *	nm_end(t);
 *
 * What is interned is bounded by the program's code and types, not by its data: all elements of an array, and all blocks
 * that were allocated at one place, have one name for each path without indices.  Everything that is handed out lives
 * until nm_free().  Not to be used by several threads at once.
 *
 * Files may be damaged, and of debug information nothing is believed that contradicts itself: it then gives fewer names.
 */
#ifndef SONDE_ANALYSIS_NAMES_NAMES_H
#define SONDE_ANALYSIS_NAMES_NAMES_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

enum nm_kind {
	NM_UNKNOWN,
	NM_AMBIGUOUS,	/* it was one of several blocks, and the trace does not order the access against malloc or free */
	NM_GLOBAL,	/* of an object's data, with a name that other files see */
	NM_STATIC,	/* likewise, without: file scope or local to a function; sections */
	NM_TLS,
	NM_HEAP,
	NM_STACK,
	NM_KINDS
};

/* How the name was found, from weak to strong.  SECTION and AREA name no variable. */
enum nm_how {
	NM_BY_NOTHING,
	NM_BY_AREA,	  /* the thread's stack, its thread control block */
	NM_BY_SECTION,	  /* the section of the object that the address is in */
	NM_BY_SYMBOL,	  /* of the symbol table: without a type */
	NM_BY_DEBUG,	  /* debug information */
	NM_BY_ALLOCATION, /* a block that the program allocated */
	NM_HOWS
};

/* A variable; of the heap: all blocks that were allocated at one place. */
struct nm_variable {
	uint32_t index;	     /* dense, from 0 on: nm_variable() */
	enum nm_kind kind;
	enum nm_how how;
	const char *name;    /* "particles", "ns::count", "/block/x" (of a common block), "malloc", ".rodata"; never NULL */
	const char *scope;   /* the function that it is local to, or that allocates; NULL: none, or not known */
	const char *object;  /* the program's or library's path, as recorded; NULL: not known */
	const char *type;    /* "struct particle[100]"; NULL: not known */
	const char *element; /* the same without the array: "struct particle"; NULL: not known */
	const char *file;    /* where it is declared, or the allocation is; NULL: not known */
	int line;	     /* 0: not known */
	const char *callers; /* of the heap: where the function was called, and so on, a line each; NULL: not known, or not asked for */
};

/* A variable and a path in it. */
struct nm_name {
	uint32_t index;	     /* dense, from 0 on: nm_name() */
	const struct nm_variable *variable;
	const char *path;    /* "[].pos.x", "": the whole, or not known what of it; of a union that is all its members */
	const char *type;    /* of what is there; NULL: not known */
	uint64_t offset;     /* of what is there in its innermost structure's outermost array's element, bytes; 0 without a type */
	uint64_t size;	     /* bytes of what is there; 0: not known */
	uint64_t stride;     /* of the innermost array that it is in: bytes from one element to the next; 0: it is in none, or not known */
};

/* Which one of them. */
struct nm_place {
	const struct nm_name *name; /* never NULL */
	uint64_t begin, size; /* of the variable or block, in memory; size 0: not known */
};

struct nm_options {
	const Dwfl_Callbacks *callbacks; /* for separate debug files; has to live as long */
	char *(*demangle)(const char *symbol); /* malloc'ed; NULL: as it is.  May be NULL */
};

struct nm;

/* NULL: no memory. */
struct nm *nm_new(const struct nm_options *o);
void nm_free(struct nm *nm);

/* A program or library in the memory of the process. */
struct nm_object {
	const char *path; /* as recorded */
	const char *file; /* where it can be read now; NULL: nowhere */
	uint64_t load;	  /* what was added to the addresses in the file */
	bool program;	  /* it is the program itself, whose thread-local storage is first */
};

/* Strings are copied.  False: no memory.  A file that cannot be read, or is none of ELF, gives no names. */
bool nm_add_object(struct nm *nm, const struct nm_object *o) __attribute__((warn_unused_result));

/* ---- blocks of the heap, if allocations were recorded: all of them before the first nm_begin() ---- */

/* Where a program allocates or frees. */
struct nm_site {
	const char *what;     /* the function that is called: "malloc" */
	uint64_t code;	      /* the address that it returns to; 0: not known */
	bool in_stream;	      /* that call is in the stream of accesses, which is how the two are set against each other */
	const char *function; /* that calls it; NULL: not known */
	const char *object, *file; /* likewise */
	int line;
	const char *callers;  /* as in struct nm_variable */
};
/* False: no memory.  *index: for nm_add_block(). */
bool nm_add_site(struct nm *nm, const struct nm_site *site, uint32_t *index) __attribute__((warn_unused_result));

/*
 * The symbol that the call goes to which returns there, if that leads through the procedure linkage table; NULL: not known.  A function that it calls by a
 * jump at its end returns there, too.
 */
const char *nm_callee(struct nm *nm, uint64_t returns);

/* Calls @take for each call in [lo, hi), which begins at an instruction: where it returns to, and nm_callee(). */
void nm_each_callee(struct nm *nm, uint64_t lo, uint64_t hi, void (*take)(void *arg, uint64_t returns, const char *callee), void *arg);

struct nm_call {
	int pid, tid;
	uint64_t time; /* as in nm_chunk(): of an allocation when it returns, of a free when it is called */
	uint32_t site;
};
/*
 * All calls have to be added, also those that change nothing, as they are in the stream: what has no bytes, or is no address, is no block.  False: no
 * memory.
 */
bool nm_add_block(struct nm *nm, const struct nm_call *call, uint64_t addr, uint64_t size) __attribute__((warn_unused_result));
/* @and_more: the thread's next block is allocated by the same call: realloc(). */
bool nm_free_block(struct nm *nm, const struct nm_call *call, uint64_t addr, bool and_more) __attribute__((warn_unused_result));

/* All that have been handed out so far; NULL: there are no more. */
const struct nm_variable *nm_variable(const struct nm *nm, uint32_t index);
const struct nm_name *nm_name(const struct nm *nm, uint32_t index);

/* The name of the same variable without a path. */
const struct nm_name *nm_whole(const struct nm_name *name);

/* ---- the accesses of a thread ---- */

struct nm_thread;

/* NULL: no memory. */
struct nm_thread *nm_begin(struct nm *nm, int pid, int tid);
void nm_end(struct nm_thread *t);

/*
 * The accesses that come next were made from @tsc on, before @next (UINT64_MAX: not known), with the thread pointer @fs (0: not
 * known).  @tsc never goes back.  What is handed out with a chunk may be of the one before, which it proves (mt_read_tsc()): then @tsc
 * is when that began, or when recording did.
 */
void nm_chunk(struct nm_thread *t, uint64_t fs, uint64_t tsc, uint64_t next);

/* Before that, after a time in which accesses were not recorded: functions that were there may have returned. */
void nm_paused(struct nm_thread *t);

/*
 * Stacks and thread-local storage of other threads are known if all threads have been gone through before, by nm_note(): after nm_keep_stack() at each one's begin, with
 * nm_ended() when the stream ended at @tsc.  False: no memory.
 */
bool nm_keep_stack(struct nm_thread *t);
void nm_ended(struct nm_thread *t, uint64_t tsc);

/*
 * Names the thread's next access; all have to be given, in their order, since calls among them say where frames and
 * allocations are.  False: no memory; the place is then that of an unknown name.
 */
bool nm_find(struct nm_thread *t, const struct mt_access *a, struct nm_place *place);

/* Of names, for many accesses: each pair of an instruction and a name gets a number. */
struct nm_keys {
	bool whole; /* nm_whole() of the names */
	uint32_t (*key)(void *arg, uint64_t insn, const struct nm_name *name); /* always the same for the same pair; 0: no memory */
	void *arg;
};
/* nm_find() for @n accesses: @to is a copy, with keys in place of instructions.  False: no memory. */
bool nm_find_keys(struct nm_thread *t, const struct mt_access *v, size_t n, const struct nm_keys *keys, struct mt_access *to)
	__attribute__((warn_unused_result));

/* In place of nm_find(): the access needs no name. */
bool nm_note(struct nm_thread *t, const struct mt_access *a);

/*
 * The block of the heap that an access was to, made by instruction @insn at some time from @from to @to by any thread of @pid.  Likewise; unknown:
 * there was none; ambiguous: it may have been one of those of several places.
 */
struct nm_when {
	int pid;
	uint64_t from, to, insn;
};
bool nm_find_block(struct nm *nm, const struct nm_when *when, uint64_t addr, uint32_t size, struct nm_place *place);

/* Likewise, what a thread of those after nm_keep_stack() had on its stack, or thread-local. */
bool nm_find_kept(struct nm *nm, const struct nm_when *when, uint64_t addr, uint32_t size, struct nm_place *place);

/* Of any address of data, thread or time apart: globals and statics.  Likewise. */
bool nm_find_static(struct nm *nm, uint64_t addr, uint32_t size, struct nm_place *place);

/* ---- what is declared, whatever is accessed ---- */

/* A variable of a function, or a thread-local one. */
struct nm_declared {
	const char *name;
	bool tls;
	bool in_memory; /* somewhere; else the compiler has left it in registers, or out */
	uint64_t address; /* of a static one, in memory; 0: not known */
	Dwarf_Die die, function; /* function.addr NULL: it is in none */
	uint64_t bias;
};

/*
 * All those of the objects' debug information, until @take returns false, which is returned then.  The same may come several times: where its
 * function was inlined.
 */
bool nm_each_declared(struct nm *nm, bool (*take)(void *arg, const struct nm_declared *d), void *arg);
/* Its function, as struct nm_variable has it; malloc'ed, "" is none.  NULL: no memory. */
char *nm_declared_scope(struct nm *nm, const struct nm_declared *d);
/* Has its function code in [lo, hi) of memory? */
bool nm_declared_is_at(const struct nm_declared *d, uint64_t lo, uint64_t hi);
/* Paths in it, as struct nm_name has them, until @take returns false; the same may come again.  False: no memory. */
bool nm_declared_paths(struct nm *nm, const struct nm_declared *d, bool (*take)(void *arg, const char *path), void *arg);

/* In words, static: "global", "heap"; "DWARF", "symbol". */
const char *nm_kind_word(enum nm_kind kind);
const char *nm_how_word(enum nm_how how);

#endif
