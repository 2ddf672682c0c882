// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/record/describe/codes.h"
#include "launcher/record/describe/blockcounts.h"
#include "launcher/common/caches.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/record/describe/metadata.h"
#include "launcher/record/describe/objects.h"
#include "launcher/record/describe/probecost.h"
#include "launcher/record/recording.h"
#include "launcher/trace/sampled.h"

/* ---- starting ---- */

static struct sonde_trace_sampled write_sampled(struct recording *r, const struct collector_totals *t)
{
	struct sonde_trace_sampled s = { 0 };

	if (!r->opt.sample.burst)
		return s;
	s = sampled_result(&r->opt.sample, &t->sampled);
	(void)!tf_writer_sampled(r->writer, &s); /* tf_writer_close() reports errors */
	return s;
}

/* In that of the first program, which is locked. */
static int add_folder(struct recording *r)
{
	const struct tracedir *first = &r->first->dir;

	r->dir = (struct tracedir){ .rank = first->rank, .ranks = first->ranks, .lock_fd = -1 };
	r->dir.path = tracedir_add_program(first->path, r->tracee.pid, &r->number);
	r->dir.top = strdup(first->top);
	if (r->dir.path && r->dir.top)
		return 0;
	msg_error("cannot write to %s: %s", first->path, strerror(errno));
	tracedir_close(&r->dir);
	return EXIT_USAGE;
}

static void remove_folder(struct recording *r)
{
	if (!r->first) {
		tracedir_abandon(&r->dir);
		return;
	}
	(void)!files_remove_tree(r->dir.path);
	tracedir_close(&r->dir);
}

static int open_writer(struct recording *r)
{
	struct tf_start about = { .program = r->elf_path, .args = r->argv, .pid = r->tracee.pid, .parent = r->parent,
				  .clock = r->began };
	enum sonde_trace_status status;
	const struct collector_totals none = { 0 };
	struct caches caches;

	about.rank = r->dir.rank;
	about.number = r->number;
	caches = caches_here();
	memcpy(about.caches, caches.bytes, sizeof(about.caches));
	status = tf_writer_create(&r->writer, r->dir.path, &about);
	if (status == SONDE_TRACE_OK) {
		/* said again at the end, with figures; but if that does not come it must not look like all accesses */
		write_sampled(r, &none);
		if (r->opt.flight)
			(void)!tf_writer_flight(r->writer, r->opt.flight); /* tf_writer_close() reports errors */
		if (r->opt.max_size)
			(void)!tf_writer_max_size(r->writer, r->opt.max_size);
		return 0;
	}
	msg_error("cannot write to %s: %s", r->dir.path, strerror(errno));
	remove_folder(r);
	return EXIT_USAGE;
}

int recording_open(struct recording *r)
{
	int ret = r->first ? add_folder(r) : r->dir.top ? tracedir_begin(&r->dir) : tracedir_create(r->opt.dir, &r->dir);

	return ret == 0 ? open_writer(r) : ret;
}

static void end_switches(struct recording *r)
{
	switches_end(r->switches);
	r->switches = NULL;
}

