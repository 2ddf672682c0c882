/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options from a table: one row says how an option is spelt, what it takes, where its value goes
 * and what --help prints, so that parsing, help and completion cannot disagree.
 *
 *	struct my_options { bool all; const char *sort; uint64_t limit; struct opt_list only; };
 *
 *	static const struct opt my_opts[] = {
 *		{ 'a', "all", NULL, "show everything", OPT_FLAG, offsetof(struct my_options, all) },
 *		{ 's', "sort", "KEY", "time, calls or name", OPT_CHOICE,
 *		  offsetof(struct my_options, sort), "time\0calls\0name\0" },
 *		{ 0, "limit", "N", "show N rows", OPT_COUNT, offsetof(struct my_options, limit) },
 *		OPT_HELP, OPT_END
 *	};
 *	static const struct opt_command my_command = {
 *		.name = "report", .usage = "[OPTION]... [DIR]", .summary = "...", .opts = my_opts,
 *		.examples = "sonde report --sort calls\tsorted by calls\n",
 *	};
 *
 *	int first = opt_parse(&my_command, argc, argv, &o);
 *	if (first < 0)
 *		return OPT_STATUS(first);
 *	... argv[first] ... argv[argc - 1] are the operands
 */
#ifndef SONDE_LAUNCHER_COMMON_OPTIONS_H
#define SONDE_LAUNCHER_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/mirror/codemap.h"

enum opt_type {
	OPT_TYPE_END = 0,
	OPT_FLAG,	/* bool, set to true */
	OPT_STRING,	/* const char *, points into argv */
	OPT_CHOICE,	/* const char *, one of the words in `choices` (points into argv) */
	OPT_COUNT,	/* uint64_t, decimal */
	OPT_SIZE,	/* uint64_t, bytes; K, M, G (and KiB, MiB, GiB) are powers of 1024 */
	OPT_TIME,	/* uint64_t, nanoseconds; ns, us, ms and s after the number, which may be 0.5 */
	OPT_LIST,	/* struct opt_list; may be repeated, each value is appended */
	OPT_LIST_OR,	/* the same; without a value (--name alone) that in `choices` is appended */
	OPT_TYPE_HELP,	/* prints the help */
};

struct opt_list {
	const char **v; /* the strings point into argv; v is freed by opt_list_free() */
	size_t n;
};
void opt_list_free(struct opt_list *list);
/* False: no memory. */
bool opt_list_append(struct opt_list *list, const char *value);

struct opt {
	char letter;		/* 0: none */
	const char *name;	/* long name, without dashes; NULL: none */
	const char *arg;	/* what it takes, for the help; NULL: nothing */
	const char *help;	/* NULL: another spelling of an option, for old scripts; not shown */
	enum opt_type type;
	size_t offset;		/* of the member in the caller's struct */
	const char *choices;	/* OPT_CHOICE: "one\0two\0"; OPT_LIST_OR: what --name alone means */
};

#define DEFAULT_TRACE "sonde.data" /* the folder, where none is given */

#define OPT_HELP { 'h', "help", NULL, "show this help", OPT_TYPE_HELP, 0, NULL }
#define OPT_END { 0, NULL, NULL, NULL, OPT_TYPE_END, 0, NULL }

struct opt_command {
	const char *name;	/* the verb, also "module new" */
	const char *usage;	/* what follows the verb: "[OPTION]... [DIR]" */
	const char *summary;	/* one sentence */
	const struct opt *opts;	/* up to OPT_END */
	const char *details;	/* more for the help, ends with a newline; NULL: nothing */
	const char *examples;	/* lines "command\twhat it does\n" */
	bool stop_at_operand;	/* what follows the first operand is not ours */
};

/*
 * Parses argv into `out`, which the caller has filled with the defaults.  Returns the index of
 * the first operand (argc when there is none; argv may be permuted), or a negative value when the
 * verb is to return at once: OPT_STATUS() of it is the exit status.  After --help that is 0, after
 * a bad option (one line on stderr) EXIT_USAGE.
 */
int opt_parse(const struct opt_command *cmd, int argc, char **argv, void *out)
	__attribute__((warn_unused_result));
#define OPT_STATUS(first) (-(first) - 1)

