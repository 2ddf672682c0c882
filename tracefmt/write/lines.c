/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all of the writer does: notes failures for who called it, and writes lines of the metadata. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

#define PENDING_MAX (64u << 10) /* bytes of metadata that are held back at most */

/* --- failures ---------------------------------------------------------------------------- */

/* The message stays as it is once there is one to be reported. */
__attribute__((format(printf, 4, 5))) static void fail(struct tf_writer *w, enum sonde_trace_status status, int error,
						       const char *format, ...)
{
	va_list ap;

	pthread_mutex_lock(&w->lock);
	if (!w->reported && !w->failed) {
		va_start(ap, format);
		vsnprintf(w->message, sizeof w->message, format, ap);
		va_end(ap);
		w->failed_errno = error;
		__atomic_store_n(&w->failed, status, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&w->lock);
}

void tf_writer_failed(struct tf_writer *w, const char *what, const char *file)
{
	int error = errno;

	fail(w, SONDE_TRACE_E_SYSTEM, error, "cannot %s %s%s%s: %s", what, w->dir, file ? "/" : "", file ? file : "",
	     strerror(error));
}

void tf_writer_no_memory(struct tf_writer *w)
{
	fail(w, SONDE_TRACE_E_NOMEM, ENOMEM, "no memory for the trace %s", w->dir);
}

enum sonde_trace_status tf_writer_result(struct tf_writer *w)
{
	enum sonde_trace_status status;

	if (!__atomic_load_n(&w->failed, __ATOMIC_RELAXED))
		return SONDE_TRACE_OK;
	pthread_mutex_lock(&w->lock);
	status = w->failed;
	if (status) {
		__atomic_store_n(&w->failed, SONDE_TRACE_OK, __ATOMIC_RELAXED);
		w->reported = true;
		errno = w->failed_errno;
	}
	pthread_mutex_unlock(&w->lock);
	return status;
}

const char *tf_writer_message(const struct tf_writer *w)
{
	return w->message;
}

uint64_t tf_writer_discarded(const struct tf_writer *w)
{
	return w->discarded;
}

uint64_t tf_writer_memory_discarded(const struct tf_writer *w)
{
	return w->extra.lost;
}

/* --- metadata ---------------------------------------------------------------------------- */

void tf_writer_line(struct tf_writer *w)
{
	if (!w->line.failed)
		tf_buf_put(&w->pending, w->line.data, w->line.size);
	if (w->line.failed || w->pending.failed) {
		w->pending.failed = false;
		tf_writer_no_memory(w);
	}
	tf_buf_clear(&w->line);
	if (w->pending.size > PENDING_MAX && !w->metadata_failed)
		tf_writer_sync(w);
}

/* After a failure lines are kept: at the end there may be room for them again. */
void tf_writer_sync(struct tf_writer *w)
{
	if (!w->pending.size)
		return;
	if (!tf_outfile_append(&w->metadata, w->pending.data, w->pending.size)) {
		w->metadata_failed = true;
		tf_writer_failed(w, "write", w->metadata.name);
		return;
	}
	w->metadata_failed = false;
	w->pending.size = 0;
}

enum sonde_trace_status tf_writer_flush(struct tf_writer *w)
{
	tf_writer_sync(w);
	return tf_writer_result(w);
}

void tf_writer_args(struct tf_buf *line, char *const *args)
{
	tf_json_key(line, "args");
	tf_buf_byte(line, '[');
	for (size_t i = 0; args && args[i]; i++) {
		if (i)
			tf_buf_byte(line, ',');
		tf_json_quoted(line, args[i]);
	}
	tf_buf_byte(line, ']');
}
