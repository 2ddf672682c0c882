/* SPDX-License-Identifier: MIT */
/*
 * The binary interface between a module (user C code), the runtime inside the program and the
 * injector outside it.  Modules do not include this file; they include <sonde/module.h>.
 *
 * Three things are fixed here:
 *  - struct sonde_pool: the private page that each thread's GS base points to;
 *  - struct sonde_api: the functions that the runtime offers to modules;
 *  - struct sonde_module and what hangs off it: how a module says what it wraps and records;
 *  - struct sonde_memory_api and what belongs to it: memory accesses, given to modules in the recorder's process.
 *
 * Every structure is plain data with fixed-width members, so that the injector can read it from
 * another process or from the file.
 */
#ifndef SONDE_ABI_H
#define SONDE_ABI_H

#ifndef __ASSEMBLER__
#include <stdint.h>
#endif

#define SONDE_ABI_VERSION 1
#define SONDE_MODULE_MAGIC 0x31646f4d65646e53ULL /* "SndeMod1" */

/*
 * Offsets into the pool, for code that reaches it through %gs.
 *
 * owner      the thread's own TCB pointer (what %fs:0 holds) while the thread may record; 0 while
 *            it is inside a module's wrapper ("closed"), before it is registered, and in a forked
 *            child (pools are MADV_WIPEONFORK).  One compare of %fs:0 with it decides whether
 *            the fast path may run.
 * ptr        where the next record goes, in the thread's current sub-buffer
 * limit      end of that sub-buffer; 0 when there is none: the next record takes the slow path
 * closed_sp  stack pointer of the wrapper that closed the pool
 * counters   this thread's counters, an array of uint64_t in shared memory, indexed by counter
 *            id; 0 before the thread is registered
 * own        a word of the thread's, for a module that has to know what the thread is in; 0 at first
 */
#define SONDE_POOL_OWNER 0x00
#define SONDE_POOL_PTR 0x08
#define SONDE_POOL_LIMIT 0x10
#define SONDE_POOL_CLOSED_SP 0x18
#define SONDE_POOL_COUNTERS 0x20
#define SONDE_POOL_OWN 0x1f8

#ifndef __ASSEMBLER__

struct sonde_pool {
	uint64_t owner;
	uint64_t ptr;
	uint64_t limit;
	uint64_t closed_sp;
	uint64_t counters;
	uint64_t runtime[58]; /* the runtime's own; see runtime/thread.h */
	uint64_t own;
};

/*
 * A record in a ring is a whole number of 8-byte words:
 *
 *   word 0   TSC << SONDE_ID_BITS | event id    (id != 0, so the word is never 0; written last)
 *   word 1   enter events only: the frame address of the wrapper, from which the collector knows
 *            which frames a longjmp or an exception has left behind; plus 1: of its caller, in which
 *            what begins goes on, and which may be in several such
 *   then     one word for each field.  Integers are sign- or zero-extended, doubles are stored as
 *            their bits; a string is a word with its length in bytes, followed by the bytes,
 *            padded with zeros to whole words.
 */
#define SONDE_ID_BITS 20
#define SONDE_MAX_EVENTS (1u << SONDE_ID_BITS)
#define SONDE_FIRST_EVENT 16u	/* smaller ids are the recorder's own */
#define SONDE_MAX_RECORD 4096u	/* bytes; longer strings are cut to fit */
#define SONDE_MAX_STRING 1024u	/* bytes kept of one string */
#define SONDE_MAX_FIELDS 12
#define SONDE_MAX_COUNTERS 256u

enum sonde_type {
	SONDE_T_END = 0,
	SONDE_T_I32,
	SONDE_T_I64,
	SONDE_T_U32,
	SONDE_T_U64,
	SONDE_T_F64,
	SONDE_T_PTR,	/* printed in hexadecimal */
	SONDE_T_BYTES,	/* uint64_t, an amount of data in bytes; summed by the report */
	SONDE_T_STR,	/* variable size */
	/* without a payload, about the time from enter to leave: */
	SONDE_T_WAIT,	/* was spent waiting; the field's name says for what, or is "wait" */
	SONDE_T_APART,	/* is not waiting, nor is what happens in it; the name says what it is */
};

