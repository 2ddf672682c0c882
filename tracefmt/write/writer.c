/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace from the first line of its metadata to the last. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "?"
#endif

#define SECOND UINT64_C(1000000000)

/* --- metadata ---------------------------------------------------------------------------- */

static void put_clock(struct tf_buf *line, const struct tf_clock *clock)
{
	tf_json_uint(line, "tsc", clock->tsc);
	tf_json_uint(line, "mono", clock->mono_ns);
	tf_json_uint(line, "real", clock->real_ns);
}

enum sonde_trace_status tf_writer_clock(struct tf_writer *w, const struct tf_clock *clock)
{
	tf_json_begin(&w->line, "clock");
	put_clock(&w->line, clock);
	tf_json_end(&w->line);
	tf_writer_line(w);
	w->last_clock = clock->mono_ns;
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_switch(struct tf_writer *w, uint64_t tsc, bool on)
{
	tf_json_begin(&w->line, "switch");
	tf_json_uint(&w->line, "tsc", tsc);
	tf_json_bool(&w->line, "on", on);
	tf_json_end(&w->line);
	tf_writer_line(w);
	tf_writer_sync(w);
	return tf_writer_result(w);
}

/*
 * Often at first, so that short traces have good times; in long ones every 64th of the time so
 * far.
 */
void tf_writer_tick(struct tf_writer *w)
{
	struct timespec t;
	struct tf_clock clock;
	uint64_t now, since;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
	if (now < w->last_clock)
		return;
	since = now - w->last_clock;
	if (since < SECOND / 10 || since < (now - w->started.mono_ns) / 64)
		return;
	tf_clock_now(&clock);
	tf_json_begin(&w->line, "clock");
	put_clock(&w->line, &clock);
	tf_json_end(&w->line);
	tf_writer_line(w);
	w->last_clock = clock.mono_ns;
}

static void read_boot_id(char *id, size_t room)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, id, room - 1);

	if (fd >= 0)
		close(fd);
	id[got > 0 ? got : 0] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

static void put_caches(struct tf_buf *line, const uint64_t *bytes)
{
	tf_json_key(line, "caches");
	tf_buf_byte(line, '[');
	for (size_t i = 0; i < SONDE_TRACE_CACHES && bytes[i]; i++) {
		if (i)
			tf_buf_byte(line, ',');
		tf_json_number(line, bytes[i]);
	}
	tf_buf_byte(line, ']');
}

static void put_first_line(struct tf_writer *w, const struct tf_start *start)
{
	struct tf_buf *line = &w->line;
	char host[HOST_NAME_MAX + 1] = "", boot[64], id[20];

	if (gethostname(host, sizeof host - 1))
		host[0] = '\0';
	read_boot_id(boot, sizeof boot);
	snprintf(id, sizeof id, "%016llx", (unsigned long long)w->id);
	tf_json_begin(line, "trace");
	tf_json_int(line, "format", TF_VERSION);
	tf_json_str(line, "version", start->version ? start->version : PACKAGE_VERSION);
	tf_json_str(line, "id", id);
	tf_json_str(line, "program", start->program);
	tf_writer_args(line, start->args);
	tf_json_str(line, "host", start->host ? start->host : host);
	tf_json_str(line, "boot", boot);
	tf_json_int(line, "rank", start->rank);
	tf_json_int(line, "ranks", start->ranks);
	if (start->pid)
		tf_json_int(line, "pid", start->pid);
	if (start->parent)
		tf_json_int(line, "parent", start->parent);
	if (start->number)
		tf_json_int(line, "number", start->number);
	if (start->caches[0])
		put_caches(line, start->caches);
	put_clock(line, &w->started);
	tf_json_end(line);
	tf_writer_line(w);
}

/* --- beginning and end ------------------------------------------------------------------- */

/* Errors: E_SYSTEM, E_NOMEM. */
static enum sonde_trace_status open_dir(struct tf_writer *w, const char *dir)
{
	w->dir = strdup(dir);
	if (!w->dir)
		return SONDE_TRACE_E_NOMEM;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return SONDE_TRACE_E_SYSTEM;
	w->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dirfd < 0 || !tf_outfile_create(&w->metadata, w->dirfd, "metadata"))
		return SONDE_TRACE_E_SYSTEM;
	if (tf_sites_init(&w->sites))
		return SONDE_TRACE_E_NOMEM;
	return tf_pack_init(&w->pack);
}

