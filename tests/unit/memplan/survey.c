// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Plans all functions of the C library, or of the files named, for memory, and checks each plan
 * (memplan_check.h).  Prints how many nodes have headers and what they write.
 *	-t  prints times, and checks nothing; -n  without pushes and pops; -r N  rungs
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injector/facts/facts.h"
#include "tests/unit/memplan/check.h"
#include "tests/unit/wrap/elf.h"

enum { BLOCKS_MIN = 50000, LISTED_MAX = 20, PERCENT = 97 };

struct tally {
	size_t functions, planned, wrong, by_status[TRAMP_MIRROR_STATUS_COUNT];
	size_t blocks, insns, nodes, edges, headers, kept, silent, bytes, checks, live_checks, accesses, parked;
	size_t in_loops, loop_headers, loop_bytes, loop_accesses, loop_ways, loop_kept, loop_at_home;
	double flow_time, plan_time;
};

struct survey {
	const struct inj_codefacts *facts;
	const struct tramp_code *code;
	struct tramp_flow flow;
	struct mp *planner;
	struct mem_plan plan;
	struct tally *tally;
};

static bool timed;
static struct tramp_mem_env env = {
	.id = TRAMP_ID_FS_ZERO, .slack = 4096, .stack = true, .rungs = TRAMP_MEM_ALL,
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add_node(struct tally *t, const struct survey *s, uint32_t i)
{
	const struct mem_node *n = &s->plan.nodes[i];
	bool loop = s->flow.blocks[n->block].loop_depth > 0;

	t->nodes++;
	t->edges += n->nops == 0;
	t->headers += n->header;
	t->kept += n->kept;
	t->silent += n->bytes == 0;
	t->parked += n->parked;
	t->bytes += n->bytes;
	t->accesses += s->plan.md[i].accesses;
	for (uint32_t k = 0; k < n->nactions; k++) {
		const struct mem_action *a = &s->plan.actions[n->action + k];

		t->checks += a->code == MEM_CHECK;
		t->live_checks += a->code == MEM_CHECK && a->flags_live;
	}
	if (!loop || n->nops == 0)
		return;
	t->in_loops++;
	t->loop_headers += n->header;
	t->loop_bytes += n->bytes;
	t->loop_accesses += s->plan.md[i].accesses;
	t->loop_ways += n->target != TRAMP_NONE || n->next != TRAMP_NONE;
	t->loop_kept += n->kept;
	t->loop_at_home += n->reg == RT_MEM_NO_REG && (n->target != TRAMP_NONE || n->next != TRAMP_NONE);
}

static void look_at(struct survey *s, uint32_t fn)
{
	const char *name = s->facts->fn[fn].name, *wrong;
	uint32_t node;

	for (uint32_t i = 0; i < s->plan.nnodes; i++)
		add_node(s->tally, s, i);
	s->tally->planned++;
	s->tally->blocks += s->flow.nblocks;
	s->tally->insns += s->flow.nops;
	if (timed)
		return;
	wrong = memplan_check(&s->plan, &env, &s->flow, 0, &node);
	if (wrong && s->tally->wrong++ < LISTED_MAX)
		printf("%#" PRIx64 " %s: node %u: %s\n", s->facts->facts.fns[fn].addr, name, node, wrong);
}

static void survey_function(struct survey *s, uint32_t fn)
{
	enum tramp_mirror_status status;
	double start = now();

	if (tramp_flow_build(&s->flow, s->code, fn) != TRAMP_CODE_OK)
		errx(99, "no memory");
	tramp_flow_live(&s->flow);
	if (tramp_flow_loops(&s->flow) != TRAMP_CODE_OK)
		errx(99, "no memory");
	s->tally->flow_time += now() - start;
	start = now();
	status = mem_plan(s->planner, &s->plan, &env, &s->flow, 0);
	s->tally->plan_time += now() - start;
	s->tally->functions++;
	s->tally->by_status[status]++;
	if (status == TRAMP_MIRROR_OK)
		look_at(s, fn);
}

static void survey_file(const char *path, struct tally *tally)
{
	struct survey s = { .tally = tally, .planner = mem_planner_new() };
	struct inj_codefacts f;
	struct inj_symtab *tab;
	struct tramp_code *code;

	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK ||
	    inj_codefacts_read(path, tab, &f) != INJ_OK)
		errx(99, "%s: cannot be read", path);
	if (tramp_code_new(&f.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: no code", path);
	if (!s.planner)
		errx(99, "no memory");
	s.facts = &f;
	s.code = code;
	for (uint32_t i = 0; i < f.facts.nfns; i++) {
		if (tramp_code_function(code, f.facts.fns[i].addr) == i)
			survey_function(&s, i);
	}
	mem_plan_free(&s.plan);
	mem_planner_free(s.planner);
	tramp_flow_free(&s.flow);
	tramp_code_free(code);
	inj_codefacts_free(&f);
	inj_symtab_close(tab);
}

static double share(size_t part, size_t of)
{
	return of ? (double)part / (double)of : 0;
}

static bool report(const char *path, const struct tally *t)
{
	printf("%s: %zu of %zu functions, %zu blocks, %zu instructions\n", path, t->planned, t->functions,
	       t->blocks, t->insns);
	for (int i = 0; i < TRAMP_MIRROR_STATUS_COUNT; i++) {
		if (t->by_status[i] && i != TRAMP_MIRROR_OK)
			printf("  %6zu  %s\n", t->by_status[i], tramp_mirror_text(i));
	}
	printf("  %zu nodes, %zu of them edges; %.1f %% with headers, %.1f %% kept, %.1f %% parked, "
	       "%.1f %% silent; %zu checks, %zu with live flags\n", t->nodes, t->edges,
	       100 * share(t->headers, t->nodes), 100 * share(t->kept, t->nodes),
	       100 * share(t->parked, t->nodes), 100 * share(t->silent, t->nodes), t->checks, t->live_checks);
	printf("  %.2f bytes a node, %.2f an access; in loops %.1f %% with headers, %.2f bytes a node, "
	       "%.2f an access; %.1f %% of those that go on keep the pointer, %.1f %% have none\n",
	       share(t->bytes, t->nodes), share(t->bytes, t->accesses),
	       100 * share(t->loop_headers, t->in_loops), share(t->loop_bytes, t->in_loops),
	       share(t->loop_bytes, t->loop_accesses), 100 * share(t->loop_kept, t->loop_ways),
	       100 * share(t->loop_at_home, t->loop_ways));
	if (timed)
		printf("  flow %.3f s, plans %.3f s: %.2f us a block\n", t->flow_time, t->plan_time,
		       1e6 * t->plan_time / (double)t->blocks);
	if (t->wrong)
		printf("  %zu WRONG\n", t->wrong);
	return !t->wrong && 100 * t->planned >= PERCENT * t->functions;
}

int main(int argc, char **argv)
{
	struct tally tally;
	int option, failed = 0;

	while ((option = getopt(argc, argv, "tnr:")) != -1) {
		timed |= option == 't';
		if (option == 'n')
			env.stack = false;
		else if (option == 'r')
			env.rungs = (unsigned int)atoi(optarg);
	}
	if (optind == argc) {
		for (env.rungs = 0; env.rungs <= TRAMP_MEM_ALL; env.rungs = 2 * env.rungs + 1) {
			memset(&tally, 0, sizeof(tally));
			env.slack = env.rungs ? 4096 : TRAMP_MEM_SLACK_MIN;
			survey_file(elf_libc_path(), &tally);
			failed |= !report("the C library", &tally) || tally.blocks < BLOCKS_MIN;
		}
	}
	for (; optind < argc; optind++) {
		memset(&tally, 0, sizeof(tally));
		survey_file(argv[optind], &tally);
		failed |= !report(argv[optind], &tally);
	}
	return failed;
}
