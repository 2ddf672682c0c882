/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde report --html': a trace as one file that a browser shows, without a network.
 *
 *	html		what is asked for, the parts, the file
 *	timeline	calls by track and depth, messages between tracks
 *	slices		... so many of these that they fit
 *	functions	what `sonde report' counts, and of each thread
 *	flame		call paths, as `sonde graph' counts them
 *	parallel	what `sonde report --mpi' and --omp say
 *	accesses	what `sonde memory' says of loops, and miss-ratio curves
 *	names		texts, each once
 *	page.html, page.css, *.js	the page; assets.S has them in the program
 *
 * The page's data are JSON in a script element, with the time line's slices as base64 in it; page data.js says how.  Each part has a
 * limit to what it takes, so that the file has at most 15 MB, however large the trace is.
 */
#ifndef SONDE_LAUNCHER_HTML_HTML_H
#define SONDE_LAUNCHER_HTML_HTML_H

#include <stdbool.h>

#include "launcher/html/names.h"
#include "launcher/report/report.h"
#include "launcher/trace/pick.h"
#include "tracefmt/buffer.h"

struct html_request {
	const char *output;		     /* file, or "-" */
	const char *thread;		     /* as given; NULL: all */
	const struct report_request *report; /* by function, without a limit */
};

/* Writes the page.  Returns 0, 1 if some of the trace is damaged and the rest is in the page, or EXIT_USAGE after a message. */
int html_report(struct sonde_trace *trace, const char *dir, const struct html_request *request) __attribute__((warn_unused_result));

struct html {
	struct sonde_trace *trace;
	const char *dir;
	const struct html_request *request;
	struct pick pick;
	struct names names;
	struct tf_buf json; /* members, each begins with a comma */
	uint64_t damage; /* places that were found damaged, so far */
	bool incomplete; /* `sonde report' would say so by its exit status */
};

/*
 * Each appends its members to h->json.  They return 0, or an exit status after a message.
 */
int html_functions(struct html *h) __attribute__((warn_unused_result));
int html_timeline(struct html *h) __attribute__((warn_unused_result));
int html_flame(struct html *h) __attribute__((warn_unused_result));
int html_mpi(struct html *h) __attribute__((warn_unused_result));
int html_omp(struct html *h) __attribute__((warn_unused_result));
int html_accesses(struct html *h) __attribute__((warn_unused_result));

/* The number of a function's name. */
uint32_t html_name(struct html *h, const struct sonde_trace_function *f);

/* What arrays are made of: `[' or `,', and a number. */
void html_put(struct tf_buf *b, const char *before, uint64_t v);
/* Likewise of one that may have decimals; not finite: null. */
void html_put_real(struct tf_buf *b, const char *before, double v);
/* The number of a text's name, where texts may be many. */
void html_put_name(struct html *h, const char *before, const char *text);
void html_put_text(struct tf_buf *b, const char *before, const char *text);

#endif
