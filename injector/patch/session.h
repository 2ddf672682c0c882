/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instrumenting one program: from its first instruction to the moment it is let go, and later when
 * it loads libraries.
 *
 *	inj_session_new()
 *	inj_session_begin()	  runtime mapped, libraries awaited   (program under ptrace)
 *	inj_session_instrument()  modules activated, functions patched
 *	inj_session_settle()	  what needs the program to run
 *	inj_session_release()	  environment restored, detached
 *	inj_session_library()	  a library came or went	      (program running)
 *
 * What was found and done is in the arrays below, for messages and for the trace's metadata; the
 * caller keeps its own count of what it has seen.
 */
#ifndef SONDE_INJECTOR_PATCH_SESSION_H
#define SONDE_INJECTOR_PATCH_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/patch/arena.h"
#include "injector/patch/edits.h"
#include "injector/facts/known.h"
#include "injector/image/elfimage.h"
#include "injector/mirror/mirrors.h"
#include "injector/image/symbols.h"
#include "injector/process/target.h"
#include "injector/process/tracee.h"
#include "runtime/config.h"
#include "sonde/abi.h"
#include "trampolines/trampoline.h"

/* An ELF file in the program's memory. */
struct inj_object {
	char *path; /* how we can open it; "" when it is gone */
	char *file; /* absolute: where it is for the program; mostly the same */
	char *name; /* as the dynamic linker calls it */
	uint64_t base; /* load address minus link-time address */
	uint64_t unwind; /* rt_unwind_file.tables of it, which the runtime knows; 0: it does not */
	uint64_t ld;   /* address of its dynamic section, 0 in static programs */
	bool is_main;
	bool is_module; /* one of ours */
	bool is_linker;
	bool debug_file; /* symbols are taken from its separate debug file, too */
	bool seen;	/* in the list that is being read */
	bool done;	/* functions have been looked up in it */
	struct inj_known *known;   /* of its file; NULL until needed */
	struct inj_symtab *symtab; /* the same; its symbols */
	struct inj_kept *kept;	   /* the same; what is known of its code */
	const struct inj_codefacts *facts; /* in there; NULL until needed */
	struct inj_identity identity; /* of the file whose code was read; all zero until then */
	int fd; /* of the file that the facts are from; -1: none */
	bool mirrored;	/* has been looked at for functions to record */
	bool published;	/* for the caller */
};

enum inj_wrap_state {
	INJ_WRAP_PENDING = 0, /* no function of that name yet */
	INJ_WRAP_ACTIVE,
	INJ_WRAP_ALIAS,	      /* another wrap of the module has the same code; see `same` */
	INJ_WRAP_REFUSED,     /* see `reason` */
};

struct inj_wrap {
	size_t module; /* index */
	const char *symbol;	/* in the module's image */
	const char *function;	/* the wrapper's name in the module; there, too */
	uint64_t wrapper, real; /* addresses in the program */
	uint64_t flags;
	enum inj_wrap_state state;
	const char *reason; /* REFUSED: static text */
	size_t object;	    /* where the function is, unless PENDING */
	uint64_t addr;	    /* its address in the program; of an IFUNC: of the code it chose */
	uint64_t file_addr; /* in the file */
	size_t others;	    /* further functions of the same name, left alone */
	size_t same;	    /* ALIAS: index of the other wrap */
	bool ifunc;	    /* its resolver is to be called when the program can */
	bool reported;	    /* for the caller */
	uint32_t keeper_depth; /* bytes of stack between its caller and the wrapper's own frame */
};

struct inj_field {
	const char *name; /* in the module's image */
	uint32_t type;
};

/* A site: an event id, or a counter id. */
struct inj_event {
	uint32_t id;
	uint32_t kind; /* enum sonde_kind */
	size_t module;
	long wrap; /* index of the wrap it stands in, -1: another function of the module */
	const char *function; /* in the module's image */
	const char *name;     /* there, too; NULL: it has none */
	struct inj_field *fields;
	size_t nfields;
	bool reported; /* for the caller */
};

