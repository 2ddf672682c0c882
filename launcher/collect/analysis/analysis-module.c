/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules in our process: loading them, what they may call, and what they print. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/common/message.h"
#include "launcher/memory/memory.h"
#include "tracefmt/ring.h"
#include "memtrace/compile.h"
#include "memtrace/heap.h"

/* ---- what modules call ---- */

static struct analysis_member *member_of(struct sonde_thread *thread)
{
	return (struct analysis_member *)thread;
}

static void *give_data(struct sonde_thread *thread, uint64_t bytes)
{
	member_of(thread)->bytes = bytes ? bytes : 1;
	return calloc(1, bytes ? bytes : 1);
}

/* ANALYSIS_SUMS: it is none of the first @n. */
static size_t find_sum(const struct analysis *a, size_t n, const struct analysis_module *module, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (a->sums[i].module == module && strcmp(a->sums[i].name, name) == 0)
			return i;
	return ANALYSIS_SUMS;
}

/* With the lock. */
static size_t new_sum(struct analysis *a, const struct analysis_module *module, const char *name)
{
	size_t i = find_sum(a, a->nsums, module, name);
	struct analysis_sum sum = { .module = module };

	if (i < ANALYSIS_SUMS)
		return i;
	if (a->nsums < ANALYSIS_SUMS)
		sum.name = strdup(name);
	if (!sum.name) {
		if (!a->full)
			msg_warn("module %s: %s is not in the trace: there are too many sums",
				 module->file->name, name);
		a->full = true;
		return ANALYSIS_SUMS;
	}
	i = a->nsums;
	a->sums[i] = sum;
	__atomic_store_n(&a->nsums, i + 1, __ATOMIC_RELEASE);
	return i;
}

static void add_sum(struct sonde_thread *thread, const char *name, uint64_t n)
{
	struct analysis_member *m = member_of(thread);
	struct analysis *a = m->analysis;
	size_t i = find_sum(a, __atomic_load_n(&a->nsums, __ATOMIC_ACQUIRE), m->module, name);

	if (i == ANALYSIS_SUMS) {
		pthread_mutex_lock(&a->lock);
		i = new_sum(a, m->module, name);
		pthread_mutex_unlock(&a->lock);
	}
	if (i < ANALYSIS_SUMS)
		m->sums[i] += n;
}

/* The end that a module is given, and where what it prints goes. */
struct printed {
	struct sonde_end end;
	FILE *to;
};

__attribute__((format(printf, 2, 3))) static void print(struct sonde_end *end, const char *format, ...)
{
	struct printed *p = (struct printed *)end;
	va_list ap;

	va_start(ap, format);
	vfprintf(p->to, format, ap);
	va_end(ap);
}

const struct sonde_memory_api analysis_api = {
	.version = SONDE_ABI_VERSION,
	.data = give_data,
	.add = add_sum,
	.print = print,
};

/* ---- loading ---- */

static int load(struct analysis *a, const struct modfile *file)
{
	struct analysis_module *m = &a->modules[a->n];

	*m = (struct analysis_module){ .file = file, .last = &m->threads };
	m->handle = dlopen(file->path, RTLD_NOW | RTLD_LOCAL);
	m->desc = m->handle ? dlsym(m->handle, "sonde_module") : NULL;
	if (!m->desc) {
		msg_error("module %s cannot be loaded for memory accesses: %s", file->name, dlerror());
		if (m->handle)
			dlclose(m->handle);
		return EXIT_USAGE;
	}
	a->n++;
	batch_want(&a->wants, m->desc);
	return 0;
}

static struct analysis *make(size_t n)
{
	struct analysis *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->alone, NULL);
	pthread_mutex_init(&a->lock, NULL);
	a->modules = calloc(n, sizeof(*a->modules));
	a->code = mt_code_new(&mt_heap);
	if (a->code)
		mt_compile(a->code);
	if (a->modules && a->code)
		return a;
	analysis_free(a);
	return NULL;
}

static bool want_profile(struct analysis *a, const struct modfile_list *modules,
			 const struct sonde_trace_sampled *sampled)
{
	struct memory_about about = memory_about(NULL, NULL);
	struct memprofile_options o;

	for (size_t i = 0; i < modules->n && !a->profiler; i++)
		if (modules->v[i].profiles_memory)
			a->profiler = &modules->v[i];
	about.sampled = sampled != NULL;
	if (sampled)
		a->how = *sampled;
	o = memory_profile_options(&about, false);
	if (a->profiler) {
		a->wants.accesses = true;
		a->profile = memprofile_new(&o);
	}
	return !a->profiler || a->profile;
}

