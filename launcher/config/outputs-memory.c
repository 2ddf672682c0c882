/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From memory accesses: those of a location, to a variable if one is named, go on to what an entry's type makes of them: lines,
 * a profile (launcher/memory/profile/memprofile.h), simulated caches, or sums by instruction (outputs-alignment.c).
 */
#include "launcher/config/outputs-memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "launcher/common/message.h"
#include "launcher/trace/sampled.h"

static const enum memory_by default_by = MEMORY_BY_FUNCTION;

static enum memory_by by_of(const struct config_entry *e)
{
	static const char *const words[] = { [MEMORY_BY_FUNCTION] = "function",
					    [MEMORY_BY_LOOP] = "loop",
					    [MEMORY_BY_LINE] = "line",
					    [MEMORY_BY_INSTRUCTION] = "instruction" };
	const char *by = e->by ? e->by : config_about[e->type].by;

	for (unsigned int i = 0; by && i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i] && strcmp(words[i], by) == 0)
			return (enum memory_by)i;
	return default_by;
}

/* ---- which accesses ---- */

static struct memplace *place_of(struct memory_making *k, uint64_t insn)
{
	const struct config_making *m = k->m;
	struct memplace *p = memwhere(k->where, insn);

	if (!p || p->asked)
		return p;
	p->asked = true;
	p->hidden = !p->path || !config_holds(m->f, m->found, p->path, p->addr);
	/* how far the program is from where it is in its file */
	if (p->path && !k->placed && config_object_of(m->f, p->path) == 0) {
		k->bias = p->insn - p->addr;
		k->placed = true;
	}
	return p;
}

static bool is_of_variable(const struct memory_making *k, const struct mt_access *a)
{
	const struct config_found *found = k->m->found;
	uint64_t lo = a->addr - k->bias;
	size_t at;

	if (!found->nvariables && !found->nfields)
		return !found->nnamed;
	if (!k->placed)
		return false;
	at = search_first(i, found->nvariables, found->variables[i].hi > lo);
	if (at < found->nvariables && lo + a->size > found->variables[at].lo)
		return true;
	for (size_t i = 0; i < found->nfields; i++)
		if (config_is_of_field(k->m->f, &found->fields[i], lo, a->size))
			return true;
	return false;
}

/* Those that are wanted into k->kept. */
static bool choose(struct memory_making *k, const struct mt_access *v, size_t n)
{
	struct memplace *p = NULL;
	bool wanted;

	k->n = 0;
	if (!array_room(k->kept, k->room, n))
		return false;
	named_batch(k);
	for (size_t i = 0; i < n; i++) {
		if (!p || p->insn != v[i].insn)
			p = place_of(k, v[i].insn);
		if (!p || !named_pass(k, &v[i], p->hidden, &wanted))
			return false;
		if (wanted || (!p->hidden && is_of_variable(k, &v[i])))
			k->kept[k->n++] = v[i];
	}
	return true;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct memory_making *k = arg;
	uint64_t limit = k->m->entry->limit;

	if (!n) {
		if (k->kind->off)
			k->kind->off(k);
		return true;
	}
	k->failed = !choose(k, v, n);
	if (limit && k->taken + k->n > limit)
		k->n = (size_t)(limit - k->taken);
	k->taken += k->n;
	if (!k->failed && k->n)
		k->failed = !k->kind->take(k, k->kept, k->n);
	return !k->failed && !(limit && k->taken >= limit);
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct memory_making *k = arg;
	struct memtrace_thread timed;

	if (!config_wants_tid(k->m, thread->rank_index, thread->about.pid, thread->about.tid))
		return 0;
	k->taken = 0;
	k->time = (struct memtrace_time){ 0 };
	k->failed = !named_thread(k, thread, &timed) || !k->kind->begin(k, thread);
	timed.time = &k->time;
	if (!k->failed)
		(void)!memtrace_accesses(&timed, take, k);
	k->any |= k->taken != 0;
	if (!k->kind->end(k, thread))
		k->failed = true;
	return k->failed ? config_no_memory() : 0;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct memory_making *k = arg;

	k->read = read;
	k->rank = rank;
	k->placed = false;
	k->where = memwhere_new(read, MEMWHERE_LINES);
	if (k->where && named_rank(k, read) && (!k->kind->rank || k->kind->rank(k)))
		return 0;
	return config_no_memory();
}

static int done_rank(void *arg)
{
	struct memory_making *k = arg;

	return !k->kind->done || k->kind->done(k) ? 0 : config_no_memory();
}

static void end_rank(void *arg)
{
	struct memory_making *k = arg;

	memprofile_free(k->profile);
	k->profile = NULL;
	sharing_kind_end_rank(k);
	named_end_rank(k);
	memwhere_free(k->where);
	k->where = NULL;
}

/* ---- lines ---- */

static bool lines_begin(struct memory_making *k, const struct memtrace_thread *t)
{
	k->dump->format->begin(k->dump, t);
	return !k->dump->failed;
}

static bool lines_take(struct memory_making *k, const struct mt_access *v, size_t n)
{
	struct memplace *p = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!p || p->insn != v[i].insn)
			p = memwhere(k->where, v[i].insn);
		if (!p)
			return false;
		k->dump->format->put(k->dump, &v[i], p);
	}
	return !k->dump->failed;
}

static void lines_off(struct memory_making *k)
{
	k->dump->format->off(k->dump);
}

static bool lines_end(struct memory_making *k, const struct memtrace_thread *t)
{
	(void)t;
	dump_memory_flush(k->dump);
	return true;
}

/* ---- profiles ---- */

