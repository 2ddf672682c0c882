/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the chunks of threads' memory streams to batches of accesses, or counts, for modules. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/common/message.h"
#include "launcher/memory/memory.h"
#include "tracefmt/ring.h"

static void out_of_memory(struct analysis *a)
{
	pthread_mutex_lock(&a->lock);
	if (!a->failed)
		msg_error("out of memory: modules miss memory accesses");
	a->failed = true;
	pthread_mutex_unlock(&a->lock);
}

/* ---- code ---- */

void analysis_object(struct analysis *a, const struct md_object *object, const struct md_node *nodes,
		     const struct md_op *ops)
{
	enum mt_status status = mt_code_add(a->code, object, nodes, ops);

	if (status == MT_MEMORY)
		out_of_memory(a);
	else if (status != MT_OK)
		msg_error("the description of instrumented code is wrong: modules miss its memory accesses");
	analysis_compile_object(a);
}

/* ---- batches ---- */

static void end_profile(struct analysis_thread *t)
{
	if (t->profile && !memprofile_end(t->profile))
		out_of_memory(t->a);
	t->profile = NULL;
}

static void end_caches(struct analysis_thread *t)
{
	if (!analysis_caches_end(t))
		out_of_memory(t->a);
}

static void give_hooks(struct analysis_thread *t, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < t->a->n; i++) {
		analysis_running(t->a->modules[i].file->name);
		batch_hooks(t->a->modules[i].desc, &t->members[i]->thread, batch);
	}
	analysis_running(NULL);
}

static bool give(struct batcher *b, const struct sonde_batch *batch)
{
	struct analysis_thread *t = (struct analysis_thread *)((char *)b - offsetof(struct analysis_thread, batcher));
	const struct mt_access *v = (const struct mt_access *)(const void *)batch->next;
	size_t n = (size_t)(batch->end - batch->next);

	if (t->profile && !memprofile_take(t->profile, v, n))
		end_profile(t);
	if (t->caches && !cache_sim_take(t->caches, v, n, true)) {
		cache_sim_free(t->caches);
		t->caches = NULL;
		out_of_memory(t->a);
	}
	if (t->sharing && !analysis_sharing_take(t, v, n)) {
		t->sharing = NULL;
		out_of_memory(t->a);
	}
	give_hooks(t, batch);
	return true;
}

/* ---- chunks ---- */

static void note_gap(struct analysis_thread *t)
{
	t->broken = true;
	for (size_t i = 0; i < t->a->n; i++)
		t->members[i]->thread.gaps++;
}

static bool says_all(const struct md_chunk *head)
{
	return head->kind == MD_CHUNK_START || head->kind == MD_CHUNK_STATE;
}

static void take_chunk(struct analysis_thread *t, const void *chunk, size_t bytes, bool lost)
{
	struct mt_access batch[ANALYSIS_BATCH];
	struct md_chunk head = { 0 };

	if (lost && !t->broken)
		note_gap(t);
	if (bytes >= sizeof(head))
		memcpy(&head, chunk, sizeof(head));
	if (t->broken && !says_all(&head))
		return;
	t->broken = false;
	if (t->profile && t->off && says_all(&head))
		memprofile_off(t->profile);
	t->off = head.kind == MD_CHUNK_END && head.depth == 0;
	t->batcher.v = batch;
	if (batch_chunk(&t->batcher, chunk, bytes) != MT_OK)
		note_gap(t);
}

void analysis_chunk(struct analysis_thread *t, const void *chunk, size_t bytes, bool lost)
{
	if (!t)
		return;
	if (!t->a->apart)
		pthread_mutex_lock(&t->a->alone);
	take_chunk(t, chunk, bytes, lost);
	if (!t->a->apart)
		pthread_mutex_unlock(&t->a->alone);
}

bool analysis_counts_only(const struct analysis *a)
{
	return a && a->wants.counts && !a->wants.accesses;
}

void analysis_counts(struct analysis_thread *t, const uint64_t *accesses, const uint64_t *bytes, bool lost)
{
	struct sonde_batch batch = { 0 };

	if (!t)
		return;
	for (int kind = 0; kind < SONDE_ACCESS_KINDS; kind++) {
		batch.counts.accesses[kind] = accesses[kind];
		batch.counts.bytes[kind] = bytes[kind];
	}
	if (!t->a->apart)
		pthread_mutex_lock(&t->a->alone);
	if (lost)
		note_gap(t);
	give_hooks(t, &batch);
	if (!t->a->apart)
		pthread_mutex_unlock(&t->a->alone);
}

/* ---- threads ---- */

static struct analysis_member *add_member(struct analysis *a, struct analysis_module *module, pid_t pid,
					  pid_t tid, const char *name)
{
	struct analysis_member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	snprintf(m->name, sizeof(m->name), "%s", name ? name : "");
	m->thread = (struct sonde_thread){ .api = &analysis_api, .name = m->name, .pid = pid, .tid = tid };
	m->analysis = a;
	m->module = module;
	*module->last = &m->thread;
	module->last = &m->thread.next;
	return m;
}

struct analysis_thread *analysis_begin(struct analysis *a, pid_t pid, pid_t tid, const char *name)
{
	struct analysis_thread *t = calloc(1, sizeof(*t) + a->n * sizeof(struct analysis_member *));
	bool failed = !t;