static void choose_id(struct tf_writer *w)
{
	if (getrandom(&w->id, sizeof w->id, GRND_NONBLOCK) != sizeof w->id)
		w->id = w->started.tsc ^ w->started.real_ns << 20 ^ (uint64_t)getpid() << 48;
}

enum sonde_trace_status tf_writer_create(struct tf_writer **out, const char *dir,
					 const struct tf_start *start)
{
	struct tf_writer *w;
	enum sonde_trace_status status;

	*out = NULL;
	if (!start->program || start->rank < -1 || start->ranks < 0 || start->pid < 0 || start->parent < 0 ||
	    start->number < 0 || (start->number && !start->pid))
		return SONDE_TRACE_E_INVALID;
	w = calloc(1, sizeof *w);
	if (!w)
		return SONDE_TRACE_E_NOMEM;
	pthread_mutex_init(&w->lock, NULL);
	w->dirfd = -1;
	w->rank = start->rank;
	status = open_dir(w, dir);
	if (!status) {
		w->started = start->clock;
		if (!w->started.tsc)
			tf_clock_now(&w->started);
		w->last_clock = w->started.mono_ns;
		choose_id(w);
		put_first_line(w, start);
		tf_writer_sync(w);
		status = tf_writer_result(w);
	}
	if (status) {
		int error = errno;

		tf_writer_abandon(w);
		errno = error;
		return status;
	}
	*out = w;
	return SONDE_TRACE_OK;
}

void tf_writer_older(struct tf_writer *w, const char *file, uint64_t events)
{
	tf_json_begin(&w->line, "older");
	tf_json_str(&w->line, "file", file);
	tf_json_uint(&w->line, "events", events);
	tf_json_end(&w->line);
	tf_writer_line(w);
}

static void put_ending(struct tf_buf *line, const struct tf_end *end)
{
	static const char *const name[] = { "unfinished", "exited", "killed", "detached", "executed", "ended" };

	tf_json_str(line, "ending", name[end->ending]);
	if (end->ending == SONDE_TRACE_EXITED)
		tf_json_int(line, "exit", end->exit_status);
	if (end->ending == SONDE_TRACE_KILLED)
		tf_json_int(line, "signal", end->signal);
}

enum sonde_trace_status tf_writer_close(struct tf_writer *w, const struct tf_end *end)
{
	struct tf_clock clock;
	struct tf_buf *line;
	enum sonde_trace_status status;

	if (!w)
		return SONDE_TRACE_OK;
	if (end->ending > SONDE_TRACE_ENDED || w->threads)
		return SONDE_TRACE_E_INVALID;
	if (w->flight)
		tf_flight_write(w, true);
	tf_clock_now(&clock);
	if (end->clock.tsc) /* the longer a time is measured, the better */
		(void)!tf_writer_clock(w, &clock);
	if (w->message[0]) {
		tf_json_begin(&w->line, "error");
		tf_json_str(&w->line, "text", w->message);
		tf_json_end(&w->line);
		tf_writer_line(w);
	}
	line = &w->line;
	tf_json_begin(line, "end");
	put_clock(line, end->clock.tsc ? &end->clock : &clock);
	put_ending(line, end);
	tf_json_uint(line, "lost", end->lost);
	tf_json_uint(line, "lost_threads", end->lost_threads);
	tf_json_uint(line, "discarded", w->discarded);
	if (end->guest_calls)
		tf_json_uint(line, "guest_calls", end->guest_calls);
	tf_json_bool(line, "complete", end->complete && !w->message[0]);
	tf_json_end(line);
	tf_writer_line(w);
	tf_writer_sync(w);
	status = tf_writer_result(w);
	tf_writer_abandon(w);
	return status;
}

void tf_writer_abandon(struct tf_writer *w)
{
	if (!w)
		return;
	if (w->dirfd >= 0)
		close(w->dirfd);
	if (w->flight)
		tf_flight_free(w->flight);
	if (w->roll)
		tf_roll_free(w->roll);
	for (uint32_t i = 0; i < w->nmodules; i++)
		free(w->module_names[i]);
	free(w->module_names);
	free(w->modules);
	free(w->objects.v);
	free(w->functions.v);
	free(w->events.v);
	free(w->counters.v);
	tf_probes_free(&w->probes);
	tf_buf_free(&w->pending);
	tf_buf_free(&w->line);
	if (w->extra.state)
		w->extra.free(w->extra.state);
	tf_sites_free(&w->sites);
	tf_pack_free(&w->pack);
	free(w->dir);
	free(w);
}
