/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A configuration file says what is to be measured where in a program's source (`sonde -c FILE ./app'):
 *
 *	instrumentation:
 *	  - type: address-traces
 *	    location: ["loop at foo.cc:565", "function bar(int, int)"]
 *	    output: trace-output.txt
 *
 * config-read.c reads it, place.c what a location says.  resolve.c finds locations in the program's files; plan.c makes options of
 * `sonde record' of that, the union of what all entries want; outputs.c makes each entry's file of the trace.  After Rane, Fialho and
 * Browne, "A hybrid approach to application instrumentation", Petascale Tools Workshop 2014.
 */
#ifndef SONDE_LAUNCHER_CONFIG_CONFIG_H
#define SONDE_LAUNCHER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_ERROR_MAX 1024
#define CONFIG_MAX_BYTES (1u << 20) /* of a file */
#define CONFIG_MAX_ENTRIES 64
#define CONFIG_MAX_PLACES 256	/* of an entry */

enum config_type {
	CONFIG_ADDRESS_TRACES,
	CONFIG_INVOCATION_COUNTER,
	CONFIG_FUNCTION_TRACE,
	CONFIG_BLOCK_COUNTER,
	CONFIG_TRIP_COUNTER,
	CONFIG_FALSE_SHARING,
	CONFIG_STRIDE,
	CONFIG_ALIGNMENT,
	CONFIG_BRANCH_OUTCOME,
	CONFIG_CACHE,
	CONFIG_WORKING_SET,
	CONFIG_VALUE,
	CONFIG_TYPES
};

/* What has to be recorded for a type, and what else an entry of it may say. */
enum config_needs {
	CONFIG_CALLS = 1,
	CONFIG_ARGUMENTS = 2,	/* with CONFIG_CALLS */
	CONFIG_MEMORY = 4,
	CONFIG_BLOCKS = 8,
	CONFIG_TIMES = 16,	/* with CONFIG_MEMORY */
	CONFIG_TRIPS = 32,	/* with CONFIG_BLOCKS */
};
enum config_keys {
	CONFIG_HAS_VARIABLES = 1,
	CONFIG_HAS_ARGUMENTS = 2,
	CONFIG_HAS_BY = 4,
	CONFIG_HAS_SYSTEM = 8,
	CONFIG_HAS_TOP = 16,
	CONFIG_HAS_LIMIT = 32,
	CONFIG_HAS_SAMPLE = 64,
	CONFIG_HAS_CALLS = 128,	/* when: call, argument */
	CONFIG_HAS_THREAD = 256, /* when: thread */
};

struct config_about {
	const char *name;
	unsigned int needs;
	unsigned int keys;
	const char *by;		/* what is a row, if `by' is not given; NULL: nothing else */
	const char *bys;	/* "function\0loop\0"; NULL: no choice */
	const char *summary;
};
extern const struct config_about config_about[CONFIG_TYPES];

/* From 1 on. */
struct config_mark {
	size_t line, column;
};

enum config_place_kind {
	CONFIG_FUNCTION, /* name: a pattern, as for -F */
	CONFIG_LOOP,	 /* at file:line */
	CONFIG_LINES,	 /* of file, line to last */
	CONFIG_VARIABLE, /* name */
	CONFIG_LIBRARY,	 /* name: a shell pattern for its file's name, as for --libs */
	CONFIG_ALL,
};

struct config_place {
	enum config_place_kind kind;
	char *text;		/* as it was written */
	char *name, *file;	/* NULL: it has none */
	unsigned int line, last;
	struct config_mark at;
};

/* Which variable: its name is with its field, "particles.pos". */
enum config_variable_kind {
	CONFIG_PLAIN,	    /* "grid": of the program, or of a function at the location */
	CONFIG_IN_FUNCTION, /* "f:counter", "counter in f"; "malloc in f": blocks that f allocates */
	CONFIG_AT_LINE,	    /* "malloc at solve.c:12": likewise, at that line */
};

struct config_variable {
	enum config_variable_kind kind;
	char *name;
	char *function, *file;	/* NULL: none */
	unsigned int line;
};

struct config_texts {
	char **v;
	struct config_mark *at;
	size_t n, room, at_room;
};

enum config_compare {
	CONFIG_NO_ARGUMENT,
	CONFIG_LESS,
	CONFIG_LESS_EQUAL,
	CONFIG_GREATER,
	CONFIG_GREATER_EQUAL,
	CONFIG_EQUAL,
	CONFIG_UNEQUAL
};

/* Only then.  What is not said is 0, or NULL. */
struct config_when {
	uint64_t first, last;	/* calls of a function in a thread, from 1 on; last: UINT64_MAX: all later ones, too */
	char *argument;
	enum config_compare compare;
	double value;
	bool has_rank;
	uint64_t rank;
	uint64_t thread;	/* of its process: 1 is the first */
	struct config_mark at;
};

struct config_entry {
	enum config_type type;
	struct config_mark at;
	struct config_place *places;
	size_t nplaces, places_room;
	struct config_texts variables, arguments, systems;
	char *output;		/* NULL: the trace alone */
	struct config_mark output_at;
	char *by;		/* NULL: not given */
	struct config_when when;
	char *sample;		/* as for --sample; NULL: all */
	struct config_mark sample_at;
	uint64_t limit;		/* 0: none */
	uint64_t top;		/* 0: not given */
};

struct config {
	char *path;		/* of the file */
	char *program;		/* whose code locations are in; NULL: the one that is run */
	struct config_entry *v;
	size_t n, room;
};

/*
 * False: *c is empty, and @error says what is wrong: "line 3, column 7: ...", or "no memory".
 */
bool config_parse(struct config *c, const char *text, size_t bytes, char error[static CONFIG_ERROR_MAX])
	__attribute__((warn_unused_result));
/* The same of a file.  Returns 0, or EXIT_USAGE after a message. */
int config_read(struct config *c, const char *path) __attribute__((warn_unused_result));
void config_free(struct config *c);

/* Appends a copy.  False: no memory. */
bool config_texts_add(struct config_texts *t, const char *text, struct config_mark at)
	__attribute__((warn_unused_result));
void config_texts_free(struct config_texts *t);

/* "FILE, line 3, column 7: ..." as an error.  Returns EXIT_USAGE. */
int config_error(const struct config *c, const struct config_mark *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- place.c ---- */

/*
 * Appends the places of a location: one, or several with commas between them.  NULL, or what is wrong: static text.
 */
const char *config_places_parse(struct config_entry *e, const char *text, struct config_mark at)
	__attribute__((warn_unused_result));
void config_place_free(struct config_place *p);

/* ---- variable.c ---- */

/* NULL, or what is wrong, and nothing to free: static text. */
const char *config_variable_parse(struct config_variable *v, const char *text) __attribute__((warn_unused_result));
void config_variable_free(struct config_variable *v);

/*
 * A function's name as the demangler writes it: "f(void)" is "f()", "g(const T &)" "g(T const&)".  malloc'ed; NULL: no memory.
 */
char *config_signature(const char *text);

#endif