	if (!a->watched)
		analysis_watch();
	a->watched = true;
	if (t) {
		t->a = a;
		t->batcher = (struct batcher){
			.machine = mt_machine_new(a->code), .wants = a->wants, .size = ANALYSIS_BATCH, .give = give,
		};
		if (a->repeats && t->batcher.machine)
			mt_machine_repeats(t->batcher.machine);
		if (a->profile && t->batcher.machine)
			t->profile = memprofile_begin(a->profile);
		failed = !t->batcher.machine || (a->profile && !t->profile) || !analysis_caches_begin(t) ||
			 !analysis_sharing_begin(t, pid, tid);
	}
	for (size_t i = 0; i < a->n && !failed; i++) {
		t->members[i] = add_member(a, &a->modules[i], pid, tid, name);
		failed = !t->members[i];
	}
	if (!failed)
		return t;
	out_of_memory(a);
	if (t) {
		end_profile(t);
		end_caches(t);
	}
	if (t && t->batcher.machine)
		mt_machine_free(t->batcher.machine);
	free(t);
	return NULL;
}

/* ---- what threads have done themselves ---- */

bool analysis_merges(const struct analysis *a)
{
	return a && a->merges;
}

static void merge(const struct analysis_module *module, struct sonde_thread *into, const struct sonde_thread *from)
{
	analysis_running(module->file->name);
	for (const struct sonde_memory_hook *const *h = module->desc->memory_begin; h < module->desc->memory_end; h++)
		if ((*h)->merge)
			(*h)->merge(into, from);
	analysis_running(NULL);
}

/* Ours, to which that is added, is as large, if there is any; else the program has spoilt it. */
static void take_data(struct analysis_thread *t, size_t i, const struct ring_results *r)
{
	struct analysis_member *m = t->members[i];
	uint32_t at = __atomic_load_n(&r->part[i].at, __ATOMIC_RELAXED);
	uint32_t bytes = __atomic_load_n(&r->part[i].bytes, __ATOMIC_RELAXED);
	struct sonde_thread from = m->thread;

	if (!bytes || at > sizeof(r->data) || bytes > sizeof(r->data) - at)
		return;
	if (m->thread.data && bytes != m->bytes) {
		m->thread.gaps++;
		return;
	}
	from.data = malloc(bytes);
	if (!from.data) {
		out_of_memory(t->a);
		return;
	}
	memcpy(from.data, &r->data[at], bytes);
	if (!m->thread.data) {
		m->thread.data = from.data;
		m->bytes = bytes;
		return;
	}
	merge(m->module, &m->thread, &from);
	free(from.data);
}

static void take_sum(struct analysis_thread *t, const struct ring_sum *shared)
{
	struct ring_sum sum;

	memcpy(&sum, shared, sizeof(sum));
	sum.name[sizeof(sum.name) - 1] = '\0';
	if (sum.module < t->a->n && sum.name[0])
		analysis_api.add(&t->members[sum.module]->thread, sum.name, sum.n);
}

void analysis_results(struct analysis_thread *t, const struct ring_results *r)
{
	uint32_t nsums = __atomic_load_n(&r->nsums, __ATOMIC_RELAXED);

	if (!t)
		return;
	for (uint32_t i = 0; i < nsums && i < RING_ANALYSIS_SUMS; i++)
		take_sum(t, &r->sums[i]);
	for (size_t i = 0; i < t->a->n && i < RING_ANALYSIS_MODULES; i++)
		take_data(t, i, r);
}

/* ---- sums ---- */

void analysis_trace(struct analysis *a, struct tf_writer *w)
{
	a->writer = w;
	for (size_t i = 0; i < a->n; i++) {
		const struct modfile *m = a->modules[i].file;

		if (tf_writer_module(w, m->name, m->description, m->path) != SONDE_TRACE_OK)
			msg_error("cannot describe the trace: %s", tf_writer_message(w));
	}
}

static uint32_t sum_id(size_t i)
{
	return RING_COUNTERS - 1 - (uint32_t)i;
}

static void tell_sums(struct analysis *a)
{
	for (size_t i = 0; i < a->nsums; i++) {
		struct tf_counter counter = {
			.id = sum_id(i), .name = a->sums[i].name, .function = -1,
			.module = a->sums[i].module->file->name,
		};

		if (a->sums[i].told)
			continue;
		a->sums[i].told = true;
		if (tf_writer_counter(a->writer, &counter) != SONDE_TRACE_OK)
			msg_error("cannot describe the trace: %s", tf_writer_message(a->writer));
	}
}

void analysis_end(struct analysis_thread *t, const struct sonde_trace_thread_sampled *sampled, uint64_t *counters)
{
	if (!t)
		return;
	if (t->profile)
		memory_profile_sampled(t->profile, &t->a->how, sampled);
	tell_sums(t->a);
	for (size_t m = 0; m < t->a->n; m++)
		for (size_t i = 0; i < t->a->nsums; i++)
			counters[sum_id(i)] += t->members[m]->sums[i];
	end_profile(t);
	end_caches(t);
	if (!analysis_sharing_end(t))
		out_of_memory(t->a);
	mt_machine_free(t->batcher.machine);
	free(t);
}
