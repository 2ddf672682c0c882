/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All accesses of a process, once: by instruction and what they were to (launcher/memory/names/memnames.h), a profile, their alignment, and what they miss in
 * the simulated caches; then by loop.  Of a sampled stream all figures are of what was recorded, so that they can be compared with each other.
 */
#include "launcher/advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "launcher/common/message.h"
#include "launcher/memory/names/memnames.h"

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static bool can_classify(const struct cache_system *s)
{
	return !cache_prefetches(s) && !cache_has_policy(s, CACHE_OPT);
}

static struct cache_sim *new_sim(const struct advise *a)
{
	const struct cache_sim_options o = { .classify = can_classify(&a->systems.v[0]) };

	return cache_sim_new(a->systems.v, 1, &o);
}

/* ---- accesses ---- */

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct advise_rank *r = arg;

	if (!n) {
		memprofile_off(r->thread);
		return true;
	}
	v = memnames_take(r->names, v, n);
	r->failed = !v || !memprofile_take(r->thread, v, n) || !alignments_take(&r->alignments, v, n) ||
		    !cache_sim_take(r->thread_sim, v, n, false);
	return !r->failed;
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct advise_rank *r = arg;
	struct memtrace_thread named;

	if (!memnames_thread(r->names, thread, &named))
		return no_memory();
	r->thread = memprofile_begin(r->profile);
	r->thread_sim = new_sim(r->a);
	r->failed = !r->thread || !r->thread_sim;
	if (!r->failed)
		r->a->damage += memtrace_accesses(&named, take, r);
	if (r->thread && !memprofile_end(r->thread))
		r->failed = true;
	if (!r->failed)
		r->failed = !cache_sim_end(r->thread_sim) || !cache_sim_add(r->sim, r->thread_sim);
	cache_sim_free(r->thread_sim);
	r->thread = NULL;
	r->thread_sim = NULL;
	return r->failed ? no_memory() : 0;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct advise_rank *r = arg;
	const struct memory_about about = memory_about(r->a->t.trace, NULL);
	const struct memprofile_options o = memory_profile_options(&about, true);

	r->read = read;
	r->a->round = rank->index;
	r->names = memnames_new(read, r->a->t.trace, rank, MEMNAMES_FIELDS);
	r->where = memwhere_new(read, memory_where(MEMORY_BY_LOOP, r->a->o->mangled));
	r->profile = memprofile_new(&o);
	r->sim = new_sim(r->a);
	if (!r->names || !r->where || !r->profile || !r->sim)
		return no_memory();
	memwhere_use_names(r->where, r->names);
	return 0;
}

static void end_rank(void *arg)
{
	struct advise_rank *r = arg;
	struct advise *a = r->a;

	memprofile_free(r->profile);
	cache_sim_free(r->sim);
	if (r->where)
		memwhere_free(r->where);
	memnames_free(r->names);
	alignments_free(&r->alignments);
	free(r->streams);
	free(r->loops);
	*r = (struct advise_rank){ .a = a };
}

/* ---- streams ---- */

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static int by_loop(const void *x, const void *y)
{
	const struct memplace *a = ((const struct advise_stream *)x)->place, *b = ((const struct advise_stream *)y)->place;
	int order = strcmp(text_of(a->path), text_of(b->path));

	if (!order)
		order = a->entry < b->entry ? -1 : a->entry > b->entry;
	if (!order)
		order = a->loop < b->loop ? -1 : a->loop > b->loop;
	if (!order)
		order = a->addr < b->addr ? -1 : a->addr > b->addr;
	return order ? order : a->insn < b->insn ? -1 : a->insn > b->insn;
}

static bool is_same_loop(const struct memplace *a, const struct memplace *b)
{
	return a->loop == b->loop && a->entry == b->entry && strcmp(text_of(a->path), text_of(b->path)) == 0;
}

/* The misses of each stream: instructions of the simulation are in the order of their first accesses. */
static bool add_misses(struct advise_rank *r)
{
	struct cache_insn insn;
	uint32_t *index;
	uint64_t last = 0;
	bool good;

	for (size_t i = 0; i < r->nstreams; i++)
		last = r->streams[i].place->insn > last ? r->streams[i].place->insn : last;
	index = calloc(last + 1, sizeof(*index));
	good = index != NULL;
	for (size_t i = 0; i < r->nstreams && good; i++)
		index[r->streams[i].place->insn] = (uint32_t)i + 1;
	for (size_t i = 0; good && cache_sim_insn(r->sim, i, &insn); i++)
		if (insn.insn <= last && index[insn.insn])
			cache_sim_counts(r->sim, i, 0, r->streams[index[insn.insn] - 1].counts);
	free(index);
	return good;
}

static bool add_streams(struct advise_rank *r)
{
	const struct memprofile_insn *insn;

	for (size_t i = 0; (insn = memprofile_insn(r->profile, i)); i++) {
		struct advise_stream s = { .sum = insn, .at = alignments_find(&r->alignments, insn->insn) };

		s.place = memwhere(r->where, insn->insn);
		if (!s.place || !array_room(r->streams, r->room_streams, r->nstreams + 1))
			return false;
		if (s.at && memory_accesses(insn))
			r->streams[r->nstreams++] = s;
	}
	if (r->nstreams)
		qsort(r->streams, r->nstreams, sizeof(*r->streams), by_loop);
	return add_misses(r);
}

