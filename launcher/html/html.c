/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the page, and the file. */
#include "launcher/html/html.h"
#include "launcher/common/message.h"
#include "launcher/export/export.h"
#include "launcher/trace/holds.h"

#include <math.h>
#include <string.h>

#include "tracefmt/json.h"

#define NAMES_BYTES (2u << 20)
#define EXIT_DAMAGED 1

/* assets.S: what comes before the data, and after them. */
extern const char html_before[], html_before_end[] __attribute__((visibility("hidden")));
extern const char html_after[], html_after_end[] __attribute__((visibility("hidden")));

uint32_t html_name(struct html *h, const struct sonde_trace_function *f)
{
	return f ? names_find(&h->names, h->request->report->mangled ? f->name : f->demangled) : NAMES_OTHER;
}

void html_put(struct tf_buf *b, const char *before, uint64_t v)
{
	tf_buf_str(b, before);
	export_put_number(b, v);
}

void html_put_real(struct tf_buf *b, const char *before, double v)
{
	char text[40] = "null";

	if (isfinite(v))
		snprintf(text, sizeof(text), "%.6g", v);
	tf_buf_str(b, before);
	tf_buf_str(b, text);
}

void html_put_name(struct html *h, const char *before, const char *text)
{
	html_put(&h->json, before, names_find(&h->names, text));
}

void html_put_text(struct tf_buf *b, const char *before, const char *text)
{
	tf_buf_str(b, before);
	tf_json_quoted_n(b, text, strnlen(text, 500));
}

/* The functions come first: where there is no room for all names, theirs are there. */
static int collect(struct html *h)
{
	int status;

	tf_json_begin(&h->json, "sonde-report");
	tf_json_uint(&h->json, "version", 1);
	status = html_functions(h);
	if (!status && holds_events(h->trace)) {
		status = html_flame(h);
		status = status ? status : html_timeline(h);
		status = status ? status : html_mpi(h);
		status = status ? status : html_omp(h);
	}
	if (!status && holds_memory(h->trace))
		status = html_accesses(h);
	names_put(&h->names, &h->json);
	tf_json_end(&h->json);
	return status;
}

static bool put_file(const struct html *h, FILE *out)
{
	struct tf_buf safe = { 0 };
	bool good;

	names_put_safe(&h->json, &safe);
	good = !safe.failed;
	if (good) {
		fwrite(html_before, 1, (size_t)(html_before_end - html_before), out);
		fwrite(safe.data, 1, safe.size, out);
		fwrite(html_after, 1, (size_t)(html_after_end - html_after), out);
	} else {
		msg_error("no memory");
	}
	tf_buf_free(&safe);
	return good;
}

static int make(struct html *h)
{
	struct output out;
	int status;

	if (!names_begin(&h->names, NAMES_BYTES)) {
		msg_error("no memory");
		return EXIT_USAGE;
	}
	if (!output_open(&out, h->request->output))
		return EXIT_USAGE;
	status = collect(h);
	if (!status && !put_file(h, out.f))
		status = EXIT_USAGE;
	if (!output_close(&out, !status))
		status = EXIT_USAGE;
	return status ? status : h->damage || h->incomplete ? EXIT_DAMAGED : 0;
}

int html_report(struct sonde_trace *trace, const char *dir, const struct html_request *request)
{
	struct html h = { .trace = trace, .dir = dir, .request = request };
	int status;

	h.pick = (struct pick){ .trace = trace, .rank = request->report->rank, .to = PICK_NO_END, .tail_calls = request->report->tail_calls };
	if (request->thread && !opt_list_append(&h.pick.threads, request->thread)) {
		msg_error("no memory");
		return EXIT_USAGE;
	}
	status = pick_check(&h.pick);
	if (!status)
		status = make(&h);
	names_free(&h.names);
	tf_buf_free(&h.json);
	opt_list_free(&h.pick.threads);
	return status;
}
