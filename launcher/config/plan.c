/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/config/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"

/* What entries want of each kind, each pattern once. */
struct wishes {
	struct config_texts calls, arguments, memory, blocks;
	unsigned int needs;
	bool heap;
	const struct config_entry *sampled; /* the first about memory accesses */
};

static bool has(const struct config_texts *t, const char *text)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->v[i], text) == 0)
			return true;
	return false;
}

static bool add(struct config_texts *t, const char *text)
{
	return has(t, text) || config_texts_add(t, text, (struct config_mark){ 0 });
}

static bool add_all(struct config_texts *t, const struct config_texts *more)
{
	for (size_t i = 0; i < more->n; i++)
		if (!add(t, more->v[i]))
			return false;
	return true;
}

/* "f:n,tol"; of the value that `when' asks for, too. */
static bool add_arguments(struct config_texts *t, const struct config_entry *e, const char *pattern)
{
	char *text = strdup(pattern), *more;
	bool good = text;

	for (size_t i = 0; good && i <= e->arguments.n; i++) {
		const char *name = i < e->arguments.n ? e->arguments.v[i] : e->arguments.n ? e->when.argument : NULL;

		if (!name)
			continue;
		good = asprintf(&more, "%s%c%s", text, i ? ',' : ':', name) >= 0;
		if (good) {
			free(text);
			text = more;
		}
	}
	good = good && add(t, text);
	free(text);
	return good;
}

static bool add_entry(struct wishes *w, const struct config_entry *e, const struct config_found *found)
{
	unsigned int needs = config_about[e->type].needs;
	bool good = true;

	w->needs |= needs;
	if (needs & CONFIG_CALLS)
		good = add_all(&w->calls, &found->patterns);
	/* names are for one function: others have others, of which those that are wanted are taken out of the trace */
	if (good && (needs & CONFIG_ARGUMENTS) && found->patterns.n == 1)
		good = add_arguments(&w->arguments, e, found->patterns.v[0]);
	else if (good && (needs & CONFIG_ARGUMENTS))
		good = add_all(&w->arguments, &found->patterns);
	if (good && (needs & CONFIG_MEMORY))
		good = add_all(&w->memory, &found->patterns) && add_all(&w->memory, &found->also);
	w->heap |= found->needs_heap;
	if (good && (needs & CONFIG_BLOCKS))
		good = add_all(&w->blocks, &found->patterns);
	return good;
}

/* One recording samples all memory accesses alike, or none. */
static int check_sample(struct wishes *w, const struct config *c, const struct config_entry *e)
{
	const struct config_entry *first = w->sampled;

	if (!(config_about[e->type].needs & CONFIG_MEMORY))
		return 0;
	w->sampled = first ? first : e;
	if (!first || (!first->sample && !e->sample) ||
	    (first->sample && e->sample && strcmp(first->sample, e->sample) == 0))
		return 0;
	return config_error(c, e->sample ? &e->sample_at : &e->at,
			    "all entries that are about memory accesses share one recording: 'sample:' has to "
			    "be the same in each (line %zu: %s)",
			    first->at.line, first->sample ? first->sample : "none");
}

/* ---- options ---- */

static bool put(struct config_plan *p, char *arg)
{
	if (!array_room(p->argv, p->room, (size_t)p->argc + 2))
		return false;
	p->argv[p->argc++] = arg;
	p->argv[p->argc] = NULL;
	return true;
}

static bool put_option(struct config_plan *p, const char *name, const char *value)
{
	char *text;
	bool good = asprintf(&text, "%s%s%s", name, value ? "=" : "", value ? value : "") >= 0;

	if (!good)
		return false;
	good = config_texts_add(&p->made, text, (struct config_mark){ 0 }) && put(p, p->made.v[p->made.n - 1]);
	free(text);
	return good;
}

static bool put_options(struct config_plan *p, const char *name, const struct config_texts *values)
{
	for (size_t i = 0; i < values->n; i++)
		if (!put_option(p, name, values->v[i]))
			return false;
	return true;
}

/* Beside calls, the order of blocks is recorded, from which counts are made; beside memory accesses, that of the same functions. */
static bool put_blocks(struct config_plan *p, struct wishes *w)
{
	const char *what = w->needs & CONFIG_CALLS ? "trace" : w->needs & CONFIG_TRIPS ? "trips" : "count";
	bool good = true;
	char *text;

	if (w->needs & CONFIG_MEMORY)
		return add_all(&w->memory, &w->blocks) && put_option(p, "--blocks", NULL);
	for (size_t i = 0; good && i < w->blocks.n; i++) {
		if (asprintf(&text, "%s:%s", what, w->blocks.v[i]) < 0)
			return false;
		good = put_option(p, "--blocks", text);
		free(text);
	}
	return good;
}

static bool put_all(struct config_plan *p, struct wishes *w, const struct config_files *f, bool plain)
{
	bool good = put_options(p, "--functions", &w->calls) && put_options(p, "--args", &w->arguments);

	/* to count calls takes less than to record them */
	if (good && w->needs == CONFIG_CALLS && plain)
		good = put_option(p, "--clock", "none");
	if (good && (w->needs & CONFIG_BLOCKS))
		good = put_blocks(p, w);
	good = good && put_options(p, "--mem", &w->memory) && (!w->heap || put_option(p, "--module", "memory"));
	if (good && (w->needs & CONFIG_TIMES))
		good = put_option(p, "--mem-times", NULL);
	/* no entry is about this rank: that nothing is recorded is what was wanted */
	if (good && !w->needs && plain)
		good = put_option(p, "--quiet", NULL);
	if (good && w->sampled && w->sampled->sample)
		good = put_option(p, "--sample", w->sampled->sample);
	if (good && f->config->program)
		good = put_option(p, "--follow", path_basename(f->config->program));
	return good;
}

static int collect(struct wishes *w, const struct config_files *f, int rank)
{
	int status = 0;

	for (size_t i = 0; !status && i < f->config->n; i++) {
		const struct config_entry *e = &f->config->v[i];

		if (rank >= 0 && e->when.has_rank && e->when.rank != (uint64_t)rank)
			continue;
		status = check_sample(w, f->config, e);
		if (!status && !add_entry(w, e, &f->found[i]))
			status = config_no_memory();
	}
	if (!status && w->sampled && w->sampled->sample && (w->needs & CONFIG_BLOCKS))
		status = config_error(f->config, &w->sampled->sample_at,
				      "blocks are counted all the time: 'sample:' excludes entries that need that");
	return status;
}

int config_plan(struct config_plan *plan, const struct config_files *f, int rank, bool plain, int argc, char **argv)
{
	struct wishes w = { 0 };
	int status = collect(&w, f, rank);
	bool good;

	*plan = (struct config_plan){ 0 };
	good = !status && put(plan, argv[0]) && put_all(plan, &w, f, plain);
	for (int i = 1; good && i < argc; i++)
		good = put(plan, argv[i]);
	config_texts_free(&w.calls);
	config_texts_free(&w.arguments);
	config_texts_free(&w.memory);
	config_texts_free(&w.blocks);
	return status ? status : good ? 0 : config_no_memory();
}

void config_plan_free(struct config_plan *plan)
{
	free(plan->argv);
	config_texts_free(&plan->made);
	*plan = (struct config_plan){ 0 };
}