int analysis_new(const struct modfile_list *modules, const struct sonde_trace_sampled *sampled,
		 const struct analysis_caches *caches, struct analysis **out)
{
	bool merges = analysis_may_move(modules);
	size_t n = 0;
	int status = 0;

	*out = NULL;
	for (size_t i = 0; i < modules->n; i++)
		n += modules->v[i].nmemory || modules->v[i].profiles_memory || modules->v[i].simulates_caches ||
		     modules->v[i].finds_sharing;
	if (!n)
		return 0;
	*out = make(n);
	if (!*out || !want_profile(*out, modules, sampled)) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	(*out)->merges = merges;
	(*out)->apart = analysis_apart(modules);
	status = analysis_caches_new(*out, modules, caches);
	if (!status)
		status = analysis_sharing_new(*out, modules);
	for (size_t i = 0; i < modules->n && !status; i++)
		if (modules->v[i].nmemory)
			status = load(*out, &modules->v[i]);
	(*out)->repeats = (*out)->sharer && !(*out)->n && !(*out)->profiler && !(*out)->simulator;
	return status;
}

static void free_module(struct analysis_module *m)
{
	while (m->threads) {
		struct analysis_member *member = member_of(m->threads);

		m->threads = m->threads->next;
		free(member->thread.data);
		free(member);
	}
	dlclose(m->handle);
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free_module(&a->modules[i]);
	for (size_t i = 0; i < a->nsums; i++)
		free(a->sums[i].name);
	analysis_compile_end(a);
	if (a->code)
		mt_code_free(a->code);
	if (a->profile)
		memprofile_free(a->profile);
	analysis_caches_free(a);
	sh_free(a->sharing);
	free(a->modules);
	free(a);
}

/* ---- what they print ---- */

static void keep(const char *name, const char *dir, const char *text, size_t bytes)
{
	char *path;
	FILE *f = NULL;
	bool ok;

	if (asprintf(&path, "%s/%s.txt", dir, name) < 0)
		return;
	if (!strchr(name, '/'))
		f = fopen(path, "wex");
	ok = f && fwrite(text, 1, bytes, f) == bytes;
	ok = f && fclose(f) == 0 && ok;
	if (!ok)
		msg_warn("cannot write %s: %s", path, strerror(errno));
	free(path);
}

/* What module @name prints: into @dir, and with @show to standard error. */
static void put_out(const char *name, const char *text, size_t bytes, const char *dir, bool show)
{
	if (!bytes)
		return;
	keep(name, dir, text, bytes);
	if (show)
		fwrite(text, 1, bytes, stderr);
}

static void finish_module(struct analysis_module *m, const char *dir, bool show)
{
	struct printed p = { .end = { .api = &analysis_api, .threads = m->threads } };
	char *text = NULL;
	size_t bytes = 0;

	p.to = open_memstream(&text, &bytes);
	if (!p.to) {
		msg_error("out of memory");
		return;
	}
	analysis_running(m->file->name);
	for (const struct sonde_memory_hook *const *h = m->desc->memory_begin;
	     h < m->desc->memory_end; h++)
		if ((*h)->end)
			(*h)->end(&p.end);
	analysis_running(NULL);
	fclose(p.to);
	put_out(m->file->name, text, bytes, dir, show);
	free(text);
}

/* What Sonde itself prints for module @name; @what: that, in a message. */
static void finish_tables(struct analysis *a, const char *name, bool (*print)(struct analysis *a, const char *dir, FILE *to),
			  const char *what, const char *dir, bool show)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);
	bool done = to && print(a, dir, to);

	if (to)
		fclose(to);
	if (done)
		put_out(name, text, bytes, dir, show);
	else
		msg_error("module %s: its %s cannot be shown", name, what);
	free(text);
}

void analysis_finish(struct analysis *a, const char *dir, bool show)
{
	for (size_t i = 0; i < a->n; i++)
		finish_module(&a->modules[i], dir, show);
	if (a->profiler)
		finish_tables(a, a->profiler->name, analysis_profile_print, "profile", dir, show);
	if (a->simulator)
		finish_tables(a, a->simulator->name, analysis_caches_print, "tables", dir, show);
	if (a->sharer)
		finish_tables(a, a->sharer->name, analysis_sharing_print, "lines", dir, show);
	analysis_compile_tell(a);
}