struct sonde_field {
	const char *name;
	uint64_t type; /* enum sonde_type */
};

enum sonde_kind {
	SONDE_ENTER = 1,
	SONDE_LEAVE = 2,
	SONDE_POINT = 3,
	SONDE_COUNTER = 4,
};

/*
 * One place in a module that records.  @id is filled in by the injector before the program runs:
 * an event id for SONDE_ENTER, SONDE_LEAVE and SONDE_POINT, an index into the pool's counters for
 * SONDE_COUNTER.  Id 0 means "not active": nothing is recorded there.
 */
struct sonde_site {
	uint32_t id;
	uint32_t kind;			    /* enum sonde_kind */
	const char *function;		    /* name of the C function the site stands in */
	const char *name;		    /* points and counters: their own name, else NULL */
	const struct sonde_field *fields; /* ends with SONDE_T_END; NULL when there are none */
};

#define SONDE_WRAP_OPTIONAL 1u /* no warning when the program has no such function */
/* How many parameters it has, in flags; 0: not known. */
#define SONDE_WRAP_PARAMS_SHIFT 8
#define SONDE_WRAP_PARAMS_OF(flags) ((flags) >> SONDE_WRAP_PARAMS_SHIFT & 0xff)
#define SONDE_FEW_PARAMS 6 /* that are in registers, at least */

/*
 * One wrapped function.  @real is the variable that SONDE_REAL() calls through; the injector
 * stores there the address of the replay code (or of the next module's wrapper).
 */
struct sonde_wrap {
	const char *symbol;	/* as in the program's symbol table, or demangled */
	const char *function;	/* the wrapper's name as a C function, which its sites carry */
	void *wrapper;
	void **real;
	uint64_t flags;
};

/*
 * What the runtime offers.  Called by the code that <sonde/module.h> inlines, always with the
 * pool closed.
 *
 * room     makes room for a record of @bytes (a multiple of 8, at most SONDE_MAX_RECORD) and
 *          returns where to write it, or NULL when the thread does not record (the event has
 *          then been counted as lost).  May wait for the collector.
 * pause    stops (or lets go on again, with 0) recording of the whole process
 * open     in code that was not called through a wrapped function: opens the pool of this thread, which may be new to
 *          the runtime.  @sp: the caller's stack pointer or frame address.  0: the thread does not record
 * frames   how many frames of the stack the user wants to see where a wrapper records who has called; 0, 1: the caller alone
 * callers  return addresses, @most of them, from that of the wrapper with frame address @frame on; may be called with the pool open.  Where
 *          the stack ends, and beyond `frames` of them, they are 0; 1: this one and further ones are not known
 */
struct sonde_api {
	uint32_t version;
	uint32_t frames;
	uint64_t *(*room)(uint64_t bytes);
	void (*pause)(uint64_t stop);
	uint64_t (*open)(uint64_t sp);
	void (*callers)(uint64_t frame, uint64_t *code, uint64_t most);
};

/* ---- memory accesses ---- */

/*
 * What takes memory accesses runs in the recorder's process, where the module is loaded as well: nothing of what
 * is above is there, and its variables are others than in the program.  Or it runs in the program's threads, from an image
 * of its own, where the same holds; a thread's data is in shared memory then, and `next` and api->print are not there.
 */
enum sonde_access_kind {
	SONDE_LOAD,
	SONDE_STORE,
	SONDE_MODIFY,	/* reads and writes it */
	SONDE_PREFETCH, /* of a whole line of 64 bytes; clflush and clwb too */
	SONDE_ACCESS_KINDS
};

#define SONDE_ACCESS_KIND 7u  /* mask of sonde_access_word.kind */
#define SONDE_ACCESS_STACK 8u /* push, pop, call, ret, enter, leave */

