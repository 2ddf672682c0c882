// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * For developers: how a function's plan comes about, pass by pass
 * (trampolines/memory/plan/passes.h).  After each pass it prints what is new or different:
 * instructions, blocks, edges, nodes; at the end actions and operations.
 *
 *	passes [-n] [-r RUNGS] [-s] FILE FUNCTION
 *		-n  without pushes and pops; -r  enum tramp_mem_rungs; -s  for sampling, which polls and counts
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/facts/facts.h"
#include "trampolines/memory/plan/passes.h"

/* What has been printed of one kind of things, by index. */
struct lines {
	char **v;
	size_t n;
};

struct view {
	struct lines insns, blocks, edges, nodes;
	bool has_blocks, has_edges, has_nodes, has_sides; /* the pass that makes them has been run */
};

static const char *const registers[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10",
	"r11", "r12", "r13", "r14", "r15", "t0",  "t1",	 "t2",	"t3", "fs", "object",
};

static const char *register_name(unsigned int reg)
{
	return reg < MD_REGS ? registers[reg] : "-";
}

/* " name rax,rbx", or nothing for an empty set. */
static void put_set(FILE *out, const char *name, mp_set set)
{
	if (!set)
		return;
	fprintf(out, " %s", name);
	for (char c = ' '; set; set &= set - 1, c = ',')
		fprintf(out, "%c%s", c, register_name((unsigned int)__builtin_ctz(set)));
}

static void put_index(FILE *out, const char *name, uint32_t index)
{
	if (index != TRAMP_NONE)
		fprintf(out, " %s%u", name, index);
}

static void put_flag(FILE *out, const char *name, bool flag)
{
	if (flag)
		fprintf(out, " %s", name);
}

/* ---- one line each ---- */

static void put_insn(FILE *out, const struct mp *p, uint32_t i)
{
	const struct mp_insn *insn = &p->insns.v[i];

	fprintf(out, "insn %u +%#x:", i, p->flow->ops[i].off);
	put_set(out, "need", insn->need);
	put_set(out, "kills", insn->kills);
	for (unsigned int k = 0; k < insn->ncomputes; k++) {
		fprintf(out, " [");
		put_set(out, "computes", insn->computes[k].writes);
		put_set(out, "from", insn->computes[k].reads);
		put_flag(out, "possible", insn->can >> k & 1);
		put_flag(out, "used", insn->keep >> k & 1);
		fprintf(out, " ]");
	}
	put_flag(out, "flags possible", insn->can & MP_FLAGS);
	put_flag(out, "used", insn->keep & MP_FLAGS);
	put_set(out, "store", insn->store);
	put_flag(out, "leaves", insn->leaves);
	put_flag(out, "cuts", insn->cuts);
}

static void put_block(FILE *out, const struct mp *p, uint32_t i)
{
	static const char *const ends[] = { "goto", "if", "peek", "next" };
	const struct tramp_block *b = &p->flow->blocks[i];
	const struct mp_block *mb = &p->blocks.v[i];

	fprintf(out, "block %u +%#x insns %u+%u:", i, b->start, b->op, b->nops);
	put_index(out, "loop ", b->loop);
	put_flag(out, "external", mb->external);
	put_flag(out, "owner", mb->owner);
	put_flag(out, "polled", mb->polled);
	put_index(out, "target edge ", mb->succ[MP_TARGET]);
	put_index(out, "next edge ", mb->succ[MP_NEXT]);
	put_index(out, "from outside edge ", mb->external_edge);
	put_index(out, "decider insn ", mb->decider);
	fprintf(out, " freq %g", (double)mb->freq);
	put_set(out, "anticipated", mb->anticipated);
	put_set(out, "known", mb->real.in.known);
	put_set(out, "known after", mb->real.out.known);
	put_set(out, "live-in of the reader", mb->want & ~MP_COND);
	fprintf(out, " end %s", ends[mb->end - MD_GOTO]);
	if (mb->end == MD_PEEK)
		fprintf(out, " for the header at %s",
			mb->lookahead == MP_TARGET ? "target" : "next");
	put_flag(out, "header", mb->header);
}

