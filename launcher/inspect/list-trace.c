// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde list DIR`: what became of the functions that a trace was to have. */
#include "launcher/inspect/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"
#include "launcher/inspect/info.h"
#include "launcher/select/traced.h"
#include "launcher/trace/pick.h"
#include "memtrace/pack/places.h"

struct became {
	const struct listing *l;
	const struct sonde_trace *trace;
	const struct sonde_trace_rank *rank;
	struct select *sel; /* NULL: all */
	uint64_t printed;
};

static const char *path_of(const struct became *b, uint32_t object)
{
	for (size_t i = 0; i < sonde_trace_objects(b->trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(b->trace, i);

		if (o->rank_index == b->rank->index && o->id == object)
			return o->path;
	}
	return "";
}

/* @path: of a library, "": the program's, or it is not known. */
static void print(struct became *b, const char *kind, const char *name, const char *path, const char *reason)
{
	char *plain = b->l->o->mangled ? NULL : inj_demangle(name);

	printf("%-14s", kind);
	units_text(stdout, plain ? plain : name, 0, true);
	if (*path) {
		fputs(" of ", stdout);
		units_text(stdout, path_basename(path), 0, true);
	}
	if (reason) {
		fputs(": ", stdout);
		units_text(stdout, reason, 0, true);
	}
	putchar('\n');
	free(plain);
	b->printed++;
}

static void print_instrumented(void *arg, uint32_t object, uint64_t addr, uint64_t size, const char *name)
{
	struct became *b = arg;
	const struct select_function fn = { .addr = addr, .size = size, .names = &name, .nnames = 1 };
	const char *path = path_of(b, object);

	if (!b->l->o->refused_only && select_wants_in(b->sel, path, &fn))
		print(b, "instrumented", name, strcmp(path, b->rank->program) ? path : "", NULL);
}

static void print_left(struct became *b, const struct sonde_trace_reason *reason)
{
	for (size_t i = 0; i < reason->nnames; i++) {
		const struct select_function fn = { .names = &reason->names[i], .nnames = 1 };

		if (select_wants_in(b->sel, "", &fn))
			print(b, "left alone", reason->names[i], "", reason->text);
	}
}

static int print_rank(struct became *b)
{
	const struct sonde_trace_recording *r = b->rank->recording;
	struct mt_placed *placed = mt_placed_of(b->trace, b->rank);
	uint64_t left = 0;

	if (!placed) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	mt_placed_each_function(placed, print_instrumented, b);
	mt_placed_close(placed);
	for (size_t i = 0; i < r->nleft_alone; i++) {
		print_left(b, &r->left_alone[i]);
		left += r->left_alone[i].count;
	}
	if (b->sel || b->l->o->refused_only)
		return 0;
	units_text(stdout, b->rank->program, 0, true);
	printf(": %" PRIu64 " instrumented, %" PRIu64 " never called, %" PRIu64 " left alone\n", r->instrumented, r->uncalled, left);
	return 0;
}

int list_trace(const struct listing *l, const char *dir, const struct select_options *select)
{
	struct became b = { .l = l };
	struct sonde_trace_message why;
	struct sonde_trace *trace;
	bool any = false;
	int status;

	if (sonde_trace_open(dir, &trace, &why)) {
		pick_no_trace(dir, why.text);
		return EXIT_USAGE;
	}
	b.trace = trace;
	status = traced_select(trace, select, &b.sel);
	for (size_t i = 0; i < sonde_trace_ranks(trace) && !status; i++) {
		b.rank = sonde_trace_rank(trace, i);
		if (info_is_first_of_file(trace, i))
			status = print_rank(&b);
		any |= b.rank->recording != NULL;
	}
	if (!status && !any) {
		msg_error("%s: no functions were recorded without a module", dir);
		status = EXIT_USAGE;
	}
	if (!status)
		status = traced_check(b.sel, dir, b.printed != 0);
	select_free(b.sel);
	sonde_trace_close(trace);
	return status;
}