/* ---- loops ---- */

/* Their lines, by loop.  False: no memory. */
static bool add_footprints(struct advise_rank *r)
{
	uint64_t *lines = calloc(r->nloops + 1, sizeof(*lines));
	uint32_t *group;
	size_t n = 0;
	bool good;

	while (memprofile_insn(r->profile, n))
		n++;
	group = calloc(n + 1, sizeof(*group));
	for (size_t i = 0; group && i < n; i++)
		group[i] = UINT32_MAX;
	/* both ascend by instruction, but streams do not */
	for (size_t i = 0; group && i < r->nloops; i++)
		for (size_t k = 0; k < r->loops[i].n; k++) {
			const uint64_t key = r->loops[i].v[k].place->insn;

			group[search_first(at, n, memprofile_insn(r->profile, at)->insn >= key)] = (uint32_t)i;
		}
	good = lines && group && memprofile_footprint(r->profile, group, lines, r->nloops);
	for (size_t i = 0; good && i < r->nloops; i++)
		r->loops[i].lines = lines[i];
	free(lines);
	free(group);
	return good;
}

/* A loop that begins between the first and the last instruction of one around it is in it. */
static bool holds_another(const struct advise_rank *r, const struct advise_loop *l)
{
	const uint64_t first = l->place->loop, last = l->v[l->n - 1].place->addr;

	for (const struct advise_loop *o = r->loops; o < r->loops + r->nloops; o++)
		if (o != l && o->place->entry == l->place->entry && o->place->loop_depth > l->place->loop_depth &&
		    o->place->loop >= first && o->place->loop <= last && strcmp(text_of(o->place->path), text_of(l->place->path)) == 0)
			return true;
	return false;
}

static bool add_loops(struct advise_rank *r)
{
	for (size_t i = 0, end; i < r->nstreams; i = end) {
		struct advise_loop l = { .v = &r->streams[i], .place = r->streams[i].place };

		for (end = i; end < r->nstreams && is_same_loop(r->streams[end].place, l.place); end++) {
			l.accesses += advise_accesses(&r->streams[end]);
			l.pushes |= r->streams[end].at->stack;
		}
		l.n = end - i;
		if (!array_room(r->loops, r->room_loops, r->nloops + 1))
			return false;
		r->loops[r->nloops++] = l;
	}
	for (size_t i = 0; i < r->nloops; i++)
		r->loops[i].inner = r->loops[i].place->loop && !holds_another(r, &r->loops[i]);
	return add_footprints(r);
}

static void add_whole(struct advise_rank *r)
{
	struct advise *a = r->a;

	for (size_t i = 0; i < r->nstreams; i++) {
		a->whole[ADVICE_OF_ACCESSES] += (double)advise_accesses(&r->streams[i]);
		for (unsigned int k = 0; k < cache_levels(&a->systems.v[0]); k++)
			a->whole[ADVICE_OF_MISSES + k] += (double)r->streams[i].counts[k].misses;
	}
}

static int done_rank(void *arg)
{
	struct advise_rank *r = arg;

	if (!add_streams(r) || !add_loops(r))
		return no_memory();
	add_whole(r);
	for (size_t i = 0; i < r->nloops; i++) {
		if (r->loops[i].accesses < ADVISE_ACCESSES)
			continue;
		advise_strides(r, &r->loops[i]);
		advise_alignment(r, &r->loops[i]);
		advise_vector(r, &r->loops[i]);
		advise_caches(r, &r->loops[i]);
	}
	r->a->damage += memwhere_damage(r->where);
	return 0;
}

int advise_memory(struct advise *a)
{
	struct advise_rank r = { .a = a };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = visit_thread, .done = done_rank, .end = end_rank, .arg = &r,
		.progress = "reading memory accesses",
	};

	return memtrace_visit(&a->t, &visitor);
}

/* ---- what it is ---- */

struct advice_place advise_place(const struct advise_loop *l)
{
	const struct memplace *p = l->place;

	return (struct advice_place){
		.function = p->function, .path = p->path, .file = p->loop ? p->loop_file : NULL,
		.line = p->loop && p->loop_file ? p->loop_line : 0, .address = p->loop ? p->loop : p->entry, .loop = p->loop != 0,
	};
}

char *advise_variable(const struct advise_stream *s)
{
	const struct nm_name *name = s->place->name;
	char *text, *made;

	if (!name || name->variable->how < NM_BY_SYMBOL || name->variable->kind == NM_AMBIGUOUS)
		return NULL;
	text = memory_accessed_name(name, MEMORY_BY_FIELD);
	if (name->variable->kind != NM_HEAP || !text)
		return text;
	made = advise_text("memory of %s", text);
	free(text);
	return made;
}

bool advise_same_variable(const struct advise_stream *a, const struct advise_stream *b)
{
	const struct nm_name *x = a->place->name, *y = b->place->name;

	return x && y ? x->variable == y->variable : x == y;
}
