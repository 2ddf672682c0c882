/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the metadata of one directory: a table of types of lines; the trace itself, its clocks and its end. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "tracefmt/read/metadata/line.h"

static enum sonde_trace_status add_point(struct tf_line *r)
{
	uint64_t tsc, mono;

	if (!tf_line_number(r, "tsc", &tsc) || !tf_line_number(r, "mono", &mono))
		return SONDE_TRACE_E_CORRUPT;
	return tf_timeline_add(&r->part->timeline, tsc, mono) ? SONDE_TRACE_OK :
								SONDE_TRACE_E_NOMEM;
}

/* Times of this process's time-stamp counter, and of that of another node. */
static enum sonde_trace_status read_exchange(struct tf_line *r)
{
	struct tf_part *part = r->part;
	struct tf_exchange x;

	if (!tf_line_int(r, "round", &x.round) || !tf_line_int(r, "rank", &x.rank) || !tf_line_number(r, "sent", &x.sent) ||
	    !tf_line_number(r, "arrived", &x.arrived) || !tf_line_number(r, "answered", &x.answered) ||
	    !tf_line_number(r, "returned", &x.returned) || !tf_exchange_valid(&x))
		return SONDE_TRACE_E_CORRUPT;
	if (!array_room(part->exchange, part->room_exchanges, part->nexchanges + 1))
		return SONDE_TRACE_E_NOMEM;
	part->exchange[part->nexchanges++] = x;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_args(struct tf_line *r)
{
	const char *const *v;
	size_t n;

	if (json_array_size(json_object_get(r->line, "args")) > TF_LINE_ARGS)
		return SONDE_TRACE_E_CORRUPT;
	v = tf_line_strings(r, "args", &n);
	if (!v)
		return SONDE_TRACE_E_NOMEM;
	r->part->pub.args = v;
	r->part->pub.nargs = n;
	return SONDE_TRACE_OK;
}

static void explain(struct tf_line *r, const char *text)
{
	snprintf(r->why->text, sizeof r->why->text, "%.400s/metadata: %s", r->part->pub.dir, text);
}

static void read_caches(struct tf_line *r, uint64_t *caches)
{
	const json_t *list = json_object_get(r->line, "caches");

	for (size_t i = 0; i < SONDE_TRACE_CACHES; i++)
		if (!tf_line_number_of(json_array_get(list, i), &caches[i]) || !caches[i])
			return;
}

static enum sonde_trace_status read_trace(struct tf_line *r)
{
	struct sonde_trace_rank *rank = &r->part->pub;
	const char *id = json_string_value(json_object_get(r->line, "id"));
	uint64_t format;

	if (!r->first || !tf_line_number(r, "format", &format))
		return SONDE_TRACE_E_CORRUPT;
	if (format < 1 || format > TF_VERSION) {
		explain(r, "written in a format that this version of Sonde does not know");
		return SONDE_TRACE_E_VERSION;
	}
	rank->version = tf_line_str(r, "version", "");
	rank->program = tf_line_str(r, "program", "");
	rank->host = tf_line_str(r, "host", "");
	r->part->boot = tf_line_str(r, "boot", "");
	if (!rank->version || !rank->program || !rank->host || !r->part->boot)
		return SONDE_TRACE_E_NOMEM;
	r->part->id = id ? strtoull(id, NULL, 16) : 0;
	if (!tf_line_int(r, "rank", &rank->rank) || rank->rank < -1)
		return SONDE_TRACE_E_CORRUPT;
	rank->pid = tf_line_positive(r, "pid");
	rank->parent = tf_line_positive(r, "parent");
	rank->start_real_ns = tf_line_number_or_0(r, "real");
	r->part->start_mono = tf_line_number_or_0(r, "mono");
	read_caches(r, rank->caches);
	if (rank->start_real_ns > INT64_MAX || r->part->start_mono > INT64_MAX)
		return SONDE_TRACE_E_CORRUPT;
	if (add_point(r) || !r->part->timeline.n)
		return SONDE_TRACE_E_CORRUPT;
	return read_args(r);
}

static enum sonde_trace_status read_end(struct tf_line *r)
{
	static const char *const names[] = { "unfinished", "exited", "killed", "detached", "executed", "ended" };
	const int n = sizeof names / sizeof names[0];
	const char *ending = json_string_value(json_object_get(r->line, "ending"));
	struct sonde_trace_rank *rank = &r->part->pub;
	int i = 0;

