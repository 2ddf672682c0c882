/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that threads take from each other (analysis/sharing/), where times were recorded. */
#include "launcher/sharing/sharing.h"
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdio.h>

#include "launcher/common/message.h"

#define LEAST_TRANSFERS 100

static void say_shared(struct advise *a, const struct sharing_row *row)
{
	const struct sh_line *l = &row->line;
	const struct sharing_side *s = row->side;
	struct advice like = {
		.kind = ADVICE_SHARING, .of = ADVICE_OF_ACCESSES, .amount = (double)l->accesses,
		.place = { .function = s[0].function, .path = s[0].object, .file = s[0].file, .line = s[0].line, .address = s[0].address,
			   .variable = s[0].variable },
	};
	char range[64], more[64] = "";

	if (l->transfers.least == l->transfers.most)
		snprintf(range, sizeof(range), "%" PRIu64, l->transfers.most);
	else
		snprintf(range, sizeof(range), "%" PRIu64 " to %" PRIu64, l->transfers.least, l->transfers.most);
	if (row->lines > 1)
		snprintf(more, sizeof(more), " and %" PRIu64 " more like it", row->lines - 1);
	advise_add(a, &like,
		   advise_text("%s sharing of %s and %s: their line%s went from thread to thread %s times in %" PRIu64 " accesses, %" PRIu64
			       " of them stores, by %" PRIu32 " threads (the other side is %s at line %d)", sharing_class_word(l->class),
			       s[0].variable ? s[0].variable : "memory without a name", s[1].variable ? s[1].variable : "memory without a name",
			       more, range, l->accesses, l->stores, l->threads, s[1].function ? s[1].function : "?", s[1].line),
		   advise_text("%s", row->advice));
}

struct reader {
	struct advise *a;
	struct memwhere *where; /* of the rank, and: */
	struct memnames *names;
	struct sh *sh;
	int rank;
	struct sh_thread *thread;
	struct memtrace_time time;
	struct sharing_rows rows;
	bool failed, timed;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	const struct sh_options o = { .line = MEMPROFILE_LINE, .no_stack = true, .least = LEAST_TRANSFERS };
	struct reader *r = arg;

	r->where = memwhere_new(read, MEMWHERE_LINES | (r->a->o->mangled ? MEMWHERE_MANGLED : 0));
	r->names = memnames_new(read, r->a->t.trace, rank, MEMNAMES_FIELDS);
	r->sh = sh_new(&o);
	r->rank = rank->rank;
	return r->where && r->names && r->sh ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct reader *r = arg;

	if (r->where)
		memwhere_free(r->where);
	memnames_free(r->names);
	sh_free(r->sh);
	r->where = NULL;
	r->names = NULL;
	r->sh = NULL;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct reader *r = arg;

	r->timed |= r->time.exact;
	r->failed = !sh_thread_time(r->thread, r->time.tsc, r->time.exact) || !sh_thread_take(r->thread, v, n);
	return !r->failed;
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct reader *r = arg;
	struct memtrace_thread timed = *thread;

	timed.time = &r->time;
	r->time = (struct memtrace_time){ 0 };
	r->thread = sh_thread_new(r->sh, thread->about.pid, thread->about.tid);
	if (!r->thread)
		return no_memory();
	r->a->damage += memtrace_accesses(&timed, take, r);
	return !r->failed && sh_thread_time(r->thread, r->time.tsc, r->time.exact) ? 0 : no_memory();
}

static int done_rank(void *arg)
{
	struct reader *r = arg;

	return sh_finish(r->sh) && sharing_rows_add(&r->rows, r->sh, r->where, r->names, r->rank) ? 0 : no_memory();
}

int advise_sharing(struct advise *a)
{
	struct reader r = { .a = a, .rows = { .bytes = MEMPROFILE_LINE, .least = LEAST_TRANSFERS } };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = visit_thread, .done = done_rank, .end = end_rank, .arg = &r,
		.progress = "looking for shared lines",
	};
	int status;

	/* nobody to share with */
	if (a->t.threads < 2)
		return 0;
	status = memtrace_visit(&a->t, &visitor);
	if (!status && !r.timed)
		advise_lacks(a, "sharing", "--mem --mem-times");
	if (!status && !sharing_rows_finish(&r.rows))
		status = no_memory();
	for (size_t i = 0; !status && r.timed && i < r.rows.n; i++)
		say_shared(a, &r.rows.v[i]);
	sharing_rows_free(&r.rows);
	return status;
}
