// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde record`: everything is checked and prepared first; then the program is started, stopped at its
 * first instruction, instrumented and let go; then we collect until it and its children have ended.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injector/patch/session.h"
#include "launcher/collect/analysis.h"
#include "launcher/collect/collector.h"
#include "launcher/common/caches.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/record/metadata.h"
#include "launcher/record/objects.h"
#include "launcher/module/modfile.h"
#include "launcher/common/options.h"
#include "launcher/program/program.h"
#include "launcher/record/probecost.h"
#include "launcher/record/recorded.h"
#include "launcher/record/supervise.h"
#include "launcher/record/waiter.h"
#include "launcher/trace/tracedir.h"
#include "launcher/verbs.h"
#include "tracefmt/write/writer.h"

#define MANY_RINGS 4096u
#define MAPPED_RINGS 16u
#define CODE_BYTES (UINT64_C(16) << 20)
#define MIRROR_CODE_BYTES (UINT64_C(1) << 30) /* used as far as needed */
#define POOLS 64u
/* with an address space limit */
#define FEW_RINGS 64u
#define FEW_MAPPED_RINGS 2u
#define SMALL_RING (UINT64_C(256) << 10)
#define SMALL_CODE (UINT64_C(1) << 20)
#define FEW_POOLS 16u
#define ROOMY (UINT64_C(4) << 30)
#define SHORT_WAITS_NS 8000000	/* for children that end with the program */
#define LONG_WAIT_NS 100000000

struct recording {
	struct record_options opt;
	struct program program;
	char *elf_path; /* of the program; absolute */
	struct modfile_list modules;
	size_t nwrapping; /* the first ones, which go into the program */
	struct analysis *analysis; /* NULL: no module takes memory accesses */
	struct supervisor supervisor;
	struct waiter waiter;
	struct collector *collector;
	struct recorded recorded;
	struct inj_session session;
	struct inj_tracee tracee;
	struct tracedir dir;
	struct tf_writer *writer;
	char **argv, **env;
	char *preload; /* the entry of env that is ours */
	char **paths;  /* of modules */
	char **analyzers; /* of those that the program's threads hand memory accesses to */
	size_t nanalyzers;
	char *cache;   /* folder */
	bool limited;  /* address space */
	bool let_go;   /* the program, to run by itself */
};

/* ---- before the program is started ---- */

static bool is_musl(const struct program *p)
{
	return p->interp && strstr(p->interp, "ld-musl");
}

static int check_modules(const struct recording *r)
{
	for (size_t i = 0; i < r->nwrapping; i++) {
		const struct modfile *m = &r->modules.v[i];

		if (m->needs_libc && r->program.is_static) {
			msg_error("module %s needs %s of the C library, which a statically linked "
				  "program does not offer: write it against sonde/module.h alone",
				  m->name, m->undefined);
			return EXIT_USAGE;
		}
		if (m->needs_libc && is_musl(&r->program)) {
			msg_error("module %s needs %s of another C library than the program's "
				  "(musl): write it against sonde/module.h alone",
				  m->name, m->undefined);
			return EXIT_USAGE;
		}
		if (!r->program.is_static && strpbrk(m->path, ": \t\n")) {
			msg_error("%s: the dynamic linker cannot preload a path with a blank or a "
				  "colon in it; copy the module elsewhere",
				  m->path);
			return EXIT_USAGE;
		}
	}
	return 0;
}

/* Puts those that wrap something first, else in their order. */
static void sort_modules(struct recording *r)
{
	for (size_t i = 0; i < r->modules.n; i++) {
		struct modfile m = r->modules.v[i];

		if (!modfile_wraps(&m))
			continue;
		for (size_t k = i; k > r->nwrapping; k--)
			r->modules.v[k] = r->modules.v[k - 1];
		r->modules.v[r->nwrapping++] = m;
	}
}