int recording_give_up(struct recording *r)
{
	end_switches(r);
	tf_writer_abandon(r->writer);
	r->writer = NULL;
	remove_folder(r);
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

/* What calls cost that are recorded without a module.  Of those that --time leaves out it is not known how many there are. */
void recording_write_cost(struct recording *r)
{
	struct tf_cost cost;

	if (!r->recorded.select || r->opt.count_only || r->opt.min_time)
		return;
	if (!probecost_measure(recorded_mode(&r->opt), &cost)) {
		msg_debug("what recording costs could not be measured");
		return;
	}
	(void)!tf_writer_cost(r->writer, &cost); /* tf_writer_close() reports errors */
	collector_cost(r->collector, cost.inside + cost.outside);
}

void recording_say_recorded(struct recording *r)
{
	msg_hold(r->opt.no_follow ? NULL : &r->held);
	metadata_warn_missing(&r->session);
	recorded_warn(&r->recorded, &r->session);
	msg_hold(NULL);
	recorded_perf_map(&r->recorded, &r->session, r->tracee.pid);
}

/* From here on there is somebody to drain what the program records. */
static int collect(struct recording *r)
{
	struct collector_totals ignored;
	enum inj_status status;
	int ret;

	recording_write_cost(r);
	if (collector_start(r->collector, r->writer, &r->session, &r->opt, r->tracee.pid) < 0)
		return recording_give_up(r);
	if (r->tracee.reaped)
		return 0;
	status = inj_session_settle(&r->session);
	ret = status == INJ_OK ? 0 : instrument_failed(r, status);
	/* of a process that is gone, nothing that was not found says anything */
	if (inj_tracee_is_gone(&r->tracee))
		return 0;
	if (ret == 0) {
		collector_publish(r->collector);
		recording_say_recorded(r);
		return 0;
	}
	/* nothing is patched any more, so nothing is recorded */
	collector_finish(r->collector, &ignored);
	recording_give_up(r);
	return ret;
}

/*
 * A dynamic program that another one has executed waits for as little as possible: nothing of it has to be drained before it
 * runs, its folder is there, and nobody would see what there is to say of what it has not.
 */
static bool runs_first(const struct recording *r)
{
	return r->first && !r->program.is_static;
}

static int settle(struct recording *r)
{
	enum inj_status status = r->tracee.reaped ? INJ_OK : inj_session_settle(&r->session);
	int ret = status == INJ_OK ? 0 : instrument_failed(r, status);

	if (inj_tracee_is_gone(&r->tracee))
		ret = 0;
	tf_clock_now(&r->began);
	return ret == 0 ? add_folder(r) : ret;
}

int recording_begin(struct recording *r)
{
	int status;

	/* others' programs run on the terminal */
	if (!r->first)
		progress_begin(&r->recorded.progress, "instrumenting functions");
	/* the trace begins when the program does */
	status = instrument(r);
	progress_end(&r->recorded.progress);
	r->recorded.progress = (struct progress){ 0 };
	if (status == 0 && runs_first(r))
		return settle(r);
	if (status == 0)
		status = recording_open(r);
	if (status == 0 && (r->opt.blocked || r->opt.counters) && !r->first && !r->tracee.reaped)
		r->switches = switches_begin(r->tracee.pid, r->writer, r->opt.blocked, r->opt.counters);
	if (status == 0)
		status = collect(r);
	return status;
}

void recording_cancel(struct recording *r)
{
	struct collector_totals ignored;

	inj_tracee_kill(&r->tracee);
	collector_finish(r->collector, &ignored);
	(void)!recording_give_up(r);
}

void recording_release(struct recording *r)
{
	/* afterwards the session is the collector's */
	if (!r->tracee.reaped && inj_session_release(&r->session) == INJ_SYSTEM)
		msg_warn("detaching failed: %s", strerror(errno));
	r->let_go = !r->tracee.reaped;
}

int recording_open_released(struct recording *r)
{
	int status = open_writer(r);

	if (status != 0)
		return status;
	recording_write_cost(r);
	recorded_perf_map(&r->recorded, &r->session, r->tracee.pid);
	if (collector_start(r->collector, r->writer, &r->session, &r->opt, r->tracee.pid) < 0)
		return recording_give_up(r);
	return 0;
}

bool recording_is_needed(const struct recording *r)
{
	return collector_is_needed(r->collector);
}

/* ---- the end ---- */

/* Is anything of the program instrumented? */
static bool is_of_something(const struct recording *r)
{
	const struct inj_session *s = &r->session;

	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_ACTIVE)
			return true;
	for (size_t i = 0; i < s->mirrors.n; i++)
		if (s->mirrors.v[i].state == INJ_RECORDED_OK)
			return true;
	return s->mirrors.nwaiting != 0;
}

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
	say_lost(t->cut_off, "thread was killed: memory accesses of a loop that it was in may not be counted",
		 "threads were killed: memory accesses of loops that they were in may not be counted");
	say_lost(t->unfollowed, "program was executed that could not be followed",
		 "programs were executed that could not be followed");
	say_lost(t->guest_calls, "call went without its wrapper, whose C library could not be entered",
		 "calls went without their wrappers, whose C library could not be entered");
	say_lost(t->damaged, "record was damaged by the program", "records were damaged by the program");
}

