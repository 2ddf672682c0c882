/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_LAUNCHER_COLLECT_ANALYSIS_PRIVATE_H
#define SONDE_LAUNCHER_COLLECT_ANALYSIS_PRIVATE_H

#include <pthread.h>
#include <stdio.h>

#include "analysis/cache/simulate.h"
#include "analysis/sharing/sharing.h"
#include "launcher/collect/analysis/analysis.h"
#include "launcher/memory/profile/memprofile.h"
#include "sonde/abi.h"
#include "memtrace/machine.h"
#include "runtime/memory/batches.h"

#define ANALYSIS_BATCH 4096
#define ANALYSIS_SUMS 64 /* that all modules have together; their ids are the last ones */

struct analysis_module {
	const struct modfile *file;
	void *handle;
	const struct sonde_module *desc;
	struct sonde_thread *threads, **last;
};

struct analysis_sum {
	char *name;
	const struct analysis_module *module;
	bool told;
};

struct analysis {
	struct analysis_module *modules;
	size_t n;
	struct batch_wants wants;
	bool merges; /* all of modules do, and may run in the program */
	bool apart; /* they may run for several threads at once */
	pthread_mutex_t alone; /* for those that may not */
	pthread_mutex_t lock; /* for what is marked with + */
	const struct modfile *profiler; /* NULL: nobody wants a profile */
	struct memprofile *profile;
	const struct modfile *simulator; /* NULL: nobody wants caches simulated */
	struct cache_systems systems;
	struct cache_sim_options simulate;
	bool simulates_alone; /* each thread's in one of ours, whose time is measured */
	struct cache_sim *caches; /* sums of the threads that have ended */
	const struct modfile *sharer; /* NULL: nobody wants lines that are shared */
	struct sh *sharing; /* its list of threads: + */
	bool repeats; /* nobody else wants accesses: it gets loops' as repeats */
	struct sonde_trace_sampled how; /* the streams are sampled */
	struct mt_code *code;
	struct mt_server *server; /* compiles for the program's threads; NULL: none does */
	void *shared; /* ... into this memory; NULL: there is none */
	int shared_fd; /* 0: none */
	uint64_t entered, interpreted; /* by those threads */
	struct tf_writer *writer;
	struct analysis_sum sums[ANALYSIS_SUMS]; /* + */
	size_t nsums; /* + written last; those below it stay */
	bool full; /* + of sums; has been said */
	bool failed; /* + has been said */
	bool watched; /* for modules' faults */
};

/* What a struct sonde_thread is part of. */
struct analysis_member {
	struct sonde_thread thread;
	struct analysis *analysis;
	struct analysis_module *module;
	uint64_t bytes; /* of its data */
	uint64_t sums[ANALYSIS_SUMS];
	char name[32];
};

struct analysis_thread {
	struct analysis *a;
	struct batcher batcher;
	struct memprofile_thread *profile; /* NULL: none */
	struct cache_sim *caches; /* NULL: none */
	struct cache_crew crew; /* who simulates them */
	struct sh_thread *sharing; /* NULL: none */
	bool broken; /* until a chunk says all */
	bool off; /* recording is */
	struct analysis_member *members[]; /* of each module */
};

/* launcher/collect/analysis/analysis-module.c */
extern const struct sonde_memory_api analysis_api;

/*
 * launcher/collect/analysis/analysis-fault.c: faults are reported, from now on; not before the program has been started, which inherits what
 * is ignored.  analysis_running(): of @module, whose code runs; NULL: none's does.
 */
void analysis_watch(void);
void analysis_running(const char *module);

/* launcher/collect/analysis/analysis-compiled.c */
void analysis_compile_object(struct analysis *a);
void analysis_compile_tell(const struct analysis *a);
void analysis_compile_end(struct analysis *a);

/* launcher/collect/analysis/analysis-profile.c: prints the profile; the trace in @dir is complete.  False: it cannot be shown. */
bool analysis_profile_print(struct analysis *a, const char *dir, FILE *to) __attribute__((warn_unused_result));

/*
 * launcher/collect/analysis/analysis-caches.c.  Returns 0, or EXIT_USAGE after a message.  False: no memory; analysis_caches_end() frees
 * what there is.  Printing is as that above.
 */
int analysis_caches_new(struct analysis *a, const struct modfile_list *modules, const struct analysis_caches *caches)
	__attribute__((warn_unused_result));
void analysis_caches_free(struct analysis *a);
bool analysis_caches_begin(struct analysis_thread *t) __attribute__((warn_unused_result));
bool analysis_caches_end(struct analysis_thread *t) __attribute__((warn_unused_result));
bool analysis_caches_print(struct analysis *a, const char *dir, FILE *to) __attribute__((warn_unused_result));

/* launcher/collect/analysis/analysis-sharing.c: likewise */
int analysis_sharing_new(struct analysis *a, const struct modfile_list *modules) __attribute__((warn_unused_result));
bool analysis_sharing_begin(struct analysis_thread *t, pid_t pid, pid_t tid) __attribute__((warn_unused_result));
bool analysis_sharing_take(struct analysis_thread *t, const struct mt_access *v, size_t n) __attribute__((warn_unused_result));
bool analysis_sharing_end(struct analysis_thread *t) __attribute__((warn_unused_result));
bool analysis_sharing_print(struct analysis *a, const char *dir, FILE *to) __attribute__((warn_unused_result));

#endif
