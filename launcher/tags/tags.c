/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde tags`: what the instructions of a program access, as the compiler plugin sonde-tags.so noted it. */
#include "launcher/tags/tags.h"
#include "launcher/blocks/blockfacts.h"
#include "launcher/common/installed.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/inspect/anatomy.h"
#include "launcher/program/program.h"
#include "launcher/select/select.h"
#include "launcher/tags/tagfile.h"
#include "launcher/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tags_options {
	bool csv, json, untagged, plugin;
};

static const struct opt tags_opts[] = {
	{ 0, "untagged", NULL, "only instructions that access memory and have no tag", OPT_FLAG,
	  offsetof(struct tags_options, untagged), NULL },
	{ 0, "csv", NULL, "comma-separated values, as in RFC 4180", OPT_FLAG, offsetof(struct tags_options, csv), NULL },
	{ 0, "json", NULL, "a JSON object for each row", OPT_FLAG, offsetof(struct tags_options, json), NULL },
	{ 0, "plugin", NULL, "print where the compiler plugin is", OPT_FLAG, offsetof(struct tags_options, plugin), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command tags_command = {
	.name = "tags",
	.usage = "[OPTION]... PROGRAM|LIBRARY [PATTERN]... | --plugin",
	.summary = "Shows which variables of the source the instructions of functions access, of a file that was\n"
		   "compiled with the plugin sonde-tags.so.",
	.opts = tags_opts,
	.details = "For PATTERNs see sonde(1); without one all functions are shown. Nothing is run.\n",
	.examples = "gcc -O2 -fplugin=$(sonde tags --plugin) -o app app.c\tcompile with tags\n"
		    "sonde tags ./app solve\twhat a function accesses\n"
		    "sonde tags --csv ./app >app.csv\tall of it, for a spreadsheet\n",
};

struct listing {
	struct anatomy a;
	const struct tags *tags;
	const struct tags_form *form;
	const char *function;
	bool untagged;
	struct tags_sums sums;
	struct tf_buf line;
};

static int no_memory(const char *path)
{
	msg_error("%s: out of memory", path);
	return EXIT_USAGE;
}

/* ---- an instruction ---- */

static const char *access_text(uint32_t flags)
{
	return (flags & TAGS_READ) && (flags & TAGS_WRITE) ? "modify" : flags & TAGS_WRITE ? "write" : "read";
}

static void put_row(struct listing *l, uint64_t addr, const struct tag *tag, const char *access, uint64_t size)
{
	const struct tags_row row = { addr, l->function, tag, access, tag && tag->fact.size ? tag->fact.size : size };

	l->form->row(&row, &l->line);
}

/* Does it access memory other than by the stack's pointer? */
static bool has_operand(const struct tramp_mem_facts *facts)
{
	bool any = false;

	for (unsigned int i = 0; i < facts->nops; i++) {
		uint8_t code = facts->ops[i].code;

		any |= code == MD_STRING || code == MD_MASKED || code == MD_GATHER || code == MD_PACKED ||
		       (code == MD_ACCESS && !(facts->ops[i].dst & MD_STACK) && (facts->ops[i].dst & MD_KIND) != MD_PREFETCH);
	}
	return any;
}

static void list_untagged(struct listing *l, uint64_t addr, const struct block_facts *b)
{
	static const char *const access[] = { [MD_LOAD] = "read", [MD_STORE] = "write", [MD_MODIFY] = "modify" };

	for (unsigned int k = 0; k < sizeof(access) / sizeof(access[0]); k++)
		if (b->accesses[k] && l->untagged)
			put_row(l, addr, NULL, access[k], b->bytes[k]);
}

static void list_insn(struct listing *l, const struct tramp_op *op)
{
	const uint64_t base = tramp_code_base(l->a.code), addr = base + op->off;
	struct tramp_mem_facts facts;
	struct block_facts b = { 0 };
	const struct tag *tags;
	size_t left = 0, n;
	const uint8_t *code = tramp_code_at(l->a.code, addr, &left);

	if (!code || !tramp_mem_insn(code, left, addr, base, &facts))
		return;
	block_add_accesses(&b, &facts);
	const uint64_t bytes = b.bytes[MD_LOAD] + b.bytes[MD_STORE] + b.bytes[MD_MODIFY];
	const bool operand = has_operand(&facts);
	if (!bytes && !operand)
		return;
	tags = tags_find(l->tags, addr, op->len, &n);
	if (operand) {
		l->sums.insns++;
		l->sums.bytes += bytes;
		l->sums.tagged += tags != NULL;
		l->sums.tagged_bytes += tags ? bytes : 0;
	} else {
		l->sums.stack++;
	}
	for (size_t i = 0; i < n && !l->untagged; i++)
		put_row(l, addr, &tags[i], access_text(tags[i].fact.flags), bytes);
	if (!tags && operand)
		list_untagged(l, addr, &b);
}

static int list_functions(struct listing *l, const bool *wanted)
{
	l->form->begin(l->a.path);
	for (size_t i = 0; i < l->a.facts.facts.nfns; i++) {
		char *name;

		if (!wanted[i])
			continue;
		name = inj_demangle(l->a.facts.fn[i].name);
		l->function = name ? name : l->a.facts.fn[i].name;
		if (!anatomy_flow(&l->a, i)) {
			free(name);
			return no_memory(l->a.path);
		}
		for (uint32_t k = 0; k < l->a.flow.nops; k++)
			list_insn(l, &l->a.flow.ops[k]);
		free(name);
	}
	l->form->end(&l->sums);
	return l->line.failed ? no_memory(l->a.path) : 0;
}

/* ---- a file ---- */

static int list_file(struct listing *l, const char *path, struct select *sel)
{
	int status = anatomy_open(&l->a, path);
	size_t n = 0;

	if (status)
		return status;
	bool *wanted = anatomy_wanted(&l->a, sel, SELECT_PROGRAM, &n);
	if (!wanted) {
		status = EXIT_USAGE;
	} else if (!n) {
		select_say_none(sel, path);
		status = EXIT_USAGE;
	} else {
		status = list_functions(l, wanted);
		select_warn(sel, true);
	}
	free(wanted);
	tf_buf_free(&l->line);
	anatomy_close(&l->a);
	return status;
}

static int list_tags(const struct tags_options *o, const char *path, struct select *sel)
{
	struct tagfile file;
	int status;

	switch (tagfile_open(path, &file)) {
	case TAGFILE_OK:
		break;
	case TAGFILE_BAD:
		return EXIT_USAGE;
	case TAGFILE_NONE:
		msg_error("%s: has no tags; compile it by GCC with -fplugin=$(sonde tags --plugin)", path);
		return EXIT_USAGE;
	}
	struct listing l = { .tags = &file.tags, .untagged = o->untagged };
	l.form = o->csv ? &tags_csv : o->json ? &tags_json : &tags_text;
	status = list_file(&l, path, sel);
	tagfile_close(&file);
	return status;
}

static int show_file(const struct tags_options *o, char **v, size_t n)
{
	static const char *all[] = { "*" };
	struct select_options functions = { .option = "", .functions = { all, 1 } };
	char problem[256], *file;
	int status;

	if (n > 1)
		functions.functions = (struct opt_list){ (const char **)v + 1, n - 1 };
	struct select *sel = select_new(&functions, problem, sizeof(problem));
	if (!sel)
		return opt_usage_error(&tags_command, "%s", problem);
	status = program_elf_file(v[0], &file);
	if (!status) {
		status = list_tags(o, file, sel);
		free(file);
	}
	select_free(sel);
	return status;
}

static int show_plugin(void)
{
	char *folder = installed_path(PKGLIBDIR "/tags"), *path = NULL;
	int status = 0;

	if (!folder || asprintf(&path, "%s/sonde-tags.so", folder) < 0) {
		free(folder);
		return no_memory("sonde-tags.so");
	}
	free(folder);
	if (access(path, R_OK) == 0) {
		puts(path);
	} else {
		msg_error("%s: %m; it is built where GCC 12's plugin headers are (Debian: apt-get install g++-12 gcc-12-plugin-dev)", path);
		status = EXIT_USAGE;
	}
	free(path);
	return status;
}

int verb_tags(int argc, char **argv)
{
	struct tags_options o = { 0 };
	int first = opt_parse(&tags_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (o.csv && o.json)
		return opt_usage_error(&tags_command, "--csv and --json exclude each other");
	if (o.plugin)
		return argc > first ? opt_usage_error(&tags_command, "--plugin is alone") : show_plugin();
	if (argc == first)
		return opt_usage_error(&tags_command, "no file");
	return show_file(&o, argv + first, (size_t)(argc - first));
}