static void report_sampled(const struct sonde_trace_sampled *s)
{
	char text[SAMPLED_MAX], cost[128] = "";

	if (!s->lived)
		return;
	sampled_text(s, text);
	if (s->cost_ns)
		snprintf(cost, sizeof(cost), "; cost about %.2f %% of CPU time, %s%.2f s for first calls apart", 100 * sampled_cost(s),
			 s->stay ? "copies between bursts and " : "", (double)s->asked_ns / 1e9);
	msg_info("memory accesses in %s%s", text, cost);
	if (s->stay)
		msg_debug("copies of code ran between bursts, since %s", s->stay);
}

void recording_finish(struct recording *r)
{
	struct collector_totals *totals = &r->totals;
	struct sonde_trace_sampled sampled;
	const uint64_t *sums;
	size_t nsums;

	if (r->end.ending != SONDE_TRACE_DETACHED)
		tf_clock_now(&r->end.clock); /* what is still to be done takes time, but none of the program's */
	collector_finish(r->collector, totals);
	sampled = write_sampled(r, totals);
	sums = collector_blocks(r->collector, &nsums);
	if (sums || r->opt.trace_blocks)
		blockcounts_finish(&r->session, r->writer, sums, nsums);
	codes_finish(&r->session, r->writer);
	objects_finish(&r->session, r->writer);
	recording_write_cost(r);
	r->end.lost_threads = totals->lost_threads;
	r->end.guest_calls = totals->guest_calls;
	if (tf_writer_close(r->writer, &r->end) != SONDE_TRACE_OK)
		msg_error("the trace's metadata could not be completed: %s", strerror(errno));
	r->writer = NULL;
	if (r->analysis)
		analysis_finish(r->analysis, r->dir.path, !r->opt.quiet && isatty(STDERR_FILENO));
	report_losses(totals);
	if (!r->opt.quiet)
		report_sampled(&sampled);
	if (r->let_go && !r->first)
		recorded_warn_late(&r->recorded);
	msg_debug("%llu events of %u threads in %s", (unsigned long long)totals->events,
		  totals->threads, r->dir.path);
	if (r->recorded.memory)
		msg_debug("%llu bytes of memory streams", (unsigned long long)totals->memory_bytes);
	if (!r->first && tracedir_is_gone(&r->dir))
		msg_error("%s: the trace was deleted while it was recorded", r->dir.path);
	collector_free(r->collector);
	r->collector = NULL;
	r->finished = true;
}

void recording_add(struct recording_sums *sums, const struct recording *r)
{
	sums->events += r->totals.events;
	sums->lost += r->totals.lost;
	sums->bytes += r->totals.bytes + r->totals.memory_bytes;
	sums->found |= is_of_something(r);
}

struct recording *recording_new(void)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->session.code = (struct inj_code){ .fd = -1, .shm = -1 };
	r->pidfd = -1;
	r->dir.lock_fd = -1;
	return r;
}

void recording_discard(struct recording *r)
{
	recording_free(r);
	free(r->argv);
	if (r->pidfd >= 0)
		close(r->pidfd);
	free(r);
}

void recording_free(struct recording *r)
{
	end_switches(r);
	inj_session_free(&r->session);
	recorded_end(&r->recorded);
	collector_free(r->collector);
	analysis_free(r->analysis);
	if (!r->shares_modules)
		modfile_list_free(&r->modules);
	program_free(&r->program);
	free(r->elf_path);
	free(r->preload);
	free(r->paths);
	free(r->guests);
	free(r->agent);
	free(r->analyzers);
	free(r->cache);
	free(r->held);
	if (r->dir.path)
		tracedir_close(&r->dir);
}
