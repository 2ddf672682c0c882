/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde blocks`: basic blocks and loops of a program, and what is in them, from the file; or how often they were executed, from a trace. */
#include "launcher/blocks/blocks.h"
#include "launcher/blocks/counts.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"
#include "launcher/select/processes.h"
#include "launcher/select/select.h"
#include "launcher/verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_LIMIT 100 /* rows of a table for people */
#define NO_LIMIT (UINT64_MAX - 1)
#define EXIT_DAMAGED 1

struct blocks_options {
	bool csv, json, mix, all;
	const char *by;
	uint64_t limit;
	struct counts_options counts;
};

#define BYS "function\0loop\0line\0block\0edge\0thread\0" /* as enum counts_by */

static const struct opt blocks_opts[] = {
	{ 'b', "by", "WHAT", "of a trace: function (default), loop, line, block, edge or thread", OPT_CHOICE,
	  offsetof(struct blocks_options, by), BYS },
	{ 0, "mix", NULL, "of a trace: which instructions were executed, flops a byte", OPT_FLAG,
	  offsetof(struct blocks_options, mix), NULL },
	OPT_TRACED_FUNCTIONS(struct blocks_options, counts.select, "of a trace: only these functions: 'solve*', /regex/, @FILE:LINE, NAME@LIB"),
	OPT_TRACED_NO_FUNCTIONS(struct blocks_options, counts.select, "but not these"),
	{ 't', "thread", "[PID.]TID", "of a trace: only this thread; may be repeated", OPT_LIST,
	  offsetof(struct blocks_options, counts.pick.threads), NULL },
	{ 'r', "rank", "N", "of a trace: only this MPI rank", OPT_COUNT, offsetof(struct blocks_options, counts.pick.rank), NULL },
	OPT_PROCESSES(offsetof(struct blocks_options, counts.pick.processes)),
	{ 'n', "limit", "N", "of a trace: only the first N rows; 100 if not given, all for --csv and --json", OPT_COUNT,
	  offsetof(struct blocks_options, limit), NULL },
	{ 'a', "all", NULL, "all rows", OPT_FLAG, offsetof(struct blocks_options, all), NULL },
	{ 0, "csv", NULL, "comma-separated values, as in RFC 4180", OPT_FLAG, offsetof(struct blocks_options, csv), NULL },
	{ 0, "json", NULL, "a JSON object for each row", OPT_FLAG, offsetof(struct blocks_options, json), NULL },
	{ 0, "mangled", NULL, "of a trace: C++ names as they are in the symbol table", OPT_FLAG,
	  offsetof(struct blocks_options, counts.mangled), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command blocks_command = {
	.name = "blocks",
	.usage = "[OPTION]... PROGRAM|LIBRARY [PATTERN]... | [OPTION]... [DIR]",
	.summary = "Shows the basic blocks and loops of functions, and what is in them; or of a trace, how often\n"
		   "they were executed.",
	.opts = blocks_opts,
	.details = "For PATTERNs see sonde(1); without one all functions are shown. Nothing is run. DIR is a\n"
		   "trace that was recorded with --blocks, sonde.data if nothing is given. The exit status is\n"
		   "1 if some of it is damaged and the rest was shown, 2 if there is nothing to show.\n",
	.examples = "sonde blocks ./app solve\tthe blocks of a function, with its loops\n"
		    "sonde blocks --csv ./app >app.csv\tall of them, for a spreadsheet\n"
		    "sonde blocks -b loop\tthe loops that ran, with their trip counts\n"
		    "sonde blocks --mix sonde.data\tthe instructions that were executed\n",
};

/* 64 bits, the same on every machine: FNV-1a (Fowler, Noll and Vo) of the build-id's hexadecimal digits. */
uint64_t blocks_hash(const char *build_id, uint64_t code)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (!build_id[0])
		return code;
	for (const char *p = build_id; *p; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return hash;
}

static int no_memory(const char *path)
{
	msg_error("%s: out of memory", path);
	return EXIT_USAGE;
}

static int show_functions(struct blocks *b, const struct blocks_form *form, const bool *wanted)
{
	form->begin(b);
	for (size_t i = 0; i < b->a.facts.facts.nfns; i++) {
		if (!wanted[i])
			continue;
		if (!anatomy_flow(&b->a, i))
			return no_memory(b->a.path);
		b->fn = (uint32_t)i;
		b->name = inj_demangle(b->a.facts.fn[i].name);
		if (!b->name)
			b->name = strdup(b->a.facts.fn[i].name);
		if (!b->name || !form->function(b)) {
			free(b->name);
			return no_memory(b->a.path);
		}
		free(b->name);
	}
	return 0;
}

static int show_file(const char *path, const struct blocks_form *form, struct select *sel)
{
	struct blocks b = { 0 };
	int status = anatomy_open(&b.a, path);
	size_t n = 0;

	if (status)
		return status;
	inj_codefacts_identity(&b.a.facts, &b.id);
	b.hash = blocks_hash(b.id.build_id, b.id.code);
	b.lines = lines_open(path);
	bool *wanted = anatomy_wanted(&b.a, sel, SELECT_PROGRAM, &n);
	if (!wanted) {
		status = EXIT_USAGE;
	} else if (!n) {
		select_say_none(sel, path);
		status = EXIT_USAGE;
	} else {
		status = show_functions(&b, form, wanted);
		select_warn(sel, true);
	}
	free(wanted);
	tf_buf_free(&b.line);
	lines_close(b.lines);
	anatomy_close(&b.a);
	return status;
}

static int show_trace(struct blocks_options *o, const char *dir)
{
	const char *words = BYS;
	struct counts c;
	uint64_t limit = o->limit;
	int status;

	for (o->counts.by = COUNTS_BY_FUNCTION; o->by && strcmp(words, o->by) != 0; words += strlen(words) + 1)
		o->counts.by++;
	status = counts_read(&c, &o->counts, dir);
	if (status)
		return status;
	if (limit == NO_LIMIT)
		limit = o->csv || o->json ? UINT64_MAX : DEFAULT_LIMIT;
	if (o->all)
		limit = UINT64_MAX;
	if (o->csv)
		counts_print_csv(&c, limit, stdout);
	else if (o->json && !counts_print_json(&c, words, limit, stdout))
		status = no_memory(dir);
	else if (o->mix && !o->json)
		counts_print_mix(&c, stdout);
	else if (!o->json)
		counts_print_table(&c, words, limit, stdout);
	if (c.killed)
		msg_warn("%" PRIu64 " thread%s did not end by %s: counts may be too small, or too large, by 1 for each", c.killed,
			 c.killed == 1 ? "" : "s", c.killed == 1 ? "itself" : "themselves");
	if (c.damage) {
		msg_warn("%s: %" PRIu64 " part%s of the counts could not be read", dir, c.damage, c.damage == 1 ? "" : "s");
		status = status ? status : EXIT_DAMAGED;
	}
	pick_forgive_closed_pipe();
	counts_free(&c);
	return status;
}

static int show_blocks(struct blocks_options *o, char **v, size_t n)
{
	static const char *all[] = { "*" };
	struct select_options functions = { .option = "", .functions = { all, 1 } };
	char problem[256];

	if (n > 1)
		functions.functions = (struct opt_list){ (const char **)v + 1, n - 1 };
	struct select *sel = select_new(&functions, problem, sizeof(problem));
	if (!sel)
		return opt_usage_error(&blocks_command, "%s", problem);
	char *file;
	int status = program_elf_file(v[0], &file);
	if (!status) {
		status = show_file(file, o->csv ? &blocks_csv : o->json ? &blocks_json : &blocks_text, sel);
		free(file);
	}
	select_free(sel);
	return status;
}

static bool is_folder(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Nothing that is for traces alone, beside a program. */
static bool is_of_traces(const struct blocks_options *o)
{
	const struct counts_options *c = &o->counts;

	return o->by || o->mix || o->all || o->limit != NO_LIMIT || c->mangled || c->select.functions.n || c->select.excluded.n ||
	       c->pick.threads.n || c->pick.rank != PICK_ANY_RANK || c->pick.processes.n;
}

static int show(struct blocks_options *o, char **v, size_t n)
{
	bool trace = !n || is_folder(v[0]);

	if (o->csv && o->json)
		return opt_usage_error(&blocks_command, "--csv and --json exclude each other");
	if (o->mix && (o->csv || o->json || o->by))
		return opt_usage_error(&blocks_command, "--mix is a table of its own: not with --by, --csv, --json");
	if (trace && n > 1)
		return opt_usage_error(&blocks_command, "more than one trace; -F chooses functions");
	if (!trace && is_of_traces(o))
		return opt_usage_error(&blocks_command, "%s is no trace: --by, --mix, -F and the like are for traces", v[0]);
	return trace ? show_trace(o, n ? v[0] : "sonde.data") : show_blocks(o, v, n);
}

int verb_blocks(int argc, char **argv)
{
	struct blocks_options o = { .limit = NO_LIMIT, .counts.pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END } };
	int first = opt_parse(&blocks_command, argc, argv, &o);
	int status = first < 0 ? OPT_STATUS(first) : show(&o, argv + first, (size_t)(argc - first));

	opt_list_free(&o.counts.pick.threads);
	opt_list_free(&o.counts.pick.processes);
	select_options_free(&o.counts.select);
	return status;
}
