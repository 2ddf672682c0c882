/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde disasm`: a function's code, its blocks and loops, what recording would write over it, and the
 * mirror that would run instead. From the file; there is no process.
 */
#include "launcher/inspect/disasm.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"
#include "launcher/select/select.h"
#include "launcher/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_DISTANCE (UINT64_C(1) << 30)
#define ARENA_ALIGN 4096u

struct disasm_options {
	bool original, lines;
	struct select_options select;
};

static const struct opt disasm_opts[] = {
	{ 'O', "original", NULL, "only the function as it is in the file", OPT_FLAG,
	  offsetof(struct disasm_options, original), NULL },
	{ 0, "lines", NULL, "where the code comes from in the source", OPT_FLAG,
	  offsetof(struct disasm_options, lines), NULL },
	OPT_GUESS(struct disasm_options, select),
	OPT_HELP,
	OPT_END,
};

static const struct opt_command disasm_command = {
	.name = "disasm",
	.usage = "[OPTION]... PROGRAM|LIBRARY PATTERN...",
	.summary = "Shows the code of functions, and what 'sonde record -F' makes of it.",
	.opts = disasm_opts,
	.details = "For PATTERNs see sonde(1). Lines marked '>' are what is written over\n"
		   "those marked '|'. After an instruction stands where its copy or its original is.\n",
	.examples = "sonde disasm ./app main\ta function, its windows and its mirror\n"
		    "sonde disasm -O --lines ./app solve\tits blocks and loops, with source lines\n",
};

/* ---- one function ---- */

static uint64_t arena_for(const struct anatomy *a)
{
	uint64_t base = tramp_code_base(a->code) & -(uint64_t)ARENA_ALIGN;

	return base > 2 * ARENA_DISTANCE ? base - ARENA_DISTANCE : base + ARENA_DISTANCE;
}

static int by_offset(const void *key, const void *element)
{
	const uint32_t *off = key;
	const struct tramp_op *op = element;

	return *off < op->off ? -1 : *off > op->off;
}

/* A jump of the mirror's own, to where the original goes on: no copy of what stands there. */
static bool leads_back(const struct disasm *d, const struct rt_piece *p)
{
	uint64_t here = d->arena + p->start, target = tramp_code_base(d->a.code) + p->orig;
	int32_t rel;

	if (d->mirror[p->start] != 0xe9 || p->start + 5 > d->code.len)
		return false;
	memcpy(&rel, d->mirror + p->start + 1, sizeof(rel));
	return here + 5 + (uint64_t)(int64_t)rel == target;
}

/* The copy of instructions from @orig on, as many as are in the piece. */
static void note_copies(struct disasm *d, const struct rt_piece *p, uint32_t end)
{
	const struct tramp_flow *flow = &d->a.flow;
	struct tramp_op *op = bsearch(&p->orig, flow->ops, flow->nops, sizeof(*op), by_offset);
	unsigned int kind = p->kind & ~RT_PIECE_RESUMABLE;

	if (!op || (kind != RT_PIECE_COPY && (kind != RT_PIECE_INSN || leads_back(d, p))))
		return;
	for (; op < flow->ops + flow->nops && op->off - p->orig < end - p->start; op++) {
		if (d->copies[op - flow->ops] == TRAMP_NONE)
			d->copies[op - flow->ops] = p->start + (op->off - p->orig);
		if (kind == RT_PIECE_INSN)
			return;
	}
}

static void find_copies(struct disasm *d)
{
	for (size_t i = 0; i < d->a.flow.nops; i++)
		d->copies[i] = TRAMP_NONE;
	for (size_t i = 0; i < d->code.npieces; i++) {
		const struct rt_piece *p = &d->code.pieces[i];

		note_copies(d, p, i + 1 < d->code.npieces ? p[1].start : (uint32_t)d->code.len);
	}
}

static void forget_mirror(struct disasm *d)
{
	free(d->mirror);
	free(d->copies);
	d->mirror = NULL;
	d->copies = NULL;
	d->code = (struct tramp_mirror_code){ 0 };
}

/* *refused: why there is no mirror. */
static int make_mirror(struct disasm *d, const char **refused)
{
	*refused = anatomy_plan(&d->a, d->fn, &d->plan);
	if (*refused)
		return 0;
	size_t room = tramp_mirror_room(d->a.mirror);
	d->mirror = malloc(room + 1);
	d->copies = calloc(d->a.flow.nops + 1, sizeof(*d->copies));
	if (!d->mirror || !d->copies)
		return EXIT_USAGE;
	enum tramp_mirror_status status = tramp_mirror_emit(d->a.mirror, tramp_code_base(d->a.code), d->arena,
							    d->mirror, room, &d->code);
	if (status == TRAMP_MIRROR_OK) {
		find_copies(d);
		return 0;
	}
	forget_mirror(d);
	*refused = tramp_mirror_text(status);
	return status == TRAMP_MIRROR_MEMORY ? EXIT_USAGE : 0;
}

static void print_count(uint32_t n, const char *one, const char *many)
{
	if (n)
		printf(", %" PRIu32 " %s", n, n == 1 ? one : many);
}

static void print_plan(const struct disasm *d)
{
	const struct tramp_mirror_plan *p = &d->plan;

	printf("mirror: %zu bytes, copies of %" PRIu32 " block%s", d->code.len, p->ncopied,
	       p->ncopied == 1 ? "" : "s");
	print_count(p->nexits, "exit", "exits");
	if (!p->nexits)
		fputs(", no exit", stdout);
	print_count(p->nwindows, "window", "windows");
	print_count(p->nshort, "short window", "short windows");
	print_count(p->nretargeted, "branch led to a copy", "branches led to copies");
	print_count(p->nmoved_calls, "call made by the copy", "calls made by the copy");
	puts(p->whole ? ", all of it copied" : "");
}

static void print_head(const struct disasm *d)
{
	const struct tramp_fn *fn = &d->a.facts.facts.fns[d->fn];
	const struct tramp_flow *flow = &d->a.flow;

	anatomy_print_names(&d->a, d->fn, false);
	printf(": at %" PRIx64 ", %" PRIu64 " bytes, %" PRIu32 " block%s, %" PRIu32 " loop%s\n", fn->addr,
	       fn->size, flow->nblocks, flow->nblocks == 1 ? "" : "s", flow->nloops,
	       flow->nloops == 1 ? "" : "s");
}

static int show(struct disasm *d, const struct disasm_options *o)
{
	const char *refused = NULL;
	int status = 0;

	if (!anatomy_flow(&d->a, d->fn))
		return EXIT_USAGE;
	if (!o->original)
		status = make_mirror(d, &refused);
	if (!status) {
		print_head(d);
		disasm_print_original(d);
	}
	if (!status && refused)
		printf("not instrumented: %s\n", refused);
	if (!status && d->mirror) {
		print_plan(d);
		disasm_print_mirror(d);
	}
	forget_mirror(d);
	return status;
}

/* ---- one file ---- */

static int show_all(struct disasm *d, const struct disasm_options *o, const bool *wanted)
{
	int status = 0;

	for (size_t i = 0, shown = 0; i < d->a.facts.facts.nfns && !status; i++) {
		if (!wanted[i])
			continue;
		if (shown++)
			putchar('\n');
		d->fn = (uint32_t)i;
		status = show(d, o);
	}
	if (status)
		msg_error("%s: out of memory", d->a.path);
	return status;
}

static int show_file(const char *path, const struct disasm_options *o, struct select *sel)
{
	struct disasm d = { 0 };
	int status = anatomy_open(&d.a, path);
	size_t n = 0;

	if (status)
		return status;
	bool *wanted = anatomy_wanted(&d.a, sel, SELECT_PROGRAM, &n);
	d.arena = arena_for(&d.a);
	d.text = insntext_new(disasm_name, &d);
	d.plt = plt_open(path);
	d.lines = o->lines ? lines_open(path) : NULL;
	if (o->lines && !d.lines)
		msg_warn("%s: there are no line numbers (compile with -g)", path);
	if (!d.text)
		msg_error("Sonde was built without libopcodes, or there is no memory");
	status = wanted && d.text ? show_all(&d, o, wanted) : EXIT_USAGE;
	if (!status && n)
		select_warn(sel, true);
	if (!status && !n) {
		select_say_none(sel, path);
		status = EXIT_USAGE;
	}
	free(wanted);
	lines_close(d.lines);
	insntext_free(d.text);
	plt_close(d.plt);
	anatomy_close(&d.a);
	return status;
}

/* ---- the verb ---- */

int verb_disasm(int argc, char **argv)
{
	struct disasm_options o = { 0 };
	int first = opt_parse(&disasm_command, argc, argv, &o);
	char problem[256];

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first < 2)
		return opt_usage_error(&disasm_command, argc == first ? "no program" : "no function");
	o.select.option = "";
	o.select.functions = (struct opt_list){ (const char **)argv + first + 1, (size_t)(argc - first - 1) };
	struct select *sel = select_new(&o.select, problem, sizeof(problem));
	if (!sel)
		return opt_usage_error(&disasm_command, "%s", problem);
	char *file;
	int status = program_elf_file(argv[first], &file);
	if (!status) {
		status = show_file(file, &o, sel);
		free(file);
	}
	select_free(sel);
	return status;
}
