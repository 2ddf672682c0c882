/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: which events of which trace, in which format, into which file. */
#include "launcher/export/callgrind.h"
#include "launcher/export/export.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/graph/graph.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/holds.h"
#include "launcher/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PATHS UINT64_C(1000000)

struct export_options {
	struct pick pick;
	struct select_options select;
	struct opt_list systems;
	const char *format, *output;
	bool mangled;
};

static const struct opt export_opts[] = {
	{ 'f', "format", "NAME", "callgrind, chrome, csv, ctf, folded, otf2, perfetto or speedscope", OPT_CHOICE,
	  offsetof(struct export_options, format), "callgrind\0chrome\0csv\0ctf\0folded\0otf2\0perfetto\0speedscope\0" },
	{ 'o', "output", "FILE", "into FILE instead of standard output; ctf, otf2: into a new folder", OPT_STRING, offsetof(struct export_options, output), NULL },
	{ 't', "thread", "[PID.]TID", "only this thread; may be repeated", OPT_LIST,
	  offsetof(struct export_options, pick.threads), NULL },
	{ 'r', "rank", "N", "only the threads of MPI rank N", OPT_COUNT, offsetof(struct export_options, pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct export_options, pick.processes)),
	OPT_TRACED_FUNCTIONS(struct export_options, select, "only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct export_options, select, "but not these"),
	{ 0, "from", "TIME", "only calls that begin from then on, since the start: 2s, 300ms", OPT_TIME,
	  offsetof(struct export_options, pick.from), NULL },
	{ 0, "to", "TIME", "only up to then", OPT_TIME, offsetof(struct export_options, pick.to), NULL },
	{ 0, "system", "SYSTEM", "callgrind, of memory accesses: misses in the caches of a name of 'sonde cache\n--list', host (this machine), or a YAML file",
	  OPT_LIST, offsetof(struct export_options, systems), NULL },
	{ 0, "mangled", NULL, "C++ names as they are in the symbol table", OPT_FLAG, offsetof(struct export_options, mangled), NULL },
	PICK_TAIL_CALLS(offsetof(struct export_options, pick.tail_calls)),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command export_command = {
	.name = "export",
	.usage = "-f FORMAT [OPTION]... [DIR]",
	.summary = "Writes a trace in a format that another tool reads.",
	.opts = export_opts,
	.details = "DIR is a trace, " DEFAULT_TRACE " if not given. Formats:\n"
		   "  callgrind   call graph with times: kcachegrind, callgrind_annotate; of blocks (--blocks)\n"
		   "              or memory accesses (--mem): instructions, reads, writes, misses by line\n"
		   "  chrome      time line, JSON: chrome://tracing, ui.perfetto.dev\n"
		   "  csv         a row for each call: spreadsheets, R, pandas\n"
		   "  ctf         time line, a folder, CTF 1.8: babeltrace2, Trace Compass\n"
		   "  folded      call paths with times: flamegraph.pl, speedscope\n"
		   "  otf2        time line, a folder: Vampir, Scalasca, otf2-print\n"
		   "  perfetto    time line, protobuf: ui.perfetto.dev, trace_processor\n"
		   "  speedscope  time line of each thread: www.speedscope.app\n",
	.examples = "sonde export -f perfetto -o trace.pftrace\tto be opened in ui.perfetto.dev\n"
		    "sonde export -f csv -F 'MPI_*' >calls.csv\ta table of some calls\n"
		    "sonde export -f callgrind -o callgrind.out && kcachegrind callgrind.out\ta call graph\n",
};

static const struct export_format *const formats[] = { &export_chrome, &export_csv, &export_ctf, &export_otf2, &export_perfetto, &export_speedscope, NULL };

static const struct export_format *format_named(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL; /* one of call paths */
}

/* ---- call paths ---- */

static int export_paths(struct export_reader *r, const char *format)
{
	struct graph_reader g = { .trace = r->x.trace, .pick = r->pick, .paths = MAX_PATHS, .reading = r->reading };
	struct graph_style style = { .trace = r->x.trace, .out = r->x.out, .mangled = r->x.mangled };
	int result = graph_read(&g);

	if (!result && strcmp(format, "folded") == 0)
		graph_print_folded(&style, &g.tree);
	else if (!result)
		export_callgrind(&r->x, &g.tree);
	if (g.walk.unplaced)
		msg_warn("%" PRIu64 " calls count as their callers' own time: there are more than %" PRIu64 " call paths", g.walk.unplaced,
			 MAX_PATHS);
	r->damage = g.damage;
	graph_reader_end(&g);
	return result;
}

/* ---- all of it ---- */

/* Were blocks counted, or their order recorded? */
static bool has_blocks(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		char *path;
		bool there = asprintf(&path, "%s/code.blocks", sonde_trace_rank(trace, i)->dir) >= 0;

		if (there) {
			there = access(path, F_OK) == 0;
			free(path);
		}
		if (there)
			return true;
	}
	return false;
}

static int export_into_folder(struct export_reader *r, const char *path)
{
	int result = EXIT_USAGE;

	if (r->x.format->open_folder(&r->x, path)) {
		pick_reading(r->pick, false, &r->reading);
		result = export_read(r);
		reading_end(&r->reading);
	}
	if (r->x.format->close_folder && !r->x.format->close_folder(&r->x, !result))
		result = EXIT_USAGE;
	return result ? result : r->damage ? EXIT_USAGE : 0;
}

static int export_into(struct export_reader *r, const struct export_options *o)
{
	struct output out;
	bool to_stdout = !o->output || strcmp(o->output, "-") == 0;
	int result;

	if (r->x.format && r->x.format->binary && to_stdout && isatty(STDOUT_FILENO)) {
		msg_error("%s is binary: name a file with -o", r->x.format->name);
		return EXIT_USAGE;
	}
	if (!output_open(&out, o->output))
		return EXIT_USAGE;
	r->x.out = out.f;
	pick_reading(r->pick, to_stdout, &r->reading);
	result = r->x.format ? export_read(r) : export_paths(r, o->format);
	reading_end(&r->reading);
	if (r->x.why && !to_stdout)
		msg_error("%s: %s", o->output, strerror(r->x.why));
	if (!output_close(&out, !result))
		result = EXIT_USAGE;
	if (r->x.cut)
		msg_debug("%" PRIu64 " calls had not ended when events went missing, or at the end", r->x.cut);
	return result ? result : r->damage ? EXIT_USAGE : 0;
}

static int make(struct export_reader *r, const struct export_options *o)
{
	int result = export_begin(&r->x);

	if (!result)
		result = r->x.format && r->x.format->open_folder ? export_into_folder(r, o->output) : export_into(r, o);
	export_end(&r->x);
	return result;
}

/* Costs by source line, of blocks or of memory accesses. */
static int export_lines(struct export_options *o, struct sonde_trace *trace, const char *dir)
{
	struct callgrind_options of = { .pick = o->pick, .systems = &o->systems, .output = o->output, .mangled = o->mangled };
	const bool memory = holds_memory(trace) && !holds_blocks(trace), blocks = has_blocks(trace);
	struct callgrind g = { 0 };
	struct output out;
	uint64_t damage = 0;
	int status;

	if (!memory && o->systems.n) {
		msg_error("--system: no memory accesses were recorded; `sonde record --mem' does");
		return EXIT_USAGE;
	}
	status = blocks ? callgrind_blocks(&g, &of, dir, &damage) : 0;
	if (!status && (o->systems.n || !blocks))
		status = callgrind_memory(&g, &of, dir, &damage);
	if (!status && !output_open(&out, o->output))
		status = EXIT_USAGE;
	else if (!status) {
		callgrind_print(&g, sonde_trace_rank(trace, 0), out.f);
		if (!output_close(&out, true) || damage)
			status = EXIT_USAGE;
	}
	callgrind_free(&g);
	return status;
}

static int export_trace(struct export_options *o, const char *dir)
{
	struct export_reader r = { .pick = &o->pick,
				   .x = { .format = format_named(o->format), .mangled = o->mangled, .from = o->pick.from } };
	struct sonde_trace *trace;
	bool *wanted = NULL;
	int result = pick_open(dir, &trace);

	if (!result)
		result = processes_choose(&trace, &o->pick.processes);
	if (result)
		return result;
	if (o->systems.n || (!holds_events(trace) && strcmp(o->format, "callgrind") == 0 && (has_blocks(trace) || holds_memory(trace)))) {
		result = export_lines(o, trace, dir);
		sonde_trace_close(trace);
		pick_forgive_closed_pipe();
		return result;
	}
	r.x.trace = o->pick.trace = trace;
	result = pick_check(&o->pick);
	if (!result && !holds_events(trace)) {
		char text[256];

		holds_no_calls(trace, text, sizeof(text));
		msg_error("%s: %s", dir, text);
		result = EXIT_USAGE;
	}
	if (!result)
		result = traced_functions(trace, dir, &o->select, &wanted);
	if (!result) {
		r.x.wanted = wanted;
		holds_warn_without_end(trace, dir);
		budgeted_tell(trace);
		result = make(&r, o);
		pick_forgive_closed_pipe();
	}
	free(wanted);
	sonde_trace_close(trace);
	return result;
}

/* Call paths are of all functions, from the beginning to the end. */
static int check_options(const struct export_options *o)
{
	const char *of_calls = o->select.functions.n ? "functions" : o->select.excluded.n ? "no-functions" :
			       o->pick.from ? "from" : o->pick.to != PICK_NO_END ? "to" : NULL;

	if (!o->format)
		return opt_usage_error(&export_command, "which format? -f callgrind, chrome, csv, ctf, folded, otf2, perfetto, speedscope");
	if (format_named(o->format) && format_named(o->format)->open_folder && (!o->output || strcmp(o->output, "-") == 0))
		return opt_usage_error(&export_command, "%s is a folder: name one with -o", o->format);
	if (o->systems.n && strcmp(o->format, "callgrind") != 0)
		return opt_usage_error(&export_command, "--system is for callgrind");
	if (of_calls && !format_named(o->format))
		return opt_usage_error(&export_command, "--%s is not for %s", of_calls, o->format);
	return 0;
}

int verb_export(int argc, char **argv)
{
	struct export_options o = { .pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END } };
	int first = opt_parse(&export_command, argc, argv, &o), result;

	if (first < 0)
		result = OPT_STATUS(first);
	else if (argc - first > 1)
		result = opt_usage_error(&export_command, "more than one directory");
	else
		result = check_options(&o);
	if (first >= 0 && !result)
		result = export_trace(&o, first < argc ? argv[first] : DEFAULT_TRACE);
	opt_list_free(&o.systems);
	opt_list_free(&o.pick.threads);
	opt_list_free(&o.pick.processes);
	select_options_free(&o.select);
	return result;
}