struct inj_module {
	char *path;
	char *name;
	char *description;
	char *needs;
	bool active;
	bool mapped;		/* in the program's memory */
	bool ours;		/* mapped by us, and not by its dynamic linker */
	bool reported;		/* for the caller */
	uint64_t base;
	struct inj_image image; /* relocated for base */
	uint64_t desc;		/* link-time address of sonde_module */
};

#define INJ_SPARE 1024
#define INJ_SHARED 4
#define INJ_MEM_SLACK 8192u /* of a memory stream's sub-buffer: what is written between two checks, and one node */

struct inj_session_options {
	const char *elf_path;	/* of the program; absolute */
	bool is_static;
	const char *interp;	/* of a dynamic program, or the library at a fixed address; NULL: none */
	int ring_fd;		/* inherited by the program */
	uint64_t ring_map;	/* bytes of it to map in the program */
	int alive_fd;		/* inherited: a page that is kept mapped as long as the process lives; -1: none */
	uint64_t nrings;	/* rings in them */
	uint64_t npools;
	uint64_t code_bytes;
	bool for_perf;		/* let perf find names for our code */
	char *const *modules;	/* paths of .so files, in order; the program has them preloaded */
	size_t nmodules;
	char *const *analyzers; /* modules that take memory accesses in the program's threads; up to RT_ANALYZERS */
	size_t nanalyzers;
	bool know_all;		/* they have to know all code when it runs: nothing is instrumented at its first call */
	int compiled_fd;	/* inherited by the program: memory for code that is made for those; -1: none */
	unsigned int threads;	 /* that looking at code may take; 0: one for each processor */
	const char *cache_dir;	 /* for what was found out about ELF files; NULL: none */
	const char *preload;	 /* for LD_PRELOAD, as long as the dynamic linker starts; NULL: nothing */
	const bool *guests;	 /* of modules[]: it needs a C library beside the program (guest/guest.h); NULL: none does */
	const char *agent;	 /* path of what those are loaded by; given if there are any */
	bool slow_guest;	 /* even if it takes system calls to go there and back */
	bool own_loader;	 /* modules are mapped by us in dynamic programs, too, and can be taken out again */
	uint32_t frames;	 /* of stacks that modules record where they record who has called; 0, 1: that one alone */
	bool follow;		 /* asks before it executes a program: ring_control.flags, RING_FOLLOW */
	struct inj_mirror_options mirror;
	void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct inj_session {
	struct inj_session_options opt;
	struct inj_tracee *tracee; /* NULL after release */
	struct inj_target *target;
	struct inj_code code;
	uint64_t shared[INJ_SHARED]; /* inodes of the memory that the program shares with us; 0: there is none */
	struct rt_config config;
	struct rt_unwind *unwind; /* in the program's memory; NULL: nobody reads stacks */

	/* the program's addresses */
	uint64_t runtime; /* load address */
	uint64_t rt_config, rt_api, rt_gate, rt_dl_state, rt_exit, rt_exec;
	uint64_t rt_probe_gate, rt_mem_gate, rt_first, rt_sigaction, rt_restored;
	uint64_t rt_come, rt_rest, rt_windows;
	uint64_t rt_enter, rt_depart, rt_departed, rt_mem_restorer, rt_handlers, rt_mapped, rt_thunks, rt_find_fde;
	uint64_t rt_guest_enter, rt_guest_real, rt_guest_exit, rt_guest_exit_thread;
	uint64_t compiled; /* code that is made for analyzers; 0: it could not be mapped */
	uint64_t trap;	  /* a breakpoint instruction of ours */
	uint64_t spare;	  /* some private memory, for INJ_SPARE bytes */
	uint64_t dl_debug_state;
	uint64_t dl_debug_addr; /* musl: where the address of its struct r_debug is */
	uint64_t interp_base;

	struct inj_object *objects;
	size_t nobjects;
	struct inj_module *modules;
	size_t nmodules;
	struct inj_wrap *wraps;
	size_t nwraps;
	struct inj_event *events;
	size_t nevents;
	uint32_t next_event, next_counter;
	struct inj_edits edits; /* of live objects: all that are in place */
	struct inj_mirrors mirrors;
	struct tramp_checker *checker;
	bool no_linker_stop; /* libraries' constructors ran before we could patch */
	bool linker_hooked;
	struct {
		uint64_t slot;	  /* address of the entry in envp[]; 0: there is none */
		uint64_t was;	  /* the user's entry, which it took the place of */
		bool inserted;	  /* there was none */
		uint64_t text;	  /* where it is, its filler at text + pad: in the first pools, or in memory of its own */
		bool borrowed;	  /* in the first pools */
		uint64_t bytes, pad;
	} preload;
	size_t nexecs;	   /* places where a program can be executed, that ask */
	bool at_main; /* a static program that we have let run to main() */
	struct inj_image runtime_image;
	struct {
		bool active;		/* the process runs by itself: attach.h */
		bool hold;		/* edits of mirrors are not written yet, but held */
		struct inj_edits held;
		struct inj_leftovers *left; /* of earlier recordings; NULL: nothing */
		struct inj_target target; /* system calls in a thread that is borrowed for each */
	} attach;
};

/* Creates what the program inherits (call before it is started).  Errors: SYSTEM, MEMORY. */
enum inj_status inj_session_new(struct inj_session *s, const struct inj_session_options *opt)
	INJ_CHECK;
void inj_session_free(struct inj_session *s);

/*
 * The program stands after execve(): maps the runtime and the rings, then (dynamic programs) lets
 * it run until its libraries are mapped and relocated.
 */
enum inj_status inj_session_begin(struct inj_session *s, struct inj_tracee *t) INJ_CHECK;

/* Activates modules and patches functions; all of them or, on an error, none. */
enum inj_status inj_session_instrument(struct inj_session *s) INJ_CHECK;

/*
 * What needs the program to run: IFUNCs are asked which code they choose, hooks of modules in static
 * programs run.  Some of that happens at main(), so events are recorded meanwhile and have to be
 * drained.  On an error all patches are out again.
 */
enum inj_status inj_session_settle(struct inj_session *s) INJ_CHECK;

/* The program's code is again as it was before inj_session_instrument(). */
void inj_session_undo(struct inj_session *s);

/* Takes our traces out of its environment and lets it go. */
enum inj_status inj_session_release(struct inj_session *s) INJ_CHECK;

/* After an error: the program, which still stands, goes on as if nothing had been; what is mapped in it stays. */
void inj_session_abandon(struct inj_session *s);

/* The list of libraries has changed; @t executes system calls meanwhile. */
enum inj_status inj_session_library(struct inj_session *s, struct inj_target *t) INJ_CHECK;

/* Is it worth while to watch for libraries? */
bool inj_session_wants_libraries(const struct inj_session *s);

/* ---- between the files of the injector ---- */

/* session.c: finds the dynamic linker's debugger interface; has it no change under way? */
bool inj_find_linker(struct inj_session *s);
enum inj_status inj_debug_from_dynamic(struct inj_session *s);
bool inj_libraries_complete(struct inj_session *s);

/*
 * frames.c: lets the program's unwinder pass through modules that only we know of.  In a process that runs by itself what the unwinder
 * asks is led to the runtime; it may come with a library later on.
 */
enum inj_status inj_register_frames(struct inj_session *s) INJ_CHECK;
enum inj_status inj_lead_unwinder(struct inj_session *s) INJ_CHECK;
bool inj_awaits_unwinder(const struct inj_session *s);
/* Link-time address of the module's .eh_frame, if libgcc can go through it; 0: there is none. */
uint64_t inj_image_frames(const struct inj_image *img);

/* unwind.c: lets the runtime read stacks, if modules record them, through all files that are there now. */
enum inj_status inj_unwind_files(struct inj_session *s) INJ_CHECK;

/* session.c: wraps whose functions are known. */
enum inj_status inj_patch_ready(struct inj_session *s) INJ_CHECK;
/* Is any of them an IFUNC whose resolver has not been asked? */
bool inj_any_ifunc(const struct inj_session *s);

/* hooks.c */
enum inj_status inj_patch_linker(struct inj_session *s) INJ_CHECK;
bool inj_has_hooks(const struct inj_session *s);
enum inj_status inj_static_hooks(struct inj_session *s) INJ_CHECK;
/* Of modules in the guest: their C library has started before anything of the program. */
enum inj_status inj_guest_hooks(struct inj_session *s) INJ_CHECK;

/*
 * syscall/exec.c: leads what executes programs to the runtime: with @numbers where the number of the system call is known,
 * before functions are instrumented; else the rest, afterwards.
 */
enum inj_status inj_exec_sites(struct inj_session *s, bool numbers) INJ_CHECK;

/* load.c */
enum inj_status inj_load_runtime(struct inj_session *s) INJ_CHECK;
/* Do the processor and the kernel let programs read and write FS and GS bases themselves? */
bool inj_has_fsgsbase(void);
/*
 * Maps @img and relocates it.  What it does not define is asked of @resolver (NULL: of nobody), whose argument is @s.
 * NOT_SUPPORTED: some of that is in *undefined.
 */
enum inj_status inj_load_image(struct inj_session *s, struct inj_image *img, uint64_t *base, inj_resolver resolver,
			       struct inj_undefined *undefined) INJ_CHECK;

/* objects.c */
/* The program, and the library at a fixed address that it has in place of a dynamic linker. */
enum inj_status inj_objects_static(struct inj_session *s) INJ_CHECK;
enum inj_status inj_objects_read(struct inj_session *s) INJ_CHECK;
struct inj_symtab *inj_object_symbols(struct inj_object *o);
/* May it make system calls for all others: the program itself, and C libraries, by whatever name? */
bool inj_object_is_libc(const struct inj_object *o);
/* NULL: its file is gone. */
struct inj_known *inj_object_known(struct inj_object *o);
/* Opens its file for good: it may be replaced while the program runs. */
void inj_object_hold(struct inj_object *o);
void inj_objects_free(struct inj_session *s);

/* modules.c */
enum inj_status inj_modules_open(struct inj_session *s) INJ_CHECK;
enum inj_status inj_modules_activate(struct inj_session *s) INJ_CHECK;
/* Is a library of that name among the objects?  @soname: @len bytes, without a folder. */
bool inj_is_mapped(const struct inj_session *s, const char *soname, size_t len);
/* inj_resolver, its @arg the session: what the objects export, in the order of the dynamic linker. */
bool inj_find_exported(void *arg, const char *name, uint64_t *addr);
/* They record nothing any more, and call functions where those begin, which are as before. */
enum inj_status inj_modules_silence(struct inj_session *s, struct inj_target *t) INJ_CHECK;
void inj_modules_free(struct inj_session *s);

/* resolve.c: finds the functions of pending wraps. */
enum inj_status inj_resolve(struct inj_session *s) INJ_CHECK;
/* Asks the resolvers of those that are IFUNCs; the program must be able to run them. */
enum inj_status inj_resolve_ifuncs(struct inj_session *s) INJ_CHECK;

/* patch.c */
enum inj_status inj_patch_pending(struct inj_session *s, const size_t *wraps, size_t n) INJ_CHECK;

/* steplen.c: lengths of the instructions at @addr, by the processor itself. */
enum inj_status inj_step_lengths(struct inj_session *s, const uint8_t *code, size_t bytes,
				 uint8_t *lengths, size_t max, size_t *n) INJ_CHECK;

#endif