static bool profile_rank(struct memory_making *k)
{
	const struct memprofile_options o = memory_profile_options(&k->rows.about, false);

	k->profile = memprofile_new(&o);
	return k->profile;
}

static bool profile_begin(struct memory_making *k, const struct memtrace_thread *t)
{
	(void)t;
	k->thread = memprofile_begin(k->profile);
	return k->thread;
}

static bool profile_take(struct memory_making *k, const struct mt_access *v, size_t n)
{
	return memprofile_take(k->thread, v, n);
}

static void profile_off(struct memory_making *k)
{
	memprofile_off(k->thread);
}

static bool profile_end(struct memory_making *k, const struct memtrace_thread *t)
{
	struct memprofile_thread *thread = k->thread;

	k->thread = NULL;
	if (thread && k->rows.about.sampled)
		memory_profile_sampled(thread, &k->rows.about.how, memtrace_sampled(t));
	return thread && memprofile_end(thread);
}

static bool profile_done(struct memory_making *k)
{
	return memory_rows_add(&k->rows, k->profile, k->where, by_of(k->m->entry), NULL);
}

static void profile_print(struct memory_making *k)
{
	memory_rows_sort(&k->rows, k->m->entry->type == CONFIG_WORKING_SET ? "footprint" : "accesses");
	memory_print_table(&k->rows, UINT64_MAX, by_of(k->m->entry), k->m->out);
}

/* ---- caches ---- */

static bool caches_begin(struct memory_making *k, const struct memtrace_thread *t)
{
	(void)t;
	k->sim = cache_sim_new(k->systems.v, k->systems.n, NULL);
	return k->sim;
}

static bool caches_take(struct memory_making *k, const struct mt_access *v, size_t n)
{
	return cache_sim_take(k->sim, v, n, true);
}

static bool caches_end(struct memory_making *k, const struct memtrace_thread *t)
{
	bool good = k->sim && cache_sim_end(k->sim) &&
		    cache_rows_add(&k->caches, k->sim, k->where, by_of(k->m->entry), NULL, NULL);

	(void)t;
	cache_sim_free(k->sim);
	k->sim = NULL;
	return good;
}

static void caches_print(struct memory_making *k)
{
	cache_print_table(&k->caches, "L1", UINT64_MAX,
			  k->m->entry->by ? k->m->entry->by : config_about[CONFIG_CACHE].by, k->m->out);
}

/* ---- all ---- */

static const struct memory_kind kinds[CONFIG_TYPES] = {
	[CONFIG_ADDRESS_TRACES] = { NULL, lines_begin, lines_take, lines_off, lines_end, NULL, NULL },
	[CONFIG_STRIDE] = { profile_rank, profile_begin, profile_take, profile_off, profile_end, profile_done,
			   profile_print },
	[CONFIG_WORKING_SET] = { profile_rank, profile_begin, profile_take, profile_off, profile_end, profile_done,
				profile_print },
	[CONFIG_CACHE] = { NULL, caches_begin, caches_take, NULL, caches_end, NULL, caches_print },
	[CONFIG_FALSE_SHARING] = { sharing_kind_rank, sharing_kind_begin, sharing_kind_take, NULL, sharing_kind_end,
				  sharing_kind_done, sharing_kind_print },
	[CONFIG_ALIGNMENT] = { alignment_rank, alignment_begin, alignment_take, NULL, alignment_end, alignment_done,
			      alignment_print },
};

static int add_systems(struct memory_making *k)
{
	const struct config_texts *t = &k->m->entry->systems;
	int status = t->n ? 0 : systems_add(&k->systems, "host");

	for (size_t i = 0; !status && i < t->n; i++)
		status = systems_add(&k->systems, t->v[i]);
	cache_systems_alone(&k->systems);
	if (!status && !cache_rows_init(&k->caches, &k->systems, &(struct cache_sim_options){ 0 }))
		status = config_no_memory();
	return status;
}

static int prepare(struct memory_making *k)
{
	static const struct dump_memory_options lines = { .lines = true };

	k->rows.about = memory_about(k->m->trace, NULL);
	if (k->m->entry->type == CONFIG_CACHE)
		return add_systems(k);
	k->dump = calloc(1, sizeof(*k->dump));
	if (!k->dump)
		return config_no_memory();
	k->dump->o = &lines;
	k->dump->format = dump_memory_format("text");
	k->dump->out = k->m->out;
	return 0;
}

static void say_sampled(const struct sonde_trace *trace, FILE *out)
{
	struct sonde_trace_sampled how;
	char text[SAMPLED_MAX];

	if (!sampled_sum(trace, &how))
		return;
	sampled_text(&how, text);
	fprintf(out, "# memory accesses were recorded in %s\n", text);
}

int config_make_memory(struct config_making *m)
{
	struct memory_making k = { .m = m, .kind = &kinds[m->entry->type] };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = visit_thread, .done = done_rank, .end = end_rank, .arg = &k,
	};
	struct memtrace t;
	int status;

	memtrace_use(m->trace, &m->pick, &t);
	status = prepare(&k);
	if (!status && t.threads && !t.blocks)
		status = memtrace_visit(&t, &visitor);
	say_sampled(m->trace, m->out);
	named_say(&k);
	if (!status && !k.any)
		fputs("# no memory was accessed there\n", m->out);
	else if (!status && k.kind->print)
		k.kind->print(&k);
	if (!status && k.failed)
		status = config_no_memory();
	if (k.dump)
		tf_buf_free(&k.dump->thread);
	free(k.dump);
	free(k.kept);
	alignment_free(&k);
	sharing_kind_free(&k);
	memory_rows_free(&k.rows);
	if (k.systems.n)
		cache_rows_free(&k.caches);
	cache_systems_free(&k.systems);
	return status;
}