static void put_edge(FILE *out, const struct mp *p, uint32_t i)
{
	const struct mp_edge *edge = &p->edges.v[i];

	fprintf(out, "edge %u:", i);
	if (edge->from == TRAMP_NONE)
		fprintf(out, " outside");
	put_index(out, "block ", edge->from);
	fprintf(out, " -> block %u freq %g", edge->to, (double)edge->freq);
	put_set(out, "values", edge->values);
	put_flag(out, "implied", edge->implied);
	put_flag(out, "relied on", edge->relied);
	put_flag(out, "own node", edge->own_node);
}

static void put_node(FILE *out, const struct mp *p, uint32_t i, bool side)
{
	const struct mem_node *n = &p->plan->nodes[i];

	fprintf(out, "node %u: block %u insns %u+%u", i, n->block,
		p->flow->blocks[n->block].op + n->first, n->nops);
	if (!side)
		return;
	fprintf(out, " %u bytes pointer %s", p->nodes.v[i].bytes,
		n->reg == RT_MEM_NO_REG ? "at home" : register_name(n->reg));
	put_flag(out, "parked", n->parked);
	put_flag(out, "kept", n->kept);
	put_flag(out, "header", n->header);
	put_flag(out, "owner", n->owner);
	put_set(out, "values", p->nodes.v[i].values);
	put_index(out, "target ", n->target);
	put_index(out, "next ", n->next);
	put_index(out, "check before insn ", p->nodes.v[i].check);
}

static void put_op(const struct md_op *op)
{
	static const char *const codes[MD_CODES] = {
		"value",  "value_u32", "value_s32", "lea",   "sub",    "and",	"or",	  "xor",
		"mul",	  "shl",       "shr",	    "sar",   "rol",    "mulhu", "mulhs",  "bswap",
		"select", "sext",      "zext",	    "flags", "access", "size",	"string", "masked",
		"gather", "packed",    "goto",	    "if",    "peek",   "next",
	};

	printf("\t+%-4u %s", op->insn, codes[op->code]);
	if (op->code == MD_GOTO)
		printf(" %" PRId64, op->imm);
	else if (op->code == MD_IF || op->code == MD_PEEK)
		printf(" %u: %u, %u", op->scale, (uint32_t)op->imm,
		       (uint32_t)((uint64_t)op->imm >> 32));
	else if (op->code == MD_ACCESS || op->code == MD_FLAGS)
		printf(" %u", op->dst);
	else if (op->code != MD_NEXT)
		printf(" %s", register_name(op->dst));
	if (op->code < MD_GOTO)
		printf(" %s + (%s << %u) %+" PRId64 ", %u", register_name(op->base),
		       register_name(op->index), op->scale, op->imm, op->width);
	printf("\n");
}

static void put_description(const struct mem_plan *plan)
{
	static const char *const codes[] = { "store 8", "store 4", "store extra", "check" };

	for (uint32_t i = 0; i < plan->nnodes; i++) {
		const struct mem_node *n = &plan->nodes[i];

		printf("node %u: %u bytes\n", i, n->bytes);
		for (uint32_t k = n->action; k < n->action + n->nactions; k++) {
			const struct mem_action *a = &plan->actions[k];

			printf("\tbefore %u: %s %s at %u\n", a->before, codes[a->code],
			       a->code == MEM_CHECK ? "" : register_name(a->reg), a->at);
		}
		for (uint32_t k = n->op; k < n->op + n->nmdops; k++)
			put_op(&plan->ops[k]);
	}
}

/* ---- what is new ---- */

static void put_if_new(struct lines *lines, uint32_t i, char *line)
{
	if (i >= lines->n) {
		lines->v = reallocarray(lines->v, i + 1, sizeof(*lines->v));
		if (!lines->v)
			errx(99, "no memory");
		memset(lines->v + lines->n, 0, (i + 1 - lines->n) * sizeof(*lines->v));
		lines->n = i + 1;
	}
	if (lines->v[i] && strcmp(lines->v[i], line) == 0) {
		free(line);
		return;
	}
	puts(line);
	free(lines->v[i]);
	lines->v[i] = line;
}