/* An access in a batch; modules see struct sonde_access. */
struct sonde_access_word {
	uint64_t address;
	uint32_t size; /* bytes */
	uint8_t kind;
	uint8_t reserved[3];
	uint64_t instruction; /* address in the program */
};

struct sonde_counts {
	uint64_t accesses[SONDE_ACCESS_KINDS];
	uint64_t bytes[SONDE_ACCESS_KINDS];
};

struct sonde_memory_api;

/* A thread of the program, as one module knows it.  It is there until the end, also when the thread has ended. */
struct sonde_thread {
	const struct sonde_memory_api *api;
	struct sonde_thread *next; /* in the order of their beginning; NULL: the last */
	const char *name;	   /* as the kernel says; may be "" */
	int32_t pid, tid;
	uint64_t gaps; /* places where accesses are missing */
	void *data;    /* of sonde_thread_data(); NULL: not asked for yet */
};

/* Some accesses of one thread, in their order; or their counts. */
struct sonde_batch {
	struct sonde_thread *thread;
	const struct sonde_access_word *next, *end;
	struct sonde_counts counts;
};

/* The end of the recording. */
struct sonde_end {
	const struct sonde_memory_api *api;
	struct sonde_thread *threads;
};

/*
 * data   zeroed memory that belongs to @thread, there until the end; NULL: none.  To be called once
 * add    adds @n to what the trace says of @thread under @name, and reports show.  Up to 64 names in all
 * print  as printf(); see sonde_print()
 */
struct sonde_memory_api {
	uint32_t version;
	uint32_t reserved;
	void *(*data)(struct sonde_thread *thread, uint64_t bytes);
	void (*add)(struct sonde_thread *thread, const char *name, uint64_t n);
	void (*print)(struct sonde_end *end, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
};

/* One of the functions is set, or a flag. */
struct sonde_memory_hook {
	uint64_t flags; /* enum sonde_memory_flags */
	void (*batch)(struct sonde_batch *batch);
	void (*counts)(struct sonde_batch *batch);
	void (*end)(struct sonde_end *end);
	void (*merge)(struct sonde_thread *into, const struct sonde_thread *from); /* with SONDE_MODULE_MERGE */
};

enum sonde_memory_flags {
	/* without a function: */
	SONDE_MEMORY_TRACE = 1,	  /* the accesses are to be in the trace */
	SONDE_MEMORY_PROFILE = 2, /* the recorder itself is to make a profile of them */
	SONDE_MEMORY_CACHES = 4,  /* ... to simulate caches with them */
	SONDE_MEMORY_SHARING = 8, /* ... to find lines that threads share */
};

/*
 * A module's description, the exported symbol "sonde_module".  The arrays are the sections
 * sonde_wraps, sonde_sites, ... of the module: arrays of pointers, from begin to end.
 */
struct sonde_module {
	uint64_t magic;
	uint32_t abi;
	uint32_t flags;
	const char *name;
	const char *description;
	const char *needs; /* space-separated SONAMEs, and functions, of which one must be loaded; NULL: any program */
	const struct sonde_api **api;
	struct sonde_wrap *const *wraps_begin;
	struct sonde_wrap *const *wraps_end;
	struct sonde_site *const *sites_begin;
	struct sonde_site *const *sites_end;
	void (*const *start_begin)(void); /* hooks run before the program's main() */
	void (*const *start_end)(void);
	void (*const *exit_begin)(void); /* hooks run when the program exits normally */
	void (*const *exit_end)(void);
	/* with SONDE_MODULE_MEMORY in flags */
	const struct sonde_memory_hook *const *memory_begin;
	const struct sonde_memory_hook *const *memory_end;
};

#define SONDE_MODULE_MEMORY 1u /* flags: the members about memory are there */
#define SONDE_MODULE_MERGE 2u /* ... and hooks have the member merge */
#define SONDE_MODULE_LEAST __builtin_offsetof(struct sonde_module, memory_begin) /* bytes before them */

#endif /* __ASSEMBLER__ */
#endif /* SONDE_ABI_H */
