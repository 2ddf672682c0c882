/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde blocks`: basic blocks and loops of a program, and what is in them.  From the file; there is no process. */
#include "launcher/blocks/blocks.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"
#include "launcher/select/select.h"
#include "launcher/verbs.h"

#include <stdlib.h>
#include <string.h>

struct blocks_options {
	bool csv, json;
};

static const struct opt blocks_opts[] = {
	{ 0, "csv", NULL, "comma-separated values, as in RFC 4180", OPT_FLAG, offsetof(struct blocks_options, csv), NULL },
	{ 0, "json", NULL, "a JSON object for each block", OPT_FLAG, offsetof(struct blocks_options, json), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command blocks_command = {
	.name = "blocks",
	.usage = "[OPTION]... PROGRAM|LIBRARY [PATTERN]...",
	.summary = "Shows the basic blocks and loops of functions, and what is in them.",
	.opts = blocks_opts,
	.details = "For PATTERNs see sonde(1); without one all functions are shown. Nothing is run.\n",
	.examples = "sonde blocks ./app solve\tthe blocks of a function, with its loops\n"
		    "sonde blocks --csv ./app >app.csv\tall of them, for a spreadsheet\n",
};

/* 64 bits, the same on every machine: FNV-1a (Fowler, Noll and Vo) of the build-id's hexadecimal digits. */
static uint64_t hash_of(const struct inj_identity *id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	if (!id->build_id[0])
		return id->code;
	for (const char *p = id->build_id; *p; p++)
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
	b.hash = hash_of(&b.id);
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

int verb_blocks(int argc, char **argv)
{
	static const char *all[] = { "*" };
	struct blocks_options o = { 0 };
	struct select_options functions = { .option = "", .functions = { all, 1 } };
	int first = opt_parse(&blocks_command, argc, argv, &o);
	char problem[256];

	if (first < 0)
		return OPT_STATUS(first);
	if (argc == first)
		return opt_usage_error(&blocks_command, "no program");
	if (o.csv && o.json)
		return opt_usage_error(&blocks_command, "--csv and --json exclude each other");
	if (argc - first > 1)
		functions.functions = (struct opt_list){ (const char **)argv + first + 1, (size_t)(argc - first - 1) };
	struct select *sel = select_new(&functions, problem, sizeof(problem));
	if (!sel)
		return opt_usage_error(&blocks_command, "%s", problem);
	char *file;
	int status = program_elf_file(argv[first], &file);
	if (!status) {
		status = show_file(file, o.csv ? &blocks_csv : o.json ? &blocks_json : &blocks_text, sel);
		free(file);
	}
	select_free(sel);
	return status;
}