typedef void put_line(FILE *out, const struct mp *p, uint32_t i);

static void put_all(struct lines *lines, const struct mp *p, uint32_t n, put_line *put)
{
	for (uint32_t i = 0; i < n; i++) {
		char *line = NULL;
		size_t len;
		FILE *out = open_memstream(&line, &len);

		if (!out)
			errx(99, "no memory");
		put(out, p, i);
		if (fclose(out) != 0)
			errx(99, "no memory");
		put_if_new(lines, i, line);
	}
}

static void put_cut_node(FILE *out, const struct mp *p, uint32_t i)
{
	put_node(out, p, i, false);
}

static void put_whole_node(FILE *out, const struct mp *p, uint32_t i)
{
	put_node(out, p, i, true);
}

static void after(const struct mp *p, const char *pass, void *arg)
{
	struct view *view = arg;

	printf("== %s\n", pass);
	view->has_blocks |= strcmp(pass, "entries") == 0;
	view->has_edges |= strcmp(pass, "graph") == 0;
	view->has_nodes |= strcmp(pass, "cut") == 0;
	view->has_sides |= strcmp(pass, "registers") == 0;
	put_all(&view->insns, p, p->flow->nops, put_insn);
	if (view->has_blocks)
		put_all(&view->blocks, p, p->flow->nblocks, put_block);
	if (view->has_edges)
		put_all(&view->edges, p, p->nedges, put_edge);
	if (view->has_nodes)
		put_all(&view->nodes, p, (uint32_t)p->plan->nnodes,
			view->has_sides ? put_whole_node : put_cut_node);
	if (strcmp(pass, "describe") == 0)
		put_description(p->plan);
}

/* ---- the function ---- */

static uint32_t function_of(const struct inj_codefacts *f, const struct tramp_code *code,
			    const char *name)
{
	for (uint32_t i = 0; i < f->facts.nfns; i++) {
		if (tramp_code_function(code, f->facts.fns[i].addr) == i &&
		    strcmp(f->fn[i].name, name) == 0)
			return i;
	}
	errx(1, "no function '%s'", name);
}

static void show(const struct tramp_flow *flow, const struct tramp_mem_env *env)
{
	struct view view = { 0 };
	struct mem_plan plan = { 0 };
	struct mp *p = mem_planner_new();
	enum tramp_mirror_status status;

	if (!p)
		errx(99, "no memory");
	p->after = after;
	p->arg = &view;
	status = mem_plan(p, &plan, env, flow, 0);
	if (status != TRAMP_MIRROR_OK)
		errx(1, "not planned: %s", tramp_mirror_text(status));
}

int main(int argc, char **argv)
{
	struct tramp_mem_env env = {
		.id = TRAMP_ID_FS_ZERO, .slack = 4096, .stack = true, .rungs = TRAMP_MEM_ALL,
	};
	struct inj_codefacts f;
	struct inj_symtab *tab;
	struct tramp_code *code;
	struct tramp_flow flow = { 0 };
	int option;

	while ((option = getopt(argc, argv, "nr:s")) != -1) {
		if (option == 'n')
			env.stack = false;
		else if (option == 'r')
			env.rungs = (unsigned int)atoi(optarg);
		else if (option == 's')
			env.sampled = env.count = true;
		else
			return 2;
	}
	if (argc - optind != 2)
		errx(2, "usage: passes [-n] [-r RUNGS] [-s] FILE FUNCTION");
	if (inj_symtab_open(argv[optind], INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK ||
	    inj_codefacts_read(argv[optind], tab, &f) != INJ_OK ||
	    tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(1, "%s: cannot be read", argv[optind]);
	if (tramp_flow_build(&flow, code, function_of(&f, code, argv[optind + 1])) != TRAMP_CODE_OK)
		errx(99, "no memory");
	tramp_flow_live(&flow);
	if (tramp_flow_loops(&flow) != TRAMP_CODE_OK)
		errx(99, "no memory");
	show(&flow, &env);
	return 0;
}
