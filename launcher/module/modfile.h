/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules as files: finding them by name, compiling them, reading what they wrap.  Nothing of a
 * module is run here.
 */
#ifndef SONDE_LAUNCHER_MODULE_MODFILE_H
#define SONDE_LAUNCHER_MODULE_MODFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct modfile_wrap {
	char *symbol;	/* what it replaces */
	bool optional;	/* no warning when it is not there */
};

/* A module's description, read from the file. */
struct modfile {
	char *path;	   /* of the .so, absolute */
	char *spec;	   /* as the user named it */
	char *name;
	char *description;
	char *needs;	   /* space-separated SONAMEs, and "function()", of which one must be loaded; NULL: any program */
	struct modfile_wrap *wraps;
	size_t nwraps;
	size_t nsites;
	size_t nstart, nexit;	/* hooks */
	bool merges;		/* what is known of parts of a thread's accesses */
	size_t nmemory;		/* hooks for memory accesses, which run in our process */
	bool keeps_memory;	/* wants them in the trace */
	bool profiles_memory;	/* wants a profile of them */
	bool simulates_caches;	/* wants caches simulated with them */
	bool finds_sharing;	/* wants lines that threads share */
	bool needs_libc;   /* needs a dynamic linker or libc: a static program is given one for it */
	char *undefined;   /* what of them, for a message (a symbol); NULL: nothing */
};

struct program;

struct modfile_list {
	struct modfile *v;
	size_t n;
	bool for_program; /* for another program it could be another one */
};

/*
 * Adds what one -m names: comma-separated NAMEs, PATH.so or PATH.c (compiled, or taken from the
 * cache).  A NAME is looked up in $SONDE_MODULE_PATH, then in PKGLIBDIR/modules, as NAME.so and
 * NAME-*.so; all that are found in the first folder that has one are added, and the injector takes
 * those whose `needs` the program meets.  Where that folder has mpi.c, "mpi" is compiled for what of
 * MPI it was not built for and `program` loads (NULL: not known which).  A file that is in the list
 * already is not added twice.  Returns 0, or EXIT_USAGE after a message.
 */
int modfile_add(struct modfile_list *list, const char *spec, const struct program *program)
	__attribute__((warn_unused_result));

/*
 * The folders where a NAME is looked for, in order; each is an own string, the array ends with NULL.
 * modfile_folders_free() it. NULL: no memory.
 */
char **modfile_folders(void);
void modfile_folders_free(char **folders);

/* Every module in $SONDE_MODULE_PATH and PKGLIBDIR/modules; unreadable ones are warned of. */
int modfile_all(struct modfile_list *list) __attribute__((warn_unused_result));

/* Reads one .so, which messages call @name.  Returns 0, or EXIT_USAGE after a message. */
int modfile_read(const char *path, const char *name, struct modfile *m) __attribute__((warn_unused_result));

/* Has to do with memory accesses; is to be loaded into the program: if it is not there for those alone. */
bool modfile_takes_memory(const struct modfile *m);
bool modfile_wraps(const struct modfile *m);

void modfile_free(struct modfile *m);
void modfile_list_free(struct modfile_list *list);

/* Compiles source into out. Returns 0, or EXIT_USAGE after the compiler's messages and one of ours. */
int modfile_build(const char *source, const char *out) __attribute__((warn_unused_result));

/*
 * Runs the compiler with `extra` arguments, which name the output. Returns as modfile_build(). Here and
 * below `compiler` is a command, NULL: $CC, else cc, gcc or clang.
 */
int modfile_compile(const char *source, const char *compiler, const char *const *extra)
	__attribute__((warn_unused_result));

/* Does this compiler find a header?  It says nothing itself. */
bool modfile_has_header(const char *compiler, const char *header);

/*
 * The compiled form of source, from the cache when neither it nor anything it includes nor the
 * compiler has changed. *path is the file, malloc'ed. Returns as modfile_build().
 *
 * The cache is $XDG_CACHE_HOME/sonde or ~/.cache/sonde; where it cannot be written, a folder for
 * this process alone, removed at exit. Any number of processes may call this at once.
 */
int modfile_cached(const char *source, const char *compiler, char **path)
	__attribute__((warn_unused_result));
bool modfile_is_cached(const char *source, const char *compiler);

/* That folder, malloc'ed; NULL where it cannot be written. */
char *modfile_cache_folder(void);

/*
 * The compiler and its flags for `source`, as an argument vector; `extra` (NULL-terminated) goes in
 * front of $SONDE_CFLAGS. NULL after a message when there is no compiler.
 */
char **modfile_compiler_argv(const char *source, const char *compiler, const char *const *extra);
void modfile_argv_free(char **argv);

#endif