/* Memory accesses go to modules, or into the trace, or to both. */
static int prepare_memory(struct recording *r)
{
	const struct sampled_sums none = { 0 };
	struct sonde_trace_sampled sampled = sampled_result(&r->opt.sample, &none);
	bool keep = false, profile = false, any = false;
	int status;

	for (size_t i = 0; i < r->modules.n; i++) {
		keep |= r->modules.v[i].keeps_memory;
		profile |= r->modules.v[i].profiles_memory;
		any |= modfile_takes_memory(&r->modules.v[i]);
	}
	if (r->opt.mem_inproc) {
		r->analyzers = calloc(r->modules.n + 1, sizeof(*r->analyzers));
		status = r->analyzers ? analysis_inproc(&r->modules, r->analyzers, &r->nanalyzers) : EXIT_TRACER;
		if (status)
			return status;
	}
	status = any ? record_imply_memory(&r->opt) : record_without_memory(&r->opt);
	r->opt.mem_keep = keep || !any;
	r->opt.mem_describe = r->opt.mem_keep || profile;
	return status ? status : analysis_new(&r->modules, r->opt.sample.burst ? &sampled : NULL, &r->analysis);
}

static int add_modules(struct recording *r)
{
	int status = 0;

	for (size_t i = 0; i < r->opt.modules.n && status == 0; i++)
		status = modfile_add(&r->modules, r->opt.modules.v[i], &r->program);
	sort_modules(r);
	if (status == 0)
		status = check_modules(r);
	return status ? status : prepare_memory(r);
}

static bool address_space_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < ROOMY;
}

static char *preload_entry(const struct recording *r, const char *users)
{
	size_t len = sizeof("LD_PRELOAD=") + (users ? strlen(users) : 0);
	char *entry, *p;

	for (size_t i = 0; i < r->nwrapping; i++)
		len += strlen(r->modules.v[i].path) + 1;
	entry = malloc(len);
	if (!entry)
		return NULL;
	p = stpcpy(entry, "LD_PRELOAD=");
	for (size_t i = 0; i < r->nwrapping; i++) {
		p = stpcpy(p, r->modules.v[i].path);
		if (users || i + 1 < r->nwrapping)
			p = stpcpy(p, ":");
	}
	if (users)
		strcpy(p, users);
	return entry;
}

/* The user's environment, with the modules preloaded: see drop_appended() of the injector. */
static int make_environment(struct recording *r, struct inj_session_options *opt)
{
	static char pad[] = "SONDE_PAD=";
	const char *users = getenv("LD_PRELOAD");
	size_t n = 0;

	while (environ[n])
		n++;
	r->env = calloc(n + 3, sizeof(*r->env));
	if (!r->env)
		return -1;
	memcpy(r->env, environ, n * sizeof(*r->env));
	if (r->program.is_static || r->nwrapping == 0)
		return 0;
	r->preload = preload_entry(r, users);
	if (!r->preload)
		return -1;
	opt->preload_was = users;
	for (size_t i = 0; users && i < n; i++) {
		if (strncmp(r->env[i], "LD_PRELOAD=", 11) != 0)
			continue;
		r->env[i] = r->preload;
		return 0;
	}
	r->env[n] = r->preload;
	r->env[n + 1] = pad;
	opt->env_extra = 2;
	return 0;
}

static int make_session(struct recording *r, int ring_fd, int alive_fd)
{
	struct inj_session_options opt = {
		.elf_path = r->elf_path,
		.is_static = r->program.is_static,
		.interp = r->program.interp,
		.ring_fd = ring_fd,
		.alive_fd = alive_fd,
		.nrings = r->limited ? FEW_MAPPED_RINGS : MAPPED_RINGS,
		.npools = r->limited ? FEW_POOLS : POOLS,
		.code_bytes = CODE_BYTES,
		.for_perf = r->opt.perf_map,
		.nmodules = r->nwrapping,
		.analyzers = r->analyzers,
		.nanalyzers = r->nanalyzers,
		.compiled_fd = r->nanalyzers && !r->limited ? analysis_compile(r->analysis) : -1,
		.warn = msg_error,
	};
	enum inj_status status;
	int ret = recorded_begin(&r->recorded, &r->opt, &opt.mirror);

	if (ret != 0)
		return ret;
	if (opt.mirror.enabled)
		opt.code_bytes = MIRROR_CODE_BYTES;
	if (r->limited)
		opt.code_bytes = SMALL_CODE;
	opt.ring_map = collector_bytes(r->collector, (uint32_t)opt.nrings);
	r->paths = calloc(r->nwrapping + 1, sizeof(*r->paths));
	if (!r->paths || make_environment(r, &opt) < 0) {
		msg_error("out of memory");
		return EXIT_TRACER;
	}
	for (size_t i = 0; i < r->nwrapping; i++)
		r->paths[i] = r->modules.v[i].path;
	opt.modules = r->paths;
	r->cache = modfile_cache_folder();
	opt.cache_dir = r->cache;
	status = inj_session_new(&r->session, &opt);
	if (status != INJ_OK) {
		msg_error("cannot prepare the modules: %s", inj_status_text(status));
		return EXIT_TRACER;
	}
	return 0;
}