	while (ending && i < n && strcmp(names[i], ending))
		i++;
	if (!ending || i == n || r->part->ended)
		return SONDE_TRACE_E_CORRUPT;
	rank->ending = (enum sonde_trace_ending)i;
	if ((rank->ending == SONDE_TRACE_EXITED && !tf_line_int(r, "exit", &rank->exit_status)) ||
	    (rank->ending == SONDE_TRACE_KILLED && !tf_line_int(r, "signal", &rank->signal)))
		return SONDE_TRACE_E_CORRUPT;
	r->part->lost_elsewhere = tf_line_number_or_0(r, "lost");
	rank->lost_threads = tf_line_number_or_0(r, "lost_threads");
	rank->discarded = tf_line_number_or_0(r, "discarded");
	rank->guest_calls = tf_line_number_or_0(r, "guest_calls");
	rank->complete = json_is_true(json_object_get(r->line, "complete"));
	r->part->ended = true;
	r->part->end = tf_line_number_or_0(r, "tsc");
	return add_point(r);
}

static const struct {
	const char *type;
	tf_line_fn *read;
} lines[] = {
	{ "trace", read_trace },	     { "clock", add_point },
	{ "module", tf_read_module },	     { "object", tf_read_object },
	{ "code", tf_read_code },
	{ "function", tf_read_function },	     { "functions", tf_read_functions },
	{ "event", tf_read_event },	     { "counter", tf_read_counter },
	{ "process", tf_read_process },	     { "process-end", tf_read_process_end },
	{ "thread", tf_read_thread },	     { "thread-end", tf_read_thread_end },
	{ "calls", tf_read_calls },	     { "recording", tf_read_recording },
	{ "sampled", tf_read_sampled },	     { "cost", tf_read_cost },
	{ "exec", tf_read_exec },		     { "switch", tf_read_switch },
	{ "budget", tf_read_budget },	     { "chosen", tf_read_chosen },
	{ "bursts", tf_read_bursts },	     { "exchange", read_exchange },
	{ "flight", tf_read_flight },	     { "older", tf_read_older },
	{ "max-size", tf_read_max_size },
	{ "end", read_end },
};

static enum sonde_trace_status read_line(struct tf_line *r)
{
	const char *type = json_string_value(json_object_get(r->line, "type"));

	if (!type)
		return SONDE_TRACE_E_CORRUPT;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (!strcmp(lines[i].type, type))
			return r->first && i ? SONDE_TRACE_E_CORRUPT : lines[i].read(r);
	return r->first ? SONDE_TRACE_E_CORRUPT : SONDE_TRACE_OK; /* of a later version */
}

static enum sonde_trace_status parse_line(struct tf_line *r, const char *text, size_t size)
{
	enum sonde_trace_status status;
	json_t *line = json_loadb(text, size, 0, NULL);

	if (!line)
		return SONDE_TRACE_E_CORRUPT;
	r->line = line;
	status = read_line(r);
	json_decref(line);
	return status;
}

enum sonde_trace_status tf_metadata_parse(struct sonde_trace *t, struct tf_part *part,
					  const char *text, size_t size,
					  struct sonde_trace_message *why)
{
	struct tf_line r = { .t = t, .part = part, .why = why, .first = true };
	enum sonde_trace_status status = SONDE_TRACE_E_TRUNCATED;
	const char *end;

	explain(&r, size ? "ends within its first line" : "empty");
	for (; (end = memchr(text, '\n', size)); size -= (size_t)(end + 1 - text), text = end + 1) {
		status = parse_line(&r, text, (size_t)(end - text));
		if (status == SONDE_TRACE_E_CORRUPT && r.first) {
			explain(&r, "not the metadata of a trace");
			status = SONDE_TRACE_E_NOTRACE;
		} else if (status == SONDE_TRACE_E_CORRUPT) {
			part->pub.bad_lines++;
			status = SONDE_TRACE_OK;
		} else if (status == SONDE_TRACE_E_NOMEM) {
			explain(&r, "no memory");
		}
		if (status)
			break;
		r.first = false;
	}
	free(r.scratch);
	return status;
}

static enum sonde_trace_status read_all(int fd, struct tf_buf *b)
{
	for (;;) {
		uint8_t *at = tf_buf_need(b, 65536);
		ssize_t got;

		if (!at)
			return SONDE_TRACE_E_NOMEM;
		got = read(fd, at, 65536);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? SONDE_TRACE_E_SYSTEM : SONDE_TRACE_OK;
		b->size += (size_t)got;
	}
}

enum sonde_trace_status tf_metadata_read(struct sonde_trace *t, struct tf_part *part,
					 const char *dir, struct sonde_trace_message *why)
{
	struct tf_buf text = { 0 };
	char path[PATH_MAX];
	enum sonde_trace_status status;
	int fd = -1, error;

	errno = ENAMETOOLONG;
	if (snprintf(path, sizeof path, "%s/metadata", dir) < (int)sizeof path)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	status = fd < 0 ? SONDE_TRACE_E_SYSTEM : read_all(fd, &text);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (status)
		snprintf(why->text, sizeof why->text, "%.400s/metadata: %s", dir,
			 status == SONDE_TRACE_E_NOMEM ? "no memory" : strerror(error));
	else
		status = tf_metadata_parse(t, part, text.data ? (const char *)text.data : "",
					   text.size, why);
	tf_buf_free(&text);
	errno = error;
	return status;
}