/* An OPT_TIME's value, nanoseconds. */
bool opt_parse_time(const char *s, uint64_t *value);

/* "sonde: fmt...; see `sonde VERB --help'" on stderr; returns EXIT_USAGE. */
int opt_usage_error(const struct opt_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void opt_print_help(const struct opt_command *cmd);

struct sonde_trace;
/* Which functions; see launcher/select/select.h for what the values mean. */
struct select_options {
	const char *option;	   /* what said so; NULL: -F; "": an operand */
	const struct sonde_trace *trace; /* of its functions; NULL: of those of files */
	struct opt_list functions; /* each may be a list separated by commas */
	struct opt_list excluded;  /* -N; likewise */
	struct opt_list libs;	   /* --libs; shell patterns for file names */
	uint64_t min_size;	   /* --min-size: smaller functions are left alone */
	bool guess;		   /* --guess: also what may be no function, see INJ_FN_GUESSED */
};

/* --guess of verbs that choose functions of files, into member @sel. */
#define OPT_GUESS(type, sel)                                                                                \
	{ 0, "guess", NULL, "also what may be a function, in code without symbols and unwind tables", OPT_FLAG, \
	  offsetof(type, sel.guess), NULL }

/* -F and -N of verbs that read a trace, into member @sel; @only and @without: help for each. */
#define OPT_TRACED_FUNCTIONS(type, sel, only)                                                               \
	{ 'F', "functions", "PATTERN", only, OPT_LIST, offsetof(type, sel.functions), NULL },               \
	{ 'f', NULL, "PATTERN", NULL, OPT_LIST, offsetof(type, sel.functions), NULL }
#define OPT_TRACED_NO_FUNCTIONS(type, sel, without)                                                         \
	{ 'N', "no-functions", "PATTERN", without, OPT_LIST, offsetof(type, sel.excluded), NULL }

/* --sample, --overhead */
struct sample_times {
	uint32_t by;	       /* enum ring_sample_by */
	uint64_t burst, every; /* ns, or accesses; COST: burst is millionths.  burst 0: all is recorded */
};

/*
 * "burst:1ms,every:10ms", or "burst:1M,every:10M".  False: it is not that, or burst is 0 or not below every, or every
 * above a day, or 10^15.
 */
bool sample_times_parse(const char *text, struct sample_times *t);

/* "5%", "0.5": from 0.1 to 100. */
bool sample_overhead_parse(const char *text, struct sample_times *t);

/* --analyze: the collector or the program's threads hand memory accesses to modules, or whoever has a processor for it. */
enum analyze { ANALYZE_AUTO, ANALYZE_PROGRAM, ANALYZE_COLLECTOR };

/* `sonde record` */
struct record_options {
	const char *dir;	  /* -o; "sonde.data" */
	struct opt_list modules;  /* -m; as given, for modfile_add() */
	const char *signatures;	  /* --signatures: launcher/common/signatures.h */
	struct opt_list systems;  /* --system: caches that are simulated, if one of the modules wants that */
	uint64_t one_in;	  /* --sets: so many sets of these one is simulated; 0: all */
	bool drop;		  /* --overflow=drop: a full ring loses events instead of waiting */
	uint64_t flight;	  /* --flight: bytes of newest events that are kept in memory; 0: all are written */
	uint64_t max_size;	  /* --max-size: bytes that the events of a program may take; 0: any */
	bool start_off;		  /* --start-off: nothing is recorded until it is switched on */
	int toggle;		  /* --signal: switches when it is sent to us; 0: none does */
	bool signal_snapshots;	  /* it does not: what is kept is written then */
	struct opt_list acts[RT_ACTS]; /* --trigger, --under: patterns of functions whose calls do that */
	char *trigger;		  /* --trigger's text */
	uint64_t ring_bytes;	  /* --buffer: ring size of a thread; 64K..1G */
	/* Functions without wrappers. */
	struct select_options select;
	uint64_t depth;		  /* --depth: calls nested deeper are not recorded; 0: no bound */
	uint64_t min_time;	  /* --time: shorter calls are dropped, nanoseconds; 0: none */
	uint64_t max_calls;	  /* --threshold-calls: of a function, by each thread; 0: no bound */
	bool count_only;	  /* --clock=none: calls are counted, nothing is timed */
	struct opt_list args;	  /* --args: of which functions which arguments; launcher/args/args.h */
	bool perf_map;		  /* --perf-map */
	bool blocked;		  /* --blocked: when threads do not run */
	uint32_t counters;	  /* --counters: a bit for each of enum counter */
	bool eager;		  /* --eager: functions are instrumented at the start, not when they are first called */
	/* Functions whose memory accesses are recorded: --mem; -N, --libs, --min-size hold for both. */
	struct opt_list memory;
	bool mem_times;		  /* --mem-times: and where threads wait for each other */
	bool mem_no_stack;	  /* --mem-stack=no: without push, pop, call, ret */
	bool count_trips;	  /* --blocks=trips */
	bool trace_blocks;	  /* --blocks=trace: of those functions no accesses are recorded, but which blocks are executed */
	bool mem_blocks;	  /* ... with --mem: both are */
	uint64_t mem_bytes;	  /* --mem-buffer: of a thread's memory stream; 0: there is none */
	struct opt_list blocks;	  /* functions whose blocks are counted: --blocks; likewise */
	const char *wants_memory; /* complains of an option that means nothing without memory accesses; NULL: all is well */
	struct sample_times sample; /* --sample: of memory accesses */
	uint64_t budget;	  /* --overhead, of -F: what recording calls may cost, in millionths of the program's time; 0: any */
	enum analyze analyze;	  /* where they are handed to modules */
	bool mem_count;		  /* modules want to know how many there are alone: edges between blocks are counted */
	bool mem_keep;		  /* they go into the trace; else only to modules */
	bool mem_describe;	  /* the code that makes them is described in the trace */
	bool slow_guest;	  /* --slow-guest: modules with a C library of their own even where that takes system calls */
	bool attached;		  /* `sonde attach' */
	uint64_t duration;	  /* its --duration: nanoseconds; 0: no bound */
	bool no_follow;		  /* --no-follow: not what processes execute */
	struct opt_list follow;	  /* --follow: shell patterns for programs' names; none: all */
	bool passed_over;	  /* --follow does not name this program: nothing of it is recorded */
	uint64_t alloc_stack;	  /* --alloc-stack: frames, 1 to RECORD_MOST_FRAMES */
	uint64_t workers;	  /* --workers: threads of ours that collect, at most; 0: by the processors */
	bool progress;		  /* --progress */
	bool quiet, verbose;	  /* also set in msg_quiet, msg_verbose */
	char **program;		  /* the program and its arguments, up to NULL, in argv */
};

#define RECORD_MOST_FRAMES 8u
#define RECORD_DEFAULT_RING (UINT64_C(1) << 20)
#define RECORD_DEFAULT_MEMORY (UINT64_C(2) << 20)

/*
 * Parses `sonde record`.  Returns 0, or a negative value as opt_parse() does.  program[0] is always
 * there on success.
 */
int record_options_parse(int argc, char **argv, struct record_options *o)
	__attribute__((warn_unused_result));
/* What has to be known before: of -c FILE, whose options are yet to be added.  Returns as record_options_parse(). */
struct record_peek {
	const char *config;	/* NULL: not given */
	const char *dir;
	char **program;		/* NULL: none */
	bool plain;		/* no option chooses calls, accesses or blocks, or says how they are recorded */
	bool quiet, verbose;
};
int record_options_peek(int argc, char **argv, struct record_peek *peek) __attribute__((warn_unused_result));
/* The same for `sonde attach`: program[0] is the process, as it was written. */
int attach_options_parse(int argc, char **argv, struct record_options *o)
	__attribute__((warn_unused_result));
void record_options_free(struct record_options *o);

/* --mem, if it was not given: a module wants them. */
int record_imply_memory(struct record_options *o) __attribute__((warn_unused_result));
/* No module wants them: then nothing may be said about them without --mem. */
int record_without_memory(struct record_options *o) __attribute__((warn_unused_result));

/* The choice of functions whose calls do that; likewise. */
struct select_options record_act_select(const struct record_options *o, enum rt_act act);

/* The choice of functions whose memory accesses are recorded, or whose blocks are counted; the lists stay @o's. */
struct select_options record_memory_select(const struct record_options *o);
struct select_options record_blocks_select(const struct record_options *o);

#endif