static int prepare(struct recording *r)
{
	struct collector_geometry g = { .drop = r->opt.drop };
	int status = program_resolve(r->opt.program[0], &r->program);
	int ring_fd, alive_fd;

	if (status == 0)
		status = add_modules(r);
	if (status != 0)
		return status;
	r->argv = program_argv(&r->program, r->opt.program);
	r->elf_path = files_absolute(r->program.elf_path);
	r->limited = address_space_limited();
	g.functions = recorded_counts(&r->opt);
	g.memory_bytes = r->opt.mem_bytes;
	g.sample = r->opt.sample;
	g.inproc = r->opt.mem_inproc;
	g.ring_bytes = r->opt.ring_bytes;
	g.max_rings = r->limited ? FEW_RINGS : MANY_RINGS;
	if (r->limited && g.ring_bytes > SMALL_RING)
		g.ring_bytes = SMALL_RING;
	r->collector = collector_new(&g, &ring_fd, &alive_fd);
	if (!r->collector || !r->argv || !r->elf_path)
		return EXIT_TRACER;
	collector_analyze(r->collector, r->analysis);
	return make_session(r, ring_fd, alive_fd);
}

/* ---- starting ---- */

static int start_failed(const struct recording *r, enum inj_status status, bool exec_failed)
{
	int err = errno;

	if (exec_failed) {
		msg_error("cannot run %s: %s", r->program.path, strerror(err));
		return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (status == INJ_SYSTEM && err == EPERM)
		msg_error("not permitted to trace %s (another tracer, a container's seccomp profile, "
			  "or kernel.yama.ptrace_scope); see `sonde doctor'",
			  r->program.path);
	else
		msg_error("cannot start %s under ptrace: %s%s%s", r->program.path,
			  inj_status_text(status), status == INJ_SYSTEM ? ": " : "",
			  status == INJ_SYSTEM ? strerror(err) : "");
	return EXIT_TRACER;
}

static int start(struct recording *r)
{
	struct inj_exec exec = {
		.path = r->program.path,
		.argv = r->argv,
		.envp = r->env,
		.mask = &r->supervisor.original_mask,
		.in_child = supervise_in_child,
		.arg = &r->supervisor,
		.for_parent = true,
	};
	bool exec_failed;
	enum inj_status status = inj_tracee_start(&r->tracee, &exec, &exec_failed);

	/* killed before it was a program: an end like any other, but of nothing that could be recorded */
	return status == INJ_OK || status == INJ_GONE ? 0 : start_failed(r, status, exec_failed);
}

static struct sonde_trace_sampled write_sampled(struct recording *r, const struct collector_totals *t)
{
	struct sonde_trace_sampled s = { 0 };

	if (!r->opt.sample.burst)
		return s;
	s = sampled_result(&r->opt.sample, &t->sampled);
	(void)!tf_writer_sampled(r->writer, &s); /* tf_writer_close() reports errors */
	return s;
}

static int open_trace(struct recording *r)
{
	struct tf_start about = { .program = r->elf_path, .args = r->argv };
	enum sonde_trace_status status;
	const struct collector_totals none = { 0 };
	struct caches caches;
	int ret = tracedir_create(r->opt.dir, &r->dir);

	if (ret != 0)
		return ret;
	about.rank = r->dir.rank;
	caches = caches_here();
	memcpy(about.caches, caches.bytes, sizeof(about.caches));
	status = tf_writer_create(&r->writer, r->dir.path, &about);
	if (status == SONDE_TRACE_OK) {
		/* said again at the end, with figures; but if that does not come it must not look like all accesses */
		write_sampled(r, &none);
		return 0;
	}
	msg_error("cannot write to %s: %s", r->dir.path, strerror(errno));
	tracedir_abandon(&r->dir);
	return EXIT_USAGE;
}

static int give_up_trace(struct recording *r)
{
	tf_writer_abandon(r->writer);
	tracedir_abandon(&r->dir);
	return EXIT_TRACER;
}

/* Something failed while the program stands still: it must not run half instrumented. */
static int instrument_failed(struct recording *r, enum inj_status status)
{
	if (status == INJ_GONE) {
		/* It died by itself, or was killed: an end like any other, which this waits for. */
		inj_tracee_kill(&r->tracee);
		return 0;
	}
	if (status == INJ_SYSTEM || status == INJ_REMOTE)
		msg_error("cannot instrument %s: %s: %s", r->program.path, inj_status_text(status),
			  strerror(errno));
	else
		msg_error("cannot instrument %s: %s", r->program.path, inj_status_text(status));
	return EXIT_TRACER;
}

static int instrument(struct recording *r)
{
	enum inj_status status = inj_session_begin(&r->session, &r->tracee);

	if (r->analysis)
		analysis_compile_at(r->analysis, r->session.compiled);
	if (status == INJ_OK)
		status = inj_session_instrument(&r->session);
	if (status != INJ_OK)
		return instrument_failed(r, status);
	if (r->session.no_linker_stop)
		msg_warn("the dynamic linker %s is not known: constructors of libraries ran before "
			 "they could be instrumented",
			 r->program.interp);
	return 0;
}

/* ---- the end ---- */

static void say_lost(uint64_t n, const char *one, const char *many)
{
	if (n)
		msg_warn("%llu %s", (unsigned long long)n, n == 1 ? one : many);
}

static void report_losses(const struct collector_totals *t)
{
	say_lost(t->lost, "event was lost", "events were lost");
	say_lost(t->lost_threads, "thread could not be recorded", "threads could not be recorded");
	say_lost(t->discarded, "event could not be written", "events could not be written");
	say_lost(t->memory_lost, "part of the memory accesses was lost", "parts of the memory accesses were lost");
	say_lost(t->damaged, "record was damaged by the program", "records were damaged by the program");
}

static void report_sampled(const struct sonde_trace_sampled *s)
{
	if (!s->lived)
		return;
	fprintf(stderr, "sonde: memory accesses in %" PRIu64 " burst%s, %.2f %% of the threads' time", s->bursts,
		s->bursts == 1 ? "" : "s",
		100 * (double)s->on / (double)s->lived);
	if (s->all_units)
		fprintf(stderr, ", about %.2f %% of the accesses",
			100 * (double)s->on_units / (double)s->all_units);
	if (s->plain_ns)
		fprintf(stderr, "; cost at most %.2f %% of CPU time",
			100 * (double)s->cost_ns / (double)s->plain_ns);
	fputc('\n', stderr);
}

/* What calls cost that are recorded without a module.  Of those that --time leaves out it is not known how many there are. */
static void write_cost(struct recording *r)
{
	struct tf_cost cost;

	if (!r->recorded.select || r->opt.count_only || r->opt.min_time)
		return;
	if (probecost_measure(recorded_mode(&r->opt), &cost))
		(void)!tf_writer_cost(r->writer, &cost); /* tf_writer_close() reports errors */
	else
		msg_debug("what recording costs could not be measured");
}

static bool is_stopped(const struct recording *r)
{
	struct pollfd stop = { .fd = collector_stop_fd(r->collector), .events = POLLIN };

	return poll(&stop, 1, 0) == 1;
}

/* The program's children may live on. */
static void stay_as_long_as_needed(struct recording *r)
{
	int64_t wait_ns = 1000000;

	for (bool said = false; collector_is_needed(r->collector) && !is_stopped(r); wait_ns += wait_ns < LONG_WAIT_NS ? wait_ns : 0) {
		if (wait_ns > SHORT_WAITS_NS && !said) {
			if (!r->opt.quiet)
				msg_info("the program's children are recorded until they end, into %s", r->dir.top);
			waiter_done(&r->waiter, true);
			said = true;
		}
		nanosleep(&(struct timespec){ .tv_nsec = wait_ns }, NULL);
	}
}

static struct tf_end program_end(struct recording *r)
{
	struct tf_end end = { .complete = true };
	int status;

	switch (waiter_program_end(&r->waiter, collector_stop_fd(r->collector), &status)) {
	case WAITER_STOPPED:
		end.ending = SONDE_TRACE_DETACHED;
		waiter_done(&r->waiter, true);
		return end;
	case WAITER_UNKNOWN:
		collector_program_ended(r->collector, true);
		return end;
	case WAITER_ENDED:
		break;
	}
	if (WIFSIGNALED(status)) {
		collector_program_ended(r->collector, true);
		end.ending = SONDE_TRACE_KILLED;
		end.signal = WTERMSIG(status);
	} else {
		collector_program_ended(r->collector, false);
		end.ending = SONDE_TRACE_EXITED;
		end.exit_status = WEXITSTATUS(status);
	}
	return end;
}

static void finish(struct recording *r)
{
	struct collector_totals totals;
	struct tf_end end = program_end(r);
	struct sonde_trace_sampled sampled;

	stay_as_long_as_needed(r);
	collector_finish(r->collector, &totals);
	sampled = write_sampled(r, &totals);
	objects_lines(&r->session, r->writer);
	write_cost(r);
	end.lost_threads = totals.lost_threads;
	if (tf_writer_close(r->writer, &end) != SONDE_TRACE_OK)
		msg_error("the trace's metadata could not be completed: %s", strerror(errno));
	r->writer = NULL;
	if (r->analysis)
		analysis_finish(r->analysis, r->dir.path, r->opt.quiet);
	report_losses(&totals);
	if (!r->opt.quiet)
		report_sampled(&sampled);
	if (r->let_go)
		recorded_warn_late(&r->recorded);
	msg_debug("%llu events of %u threads in %s", (unsigned long long)totals.events,
		  totals.threads, r->dir.path);
	if (r->recorded.memory)
		msg_debug("%llu bytes of memory streams", (unsigned long long)totals.memory_bytes);
	if (tracedir_is_gone(&r->dir))
		msg_error("%s: the trace was deleted while it was recorded", r->dir.path);
	tracedir_close(&r->dir);
}

static void clean_up(struct recording *r)
{
	inj_session_free(&r->session);
	recorded_end(&r->recorded);
	collector_free(r->collector);
	analysis_free(r->analysis);
	modfile_list_free(&r->modules);
	if (r->argv != r->opt.program)
		free(r->argv);
	program_free(&r->program);
	free(r->elf_path);
	free(r->preload);
	free(r->paths);
	free(r->analyzers);
	free(r->cache);
	free(r->env);
	record_options_free(&r->opt);
}

/* From here on there is somebody to drain what the program records. */
static int collect(struct recording *r)
{
	struct collector_totals ignored;
	enum inj_status status;
	int ret;

	write_cost(r);
	if (collector_start(r->collector, r->writer, &r->session, &r->opt, r->tracee.pid) < 0)
		return give_up_trace(r);
	if (r->tracee.reaped)
		return 0;
	status = inj_session_settle(&r->session);
	ret = status == INJ_OK ? 0 : instrument_failed(r, status);
	/* of a process that is gone, nothing that was not found says anything */
	if (inj_tracee_is_gone(&r->tracee))
		return 0;
	if (ret == 0) {
		collector_publish(r->collector);
		metadata_warn_missing(&r->session);
		recorded_warn(&r->recorded, &r->session);
		recorded_perf_map(&r->recorded, &r->session, r->tracee.pid);
		return 0;
	}
	inj_tracee_kill(&r->tracee);
	collector_finish(r->collector, &ignored);
	give_up_trace(r);
	return ret;
}

static int record(struct recording *r)
{
	int status = prepare(r);

	if (status == 0)
		status = start(r);
	if (status != 0)
		return status;
	if (r->tracee.reaped) {
		waiter_started(&r->waiter, r->tracee.pid);
		(void)!waiter_program_end(&r->waiter, -1, &status);
		return 0;
	}
	/* the trace begins when the program does */
	status = instrument(r);
	if (status == 0)
		status = open_trace(r);
	if (status == 0)
		status = collect(r);
	if (status != 0) {
		inj_tracee_kill(&r->tracee);
		return status;
	}
	/* afterwards the session is the collector's */
	if (!r->tracee.reaped && inj_session_release(&r->session) == INJ_SYSTEM)
		msg_warn("detaching failed: %s", strerror(errno));
	r->let_go = !r->tracee.reaped;
	waiter_started(&r->waiter, r->tracee.pid);
	finish(r);
	return 0;
}

int verb_record(int argc, char **argv)
{
	struct recording r = { .session.code = { .fd = -1, .shm = -1 } };
	int status = record_options_parse(argc, argv, &r.opt);

	if (status < 0)
		return OPT_STATUS(status);
	mallopt(M_ARENA_MAX, 1); /* a second arena reserves 64 MiB of address space */
	supervise_begin(&r.supervisor);
	status = waiter_split(&r.waiter, &r.supervisor);
	if (status == 0)
		status = record(&r);
	clean_up(&r);
	if (status == 0)
		waiter_done(&r.waiter, false);
	return status;
}
